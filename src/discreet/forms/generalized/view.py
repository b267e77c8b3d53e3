"""Reading generalized releases: a group is the people of one class, who show one box.

Some records may be nobody's: a table beside it says how many of each class are counterfeits.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl

from discreet.errors import StoreError
from discreet.forms.base import View
from discreet.forms.boxes import BoxView, box_columns, number_boxes, refuse_finer_labels
from discreet.forms.counterfeits import ALL, COUNTERFEITS, place_counterfeits, share_people
from discreet.forms.reading import take_table
from discreet.release import Release
from discreet.table.arrays import Ints

TABLE, CLASS = "generalized", "class"
PEOPLE = "people_of_classes"
"""A table that questions need: how many of the records of each class are people's."""
BOXES = "boxes_of_classes"
"""A table that questions to many records are faster with: the labels that each class shows."""
MANY, FEW = 100_000, 20
"""From so many records on it is, if there are so many of them per class."""
_LISTED: WeakKeyDictionary[Release, pl.DataFrame | None] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class ClassView(BoxView):
    """Classes that each show a box."""

    fakes: Ints
    """Per class how many of its records are nobody's."""

    @property
    def counterfeits(self) -> Ints:
        """As the table of them says."""
        return self.fakes


def read_generalized(release: Release) -> list[View]:
    """Take groups as numbered, and refuse a class whose rows do not show one box.

    Where people are split into groups, classes that show the same box are one group to everyone
    outside. Where they are dealt they stay apart: several groups that may be a person's.
    """
    columns, own = box_columns(release), release.own(CLASS)
    titles = {TABLE, *({COUNTERFEITS} & set(release.tables))}
    table = take_table(release, titles, TABLE, {own, *release.columns})
    if not table[own].dtype.is_integer() or table[own].null_count():
        raise StoreError("The table 'generalized' does not give everyone a class.")
    classes, first, labels = np.unique(
        table[own].to_numpy(), return_index=True, return_inverse=True
    )
    boxes = table[first]
    for column in columns:
        same = table[column].eq_missing(boxes[column].gather(labels)).to_numpy()
        if not same.all():
            row = int(np.flatnonzero(~same)[0])
            raise StoreError(
                f"The table 'generalized' is not a generalization: row {row + 1} differs from its "
                f"class {classes[labels[row]]} in {column!r}."
            )
    fakes = place_counterfeits(release, CLASS, classes, np.bincount(labels))
    if not release.promise.principle.dealt:
        number, boxes = number_boxes(release, boxes)
        labels = number[labels]
        fakes = np.bincount(number, fakes).astype(np.int64)
    else:
        refuse_finer_labels(release, boxes)
    return [ClassView(release, table, labels.astype(np.int64), boxes, fakes)]


def share_classes(release: Release) -> pl.DataFrame:
    """Say how many of the records of each class are people's."""
    own = release.own(CLASS)
    records = release.tables[TABLE].group_by(own).agg(pl.len().cast(pl.Int64).alias(ALL))
    return share_people(release, CLASS, records)


def find_boxes(release: Release) -> pl.DataFrame | None:
    """List the labels that each class shows, once per release; ``None`` where it is of no use.

    To look up a number per record and a label per class takes a third of the time that it takes to
    look up a label per record.
    """
    if release not in _LISTED:
        _LISTED[release] = _list_boxes(release)
    return _LISTED[release]


def _list_boxes(release: Release) -> pl.DataFrame | None:
    table, own = release.tables[TABLE], release.own(CLASS)
    if table.height < MANY or own not in table.columns:
        return None
    many = table[own].n_unique()
    if many * FEW > table.height:
        return None
    labels = [name for name in release.schema.names if release.recodings[name].is_blurred]
    boxes = table.select(own, *labels).unique()
    if boxes.height > many or boxes[own].null_count():  # classes that show several labels
        return None
    return boxes.with_columns(pl.col(labels).cast(pl.String)).sort(own)
