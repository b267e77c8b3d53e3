"""Sampling weights: how many people of the population each row stands for.

A weight is a number of the table like any other: published as it is or blurred, as its role says.
Beside that it is read here, exactly, for what is counted of the population.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import MicrodataError, SchemaError
from discreet.table.arrays import Floats, Ints
from discreet.table.domain import ReducedColumn, reduce_column
from discreet.table.schema import Missing, Role, Schema

if TYPE_CHECKING:
    import polars as pl

    from discreet.table.microdata import Microdata


@dataclass(frozen=True, eq=False)
class Weights:
    """The weight of every row, as whole units of ``10 ** -decimals``."""

    units: Ints
    decimals: int

    @property
    def values(self) -> Floats:
        """Per row the weight, as near as a float comes."""
        return np.asarray(self.units / 10**self.decimals)

    @cached_property
    def total(self) -> Fraction:
        """How many people the table stands for."""
        high, low = self.units >> 32, self.units & (2**32 - 1)  # the sum may pass 64 bits
        return Fraction((int(high.sum()) << 32) + int(low.sum()), 10**self.decimals)

    def taken(self, rows: Ints) -> Weights:
        """Give those of some rows."""
        return Weights(self.units[rows], self.decimals)

    def average(self, places: Ints) -> Floats:
        """Give everybody the average weight of those in the same place; -1 is nobody's."""
        count = int(places.max(initial=-1)) + 1
        there = places >= 0
        sums = np.bincount(places[there], weights=self.values[there], minlength=count)
        people = np.bincount(places[there], minlength=count)
        return np.append(sums / np.maximum(people, 1), 0.0)[places]


def check_weights(frame: pl.DataFrame, schema: Schema) -> ReducedColumn | None:
    """Refuse weights that are missing, below zero or no numbers; ``None`` if there are none."""
    if schema.weight is None:
        return None
    attribute = schema[schema.weight]
    said = f"weight = {attribute.name!r}"
    if attribute.role not in (Role.OTHER, Role.QUASI_IDENTIFIER):
        raise SchemaError(
            f"{said}: the column is {attribute.role}.",
            hint='Set role = "other", or "quasi-identifier" to blur it.',
        )
    column = reduce_column(frame[attribute.name], attribute)
    absent = column.absent
    drops = attribute.published and attribute.missing is Missing.DROP
    if absent.any() and not drops:
        raise MicrodataError(
            f"{said}: {int(absent.sum()):,} of {frame.height:,} rows have none.",
            hint="Fill the cells, or leave these rows out: nobody can say whom they stand for.",
        )
    below = (column.canonical < 0)[column.inverse] & ~absent
    if below.any():
        raise MicrodataError(
            f"{said}: {int(below.sum()):,} of {frame.height:,} rows are below zero.",
            hint="A row stands for no fewer than no people: correct the weights.",
        )
    if not (column.canonical > 0)[column.inverse[~absent]].any():
        raise MicrodataError(
            f"{said}: no row stands for anybody.", hint="Name another column, or leave it out."
        )
    return column


def read_weights(data: Microdata, column: ReducedColumn | None) -> Weights | None:
    """Read the weights of the rows that were taken of a table; of rows folded into one, theirs."""
    if column is None:
        return None
    name = column.attribute.name
    if name in data.codes:
        domain = data.domains[name]
        return Weights(domain.values[data.codes[name]].astype(np.int64), domain.decimals)
    codes, domain = column.encode(None)
    units = domain.values[codes].astype(np.int64)
    return Weights(units if data.rows is None else units[data.rows], domain.decimals)
