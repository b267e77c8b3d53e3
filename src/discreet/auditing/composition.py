"""Composition: what several releases about the same people give away together.

The adversary knows everything about a person that is a quasi-identifier in one of the releases and
sensitive in none, and believes the person to be in each. Each release then leaves some records, and
with them some values. Records of two releases can be one person's only if they agree in all that
both show, so the beliefs are multiplied (Wang and Fung, KDD 2006, section 2, where X is what is
known about one person).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from discreet.auditing.cells import sort_people
from discreet.auditing.composed import Composed
from discreet.auditing.links import list_x_groups
from discreet.auditing.noise import set_apart
from discreet.auditing.together import MARGIN, Roll, Together, call_roll
from discreet.auditing.turnover import find_turnover, repeats
from discreet.auditing.worlds import NoWorldError
from discreet.forms.disclosure import (
    Disclosure,
    Knowledge,
    Target,
    background_knowledge,
    disclose,
)
from discreet.forms.posterior import find_largest
from discreet.principles.base import Principle, demands, part_joins
from discreet.principles.groups import Groups
from discreet.principles.linking import Linking
from discreet.release import Release
from discreet.table.arrays import Bools, Ints
from discreet.table.coarsening import is_coarse
from discreet.table.finer import refine_data
from discreet.table.microdata import Microdata
from discreet.table.people import Persons

Remembered = dict[tuple[object, ...], tuple[Disclosure, list[str]]]
"""What releases disclose to somebody, for whoever holds many against the same ones."""


def compose(
    release: Release,
    data: Microdata,
    earlier: Sequence[tuple[str, Release]],
    name: str = "this",
    remembered: Remembered | None = None,
    *,
    must_be_true: bool = False,
) -> tuple[list[Composed], list[str]]:
    """Hold a release against earlier ones: each in turn, then all; say what breaks, and what else.

    ``data`` is the table the new release was made from; the people who matter are those in it, and
    they are in all releases. Where somebody joined or left, :func:`compose_living` tells.
    With ``remembered``, kept from call to call with the same table, earlier ones are read once.
    Releases that cannot all be true of these people are noted, or raise ``NoWorldError``.
    """
    earlier = [(title, held) for title, held in earlier if not repeats(release, held)]
    earlier, doubts, added = set_apart((name, release), earlier, data.people)
    if not earlier:
        return doubts, added
    releases = [(name, release), *earlier]
    data = refine_data(data, [held.schema for _, held in releases])
    together = None
    if data.persons is None and not find_turnover(release, earlier):
        together = Together(releases, [call_roll(held, data) for _, held in releases])
    refined = tuple(name for name in data.finer if not is_coarse(data.schema[name]))
    knowledge = background_knowledge(releases, data)
    targets = {name: k for name, k in knowledge.targets.items() if name not in knowledge.known}
    disclosed: list[Disclosure] = []
    notes = added
    for title, held in releases:
        key = (title, knowledge.known, refined, *knowledge.describe(held, data))
        if remembered is None or held is release:
            made, unseen = disclose(held, data, knowledge)
        else:
            if key not in remembered:
                remembered[key] = disclose(held, data, knowledge)
            made, unseen = remembered[key]
        disclosed.append(made)
        notes += [f"{title}: {text}" for text in unseen]
    broken, said = _try_all(
        releases, disclosed, targets, notes, data.persons, together=together,
        must_be_true=must_be_true,
    )  # fmt: skip
    return [*broken, *doubts], said


def note_possible(
    composed: Sequence[Composed], notes: Sequence[str]
) -> tuple[list[Composed], list[str]]:
    """Part what breaks from what merely cannot be excluded, which is noted."""
    doubts = [str(found) for found in composed if found.possible]
    return [found for found in composed if not found.possible], [*notes, *doubts]


def compose_living(
    releases: Sequence[tuple[str, Release]], rolls: Sequence[Roll]
) -> tuple[list[Composed], list[str], list[str]]:
    """Hold the first of some releases against the others, whoever is in which.

    Gives what breaks, why anything about values could not be examined, and what else was not.
    """
    first, before = releases[0], releases[1:]
    shown, doubts, added = set_apart(first, before, len(rolls[0].people))
    if not shown:
        return doubts, [], added
    rolls = [roll for one, roll in zip(releases, rolls, strict=True) if one in (first, *shown)]
    releases = [first, *shown]
    together = Together(releases, rolls)
    broken = doubts
    unexamined: list[str] = []
    notes = [
        f"{part} of {title}: how many records may still be somebody's once releases are put "
        "together was not counted"
        for i, (title, held) in enumerate(releases)
        for part, attribute in _list_demands(held)
        if attribute is None and not together.counts_crowds(i)
    ]
    for trial in _list_trials(len(releases)):
        found = []
        for i in trial:
            for part, attribute in _list_demands(releases[i][1]):
                names = [attribute] if attribute else releases[i][1].schema.sensitive
                others = [releases[j][1].schema.names for j in trial if j != i]
                told = [
                    n for n in names
                    if any(n in shown or together.list_beside(i, n) & {*shown} for shown in others)
                ]  # fmt: skip
                reasons = [r for n in told if (r := together.find_obstacle(trial, n))]
                unexamined += reasons
                if told and not reasons:
                    found += _judge(together, trial, i, part, attribute)
        broken += _take_new(found, broken)
    return broken, list(dict.fromkeys(unexamined)), [*added, *notes]


def _list_trials(count: int) -> list[tuple[int, ...]]:
    """The first of some releases with each of the others, then all."""
    trials: list[tuple[int, ...]] = [(0, i) for i in range(1, count)]
    return [*trials, tuple(range(count))] if count > 2 else trials


def _take_new(found: Sequence[Composed], broken: Sequence[Composed]) -> list[Composed]:
    """Of what was found, give what is not known already."""
    known = {(b.promised_by, b.principle, b.attribute, b.possible) for b in broken}
    return [b for b in found if (b.promised_by, b.principle, b.attribute, b.possible) not in known]


def _judge(
    together: Together, trial: Sequence[int], i: int, part: Principle, attribute: str | None
) -> list[Composed]:
    """Ask a promise of worlds."""
    if attribute is None:
        found = together.judge_crowds(trial, i, part)
    else:
        found = together.judge(trial, i, part, attribute)
    if not found.broken and not found.open:
        return []
    names = tuple(together.releases[j][0] for j in trial)
    return [
        Composed(
            names, together.releases[i][0], part, attribute, found.broken or found.open,
            found.smallest, found.worst, possible=not found.broken,
        )
    ]  # fmt: skip


def compose_disclosed(
    release: Release,
    kinds: Microdata,
    times: Ints,
    earlier: Sequence[tuple[str, Release]],
    knowledge: Knowledge,
    own: tuple[Disclosure, Sequence[str]],
    name: str = "this",
) -> tuple[list[Composed], list[str]]:
    """Do the same of kinds of people, who stand for so many each.

    What the release discloses of them, which is not at hand, is known.
    """
    earlier, doubts, added = set_apart((name, release), earlier, int(times.sum()))
    others = [(title, *disclose(held, kinds, knowledge)) for title, held in earlier]
    notes = [f"{title}: {text}" for title, _, unseen in [(name, *own), *others] for text in unseen]
    targets = {name: k for name, k in knowledge.targets.items() if name not in knowledge.known}
    disclosed = [own[0], *(made for _, made, _ in others)]
    broken, said = _try_all([(name, release), *earlier], disclosed, targets, notes, None, times)
    return [*broken, *doubts], [*added, *said]


def _try_all(
    releases: list[tuple[str, Release]],
    disclosed: list[Disclosure],
    targets: dict[str, Target],
    notes: list[str],
    persons: Persons | None,
    times: Ints | None = None,
    together: Together | None = None,
    must_be_true: bool = False,
) -> tuple[list[Composed], list[str]]:
    """Put the first of some releases together with each of the others, then with all.

    What worlds say of an attribute, where they can be asked, is taken for what is fitted.
    """
    broken: list[Composed] = []
    for trial in _list_trials(len(releases)):
        counted: list[Composed] = []
        asked: set[str] = set()
        for name in targets if together is not None else ():
            assert together is not None
            telling = together.list_telling(trial, name)
            asks = [part for i in telling for part, n in _list_demands(releases[i][1]) if n == name]
            if len(telling) < 2 or any(part.personal for part in asks):
                continue
            if together.find_obstacle(trial, name):
                continue
            try:
                counted += [
                    found
                    for i in together.list_telling(trial, name)
                    for part, attribute in _list_demands(releases[i][1])
                    if attribute == name
                    for found in _judge(together, trial, i, part, name)
                ]
                asked.add(name)
            except NoWorldError:
                if must_be_true:
                    raise
                notes.append(f"{' and '.join(releases[i][0] for i in trial)} cannot be true of "
                             f"the same people, by what they tell of {name}")  # fmt: skip
        new, said = _examine(
            [releases[i] for i in trial], [disclosed[i] for i in trial],
            {name: target for name, target in targets.items() if name not in asked}, persons, times,
        )  # fmt: skip
        broken += _take_new([*counted, *new], broken)
        notes += said
    return broken, list(dict.fromkeys(notes))


def _examine(
    releases: list[tuple[str, Release]],
    disclosed: list[Disclosure],
    targets: dict[str, Target],
    persons: Persons | None,
    times: Ints | None,
) -> tuple[list[Composed], list[str]]:
    """Ask every promise of what some releases let an adversary believe together."""
    asked = [
        (i, part, attribute)
        for i, (_, held) in enumerate(releases)
        for part, attribute in _list_demands(held)
        if attribute is None or attribute in targets
    ]
    failing = [_Tally() for _ in asked]
    notes = [
        f"{part} on {attribute}: of releases together it is asked as if anybody guarded anything"
        for _, part, attribute in asked
        if part.personal
    ]
    for cells in sort_people(disclosed, persons, times):
        for tally, (i, part, attribute) in zip(failing, asked, strict=True):
            if i not in cells.covering:
                continue
            if attribute is None:
                left = cells.count_left(i)
                bad = ~part.admits(Groups.of_people(np.maximum(left, 1))) & (left > 0)
                others = [cells.count_records(j) for j in cells.covering if j != i]
                fewest = np.min(others, axis=0)
                # unless people are hidden among as few elsewhere to begin with
                bad &= part.admits(Groups.of_people(fewest)) | (left < fewest)
                told = releases[i][1].promise.people
                if told is not None and persons is not None:  # so many people are enough
                    bad &= cells.units * told.together < part.look_alikes
                tally.add(cells.people, bad, left, None)
                continue
            bags, owner = cells.believe(attribute, targets[attribute])
            if bags is None:
                continue
            # what one release tells alone, no other one can take back; but it may tell more
            alone = np.zeros(len(cells.people), dtype=bool)
            surest = np.zeros(len(cells.people))
            for j in cells.covering:
                kept_alone, sure = cells.judge_alone(j, part, attribute, targets[attribute])
                alone |= ~kept_alone & (j != i)
                surest = np.maximum(surest, sure)
            bad, share = np.zeros(len(cells.people), dtype=bool), np.zeros(len(cells.people))
            bad[owner], share[owner] = ~part.admits(bags), bags.largest / bags.sizes
            alone &= share <= surest + MARGIN
            if (bad & alone).any():
                notes.append(
                    f"{part} on {attribute}, promised by {releases[i][0]}, does not hold for "
                    f"{int(cells.people[bad & alone].sum()):,} people in another release as it is"
                )
            kept = np.flatnonzero((bad & ~alone)[owner])
            worst = find_largest(bags.largest[kept], bags.sizes[kept])
            tally.add(cells.people, bad & ~alone, cells.people, worst)
    names = tuple(title for title, _ in releases)
    return [
        Composed(
            names,
            names[i],
            part,
            attribute,
            tally.count,
            tally.smallest,
            tally.worst,
            releases[i][1].promise.people is not None,
        )
        for tally, (i, part, attribute) in zip(failing, asked, strict=True)
        if tally.count
    ], notes


class _Tally:
    """How many people something fails for, and where it is worst."""

    def __init__(self) -> None:
        self.count, self.smallest = 0, 0
        self.worst: Fraction | None = None

    def add(self, people: Ints, bad: Bools, crowds: Ints, worst: Fraction | None) -> None:
        if not bad.any():
            return
        least = int(crowds[bad].min())
        self.smallest = min(self.smallest, least) if self.count else least
        self.count += int(people[bad].sum())
        if worst is not None:
            self.worst = max(self.worst or Fraction(0), worst)


def _list_demands(held: Release) -> Iterator[tuple[Principle, str | None]]:
    alone, _ = part_joins(held.promise.over_rows)
    return demands(alone, held.schema.sensitive) if alone else iter(())


def compose_joins(
    release: Release, earlier: Sequence[tuple[str, Release]], name: str = "this"
) -> list[Composed]:
    """Ask every promise about joins of the joins that a release makes possible.

    That is of as few releases as have what the promise names, and of all of them, if they say how
    likely what they leave possible is.
    """
    releases = [(name, release), *earlier]
    tables = [(title, held) for title, held in releases if held.views[0].dealing is not None]
    broken = []
    for title, held in releases:
        for part in part_joins(held.promise.over_rows)[1]:
            assert isinstance(part, Linking)
            named = {*part.x, *(() if isinstance(part.y, str) else part.y)}
            others = [(t, r) for t, r in tables if t != title]
            for chosen in _choose_joins(held, others, named):
                (view,) = held.views
                groups, _, _ = list_x_groups(
                    held, view.table, view.labels, [r for _, r in chosen], part
                )
                if groups is None:
                    continue
                bad = np.flatnonzero(~part.admits(groups))
                if len(bad):
                    names = (title, *(t for t, _ in chosen))
                    smallest = int(groups.sizes[bad].min())
                    broken.append(Composed(names, title, part, None, len(bad), smallest, None))
                    break
    return broken


def _choose_joins(
    held: Release, others: list[tuple[str, Release]], named: set[str]
) -> Iterator[list[tuple[str, Release]]]:
    """Which other releases to join with: as few as have all that the promise names, then all."""
    for size in range(1, len(others) + 1):
        for chosen in combinations(others, size):
            if named <= {n for _, r in [("", held), *chosen] for n in r.schema.names}:
                yield list(chosen)
                if size < len(others):
                    yield others
                return
