"""Audit: what an adversary may believe about each person, from the published tables.

The auditor shares with the publisher only ``Groups`` and the principles. It reads the release,
matches it with the microdata, and asks.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.auditing.candidates import Candidates, find_candidates
from discreet.auditing.identity import PRESETS, IdentityRisk, Preset, measure_identity
from discreet.domain import Domain, reduce_column
from discreet.errors import SchemaError, name_closest
from discreet.groups import Groups
from discreet.microdata import Microdata
from discreet.principles.base import Principle, demands
from discreet.principles.proximity import Proximity
from discreet.release import Promise, Release
from discreet.schema import Role

if TYPE_CHECKING:
    from discreet.evaluate.loss import Loss


@dataclass(frozen=True)
class Check:
    """One principle on one attribute, and how many people it fails for."""

    principle: Principle
    attribute: str | None
    breaches: int


@dataclass(frozen=True, eq=False)
class AuditReport:
    """The auditor's findings. The steward's and the reviewer's, never part of a release."""

    people: int
    records: int
    groups: int
    promise: Promise
    checks: list[Check]
    identity: IdentityRisk
    presets: dict[str, bool]
    beliefs: dict[str, NDArray[np.float64]]
    """Per sensitive attribute and person the largest belief in any value."""
    truths: dict[str, NDArray[np.float64]]
    """Per sensitive attribute and person the belief in the person's own value."""
    candidates: NDArray[np.int64]
    """Per person the number of candidate records; 0 if no group covers the person."""
    breached: NDArray[np.bool_]
    worst: Fraction | None
    """The largest belief in any value of anyone, exactly."""
    loss: Loss
    proximity: dict[str, list[tuple[str, float]]]
    """Per numeric sensitive attribute: within which distance, and the worst chance of being so
    near to somebody's number."""
    rows: NDArray[np.int64]
    findings: list[str]
    """What is wrong with the release itself, whoever is in it."""

    @property
    def max_belief(self) -> float | None:
        """Largest belief in any sensitive value of anyone; 1 means somebody's value is certain."""
        return None if self.worst is None else float(self.worst)

    @property
    def breaches(self) -> int:
        """Number of people for whom the promise does not hold."""
        return int(self.breached.sum())

    @property
    def uncovered(self) -> int:
        """People of the microdata whom no published group covers."""
        return int((self.candidates == 0).sum())

    @property
    def problems(self) -> list[str]:
        """Everything that keeps a reviewer from signing."""
        found = [
            f"{check.principle} fails for {check.breaches} people"
            + (f" on {check.attribute}" if check.attribute else "")
            for check in self.checks
            if check.breaches
        ]
        if self.uncovered:
            found.append(
                f"{self.uncovered} people of the microdata are in no published group: "
                "is this the table the release was made from?"
            )
        if self.records != self.people:
            found.append(f"the release has {self.records} records for {self.people} people")
        found += [f"the rule {name} is not kept" for name, good in self.presets.items() if not good]
        return found + self.findings

    @property
    def kept(self) -> bool:
        """Whether the release keeps its promise for everybody in the microdata."""
        return not self.problems

    @cached_property
    def per_person(self) -> pl.DataFrame:
        """One row per person: number of the row in the source, candidates, beliefs, breach."""
        columns: dict[str, Any] = {"row": self.rows, "candidates": self.candidates}
        for name, belief in self.beliefs.items():
            columns[f"belief: {name}"] = belief
            columns[f"belief in truth: {name}"] = self.truths[name]
        return pl.DataFrame({**columns, "breach": self.breached})

    def to_dict(self) -> dict[str, Any]:
        """Give the findings as plain values, for ``--json``."""
        from discreet.auditing.report import summarize

        return summarize(self)

    def to_html(self, path: str | Path) -> Path:
        """Write a page that needs nothing but a browser."""
        from discreet.auditing.report import write_html

        return write_html(self, Path(path))


