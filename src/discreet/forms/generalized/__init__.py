"""Generalized: people of one class show one box in place of their quasi-identifiers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from discreet.forms.adversaries import (
    KNOWN,
    READ,
    SIGNED,
    Adversary,
    Withstood,
    list_resisted,
    look_blindly,
)
from discreet.forms.base import Form, Statement, View
from discreet.forms.boxes import may_cover_twice
from discreet.forms.counterfeits import (
    COUNTERFEITS,
    caution_counterfeits,
    count_counterfeits,
    refuse_pairs,
)
from discreet.forms.generalized.view import CLASS, PEOPLE, TABLE, read_generalized, share_classes
from discreet.forms.generalized.wording import word_generalized, word_suppressed
from discreet.forms.grouped import GroupedForm
from discreet.forms.incomplete import Incomplete, open_boxes
from discreet.forms.wording import ENDS, RESISTED, find_unresisting, read_presence, resists_method
from discreet.principles import KAnonymity, MInvariance
from discreet.principles.base import ratio
from discreet.principles.linking import Linking
from discreet.release import Promise, Release
from discreet.release.release import PartedTable

if TYPE_CHECKING:
    from discreet.sql.query import Query
    from discreet.table.microdata import Microdata


SUPPRESSED = ("suppress", "left_out", "blanked")


class Generalized(GroupedForm):
    """People of one class show one box in place of their quasi-identifiers."""

    name: ClassVar[str] = "generalized"
    coverage: ClassVar[str] = (
        "People are taken to be spread evenly in their boxes, and the standard error is the spread "
        "of that alone. The width (± 95 %) is learned from the release and was measured to cover "
        "the truth in about 19 of 20 questions, not proved to. Only the bounds are hard."
    )
    aggregates: ClassVar[frozenset[str]] = Form.aggregates | {"QUANTILE"}
    owner: ClassVar[str] = CLASS
    auxiliary: ClassVar[frozenset[str]] = frozenset({COUNTERFEITS})
    parted: ClassVar[tuple[PartedTable, ...]] = (PartedTable(TABLE, CLASS),)
    spreads_coarse: ClassVar[bool] = True
    methods: ClassVar[Mapping[str, Mapping[str, Sequence[object] | None]]] = {
        "generalization": {
            "categories": ("set", "ancestor"), "dealing": (None, "local", "round-robin"),
            "resist": RESISTED, "ends": ENDS, **dict.fromkeys(SUPPRESSED),
        },
        "full-domain": {"ends": ENDS, **dict.fromkeys(SUPPRESSED)},
        "republication": {"categories": ("set", "ancestor"), "k": None},
        "sequential": {
            "gain": ("entropy", "distortion", "discernibility"), "target": None,
            "inconsistent": None,
        },
    }  # fmt: skip
    optional: ClassVar[frozenset[str]] = frozenset(SUPPRESSED)

    def find_parted(self, release: Release) -> tuple[PartedTable, ...]:
        """With counterfeits it has to be seen whole."""
        return () if COUNTERFEITS in release.tables else super().find_parted(release)

    def may_overlap(self, release: Release) -> bool:
        """Where people were dealt, or show nothing, several classes may be somebody's."""
        return may_cover_twice(release)

    def views(self, release: Release) -> list[View]:
        """Read what people show, and whose values are whose."""
        return read_generalized(release)

    def rewrite(self, query: Query, release: Release) -> Statement:
        """Rewrite a question, where its language is at hand."""
        from discreet.forms.generalized.sql import rewrite

        return rewrite(query, release)

    def expect(self, release: Release, names: list[str], *, paired: bool = False) -> Statement:
        """Spread records over their boxes; their sensitive values are their own."""
        from discreet.forms.bucket_sides import Side
        from discreet.forms.expected import join_sides

        records = Side(TABLE, release.own(CLASS), None, frozenset(names))
        if COUNTERFEITS not in release.tables:
            return join_sides(release, names, [records], paired=paired)
        if paired:
            raise refuse_pairs()
        tree, needed = join_sides(release, names, [records._replace(shared=PEOPLE)], paired=paired)
        return tree, {**needed, PEOPLE: share_classes(release)}

    def weigh(self, release: Release, title: str) -> pl.Series | None:
        """Records of a class with counterfeits are somebody's by its share of people."""
        if COUNTERFEITS not in release.tables:
            return None
        own, share = release.own(CLASS), pl.col("#hits") / pl.col("#total")
        classes = release.tables[title].select(own)
        found = classes.join(share_classes(release), on=own, how="left", maintain_order="left")
        return found.select(share).to_series()

    def open_records(self, release: Release, names: list[str]) -> Incomplete:
        """Records show their own values; of the rest they show a box."""
        table = release.tables[TABLE]
        cells = open_boxes(release, TABLE, table, names)
        return Incomplete(table.select(names), cells, caution=caution_counterfeits(release))

    def own_records(self, release: Release) -> pl.DataFrame | None:
        """Give the table as it is: nothing of it need be read for that."""
        table = release.tables.get(TABLE)
        return super().own_records(release) if table is None else table

    def add_known(self, release: Release, names: Collection[str]) -> Release:
        """People of a class whom kept columns tell apart are several classes."""
        wider, table = super().add_known(release, names), release.tables.get(TABLE)
        if table is None:  # whatever else it shows is read into classes later
            return wider
        own = release.own(CLASS)
        finer = pl.struct(own, *names).rank("dense").cast(pl.Int32).alias(own)
        return replace(wider, tables={**release.tables, TABLE: table.with_columns(finer)})

    def list_withstood(self, release: Release) -> Withstood:
        """Promises of joins are about X; where people were dealt, about who knows their group."""
        principle = release.promise.principle
        if any(isinstance(part, Linking) for part in principle.parts):
            return {**READ, Adversary.COLLECTOR: "those that it was made after"}
        if any(isinstance(part, MInvariance) for part in principle.parts):
            return {**KNOWN, **SIGNED}
        found = {**KNOWN, **look_blindly(principle), **list_resisted(release.parameters)}
        if principle.dealt and not resists_method(release.parameters):
            return dict.fromkeys(found, "who knows the group of the person")
        return found

    def word(self, release: Release) -> tuple[Promise, dict[str, str]]:
        """Say it as whoever generalizes does."""
        told = (*read_presence(release), *word_suppressed(release.parameters))
        return word_generalized(
            release.promise.principle, release.schema.quasi_identifiers, told, release.own(CLASS),
            count_counterfeits(release), blind=resists_method(release.parameters),
        )  # fmt: skip

    def find_odd_parameters(self, release: Release, data: Microdata) -> list[str]:
        """People are dealt where a principle is not closed under union; targets are columns.

        Whoever was suppressed is counted.
        """
        given, found = release.parameters, _miscount(release, data)
        if "dealing" in given and not release.promise.principle.dealt:
            found.append(f"nobody is dealt under {release.promise.principle}")
        if resists_method(given) and given.keys() & {"dealing", "suppress"}:
            found.append("people are dealt or suppressed, and that is said to tell nothing")
        if resists_method(given):
            found += find_unresisting(release.promise.principle)
        target = given.get("target")
        if target is not None and target not in release.schema.names:
            found.append(f"target = {target!r} is no attribute of the release")
        alike = [part.k for part in release.promise.principle.parts if isinstance(part, KAnonymity)]
        if "k" in given and given["k"] != max(alike, default=None):
            found.append(f"k = {given['k']!r}, but what is promised is {release.promise.principle}")
        if given.get("gain") == "entropy" and target is None:
            found.append("gain = 'entropy' has no target")
        return found


def _miscount(release: Release, data: Microdata) -> list[str]:
    """Say where more rows were suppressed than is said, or than may be."""
    given = release.parameters
    if not given.keys() & set(SUPPRESSED):
        return []
    counts = [given.get(name, 0) for name in ("left_out", "blanked")]
    share = given.get("suppress", 0)
    if not all(isinstance(c, int) and c >= 0 for c in counts) or not isinstance(
        share, int | float | str
    ):
        return [f"{', '.join(SUPPRESSED)} are no numbers"]
    left_out, blanked = (int(str(count)) for count in counts)
    (view,) = release.views
    found = []
    missing = data.n - view.table.height + int(view.counterfeits.sum())
    if missing != left_out:
        found.append(f"it says that {left_out} rows are left out; {missing} are")
    each = 1 if data.persons is None else data.persons.most_rows
    try:
        most = int(ratio(share) * data.people) * each
    except (ValueError, ZeroDivisionError):
        return [*found, f"suppress = {share!r} is no share"]
    if left_out + blanked > most:
        found.append(f"suppress = {share} allows for {most} rows, not for {left_out + blanked}")
    return found
