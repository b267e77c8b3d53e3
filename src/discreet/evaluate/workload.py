"""Workloads drawn at random, and how far a release's answers to them are off.

Tao, Chen, Xiao, Zhou, Zhang, TKDE, section 6: each question has a set of values for every
attribute, as large as makes the question cover a share ``s`` (the volume) of the whole space.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import numpy as np

from discreet.errors import SchemaError
from discreet.forms.workload import Workload, count_rows
from discreet.table.arrays import Floats, Ints
from discreet.table.microdata import Microdata


def draw_workload(
    data: Microdata,
    volume: float,
    count: int = 1000,
    *,
    names: Sequence[str] | None = None,
    seed: int = 0,
) -> Workload:
    """Draw questions about the named attributes (by default all) of one volume.

    An ordered attribute gets an interval, another a set of random values; each holds
    ``⌈|A|·s^(1/d)⌉`` values.

    >>> import discreet as dc
    >>> data = dc.datasets.adult(sensitive="occupation").head(100)
    >>> draw_workload(data, 0.1, 5).count
    5
    """
    _require_share(volume)
    rng = np.random.default_rng(seed)
    chosen = list(names or [*data.quasi_identifiers, *data.sensitive])
    takes = {}
    for name in chosen:
        domain = data.domains[name]
        width = min(domain.size, ceil(domain.size * volume ** (1 / len(chosen))))
        flags = np.zeros((count, domain.size), dtype=bool)
        if domain.attribute.type.ordered:
            first = rng.integers(0, domain.size - width + 1, count)
            flags[np.arange(count)[:, None], first[:, None] + np.arange(width)] = True
        else:
            order = rng.random((count, domain.size)).argsort(axis=1)[:, :width]
            flags[np.arange(count)[:, None], order] = True
        takes[name] = flags
    return Workload(takes)


def draw_ranges(
    data: Microdata, volume: float, count: int = 1000, *, names: Sequence[str], seed: int = 0
) -> Workload:
    """Draw questions that ask for a range of each of some numbers.

    Li, Tao, Xiao, SIGMOD 2008, section 6: a range is ``⌊|A|·s^(1/w)⌋`` long, where the domain goes
    from the smallest to the largest number, whether anybody has those between or not.
    """
    _require_share(volume)
    rng = np.random.default_rng(seed)
    takes = {}
    for name in names:
        numbers = data.domains[name].numbers
        lowest, size = int(numbers[0]), int(numbers[-1] - numbers[0]) + 1
        length = max(1, int(size * volume ** (1 / len(names))))
        first = rng.integers(lowest, lowest + size - length + 1, count)[:, None]
        takes[name] = (first <= numbers) & (numbers < first + length)
    return Workload(takes)


def _require_share(volume: float) -> None:
    if not 0 < volume <= 1:
        raise SchemaError(f"volume = {volume}: give a share above 0 and up to 1.")


def count_truth(data: Microdata, workload: Workload) -> Ints:
    """Count the people each question is about."""
    codes = {name: data.codes[name].astype(np.int64) for name in workload.takes}
    everyone = np.zeros(data.n, dtype=np.int64)
    return np.concatenate([c[0] for c in count_rows(codes, workload.takes, everyone, 1)])


def measure_error(truth: Ints, estimate: Floats) -> float:
    """Average ``|estimate - truth| / truth`` over questions that are about somebody."""
    asked = truth > 0
    if not asked.any():
        raise SchemaError("No question of the workload is about anybody.", hint="Raise the volume.")
    return float(np.mean(np.abs(estimate[asked] - truth[asked]) / truth[asked]))
