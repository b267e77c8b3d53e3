"""Shares: what batches of a part hold of boxes that have records in other parts as well.

What is believed of a box mixes the batches that its records refer to, each in proportion to its
size. Until all parts are put together sizes are kept apart, so that only whole numbers are added.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from discreet.errors import StoreError
from discreet.forms.batched.held import BATCH
from discreet.principles.groups import Groups
from discreet.table.arrays import Ints

if TYPE_CHECKING:
    from discreet.forms.batched.view import BatchedBoxes

FINE = 2**40
"""Shares of a mixture are rounded to so many parts where exact ones do not fit 64 bits."""
MOST = 2**62
"""A box has no more parts in all."""
PEOPLE = -1
"""Stands for records alone, where others have the number of an attribute."""


def find_common_units(box: Ints, sizes: Ints, people: Ints) -> Ints:
    """Give each box a number of parts that all its batches divide, if 64 bits hold it.

    All parts of all people of a box shall fit as well, or what is believed of it would be nonsense.
    """
    units, fine = np.ones(len(people), dtype=np.int64), np.minimum(FINE, MOST // people)
    for group, size in np.unique(np.stack([box, sizes], 1), axis=0).tolist():
        if units[group] < fine[group]:
            units[group] = np.lcm(units[group], size)
    return np.minimum(units, fine)


def spell_boxes(view: BatchedBoxes) -> pl.Series:
    """Write what each box shows as one text, by which the same box is known in other parts."""
    shown = view.boxes.drop(view.release.own(BATCH)).with_columns(pl.col(pl.Enum).cast(pl.String))
    return shown.select(pl.struct(pl.all()).struct.json_encode()).to_series()


def list_shares(view: BatchedBoxes) -> pl.DataFrame:
    """List, box by box, its records here, and what batches of each size hold of every attribute."""
    box, batch, records = view.references
    sizes = view.batch_sizes[batch]
    every = np.arange(view.count)
    parts = [_list_lines(every, PEOPLE, np.ones_like(every), every * 0, view.records_here)]
    for number, name in enumerate(view.release.schema.sensitive):
        held = view.held[name]
        which, entry = held.entries_of(batch)
        parts.append(_list_lines(
            box[which], number, sizes[which], held.codes[entry].astype(np.int64),
            records[which] * held.weights[entry],
        ))  # fmt: skip
    lines = pl.concat(parts)
    return lines.with_columns(spell_boxes(view).gather(lines["box"]).alias("box"))


def _list_lines(box: Ints, attribute: int, sizes: Ints, codes: Ints, weights: Ints) -> pl.DataFrame:
    lines = pl.DataFrame({"box": box, "size": sizes, "code": codes, "weight": weights})
    return lines.group_by("box", pl.lit(attribute).alias("attribute"), "size", "code").agg(
        pl.col("weight").sum()
    )


def add_shares(lines: pl.DataFrame) -> pl.DataFrame:
    """Put all lines of some boxes together: per box and attribute what it holds in all."""
    lines = lines.group_by("box", "attribute", "size", "code").agg(pl.col("weight").sum())
    box = lines["box"].rank("dense").to_numpy().astype(np.int64) - 1
    attribute, sizes = lines["attribute"].to_numpy(), lines["size"].to_numpy()
    counted = attribute == PEOPLE
    people = np.zeros(int(box.max(initial=-1)) + 1, dtype=np.int64)
    people[box[counted]] = lines["weight"].to_numpy()[counted]
    # sizes are the same for all attributes, and 1 stands beside records
    units = find_common_units(box, sizes, people)[box]
    parts = np.where(counted, 1, units // sizes)
    lines = lines.with_columns(pl.col("weight") * pl.Series(parts))
    return lines.group_by("box", "attribute", "code").agg(pl.col("weight").sum())


def read_shares(view: BatchedBoxes, lines: pl.DataFrame) -> dict[str | None, Groups]:
    """Read what the boxes of a part hold in all; unnamed, how many people."""
    boxes = pl.DataFrame({"box": spell_boxes(view)}).with_row_index("group")
    found = boxes.join(lines, on="box").sort("group", "attribute", "code")
    counted = found.filter(pl.col("attribute") == PEOPLE)
    if counted.height != view.count:
        raise StoreError("Boxes of a part are not among those of its table.")
    held: dict[str | None, Groups] = {None: Groups.of_people(counted["weight"].to_numpy())}
    for number, name in enumerate(view.release.schema.sensitive):
        own = found.filter(pl.col("attribute") == number)
        bags, codes = view.held[name], own["code"].to_numpy().astype(np.int32)
        made = Groups.from_entries(
            own["group"].to_numpy().astype(np.int64), codes, own["weight"].to_numpy(), bags.domain
        )
        held[name] = replace(made, whole=bags.whole)
    return held
