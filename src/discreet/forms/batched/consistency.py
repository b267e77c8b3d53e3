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


def is_foreign(view: BatchedBoxes, matches: Matches, name: str, own: Ints) -> bool:
    """Whether the people of some box cannot have their values in the batches it refers to."""
    from discreet.kernels.flow import fit_boxes

    held, seen = view.held[name], matches.set_of >= 0
    size = held.domain.size
    cases, people = np.unique(matches.group_of[seen] * size + own[seen], return_counts=True)
    box, batch, records = view.references
    every = np.arange(view.count + 1)
    return not fit_boxes(
        np.searchsorted(cases, every * size), cases % size, people,
        np.searchsorted(box, every), batch, records,
        held.offsets, held.codes, held.weights, LARGE,
    )  # fmt: skip
