"""Cells: what labels stand for, in runs of values that a question does not tell apart.

A statement about ``FLOOR(rent / 500)`` reads rents in a few runs, however many there are: each is
one cell, with the number of its values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from sqlglot import exp

from discreet.errors import QueryError
from discreet.release import Release
from discreet.release.cells import MOST_CELLS, list_cells, write_positions
from discreet.release.labels import Labels, find_labels
from discreet.sql.blurred import LEAST, MEAN, MOST, SQUARE, THERE, Factor
from discreet.sql.evenness import is_spread, learn_spread
from discreet.sql.query import find_columns
from discreet.sql.selection import evaluate_term
from discreet.table.arrays import Bools, Ints
from discreet.table.coarsening import is_coarse

MANY = "#many"
"""How many values a cell has."""


class CellRuns(NamedTuple):
    """Values beside each other that are in the same labels and give the same to every term.

    The last run is the missing value.
    """

    values: pl.Series
    """All that labels stand for."""
    first: Ints
    """Where each run begins among them."""
    starts: Ints
    """The numbers by which first values are compared, but of the last."""
    many: Ints
    piece: Ints
    """By what labels part each lies in."""


def list_terms(parts: Sequence[exp.Expr], name: str) -> list[exp.Expr] | None:
    """List the largest expressions of one attribute alone; ``None`` if it is read as it is.

    >>> import sqlglot
    >>> both = sqlglot.parse_one("FLOOR(age / 10) = 2 OR rent > 500")
    >>> [term.sql() for term in list_terms([both], "age")]
    ['FLOOR(age / 10) = 2']
    >>> list_terms([sqlglot.parse_one("age < rent")], "age") is None
    True
    """
    found: list[exp.Expr] = []
    left = list(parts)
    while left:
        node = left.pop()
        names = set(find_columns(node))
        if name not in names:
            continue
        if isinstance(node, exp.Column):
            return None
        if len(names) > 1:
            left += node.iter_expressions()
        else:
            found.append(node)
    return found


def tabulate_cells(
    release: Release, table: str, name: str, terms: Sequence[exp.Expr] | None,
    factors: Sequence[Factor] = (),
) -> pl.DataFrame:  # fmt: skip
    """List the cells of labels, each with its likely share, and the least and the largest one.

    The ``value`` of a cell is its first one; a missing value is a cell of its own. Of factors cells
    have in how many values they are something, the least and the largest, and if they are summed
    what they and their squares add up to.
    """
    labels = find_labels(release, table, name)
    spread = is_spread(release, name)
    if labels.sets is not None or is_coarse(labels.attribute):
        cells = list_cells(release, table, name).with_columns(pl.lit(1, pl.Int64).alias(MANY))
        told = [_tell(factor, cells["value"], np.arange(cells.height)) for factor in factors]
        cells = cells.with_columns(series for found in told for series in found)
        owner = np.repeat(np.arange(len(labels.texts)), labels.sizes)
        piece = learn_spread(release, table, name).pieces.find(cells["value"]) if spread else None
    else:
        cells, owner, piece = _cut_labels(labels, terms, factors)
    nothing = np.zeros(cells.height)
    shares = (nothing, nothing, nothing + 1)
    if spread and piece is not None:
        many = cells[MANY].to_numpy()
        shares = learn_spread(release, table, name).weigh_cells(owner, piece, many)
    titles = ("#likely", "#least", "#most")
    return cells.with_columns(*(pl.Series(*part) for part in zip(titles, shares, strict=True)))


def _cut_labels(
    labels: Labels, terms: Sequence[exp.Expr] | None, factors: Sequence[Factor]
) -> tuple[pl.DataFrame, Ints, Ints]:
    """Cut intervals into runs; give the label and the piece of each beside them."""
    some = labels.low <= labels.high
    runs = _list_runs(labels, some, terms)
    begin = np.searchsorted(runs.starts, labels.low)
    lengths = np.where(some, np.searchsorted(runs.starts, labels.high, "right") - begin, 0)
    if int(lengths.sum()) > MOST_CELLS:
        raise _refuse_many(labels)
    owner = np.repeat(np.arange(len(lengths)), lengths)
    run = begin[owner] + np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    absent = np.flatnonzero(labels.absent)
    owner = np.concatenate([owner, absent])
    run = np.concatenate([run, np.full(len(absent), len(runs.first) - 1)])
    cells = pl.DataFrame({
        "label": pl.Series(labels.texts, dtype=pl.String).gather(owner),
        "value": runs.values.gather(runs.first[run]),
        MANY: runs.many[run],
    })  # fmt: skip
    number = np.repeat(np.arange(len(runs.many)), runs.many)
    told = [_tell(factor, runs.values, number) for factor in factors]
    cells = cells.with_columns(series.gather(run) for found in told for series in found)
    return cells, owner, runs.piece[run]


def _list_runs(labels: Labels, some: Bools, terms: Sequence[exp.Expr] | None) -> CellRuns:
    low, high = labels.low[some], labels.high[some]
    ends = np.unique(np.concatenate([low, high + 1]))
    steps = np.bincount(np.searchsorted(ends, low), minlength=len(ends))
    steps = steps - np.bincount(np.searchsorted(ends, high + 1), minlength=len(ends))
    covered = np.flatnonzero(np.cumsum(steps)[:-1] > 0)
    sizes = np.diff(ends)[covered]
    if int(sizes.sum()) > MOST_CELLS:
        raise _refuse_many(labels)
    piece = np.repeat(covered, sizes)
    positions = ends[piece] + np.arange(len(piece)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    values = write_positions(positions, labels.attribute)
    values = values.append(pl.Series([None], dtype=values.dtype))
    cut = np.ones(len(values), dtype=bool)
    if terms is not None:
        cut[:-1] = np.diff(piece, prepend=-1) != 0
        for term in terms:
            found = evaluate_term(term, values)
            cut |= found.ne_missing(found.shift(1)).to_numpy()
    first = np.flatnonzero(cut)
    many = np.diff(first, append=len(values))
    return CellRuns(values, first, positions[first[:-1]], many,
                np.append(piece, max(len(ends) - 1, 0))[first])  # fmt: skip


def _tell(factor: Factor, values: pl.Series, cell: Ints) -> list[pl.Series]:
    """Tell of a factor in every cell, by the cell that each value is in."""
    x = pl.col("x")
    told = {THERE: x.count().cast(pl.Int64), LEAST: x.min(), MOST: x.max()}
    if factor.summed:
        number = x.cast(pl.Float64)
        told |= {MEAN: number.sum(), SQUARE: (number * number).sum()}
    frame = pl.DataFrame({"x": evaluate_term(factor.expression, values), "cell": cell})
    found = frame.group_by("cell", maintain_order=True).agg(
        *(expression.alias(factor.title(part)) for part, expression in told.items()))  # fmt: skip
    return found.drop("cell").get_columns()


def _refuse_many(labels: Labels) -> QueryError:
    return QueryError(
        f"{labels.attribute.name!r} has too many values to look at one by one.",
        hint="Ask about another attribute, or about this one without GROUP BY and OR.",
    )
