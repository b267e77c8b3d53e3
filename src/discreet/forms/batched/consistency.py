"""Can the people of every box have their values in the batches that it refers to?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.forms.matches import Matches
from discreet.table.arrays import Ints

if TYPE_CHECKING:
    from discreet.forms.batched.view import BatchedBoxes

LARGE = 60
"""In boxes of more people it is not tried to place everybody at once."""


def is_foreign(view: BatchedBoxes, matches: Matches, own: Ints) -> bool:
    """Whether the people of some box cannot have their values in the batches it refers to."""
    held = view.held
    seen = np.flatnonzero(matches.set_of >= 0)
    people = seen[np.argsort(matches.group_of[seen], kind="stable")]
    starts = np.searchsorted(matches.group_of[people], np.arange(view.count + 1))
    box, batch, records = view.references
    begins = np.searchsorted(box, np.arange(view.count + 1))
    for c in range(view.count):
        values, counts = np.unique(own[people[starts[c] : starts[c + 1]]], return_counts=True)
        here = slice(begins[c], begins[c + 1])
        room = np.zeros((len(values), begins[c + 1] - begins[c]), dtype=np.int64)
        for place, b in enumerate(batch[here]):
            entries = slice(held.offsets[b], held.offsets[b + 1])
            at = np.searchsorted(values, held.codes[entries])
            at = np.minimum(at, len(values) - 1)
            same = values[at] == held.codes[entries]
            room[at[same], place] = held.weights[entries][same]
        if not _may_fit(counts, records[here], room):
            return True
    return False


def _may_fit(people: Ints, need: Ints, room: Ints) -> bool:
    """Try to place everybody; in a large box, only each value and each batch by itself."""
    from discreet.kernels.flow import fits

    if need.sum() <= LARGE:
        return bool(fits(people, need, room))
    taken = np.minimum(room, need).sum(axis=1)
    given = np.minimum(room, people[:, None]).sum(axis=0)
    return bool((people <= taken).all() and (need <= given).all())
