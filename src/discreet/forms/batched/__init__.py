"""Batched: boxes or exact records in any number of tables, whose values are in batches."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from discreet.forms.adversaries import (
    KNOWN,
    SIGNED,
    Withstood,
    list_resisted,
)
from discreet.forms.base import Form, Statement, View
from discreet.forms.batched.held import (
    BATCH,
    BATCHES,
    COUNT,
    choose_batches,
    find_told,
    list_told,
)
from discreet.forms.batched.projections import PROJECTION
from discreet.forms.batched.shares import add_shares
from discreet.forms.batched.view import read_batched
from discreet.forms.batched.wording import word_batched
from discreet.forms.counterfeits import (
    ALL,
    COUNTERFEITS,
    OFTEN,
    OWNER,
    caution_counterfeits,
    count_counterfeits,
    read_counterfeits,
    refuse_pairs,
    share_people,
)
from discreet.forms.grouped import COUNT as HELD
from discreet.forms.grouped import GroupedForm
from discreet.forms.incomplete import Incomplete
from discreet.forms.wording import (
    ENDS,
    RESISTED,
    find_unresisting,
    read_presence,
    resists_learning,
    resists_method,
)
from discreet.principles import KAnonymity, MInvariance
from discreet.release import PossibleRecords, Promise, Release
from discreet.release.release import PartedTable
from discreet.table.schema import Role

if TYPE_CHECKING:
    from discreet.sql.query import Query
    from discreet.table.microdata import Microdata


BATCHINGS = (None, "direct", "mondrian", "anatomize")
FEW_VALUES = 0.1
"""Where people of one batch would by chance share a value more often, filling it forms groups by
what people are and have at once."""
PEOPLE = "people_of_batches"
"""A table that lists need: how many of the values of each batch are people's."""
RESISTING = (*RESISTED, "learning")
TOGETHER = (None, False, True)
"""Releases that were made before several sensitive attributes could be do not say it."""