def audit(
    release: Release | str | Path,
    data: Microdata,
    *,
    principle: Principle | None = None,
    population: int | None = None,
    presets: list[str] | None = None,
) -> AuditReport:
    """Examine a release against the microdata it was made from.

    ``release`` is a loaded release or its folder. The promise examined is the release's own, or
    the given ``principle``. ``population`` is the number of people the table is a sample of;
    ``presets`` names published rules that must hold as well.

    >>> import discreet as dc
    >>> data = dc.datasets.adult(sensitive="occupation").head(200)
    >>> original = dc.publish(data, dc.Generalization(dc.KAnonymity(1)))
    >>> dc.audit(original, data).max_belief
    1.0
    """
    from discreet.evaluate.loss import weigh_loss

    findings = []
    if not isinstance(release, Release):
        from discreet.store import find_strangers, load

        findings += [
            f"the folder holds {name}, which the manifest does not list"
            for name in find_strangers(Path(release))
        ]
        release = load(release)
    _refuse_other_table(release, data)
    wanted = [_find_preset(name) for name in presets or []]
    found = find_candidates(release, data)
    seen = found.of >= 0
    if not seen.any():
        raise SchemaError(
            "No published group covers anybody in this microdata.",
            hint="Give the table the release was made from.",
        )
    members = Groups.of_people(found.records)
    candidates = np.where(seen, found.records[found.of], 0)
    bags = {name: found.believe(name) for name in release.schema.sensitive}
    checks, breached = [], np.zeros(data.n, dtype=bool)
    for part, name in demands(principle or release.promise.principle, release.schema.sensitive):
        good = part.admits(members if name is None else bags[name])
        failing = seen & ~good[found.of]
        if name is not None or found.classes.boxes is not None:
            # who knows everybody's quasi-identifiers may tell which of several groups it is
            alone = found.admits_each(part.admits(found.bags[name]))
            failing |= seen & ~alone[found.of]
        checks.append(Check(part, name, int(failing.sum())))
        breached |= failing
    identity = measure_identity(candidates[seen], population)
    beliefs = {name: _spread(found, bag.largest / bag.sizes) for name, bag in bags.items()}
    worst = max((_worst(bag) for bag in bags.values()), default=None)
    return AuditReport(
        people=data.n,
        records=found.classes.table.height,
        groups=found.classes.count,
        promise=release.promise,
        checks=checks,
        identity=identity,
        presets={preset.name: preset.admits(identity.smallest) for preset in wanted},
        beliefs=beliefs,
        truths={name: _believe_truth(found, bag, data, name) for name, bag in bags.items()},
        candidates=candidates,
        breached=breached,
        worst=worst,
        loss=weigh_loss(release, data, found.classes),
        proximity=_measure_proximity(found),
        findings=[*findings, *_compare(found, data), *_compare_kept(found, data)],
        rows=np.arange(data.n) if data.rows is None else data.rows,
    )


def _refuse_other_table(release: Release, data: Microdata) -> None:
    for attribute in release.schema:
        if attribute.name not in data.codes:
            raise SchemaError(
                f"The release publishes {attribute.name!r}, which this microdata does not have.",
                hint=name_closest(attribute.name, list(data.codes)),
            )
        ours = data.schema[attribute.name]
        if (ours.type, ours.decimals, ours.order) != (
            attribute.type, attribute.decimals, attribute.order,
        ):  # fmt: skip
            raise SchemaError(
                f"Column {attribute.name!r} is {ours.type} here and {attribute.type} in the "
                "release, or differs in its decimals or order.",
                hint="Read the microdata under the release's own schema: "
                "dc.read(file, release.schema).",
            )


def _compare(found: Candidates, data: Microdata) -> list[str]:
    """Find where the release is not what it says it made of this very table."""
    if found.classes.boxes is None:
        return _compare_exact(found, data)
    several = int(found.several.sum())
    if several:
        return [f"boxes overlap: {several} people are covered by more than one group"]
    findings = []
    covered = np.bincount(found.group_of[found.of >= 0], minlength=found.classes.count)
    wrong = int((covered != found.classes.sizes).sum())
    if wrong:
        findings.append(f"{wrong} groups have not as many records as people they cover")
    for name in found.release.schema.sensitive if not wrong else []:
        published = found.bags[name]
        own = _translate(data, name, published.domain)
        theirs = Groups.from_labels(
            found.group_of[own >= 0], own[own >= 0], published.domain, count=found.classes.count
        )
        if (own < 0).any() or not (
            np.array_equal(theirs.codes, published.codes)
            and np.array_equal(theirs.weights, published.weights)
            and np.array_equal(theirs.offsets, published.offsets)
        ):
            findings.append(f"the published values of {name} are not those of the people covered")
    return findings


def _compare_exact(found: Candidates, data: Microdata) -> list[str]:
    """Hold the published people and values, as two multisets, against those of the microdata."""
    findings = []
    people = np.bincount(found.of[found.of >= 0], minlength=len(found.sets))
    if int(found.records.sum()) != found.classes.table.height or (people != found.records).any():
        findings.append("the published quasi-identifiers are not those of the people")
    for name in found.release.schema.sensitive:
        bags = found.bags[name]
        own = _translate(data, name, bags.domain)
        if not _has_counts(own, bags.whole):
            findings.append(f"the published values of {name} are not those of the people")
            continue
        findings += _compare_groups(found, name, own)
    return findings


