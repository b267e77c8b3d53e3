"""People: what was found of rows, said of those whose rows they are.

An adversary who knows a person knows all their rows. So whoever is found by any of them is found,
and a value that any of them has is the person's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.auditing.joined import Check
from discreet.auditing.nearness import Nearness, Reach
from discreet.errors import PromiseError
from discreet.forms.matches import Matches
from discreet.forms.posterior import Posterior
from discreet.forms.several_rows import believe_of_people
from discreet.principles.base import Principle
from discreet.release import Release
from discreet.table.arrays import Bools, Floats, Ints
from discreet.table.people import Persons

Beliefs = tuple[dict[str, Floats], dict[str, Floats], Fraction | None, dict[str, str]]
"""Per attribute what is believed of any value and of people's own; the most of all; and how."""
NO_KEY = (
    "it promises something of people who have several rows, and nobody said whose are whose: read "
    "the microdata with the key (--person, or person = in a plan)"
)
MOST_CASES = 16
"""People are told apart by so many different numbers of rows; beyond, numbers are rounded up."""


@dataclass(frozen=True)
class SeveralRows:
    """How the rows of a table are spread over people."""

    people: int
    rows: int
    most_rows: int
    with_several: int
    """People with more than one row."""
    clusters: int | None
    """Those who would be found together count as one: how many there are."""
    dominant: Fraction
    """The largest part of the records of a group that are of one person, or cluster."""

    def to_dict(self) -> dict[str, object]:
        """Give it as plain values."""
        return {**vars(self), "dominant": float(self.dominant)}

    def __str__(self) -> str:
        said = (
            f"{self.with_several:,} of {self.people:,} people have several of the {self.rows:,} "
            f"rows, up to {self.most_rows:,}"
        )
        if self.clusters is not None:
            said += f"; they are found in {self.clusters:,} clusters"
        return f"{said}; up to {float(self.dominant):.0%} of a group is of one of them."


