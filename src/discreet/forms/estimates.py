"""Estimates: a release's answers to a whole workload at once, in memory.

The same as its answers in SQL: Σ over boxes of the share that a question covers × the values it
takes (ANGEL, Equation 8); over exact records, how many of a group it takes × the group's values.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import SchemaError
from discreet.forms.perturbed.view import Perturbed
from discreet.forms.sliced.view import Slices
from discreet.forms.swapped.view import Shown
from discreet.forms.verify import Classes, read_classes
from discreet.forms.workload import Bools, Floats, Workload, count_rows, take_known
from discreet.release import Release
from discreet.release.extents import find_positions, read_extents
from discreet.table.domain import reduce_column
from discreet.table.microdata import Microdata, pick_each

Ints = NDArray[np.int64]
AT_ONCE = 50
"""So many questions are answered at a time, to bound memory."""


def estimate_counts(release: Release, data: Microdata, workload: Workload) -> Floats:
    """Estimate how many people each question is about, from a release.

    ``data`` is only asked for the domains that the workload is about.
    """
    return Estimator(release, data).estimate(workload)


class Estimator:
    """A release read once, for many questions."""

    def __init__(self, release: Release, data: Microdata) -> None:
        self.release, self.data = release, data

    @cached_property
    def views(self) -> list[Classes]:
        """The tables of the release that show people."""
        return read_classes(self.release)

    def estimate(self, workload: Workload, number: str | None = None) -> Floats:
        """Estimate the count of every question or, given a sensitive ``number``, its sum."""
        wanted = {name for name in workload.takes if name in self.release.schema.quasi_identifiers}
        views = [v for v in self.views if wanted <= {*v.release.schema.quasi_identifiers}]
        if not views:
            raise SchemaError("No table of the release shows all attributes of the workload.")
        view = min(views, key=lambda v: len(v.release.schema.quasi_identifiers))
        asked = _Asked(view, self.data, workload, number)
        if isinstance(view, Slices):
            return _estimate_slices(asked)
        if view.boxes is not None:
            return _estimate_boxes(asked)
        if isinstance(view, Perturbed):
            return _estimate_perturbed(asked)
        if isinstance(view, Shown):
            return _estimate_shown(asked)
        return _estimate_groups(asked)


class _Asked:
    """A workload, and the table that answers it."""

    def __init__(
        self, view: Classes, data: Microdata, workload: Workload, number: str | None
    ) -> None:
        self.view, self.data, self.count = view, data, workload.count
        self.known = {
            name: takes
            for name, takes in workload.takes.items()
            if name in view.release.schema.quasi_identifiers
        }
        told = [name for name in workload.takes if name in view.release.schema.sensitive]
        self.told = number or (told[0] if told else None)
        """The sensitive attribute it is about, if any."""
        self.takes = workload.takes.get(self.told) if self.told else None
        self.numbers: Floats | None = None
        if number is not None:
            domain = data.domains[number]
            self.numbers = domain.numbers / 10**domain.decimals

    def weigh(self, questions: slice) -> Floats:
        """What a record of each code adds to some questions; the last row is of unknown codes."""
        assert self.told is not None
        size = self.data.domains[self.told].size
        wide = len(range(*questions.indices(self.count)))
        taken = np.ones((size + 1, wide)) if self.takes is None else (
            take_known(self.takes[questions]).astype(float))  # fmt: skip
        if self.numbers is not None:
            known = np.zeros(size + 1)
            known[: len(self.numbers)] = self.numbers
            taken = taken * known[:, None]
        return taken

    def hold(self, questions: slice) -> Floats:
        """What a record of each group adds to some questions on average."""
        assert self.told is not None
        bags = self.view.bags(self.told)
        code = self.data.domains[self.told].find(bags.domain.texts)[bags.codes]
        added = self.weigh(questions)[code] * bags.weights[:, None]
        return np.asarray(bags.sum(added) / bags.sizes[:, None])

    def read_codes(self, names: list[str]) -> dict[str, Ints]:
        """What records show exactly, as codes of the microdata's domains."""
        found = {}
        for name in names:
            schema = self.view.release.schema
            codes, domain = reduce_column(self.view.table[name], schema[name]).encode(None)
            found[name] = self.data.domains[name].find(domain.texts)[codes]
        return found

    def count_groups(self, takes: dict[str, Bools], group: Ints, groups: int) -> list[Ints]:
        """Count the exact records of each group that every question takes, 64 at a time."""
        if takes:
            return list(count_rows(self.read_codes(list(takes)), takes, group, groups))
        sizes = np.bincount(group, minlength=groups)[:, None]
        return [np.repeat(sizes, min(64, self.count - i), axis=1) for i in range(0, self.count, 64)]


