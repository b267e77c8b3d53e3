"""Minimality: a method that stops where the promise ends tells something by where it stopped.

Wong, Fu, Wang, Pei: Minimality Attack in Privacy Preserving Data Publishing, VLDB 2007. Who knows
the method keeps, of all arrangements of the sensitive values that the release leaves possible, only
those of which the method makes this very release. So every arrangement is published again, which
only small tables or a few people of a group allow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import polars as pl

from discreet.auditing.method_known import MinimalityAttack
from discreet.errors import DiscreetError
from discreet.publishing import publish
from discreet.publishing.method import Method
from discreet.release import Release
from discreet.table.arrays import Ints
from discreet.table.microdata import Microdata

MOST_WORLDS = 1000
"""Arrangements of a whole table that are published again."""
MOST_SAMPLED, FEWEST_SAMPLED, MOST_ROWS = 200, 24, 500_000
"""Of a few people of groups: arrangements that are published again, and rows of these."""
FEW_PEOPLE = 4
AGAIN = 5
"""Publications by which a method that draws at random is told from one that does not."""

World = tuple[int, ...]


def measure_minimality(release: Release, data: Microdata, method: Method) -> MinimalityAttack | str:
    """Measure what the method gives away beyond its release; or say why that cannot be done."""
    if len(release.schema.sensitive) != 1:
        return "the release has not just one sensitive attribute"
    (name,) = release.schema.sensitive
    if method.draws_groups:  # a few publications may look the same by chance
        return "the method draws which groups there are"
    people = data.sorted()  # whatever order rows came in must not matter
    try:
        made, *again = [publish(people, method) for _ in range(AGAIN)]
    except DiscreetError as error:
        return f"the plan's method makes no release of this table: {error.message.rstrip('.')}"
    if not all(_look_same(made, other) for other in again):
        return "the method draws at random"
    if not _look_same(made, release):
        return "the plan's method does not make this release of this table"
    groups = _list_groups(release, people, name)
    if groups is None:
        return "it is not told which group people and values are in"
    own = people.codes[name].astype(np.int64)
    if prod(_count_arrangements(own[group]) for group in groups) <= MOST_WORLDS:
        parts, known = [groups], "everybody's quasi-identifiers"
    else:
        parts = _draw_parts(groups, own, data.n)
        known = (
            "the values of everybody but a few people of one group "
            f"({len(parts)} times up to {FEW_PEOPLE} people tried)"
        )
    if not parts:
        return "in no group do people differ"
    found = [_try_part(people, name, method, made, part) for part in parts]
    return MinimalityAttack(
        worst=max(one.worst for one in found),
        unaware=max(one.unaware for one in found),
        raised=sum(one.raised for one in found),
        tried=sum(one.tried for one in found),
        worlds=sum(one.worlds for one in found),
        kept=sum(one.kept for one in found),
        known=known,
    )


def _look_same(one: Release, other: Release) -> bool:
    """Whether two releases show the same: every table, cell by cell, and what labels stand for."""
    if list(one.tables) != list(other.tables) or one.recodings != other.recodings:
        return False
    return all(
        _make_plain(table).equals(_make_plain(other.tables[title]))
        for title, table in one.tables.items()
    )


def _make_plain(table: pl.DataFrame) -> pl.DataFrame:
    """Give texts and whole numbers as such, however they are stored."""
    return table.with_columns(
        pl.selectors.by_dtype(pl.Enum, pl.Categorical).cast(pl.String),
        pl.selectors.integer().cast(pl.Int64),
    )


def _list_groups(release: Release, people: Microdata, name: str) -> list[Ints] | None:
    """Give the people of every group; none if it is not told who is in which, or has whose values.

    Only then do values within groups, arranged in all ways, make all worlds.
    """
    view = release.views[0]
    found = view.match(people)
    if len(release.views) > 1 or (found.set_of < 0).any() or found.several.any():
        return None
    if not view.holds_values or not np.array_equal(view.source_bags(name)[0], view.labels):
        return None
    return [np.flatnonzero(found.group_of == g) for g in range(found.view.count)]


def _count_arrangements(codes: Ints) -> int:
    """Count the different orders of some values, as far as it matters here.

    >>> _count_arrangements(np.array([1, 1, 2]))
    3
    """
    ways = 1
    for place, times in _list_steps(codes):
        ways = ways * place // times
        if ways > MOST_WORLDS:
            break
    return ways


def _list_steps(codes: Ints) -> Iterator[tuple[int, int]]:
    seen: Counter[int] = Counter()
    for place, code in enumerate(codes.tolist(), start=1):
        seen[code] += 1
        yield place, seen[code]


def _arrange(codes: Sequence[int]) -> Iterator[World]:
    """List the different orders of some values.

    >>> list(_arrange([2, 1, 1]))
    [(1, 1, 2), (1, 2, 1), (2, 1, 1)]
    """
    if not codes:
        yield ()
        return
    for code in sorted(set(codes)):
        rest = list(codes)
        rest.remove(code)
        for after in _arrange(rest):
            yield (code, *after)


def _draw_parts(groups: list[Ints], own: Ints, n: int) -> list[list[Ints]]:
    """Draw a few people each of some groups, as many times as can be published again."""
    rng = np.random.default_rng(0)
    left, parts = min(max(MOST_ROWS // n, FEWEST_SAMPLED), MOST_SAMPLED), []
    for g in rng.permutation(len(groups)).tolist():
        drawn = np.sort(rng.permutation(groups[g])[:FEW_PEOPLE])
        worlds = _count_arrangements(own[drawn])
        if 1 < worlds <= left:
            parts.append([drawn])
            left -= worlds
    return parts


def _try_part(
    people: Microdata, name: str, method: Method, this: Release, groups: list[Ints]
) -> MinimalityAttack:
    """Arrange the values within each of some groups in all ways; everybody else keeps theirs."""
    own = people.codes[name]
    where = np.concatenate(groups)
    kept: list[World] = []
    worlds = 0
    for parts in product(*(_arrange(own[group].tolist()) for group in groups)):
        world = tuple(code for part in parts for code in part)
        codes = own.copy()
        codes[where] = world
        moved = replace(people, codes={**people.codes, name: codes})
        worlds += 1
        if _gives(moved.sorted(), method, this):
            kept.append(world)
    worst, unaware, raised, place = Fraction(0), Fraction(0), 0, 0
    for group in groups:
        alike = Counter(own[group].tolist()).most_common(1)[0][1]
        before = Fraction(alike, len(group))
        for _ in group:
            alike = Counter(world[place] for world in kept).most_common(1)[0][1]
            after = Fraction(alike, len(kept))
            worst, unaware = max(worst, after), max(unaware, before)
            raised += after > before
            place += 1
    return MinimalityAttack(worst, unaware, raised, place, worlds, len(kept), "")


def _gives(people: Microdata, method: Method, this: Release) -> bool:
    """Whether the method makes this very release of a table."""
    try:
        return _look_same(this, publish(people, method))
    except DiscreetError:
        return False
