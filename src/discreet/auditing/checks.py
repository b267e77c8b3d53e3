"""Checks: for whom does each part of a principle fail?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.auditing.joined import Check
from discreet.auditing.links import list_x_groups
from discreet.auditing.people import Crowd, fail_people
from discreet.auditing.roles import Onlooker
from discreet.errors import PromiseError, SchemaError
from discreet.forms.guarded import refuse_judging
from discreet.forms.matches import Matches
from discreet.forms.posterior import Posterior
from discreet.principles.base import Principle, demands
from discreet.principles.linking import PEOPLE, Linking, XYAnonymity
from discreet.release import Release
from discreet.table.arrays import Bools, Ints
from discreet.table.microdata import Microdata
from discreet.table.people import Persons


def check_parts(
    crowds: list[Crowd],
    told: dict[str, list[Posterior]],
    principle: Principle | None,
    adversary: Onlooker,
    data: Microdata,
) -> tuple[list[Check], Bools]:
    """Count the people for whom each part of a principle fails, in any table.

    With whom, row by row: of people with several rows, each.
    """
    persons = data.persons
    checks, breached = [], np.zeros(data.n, dtype=bool)
    for part, name in demands(principle, adversary.sensitive) if principle else ():
        if part.personal and len(crowds) > 1:
            raise refuse_judging(part)
        failing = np.full(data.n, name in adversary.certain)
        for view in told.get(name, []) if name is not None else []:
            try:
                if persons is None:
                    failing |= view.fails(part)
                else:
                    failing |= fail_people(view, part, persons)
            except SchemaError:  # it was never promised of this one, and does not hold for it
                if name not in adversary.added:
                    raise
                failing[:] = True
        for crowd in crowds if name is None or part.look_alikes > 1 else []:
            failing |= (crowd.found.set_of >= 0) & ~_hide(crowd, part)
        said = crowds[0].found.view.word_check(part)
        checks.append(Check(part, name, data.count_any(failing), said))
        breached |= failing
    return checks, breached


def _hide(crowd: Crowd, part: Principle) -> Bools:
    """Say of every row whether so many people look the same, or rows that are of so many."""
    found, persons = crowd.found, crowd.persons
    if persons is None:
        return np.append(found.view.hides(part, found), False)[found.set_of]
    good = crowd.count >= part.look_alikes
    try:
        enough = part.over_rows(persons.most_rows, persons.most_together).parts
    except PromiseError:
        return good
    for needed in enough:
        if needed.look_alikes > 1:
            good |= np.append(found.view.hides(needed, found), False)[found.set_of]
    return good


def check_links(
    release: Release,
    found: Matches,
    parts: tuple[Principle, ...],
    tables: Sequence[Release],
    data: Microdata,
) -> tuple[list[Check], Bools, list[str]]:
    """Count the people in classes of which some X-group of the join breaks a principle."""
    require_earlier(parts, tables)
    persons = data.persons
    checks, breached = [], np.zeros(data.n, dtype=bool)
    findings: dict[str, None] = {}
    for part in parts:
        assert isinstance(part, Linking)
        groups, owners, lost = list_x_groups(
            release, found.view.table, found.view.labels, tables, part
        )
        findings |= dict.fromkeys(word_lost(lost))
        if groups is None:
            continue
        if persons is None:
            good = part.admits(groups)
        elif isinstance(part, XYAnonymity) and part.y == PEOPLE:
            good = _count_owners(owners, found, persons, groups.count) >= part.k
        else:
            good = part.over_rows(persons.most_rows, persons.most_together).admits(groups)
        bad = np.flatnonzero(~good)
        broken = np.isin(found.group_of, owners[np.isin(owners[:, 0], bad), 1])
        checks.append(Check(part, None, data.count_any(broken), str(part)))
        breached |= broken
    return checks, breached, list(findings)


def require_earlier(parts: Sequence[Principle], tables: Sequence[Release]) -> None:
    """Refuse promises about joins without the releases that these are with."""
    if parts and not tables:
        raise SchemaError(
            f"{parts[0]} is about joins: the earlier releases are needed to examine it.",
            hint="Give them: earlier=[...], on the command line --earlier FOLDER.",
        )


def word_lost(lost: Sequence[int]) -> list[str]:
    """Say that records, so many per table, are in no join, where any are not."""
    if not any(lost):
        return []
    return [
        f"{lost[0]} records match nobody in the earlier releases given, and {sum(lost[1:])} of "
        "theirs nobody here: these are not releases of the same people"
    ]


def _count_owners(owners: Ints, found: Matches, persons: Persons, count: int) -> Ints:
    """Count the people of each X-group: those who have rows in its classes."""
    class_of = np.flatnonzero(found.group_of >= 0)
    order = class_of[np.argsort(found.group_of[class_of], kind="stable")]
    ends = np.searchsorted(found.group_of[order], np.arange(found.view.count + 1))
    lengths = np.diff(ends)[owners[:, 1]]
    starts = np.repeat(ends[owners[:, 1]] - np.cumsum(lengths) + lengths, lengths)
    rows = order[starts + np.arange(int(lengths.sum()))]
    pairs = np.unique(
        np.repeat(owners[:, 0], lengths) * (len(persons.of) + 1) + persons.units[rows]
    )
    return np.bincount(pairs // (len(persons.of) + 1), minlength=count)
