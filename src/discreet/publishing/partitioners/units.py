"""Units: those whom a promise counts, where rows are not people.

A person may have several rows, and a household several people. How many of them a group has is how
many different keys its rows show, so that k-anonymity of people is distinct diversity of the key,
which is as closed under union, and which no table shows: the sequential paper's Y = Pid.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import and_

import numpy as np

from discreet.principles.base import Principle, demands
from discreet.principles.diversity import DistinctDiversity
from discreet.principles.groups import Groups
from discreet.principles.size import KAnonymity
from discreet.table.domain import Domain
from discreet.table.microdata import Microdata
from discreet.table.schema import Attribute, Role, Schema, Type


def count_units(data: Microdata, principle: Principle) -> tuple[Microdata, Principle]:
    """Give a table to find groups by, with keys as values, and the principle it must keep there.

    Nothing is published of it.
    """
    if data.persons is None:
        return data, principle
    units, key = data.persons.units, data.schema.people
    name = str(key.cluster or key.person)
    number = int(units.max()) + 1
    parts: list[Principle] = []
    for part, about in demands(principle, data.sensitive):
        if isinstance(part, KAnonymity):
            part.require(Groups.of_people(np.array([number])))
            parts.append(DistinctDiversity(part.k, on=name))
        else:
            parts.append(part if about is None else replace(part, on=about))
    attribute = Attribute(name, Role.SENSITIVE, Type.INTEGER)
    others = tuple(a for a in data.schema if a.name != name)
    keyed = replace(
        data,
        schema=Schema((*others, attribute)),
        codes={**data.codes, name: units.astype(np.int32)},
        domains={**data.domains, name: Domain(attribute, np.arange(number))},
    )
    return keyed, reduce(and_, parts)