class Batched(GroupedForm):
    """Boxes or exact records in any number of tables, whose values are in batches."""

    name: ClassVar[str] = "batched"
    coverage: ClassVar[str] = (
        "It is taken to be chance who of a batch has which value, and people to be spread evenly "
        "in their boxes; the standard error is the spread of that chance, and no interval around "
        "the truth: people who are alike were mixed on purpose. Only the bounds are hard."
    )
    aggregates: ClassVar[frozenset[str]] = Form.aggregates | {"QUANTILE"}
    owner: ClassVar[str] = BATCH
    auxiliary: ClassVar[frozenset[str]] = frozenset({COUNTERFEITS})
    transformations: ClassVar[dict[str, str]] = {
        "batched": "counted in batches; each record refers to one"
    }
    optional: ClassVar[frozenset[str]] = frozenset({"projections"})
    methods: ClassVar[Mapping[str, Mapping[str, Sequence[object] | None]]] = {
        "angelization": {
            "k": None, "marginals": None, "batches": BATCHINGS, "categories": ("set", "ancestor"),
            "exact": (True, False), "ends": ENDS, "together": TOGETHER, "projections": None,
            "resist": RESISTING,
        },
        "anatomy": {"batches": BATCHINGS, "together": TOGETHER, "resist": RESISTING},
        "invariant-angelization": {
            "k": None, "marginals": None, "categories": ("set", "ancestor"),
        },
    }  # fmt: skip

    def find_parted(self, release: Release) -> tuple[PartedTable, ...]:
        """Batches part it, with the people of the table that shows most.

        Those of other tables are all over these. Where people show what they are, values are
        nobody's or records of no batch, no table can be seen without the rest of it.
        """
        shown, told = self.shown(release), list_told(release)
        exact = len(shown) > 1 and _is_exact(release)
        whole = exact or COUNTERFEITS in release.tables or shown != self.linked(release)
        if not shown or not told or whole:
            return ()
        widest = max(shown, key=lambda title: len(shown[title]))
        batch, count = release.own(BATCH), release.own(COUNT)
        others = [PartedTable(title, batch, ordered=False) for title in shown if title != widest]
        batches = [PartedTable(title, batch, count) for title in told]
        return PartedTable(widest, batch), *others, *batches

    def add_shares(self, lines: pl.DataFrame) -> pl.DataFrame:
        """Put what all parts hold of some boxes together."""
        return add_shares(lines)

    def views(self, release: Release) -> list[View]:
        """Read what people show, and whose values are whose."""
        return read_batched(release)

    def rewrite(self, query: Query, release: Release) -> Statement:
        """Rewrite a question, where its language is at hand."""
        from discreet.forms.batched.sql import rewrite

        return rewrite(query, release)

    def tell_together(self, release: Release) -> list[list[str]]:
        """Each table of people with each of batches it refers to, the widest first."""
        linked = self.linked(release)
        shown = sorted(linked.values(), key=len, reverse=True)
        together = [[*names, *told] for names in shown for told in self.tell(release)]
        return together + [n for title, n in self.shown(release).items() if title not in linked]

    def expect(self, release: Release, names: list[str], *, paired: bool = False) -> Statement:
        """Spread records over their boxes, and over the values of their batches."""
        from discreet.forms.bucket_sides import Side
        from discreet.forms.expected import join_sides

        secret = [name for name in names if name in release.schema.sensitive]
        known = [name for name in names if name not in secret]
        batch = release.own(BATCH)
        table = release.find_table(names)
        own = batch if batch in release.tables[table].columns else None
        sides = [Side(table, own, None, frozenset(known))]
        needed: dict[str, pl.DataFrame] = {}
        if paired and COUNTERFEITS in release.tables:
            raise refuse_pairs()
        if secret:
            batches = choose_batches(release, secret)
            held = Side(batches, batch, release.own(COUNT), frozenset(secret))
            if not known and COUNTERFEITS in release.tables:
                held, needed = held._replace(shared=PEOPLE), {PEOPLE: _share_batches(release)}
            sides.append(held)
        tree, cells = join_sides(release, names, sides, paired=paired)
        return tree, {**cells, **needed}

    def list_possible(self, release: Release, names: Collection[str]) -> PossibleRecords | None:
        """Combine what the tables of each batch show, those first that show most of it.

        Of what only projections show it is not known whose it is.
        """
        from discreet.forms.possible_records import DealtPart, combine

        shown, batch = self.linked(release), release.own(BATCH)
        there = {*release.schema.sensitive, *(n for own in shown.values() for n in own)}
        if not {*names} <= there:
            return None
        parts = [DealtPart(there, release.tables[title], batch) for title, there in shown.items()]
        parts.sort(key=lambda part: len({*part.names} & {*names}), reverse=True)
        return combine(release, names, [
            *parts,
            *(DealtPart(told, release.tables[title], batch, release.own(COUNT))
              for title, told in list_told(release).items()),
        ])  # fmt: skip

    def shown(self, release: Release) -> dict[str, list[str]]:
        """All tables show people, but those of batches."""
        shown, told = super().shown(release), list_told(release)
        return {title: names for title, names in shown.items() if title not in told}

    def linked(self, release: Release) -> dict[str, list[str]]:
        """Records of projections refer to no batch."""
        shown = self.shown(release).items()
        return {title: names for title, names in shown if not title.startswith(PROJECTION)}

    def tell(self, release: Release) -> list[list[str]]:
        """Each table of batches tells its attributes together."""
        return list(list_told(release).values())

    def hold(self, release: Release, title: str, names: list[str]) -> pl.DataFrame:  # noqa: ARG002
        """The batches say it."""
        held = self._read(release, str(find_told(release, names)))
        return held.group_by(OWNER, *names).agg(pl.col(release.own(COUNT)).sum().alias(HELD))

    def fill(self, release: Release, table: pl.DataFrame) -> pl.DataFrame:
        """Somebody of each batch has its values of nobody besides."""
        counted = read_counterfeits(release, BATCH)
        if counted is None:
            return table
        first = table.group_by(OWNER, maintain_order=True).first()
        counted = counted.with_columns(pl.col(OWNER).cast(table[OWNER].dtype))
        more = counted.select(pl.col(OWNER).repeat_by(OFTEN).explode()).join(first, on=OWNER)
        return pl.concat([table, more.select(table.columns)])

    def open_records(self, release: Release, names: list[str]) -> Incomplete:
        """Values are anybody's of their batch; how these were filled may matter."""
        records = super().open_records(release, names)
        if COUNTERFEITS in release.tables:
            return replace(records, caution=caution_counterfeits(release))
        if release.parameters.get("batches") in ("mondrian", "anatomize"):
            return records
        for told, owner in records.dealt:
            size = owner.size / max(len(np.unique(owner)), 1)
            often = records.shown[told[0]].value_counts(name="#often")["#often"] / owner.size
            if float((often**2).sum()) * size > FEW_VALUES:
                caution = (
                    f"Batches were filled with different values of {told[0]} from people who are "
                    "near each other: slopes are pulled towards 0, and intervals miss more often "
                    "than they say"
                )
                return replace(records, caution=caution)
        return records

    def leave_out(self, release: Release, names: Collection[str]) -> Release:
        """Tables that show nothing any more are gone, and leave no gap in the numbers."""
        left = super().leave_out(release, names)
        tables: dict[str, pl.DataFrame] = {}
        linked = self.linked(release)
        titles = iter(linked)
        apart = (title for title in self.shown(release) if title not in linked)
        told, batch = list_told(release), release.own(BATCH)
        batches = iter(told)
        batches_left = set(release.schema.sensitive) - set(names)
        for title, table in left.tables.items():
            if title == COUNTERFEITS:
                if batches_left:
                    tables[title] = table
            elif title in told:
                tables |= _narrow_batches(release, table, told[title], names, batches)
            elif set(table.columns) - {batch}:
                narrower = table.width < release.tables[title].width
                rest = [column for column in table.columns if column != batch]
                # rows that look alike stand together
                own = next(titles if title in linked else apart)
                tables[own] = (
                    table.sort([*rest, *table.columns[len(rest) :]]) if narrower else table
                )
        return replace(left, tables=tables)

    def transform(self, role: Role) -> str:
        """What is sensitive is counted in batches."""
        return "batched" if role is Role.SENSITIVE else super().transform(role)

    def list_withstood(self, release: Release) -> Withstood:
        """Batches hold what they hold, whatever is known of who is in which."""
        signed = any(isinstance(part, MInvariance) for part in release.promise.principle.parts)
        return {**KNOWN, **list_resisted(release.parameters), **(SIGNED if signed else {})}

    def word(self, release: Release) -> tuple[Promise, dict[str, str]]:
        """Say it as whoever angelizes does."""
        linked = self.linked(release)
        return word_batched(
            release.promise.principle,
            linked,
            self.tell(release),
            read_presence(release),
            (release.own(BATCH), release.own(COUNT)),
            exact=_is_exact(release),
            counterfeits=count_counterfeits(release),
            apart={t: names for t, names in self.shown(release).items() if t not in linked},
            blind=resists_method(release.parameters),
            learning=resists_learning(release.parameters),
        )

    def find_odd_parameters(self, release: Release, data: Microdata) -> list[str]:  # noqa: ARG002
        """What was asked for is what the tables show, and what is promised of them."""
        given, found = release.parameters, []
        first, exact = release.promise.principle.parts[0], _is_exact(release)
        promised = first.k if isinstance(first, KAnonymity) and not exact else 1
        if given.get("k", promised) != promised:
            found.append(f"k = {given['k']!r}, but what is promised first is {first}")
        if given.get("exact", exact) != exact:
            found.append(f"exact = {given['exact']!r} is not how quasi-identifiers are shown")
        secret, linked = set(release.schema.sensitive), self.linked(release)
        asked = given.get("marginals") or [release.schema.quasi_identifiers]
        if not _lists(asked, linked.values(), secret):
            found.append("the marginals are not those that the tables show")
        apart = [names for title, names in self.shown(release).items() if title not in linked]
        if not _lists(given.get("projections") or [], apart, set()):
            found.append("the projections are not those that the tables show")
        if resists_method(given) and given.get("batches") == "direct":
            found.append("batches are filled along buckets, and that is said to tell nothing")
        if resists_method(given) and given.get("batches") == "mondrian":
            found += find_unresisting(release.promise.principle)
        several = len(secret) > 1
        if several and bool(given.get("together")) != (len(list_told(release)) == 1):
            found.append(f"together = {given.get('together')!r} is not how values are counted")
        return found


