"""Blurred numbers: what labels tell of terms over the attributes that they blur.

Of the values that a question takes of a label it is told how many there are of which a term is
something, its least and its largest there, and its mean and that of its square, were people spread
evenly. A term over several attributes is told where it is a product of terms over one each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
import polars as pl
from sqlglot import exp

from discreet.errors import QueryError
from discreet.release.cells import write_positions
from discreet.release.labels import Labels
from discreet.release.selection import Selection
from discreet.sql.query import Term, find_columns
from discreet.sql.selection import evaluate
from discreet.sql.trees import add_up, case, column, double, name_part, number
from discreet.table.schema import Type

THERE, LEAST, MOST, MEAN, SQUARE = "#there", "#low", "#high", "#mean", "#square"
NUMBERS = (Type.INTEGER, Type.DECIMAL)


class Factor(NamedTuple):
    """A term over one blurred attribute."""

    attribute: str
    expression: exp.Expr
    name: str
    summed: bool
    """Whether it is a number that is added up, and not only counted or put in order."""

    def title(self, part: str) -> str:
        """The column of a table of shares that has one part of what is told."""
        return f"{part} {self.name}"

    @property
    def parts(self) -> list[str]:
        """What is told of it."""
        return [THERE, LEAST, MOST, *((MEAN, SQUARE) if self.summed else ())]


class Product(NamedTuple):
    """A term as a product of something exact and of terms over one blurred attribute each."""

    exact: exp.Expr | None
    factors: list[Factor]


def split_term(term: Term, blurred: set[str], first: int, *, summed: bool) -> Product:
    """Part a term into factors, numbered from the first; refuse one that is no product."""
    if not term.columns & blurred:
        return Product(term.expression, [])
    parts: dict[str, list[exp.Expr]] = {}
    single = len(term.columns) == 1
    for factor in [term.expression] if single else _list_factors(term.expression):
        names = find_columns(factor)
        if len(names) > 1 and {*names} & blurred:
            mixed = ", ".join(sorted(term.columns & blurred))
            raise QueryError(
                f"{term.expression.sql()} ties {mixed}, not shown exactly, to other columns.",
                hint="Ask for each of the columns, or for products of them: SUM(a), SUM(a * b).",
            )
        about = names[0] if names and names[0] in blurred else ""
        parts.setdefault(about, []).append(factor)
    multiplied = {
        about: multiply([exp.Paren(this=one.copy()) for one in factors]).unnest()
        for about, factors in parts.items()
    }
    exact = multiplied.pop("", None)
    factors = [
        Factor(about, expression, f"f{first + i}", summed)
        for i, (about, expression) in enumerate(multiplied.items())
    ]
    return Product(exact, factors)


def _list_factors(expression: exp.Expr) -> list[exp.Expr]:
    inner = expression.unnest()
    if isinstance(inner, exp.Mul):
        return [*_list_factors(inner.this), *_list_factors(inner.expression)]
    return [inner]


def multiply(factors: Sequence[exp.Expr]) -> exp.Expr:
    """The product of some factors."""
    first, *others = factors
    return reduce(lambda a, b: a * b, others, first)


def multiply_ends(one: Sequence[exp.Expr], other: Sequence[exp.Expr]) -> list[exp.Expr]:
    """The least and the largest product of what lies between ends."""
    corners = [exp.Paren(this=a.copy()) * exp.Paren(this=b.copy()) for a in one for b in other]
    return [
        kind(this=corners[0].copy(), expressions=[c.copy() for c in corners[1:]])
        for kind in (exp.Least, exp.Greatest)
    ]


def count_factor(
    factor: Factor, condition: exp.Expr, table: str, others: exp.Expr
) -> list[exp.Expr]:
    """Tell of a factor in a statement that has a row per cell, those taken satisfying a condition.

    A table has what is told of the cells of its attribute; each stands there for so many others.
    """
    there, low, high, mean, square = (
        case(condition.copy(), column(factor.title(part), table), exp.null())
        for part in (THERE, LEAST, MOST, MEAN, SQUARE)
    )
    many = add_up(there * others.copy())
    people = exp.Nullif(this=many.copy(), expression=number(0))
    told = {
        THERE: exp.func("COALESCE", many, number(0)),
        LEAST: exp.Min(this=low),
        MOST: exp.Max(this=high),
        MEAN: double(add_up(mean * others.copy())) / double(people),
        SQUARE: double(add_up(square * others.copy())) / double(people.copy()),
    }
    return [name_part(told[part], factor.title(part)) for part in factor.parts]


def tell_factor(
    factor: Factor,
    labels: Labels,
    asked: Selection,
    parts: Sequence[exp.Expr],
    list_cells: Callable[[], pl.DataFrame],
) -> list[pl.Series]:
    """Tell of a factor per label of an attribute that stands alone.

    Of a plain number in intervals by arithmetic on their ends; else cells are looked at.
    """
    if labels.sets is None and isinstance(factor.expression, exp.Column):
        told = _tell_runs(labels, asked)
    else:
        told = _tell_cells(factor, labels, parts, list_cells())
    return [told[part].alias(factor.title(part)) for part in factor.parts]


def _tell_runs(labels: Labels, asked: Selection) -> dict[str, pl.Series]:
    """Tell of the values themselves, which are in runs."""
    low, high, starts, ends = labels.low, labels.high, asked.starts, asked.ends
    if not len(starts):  # a run that no label meets
        starts, ends = np.array([high.max(initial=0) + 1]), np.array([high.max(initial=0) + 1])
    there = np.where(low <= high, asked.count_upto(high) - asked.count_upto(low - 1), 0)
    some, anything = there > 0, int(high.max(initial=0))
    after = np.minimum(np.searchsorted(ends, low), len(ends) - 1)
    before = np.maximum(np.searchsorted(starts, high, side="right") - 1, 0)
    least = np.where(some, np.maximum(starts[after], low), anything)
    most = np.where(some, np.minimum(ends[before], high), anything)
    centre = int(starts[0])
    moments = _add_runs(starts - centre, ends - centre, high - centre) - _add_runs(
        starts - centre, ends - centre, low - 1 - centre
    )
    once, twice = (np.where(some, moment / np.maximum(there, 1), np.nan) for moment in moments)
    unit = np.longdouble(10 ** (labels.attribute.decimals or 0))
    mean, square = (centre + once) / unit, (centre * (centre + 2 * once) + twice) / unit**2
    told = {LEAST: write_positions(least, labels.attribute),
            MOST: write_positions(most, labels.attribute),
            MEAN: pl.Series(mean.astype(np.float64)),
            SQUARE: pl.Series(square.astype(np.float64))}  # fmt: skip
    here = pl.Series(some)
    nothing = {part: pl.Series([None], dtype=found.dtype) for part, found in told.items()}
    told = {part: found.zip_with(here, nothing[part]) for part, found in told.items()}
    return {THERE: pl.Series(there), **told}


def _add_runs(starts: np.ndarray, ends: np.ndarray, upto: np.ndarray) -> np.ndarray:
    """Add up the numbers of runs, and their squares, up to and with each of some."""

    def add(first: np.ndarray, last: np.ndarray) -> np.ndarray:
        many, middle = (last - first + 1).astype(np.longdouble), (first + last) / np.longdouble(2)
        return np.stack([many * middle, many * middle**2 + (many**3 - many) / 12])

    whole = np.cumsum(np.pad(add(starts, ends), ((0, 0), (1, 0))), axis=1)
    run = np.searchsorted(starts, upto, side="right") - 1
    at = np.maximum(run, 0)
    part = add(starts[at], np.minimum(upto, ends[at]))
    return np.asarray(np.where(run < 0, 0, whole[:, at] + part))


def _tell_cells(
    factor: Factor, labels: Labels, parts: Sequence[exp.Expr], cells: pl.DataFrame
) -> dict[str, pl.Series]:
    """Tell of a factor at every value that is taken, by what cells tell of it."""
    taken = pl.Series(evaluate(parts, cells["value"]))
    at = {part: pl.col(factor.title(part)) for part in factor.parts}
    told = {THERE: at[THERE].sum(), LEAST: at[LEAST].min(), MOST: at[MOST].max()}
    if factor.summed:
        people = pl.when(told[THERE] > 0).then(told[THERE])
        told |= {MEAN: at[MEAN].sum() / people, SQUARE: at[SQUARE].sum() / people}
    grouped = cells.filter(taken).group_by("label").agg(
        *(expression.alias(part) for part, expression in told.items()))  # fmt: skip
    listed = pl.DataFrame({"label": pl.Series(labels.texts, dtype=pl.String)})
    frame = listed.join(grouped, on="label", how="left", maintain_order="left")
    return {part: frame[part] for part in factor.parts}
