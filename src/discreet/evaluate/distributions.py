"""Distributions: how attributes are spread in the microdata, and in what a release lets one expect.

One attribute at a time and, of a sensitive one, together with each quasi-identifier: what becomes
of its values when they are put into batches or slices, permuted, swapped or perturbed. The expected
counts are the release's own answers, so this holds for every form.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DiscreetError
from discreet.forms.estimates import Estimator
from discreet.forms.workload import Workload
from discreet.release import Release
from discreet.table.arrays import Bools, Floats, Ints
from discreet.table.coarsening import is_coarse
from discreet.table.domain import Domain
from discreet.table.microdata import Microdata
from discreet.table.schema import Type

MOST_BINS = 8
"""Two attributes have 64 cells then, which are asked for at once."""
NUMBERS = (Type.INTEGER, Type.DECIMAL)


@dataclass(frozen=True, eq=False)
class ValueBins:
    """The values of an attribute in a few bins: of neighbours, or the commonest and the others."""

    labels: tuple[str, ...]
    of: Ints
    """Per code its bin."""
    ordered: bool

    @property
    def takes(self) -> Bools:
        """Per bin and code whether it is in it."""
        return np.asarray(self.of[None, :] == np.arange(len(self.labels))[:, None])


def bin_values(domain: Domain, codes: NDArray[np.int32]) -> ValueBins:
    """Put the values that people have into at most eight bins, missing ones by themselves.

    >>> import discreet as dc
    >>> data = dc.datasets.adult(sensitive="occupation").head(500)
    >>> bin_values(data.domains["sex"], data.codes["sex"]).labels
    ('Female', 'Male')
    """
    counts = np.bincount(codes, minlength=domain.size)
    known = len(domain.values)
    ordered = domain.attribute.type.ordered
    of = np.empty(domain.size, dtype=np.int64)
    if ordered:
        of[:known] = _cut(counts[:known])
    else:
        rank = np.empty(known, dtype=np.int64)
        rank[np.argsort(-counts[:known], kind="stable")] = np.arange(known)
        shown = np.sort(np.flatnonzero(rank < (known if known <= MOST_BINS else MOST_BINS - 1)))
        of[:known] = len(shown)
        of[shown] = np.arange(len(shown))
    labels = [_name_bin(domain, np.flatnonzero(of[:known] == i), ordered)
              for i in range(int(of[:known].max(initial=-1)) + 1)]  # fmt: skip
    if domain.size > known:
        of[known:] = len(labels)
        labels.append("missing")
    # what is missing is near to nothing
    return ValueBins(tuple(labels), of, ordered and domain.size == known)


def _cut(counts: Ints) -> Ints:
    """Put neighbours together, so that bins have about as many people each."""
    if len(counts) <= MOST_BINS:
        return np.arange(len(counts))
    middle = np.cumsum(counts) - counts / 2
    cut = np.minimum(
        (middle * MOST_BINS / max(int(counts.sum()), 1)).astype(np.int64), MOST_BINS - 1
    )
    return np.unique(cut, return_inverse=True)[1].astype(np.int64)


def _name_bin(domain: Domain, codes: Ints, ordered: bool) -> str:
    if len(codes) == 1:
        return str(domain.texts[codes[0]])
    if not ordered:
        return f"{len(codes):,} others"
    return f"{domain.texts[codes[0]]} to {domain.texts[codes[-1]]}"


@dataclass(frozen=True)
class Distribution:
    """One attribute: how many people are in each bin, and how many one would expect."""

    labels: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    """Shares of people, as those before."""
    distance: float
    """The earth mover's distance between both: how far people are moved, of the whole way from the
    first bin to the last; between categories the way is always the whole one."""

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain values."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in vars(self).items()}


@dataclass(frozen=True)
class Association:
    """A sensitive attribute together with another: what is left of how they go together."""

    measure: str
    """Rank correlation where both have an order, else Cramér's V."""
    before: float
    after: float
    moved: float
    """Of all people, the share who would have to be in another cell of the two-way table."""
    sums: float | None
    """How far sums of the sensitive number are off, by values of the other: the middle one."""


