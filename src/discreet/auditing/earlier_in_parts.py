"""Earlier releases in parts: what joins and compositions tell, of a release that is read in parts.

What a join makes of a class follows from the different records of all classes, with how often each
is shown, which are few and counted first. What releases tell together follows from the different
kinds of people: by their class, and by what earlier releases show of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from discreet.auditing import OWN, AuditReport
from discreet.auditing.checks import require_earlier, word_lost
from discreet.auditing.composition import compose_disclosed
from discreet.auditing.joined import Check
from discreet.auditing.links import list_named, list_x_groups
from discreet.auditing.roles import unite_roles
from discreet.errors import SchemaError
from discreet.forms import find_form
from discreet.forms.disclosure import (
    SET,
    Disclosure,
    Knowledge,
    add_known,
    background_knowledge,
    disclose,
)
from discreet.forms.matches import Matches
from discreet.principles.base import All, Principle, part_joins
from discreet.principles.linking import Linking
from discreet.release import Release
from discreet.release.parts import MORE, StoredParts
from discreet.table.arrays import Bools, Ints
from discreet.table.facts import Facts, Scan, survey
from discreet.table.finer import refine_data
from discreet.table.microdata import Microdata, representatives, row_ids
from discreet.table.schema import Schema

TIMES, GROUP = "#times", "#group"  # no columns are called so
MOST_KINDS = 1 << 22
"""So many kinds of people are held at once, where nobody says how many can be."""


@dataclass(frozen=True, eq=False)
class DisclosedPart:
    """What a part discloses of its people, who are kinds with how many each stands for."""

    kinds: Microdata
    times: Ints
    disclosure: Disclosure
    notes: list[str]


@dataclass(frozen=True, eq=False)
class HeldAgainst:
    """What has to be known to examine a part of a release beside earlier ones."""

    release: Release
    """Without its records."""
    linkings: tuple[Principle, ...]
    """What it promises of joins."""
    knowledge: Knowledge
    names: list[str]
    """The attributes of people that matter to earlier releases."""
    columns: list[str]
    """Of the table of records: what may be joined or is promised of joins."""
    apart: list[int]
    """Which of the earlier releases show anything else than this one."""
    broken: tuple[tuple[Linking, pl.DataFrame], ...] = ()
    """Per promise about joins what records show for whose people it fails."""

    def count_shown(self, part: Release) -> pl.DataFrame | None:
        """Give the different records of a part, as far as they matter to joins, if these do."""
        if not self.linkings:
            return None
        (view,) = part.views
        return self._show(view.table).group_by(self.columns).agg(
            pl.len().cast(pl.Int64).alias(TIMES)
        )  # fmt: skip

    def _show(self, table: pl.DataFrame) -> pl.DataFrame:
        return table.select(self.columns).with_columns(pl.col(pl.Enum).cast(pl.String))

    def disclose(self, part: Release, people: Microdata, roles: Schema | None) -> DisclosedPart:
        """Say what a part discloses, and put people together who are alike in that."""
        seen = unite_roles(part, people, roles).release
        made, notes = disclose(seen, people, self.knowledge)
        kind = row_ids([made.set_of + 1, *(people.codes[name] for name in self.names)], people.n)
        first = representatives(kind)
        kept = {name: codes[first] for name, codes in made.known.items()}
        made = replace(made, set_of=made.set_of[first], known=kept)
        return DisclosedPart(people.taken(first), np.bincount(kind).astype(np.int64), made, notes)

    def check(self, found: Matches, people: Ints) -> tuple[list[Check], Bools]:
        """Count those of some people who are in classes of which a join breaks a promise."""
        shown = self._show(found.view.table).with_columns(pl.Series(GROUP, found.view.labels))
        checks, breached = [], np.zeros(len(people), dtype=bool)
        for part, broken in self.broken:
            bad = shown.join(broken, on=self.columns, how="semi", nulls_equal=True)
            groups = bad[GROUP].unique().to_numpy()
            failing = np.isin(found.group_of[people], groups)
            checks.append(Check(part, None, int(failing.sum()), str(part)))
            breached |= failing
        return checks, breached


def part_judged(part: Release, principle: Principle | None) -> tuple[Principle | None, Principle]:
    """Say what is asked of a part by itself, if not its own promise; and of all, as one."""
    judged = principle or part.promise.asked
    alone, linkings = part_joins(judged)
    return (alone or All(())) if linkings else principle, judged


def know_more(scan: Scan, schema: Schema, earlier: Sequence[tuple[str, Release]]) -> Schema:
    """Add what earlier releases show of a table that stays where it is, to hold it against them."""
    if not earlier:
        return schema
    shown = [held for _, held in earlier]
    return add_known(schema, shown, scan.columns, lambda wider: survey(scan, wider))


def refuse_earlier(facts: Facts, earlier: Sequence[tuple[str, Release]]) -> Microdata:
    """Refuse, before any work, earlier releases that parts cannot be held against.

    Gives the table with nobody in it.
    """
    for title, held in earlier:
        if any(a.aggregate is not None for a in held.schema):
            raise SchemaError(
                f"{title} shows means of groups: releases are not held against it in parts yet.",
                hint=MORE,
            )
    nobody = facts.hold({name: np.zeros(0, dtype=np.int32) for name in facts.domains})
    refine_data(nobody, [held.schema for _, held in earlier])
    return nobody


def hold_against(
    stored: StoredParts,
    facts: Facts,
    earlier: Sequence[tuple[str, Release]],
    principle: Principle | None,
    roles: Schema | None,
) -> HeldAgainst | None:
    """Prepare to hold a release against earlier ones, or refuse it before any work."""
    _, linkings = part_joins(principle or stored.release.promise.asked)
    require_earlier(linkings, [held for _, held in earlier])
    if not earlier:
        return None
    if stored.scattered or len(stored.parted) > 1:
        raise SchemaError(
            f"A release by {stored.release.method} is not held against earlier ones in parts yet.",
            hint=MORE,
        )
    nobody = refuse_earlier(facts, earlier)
    apart = [i for i, (_, held) in enumerate(earlier) if not _repeats(stored, held)]
    others = [earlier[i] for i in apart]
    schemas = [held.schema for _, held in others]
    seen = unite_roles(stored.take_file(0), nobody, roles).release
    seen = replace(seen, tables={title: table[:0] for title, table in seen.tables.items()})
    knowledge = background_knowledge([(OWN, seen), *others], nobody)
    matched = {name for _, held in others for name in find_form(held.form).matched_by(held)}
    matched |= knowledge.known & {name for schema in schemas for name in schema.names}
    names = [name for name in facts.domains if name in matched]
    wanted = list_named(seen, [held for _, held in earlier], linkings)
    shown = [c for n in seen.schema.names if n in wanted for c in seen.recodings[n].columns(n)]
    return HeldAgainst(seen, linkings, knowledge, names, shown, apart)


def _repeats(stored: StoredParts, other: Release) -> bool:
    """Whether a release shows just what another does."""
    if stored.release.recodings != other.recodings:
        return False
    (title,) = (table.title for table in stored.parted)
    start, table = 0, other.tables.get(title)
    for part in stored.read():
        own = part.tables[title]
        if table is None or not own.equals(table[start : start + own.height]):
            return False
        start += own.height
    return table is not None and start == table.height


class ShownRecords:
    """The different records of all parts, as long as they can be held."""

    def __init__(self, most: int) -> None:
        self._most, self._whole = most, pl.DataFrame()

    def add(self, shown: pl.DataFrame | None) -> None:
        """Add those of one of them, if they matter."""
        if shown is not None:
            both = pl.concat([self._whole, shown]) if self._whole.height else shown
            columns = [c for c in both.columns if c != TIMES]
            self._whole = both.group_by(columns).agg(pl.col(TIMES).sum())
            _require_room(self._whole.height, self._most, "records")

    def judge(
        self, held: HeldAgainst, earlier: Sequence[tuple[str, Release]]
    ) -> tuple[HeldAgainst, list[str]]:
        """Ask promises about joins of them; also say whose records are nobody's elsewhere."""
        if not held.linkings:
            return held, []
        table = self._whole.sort(held.columns)
        broken, findings = [], dict[str, None]()
        for part in held.linkings:
            assert isinstance(part, Linking)
            groups, owners, lost = list_x_groups(
                held.release, table, np.arange(table.height), [r for _, r in earlier], part,
                table[TIMES],
            )  # fmt: skip
            findings |= dict.fromkeys(word_lost(lost))
            if groups is not None:
                bad = np.flatnonzero(~part.admits(groups))
                rows = np.unique(owners[np.isin(owners[:, 0], bad), 1])
                broken.append((part, table[rows].select(held.columns)))
        return replace(held, broken=tuple(broken)), list(findings)


