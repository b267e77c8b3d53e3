"""Corrected moments: least squares where numbers are, with a known probability, drawn at random.

A number shown is p of the way between what is drawn on average and the person's own. So sums,
squares and products with what is drawn taken out are those of people's own numbers on average, and
the normal equations made of them have the same solution (Nakamura, Biometrika 1990).
"""

from __future__ import annotations

import numpy as np

from discreet.analysis.design import DesignBlock
from discreet.errors import QueryError
from discreet.forms.incomplete import Incomplete, Noise
from discreet.table.arrays import Floats


def correct_moments(
    incomplete: Incomplete, target: str, response: DesignBlock, regressors: dict[str, DesignBlock]
) -> tuple[Floats, Floats, float | None, int]:
    """Give coefficients, their covariance, the share explained, and how many records there are."""
    n = incomplete.shown.height
    columns = [np.ones(n)]
    places: list[tuple[int, Noise, Floats]] = []
    centre, scale = [0.0], [1.0]
    for name, coded in regressors.items():
        centre += coded.centre.tolist()
        scale += coded.scale.tolist()
        for term in range(len(coded.terms)):
            shown = coded.numbers[coded.codes, term]
            noise = incomplete.noise.get(name)
            if noise is not None:
                places.append((len(columns), noise, shown))
                shown = _take_out(shown, noise)
            columns.append(shown)
    middle, wide = np.array(centre), np.array(scale)
    design = (np.array(columns).T - middle) / wide
    shown = response.numbers[response.codes, 0]
    noise = incomplete.noise.get(target)
    own = shown if noise is None else _take_out(shown, noise)
    square = own**2 if noise is None else _take_out_square(shown, noise)
    whole = ~(np.isnan(own) | np.isnan(design).any(axis=1))
    # what squares of numbers that were taken out have too much
    excess = np.zeros_like(design)
    for place, drawn, raw in places:
        left = _take_out_square(raw, drawn) - columns[place] ** 2
        excess[:, place] = left / wide[place] ** 2
    design, own, square, excess = design[whole], own[whole], square[whole], excess[whole]
    moments = design.T @ design + np.diag(excess.sum(axis=0))
    if np.linalg.eigvalsh(moments).min() <= 1e-9 * len(own):
        raise QueryError(
            "Too little is known of the numbers that were drawn at random: what they explain "
            "cannot be told.",
            hint="Explain them by other attributes instead, or leave them out.",
        )
    inverse = np.linalg.inv(moments)
    found = inverse @ (design.T @ own)
    scores = design * (own - design @ found)[:, None] - excess * found
    free = max(len(own) - len(found), 1)
    covariance = inverse @ (scores.T @ scores) @ inverse * (len(own) / free)
    residual = square.mean() - found @ (design.T @ own) / len(own)
    total = square.mean() - own.mean() ** 2
    explained = float(1 - residual / total) if 0 <= residual <= total > 0 else None
    back = np.diag(1 / wide)
    back[0, 1:] = -(middle / wide)[1:]
    return back @ found, back @ covariance @ back.T, explained, len(own)


def _take_out(shown: Floats, noise: Noise) -> Floats:
    return (shown - (1 - noise.retention) * noise.mean) / noise.retention


def _take_out_square(shown: Floats, noise: Noise) -> Floats:
    return (shown**2 - (1 - noise.retention) * noise.square) / noise.retention