def _estimate_boxes(asked: _Asked) -> Floats:
    view, boxes = asked.view, asked.view.boxes
    assert boxes is not None
    covers = {name: _Cover(asked, boxes, name) for name in asked.known}
    found = []
    for first in range(0, asked.count, AT_ONCE):
        part = slice(first, min(first + AT_ONCE, asked.count))
        share = np.repeat(view.sizes[:, None].astype(float), part.stop - part.start, axis=1)
        for name, takes in asked.known.items():
            share *= covers[name].share(takes[part])
        if asked.told is not None:
            share *= asked.hold(part)
        found.append(share.sum(axis=0))
    return np.concatenate(found)


def _estimate_groups(asked: _Asked) -> Floats:
    """Of exact records whose values are anybody's in their group."""
    view, found, first = asked.view, [], 0
    for counts in asked.count_groups(asked.known, view.labels, view.count):
        part = slice(first, first + counts.shape[1])
        first = part.stop
        held = asked.hold(part) if asked.told is not None else 1.0
        found.append((counts * held).sum(axis=0))
    return np.concatenate(found)


def _estimate_shown(asked: _Asked) -> Floats:
    """Of exact records with swapped numbers: these are taken for the true ones."""
    view = asked.view
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


def _estimate_perturbed(asked: _Asked) -> Floats:
    """Of exact records with perturbed numbers: less what the numbers drawn contribute.

    A record that shows a number taken counts 1/p, and every record (1-p)/p of the share of all
    numbers that are taken less; of sums the same with the numbers. Questions take intervals here.
    """
    view = asked.view
    assert isinstance(view, Perturbed)
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


def _estimate_slices(asked: _Asked) -> Floats:
    """Per bucket of a sliced release the product of the columns' shares, times its size."""
    view = asked.view
    assert isinstance(view, Slices)
    codes: dict[str, Ints] = {}
    shares: dict[str, Floats] = {}
    for name, takes in asked.known.items():
        if view.release.recodings[name].is_blurred:
            number = view.table[name].rank("dense").to_numpy().astype(np.int64) - 1
            boxes = view.table[pick_each(number)]
            codes[name] = number
            shares[name] = _Cover(asked, boxes, name).share(takes)
        else:
            codes |= asked.read_codes([name])
            shares[name] = take_known(takes).astype(np.float64)
    if asked.told is not None:
        codes |= asked.read_codes([asked.told])
        shares[asked.told] = asked.weigh(slice(0, asked.count))
    sizes, estimates = view.bucket_sizes, np.zeros(asked.count)
    for question in range(asked.count):
        expected = sizes.astype(float)
        for column in view.columns:
            named = [name for name in column if name in shares]
            if named:
                taken = np.prod([shares[name][codes[name], question] for name in named], axis=0)
                expected *= np.bincount(view.bucket, weights=taken, minlength=len(sizes)) / sizes
        estimates[question] = expected.sum()
    return estimates


class _Cover:
    """Which values of an attribute boxes stand for, read once for many questions.

    Of numbers these are all between the ends, whether anybody has them or not: who reads the
    release cannot know.
    """

    def __init__(self, asked: _Asked, boxes: pl.DataFrame, name: str) -> None:
        release, self.domain = asked.view.release, asked.data.domains[name]
        (self.extent,) = read_extents(release, asked.data, boxes, [name]).values()
        if self.extent.covers is None:
            present = self.domain.series().head(len(self.domain.values))
            self.at = find_positions(present, self.domain.attribute)
            ends = [boxes[f"{name}_{end}"] for end in ("low", "high")]
            none = (ends[0].is_null() | ends[1].is_null()).to_numpy()
            low, high = (find_positions(end, self.domain.attribute) for end in ends)
            self.low = np.where(none, 1, low)[:, None]
            self.high = np.where(none, 0, high)[:, None]

    def share(self, takes: Bools) -> Floats:
        """Per box and question the share of the box's values that it takes."""
        extent = self.extent
        present = takes[:, : len(self.domain.values)]
        if not present.shape[1]:  # nobody has any value
            every = np.asarray(takes.all(axis=1), dtype=float)
            return np.repeat(every[None, :], len(extent.low), axis=0)
        if extent.covers is not None and extent.which is not None:
            inside = extent.covers.astype(float) @ takes.T
            shares = inside / np.maximum(extent.covers.sum(1), 1)[:, None]
            return np.asarray(shares[extent.which])
        many, first = present.sum(axis=1), present.argmax(axis=1)
        last = present.shape[1] - 1 - present[:, ::-1].argmax(axis=1)
        gone = takes[:, -1] if self.domain.missing else np.zeros(len(takes))
        absent = extent.absent[:, None] * gone
        if bool(((many == 0) | (many == last - first + 1)).all()):  # each takes one interval
            met = np.minimum(self.high, self.at[last]) - np.maximum(self.low, self.at[first]) + 1
            hits = np.maximum(met, 0) * (many > 0) + absent
            return np.asarray(
                hits / np.maximum(self.high - self.low + 1 + extent.absent[:, None], 1)
            )
        upto = np.concatenate([np.zeros((1, len(takes))), np.cumsum(takes.T, 0)])
        hits = upto[np.maximum(extent.high, extent.low - 1) + 1] - upto[extent.low]
        return np.asarray((hits + absent) / np.maximum(extent.counts, 1)[:, None])
