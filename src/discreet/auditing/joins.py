"""Joins: what several generalized tables of one release give away together.

Records of two tables may be one person's only if they refer to the same batch and their boxes
meet. Each table hides a person among k; a cell of the join may hold one person only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.auditing.candidates import Candidates
from discreet.microdata import Microdata
from discreet.verify.angelized import Boxes


@dataclass(frozen=True, eq=False)
class JoinedCells:
    """The people who look the same in all tables at once."""

    smallest: int
    """The fewest people in one cell."""
    alone: int
    """People who are alone in theirs."""
    beliefs: dict[str, NDArray[np.float64]]
    """Per person a bound on the belief in any value, whatever is known about the batch: the most
    telling of the batches that all tables leave possible."""

    @property
    def max_belief(self) -> float:
        """The largest of these bounds."""
        return max(float(belief.max()) for belief in self.beliefs.values())


def join_views(views: list[Candidates], data: Microdata) -> JoinedCells | None:
    """Intersect, for each person, what the tables show: boxes, and the batches they refer to.

    Nothing is gained from one table, nor from tables that are exact anyway.
    """
    if len(views) < 2 or any(found.classes.boxes is None for found in views):
        return None
    boxes = [found.group_of for found in views]
    cells = pl.DataFrame({str(i): box for i, box in enumerate(boxes)})
    number = cells.select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy() - 1
    people = np.bincount(number.astype(np.int64))[number.astype(np.int64)]
    first = views[0].classes
    assert isinstance(first, Boxes)
    telling = first.held.largest / first.held.sizes
    belief = np.zeros(data.n)
    distinct, where = np.unique(number, return_index=True)
    batches = [_batches_by_box(found) for found in views]
    for cell, person in zip(distinct.tolist(), where.tolist(), strict=True):
        possible: set[int] | None = None
        for box, of_box in zip(boxes, batches, strict=True):
            here = of_box.get(int(box[person]), set())
            possible = here if possible is None else possible & here
        bound = max((float(telling[batch]) for batch in possible or ()), default=0.0)
        belief[number == cell] = bound
    (name,) = views[0].release.schema.sensitive
    return JoinedCells(int(people.min()), int((people == 1).sum()), {name: belief})


def _batches_by_box(found: Candidates) -> dict[int, set[int]]:
    assert isinstance(found.classes, Boxes)
    box, batch, _ = found.classes.references
    starts = np.flatnonzero(np.append(True, box[1:] != box[:-1]))
    parts = np.split(batch, starts[1:])
    return {int(box[s]): set(part.tolist()) for s, part in zip(starts, parts, strict=True)}
