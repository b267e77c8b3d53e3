"""Workload: many counting questions at once, and how far a release's answers are off.

Tao, Chen, Xiao, Zhou, Zhang, TKDE, section 6: each question has a set of values for every
attribute, as large as makes the question cover a share ``s`` (the volume) of the whole space.
Answers come in memory from prefix counts over the boxes; they are those of Equation 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from discreet.domain import reduce_column
from discreet.errors import SchemaError
from discreet.extents import Extent, read_extents
from discreet.microdata import Microdata, pick_each
from discreet.release import Release
from discreet.verify import Classes, read_classes
from discreet.verify.perturbed import Perturbed
from discreet.verify.sliced import Slices

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
AT_ONCE = 50
"""So many questions are answered at a time, to bound memory."""


@dataclass(frozen=True, eq=False)
class Workload:
    """Per attribute, and per question and code of it, whether the question takes the code."""

    takes: dict[str, Bools]

    @property
    def count(self) -> int:
        """Number of questions."""
        return len(next(iter(self.takes.values())))


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


def count_truth(data: Microdata, workload: Workload) -> NDArray[np.int64]:
    """Count the people each question is about."""
    from discreet.kernels.workload import count_rows

    names = list(workload.takes)
    sizes = [workload.takes[name].shape[1] for name in names]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    codes = np.stack([data.codes[name] for name in names])
    takes = np.concatenate([workload.takes[name] for name in names], axis=1)
    bits = np.uint64(1) << np.arange(64, dtype=np.uint64)
    counts = []
    for first in range(0, workload.count, 64):
        part = takes[first : first + 64]
        takers = (part * bits[: len(part), None]).sum(axis=0, dtype=np.uint64)
        counts.append(count_rows(codes, takers, starts)[: len(part)])
    return np.concatenate(counts)


def estimate_counts(release: Release, data: Microdata, workload: Workload) -> Floats:
    """Estimate the same from a release: Σ over boxes of the share covered × the values taken.

    ``data`` is only asked for the domains that the workload is about.
    """
    wanted = {name for name in workload.takes if name in release.schema.quasi_identifiers}
    views = [v for v in read_classes(release) if wanted <= {*v.release.schema.quasi_identifiers}]
    if not views:
        raise SchemaError("No table of the release shows all attributes of the workload.")
    view = min(views, key=lambda v: len(v.release.schema.quasi_identifiers))
    if isinstance(view, Slices):
        return _count_slices(view, data, workload)
    (sensitive,) = release.schema.sensitive
    covered = _cover_codes(view, data, workload) if view.boxes is None else None
    extents = {} if view.boxes is None else read_extents(view.release, data, view.boxes)
    everything = np.ones((workload.count, data.domains[sensitive].size), dtype=bool)
    taken = workload.takes.get(sensitive, everything)
    hold = _hold_shown if isinstance(view, Perturbed) else _hold_codes
    found = []
    for first in range(0, workload.count, AT_ONCE):
        part = slice(first, first + AT_ONCE)
        values = hold(view, data, sensitive, taken[part])
        share = np.ones_like(values)
        for name in wanted:
            takes = workload.takes[name][part]
            if covered is not None:
                share = share * _take_known(takes)[covered[name]]
                continue
            share *= _cover(extents[name], takes, missing=data.domains[name].missing)
        found.append((share * values).sum(0))
    return np.concatenate(found)


def _take_known(takes: Bools) -> Bools:
    """What questions take, a row per code; the last one, at -1, is for values not in the domain.

    Who takes every value that is in it takes those as well.
    """
    return np.vstack([takes.T, takes.all(axis=1)])


def _cover(extent: Extent, takes: Bools, *, missing: bool) -> Floats:
    """Per box and question the share of the box's values that it takes."""
    if extent.covers is not None and extent.which is not None:
        inside = extent.covers.astype(float) @ takes.T
        return np.asarray((inside / np.maximum(extent.covers.sum(1), 1)[:, None])[extent.which])
    upto = np.concatenate([np.zeros((1, len(takes))), np.cumsum(takes.T, 0)])
    hits = upto[np.maximum(extent.high, extent.low - 1) + 1] - upto[extent.low]
    hits += extent.absent[:, None] * (takes[:, -1] if missing else np.zeros(len(takes)))
    return np.asarray(hits / np.maximum(extent.counts, 1)[:, None])


