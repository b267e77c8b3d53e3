"""All worlds: every way in which the pieces of one or more releases can be the people's.

In a world everybody is of one group of each release and has one piece of each of its columns, every
piece is somebody's, pieces fit whom they are given to, and what several releases say of a person
agrees. Each world is as likely as another; pieces that look the same are still different ones.
Worlds are counted person by person over what is left of the pieces; a test lists them one by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

from oracles.pieces import Group, Piece, Publication

Place = tuple[Group, tuple[Piece, ...]]
"""A group of a release, and a piece of each of its columns."""
Option = tuple[Place, ...]
"""A place in each release: what one person may be."""
Belief = dict[Any, Fraction]


@dataclass(frozen=True)
class Worlds:
    publications: Sequence[Publication]
    count: int
    chances: list[dict[Option, Fraction]]
    """Per person the chance of every option that some world gives them."""

    def believe(self, name: str) -> list[Belief]:
        """Per person the chance of every value of a sensitive attribute."""
        return [_sum(chances, lambda option: _values(option)[name]) for chances in self.chances]

    def believe_any(self, rows: Sequence[int], name: str) -> Belief:
        """The chance of every value that any of some rows has it: of whoever has these rows."""
        values = {v for row in rows for v in self.believe(name)[row]}
        return {v: 1 - Fraction(self._count_without(rows, name, v), self.count) for v in values}

    def believe_knowing(self, name: str, known: dict[int, Any]) -> list[Belief]:
        """Per person the chance of every value to somebody who knows those of some rows."""

        def count(told: dict[int, Any]) -> int:
            def barred(row: int, option: Option) -> bool:
                return row in told and _values(option)[name] != told[row]

            return _count_ways(*listed, barred)

        listed = _list_all(len(self.chances), self.publications)
        whole = count(known)
        return [
            {v: Fraction(count({**known, row: v}), whole) for v in belief}
            if row not in known else {known[row]: Fraction(1)}
            for row, belief in enumerate(self.believe(name))
        ]  # fmt: skip

    def _count_without(self, rows: Sequence[int], name: str, value: Any) -> int:
        """Count the worlds in which none of some rows has a value."""

        def barred(row: int, option: Option) -> bool:
            return row in rows and _values(option)[name] == value

        return _count_ways(*_list_all(len(self.chances), self.publications), barred)

    def believe_in_group(self, name: str) -> list[dict[Any, Belief]]:
        """The same to somebody who knows the person's group, for each that it may be.

        Where pieces of a value show quasi-identifiers beside it, these are known too.
        """
        found = []
        for chances in self.chances:
            groups = {_whereabouts(option, name) for option in chances}
            found.append({group: self._condition(chances, name, group) for group in groups})
        return found

    def _condition(self, chances: dict[Option, Fraction], name: str, group: Any) -> Belief:
        here = {o: c for o, c in chances.items() if _whereabouts(o, name) == group}
        whole = sum(here.values())
        return {v: c / whole for v, c in _sum(here, lambda o: _values(o)[name]).items()}

    @cached_property
    def rows(self) -> list[dict[Any, Fraction]]:
        """Per person the chance that a row which shows something of people is theirs."""
        found = []
        for chances in self.chances:
            mine: dict[Any, Fraction] = defaultdict(Fraction)
            for option, chance in chances.items():
                for r, (group, pieces) in enumerate(option):
                    for c, piece in enumerate(pieces):
                        if piece.shown:
                            mine[r, group.label, c, piece] += chance / group.columns[c][piece]
            found.append(dict(mine))
        return found

    @cached_property
    def joined_rows(self) -> list[set[Any]]:
        """Per person the rows of all tables or columns, put together, that may be theirs."""
        return [
            {
                tuple(
                    (g.label, *(piece for piece in pieces if piece.shown)) for g, pieces in option
                )
                for option in chances
            }
            for chances in self.chances
        ]

    @cached_property
    def smallest_crowd(self) -> int:
        """The fewest people that a row may be."""
        return min(_count_people(map(set, self.rows)).values())

    @cached_property
    def smallest_joined_crowd(self) -> int:
        """The fewest people that rows put together may be."""
        return min(_count_people(self.joined_rows).values())

    @cached_property
    def alone(self) -> int:
        """People of whom some rows put together are nobody else's, if they are anybody's."""
        crowd = _count_people(self.joined_rows)
        return sum(any(crowd[row] == 1 for row in rows) for rows in self.joined_rows)


def _count_people(sets: Sequence[set[Any]] | Iterator[set[Any]]) -> dict[Any, int]:
    crowd: dict[Any, int] = defaultdict(int)
    for rows in sets:
        for row in rows:
            crowd[row] += 1
    return crowd


def _sum(chances: dict[Option, Fraction], what: Callable[[Option], Any]) -> Belief:
    found: Belief = defaultdict(Fraction)
    for option, chance in chances.items():
        found[what(option)] += chance
    return dict(found)


def _values(option: Option) -> dict[str, Any]:
    return {n: v for _, pieces in option for piece in pieces for n, v in piece.values}


def _whereabouts(option: Option, name: str) -> Any:
    (group, pieces), *_ = option
    return group.label, next(p.shown for p in pieces if name in dict(p.values))


Listed = list[tuple[Option, tuple[int, ...]]]


def _count_ways(
    slots: Sequence[int], options: Sequence[Listed], barred: Callable[[int, Option], bool]
) -> int:
    states = {tuple(slots): 1}
    for row, mine in enumerate(options):
        following: dict[tuple[int, ...], int] = defaultdict(int)
        for state, ways in states.items():
            for option, taken in mine:
                if not barred(row, option) and (times := prod(state[i] for i in taken)):
                    following[_take(state, taken)] += ways * times
        states = following
    return sum(states.values())


def _list_all(people: int, publications: Sequence[Publication]) -> tuple[list[int], list[Listed]]:
    slots = {
        (r, g, c, piece): many
        for r, publication in enumerate(publications)
        for g, group in enumerate(publication.groups)
        for c, column in enumerate(group.columns)
        for piece, many in column.items()
    }
    number = {slot: i for i, slot in enumerate(slots)}
    options = [list(_list_options(person, publications, number)) for person in range(people)]
    return list(slots.values()), options


def count_worlds(people: int, publications: Sequence[Publication]) -> Worlds:
    """Count all worlds, and for everybody those that give them each of their options."""
    slots, options = _list_all(people, publications)
    states: list[dict[tuple[int, ...], int]] = [{tuple(slots): 1}]
    for mine in options:
        following: dict[tuple[int, ...], int] = defaultdict(int)
        for state, ways in states[-1].items():
            for _, taken in mine:
                if times := prod(state[i] for i in taken):
                    following[_take(state, taken)] += ways * times
        states.append(following)
    ends: dict[tuple[int, ...], int] = dict.fromkeys(states[-1], 1)
    total = sum(states[-1].values())
    assert total, "no world fits what was published"
    chances: list[dict[Option, Fraction]] = [{} for _ in range(people)]
    for person in reversed(range(people)):
        before: dict[tuple[int, ...], int] = defaultdict(int)
        for state, ways in states[person].items():
            for option, taken in options[person]:
                times = prod(state[i] for i in taken)
                if times and (left := ends.get(_take(state, taken))):
                    before[state] += times * left
                    share = Fraction(ways * times * left, total)
                    chances[person][option] = chances[person].get(option, Fraction(0)) + share
        ends = before
    return Worlds(publications, total, chances)


def _take(state: tuple[int, ...], taken: tuple[int, ...]) -> tuple[int, ...]:
    left = list(state)
    for i in taken:
        left[i] -= 1
    return tuple(left)


def _list_options(
    person: int, publications: Sequence[Publication], number: dict[Any, int]
) -> Iterator[tuple[Option, tuple[int, ...]]]:
    """List the places that fit a person and do not contradict each other."""
    places = [
        list(_list_places(person, r, p, number))
        for r, p in enumerate(publications)
        if p.members is None or person in p.members
    ]
    for chosen in product(*places):
        option = tuple(place for place, _ in chosen)
        told = [pair for _, pieces in option for piece in pieces for pair in piece.values]
        if len(set(told)) == len({name for name, _ in told}):
            yield option, tuple(i for _, taken in chosen for i in taken)


def _list_places(
    person: int, r: int, publication: Publication, number: dict[Any, int]
) -> Iterator[tuple[Place, tuple[int, ...]]]:
    for g, group in enumerate(publication.groups):
        fitting = [[p for p in column if person in p.fits] for column in group.columns]
        for pieces in product(*fitting):
            yield (group, pieces), tuple(number[r, g, c, p] for c, p in enumerate(pieces))
