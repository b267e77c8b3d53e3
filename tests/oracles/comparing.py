"""What the audit says, beside what all worlds say: one figure after another, each as a risk.

A larger figure is a larger risk, so that the audit must never be below the worlds. Crowds are
compared by one over their size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm
from typing import Any

import discreet as dc
from discreet.auditing import PRESETS
from oracles.all_worlds import Belief, Worlds
from oracles.pieces import Person
from principle_cases import CASES

CLOSE = Fraction(1, 10**9)
MARGIN = Fraction(1, 100)
"""What several releases tell together is estimated, and said to be, to so much."""
SMALL_RULES = {
    f"cell-{k}": replace(PRESETS["cell-11"], name=f"cell-{k}", threshold=Fraction(1, k))
    for k in (2, 3, 4)
}
"""Rules on identity at sizes that tiny tables have."""


@dataclass(frozen=True)
class Figure:
    name: str
    person: int | None
    said: Fraction
    """By the audit."""
    worlds: Fraction

    @property
    def excess(self) -> Fraction:
        return self.said - self.worlds

    @property
    def under(self) -> bool:
        return self.excess < -CLOSE

    @property
    def over(self) -> bool:
        return self.excess > CLOSE

    def __str__(self) -> str:
        whose = "" if self.person is None else f" of person {self.person}"
        return f"{self.name}{whose}: audit {float(self.said):.6g}, worlds {self.worlds}"


def compare(
    release: dc.Release,
    report: dc.AuditReport,
    worlds: Worlds,
    people: Sequence[Person],
    judged: dc.Principle,
) -> list[Figure]:
    """Put every figure of a report beside what the worlds say."""
    found = [*_compare_beliefs(release, report, worlds, people)]
    found += _compare_identity(report, worlds)
    found += _compare_nearness(report, worlds, people)
    found += _compare_breaches(release, report, worlds, people, judged)
    return found


def _figure(name: str, person: int | None, said: Any, worlds: Fraction | int) -> Figure:
    return Figure(name, person, Fraction(said), Fraction(worlds))


def _compare_beliefs(
    release: dc.Release, report: dc.AuditReport, worlds: Worlds, people: Sequence[Person]
) -> Iterator[Figure]:
    surest = Fraction(0)
    for name in release.schema.sensitive:
        for i, belief in enumerate(worlds.believe(name)):
            most = max(belief.values())
            surest = max(surest, most)
            yield _figure("belief", i, report.beliefs[name][i], most)
            truth = belief.get(people[i][name], Fraction(0))
            yield _figure("belief in truth", i, report.truths[name][i], truth)
    if release.schema.sensitive:
        assert report.worst is not None
        yield _figure("largest belief", None, report.worst, surest)


def _compare_identity(report: dc.AuditReport, worlds: Worlds) -> Iterator[Figure]:
    chances = [max(rows.values()) for rows in worlds.rows]
    for i, chance in enumerate(chances):
        yield _figure("candidates", i, Fraction(1, int(report.candidates[i])), chance)
    identity = report.identity
    yield _figure("prosecutor", None, identity.prosecutor, max(chances))
    yield _figure("marketer", None, identity.marketer, sum(chances) / len(chances))
    together = worlds.smallest_joined_crowd
    yield _figure(
        "crowd of a row", None, _one_in(identity.smallest), _one_in(worlds.smallest_crowd)
    )
    yield _figure("crowd of joined rows", None, _one_in(identity.smallest), _one_in(together))
    for name, kept in report.presets.items():
        broken = together < SMALL_RULES[name].threshold.denominator
        yield _figure(f"rule {name}", None, not kept, broken)
    if report.joined is not None:
        yield _figure("joined cells", None, _one_in(report.joined.smallest), _one_in(together))
        yield _figure("people alone", None, report.joined.alone, worlds.alone)


def _one_in(people: int) -> Fraction:
    return Fraction(1, people)


def _compare_nearness(
    report: dc.AuditReport, worlds: Worlds, people: Sequence[Person]
) -> Iterator[Figure]:
    """By ``mixed`` for who does not know the group, by ``worst`` for who does."""
    for name, near in report.proximity.items():
        free = worlds.believe(name)
        known = believe_beside_truth(worlds, name, people)
        for reach in (*near.curve, *([near.promised] if near.promised else ())):
            mixed = max(
                _near(b, p[name], reach.principle) for b, p in zip(free, people, strict=True)
            )
            worst = max(
                _near(b, p[name], reach.principle)
                for beliefs, p in zip(known, people, strict=True)
                for b in beliefs
            )
            yield _figure("nearness", None, reach.mixed, mixed)
            yield _figure("nearness, group known", None, reach.worst, worst)
        asked = near.promised.principle if near.promised else dc.Proximity(0, 1)
        for i, beliefs in enumerate(known):
            most = max(_near(b, people[i][name], asked) for b in beliefs)
            yield _figure("breach risk", i, near.risks[i], most)


def believe_beside_truth(worlds: Worlds, name: str, people: Sequence[Person]) -> list[list[Belief]]:
    """What is believed by who knows the group, for every group that has the person's own value."""
    if not worlds.publications[0].knowable:
        return [[belief] for belief in worlds.believe(name)]
    return [
        [belief for belief in groups.values() if belief.get(person[name])]
        for groups, person in zip(worlds.believe_in_group(name), people, strict=True)
    ]


