"""Records drawn from noisy counts: attribute by attribute, each beside one or more drawn before."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from discreet.errors import QueryError
from discreet.forms.noisy.estimates import Estimates
from discreet.forms.noisy.fitting import Axes, project
from discreet.table.arrays import Floats, Ints
from discreet.table.domain import Domain
from discreet.table.public_cells import PublicCells
from discreet.table.schema import Type


def draw_records(estimates: Estimates, n: int, rng: np.random.Generator) -> pl.DataFrame:
    """Draw records from the fitted tables.

    Attributes are drawn one after the other. Each follows those that are drawn already and stand
    in a table with it: of all tables that with most such, and of these the one in which they tell
    most of it (Chow and Liu, 1968). So all that a tree of tables tells is kept.
    """
    noisy = estimates.noisy
    if n and not any(counts.sum() > 0 for _, counts in estimates.fitted):
        raise QueryError(
            "By its noisy counts there is nobody: no records can be drawn.",
            hint="Read its tables directly: release.tables.",
        )
    drawn: dict[str, Ints] = {}
    while len(drawn) < len(noisy.cells):
        name, (names, counts) = _choose(estimates.fitted, drawn)
        before = tuple(one for one in names if one in drawn)
        drawn[name] = _draw(names, counts, name, before, drawn, n, rng)
    return pl.DataFrame({
        name: _draw_values(cells, drawn[name], rng).alias(name)
        for name, cells in noisy.cells.items()
    })  # fmt: skip


def _choose(
    tables: Sequence[tuple[Axes, Floats]], drawn: dict[str, Ints]
) -> tuple[str, tuple[Axes, Floats]]:
    """Choose the attribute to be drawn next, and the table that it is drawn from."""
    options = []
    for place, (names, counts) in enumerate(tables):
        before = tuple(name for name in names if name in drawn)
        for axis, name in enumerate(names):
            if name not in drawn:
                own = (*before, name)
                told = _tell(_put_last(names, own, project(names, counts, own)))
                options.append((len(before), told, -place, -axis))
    _, _, place, axis = max(options)
    return tables[-place][0][-axis], tables[-place]


def _put_last(names: Axes, own: Axes, counts: Floats) -> Floats:
    """Lay out a table of some attributes as rows, with the last of these along the columns."""
    order = [name for name in names if name in own]
    moved = np.moveaxis(counts, order.index(own[-1]), -1)
    return moved.reshape(-1, moved.shape[-1])


def _tell(counts: Floats) -> float:
    """How much rows tell of columns: their mutual information, in nats."""
    total = counts.sum()
    if total <= 0:
        return 0.0
    p = counts / total
    alone = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
    some = p > 0
    return float((p[some] * np.log(p[some] / alone[some])).sum())


def _draw(
    names: Axes,
    counts: Floats,
    name: str,
    before: Axes,
    drawn: dict[str, Ints],
    n: int,
    rng: np.random.Generator,
) -> Ints:
    """Draw the cells of an attribute, beside the cells of those before."""
    here = _put_last(names, (*before, name), project(names, counts, (*before, name)))
    order = [one for one in names if one in before]
    sizes = [counts.shape[names.index(one)] for one in order]
    row = np.zeros(n, dtype=np.int64)
    for one, size in zip(order, sizes, strict=True):
        row = row * size + drawn[one]
    # where nobody is by these counts, as all others are
    whole = here.sum(axis=0) if here.sum() > 0 else np.ones(here.shape[1])
    likely = np.where(here.sum(axis=1, keepdims=True) > 0, here, whole)
    upto = np.cumsum(likely, axis=1)
    upto /= upto[:, -1:]
    at = rng.random(n)
    found = np.empty(n, dtype=np.int64)
    for own in np.unique(row):
        some = row == own
        found[some] = np.searchsorted(upto[own], at[some], side="right")
    return np.asarray(np.minimum(found, here.shape[1] - 1))


def _draw_values(cells: PublicCells, drawn: Ints, rng: np.random.Generator) -> pl.Series:
    """Draw a value of each cell, all as likely."""
    attribute = cells.attribute
    absent = drawn >= cells.known
    if not attribute.type.numeric:
        is_boolean = attribute.type is Type.BOOLEAN
        texts = cells.first[: cells.known]
        values = np.arange(2) if is_boolean else np.array(texts, dtype=object)
        return Domain(attribute, values, cells.missing).series().gather(drawn)
    low, high = cells.ends
    place = np.where(absent, 0, drawn)
    units = rng.integers(low[place], high[place] + 1)
    known, which = np.unique(units, return_inverse=True)
    series = Domain(attribute, known, missing=True).series()
    return series.gather(np.where(absent, len(known), which))
