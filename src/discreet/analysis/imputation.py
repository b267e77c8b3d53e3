"""Imputation: completed tables drawn from a release, and what is found in them put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from discreet.errors import QueryError
from discreet.forms import find_form

if TYPE_CHECKING:
    from discreet.release import Release

LEVEL = 0.95


def impute(release: Release, m: int = 20, seed: int | None = None) -> list[pl.DataFrame]:
    """Draw ``m`` completed tables: in each, every record has values that the release allows it.

    People are spread evenly in their boxes, and values dealt at random within their groups. So
    relations that a release hides inside groups are missing in every table.

    >>> import discreet as dc
    >>> data = dc.datasets.census(500, sensitive=["income"])
    >>> release = dc.publish(data, dc.Permutation(dc.KE(k=5, e=1000)))
    >>> tables = release.impute(3, seed=1)
    >>> len(tables), tables[0].shape == (500, len(release.schema.names))
    (3, True)
    """
    if not isinstance(m, int | np.integer) or isinstance(m, bool) or m < 1:
        raise QueryError(f"m = {m!r}: give the number of tables to draw.")
    shown = max(find_form(release.form).linked(release).values(), key=len)
    known = release.schema.quasi_identifiers
    names = [name for name in release.schema.names if name in shown or name not in known]
    records = find_form(release.form).open_records(release, names)
    rng = np.random.default_rng(seed)
    return [records.draw(rng) for _ in range(m)]


@dataclass(frozen=True)
class Combined:
    """An estimate from completed tables, with what they disagree about."""

    estimate: float
    stderr: float
    low: float
    high: float
    """Ends of the 95 % interval."""
    freedom: float
    """Degrees of freedom, of Student's t."""
    lost: float
    """The share of its variance that is due to what the release leaves open."""


def combine(
    estimates: Sequence[float], variances: Sequence[float], *, n: float | None = None
) -> Combined:
    """Put estimates from completed tables together, by Rubin's rules.

    ``variances`` are the squares of their standard errors. With ``n``, the degrees of freedom that
    one table would have, those of small tables are right (Barnard and Rubin, Biometrika 1999).

    >>> found = combine([10.0, 11.0, 12.0], [4.0, 4.0, 4.0])
    >>> found.estimate, round(found.stderr, 2), round(found.freedom, 1)
    (11.0, 2.31, 32.0)
    """
    m = len(estimates)
    if m < 2 or m != len(variances) or not np.isfinite([*estimates, *variances]).all():
        raise QueryError(
            "Give two estimates or more, and the variance of each.",
            hint="Find them in each of release.impute(m).",
        )
    if min(variances) < 0 or (n is not None and n <= 0):
        raise QueryError("Variances are not negative, and degrees of freedom are positive.")
    between, within = float(np.var(estimates, ddof=1)), float(np.mean(variances))
    return pool(float(np.mean(estimates)), within, between, float(m), inf if n is None else n)


def pool(estimate: float, within: float, between: float, m: float, free: float) -> Combined:
    """Add what one table leaves uncertain to what ``m`` of them disagree about."""
    more = (1 + 1 / m) * between
    total = within + more
    lost = more / total if total > 0 else 0.0
    freedom = (m - 1) / lost**2 if lost > 0 and m > 1 else inf
    if free < inf:
        seen = (free + 1) / (free + 3) * free * (1 - lost)
        freedom = freedom if seen == inf else 0 if seen == 0 else 1 / (1 / freedom + 1 / seen)
    reach = find_quantile(freedom) * sqrt(total)
    return Combined(estimate, sqrt(total), estimate - reach, estimate + reach, freedom, lost)


def find_quantile(freedom: float) -> float:
    """Give the number that Student's t exceeds, either way, in 5 of 100 draws.

    By an expansion around the normal one (Abramowitz and Stegun 26.7.5).

    >>> [round(find_quantile(freedom), 2) for freedom in (5, 30, float("inf"))]
    [2.57, 2.04, 1.96]
    """
    z, v = NormalDist().inv_cdf(0.5 + LEVEL / 2), max(freedom, 1.0)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    fourth = (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160
    return z + first / v + second / v**2 + third / v**3 + fourth / v**4
