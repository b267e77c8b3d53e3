"""Together: what a promise is worth once releases are put together, whoever is in which.

People are those of all releases, by numbers that the steward knows. Who joined, left or came back
is in some of them; who changed is another unknown from then on: the adversary knows when somebody
changed, not from what to what.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import polars as pl

from discreet.auditing.worlds import Sighting, Told, tell_worlds
from discreet.forms import find_form
from discreet.forms.matches import Matches, Parts, look_up
from discreet.forms.posterior import find_largest
from discreet.principles.base import Principle
from discreet.principles.exact import at_most
from discreet.principles.groups import Groups
from discreet.release import Release
from discreet.table.arrays import Bools, Floats, Ints
from discreet.table.coarsening import Coarsening
from discreet.table.domain import Domain, reduce_column
from discreet.table.finer import show_as
from discreet.table.microdata import Microdata, representatives

MARGIN = 0.01
"""An estimated belief that rises by less is not told apart from what was believed before."""
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Roll:
    """Who is in a release, and the groups that may be theirs. The steward's, never published."""

    matches: Matches | None
    """With groups that hold just their people's values; ``None`` where it has no such groups."""
    people: Ints
    """Per person of its table, their number among everybody."""
    values: Mapping[str, Ints] = field(default_factory=dict)
    """Per sensitive attribute, a number that says whether two versions of somebody have the same
    value; without it nobody changed."""


def call_roll(release: Release, data: Microdata, parts: Parts | None = None) -> Roll:
    """Find everybody of a table in a release of just these people, by their parts if known."""
    people = show_as(data, release.schema)
    known = set(find_form(release.form).matched_by(release)) <= set(people.codes)
    found = [
        view.match(people) if parts is None else view.match_parts(people, parts)
        for view in release.views
        if known
    ]
    return Roll(release.views[0].deal(found) if found else None, np.arange(data.n))


@dataclass(frozen=True)
class Verdict:
    """What became of a promise about values."""

    broken: int
    """For how many people it fails."""
    open: int
    """Of how many more it cannot be excluded."""
    smallest: int
    worst: Fraction | None
    """The largest belief of those it fails for, or else of those it may."""