def _lists(asked: object, shown: Iterable[list[str]], besides: set[str]) -> bool:
    """Whether a parameter lists what tables show, and nothing else but some."""
    if not isinstance(asked, list) or not all(isinstance(names, list) for names in asked):
        return False
    return [set(names) - besides for names in asked] == [set(names) for names in shown]


def _narrow_batches(
    release: Release,
    table: pl.DataFrame,
    told: list[str],
    gone: Collection[str],
    titles: Iterator[str],
) -> dict[str, pl.DataFrame]:
    """Leave attributes out of a table of batches; what is told the same is counted as one."""
    kept = [name for name in told if name not in gone]
    if not kept:
        return {}
    if len(kept) < len(told):
        batch, count = release.own(BATCH), release.own(COUNT)
        table = table.group_by(batch, *kept).agg(pl.col(count).sum()).sort(batch, *kept)
    return {next(titles): table}


def _share_batches(release: Release) -> pl.DataFrame:
    """Say how many of the values of each batch are people's."""
    batch, count = release.own(BATCH), release.own(COUNT)
    values = pl.col(count).sum().cast(pl.Int64).alias(ALL)
    return share_people(release, BATCH, release.tables[BATCHES].group_by(batch).agg(values))


def _is_exact(release: Release) -> bool:
    names = release.schema.quasi_identifiers
    return not any(release.recodings[name].is_blurred for name in names)
