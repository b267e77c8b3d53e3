"""Consistency: is a release what it says it made of this very microdata? What views share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from discreet.forms.base import View
from discreet.forms.matches import Cases, Matches, look_up, weigh_holders
from discreet.forms.matching import number_jointly
from discreet.principles.groups import Groups
from discreet.table.arrays import Ints
from discreet.table.domain import reduce_column
from discreet.table.microdata import Microdata
from discreet.table.schema import Role

AT_ONCE, ALONE_AT_ONCE = 20_000, 1_000_000
"""So many people are held against their groups, or the one of each, at a time, to bound memory."""


def check(matches: Matches, data: Microdata) -> list[str]:
    """Find where a release is not what it says it made of this very table."""
    return list(dict.fromkeys(matches.view.find_inconsistencies(matches, data)))


def count_misplaced(matches: Matches, data: Microdata, names: list[str]) -> int:
    """Count the people who find no record however records are given out."""
    own, shown = number_jointly(matches.view, data, names)
    size = int(max(own.max(), shown.max())) + 1
    count = _count_unplaced if matches.several.any() else _count_lacking
    return count(matches, own, shown, size)


def _count_lacking(matches: Matches, own: Ints, shown: Ints, size: int) -> int:
    """Count the people who find no record where everybody has one group, or none.

    In a group the first of those who have a value find the first record with it, and so on.
    """
    group_of, missed = np.append(matches.only, -1), 0
    for some in _slice(len(own)):
        own[some] += group_of[matches.set_of[some]] * size
    for some in _slice(len(shown)):
        shown[some] += matches.view.labels[some] * size
    own.sort()
    shown.sort()
    for some in _slice(len(own)):
        wanted = own[some]
        nth = np.arange(some.start, some.stop) - np.searchsorted(own, wanted)
        at = np.searchsorted(shown, wanted) + nth
        there = at < len(shown)
        there[there] = shown[at[there]] == wanted[there]
        missed += int((~there).sum())
    return missed


def _slice(n: int) -> Iterator[slice]:
    return (slice(first, min(first + ALONE_AT_ONCE, n)) for first in range(0, n, ALONE_AT_ONCE))


def _count_unplaced(matches: Matches, own: Ints, shown: Ints, size: int) -> int:
    """Count the people who find no record where some may be in one of several groups."""
    from discreet.kernels.flow import place

    keys, room = np.unique(matches.view.labels * size + shown, return_counts=True)
    people, entries = [], []
    for first in range(0, len(own), AT_ONCE):
        place_in_list, groups = matches.list_options(matches.set_of[first : first + AT_ONCE])
        person = place_in_list + first
        wanted = groups * size + own[person]
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        people.append(person[keys[at] == wanted])
        entries.append(at[keys[at] == wanted])
    starts = np.searchsorted(np.concatenate(people), np.arange(len(own) + 1))
    return int(place(starts, np.concatenate(entries), room))


def compare_columns(view: View, data: Microdata) -> list[str]:
    """Hold the published people, as a multiset, against those of the microdata."""
    schema = view.release.schema
    exact = [n for n in schema.names if n not in schema.sensitive]
    for names in [
        schema.quasi_identifiers,
        *([exact] if exact != schema.quasi_identifiers else []),
    ]:
        own, shown = number_jointly(view, data, names)
        if not np.array_equal(np.sort(own), np.sort(shown)):
            what = "quasi-identifiers are" if names is not exact else "columns, taken together, are"
            return [f"the published {what} not those of the people"]
    return []


@dataclass(frozen=True, eq=False)
class OwnValues:
    """How many people show their own value, and how many would by chance."""

    hits: int
    expected: float
    variance: float

    def judge(self, name: str) -> list[str]:
        """Say if that are more than chance gives."""
        if self.hits <= self.expected + 6 * np.sqrt(self.variance) + 1e-9:
            return []
        return [
            f"{self.hits} people stand beside their own {name}; chance would give at most "
            f"{self.expected:.0f}"
        ]


@dataclass(frozen=True, eq=False)
class UsedValues:
    """What those who can be in one group only have of what it holds."""

    entries: Ints
    """Places in the bags of groups, each once; -1 is none."""
    people: Ints
    """How many people have it."""

    def exceed(self, bags: Groups) -> bool:
        """Whether more people have a value than a group holds."""
        return bool(((self.entries < 0) | (bags.weights[self.entries] < self.people)).any())


def compare_groups(matches: Matches, name: str, own: Ints) -> list[str]:
    """Everyone must find their value in a group that may be theirs; and not in their own row.

    Where records of a group are elsewhere, the people there count as well, and it is judged later.
    """
    view = matches.view
    _, bags = view.source_bags(name)
    whole = name not in view.release.bags
    if _lack_room(matches, bags, own) or (whole and list_used(matches, bags, own).exceed(bags)):
        return [f"values of {name} are in groups to which the people who have them do not belong"]
    if view.max_own_value_lift is None or not whole:
        return []
    return count_own(matches, name, own).judge(name)


def count_own(matches: Matches, name: str, own: Ints) -> OwnValues:
    """Count who shows their own value, of those who are alone with what they show."""
    view = matches.view
    _, bags = view.source_bags(name)
    unique = (matches.set_of >= 0) & ~matches.several & (matches.records[matches.set_of] == 1)
    column = reduce_column(view.table[name], view.release.schema[name])
    codes, domain = column.encode(None)
    published = bags.domain.find(domain.texts)[codes[matches.shown_to(unique)]]
    at = look_up(bags, matches.group_of[unique], own[unique])
    share = np.where(at >= 0, bags.weights[at], 0) / bags.sizes[matches.group_of[unique]]
    chance = np.minimum(share * (view.max_own_value_lift or 1), 1)
    hits = int((published == own[unique]).sum())
    return OwnValues(hits, float(chance.sum()), float((chance * (1 - chance)).sum()))


def list_used(matches: Matches, bags: Groups, own: Ints) -> UsedValues:
    """List what those have who can be in one group only: they use up what it holds."""
    size = bags.domain.size
    alone = (matches.set_of >= 0) & ~matches.several & (own >= 0)
    keys, theirs = np.unique(matches.group_of[alone] * size + own[alone], return_counts=True)
    return UsedValues(look_up(bags, keys // size, keys % size), theirs)


def _lack_room(matches: Matches, bags: Groups, own: Ints) -> bool:
    """Whether more people who look the same have a value than their records' groups can give.

    A group gives no more of a value than it has, nor than it has records of people who look so.
    """
    cases = Cases.sort(matches.set_of, own, bags.domain.size)
    _, _, here = weigh_holders(matches, bags, cases, bags.weights)
    return bool(((here < cases.people) & (cases.sets >= 0)).any())


def compare_kept(view: View, data: Microdata) -> list[str]:
    """Columns published unchanged must hold what the microdata holds, and nothing else."""
    findings = []
    for attribute in view.release.schema.having(Role.OTHER):
        name = attribute.name
        codes, domain = reduce_column(view.table[name], attribute).encode(None)
        counts = np.bincount(codes, minlength=domain.size)
        if not has_counts(data.codes_in(name, domain), counts, int(view.counterfeits.sum())):
            findings.append(f"the published values of {name} are not those of the people")
    return findings


def has_counts(own: Ints, counts: Ints, more: int = 0) -> bool:
    """Whether people's own codes are, as a multiset, what was published, but for so many more."""
    if (own < 0).any():
        return False
    over = counts - np.bincount(own, minlength=len(counts))
    return bool((over >= 0).all()) and int(over.sum()) == more
