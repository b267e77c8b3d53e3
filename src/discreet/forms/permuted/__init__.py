"""Permuted: exact quasi-identifiers, and a sensitive number shuffled within each group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from discreet.forms.base import Statement, View
from discreet.forms.grouped import GroupedForm
from discreet.forms.permuted.view import read_permuted
from discreet.forms.permuted.wording import word_permuted
from discreet.release import Promise, Release
from discreet.table.schema import Role

if TYPE_CHECKING:
    from discreet.forms.permuted.index import PermutedIndex
    from discreet.sql.engines.duckdb import Embedded
    from discreet.sql.parse import Query


class Permuted(GroupedForm):
    """Exact quasi-identifiers, and a sensitive number shuffled within each group."""

    name: ClassVar[str] = "permuted"
    owner: ClassVar[str] = "group"
    auxiliary: ClassVar[frozenset[str]] = frozenset({"help"})
    transformations: ClassVar[dict[str, str]] = {
        "permuted": "exactly, but shuffled among the people of each group"
    }
    methods: ClassVar[Mapping[str, Mapping[str, Sequence[object] | None]]] = {
        "permutation": {"objective": ("sum", "max", "max-overlapping", "groups", "random")}
    }

    def views(self, release: Release) -> list[View]:
        """Read what people show, and whose values are whose."""
        return read_permuted(release)

    def rewrite(self, query: Query, release: Release) -> Statement:
        """Rewrite a question, where its language is at hand."""
        from discreet.forms.permuted.sql import rewrite

        return rewrite(query, release)

    def index(self, release: Release, session: Embedded) -> PermutedIndex:
        """In group order with prefix sums, a question is a walk over codes."""
        from discreet.forms.permuted.index import PermutedIndex

        return PermutedIndex(release, session)

    def transform(self, role: Role) -> str:
        """What is sensitive is shuffled."""
        return "permuted" if role is Role.SENSITIVE else super().transform(role)

    def word(self, release: Release) -> tuple[Promise, dict[str, str]]:
        """Say it as whoever shuffles does."""
        return word_permuted(release.promise.principle)
