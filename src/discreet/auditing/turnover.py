"""Turnover: whether releases can be about the same people.

Beliefs from several releases are put together for people who are in all of them. Where somebody
joined or left in between, the difference of two releases is about these few alone: totals differ
by their values. That is not examined, so it is found here, and refused.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.release import Release
from discreet.table.coarsening import Coarsening


def find_turnover(release: Release, earlier: Sequence[tuple[str, Release]]) -> list[str]:
    """Say of which earlier releases this one is surely about other people, and how that shows.

    It shows in how many there are, and in which values they have. Who left while another joined
    with the same values does not show, nor does a value that changed if it is not shown.
    """
    found = []
    for name, held in earlier:
        ours, theirs = _count(release), _count(held)
        if ours != theirs:
            found.append(f"{name} is about {theirs:,} rows and this release about {ours:,}")
            continue
        changed = [a for a in _list_alike(release, held)
                   if _tally(release, a) != _tally(held, a)]  # fmt: skip
        if changed:
            found.append(f"{name} has other values of {', '.join(changed)} in all")
    return found


def note_turnover(release: Release, earlier: Sequence[tuple[str, Release]]) -> list[str]:
    """Say the same as what an audit leaves out of account."""
    return [f"{found}: what that tells of who joined or left is not examined"
            for found in find_turnover(release, earlier)]  # fmt: skip


def _count(release: Release) -> int:
    """Count the rows of the table that a release was made from, as far as it says so."""
    return release.views[0].table.height + release.left_out


def _list_alike(one: Release, other: Release) -> list[str]:
    """List the sensitive attributes whose values both show all of, and as they are."""
    both = (one, other)
    if any(held.left_out or not held.views[0].holds_values for held in both):
        return []
    return [
        name
        for name in one.schema.sensitive
        if name in other.schema.sensitive
        and not any(held.recodings[name].is_blurred for held in both)
        and one.schema[name].reads_like(other.schema[name])
        and Coarsening.of(one.schema[name]) == Coarsening.of(other.schema[name])
    ]


def _tally(release: Release, name: str) -> dict[str, int]:
    """Count how often a release shows each value of an attribute."""
    _, bags = release.views[0].source_bags(name)
    counts = np.bincount(bags.codes, weights=bags.weights, minlength=bags.domain.size)
    return {text: int(n) for text, n in zip(bags.domain.texts, counts, strict=True) if n}
