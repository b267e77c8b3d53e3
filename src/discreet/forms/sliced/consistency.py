"""Is a sliced table made of these people, and do its rows link nothing?"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from discreet.forms.consistency import count_misplaced
from discreet.forms.matches import Matches
from discreet.forms.matching import number_jointly, number_shown
from discreet.forms.sliced.bucketing import is_impossible
from discreet.table.arrays import Ints
from discreet.table.microdata import Microdata

if TYPE_CHECKING:
    from discreet.forms.sliced.view import SlicedView

MOST_PAIRS, SHUFFLES = 45, 40
"""Pairs of columns of a sliced table that are tried, each against so many shuffles of its own."""


def compare_slices(view: SlicedView, matches: Matches, data: Microdata) -> list[str]:
    """Every column by itself must hold what people have, each in a bucket of theirs, unlinked."""
    findings, numbers = [], []
    for column in view.columns:
        own, shown = number_jointly(view, data, column)
        numbers.append((own, shown))
        if not np.array_equal(np.sort(own), np.sort(shown)):
            named = ", ".join(column)
            findings.append(f"the published values of {named} are not those of the people")
    if findings:
        return findings
    for name in view.release.schema.sensitive:
        missed = count_misplaced(_look_at(view, matches, name), data, [name])
        if missed:
            findings.append(
                f"values of {name} are in buckets to which the people who have them do not belong: "
                f"{missed} find none"
            )
    if not findings and is_impossible(view, matches, numbers):
        findings.append("no parting of the people into buckets shows all columns as published")
    if _is_sorted(view):
        return findings
    pairs = list(combinations(range(len(numbers)), 2))
    if len(pairs) > MOST_PAIRS:  # what is sensitive against all, and neighbours
        pairs = [p for p in pairs if p[1] in (p[0] + 1, len(numbers) - 1)][-MOST_PAIRS:]
    for i, j in pairs:
        both = i in view.tied.places and j in view.tied.places
        owner = view.within if both else view.bucket
        hits, expected = _count_links(owner, *numbers[i], *numbers[j])
        if hits:
            one, other = (", ".join(view.columns[c]) for c in (i, j))
            findings.append(
                f"{hits} rows show {one} and {other} of one person; shuffled, it would be about "
                f"{expected:.0f}"
            )
    return findings


def _look_at(view: SlicedView, matches: Matches, name: str) -> Matches:
    """Match with the parts of one attribute's column: a row tells nothing of several."""
    place = view.parts.find(view.columns, name)
    rows = replace(view, labels=view.parts.of_row[:, place])
    return replace(matches, view=rows, groups=view.parts.of_group[matches.groups, place])


def _is_sorted(view: SlicedView) -> bool:
    """Whether rows are what sorting each column in each bucket gives: then they link nothing.

    Columns of older releases were shuffled; of those chance tells.
    """
    ranks = [
        number_shown(view.release, view.table, view.tied.order(column)) for column in view.columns
    ]
    order = np.lexsort((*reversed(ranks), view.bucket))
    falls = [np.diff(rank[order]) < 0 for rank in ranks]
    return not (np.any(falls, axis=0) & (np.diff(view.bucket[order]) == 0)).any()


def _count_links(
    owner: Ints, own: Ints, shown: Ints, theirs: Ints, beside: Ints
) -> tuple[int, float]:
    """Count the rows whose values of two columns somebody has together, if that is too many.

    Too many is what shuffling again never comes near, among rows of the same ``owner``.
    """
    size = int(max(theirs.max(), beside.max())) + 1
    people = np.unique(own * size + theirs)

    def count(rows: Ints) -> int:
        keys = shown * size + beside[rows]
        at = np.minimum(np.searchsorted(people, keys), len(people) - 1)
        return int((people[at] == keys).sum())

    rng = np.random.default_rng(0)
    order = np.argsort(owner, kind="stable")
    chance = []
    for _ in range(SHUFFLES):
        rows = np.empty_like(order)
        rows[order] = np.lexsort((rng.random(len(order)), owner))
        chance.append(count(rows))
    hits, expected = count(np.arange(len(order))), float(np.mean(chance))
    return (hits if hits > expected + 8 * float(np.std(chance)) + 2 else 0), expected
