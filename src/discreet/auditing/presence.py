"""Presence: who of a population is in the table, to somebody who knows everybody in it?

delta-presence (Nergiz, Atzori, Clifton, SIGMOD 2007): an adversary who knows the quasi-identifiers
of a whole population finds, for every person, how many people look the same to the release, and how
many of these it has records of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np

from discreet.errors import SchemaError, name_closest
from discreet.forms.crowds import Crowds, NamedValues
from discreet.forms.exposure import tell_apart
from discreet.forms.matches import Matches
from discreet.table.arrays import Bools, Floats, Ints
from discreet.table.coarsening import refuse_other_coarsening
from discreet.table.finer import refuse_means
from discreet.table.microdata import Microdata, row_ids
from discreet.table.schema import refuse_other_kind

MOST_NEEDS = 10
"""Worlds are counted under so many needs of a crowd at once; under more, some are left out."""


@dataclass(frozen=True)
class Presence:
    """What somebody who knows a population can tell about who of it is in the table."""

    population: int
    members: int
    possible: int
    """People of the population who may be in the table; all others are known not to be."""
    certain: int
    """People who must be in it, at least."""
    largest: Fraction
    """The largest belief that somebody is in it."""
    mean: float
    """The belief that a member is in it, on average."""
    advantage: float | None
    """How often a member is believed in more than somebody who is not one: 0.5 is chance; ``None``
    where all of the population is in the table."""
    exact: bool
    """Whether all of this is what all worlds say, each as likely; else they may say more."""
    believed: Floats = field(repr=False, compare=False)
    """Per row of the table the belief that whoever looks so is in it."""

    @property
    def chance(self) -> float:
        """The belief of somebody who knows nothing but how many are in it."""
        return self.members / self.population

    @property
    def caution(self) -> str:
        """What to say where anybody is certain to be in the table."""
        return f"who knows the population is certain that {self.certain:,} people are in the table"

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain values."""
        told = {name: value for name, value in vars(self).items() if name != "believed"}
        return {**told, "largest": float(self.largest), "chance": self.chance}

    def __str__(self) -> str:
        least = "" if self.exact else "at least "
        told = (
            ""
            if self.advantage is None
            else f"; a member is believed in more than another in {self.advantage:.1%} of pairs "
            "(chance: 50 %)"
        )
        return (
            f"Presence, of {self.population:,} people: {self.possible:,} may be in the table, "
            f"{least}{self.certain:,} must be ({self.certain / self.members:.1%} of members); that "
            f"a member is in it is believed with {self.mean:.1%} on average "
            f"(chance: {self.chance:.1%}){told}."
        )


def measure_presence(views: Sequence[Matches], data: Microdata, population: Microdata) -> Presence:
    """Measure what the tables of a release tell, which people were matched with already.

    Tables, and columns of a sliced one, are taken each by itself, and the most telling counts.
    """
    _refuse_other_population(data, population)
    own, theirs_own = _join_members(data, population)
    people = np.bincount(theirs_own)
    members = (np.bincount(own, minlength=len(people)) / people)[theirs_own]
    told = _Told.about(population.n)
    ways, exact = 0, True
    for found in views:
        theirs = found.view.match(population)
        ends, complete = _find_attained(found, theirs, data, population)
        exact &= complete
        for crowds in found.view.list_crowds(theirs, population):
            exact &= told.add_crowds(crowds, [e for e in ends if e.of_groups])
            ways += 1
        for named in ends:
            _, first, many = np.unique(named.end, return_index=True, return_counts=True)
            told.certain[named.person[first[many == 1]]] = True
    certain = told.certain & told.possible
    belief = np.where(certain, 1.0, np.where(told.possible, told.belief, 0.0))
    seen = np.zeros(len(people))
    np.maximum.at(seen, theirs_own, belief)
    return Presence(
        population=population.n,
        members=data.n,
        possible=int(told.possible.sum()),
        certain=int(certain.sum()),
        largest=Fraction(1) if certain.any() else told.largest,
        mean=float((belief * members).sum() / data.n),
        advantage=_tell_apart(belief, members),
        exact=exact and ways == 1,
        believed=seen[own],
    )


