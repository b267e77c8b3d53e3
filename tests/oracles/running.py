"""Publish, audit, count the worlds, compare: table after table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random
from unittest.mock import patch

import discreet as dc
from discreet.auditing import PRESETS
from oracles.all_worlds import count_worlds
from oracles.comparing import SMALL_RULES, Figure, compare, compare_composed
from oracles.lossy_joins import compare_links
from oracles.pieces import Publication, read_pieces, read_projections
from oracles.tables import SETUPS, TOGETHER, Drawn


@dataclass(frozen=True)
class Trial:
    """One table that was published."""

    setup: str
    seed: str
    drawn: Drawn
    releases: list[dc.Release]
    published: list[Publication]
    figures: list[Figure]

    @property
    def under(self) -> list[Figure]:
        return [figure for figure in self.figures if figure.under]

    def __str__(self) -> str:
        lines = [f"{self.setup}, seed {self.seed}: {self.drawn.method}",
                 f"judged by {self.drawn.judged}", "people:"]  # fmt: skip
        lines += [f"  {i}: {person}" for i, person in enumerate(self.drawn.people)]
        if self.drawn.earlier:
            lines.append(f"earlier: {self.drawn.earlier}")
        for release in self.releases:
            for title, table in release.tables.items():
                if title != "help":
                    lines += [f"{title}:", *(f"  {row}" for row in table.to_dicts())]
        return "\n".join([*lines, *(f"UNDER {figure}" for figure in self.under)])


@dataclass
class Tally:
    """What came out for many tables."""

    tables: int = 0
    people: int = 0
    under: Counter[str] = field(default_factory=Counter)
    over: Counter[str] = field(default_factory=Counter)
    compared: Counter[str] = field(default_factory=Counter)
    excess: Counter[str] = field(default_factory=Counter)
    largest: dict[str, Fraction] = field(default_factory=dict)
    examples: list[str] = field(default_factory=list)
    """The first table of every kind of fault."""

    def add(self, trial: Trial) -> None:
        self.tables += 1
        self.people += len(trial.drawn.people)
        if any(not self.under[figure.name] for figure in trial.under):
            self.examples.append(str(trial))
        for figure in trial.figures:
            self.compared[figure.name] += 1
            self.under[figure.name] += figure.under
            self.over[figure.name] += figure.over
            self.excess[figure.name] += max(figure.excess, Fraction(0))
            most = self.largest.get(figure.name, Fraction(0))
            self.largest[figure.name] = max(most, figure.excess)

    def merge(self, other: Tally) -> None:
        self.tables += other.tables
        self.people += other.people
        for name in ("under", "over", "compared", "excess"):
            getattr(self, name).update(getattr(other, name))
        for figure, most in other.largest.items():
            self.largest[figure] = max(self.largest.get(figure, Fraction(0)), most)
        self.examples += other.examples


def try_one(setup: str, seed: str) -> Trial | None:
    """Publish and audit the table of a seed; nothing where the publication is refused."""
    try:
        rng = Random(seed)
        drawn = (SETUPS | TOGETHER)[setup](rng)
        data, again = drawn.read(), rng.getrandbits(32)  # what is found can be looked at again
        left = drawn.read(*drawn.left_out) if drawn.left_out else data
        releases = [dc.publish(left, drawn.method, insecure_seed=again)]
        if drawn.earlier is not None:
            left = drawn.read(*drawn.left_out_earlier)
            releases.append(dc.publish(left, drawn.earlier, insecure_seed=again))
    except (dc.errors.PromiseError, dc.errors.SchemaError):
        return None
    if any(release.left_out for release in releases):
        return None  # who is nowhere is looked at elsewhere
    with patch.dict(PRESETS, SMALL_RULES):
        report = dc.audit(releases[0], data, principle=drawn.judged, presets=[*SMALL_RULES],
                          earlier=releases[1:])  # fmt: skip
    people = drawn.people
    published = [read_pieces(release, people) for release in releases]
    figures: list[Figure] = []
    if drawn.judged is not None:
        beside = read_projections(releases[0], people)
        alone = count_worlds(len(people), [*published[:1], *beside])
        figures += compare(releases[0], report, alone, people, drawn.judged)
    if len(releases) > 1:
        together = count_worlds(len(people), published)
        figures += compare_composed(releases, report, together, people)
        figures += compare_links(releases, report, people)
    return Trial(setup, seed, drawn, releases, published, figures)


def run_trials(setup: str, numbers: Iterable[int]) -> Iterator[Trial]:
    """Try the tables of some numbers, and give those that are published."""
    for number in numbers:
        trial = try_one(setup, f"{setup} {number}")
        if trial is not None:
            yield trial


def tally_trials(setup: str, numbers: Iterable[int]) -> Tally:
    """Add up what comes out for the tables of some numbers."""
    tally = Tally()
    for trial in run_trials(setup, numbers):
        tally.add(trial)
    return tally