def _count_slices(view: Slices, data: Microdata, workload: Workload) -> Floats:
    """Per bucket of a sliced release the product of the columns' shares, times its size."""
    codes: dict[str, NDArray[np.int64]] = {}
    shares: dict[str, Floats] = {}
    for name, takes in workload.takes.items():
        if view.release.recodings[name].is_blurred:
            number = view.table[name].rank("dense").to_numpy().astype(np.int64) - 1
            boxes = view.table[pick_each(number)]
            (extent,) = read_extents(view.release, data, boxes, [name]).values()
            codes[name] = number
            shares[name] = _cover(extent, takes, missing=data.domains[name].missing)
        else:
            shown, domain = reduce_column(view.table[name], view.release.schema[name]).encode(None)
            codes[name] = data.domains[name].find(domain.texts)[shown]
            shares[name] = _take_known(takes).astype(np.float64)
    sizes, estimates = view.bucket_sizes, np.zeros(workload.count)
    for question in range(workload.count):
        expected = sizes.astype(float)
        for column in view.columns:
            asked = [name for name in column if name in workload.takes]
            if asked:
                taken = np.prod([shares[name][codes[name], question] for name in asked], axis=0)
                expected *= np.bincount(view.bucket, weights=taken, minlength=len(sizes)) / sizes
        estimates[question] = expected.sum()
    return estimates


def _cover_codes(
    view: Classes, data: Microdata, workload: Workload
) -> dict[str, NDArray[np.int64]]:
    """Where records are exact: the code of each in the microdata's domains."""
    found = {}
    for name in workload.takes:
        if name in view.release.schema.quasi_identifiers:
            codes, domain = reduce_column(view.table[name], view.release.schema[name]).encode(None)
            found[name] = data.domains[name].find(domain.texts)[codes]
    return found


def _hold_codes(view: Classes, data: Microdata, sensitive: str, taken: Bools) -> Floats:
    """Per box, or per record where they are exact: how many have a value each question takes."""
    bags = view.bags(sensitive)
    code = data.domains[sensitive].find(bags.domain.texts)[bags.codes]
    hits = bags.sum(_take_known(taken)[code] * bags.weights[:, None]) / bags.sizes[:, None]
    if view.boxes is None:
        return np.asarray(hits[view.labels])
    return np.asarray(hits * view.sizes[:, None])


def _hold_shown(view: Classes, data: Microdata, sensitive: str, taken: Bools) -> Floats:
    """Per record of a perturbed release: what it adds to the estimate of each question.

    A record that shows a number taken counts 1/p, and every record (1-p)/p of the share of all
    numbers that are taken less. Questions take intervals here.
    """
    assert isinstance(view, Perturbed)
    drawn, numbers = view.replacement, data.domains[sensitive].numbers
    lows = numbers[taken.argmax(axis=1)]
    highs = numbers[taken.shape[1] - 1 - taken[:, ::-1].argmax(axis=1)]
    shown = view.domain.numbers[view.labels][:, None]
    highs = np.where(taken.any(axis=1), highs, lows - 1)  # some take nothing
    share = drawn.count(lows, highs) / drawn.size
    p = float(drawn.retention)
    return np.asarray((((lows <= shown) & (shown <= highs)) - (1 - p) * share) / p)


def measure_error(truth: NDArray[np.int64], estimate: Floats) -> float:
    """Average ``|estimate - truth| / truth`` over questions that are about somebody."""
    asked = truth > 0
    if not asked.any():
        raise SchemaError("No question of the workload is about anybody.", hint="Raise the volume.")
    return float(np.mean(np.abs(estimate[asked] - truth[asked]) / truth[asked]))