@dataclass(frozen=True)
class SensitiveLoss:
    """What is lost of a sensitive attribute. Less is better."""

    distribution: Distribution
    associations: dict[str, Association] = field(default_factory=dict)

    @property
    def moved(self) -> float | None:
        """Of all people, the share in a wrong cell, on average over two-way tables."""
        found = [pair.moved for pair in self.associations.values()]
        return float(np.mean(found)) if found else None

    @property
    def sums(self) -> float | None:
        """How far sums by another attribute are off, in the middle of these attributes."""
        found = [pair.sums for pair in self.associations.values() if pair.sums is not None]
        return median(found) if found else None

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain values."""
        pairs = {name: vars(pair) for name, pair in self.associations.items()}
        return {"moved": self.moved, "sums": self.sums, "distance": self.distribution.distance,
                "with": pairs}  # fmt: skip


def compare_distributions(release: Release, data: Microdata) -> dict[str, Distribution]:
    """Hold every attribute's distribution against what a release lets one expect of it.

    An attribute of numbers that were made coarser is left out.
    """
    asked = _Asked(release, data)
    names = [*release.schema.quasi_identifiers, *release.schema.sensitive]
    found = {name: asked.compare(name) for name in names if name in data.domains}
    return {name: made for name, made in found.items() if made is not None}


def measure_sensitive_loss(release: Release, data: Microdata) -> dict[str, SensitiveLoss]:
    """Measure what becomes of each sensitive attribute, by itself and with each quasi-identifier.

    >>> import discreet as dc
    >>> data = dc.datasets.adult(sensitive="occupation").head(500)
    >>> exact = dc.publish(data, dc.Generalization(dc.KAnonymity(1)))
    >>> measure_sensitive_loss(exact, data)["occupation"].moved
    0.0
    """
    asked = _Asked(release, data)
    found = {}
    for name in release.schema.sensitive:
        distribution = asked.compare(name)
        if distribution is not None:
            pairs = {other: asked.relate(other, name) for other in release.schema.quasi_identifiers}
            kept = {other: pair for other, pair in pairs.items() if pair is not None}
            found[name] = SensitiveLoss(distribution, kept)
    return found


class _Asked:
    """A release that is asked how many people are in which bins."""

    def __init__(self, release: Release, data: Microdata) -> None:
        self.data, self.estimator = data, Estimator(release, data)
        # of numbers made coarser, questions are about people's own, which these are not
        self.bins = {name: bin_values(data.domains[name], data.codes[name])
                     for name in (*release.schema.quasi_identifiers, *release.schema.sensitive)
                     if name in data.domains and not is_coarse(data.schema[name])}  # fmt: skip

    def compare(self, name: str) -> Distribution | None:
        if name not in self.bins:
            return None
        bins = self.bins[name]
        after = self._ask(Workload({name: bins.takes}))
        if after is None:
            return None
        number = bins.of[self.data.codes[name]]
        before = _share(np.bincount(number, minlength=len(bins.labels)))
        after = _share(after)
        return Distribution(
            bins.labels, tuple(before.tolist()), tuple(after.tolist()),
            _move(before - after, bins.ordered),
        )  # fmt: skip

    def relate(self, name: str, sensitive: str) -> Association | None:
        if name not in self.bins or sensitive not in self.bins:
            return None
        rows, columns = self.bins[name], self.bins[sensitive]
        shape = (len(rows.labels), len(columns.labels))
        takes = {name: np.repeat(rows.takes, shape[1], axis=0),
                 sensitive: np.tile(columns.takes, (shape[0], 1))}  # fmt: skip
        told = self._ask(Workload(takes))
        if told is None:
            return None
        cell = rows.of[self.data.codes[name]] * shape[1] + columns.of[self.data.codes[sensitive]]
        before = _share(np.bincount(cell, minlength=shape[0] * shape[1])).reshape(shape)
        after = _share(told).reshape(shape)
        ranked = rows.ordered and columns.ordered
        relate = _correlate_ranks if ranked else _measure_cramer
        return Association(
            "rank correlation" if ranked else "Cramér's V",
            relate(before), relate(after), _move((before - after).ravel(), ordered=False),
            self._miss_sums(name, sensitive),
        )  # fmt: skip

    def _miss_sums(self, name: str, sensitive: str) -> float | None:
        """How far sums by the bins of another attribute are off, the middle one of them."""
        domain, bins = self.data.domains[sensitive], self.bins[name]
        if domain.attribute.type not in NUMBERS or domain.missing:
            return None
        told = self._ask(Workload({name: bins.takes}), sensitive)
        if told is None:
            return None
        numbers = (domain.numbers / 10**domain.decimals)[self.data.codes[sensitive]]
        true = np.bincount(bins.of[self.data.codes[name]], numbers, minlength=len(bins.labels))
        off = [abs(a - b) / abs(b) for a, b in zip(told, true, strict=True) if b]
        return float(median(off)) if off else None

    def _ask(self, workload: Workload, number: str | None = None) -> Floats | None:
        try:
            return self.estimator.estimate(workload, number)
        except DiscreetError:  # of this, the release cannot be asked
            return None


def _share(counts: Floats | Ints) -> Floats:
    """Give counts as shares of all; what is estimated below nothing is nothing."""
    counts = np.maximum(counts.astype(float), 0)
    return np.asarray(counts / max(counts.sum(), 1e-300))


def _move(difference: Floats, ordered: bool) -> float:
    """Give the earth mover's distance; to neighbours in an order it is less far."""
    if ordered and len(difference) > 1:
        far = np.abs(np.cumsum(difference)[:-1]).sum() / (len(difference) - 1)
    else:
        far = np.abs(difference).sum() / 2
    return float(far.round(12))


def _correlate_ranks(table: Floats) -> float:
    """Spearman's correlation of the rows and columns of a table of shares."""
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    ranks = [(side, np.cumsum(side) - side / 2) for side in (rows, columns)]
    first, second = (rank - (rank * side).sum() for side, rank in ranks)
    spread = (first**2 @ rows) * (second**2 @ columns)
    return float((first @ table @ second / np.sqrt(spread)).round(12)) if spread > 0 else 0.0


def _measure_cramer(table: Floats) -> float:
    """Cramér's V of a table of shares."""
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    least = min(table.shape) - 1
    if least < 1:
        return 0.0
    return float(np.sqrt(((table - expected) ** 2 / expected).sum() / least).round(12))