def _require_room(found: int, most: int, what: str) -> None:
    if found > most:
        raise SchemaError(
            f"More than {most:,} different {what} would have to be held against earlier releases.",
            hint=MORE,
        )


class DisclosedKinds:
    """What all parts disclose, put together, as long as that can be held."""

    def __init__(self, most: int) -> None:
        self._most, self._parts = most, list[DisclosedPart]()

    def add(self, part: DisclosedPart | None) -> None:
        """Add what one of them does, if anything."""
        if part is not None:
            self._parts.append(part)
            _require_room(sum(len(p.times) for p in self._parts), self._most, "kinds of people")

    def compose(
        self,
        report: AuditReport,
        earlier: Sequence[tuple[str, Release]],
        held: HeldAgainst | None,
        facts: Facts,
    ) -> AuditReport:
        """Hold what all parts disclose against earlier releases, and add that to a report."""
        if held is None or not self._parts:
            return report
        parts = self._parts
        codes = {name: np.concatenate([p.kinds.codes[name] for p in parts])
                 for name in parts[0].kinds.codes}  # fmt: skip
        times = np.concatenate([p.times for p in parts])
        told = list(dict.fromkeys(note for p in parts for note in p.notes))
        composed, notes = compose_disclosed(
            held.release, facts.hold(codes), times, [earlier[i] for i in held.apart],
            held.knowledge, (_join([p.disclosure for p in parts]), told), OWN,
        )  # fmt: skip
        return replace(report, composed=composed, notes=[*report.notes, *notes])


def _join(parts: Sequence[Disclosure]) -> Disclosure:
    """Put what parts disclose, of people of their own each, into one."""
    assert all(p.default_weight is None for p in parts)
    starts = np.cumsum([0, *(len(p.records) for p in parts)])[:-1].tolist()
    sets = [np.where(p.set_of < 0, -1, p.set_of + s) for p, s in zip(parts, starts, strict=True)]
    frames = [
        pl.concat(
            frame.with_columns(pl.col(SET) + start)
            for start, frame in zip(starts, together, strict=True)
        )
        for together in zip(*(p.frames for p in parts), strict=True)
    ]
    known = {name: np.concatenate([p.known[name] for p in parts]) for name in parts[0].known}
    records = np.concatenate([p.records for p in parts])
    return Disclosure(np.concatenate(sets), records, frames, known=known)
