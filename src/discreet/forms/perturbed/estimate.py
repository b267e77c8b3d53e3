"""How a perturbed release answers many questions: less what the numbers drawn contribute."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.forms.estimates import Asked
from discreet.release.selection import Selection
from discreet.table.arrays import Floats

if TYPE_CHECKING:
    from discreet.forms.perturbed.view import PerturbedView


def estimate_perturbed(view: PerturbedView, asked: Asked) -> Floats:
    """Of exact records with perturbed numbers: less what the numbers drawn contribute.

    A record that shows a number taken counts 1/p, and every record (1-p)/p of the share of all
    numbers that are taken less; of sums the same with the numbers.
    """
    drawn, p = view.response, float(view.response.retention)
    everyone = np.zeros(view.table.height, dtype=np.int64)
    base = np.concatenate([c[0] for c in asked.count_groups(asked.known, everyone, 1)])
    if asked.told is None:
        return base.astype(float)
    shown, attribute = view.domain.numbers, view.domain.attribute
    if asked.takes is None:
        every = Selection(attribute, *drawn.everything, frozenset(), missing=False)
        selections = [every] * asked.count
    else:
        selections = Selection.list_from_codes(asked.data.domains[asked.told], asked.takes)
    power = 0 if asked.numbers is None else 1
    unit = 10**view.domain.decimals
    inside = np.stack([one.takes(shown) for one in selections])
    counts = np.concatenate(asked.count_groups(asked.known, view.labels, view.count), axis=1)
    seen = (counts * inside.T * ((shown / unit) ** power)[:, None]).sum(axis=0)
    added = [drawn.draw(one) for one in selections]
    share = np.array([one.moments[power] for one in added]) / unit**power
    made = (seen - (1 - p) * share * base) / p
    if not power:
        return np.asarray(np.clip(made, 0, base))
    ends = np.array([(one.low or 0, one.high or 0) for one in added], dtype=np.int64).T
    if asked.takes is not None:  # who is not taken adds nothing
        ends = np.stack([np.minimum(ends[0], 0), np.maximum(ends[1], 0)])
    low, high = base * (ends / unit)
    return np.asarray(np.clip(made, low, high))
