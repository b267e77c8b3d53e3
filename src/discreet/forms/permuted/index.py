"""A permuted release laid out for many questions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import sqrt

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sqlglot import exp, select

from discreet.forms.permuted.view import GROUP
from discreet.release import Release
from discreet.sql.engines.duckdb import Embedded
from discreet.sql.query import Query, find_columns
from discreet.sql.trees import case, column
from discreet.table.arrays import Bools, Floats, Ints
from discreet.table.domain import reduce_column
from discreet.table.schema import Attribute, Type

PLACE = "#place"
DataKind = type[pl.DataType]
KINDS: dict[str, Callable[[DataKind], tuple[DataKind, DataKind, DataKind, DataKind]]] = {
    "COUNT": lambda _: (pl.Int64, pl.Int64, pl.Int64, pl.Int32),
    "SUM": lambda number: (pl.Float64, number, number, pl.Float64),
    "AVG": lambda _: (pl.Float64, pl.Float64, pl.Float64, pl.Float64),
    "MIN": lambda number: (pl.Float64, number, number, pl.Float64),
    "MAX": lambda number: (pl.Float64, number, number, pl.Float64),
}
"""The types of an answer, as DuckDB gives them."""


class PermutedIndex:
    """A permuted table in group order: codes of its columns, prefix sums of its numbers."""

    def __init__(self, release: Release, session: Embedded) -> None:
        self._release, self._session = release, session
        self._group = release.own(GROUP)
        self._codes: dict[str, NDArray[np.unsignedinteger]] = {}
        self._passing: dict[str, Bools] = {}

    @cached_property
    def table(self) -> pl.DataFrame:
        """The permuted table, group by group."""
        return self._release.tables["permuted"].sort(self._group, maintain_order=True)

    @cached_property
    def starts(self) -> Ints:
        """Where each group starts, and where the last ends."""
        group = self.table[self._group].to_numpy()
        return np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1], [True]]))

    @cached_property
    def numbers(self) -> Ints:
        """The sensitive numbers as whole units, ascending in each group."""
        (name,) = self._release.schema.sensitive
        cells = reduce_column(self.table[name], self._release.schema[name])
        units = np.asarray(cells.canonical[cells.inverse], dtype=np.int64)
        return units[np.lexsort((units, self.table[self._group].to_numpy()))]

    @cached_property
    def prefix(self) -> Ints:
        """Sums of all numbers before each."""
        return np.concatenate([[0], np.cumsum(self.numbers)])

    @cached_property
    def moments(self) -> tuple[Floats, Floats]:
        """Mean and variance of one number of each group, in the attribute's own unit."""
        helped = self._release.tables["help"].sort(self._group, "hits")
        sizes = np.diff(self.starts)
        mean = helped["sum_mean"].to_numpy()[self.starts[1:] - 1] / sizes
        # of one hit: (1 - 1/n) s²; of two or more people s² follows, of one it does not matter
        once = helped["sum_variance"].to_numpy()[self.starts[:-1]]
        return mean, once / np.maximum(1 - 1 / sizes, 0.5)

    @cached_property
    def is_small(self) -> bool:
        """Whether no sum can leave 64 bits."""
        largest = max(abs(int(self.numbers.min())), abs(int(self.numbers.max())))
        return largest * len(self.numbers) < 2**62

    def answer(self, query: Query) -> pl.DataFrame | None:
        """Answer a question this index is made for; ``None`` for any other."""
        from discreet.kernels.bounds import bound_groups

        (sensitive,) = self._release.schema.sensitive
        asked = {aggregate.column for aggregate in query.aggregates}
        conditions = split_conditions(query)
        by_value = sensitive in query.columns  # a row shows somebody else's
        if query.group_by or asked - {None, sensitive} or by_value:
            return None
        if any(aggregate.function not in KINDS for aggregate in query.aggregates):
            return None
        if conditions is None or not self.is_small:
            return None
        chosen = self.choose(conditions)
        found = bound_groups(chosen, self.starts, self.numbers, self.prefix, *self.moments)
        number = pl.Float64 if self._attribute.type is Type.DECIMAL else pl.Int64
        made = []
        for aggregate in query.aggregates:
            parts = self._state(aggregate.function, *found)
            kinds: tuple[DataKind, ...] = (*KINDS[aggregate.function](number), pl.Float64)
            cells = zip(aggregate.names, (*parts, None), kinds, strict=True)
            made += [pl.Series(name, [part], dtype=kind) for name, part, kind in cells]
        return pl.DataFrame(made)

    @property
    def _attribute(self) -> Attribute:
        return self._release.schema[self._release.schema.sensitive[0]]

    def choose(self, conditions: list[tuple[str, exp.Expr]]) -> Bools:
        """Say which rows pass all of some conditions, each on one column."""
        from discreet.kernels.bounds import narrow

        chosen = np.ones(self.table.height, dtype=np.bool_)
        for name, condition in conditions:
            narrow(chosen, self._encode(name), self._pass(name, condition))
        return chosen

    def _encode(self, name: str) -> NDArray[np.unsignedinteger]:
        """Number the values of a column, and give DuckDB the list of them."""
        if name not in self._codes:
            cells = self.table.select(name)
            values = cells.unique().with_row_index(PLACE)
            size = np.min_scalar_type(values.height)
            codes = cells.join(values, on=name, how="left", nulls_equal=True, maintain_order="left")
            self._codes[name] = codes[PLACE].to_numpy().astype(size)
            self._session.load(f"#{name}", values)
        return self._codes[name]

    def _pass(self, name: str, condition: exp.Expr) -> Bools:
        """Ask DuckDB, whose condition it is, which values of a column pass it."""
        passes = case(condition.copy(), exp.true(), exp.false())  # as WHERE reads it
        tree = select(passes.as_("passes")).from_(exp.to_identifier(f"#{name}", quoted=True))
        statement = self._session.write(tree.order_by(column(PLACE)))
        if statement.sql not in self._passing:
            self._passing[statement.sql] = self._session.run(statement)["passes"].to_numpy()
        return self._passing[statement.sql]

    def _state(
        self, function: str, hits: int, *found: float
    ) -> tuple[float | None, float | None, float | None, float | None]:
        """Give estimate, bounds and standard error of one aggregate, in the attribute's unit."""
        if function == "COUNT":
            return hits, hits, hits, 0
        if hits == 0:
            return None, None, None, None
        attribute = self._attribute
        scale = 10 ** (attribute.decimals or 0)
        ends = [end / scale if attribute.type is Type.DECIMAL else end for end in found[:6]]
        sum_low, sum_high, min_low, min_high, max_low, max_high = ends
        mean, error = found[6], sqrt(max(found[7], 0.0))
        match function:
            case "SUM":
                return mean, sum_low, sum_high, error
            case "AVG":
                return mean / hits, sum_low / hits, sum_high / hits, error / hits
            case "MIN":
                return (min_low + min_high) / 2, min_low, min_high, None
        return (max_low + max_high) / 2, max_low, max_high, None


def split_conditions(query: Query) -> list[tuple[str, exp.Expr]] | None:
    """Give a question's conditions with their column; ``None`` if one is not about one column."""
    found = []
    for condition in query.conditions:
        names = find_columns(condition)
        if len(names) != 1:
            return None
        found.append((names.pop(), condition))
    return found