@dataclass(eq=False)
class _Told:
    """What is told about everybody of a population, by what was read up to now."""

    certain: Bools
    possible: Bools
    belief: Floats
    largest: Fraction

    @staticmethod
    def about(people: int) -> _Told:
        """Start with nothing told."""
        return _Told(np.zeros(people, bool), np.ones(people, bool), np.zeros(people), Fraction(0))

    def add_crowds(self, crowds: Crowds, ends: Sequence[NamedValues]) -> bool:
        """Add what crowds tell, some of whom must have what is named; say whether that is all."""
        there = np.flatnonzero(crowds.crowd_of >= 0)
        crowd = crowds.crowd_of[there]
        people = np.bincount(crowd, minlength=len(crowds.records))
        records = np.minimum(crowds.records, people)
        belief = np.zeros(len(self.belief))
        belief[there] = (records / np.maximum(people, 1))[crowd]
        weighed: dict[int, Fraction] = {}
        exact = crowds.exact
        by_crowd = there[np.argsort(crowd, kind="stable")]
        starts = np.concatenate([[0], np.cumsum(people)])
        for number, needs in _list_needs(crowds, ends, people) if crowds.exact else ():
            here = by_crowd[starts[number] : starts[number + 1]]
            shares, complete = _weigh_worlds(here, int(records[number]), needs)
            weighed |= shares
            exact &= complete
        for person, share in weighed.items():
            belief[person] = float(share)
            self.possible[person] &= share > 0
            self.certain[person] |= share == 1
        self.possible &= crowds.crowd_of >= 0
        self.certain[there] |= (records == people)[crowd]
        others = np.setdiff1d(there, list(weighed))
        top = crowds.crowd_of[others[belief[others].argmax()]] if len(others) else -1
        whole = [Fraction(int(records[top]), int(people[top]))] if len(others) else []
        self.largest = max([self.largest, *whole, *weighed.values()])
        self.belief = np.maximum(self.belief, belief)
        return exact


def _list_needs(
    crowds: Crowds, ends: Sequence[NamedValues], people: Ints
) -> Iterator[tuple[int, list[Ints]]]:
    """List, crowd by crowd, those of whom some must be in the table, unless some always are."""
    spare = people - crowds.records
    needs: dict[int, list[Ints]] = {}
    for named in ends:
        order = np.argsort(named.end, kind="stable")
        person, end = named.person[order], named.end[order]
        starts = np.flatnonzero(np.append(True, end[1:] != end[:-1])) if len(end) else end
        sizes = np.diff(np.append(starts, len(end)))
        crowd = crowds.crowd_of[person[starts]]
        for i in np.flatnonzero(sizes <= spare[crowd]):
            chosen = person[starts[i] : starts[i] + sizes[i]]
            needs.setdefault(int(crowd[i]), []).append(chosen)
    yield from needs.items()


def _weigh_worlds(
    people: Ints, records: int, needs: list[Ints]
) -> tuple[dict[int, Fraction], bool]:
    """Give the share of worlds in which each is in the table, and whether all needs were used.

    A world has so many of the people, some of every need among them; worlds are counted by
    inclusion and exclusion. Who alone meets a need is in all worlds. Of many needs the smallest
    are used, which leaves worlds that are none: whoever is in all of these is in all worlds.
    """
    forced = {int(need[0]) for need in needs if len(need) == 1}
    left = {frozenset(need.tolist()) for need in needs if not forced & set(need.tolist())}
    spare = len(people) - records
    used = sorted((need for need in left if len(need) <= spare), key=lambda n: (len(n), sorted(n)))
    complete = len(used) <= MOST_NEEDS
    used = used[:MOST_NEEDS]
    others = [int(p) for p in people if int(p) not in forced]
    mask = {p: sum(1 << i for i, need in enumerate(used) if p in need) for p in others}
    kinds, counts = np.unique(np.array([*mask.values()], dtype=np.int64), return_counts=True)
    shares = _share_worlds(kinds, counts, records - len(forced), len(used))
    if shares is None:  # the release is not of these people
        return {}, False
    told = {p: shares[mask[p]] for p in others}
    return {**told, **dict.fromkeys(forced, Fraction(1))}, complete


