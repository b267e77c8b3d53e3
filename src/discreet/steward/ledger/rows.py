"""Rows: what stands in the database of a ledger, typed both ways.

SQLite keeps anything in any column. What was not written here as it stands there is damage, and
damage of one row is damage of the ledger: what it said may be out.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Json, ValidationError

from discreet.errors import StoreError
from discreet.release.places import say_first

RESTORE = "Restore the ledger from a backup."
State = Literal["pending", "published", "recorded", "withdrawn"]


def _require_time(text: str) -> str:
    datetime.fromisoformat(text)
    return text


class _Row(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    @classmethod
    def read(cls, cells: Mapping[str, Any], place: str) -> Self:
        """Read a row; whatever is not as it was written is one error that names the place."""
        try:
            return cls.model_validate(dict(cells))
        except (ValidationError, RecursionError) as error:
            said = say_first(error) if isinstance(error, ValidationError) else f"{error}"
            raise StoreError(
                f"{place} was changed and cannot be read ({said}).", hint=RESTORE
            ) from error


class SourceRow(_Row):
    """What a ledger is about, and how it is written."""

    name: Annotated[str, Field(min_length=1)]
    version: int


class ColumnNote(_Row):
    """What was published of an attribute."""

    name: str
    role: str
    type: str
    published: str


class EntryRow(_Row):
    """A release."""

    number: Annotated[int, Field(ge=1, lt=10**9)]
    made: Annotated[str, AfterValidator(_require_time)]
    method: str
    promise: str
    people: Annotated[int, Field(ge=0)]
    columns: Json[list[ColumnNote]]
    files: Json[
        Annotated[dict[str, Annotated[str, Field(pattern="^[0-9a-f]{64}$")]], Field(min_length=1)]
    ]
    folder: str
    replaces: Annotated[int, Field(ge=0, le=1)]
    state: State


class PeopleNote(_Row):
    """What is said of the arrays in which people are noted."""

    values: list[str]
    signatures: list[list[str]]
    matched: bool
