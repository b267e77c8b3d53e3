"""Joins: what several generalized tables of one release give away together.

Records of two tables may be one person's only if they refer to the same batch and their boxes
meet. Each table hides a person among k; a cell of the join may hold one person only.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from discreet.forms.exposure import JoinedCells
from discreet.forms.matches import Matches

if TYPE_CHECKING:
    from discreet.forms.batched.view import BatchedView


def join_tables(first: BatchedView, found: Sequence[Matches]) -> JoinedCells:
    """Intersect, for each person, what the tables show: boxes, and the batches they refer to.

    Whatever is known about the batch, no belief exceeds the most telling of those that are left.
    """
    boxes = [matches.group_of for matches in found]
    cells = pl.DataFrame({str(i): box for i, box in enumerate(boxes)})
    number = cells.select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy().astype(int) - 1
    people = np.bincount(number)[number]
    telling = first.held.largest / first.held.sizes
    bound, worst = np.zeros(int(number.max()) + 1), Fraction(0)
    distinct, where = np.unique(number, return_index=True)
    batches = [_batches_by_box(matches) for matches in found]
    for cell, person in zip(distinct.tolist(), where.tolist(), strict=True):
        possible: set[int] | None = None
        for box, of_box in zip(boxes, batches, strict=True):
            here = of_box.get(int(box[person]), set())
            possible = here if possible is None else possible & here
        most = max(possible or (), key=telling.__getitem__, default=None)
        bound[cell] = 0 if most is None else telling[most]
        if most is not None:
            share = Fraction(int(first.held.largest[most]), int(first.held.sizes[most]))
            worst = max(worst, share)
    (name,) = first.release.schema.sensitive
    return JoinedCells(int(people.min()), int((people == 1).sum()), {name: bound[number]}, worst)


def _batches_by_box(matches: Matches) -> dict[int, set[int]]:
    box, batch, _ = cast("BatchedView", matches.view).references
    starts = np.flatnonzero(np.append(True, box[1:] != box[:-1]))
    parts = np.split(batch, starts[1:])
    return {int(box[s]): set(part.tolist()) for s, part in zip(starts, parts, strict=True)}
