"""How a perturbed release answers many questions: less what the numbers drawn contribute."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.forms.estimates import Asked
from discreet.table.arrays import Floats

if TYPE_CHECKING:
    from discreet.forms.perturbed.view import PerturbedView


def estimate_perturbed(view: PerturbedView, asked: Asked) -> Floats:
    """Of exact records with perturbed numbers: less what the numbers drawn contribute.

    A record that shows a number taken counts 1/p, and every record (1-p)/p of the share of all
    numbers that are taken less; of sums the same with the numbers. Questions take intervals here.
    """
    drawn, p = view.replacement, float(view.replacement.retention)
    everyone = np.zeros(view.table.height, dtype=np.int64)
    base = np.concatenate([c[0] for c in asked.count_groups(asked.known, everyone, 1)])
    if asked.told is None:
        return base.astype(float)
    domain = asked.data.domains[asked.told]
    numbers, unit = domain.numbers, 10**domain.decimals
    takes = np.ones((asked.count, domain.size), dtype=bool) if asked.takes is None else asked.takes
    lows = numbers[takes.argmax(axis=1)]
    highs = numbers[takes.shape[1] - 1 - takes[:, ::-1].argmax(axis=1)]
    highs = np.where(takes.any(axis=1), highs, lows - 1)  # some take nothing
    if asked.takes is None:
        lows, highs = np.full_like(lows, drawn.low), np.full_like(highs, drawn.high)
    shown = view.domain.numbers
    inside = (lows <= shown[:, None]) & (shown[:, None] <= highs)
    worth = np.ones(len(shown)) if asked.numbers is None else shown / unit
    counts = np.concatenate(asked.count_groups(asked.known, view.labels, view.count), axis=1)
    seen = (counts * inside * worth[:, None]).sum(axis=0)
    share = drawn.count(lows, highs) / drawn.size
    if asked.numbers is not None:  # of the numbers drawn, their average instead of their share
        first = drawn.low + -((drawn.low - np.maximum(lows, drawn.low)) // drawn.step) * drawn.step
        last = drawn.low + (np.minimum(highs, drawn.high) - drawn.low) // drawn.step * drawn.step
        share = share * (first + last) / 2 / unit
    made = (seen - (1 - p) * share * base) / p
    if asked.numbers is None:
        return np.asarray(np.clip(made, 0, base))
    return np.asarray(np.clip(made, base * (drawn.low / unit), base * (drawn.high / unit)))