class Together:
    """Some releases, each with its people."""

    def __init__(self, releases: Sequence[tuple[str, Release]], rolls: Sequence[Roll]) -> None:
        self.releases, self.rolls = releases, rolls
        self._told: dict[tuple[tuple[int, ...], str], tuple[Told, Ints]] = {}

    @cached_property
    def everybody(self) -> int:
        """How many people there are in all."""
        return max(int(roll.people.max(initial=-1)) for roll in self.rolls) + 1

    def list_telling(self, trial: Sequence[int], name: str) -> tuple[int, ...]:
        """Of some releases, give those that tell of a sensitive attribute."""
        return tuple(i for i in trial if name in self.releases[i][1].schema.sensitive)

    def find_obstacle(self, trial: Sequence[int], name: str) -> str | None:
        """Say why what some releases tell of an attribute cannot be counted, if it cannot."""
        telling = self.list_telling(trial, name)
        first = self.releases[telling[0]][1]
        for i in telling:
            title, held = self.releases[i]
            roll, attribute = self.rolls[i], held.schema[name]
            if roll.matches is None:
                return f"{title} ({held.method}) has no groups that hold the values of their people"
            if held.left_out:
                return f"{title} leaves rows out, and does not say whose"
            if not Sighting(roll.matches, roll.people).is_whole:
                return f"not everybody of the table is found in {title}"
            alike = Coarsening.of(attribute) == Coarsening.of(first.schema[name])
            if not alike or not attribute.reads_like(first.schema[name]):
                return f"{title} shows {name} otherwise than {self.releases[telling[0]][0]}"
        for i in trial:
            title, held = self.releases[i]
            if name in held.schema.names and i not in telling:
                return f"{name} is not sensitive in {title}"
            for j in telling:
                shared = self.list_beside(j, name) & {*held.schema.names} if i != j else set()
                if shared:
                    return f"{self.releases[j][0]} shows {min(shared)} beside {name}, {title} too"
        return None

    def list_beside(self, i: int, name: str) -> set[str]:
        """List what a release tells beside an attribute, and not everybody knows by it."""
        held = self.releases[i][1]
        told = find_form(held.form).tell_together(held)
        listed = {other for names in told if name in names for other in names}
        return listed - {name} - set(held.schema.quasi_identifiers)

    def judge(self, trial: Sequence[int], i: int, part: Principle, name: str) -> Verdict:
        """Ask a promise of release ``i`` of what some releases leave possible of an attribute."""
        part, telling = part.of_beliefs, self.list_telling(trial, name)
        told, person = self.tell(telling, name)
        here = told.sets[:, telling.index(i)] >= 0
        bags = self._weigh(told, i, part, name)
        share = bags.weights / bags.sizes[bags.owners]
        bad = here & ~part.admits(bags)
        excused, surest = self._judge_alone(telling, told, person, part, name)
        within = np.where(told.counted, ROUNDING, MARGIN)[bags.owners]
        # of values that may be as likely as that, how likely is no matter
        limit = part.max_share if part.is_share_bound else Fraction(0)
        over = ~at_most(bags.weights, limit.denominator, bags.sizes[bags.owners], limit.numerator)
        rising = (share > surest + within) & over
        excused &= np.bincount(bags.owners, weights=rising, minlength=bags.count) == 0
        bad &= ~excused
        # an estimate excuses nobody: by the bounds no value may be likelier than one release tells
        doubt = here & ~bad & ~told.counted
        if part.is_share_bound:
            many = told.people[bags.owners]
            above = ~at_most(told.most, limit.denominator, many, limit.numerator)
            above &= told.most > (surest + ROUNDING) * many
            more = ~at_most(told.unlisted, limit.denominator, told.people, limit.numerator)
            doubt &= more | (np.bincount(bags.owners, weights=above, minlength=bags.count) > 0)
        shown = np.flatnonzero(bad if bad.any() else doubt)
        return Verdict(
            int(told.people[bad].sum()),
            int(told.people[doubt].sum()),
            int(told.people[shown].min(initial=told.people.max())),
            find_largest(bags.largest[shown], bags.sizes[shown]) if len(shown) else None,
        )

    def counts_crowds(self, i: int) -> bool:
        """Whether it is known of everybody of a release which records may be theirs."""
        matches, view = self.rolls[i].matches, self.releases[i][1].views[0]
        return matches is not None and view.shows_whose and bool((matches.only >= 0).all())

    def judge_crowds(self, trial: Sequence[int], i: int, part: Principle) -> Verdict:
        """Ask a promise of how many records may be somebody's, of a release that shows whose.

        A record may be whose value may be the person's.
        """
        roll, held = self.rolls[i], self.releases[i][1]
        bad = np.zeros(self.everybody, dtype=bool)
        fewest = self.everybody
        for name in held.schema.sensitive:
            telling = self.list_telling(trial, name)
            if roll.matches is None or len(telling) < 2 or not held.views[0].shows_whose:
                continue
            told, person = self.tell(telling, name)
            at = told.sets[:, telling.index(i)]
            group = np.where(at >= 0, np.append(roll.matches.only, -1)[at], -1)
            left = self._count_left(told, i, name, group)
            own = np.append(roll.matches.view.people, 0)[group]
            failing = (group >= 0) & ~_admits(part, left) & _admits(part, own)
            if failing.any():
                fewest = min(fewest, int(left[failing].min()))
                bad[person[failing[told.kind_of]]] = True
        return Verdict(int(bad.sum()), 0, fewest, None)

    def _count_left(self, told: Told, i: int, name: str, group: Ints) -> Ints:
        """Per kind how many records of its group have values that may be theirs."""
        held = self._hold(i, name)
        codes = held.domain.find(told.bags.domain.texts)[told.bags.codes]
        at = look_up(held, group[told.bags.owners], codes)
        many = np.append(held.weights, 0)[at]
        return np.asarray(told.bags.sum(many))

    def tell(self, telling: tuple[int, ...], name: str) -> tuple[Told, Ints]:
        """Say what releases tell of an attribute together; and who everybody told of is."""
        key = telling, name
        if key not in self._told:
            numbers, person = self._number_people(telling, name)
            sightings = []
            for i, people in zip(telling, numbers, strict=True):
                matches = self.rolls[i].matches
                assert matches is not None
                sightings.append(Sighting(matches, people))
            domain = self._find_domain(telling, name)
            self._told[key] = tell_worlds(sightings, name, domain, len(person)), person
        return self._told[key]

    def _number_people(self, telling: tuple[int, ...], name: str) -> tuple[list[Ints], Ints]:
        """Number everybody, anew when their value changes; and say who each is."""
        rolls = [self.rolls[i] for i in telling]
        seen = np.full(self.everybody, -1, dtype=np.int64)
        turn = np.zeros(self.everybody, dtype=np.int64)
        keys: dict[int, Ints] = {}
        # the new release, which comes first, is the latest
        for place in sorted(range(len(rolls)), key=lambda p: (telling[p] == 0, telling[p])):
            roll = rolls[place]
            if name in roll.values:
                own, before = roll.values[name], seen[roll.people]
                turn[roll.people] += (before >= 0) & (before != own)
                seen[roll.people] = own
            keys[place] = roll.people * len(self.rolls) + turn[roll.people]
        every, number = np.unique(
            np.concatenate([keys[p] for p in range(len(rolls))]), return_inverse=True
        )
        ends = np.cumsum([len(roll.people) for roll in rolls])
        return np.split(number, ends[:-1]), every // len(self.rolls)

    def _hold(self, i: int, name: str) -> Groups:
        """Give what the groups of a release hold of an attribute, where they do."""
        matches = self.rolls[i].matches
        assert matches is not None
        return matches.view.bags(name)

    def _find_domain(self, telling: tuple[int, ...], name: str) -> Domain:
        """Give a domain of all values that these releases tell."""
        domains = [self._hold(i, name).domain for i in telling]
        widest = max(domains, key=lambda domain: domain.size)
        if all((widest.find(domain.texts) >= 0).all() for domain in domains):
            return widest
        values = pl.concat([domain.series() for domain in domains]).unique()
        return reduce_column(values, widest.attribute).encode(None)[1]

    def _weigh(self, told: Told, i: int, part: Principle, name: str) -> Groups:
        """Give beliefs to be compared with the table of release ``i``.

        How many look the same is not what they are about: they weigh as much as that takes.
        """
        bags = self._hold(i, name)
        codes = told.bags.domain.find(bags.domain.texts)
        whole = np.zeros(told.bags.domain.size, dtype=np.int64)
        whole[codes] = bags.whole
        return replace(told.bags, weights=told.bags.weights * part.look_alikes, whole=whole)

    def _judge_alone(
        self, telling: tuple[int, ...], told: Told, person: Ints, part: Principle, name: str
    ) -> tuple[Bools, Floats]:
        """Per kind whether one release alone breaks a promise, and per value how sure any is of it.

        What one release tells alone no other can take back; that is its own matter.
        """
        broken = np.zeros(len(told.people), dtype=bool)
        surest = np.zeros(len(told.bags.codes))
        somebody = person[representatives(told.kind_of)]
        for place, j in enumerate(telling):
            alone, people = self.tell((j,), name)
            bags = self._weigh(alone, j, part, name)
            mine = np.full(self.everybody, -1, dtype=np.int64)
            mine[people] = alone.kind_of
            kind = np.where(told.sets[:, place] >= 0, mine[somebody], -1)
            broken |= ~np.append(part.admits(bags), True)[kind]
            codes = bags.domain.find(told.bags.domain.texts)[told.bags.codes]
            at = look_up(bags, kind[told.bags.owners], codes)
            share = np.append(bags.weights / bags.sizes[bags.owners], 0.0)[at]
            surest = np.maximum(surest, share)
        return broken, surest


def _admits(part: Principle, people: Ints) -> Bools:
    return part.admits(Groups.of_people(np.maximum(people, 1))) & (people > 0)
