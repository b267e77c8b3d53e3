"""Checking: whether a release goes together with all before it, whoever is in which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from discreet.errors import MicrodataError, PromiseError, list_problems
from discreet.forms.wording import ESTIMATED
from discreet.steward.ledger.people import (
    Attendance,
    Attendances,
    open_roll,
    refuse_strangers,
    restrict,
)

if TYPE_CHECKING:
    from discreet.auditing.composed import Composed
    from discreet.auditing.composition import Remembered
    from discreet.auditing.together import Roll
    from discreet.release import Release
    from discreet.table.microdata import Microdata

NEW = "the new release"
NOT_KNOWN = (
    "without a key of people ([source] person) in all releases nobody can say who joined or left; "
    "that nobody did is taken from what the releases show"
)


class Held(NamedTuple):
    """A release that is out, or may be."""

    name: str
    release: Release
    people: Attendance | None
    """Who is in it; ``None`` where the ledger was not told."""


def check_release(
    release: Release,
    data: Microdata,
    people: Attendance | None,
    earlier: Sequence[Held],
    remembered: Remembered | None = None,
) -> tuple[list[Composed], list[str]]:
    """Put a release together with earlier ones in every way there is; say what breaks, and notes.

    Where keys say who is in which release, worlds are those of these people. Else the table must be
    the same as before, as far as that shows.
    """
    from discreet.auditing.composition import compose, compose_joins
    from discreet.auditing.turnover import repeats

    if not earlier:
        return [], []
    named = [(held.name, held.release) for held in earlier]
    joins = compose_joins(release, named, NEW)
    keyed = [held for held in earlier if held.people is not None]
    attended = Attendances(
        [*(held.people for held in keyed if held.people), *([people] if people else [])]
    )
    if people is not None:
        refuse_strangers(attended, data.schema.people.person)
    last = len(keyed)
    same = [people is not None and attended.is_same(i, last) for i in range(last)]
    if people is not None and people.signatures:
        _refuse_older([held.name for held in keyed], same)
    if people is None or len(keyed) < len(earlier):
        # whoever has a key in some releases is known to have joined or left
        refuse_turnover(release, named, keyed=[] if people is None else [
            held.name for held, alike in zip(keyed, same, strict=True) if not alike])  # fmt: skip
        with _refusing_foreign():
            broken, notes = compose(release, data, named, NEW, remembered, must_be_true=True)
        return [*broken, *joins], notes
    others = [held for held, alike in zip(keyed, same, strict=True)
              if not alike or not repeats(release, held.release)]  # fmt: skip
    if not others:
        return joins, []
    left_out = any(one.left_out for one in (release, *(held.release for held in others)))
    if all(same) and not left_out:
        with _refusing_foreign():
            broken, notes = compose(release, data, named, NEW, remembered, must_be_true=True)
        return [*broken, *joins], notes
    if len(others) < last:
        attended = Attendances([*(held.people for held in others if held.people), people])
        last = len(others)
    broken, notes = _compose_living(release, others, attended)
    for i, held in enumerate(others):
        joined, gone, changed = attended.count_moves(i, last)
        notes.append(f"since {held.name}, {joined:,} people joined, {gone:,} left and {changed:,} "
                     "changed")  # fmt: skip
    return [*broken, *joins], notes


def _refuse_older(names: Sequence[str], same: Sequence[bool]) -> None:
    """Refuse to republish a version of which the people and values are those of an older one."""
    older = [name for name, alike in zip(names, same, strict=True) if alike]
    if older and not same[-1]:
        raise MicrodataError(
            f"The people and values of this table are just those of {older[-1]}, and {names[-1]} "
            "is newer: it is an older version.",
            hint=f"Publish the newest version. Or hand out {older[-1]} once more, if the table is "
            "as it was then.",
        )


def _compose_living(
    release: Release, others: Sequence[Held], attended: Attendances
) -> tuple[list[Composed], list[str]]:
    """Ask every promise of the worlds that these releases leave of these people."""
    from discreet.auditing.composition import compose_living

    releases, rolls = open_rolls([Held(NEW, release, attended.held[-1]), *others], attended)
    with _refusing_foreign():
        broken, unexamined, notes = compose_living(releases, rolls)
    if unexamined:
        raise PromiseError(
            "The table is not the one that was published from before, and what follows about "
            "people who joined, left or changed cannot be examined:\n"
            f"{list_problems(unexamined)}",
            hint="Publish it by generalization, angelization, anatomy, slicing, permutation or "
            "republication, with one sensitive attribute, or from the table as it was.",
        )
    return broken, notes


@contextmanager
def _refusing_foreign() -> Iterator[None]:
    """Refuse a release that is about other people than those before it."""
    from discreet.auditing.worlds import NoWorldError

    try:
        yield
    except NoWorldError as error:
        raise PromiseError(
            "This release and those before it cannot all be true of these people.",
            hint="Publish from the table that the ledger is about, with the keys that it had; for "
            "another table keep another ledger.",
        ) from error


def open_rolls(
    held: Sequence[Held], attended: Attendances
) -> tuple[list[tuple[str, Release]], list[Roll]]:
    """Give releases, the newest first, with the people in each; these are numbered by age."""
    numbers = [*attended.numbers[-1:], *attended.numbers[:-1]]
    rolls = []
    for one, number in zip(held, numbers, strict=True):
        assert one.people is not None
        roll = open_roll(one.people, one.release, number)
        for name in one.release.schema.sensitive:
            roll = restrict(roll, name, one.people)
        rolls.append(roll)
    return [(one.name, one.release) for one in held], rolls


def accept(
    release: Release, broken: Sequence[Composed], notes: Sequence[str]
) -> tuple[Release, list[Composed], list[str]]:
    """Take estimates for enough where nothing better can be had; the release says so."""
    doubts = [found for found in broken if found.possible]
    if not doubts:
        return release, list(broken), list(notes)
    told = (*release.promise.leaves_open, ESTIMATED)
    kept = replace(release, promise=replace(release.promise, leaves_open=told))
    rest = [found for found in broken if not found.possible]
    return kept, rest, [*notes, *(f"accepted: {found}" for found in doubts)]


def refuse_turnover(
    release: Release, earlier: Sequence[tuple[str, Release]], keyed: Sequence[str] = ()
) -> None:
    """Refuse a release of a table that people joined or left since, where nobody can say who.

    ``keyed`` are releases of which keys say so.
    """
    from discreet.auditing.turnover import find_turnover

    known = [f"{name} is about other people, values or quasi-identifiers" for name in keyed]
    found = [*find_turnover(release, earlier), *known]
    if found:
        raise PromiseError(
            "The table is not the one that was published from before, and what follows about "
            "people who joined, left or changed cannot be examined without a key of people:\n"
            f"{list_problems(found)}",
            hint='Say who is who in every release: person = "the column that tells" under '
            "[source]. Or publish from the table as it was. If nobody can have both releases, or "
            "the people are others altogether, keep another ledger for this table.",
        )


def refuse(broken: Sequence[Composed]) -> PromiseError:
    """Say why a release cannot follow the earlier ones."""
    listed = list_problems([str(found) for found in broken])
    hint = None
    if all(found.possible for found in broken):
        hint = (
            "Where only estimates can be had, accept them: accept_estimates = true under "
            "[release]; the release then says so. Or choose the method republication."
        )
    return PromiseError(
        f"This release does not go together with what was published before:\n{listed}",
        hint=hint,
        subject=broken,
    )
