"""Reading generalized releases: a group is the people of one class, who show one box."""

from __future__ import annotations

import numpy as np

from discreet.errors import StoreError
from discreet.forms.base import View, take_table
from discreet.forms.boxes import BoxView, box_columns, number_boxes, refuse_finer_labels
from discreet.release import Release

TABLE, CLASS = "generalized", "class"


def read_generalized(release: Release) -> list[View]:
    """Take groups as numbered, and refuse a class whose rows do not show one box.

    Where people are split into groups, classes that show the same box are one group to everyone
    outside. Where they are dealt they stay apart: several groups that may be a person's.
    """
    columns, own = box_columns(release), release.own(CLASS)
    table = take_table(release, {TABLE}, TABLE, {own, *release.columns})
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
    if not release.promise.principle.dealt:
        number, boxes = number_boxes(release, boxes)
        labels = number[labels]
    else:
        refuse_finer_labels(release, boxes)
    return [BoxView(release, table, labels.astype(np.int64), boxes)]