def _share_worlds(kinds: Ints, counts: Ints, chosen: int, needs: int) -> dict[int, Fraction] | None:
    """Give, per kind of people, the share of worlds that each is in; ``None`` if there is none."""
    avoided = np.arange(1 << needs)
    sign = 1 - 2 * (np.array([int(a).bit_count() for a in avoided]) % 2)
    free = (avoided[:, None] & kinds) == 0
    rest = free @ counts
    if chosen < 0:
        return None
    worlds = sum(int(s) * comb(int(r), chosen) for s, r in _add_signs(sign, rest))
    if worlds <= 0:
        return None
    shares = {}
    for i, kind in enumerate(kinds.tolist()):
        here = _add_signs(sign[free[:, i]], rest[free[:, i]])
        inside = sum(int(s) * comb(int(r) - 1, chosen - 1) for s, r in here) if chosen else 0
        shares[kind] = Fraction(inside, worlds)
    return shares


def _add_signs(sign: Ints, rest: Ints) -> list[tuple[int, int]]:
    """Add up signs over equal numbers."""
    values, which = np.unique(rest, return_inverse=True)
    totals = np.zeros(len(values), dtype=np.int64)
    np.add.at(totals, which, sign)
    return [(s, r) for s, r in zip(totals.tolist(), values.tolist(), strict=True) if s]


def _refuse_other_population(data: Microdata, population: Microdata) -> None:
    for name in data.quasi_identifiers:
        if name not in population.codes:
            raise SchemaError(
                f"The population does not have {name!r}, by which people are known.",
                hint=name_closest(name, list(population.codes)),
            )
        refuse_other_kind(data.schema[name], population.schema[name])
        refuse_other_coarsening(population.schema[name], data.schema[name], "the population")
    refuse_means(population)


def _join_members(data: Microdata, population: Microdata) -> tuple[Ints, Ints]:
    """Number people of the table, and of the population, by how they look."""
    names = data.quasi_identifiers
    own = [data.codes_in(name, population.domains[name]) for name in names]
    lost = any((codes < 0).any() for codes in own)
    if not lost:
        columns = [np.concatenate([codes, population.codes[name]])
                   for name, codes in zip(names, own, strict=True)]  # fmt: skip
        number = row_ids(columns, data.n + population.n)
        inside = np.bincount(number[: data.n], minlength=int(number.max()) + 1)
        people = np.bincount(number[data.n :], minlength=len(inside))
        lost = bool((inside > people).any())
    if lost:
        raise SchemaError(
            "The population lacks people of the microdata.",
            hint="Give a table of everybody that the microdata is a sample of, members included.",
        )
    return number[: data.n], number[data.n :]


def _find_attained(
    found: Matches, theirs: Matches, data: Microdata, population: Microdata
) -> tuple[list[NamedValues], bool]:
    """List what is named because somebody has it, and say whether that is all there is to know.

    Whether somebody has it, the microdata tell. That all ends of an attribute are somebody's may be
    chance where a release says that boxes end at cuts; it is believed if one of any is not.
    """
    ours = found.view.list_named(found, data)
    full = [len(np.unique(ends.end)) == ends.named for ends in ours]
    tight = all(good for good, ends in zip(full, ours, strict=True) if ends.of_groups)
    loose = found.release.parameters.get("ends") == "cuts" and not tight
    attained = [
        ends
        for good, ends in zip(full, found.view.list_named(theirs, population), strict=True)
        if good and not (loose and ends.of_groups)
    ]
    return attained, tight or (loose and not attained)


def _tell_apart(belief: Floats, members: Floats) -> float | None:
    """Say how often a member is believed in more than another, ties counting half."""
    if (1 - members).sum() < 0.5:
        return None
    return tell_apart(belief, members, 1 - members)
