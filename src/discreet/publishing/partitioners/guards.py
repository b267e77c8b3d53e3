"""Guards: groups are found by pairs of people's values and of what they guard.

Whether a group keeps what its people ask for depends on both. So the column of guards, which no
table shows, stands in as a sensitive attribute of such pairs.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import and_

import numpy as np

from discreet.principles.base import Principle, demands
from discreet.principles.groups import Groups
from discreet.table.guards import pair_guards
from discreet.table.microdata import Microdata
from discreet.table.schema import Schema


def bind_guards(data: Microdata, principle: Principle) -> tuple[Microdata, Principle]:
    """Give a table to find groups by, with pairs as values, and the principle it must keep there.

    Nothing is published of it.
    """
    if not any(part.personal for part in principle.parts):
        return data, principle
    codes, domains, schema = {**data.codes}, {**data.domains}, data.schema
    parts: list[Principle] = []
    for part, about in demands(principle, data.sensitive):
        if not part.personal:
            parts.append(part if about is None else replace(part, on=about))
            continue
        column, domain = pair_guards(data, str(about))
        name = domain.attribute.name
        part.require(Groups.from_counts(np.bincount(column, minlength=domain.size), domain))
        codes[name], domains[name] = column, domain
        others = (a for a in schema if a.name != name)
        schema = Schema((*others, domain.attribute), schema.people)
        parts.append(replace(part, on=name))
    return replace(data, schema=schema, codes=codes, domains=domains), reduce(and_, parts)
