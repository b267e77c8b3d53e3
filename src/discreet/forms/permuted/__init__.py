"""Permuted: exact quasi-identifiers, and a sensitive number shuffled within each group."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from discreet.forms.adversaries import KNOWN, Adversary, Withstood, list_resisted
from discreet.forms.base import Form, Statement, View
from discreet.forms.grouped import GroupedForm
from discreet.forms.incomplete import Dealt, Incomplete
from discreet.forms.permuted.view import COLUMNS, GROUP, TITLES, read_permuted
from discreet.forms.permuted.wording import word_permuted
from discreet.forms.several import list_each, project
from discreet.forms.wording import resists_learning
from discreet.release import PossibleRecords, Promise, Release, number_title
from discreet.release.release import PartedTable
from discreet.table.schema import Role

if TYPE_CHECKING:
    from discreet.forms.permuted.index import PermutedIndex
    from discreet.sql.engines.duckdb import Embedded
    from discreet.sql.query import Query


class Permuted(GroupedForm):
    """Exact quasi-identifiers, and a sensitive number shuffled within each group."""

    name: ClassVar[str] = "permuted"
    coverage: ClassVar[str] = (
        "It is taken to be chance who of a group has which number; the standard error is the "
        "spread of that chance, and no interval around the truth. Only the bounds are hard."
    )
    aggregates: ClassVar[frozenset[str]] = Form.aggregates | {"QUANTILE"}
    auxiliary: ClassVar[frozenset[str]] = frozenset(TITLES[1:])
    owner: ClassVar[str] = GROUP
    parted: ClassVar[tuple[PartedTable, ...]] = (
        PartedTable(TITLES[0], GROUP),
        PartedTable(TITLES[1], GROUP),
    )
    scattered: ClassVar[bool] = True
    transformations: ClassVar[dict[str, str]] = {
        "permuted": "exactly, but shuffled among the people of each group"
    }
    methods: ClassVar[Mapping[str, Mapping[str, Sequence[object] | None]]] = {
        "permutation": {
            "objective": (
                "sum", "max", "max-overlapping", "groups", "groups-overlapping", "random", None
            ),
            "resist": (None, "learning"),
        }
    }  # fmt: skip

    def views(self, release: Release) -> list[View]:
        """Read what people show, and whose values are whose."""
        return read_permuted(release)

    def rewrite(self, query: Query, release: Release) -> Statement:
        """Rewrite a question, where its language is at hand."""
        from discreet.forms.permuted.sql import rewrite
        from discreet.forms.several_sql import choose_asked, rename_tables

        if len(release.schema.sensitive) < 2:
            return rewrite(query, release)
        name = choose_asked(query, release)
        statement = rewrite(query, project(release, name, TITLES, COLUMNS))
        return rename_tables(statement, release, name, TITLES, COLUMNS)

    def tell_together(self, release: Release) -> list[list[str]]:
        """Every number is told by itself."""
        return list_each(release)

    def expect(self, release: Release, names: list[str], *, paired: bool = False) -> Statement:
        """Spread records over the values of their groups."""
        from discreet.forms.bucket_sides import Side
        from discreet.forms.expected import join_sides
        from discreet.forms.several_sql import choose_one

        sensitive = choose_one(names, release)
        group = _name_group(release, release.schema.sensitive.index(sensitive))
        parts = frozenset(names) - {sensitive}, frozenset({sensitive})
        sides = [Side(TITLES[0], group, None, part) for part in parts]
        return join_sides(release, names, sides, paired=paired)

    def sample(self, release: Release, n: int, rng: np.random.Generator) -> pl.DataFrame:
        """Draw records, and of each a number of its group; of several numbers, for each."""
        if len(release.schema.sensitive) < 2:
            return super().sample(release, n, rng)
        table = release.tables[TITLES[0]]
        rows = rng.integers(0, table.height, n)
        columns = {name: table[name][rows] for name in release.schema.quasi_identifiers}
        for place, name in enumerate(release.schema.sensitive):
            group = table[_name_group(release, place)].rank("dense").to_numpy() - 1
            order = np.argsort(group, kind="stable")
            sizes = np.bincount(group.astype(np.int64))
            starts, mine = np.cumsum(sizes) - sizes, group[rows].astype(np.int64)
            columns[name] = table[name][order[starts[mine] + rng.integers(0, sizes[mine])]]
        return pl.DataFrame(columns)

    def list_possible(self, release: Release, names: Collection[str]) -> PossibleRecords:
        """Give records the numbers of their groups."""
        from discreet.forms.possible_records import DealtPart, combine

        table, told = release.tables[TITLES[0]], release.schema.sensitive
        groups = [_name_group(release, place) for place in range(len(told))]
        known = [name for name in release.schema.names if name not in told]
        records = DealtPart(known, table, groups[0])
        numbers = [
            DealtPart([name], table, group) for name, group in zip(told, groups, strict=True)
        ]
        return combine(release, names, [records, *numbers])

    def open_records(self, release: Release, names: list[str]) -> Incomplete:
        """Each number is anybody's of the group that its record is in for it."""
        table, told = release.tables[TITLES[0]], release.schema.sensitive
        dealt = [
            Dealt((name,), table[_name_group(release, place)].to_numpy().astype(np.int64))
            for place, name in enumerate(told)
            if name in names
        ]
        return Incomplete(table.select(names), dealt=dealt)

    def reconstruct(self, release: Release, names: list[str]) -> pl.DataFrame:
        """Of several numbers, from what is told of the one that is asked for."""
        told = release.schema.sensitive
        if len(told) > 1:
            name = next((n for n in names if n in told), told[0])
            release = project(release, name, TITLES, COLUMNS)
        return super().reconstruct(release, names)

    def index(self, release: Release, session: Embedded) -> PermutedIndex | None:
        """In group order with prefix sums, a question is a walk over codes; of one number."""
        from discreet.forms.permuted.index import PermutedIndex

        if len(release.schema.sensitive) > 1:
            return None
        return PermutedIndex(release, session)

    def transform(self, role: Role) -> str:
        """What is sensitive is shuffled."""
        return "permuted" if role is Role.SENSITIVE else super().transform(role)

    def list_withstood(self, release: Release) -> Withstood:
        """Groups follow from the numbers alone, whosever they are, unless they were changed."""
        if resists_learning(release.parameters):
            return {**KNOWN, **list_resisted(release.parameters)}
        return {**KNOWN, Adversary.METHOD: ""}

    def word(self, release: Release) -> tuple[Promise, dict[str, str]]:
        """Say it as whoever shuffles does."""
        groups = [_name_group(release, place) for place in range(len(release.schema.sensitive))]
        return word_permuted(
            release.promise.principle, release.schema.sensitive, groups,
            learning=resists_learning(release.parameters),
        )  # fmt: skip


def _name_group(release: Release, place: int) -> str:
    """Give the column of the groups for the first, second and so on of its numbers."""
    return release.own(number_title(GROUP, place))
