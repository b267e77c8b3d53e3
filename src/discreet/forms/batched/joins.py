"""Joins: what several generalized tables of one release give away together.

Records of two tables may be one person's only if they refer to the same batch and their boxes
meet. In each table k people look the same; a cell of the join may hold one person only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from discreet.forms.matches import Matches, round_likelihoods
from discreet.table.arrays import Ints
from discreet.table.microdata import representatives, row_ids

if TYPE_CHECKING:
    from discreet.forms.base import View
    from discreet.forms.batched.view import BatchedView


def join_tables(batches: View, found: Sequence[Matches]) -> Matches:
    """Match everybody with the batches that all tables leave; ``batches`` are the groups.

    People who look the same in all tables are a candidate set. To whoever knows nobody else, a
    batch is as likely as people of it are in all boxes; everybody else has places to fill: as many
    of a batch as records of each box refer to it.
    """
    boxes = np.stack([matches.group_of for matches in found], axis=1)
    covered = (boxes >= 0).all(axis=1)
    number = row_ids(list(boxes[covered].T), int(covered.sum()))
    cells = boxes[covered][representatives(number)]
    options, room = _list_options(cells, [cast("BatchedView", m.view) for m in found])
    cell, batch = options["cell"].to_numpy(), options["batch"].to_numpy()
    # of a batch with values of nobody each of its values is less likely a person's
    likely = batches.people[batch] / batches.sizes[batch]
    for c in range(len(found)):
        likely *= options[f"w{c}"].to_numpy() / batches.people[batch]
    # somebody for whom the tables leave no batch is in no candidate set
    left, starts = np.unique(cell, return_index=True)
    place = np.full(len(cells) + 1, -1, dtype=np.int64)
    place[left] = np.arange(len(left))
    set_of = np.full(len(boxes), -1, dtype=np.int64)
    set_of[covered] = place[number]
    people = np.bincount(number, minlength=len(cells))
    return Matches(
        batches,
        set_of,
        np.append(starts, len(batch)).astype(np.int64),
        batch,
        round_likelihoods(likely),
        people[left],
        cells=options.select(f"c{c}" for c in range(len(found))).to_numpy(),
        room=room,
    )


def _list_options(cells: Ints, views: Sequence[BatchedView]) -> tuple[pl.DataFrame, Ints]:
    """List the batches that all boxes of a cell refer to, with what each box has of them.

    The box that refers to fewest is listed, cell by cell; the others only narrow it down.
    """
    refers, room = [], np.concatenate([view.references[2] for view in views])
    ends = np.cumsum([len(view.references[0]) for view in views])
    for c, view in enumerate(views):
        box, batch, records = view.references
        number = np.arange(ends[c] - len(box), ends[c])
        refers.append(pl.DataFrame({f"b{c}": box, "batch": batch, f"w{c}": records,
                                    f"c{c}": number}))  # fmt: skip
    shown = pl.DataFrame({f"b{c}": cells[:, c] for c in range(len(views))}).with_columns(
        pl.Series("cell", np.arange(len(cells)))
    )
    many = np.stack([np.bincount(view.references[0], minlength=view.count)[cells[:, c]]
                     for c, view in enumerate(views)])  # fmt: skip
    fewest, parts = many.argmin(axis=0), []
    for first in range(len(views)):
        part = shown.filter(fewest == first).join(refers[first], on=f"b{first}")
        for c in range(len(views)):
            if c != first:
                part = part.join(refers[c], on=[f"b{c}", "batch"])
        parts.append(part.select("cell", "batch", pl.col("^[wc][0-9]+$")))
    columns = parts[0].columns
    return pl.concat([part.select(columns) for part in parts]).sort("cell", "batch"), room
