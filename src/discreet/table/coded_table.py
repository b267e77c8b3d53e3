"""Coded table: what is known of a table wherever its rows are, and what is refused of any."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from discreet.errors import MicrodataError, SchemaError, list_problems, name_closest
from discreet.table.arrays import Ints
from discreet.table.coarsening import is_coarse
from discreet.table.domain import Domain
from discreet.table.schema import Attribute, Role, Schema, Type

In = TypeVar("In")
Out = TypeVar("Out")

NEARLY_UNIQUE = 0.9
SMALLEST_JUDGED = 20
"""Below this many rows, distinct values say nothing about being an identifier."""
FEW = 1000
"""Rows that are coded before a thread for them has started."""


@dataclass(frozen=True)
class Intake:
    """What happened to the rows on the way in. The steward's, never published."""

    read: int
    dropped: int = 0
    missing: dict[str, int] = field(default_factory=dict)
    """Missing cells per column that has any."""
    repeats: dict[str, int] = field(default_factory=dict)
    """Per column that names people, and has some value twice, how many values it has."""
    left_out: int = 0
    """Rows of people who have more of them than are published."""


class CodedTable(ABC):
    """A table of which the domains are known, wherever its rows are."""

    schema: Schema
    domains: dict[str, Domain]
    intake: Intake

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of rows."""

    @abstractmethod
    def count(self, name: str) -> Ints:
        """Say how often each code of an attribute occurs."""

    def count_whole(self, name: str) -> Ints:
        """Say how often each code occurs in the table that these rows are all of, or a part."""
        return self.count(name)

    @property
    def quasi_identifiers(self) -> list[str]:
        """Names of the quasi-identifiers."""
        return self.schema.quasi_identifiers

    @property
    def sensitive(self) -> list[str]:
        """Names of the sensitive attributes."""
        return self.schema.sensitive

    @property
    def public_schema(self) -> Schema:
        """The published part of the schema, with the taxonomies that rules built.

        Public domains are the steward's; what a release takes of them, its recodings say.
        """
        published = self.schema.published
        return published.changed(
            *(
                replace(
                    a,
                    taxonomy=self.domains[a.name].taxonomy,
                    values=(),
                    fold=None,
                    **_tell_ends(a),
                )
                for a in published
            )
        )


def _tell_ends(attribute: Attribute) -> dict[str, Any]:
    """What may be beyond a code of top or bottom ends where the public domain does."""
    return {} if is_coarse(attribute) else {"low": None, "high": None}


def refuse_unknown(schema: Schema, columns: list[str], where: str) -> None:
    """Refuse a schema with a column that a table does not have."""
    unknown = [name for name in schema.names if name not in columns]
    if unknown:
        raise SchemaError(
            f"Column {unknown[0]!r} is not in {where}.", hint=name_closest(unknown[0], columns)
        )


def refuse_all_dropped(missing: dict[str, int]) -> None:
    """Say of a table, with so many missing cells per column, that none of its rows is left."""
    raise MicrodataError(
        "Every row has a missing value and would be dropped.",
        hint='Set missing = "value" for the column with the most: '
        + max(missing, key=missing.__getitem__),
    )


def refuse_unpublished(schema: Schema) -> list[Attribute]:
    """Give the attributes that are published; refuse a table of which none is."""
    published = list(schema.published)
    if not published:
        raise SchemaError(
            "No column would be published.",
            hint="Give at least one column the role quasi-identifier or sensitive.",
        )
    return published


def attempt_each(items: list[In], work: Callable[[In], Out], rows: int) -> list[Out]:
    """Work on columns side by side, one by one where rows are few; collect what is wrong with any
    of them into one error."""

    def attempt(item: In) -> Out | MicrodataError:
        try:
            return work(item)
        except MicrodataError as error:
            return error

    # what is at work is in memory twice
    with ThreadPoolExecutor(os.cpu_count()) if rows > FEW else nullcontext() as pool:
        results = list((pool.map if pool else map)(attempt, items))
    raise_all([result.message for result in results if isinstance(result, MicrodataError)])
    return [result for result in results if not isinstance(result, MicrodataError)]


def raise_all(problems: list[str], hint: str | None = None) -> None:
    """Raise one error about all problems, if there are any."""
    if problems:
        lines = [line for problem in problems for line in problem.split("\n")]
        raise MicrodataError(
            f"The table does not fit its schema:\n{list_problems(lines, most=12)}",
            hint=hint or "Correct the cells, or the type and taxonomy of these columns.",
        )


def refuse_identifiers(data: CodedTable) -> None:
    """Refuse to publish unchanged text that names people, whatever its role says."""
    if data.n < SMALLEST_JUDGED:
        return
    for attribute in data.schema.published:
        size = data.domains[attribute.name].size
        exact = attribute.role is Role.OTHER or (
            attribute.role is Role.SENSITIVE and attribute.type is Type.CATEGORY
        )
        if exact and size > NEARLY_UNIQUE * data.n:
            hint = f'Set role = "identifier" for {attribute.name!r}.'
            if attribute.name == data.schema.weight:
                hint = (
                    f"Of {attribute.name!r} set fewer decimals, or round it; or blur it (role = "
                    '"quasi-identifier"); or leave it out of the release (keep = false).'
                )
            raise SchemaError(
                f"Column {attribute.name!r} has {size} distinct values in {data.n} rows and would "
                "be published unchanged: it identifies people.",
                hint=hint,
                subject=attribute,
            )
