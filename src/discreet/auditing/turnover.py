"""Turnover: whether releases can be about the same people.

Beliefs from several releases are put together for people who are in all of them. Where somebody
joined or left in between, the difference of two releases is about these few alone: totals differ
by their values. That is not examined, so it is found here, and refused.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from discreet.forms import find_form
from discreet.release import Release
from discreet.table.coarsening import Coarsening


def find_turnover(release: Release, earlier: Sequence[tuple[str, Release]]) -> list[str]:
    """Say of which earlier releases this one is not surely about the same people, and why.

    It shows in how many there are, in rows that are left out, which others may publish, and in
    values that both show. Who left while another joined with the same values does not show.
    """
    found = []
    for name, held in earlier:
        if repeats(release, held):
            continue
        if not all(find_form(one.form).shows_people for one in (release, held)):
            continue  # counts with noise do not say who is in them
        ours, theirs = (len(one.views[0].labels) for one in (release, held))
        if ours != theirs:
            found.append(f"{name} publishes {theirs:,} records and this release {ours:,}")
        elif release.left_out or held.left_out:
            found.append(f"{name} or this release leaves rows out, and not surely the same")
        elif changed := [a for a in _list_alike(release, held)
                         if _tally(release, a) != _tally(held, a)]:  # fmt: skip
            found.append(f"{name} has other values of {', '.join(changed)} in all")
    return found


def note_turnover(release: Release, earlier: Sequence[tuple[str, Release]]) -> list[str]:
    """Say the same as what an audit leaves out of account."""
    return [f"{found}: what that tells of who joined or left is not examined"
            for found in find_turnover(release, earlier)]  # fmt: skip


def _list_alike(one: Release, other: Release) -> list[str]:
    """List the attributes whose values both show all of, and as they are."""
    both = (one, other)
    told = [name for name in one.schema.sensitive if name in other.schema.sensitive
            and all(held.views[0].holds_values for held in both)]  # fmt: skip
    known = [name for name in one.schema.quasi_identifiers if name in other.schema.quasi_identifiers
             and all(name in held.views[0].table.columns for held in both)]  # fmt: skip
    return [
        name
        for name in (*known, *told)
        if not any(held.recodings[name].is_blurred for held in both)
        and one.schema[name].reads_like(other.schema[name])
        and Coarsening.of(one.schema[name]) == Coarsening.of(other.schema[name])
    ]


def _tally(release: Release, name: str) -> dict[str, int]:
    """Count how often a release shows each value of an attribute."""
    view = release.views[0]
    if name in release.schema.quasi_identifiers:
        shown = view.table[name].cast(pl.String).value_counts()
        return dict(shown.iter_rows())
    _, bags = view.source_bags(name)
    counts = np.bincount(bags.codes, weights=bags.weights, minlength=bags.domain.size)
    return {text: int(n) for text, n in zip(bags.domain.texts, counts, strict=True) if n}


def repeats(one: Release, other: Release) -> bool:
    """Whether a release shows just what another does: nothing is learned from it."""
    same = one.recodings == other.recodings and one.tables.keys() == other.tables.keys()
    return same and all(one.tables[t].equals(other.tables[t]) for t in one.tables)