def _compare_groups(found: Candidates, name: str, own: NDArray[np.int64]) -> list[str]:
    """Whoever can be in one group only must find their value there; and not in their own row."""
    bags = found.bags[name]
    size = bags.domain.size
    alone = (found.of >= 0) & ~found.several
    keys, theirs = np.unique(found.group_of[alone] * size + own[alone], return_counts=True)
    there = bags.owners * size + bags.codes
    at = np.minimum(np.searchsorted(there, keys), len(there) - 1)
    if ((there[at] != keys) | (bags.weights[at] < theirs)).any():
        return [f"values of {name} are in groups to which the people who have them do not belong"]
    if not found.classes.shuffled:
        return []
    unique = alone & (found.records[found.of] == 1)
    shown = found.shown_to(unique)
    column = reduce_column(found.classes.table[name], found.release.schema[name])
    published = column.encode(None)[0][shown]
    share = bags.weights[np.searchsorted(there, found.group_of[unique] * size + own[unique])]
    chance = share / bags.sizes[found.group_of[unique]]
    hits, expected = int((published == own[unique]).sum()), float(chance.sum())
    if hits > expected + 6 * np.sqrt(float((chance * (1 - chance)).sum())) + 1e-9:
        return [f"{hits} people stand beside their own {name}; chance would give {expected:.0f}"]
    return []


def _compare_kept(found: Candidates, data: Microdata) -> list[str]:
    """Columns published unchanged must hold what the microdata holds, and nothing else."""
    findings = []
    for attribute in found.release.schema.having(Role.OTHER):
        name = attribute.name
        codes, domain = reduce_column(found.classes.table[name], attribute).encode(None)
        counts = np.bincount(codes, minlength=domain.size)
        if not _has_counts(_translate(data, name, domain), counts):
            findings.append(f"the published values of {name} are not those of the people")
    return findings


def _find_preset(name: str) -> Preset:
    if name not in PRESETS:
        raise SchemaError(f"There is no preset {name!r}.", hint=name_closest(name, list(PRESETS)))
    return PRESETS[name]


def _spread(found: Candidates, per_set: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(found.of >= 0, per_set[found.of], 0.0)


def _worst(bags: Groups) -> Fraction:
    shares = bags.largest / bags.sizes
    near = np.flatnonzero(shares >= shares.max() - 1e-12)
    return max(Fraction(int(bags.largest[g]), int(bags.sizes[g])) for g in near)


def _measure_proximity(found: Candidates) -> dict[str, list[tuple[str, float]]]:
    """Measure over all groups, as somebody may know which one a person is in."""
    bags = {n: found.bags[n] for n in found.release.schema.sensitive}
    return {
        name: _near(bag)
        for name, bag in bags.items()
        if bag.domain.attribute.type.numeric and not bag.domain.missing
    }


def _near(bags: Groups) -> list[tuple[str, float]]:
    """Measure how likely somebody's number is told to within some shares of the whole range."""
    numbers = bags.domain.numbers
    reach = Fraction(int(numbers[-1] - numbers[0]), 10**bags.domain.decimals)
    found = []
    for percent in (0, 1, 5, 10):
        epsilon = reach * percent / 100
        risk = Proximity(epsilon, m=1).neighbours(bags) / np.repeat(bags.sizes, bags.distinct)
        found.append((f"{float(epsilon):g} ({percent} % of the range)", float(risk.max())))
    return found


def _translate(data: Microdata, name: str, domain: Domain) -> NDArray[np.int64]:
    """Give everyone's own value as a code of the published domain; -1 if it is not published."""
    return domain.find(data.domains[name].texts)[data.codes[name]]


def _has_counts(own: NDArray[np.int64], counts: NDArray[np.int64]) -> bool:
    """Whether people's own codes are, as a multiset, what was published."""
    return bool((own >= 0).all()) and np.array_equal(
        np.bincount(own, minlength=len(counts)), counts
    )


def _believe_truth(
    found: Candidates, bags: Groups, data: Microdata, name: str
) -> NDArray[np.float64]:
    """Look up, for each person, the weight of the person's own value in the person's bag.

    Where records are exact and several groups may be a person's, the most telling of them counts.
    """
    own = _translate(data, name, bags.domain)
    if found.classes.boxes is not None:
        return _look_up(bags, found.of, own)
    groups = found.bags[name]
    truth = np.zeros(data.n)
    for rank in range(max(len(candidates) for candidates in found.sets)):
        chosen = [c[rank] if rank < len(c) else -1 for c in found.sets]
        place = np.array([*chosen, -1], dtype=np.int64)[found.of]
        truth = np.maximum(truth, _look_up(groups, place, own))
    return truth


def _look_up(bags: Groups, place: NDArray[np.int64], own: NDArray[np.int64]) -> NDArray[np.float64]:
    """The share of each person's own code in the bag at their place; 0 where there is none."""
    size = bags.domain.size
    keys = bags.owners * size + bags.codes
    wanted = place * size + own
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    hit = (keys[at] == wanted) & (place >= 0) & (own >= 0)
    return np.where(hit, bags.weights[at] / bags.sizes[place], 0.0)


__all__ = ["PRESETS", "AuditReport", "Check", "IdentityRisk", "Preset", "audit"]