def _near(belief: Belief, own: Any, principle: dc.Proximity) -> Fraction:
    """Give the chance of lying in the neighbourhood of a person's own number."""
    sides = principle.epsilon
    pair = sides if isinstance(sides, tuple) else (sides, sides)
    below, above = (Fraction(str(side)) for side in pair)
    own = Fraction(str(own))
    low = own * (1 - below) if principle.relative else own - below
    high = own * (1 + above) if principle.relative else own + above
    return sum((c for v, c in belief.items() if low <= Fraction(str(v)) <= high), Fraction(0))


def _compare_breaches(
    release: dc.Release,
    report: dc.AuditReport,
    worlds: Worlds,
    people: Sequence[Person],
    judged: dc.Principle,
) -> Iterator[Figure]:
    """Whoever a principle fails for in the worlds must be counted as breached."""
    parts = judged.parts
    chances = [max(rows.values()) for rows in worlds.rows]
    for part in parts:
        # what slices promise of people is said of buckets, what batches do, table by table
        apart = part in release.promise.principle.parts and release.form in ("sliced", "batched")
        if isinstance(part, dc.KAnonymity | dc.AlphaK) and not apart:
            for i, chance in enumerate(chances):
                yield _figure("breach of k", i, bool(report.breached[i]), chance * part.k > 1)
        if isinstance(part, dc.KAnonymity) or part.joins:
            continue
        for name in [part.on] if part.on else release.schema.sensitive:
            yield from _compare_values(part, name, report, worlds, people)


def _compare_values(
    part: dc.Principle,
    name: str,
    report: dc.AuditReport,
    worlds: Worlds,
    people: Sequence[Person],
) -> Iterator[Figure]:
    believed = [[belief] for belief in worlds.believe(name)]
    if isinstance(part, dc.Proximity):
        believed = believe_beside_truth(worlds, name, people)
    for i, beliefs in enumerate(believed):
        if isinstance(part, dc.Proximity):
            fails = any(part.m * _near(b, people[i][name], part) > 1 for b in beliefs)
        else:
            fails = any(_fails(part, belief, name, people) for belief in beliefs)
        yield _figure(f"breach of {part.title}", i, bool(report.breached[i]), fails)


def _fails(part: dc.Principle, belief: Belief, name: str, people: Sequence[Person]) -> bool:
    """Whether a belief breaks a principle, by the plain definition of it."""
    whole = [person[name] for person in people]
    ranks = {v: i for i, v in enumerate(sorted(set(whole), key=lambda v: (v is None, str(v))))}
    numbers = {v: v if isinstance(v, int) else ranks[v] for v in ranks}
    if isinstance(part, dc.AlphaK):
        part = replace(part, k=1)
    bag = _as_bag(belief, numbers)
    return not CASES[part.title].define(part, bag, [numbers[v] for v in whole])


def compare_composed(
    releases: Sequence[dc.Release],
    report: dc.AuditReport,
    worlds: Worlds,
    people: Sequence[Person],
) -> Iterator[Figure]:
    """Of each promise, for how many people it fails once the releases are put together."""
    titles = ["this release", *(f"earlier release {i}" for i in range(1, len(releases)))]
    for title, release in zip(titles, releases, strict=True):
        parts = [p for p in release.promise.principle.parts if p.reads_values and not p.joins]
        if not parts:
            continue
        (part,) = parts
        said = [c for c in report.composed if (c.promised_by, c.principle) == (title, part)]
        (name,) = release.schema.sensitive
        believed = worlds.believe(name)
        failing = [_fails(part, belief, name, people) for belief in believed]
        yield _figure("people broken together", None, sum(c.people for c in said), sum(failing))
        surest = max((max(b.values()) for b, f in zip(believed, failing, strict=True) if f),
                     default=Fraction(0))  # fmt: skip
        worst = max((c.worst or Fraction(0) for c in said), default=Fraction(0))
        yield _figure("belief together", None, worst + MARGIN, surest)


def _as_bag(belief: Belief, numbers: dict[Any, int]) -> list[int]:
    """Write a belief as a bag of as many as its chances need."""
    size = lcm(*(chance.denominator for chance in belief.values()))
    return [numbers[v] for v, c in belief.items() for _ in range(int(c * size))]
