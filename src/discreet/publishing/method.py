"""Method: a way of making releases of one form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from discreet.errors import SchemaError
from discreet.forms import find_form
from discreet.principles.base import Principle
from discreet.release import Promise, Recoding, Release
from discreet.release.explanation import Explanation

if TYPE_CHECKING:
    import polars as pl

    from discreet.publishing.backends import Backend, FinishedLeaves, ShowClasses
    from discreet.publishing.draws import Draws
    from discreet.publishing.signatures import History
    from discreet.table.coded_table import CodedTable
    from discreet.table.microdata import Microdata

Strictness = Literal["safe", "paper"]
"""Whether what is believed is bounded as is safe, or as the paper of a method does."""


@dataclass(frozen=True)
class Method(ABC):
    """A way of making releases of one form."""

    title: ClassVar[str]
    """Name in plans and on the command line."""
    form: ClassVar[str]
    """The form of its releases, which several methods may share."""
    paper: ClassVar[str]
    """Where it comes from."""
    keeps_personal: ClassVar[bool] = False
    """Whether it keeps principles about what each person asks for."""
    keeps_drawn: ClassVar[bool] = False
    """Whether it keeps principles about how a release is drawn."""
    takes_sets: ClassVar[bool] = False
    """Whether it publishes sets of items."""

    principle: Principle

    @classmethod
    def nearest(cls, principle: Principle) -> Method:
        """Make it with a promise as near to one as it can give: mostly that itself."""
        return cls(principle)

    @classmethod
    def variants(cls, principle: Principle) -> list[Method]:
        """Make it in all ways that are worth to be compared: mostly one."""
        return [cls.nearest(principle)]

    @property
    def earlier(self) -> Sequence[Release | str | Path]:
        """The earlier releases that it takes into account, or their folders."""
        return ()

    @property
    def counts_people(self) -> bool:
        """Whether it counts people by their key; else it takes more rows for as many people."""
        return False

    @property
    def draws_groups(self) -> bool:
        """Whether chance has a part in which groups there are: the same table may give others."""
        return False

    @property
    def weight(self) -> int:
        """So many times as much as in a table of boxes it takes to examine one of its records."""
        return find_form(self.form).weight

    @abstractmethod
    def publish(self, data: Microdata, draws: Draws) -> Release:
        """Make a release that keeps the promise, or raise and say what could be kept."""

    def remember(self, history: History) -> Method:  # noqa: ARG002
        """Give the method that goes by what people were told of before; mostly it is the same."""
        return self

    def sign(self, data: Microdata) -> History | None:  # noqa: ARG002
        """Give what is to be remembered of the people of a table once it is published, if anything.

        As it is found when the same table is published, after the same history.
        """
        return None

    def require_parts(self) -> None:
        """Refuse, before any work, to make releases of rows that are elsewhere, if it cannot."""
        raise refuse_scale(f"A release by {self.title}")

    def publish_in_parts(self, backend: Backend) -> PartedRelease:
        """Make the same release of rows that are elsewhere, where it can."""
        raise NotImplementedError

    def release(
        self,
        data: CodedTable,
        tables: dict[str, pl.DataFrame],
        recodings: dict[str, Recoding],
        about: dict[str, str],
        promise: Promise,
        *,
        parameters: Mapping[str, object] | None = None,
    ) -> Release:
        """Put together what goes out; ``parameters`` if not the method's own are published."""
        return Release(
            form=self.form,
            method=self.title,
            parameters=dict(self.parameters() if parameters is None else parameters),
            promise=promise,
            schema=data.public_schema.only(recodings),
            recodings=recodings,
            tables=tables,
            about=about,
        )

    def explain(self, data: Microdata) -> Explanation | None:  # noqa: ARG002
        """Say how the release of this table came about, where a method does so step by step."""
        return None

    def parameters(self) -> dict[str, object]:
        """The parameters besides the principle, as plain values."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "principle"}


@dataclass(frozen=True, eq=False)
class PartedRelease:
    """A release whose records are not shown yet."""

    release: Release
    """With tables that have all their columns, and no rows."""
    parts: Mapping[str, tuple[FinishedLeaves, ShowClasses]]
    """Per table the lines to show, and how."""


def refuse_scale(what: str) -> SchemaError:
    """Say that something is done only to tables that memory holds."""
    return SchemaError(
        f"{what} is not made of tables beyond memory yet.",
        hint="Leave that out, choose another method, or give it more memory (--memory).",
    )
