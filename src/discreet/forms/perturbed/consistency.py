"""Are the numbers of a perturbed table people's own as often as it says?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.forms.matching import number_jointly
from discreet.table.microdata import Microdata

if TYPE_CHECKING:
    from discreet.forms.perturbed.view import PerturbedView


def compare_retention(view: PerturbedView, data: Microdata) -> list[str]:
    """People show their own number, or that of somebody who looks the same, as often as was said.

    Every record counts the people who look like it and have the number it shows.
    """
    (name,) = view.release.schema.sensitive
    drawn, numbers = view.response, data.domains[name].numbers
    if not drawn.count(numbers, numbers).all():
        return [f"some people's {name} is outside of what numbers were drawn from"]
    own, of = number_jointly(view, data, view.release.schema.quasi_identifiers)
    values = data.domains[name].find(view.domain.texts)[view.labels]
    size = data.domains[name].size
    cells, counts = np.unique(own * size + data.codes[name], return_counts=True)
    at = np.minimum(np.searchsorted(cells, of * size + values), len(cells) - 1)
    there = (cells[at] == of * size + values) & (values >= 0)
    hits = int(counts[at][there].sum())
    p, people = float(drawn.retention), np.bincount(own)
    squares = np.bincount(cells // size, weights=counts.astype(float) ** 2, minlength=len(people))
    alike = counts[np.searchsorted(cells, own * size + data.codes[name])]
    mean = p * alike + (1 - p) * people[own] / drawn.size
    square = p * alike.astype(float) ** 2 + (1 - p) * squares[own] / drawn.size
    expected, spread = float(mean.sum()), float(np.sqrt((square - mean**2).sum()))
    if abs(hits - expected) > 6 * spread + 1:
        said = f"records show the {name} of somebody who looks the same {hits} times"
        return [f"{said}; with the retention it states about {expected:.0f} would be expected"]
    return []