class Crowd:
    """How many people could be behind the records that may be those of a row."""

    def __init__(self, found: Matches, persons: Persons | None) -> None:
        self.found, self.persons = found, persons

    @cached_property
    def _place(self) -> Ints:
        """Per row the records that show the same, if nothing else may be the row's; else -1."""
        found = self.found
        lone = np.append(found.sizes == 1, False)[found.set_of]
        if found.alike is not None:
            lone[:] = False
        one = np.append(found.only if found.pools_groups else np.arange(found.count), -1)
        return np.where(lone, one[found.set_of], -1)

    @cached_property
    def _fitting(self) -> Ints:
        """Per place the rows that fit."""
        return np.bincount(self._place[self._place >= 0])

    def units(self, persons: Persons) -> Ints:
        """Per place the people, or clusters, who have rows in it.

        Where it has fewer records than rows fit, those who are left out may be any of these.
        """
        places = len(self._fitting)
        units = persons.count_units(self._place, places)
        found = self.found
        records = found.view.people if found.pools_groups else found.records
        missing = np.maximum(self._fitting - records[:places], 0)
        return np.asarray(np.maximum(units - missing, 0), dtype=np.int64)

    @cached_property
    def count(self) -> Ints:
        """How many they are, for every row; 0 where no record may be the row's.

        Where several groups may be, at least as many as rows by which nobody has more.
        """
        rows = np.append(self.found.crowds, 0)[self.found.set_of]
        if self.persons is None:
            return rows
        least = -(-rows // self.persons.most_together)
        units = np.append(self.units(self.persons), 0)[self._place]
        return np.where(self._place >= 0, units, least)

    def find_dominant(self, persons: Persons) -> Fraction:
        """Give the largest part of a place that is of one person, or cluster."""
        here = self._place >= 0
        if not here.any():
            return Fraction(0)
        span = len(self._place) + 1
        keys, rows = np.unique(self._place[here] * span + persons.units[here],
                               return_counts=True)  # fmt: skip
        sizes = self._fitting
        shares = rows / sizes[keys // span]
        top = int(np.argmax(shares))
        return Fraction(int(rows[top]), int(sizes[keys[top] // span]))


def count_several(persons: Persons, crowds: Iterable[Crowd]) -> SeveralRows:
    """Count people, rows and clusters, and how much of a group one of them is."""
    rows = persons.rows
    return SeveralRows(
        persons.count,
        int(rows.sum()),
        persons.most_rows,
        int((rows > 1).sum()),
        int(persons.cluster_of.max()) + 1 if persons.clustered else None,
        max(crowd.find_dominant(persons) for crowd in crowds),
    )


def find_miscounted(
    release: Release, checks: Iterable[Check], crowds: Sequence[Crowd], persons: Persons | None
) -> list[str]:
    """Say how many groups have fewer people than is promised, or that nobody counted them."""
    if persons is None:
        return [] if release.promise.people is None else [NO_KEY]
    found = []
    for check in checks:
        least = check.principle.look_alikes
        for crowd in crowds if least > 1 and check.breaches else []:
            units = crowd.units(persons)
            units = units[units > 0]
            few = int((units < least).sum())
            if few:
                one = int((units == 1).sum())
                who = "clusters" if persons.clustered else "people"
                found.append(f"{few:,} of {len(units):,} groups hold fewer than {least:,} {who}, "
                             f"{one:,} of them a single one")  # fmt: skip
    return list(dict.fromkeys(found))


def fail_people(posterior: Posterior, part: Principle, persons: Persons) -> Bools:
    """Say, row by row, for whom a principle fails, who have as many rows as they have.

    What is enough of rows is asked of each; a principle that says nothing of several rows holds for
    nobody who has them.
    """
    rows = persons.rows
    if len(np.unique(rows)) > MOST_CASES:
        rows = 1 << np.ceil(np.log2(rows)).astype(np.int64)
    failing = np.zeros(len(persons.of), dtype=bool)
    for many in np.unique(rows).tolist():
        theirs = (rows == many)[persons.of]
        try:
            asked = part if many == 1 else part.over_rows(many, 1)
        except PromiseError:
            failing |= theirs
            continue
        failing |= theirs & posterior.fails(asked)
    return failing


def believe_people(told: dict[str, list[Posterior]], persons: Persons) -> Beliefs:
    """Measure what is believed of people, from all their rows."""
    beliefs, truths, how = {}, {}, {}
    worst: Fraction | None = None
    for name, views in told.items():
        found = [believe_of_people(view, persons) for view in views]
        beliefs[name] = np.maximum.reduce([one.largest for one in found])
        truths[name] = np.maximum.reduce([one.truths for one in found])
        worst = max(worst or Fraction(0), *(one.worst for one in found))
        bounded = int(np.logical_or.reduce([one.bounded for one in found]).sum())
        how[name] = max((view.how for view in views), key=len)
        if bounded:
            how[name] += f"; of {bounded:,} people with several rows by the sum over these"
    return beliefs, truths, worst, how


def near_people(found: dict[str, Nearness], persons: Persons) -> dict[str, Nearness]:
    """Bound the risk that any row of a person is near one of their numbers."""

    more = 2 * (persons.rows - 1)

    def widen(reach: Reach) -> Reach:
        most = 2 * persons.most_rows - 1
        return replace(
            reach,
            worst=min(Fraction(1), reach.worst * most),
            mixed=min(Fraction(1), reach.mixed * most),
            mean=min(1.0, reach.mean + float(more.mean()) * float(reach.mixed)),
        )

    def bound(near: Nearness) -> Floats:
        """Of the row that has a number; and of each other row twice what is near any number."""
        own = np.zeros(persons.count)
        np.maximum.at(own, persons.of, near.risks)
        reach = near.promised or near.curve[0]
        return np.minimum(own + more * float(max(reach.worst, reach.mixed)), 1.0)

    return {
        name: replace(
            near,
            curve=tuple(map(widen, near.curve)),
            promised=None if near.promised is None else widen(near.promised),
            risks=bound(near),
        )
        for name, near in found.items()
    }
