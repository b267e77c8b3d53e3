"""Finer: people's own numbers, and how another release would show them.

A release is held against the table as it was read for it. Another release of the same people may
have made numbers coarser otherwise: somebody who knows that a person is 97 finds the person among
those of 90 or more in one release, and from 95 to 99 in the other.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.errors import SchemaError
from discreet.table.coarsening import SETTINGS, Coarsening, coarsen, is_coarse, refine
from discreet.table.domain import ReducedColumn
from discreet.table.microdata import Microdata
from discreet.table.schema import Attribute, Schema


def refine_data(data: Microdata, schemas: list[Schema]) -> Microdata:
    """Give people's own numbers in columns that some of the schemas make coarser otherwise."""
    odd = [a.name for a in data.schema.published
           if any(a.name in s.names and Coarsening.of(s[a.name]) != Coarsening.of(a)
                  for s in schemas)]  # fmt: skip
    made = data
    for name in odd:
        if not is_coarse(data.schema[name]):
            continue
        if name not in data.finer:
            raise SchemaError(
                f"{name!r} was made coarser, and how it was is not known.",
                hint="Read the table itself.",
            )
        codes, domain = data.finer[name]
        schema = made.schema.changed(refine(data.schema[name]))
        made = replace(
            made,
            schema=schema,
            codes={**made.codes, name: codes},
            domains={**made.domains, name: domain},
        )
    return made


def show_as(data: Microdata, schema: Schema) -> Microdata:
    """Give the same people as a release of this schema shows them, from their own numbers."""
    for attribute in schema:
        name = attribute.name
        if name not in data.codes or not is_coarse(attribute):
            continue
        if not is_coarse(data.schema[name]) and data.schema[name].reads_like(attribute):
            data = _show_column(data, attribute)
    return data


def _show_column(data: Microdata, attribute: Attribute) -> Microdata:
    name, domain = attribute.name, data.domains[attribute.name]
    settings = {setting: getattr(attribute, setting) for setting in SETTINGS}
    # a kept column may be of another role here; only what is done to its numbers is taken over
    told = replace(attribute, taxonomy=None, missing=data.schema[name].missing, **settings)
    cells = np.append(np.asarray(domain.values, dtype=np.int64), 0)
    absent = np.append(np.zeros(len(domain.values), dtype=bool), True)
    column = ReducedColumn(told, data.codes[name], cells, absent, full=True)
    codes, shown = coarsen(column, None).encode(None)
    return replace(
        data,
        schema=data.schema.changed(told),
        codes={**data.codes, name: codes},
        domains={**data.domains, name: shown},
    )


def refuse_means(others: Microdata) -> None:
    """Refuse people of another table who are known by means of groups of their own."""
    for attribute in others.schema.published:
        if attribute.aggregate is not None:
            raise SchemaError(
                f"{attribute.name!r} is micro-aggregated: people of another table are in none of "
                "the groups, and what they would show cannot be told.",
                hint="Leave out the population or control, or round the column instead.",
            )
