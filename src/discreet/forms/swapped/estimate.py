"""How a rank-swapped release answers many questions: what it shows is taken for the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.forms.estimates import Asked
from discreet.table.arrays import Floats
from discreet.table.domain import reduce_column

if TYPE_CHECKING:
    from discreet.forms.swapped.view import SwappedView


def estimate_swapped(view: SwappedView, asked: Asked) -> Floats:
    """Of exact records with swapped numbers: these are taken for the true ones."""
    takes = dict(asked.known)
    if asked.told is not None and asked.takes is not None:
        takes[asked.told] = asked.takes
    added = np.ones(view.count)
    if asked.numbers is not None and asked.told is not None:
        shown = reduce_column(view.table[asked.told], view.release.schema[asked.told])
        domain = shown.encode(None)[1]
        added = domain.numbers / 10**domain.decimals
    counts = asked.count_groups(takes, view.labels, view.count)
    return np.concatenate([(added[:, None] * c).sum(axis=0) for c in counts])
