"""Sliced: buckets in which every column of attributes was sorted by itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from discreet.errors import StoreError
from discreet.forms.adversaries import KNOWN, READ, Withstood, list_resisted
from discreet.forms.base import Form, Statement, View
from discreet.forms.incomplete import Dealt, Incomplete, open_boxes
from discreet.forms.sliced.columns import BUCKET, TABLE, number_owners, read_columns, read_tied
from discreet.forms.sliced.sample import rebuild, relink
from discreet.forms.sliced.view import read_sliced
from discreet.forms.sliced.wording import word_sliced
from discreet.forms.wording import RESISTED, find_unresisting, resists_method
from discreet.release import PossibleRecords, Promise, Release
from discreet.release.release import PartedTable
from discreet.table.schema import Role

if TYPE_CHECKING:
    from discreet.sql.query import Query
    from discreet.table.microdata import Microdata


class Sliced(Form):
    """Buckets in which every column of attributes was sorted by itself."""

    name: ClassVar[str] = "sliced"
    coverage: ClassVar[str] = (
        "It is taken to be chance which values of a bucket's columns belong together; the standard "
        "error is the spread of that chance, and no interval around the truth. Only the bounds "
        "are hard."
    )
    aggregates: ClassVar[frozenset[str]] = Form.aggregates | {"QUANTILE"}
    parted: ClassVar[tuple[PartedTable, ...]] = (PartedTable(TABLE, BUCKET),)
    weight: ClassVar[int] = 2
    transformations: ClassVar[dict[str, str]] = {
        "sliced": "exactly, but sorted with its column within each bucket"
    }
    methods: ClassVar[Mapping[str, Mapping[str, Sequence[object] | None]]] = {
        "slicing": {
            "buckets": None, "check": ("safe", "paper"), "frequency": None, "columns": None,
            "resist": RESISTED,
        },
    }  # fmt: skip

    def find_parted(self, release: Release) -> tuple[PartedTable, ...]:
        """Whoever matches in random buckets may do so in several, and has to see all of them."""
        split = release.parameters.get("buckets") == "mondrian"
        whole = not split or release.parameters.get("check") != "safe"
        return () if whole else super().find_parted(release)

    def views(self, release: Release) -> list[View]:
        """Read what people show, and whose values are whose."""
        return read_sliced(release)

    def rewrite(self, query: Query, release: Release) -> Statement:
        """Rewrite a question, where its language is at hand."""
        from discreet.forms.sliced.sql import rewrite

        return rewrite(query, release)

    def sample(self, release: Release, n: int, rng: np.random.Generator) -> pl.DataFrame:
        """Draw rows, and for every column one of the same bucket."""
        return relink(release, n, rng)

    def reconstruct(self, release: Release, names: list[str]) -> pl.DataFrame:
        """In every bucket, the product of the columns' shares."""
        return rebuild(release, names)

    def expect(self, release: Release, names: list[str], *, paired: bool = False) -> Statement:
        """Mix, in every bucket, the columns with each other."""
        from discreet.forms.expected import join_sides
        from discreet.forms.sliced.sql import list_sides

        return join_sides(release, names, list_sides(release), paired=paired)

    def list_possible(self, release: Release, names: Collection[str]) -> PossibleRecords:
        """Combine what the columns of each bucket show."""
        from discreet.forms.possible_records import DealtPart, combine

        table, bucket, tied = release.tables[TABLE], release.own(BUCKET), read_tied(release)
        within = "#within"
        table = table.with_columns(pl.Series(within, number_owners(release).within))
        # rows of columns that share attributes are the records: they say what agrees
        parts = [
            DealtPart(column, table, within if place in tied.places else bucket)
            for place, column in enumerate(read_columns(release))
        ]
        parts.sort(key=lambda part: part.owner == bucket)
        return combine(release, names, parts)

    def open_records(self, release: Release, names: list[str]) -> Incomplete:
        """Every column is anybody's of its bucket; attributes of one stand side by side."""
        table, columns, tied = release.tables[TABLE], read_columns(release), read_tied(release)
        owners = number_owners(release)
        cells = open_boxes(release, TABLE, table, names)
        if any({*names} <= {*column} for column in columns):
            return Incomplete(table.select(names), cells)
        # what columns share is told of every record, and stands beside whatever is dealt
        dealt = [
            Dealt(tuple(own), owners.within if place in tied.places else owners.bucket)
            for place, column in enumerate(columns)
            if (own := [n for n in column if n in names and n not in tied.names])
        ]
        parts = [own for own, _ in dealt]
        if len(parts) == 1:
            parts.append(tuple(n for n in names if n in tied.names))
        apart = (
            f"{parts[0][0]} and {parts[1][0]} are in different columns of this sliced release: "
            "their correlation was destroyed on purpose"
        )
        return Incomplete(table.select(names), cells, dealt, apart=apart)

    def matched_by(self, release: Release) -> list[str]:
        """Everything that is not sensitive stands in columns, by which buckets are found."""
        return [name for name in release.schema.names if name not in release.schema.sensitive]

    def leave_out(self, release: Release, names: Collection[str]) -> Release:
        """Columns lose attributes, too; refused where it is these that others agree on.

        Whoever does not know what a person shows of it still knows that columns show the same.
        """
        tied = read_tied(release)
        if {*tied.names} & {*names}:
            told = [
                {*read_columns(release)[place]} - {*tied.names, *names} for place in tied.places
            ]
            if sum(map(bool, told)) > 1:
                raise StoreError(f"What agrees in several columns is not known: {tied.names[0]}.")
        left = [[n for n in part if n not in names] for part in read_columns(release)]
        parameters = {**release.parameters, "columns": [part for part in left if part]}
        return replace(super().leave_out(release, names), parameters=parameters)

    def add_known(self, release: Release, names: Collection[str]) -> Release:  # noqa: ARG002
        """Buckets are found by kept columns in any case."""
        return release

    def transform(self, role: Role) -> str:  # noqa: ARG002
        """Every column is shuffled."""
        return "sliced"

    def list_withstood(self, release: Release) -> Withstood:
        """The paper's check is about who knows the quasi-identifiers of one person."""
        if release.parameters.get("check") == "paper":
            return READ
        return {**KNOWN, **list_resisted(release.parameters)}

    def word(self, release: Release) -> tuple[Promise, dict[str, str]]:
        """Say it as whoever slices does."""
        given = release.parameters
        return word_sliced(
            release.promise.principle,
            read_columns(release),
            release.schema.sensitive,
            given.get("frequency", 1),
            given.get("check"),
            release.own(BUCKET),
            blind=resists_method(given),
        )

    def find_odd_parameters(self, release: Release, data: Microdata) -> list[str]:  # noqa: ARG002
        """Random buckets are of the size that was asked for, some of what is left over."""
        table, size = release.tables[TABLE], release.parameters.get("buckets")
        own, odd = release.own(BUCKET), _find_unblind(release)
        if size == "mondrian" or odd:
            return odd
        if not isinstance(size, int) or isinstance(size, bool) or size < 2:
            return [f"buckets = {size!r} is neither a way to part people nor a size"]
        sizes = table.group_by(own).len()["len"]
        # what columns share parts people first, each part into buckets by itself
        alike = table.group_by(own).agg(pl.all().n_unique() == 1).drop(own)
        shared = any(column.all() for column in alike.get_columns())
        fits = shared or len(sizes) == max(1, table.height // size)
        if fits and int(sizes.max()) < 2 * size:  # type: ignore[arg-type]
            return []
        return [f"the buckets are not those of random ones of {size} people"]


def _find_unblind(release: Release) -> list[str]:
    """Say what does not go with buckets that are said to tell nothing by how they were found."""
    given, secret = release.parameters, set(release.schema.sensitive)
    if not resists_method(given):
        return []
    found = find_unresisting(release.promise.principle)
    for name, plain in (("check", "safe"), ("buckets", "mondrian"), ("frequency", 1)):
        if given.get(name, plain) != plain:
            found.append(f"{name} = {given[name]!r}, and that is said to tell nothing")
    if any(set(column) & secret and set(column) - secret for column in read_columns(release)):
        found.append("others stand beside what is sensitive, and that is said to tell nothing")
    return found
