"""Reconstruction: the distribution a release stands for, and records drawn from it.

Tao, Chen, Xiao, Zhou, Zhang, TKDE, section 5: a record is anywhere in its box with the same
probability, and independently has a sensitive value as its batch, group or class has them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from discreet.errors import QueryError, name_closest
from discreet.forms import find_form
from discreet.release import Release


def reconstruct(release: Release, names: Sequence[str]) -> pl.DataFrame:
    """Give D*(Q, x) (Equation 7) for the named attributes: their values, and a probability.

    Probabilities add up to 1. The table with all these attributes and fewest others is used.

    >>> import discreet as dc
    >>> data = dc.datasets.adult(sensitive="occupation").head(300)
    >>> release = dc.publish(data, dc.Angelization(dc.FrequencyDiversity(3), k=5))
    >>> frame = release.reconstruct(["sex", "occupation"])
    >>> frame.columns, round(frame["probability"].sum(), 9)
    (['sex', 'occupation', 'probability'], 1.0)
    """
    return find_form(release.form).reconstruct(release, _check_names(release, names))


def sample(release: Release, n: int, seed: int | None = None) -> pl.DataFrame:
    """Draw ``n`` synthetic records from what the widest table stands for.

    They are nobody's: a record is drawn, then a place in its box and a sensitive value, each at
    random. They protect and tell as much as the release does, in a form any tool can read.

    >>> import discreet as dc
    >>> data = dc.datasets.adult(sensitive="occupation").head(300)
    >>> release = dc.publish(data, dc.Angelization(dc.FrequencyDiversity(3), k=5))
    >>> release.sample(1000, seed=1).shape
    (1000, 8)
    """
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or n < 0:
        raise QueryError(f"n = {n!r}: give the number of records to draw.")
    return find_form(release.form).sample(release, n, np.random.default_rng(seed))


def _check_names(release: Release, names: Sequence[str]) -> list[str]:
    known = [*release.schema.quasi_identifiers, *release.schema.sensitive]
    for name in names:
        if name not in known:
            raise QueryError(
                f"There is no {name!r} to rebuild.", hint=name_closest(str(name), known)
            )
    sensitive = [name for name in names if name in release.schema.sensitive]
    if not names or len(set(names)) < len(names) or len(sensitive) > 1:
        raise QueryError(
            "Give different attributes, at most one of them sensitive.",
            hint=f"Known: {', '.join(known)}.",
        )
    return list(names)
