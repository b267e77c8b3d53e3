"""People key: which rows of a table are of one person, and what is published of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from discreet.errors import SchemaError

Fold = Literal["first", "last", "sum", "mean", "min", "max", "set", "count"]
"""How the values of a person's rows become one."""
Rows = Literal["all", "one", "fold"]
"""What is published of a person's rows: each, one of them, or one made of all."""


@dataclass(frozen=True)
class PeopleKey:
    """Which rows are of one person, who would be found together, and what is published of them.

    ``person`` and ``cluster`` name columns, which never leave. Of a person's rows all are
    published, or ``most_rows`` of them; or one, drawn; or one that all are folded into.
    ``rows_are_people`` says that every row is a person, although a column that names people
    repeats. ``missing`` are texts that name nobody.
    """

    person: str | None = None
    cluster: str | None = None
    rows: Rows = "all"
    most_rows: int | None = None
    rows_are_people: bool = False
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.person is None and (self.rows != "all" or self.most_rows is not None):
            raise SchemaError(
                "rows and most_rows are about people who have several rows.",
                hint='Say whose they are: person = "the column that tells".',
            )
        if self.person is not None and self.rows_are_people:
            raise SchemaError(
                f"Rows are people, but person = {self.person!r} says whose rows are whose.",
                hint="Leave one of them out.",
            )
        if self.rows not in ("all", "one", "fold"):
            raise SchemaError(f"rows = {self.rows!r}: give one of all, one, fold.")
        whole = isinstance(self.most_rows, int) and not isinstance(self.most_rows, bool)
        if self.most_rows is not None and (self.rows != "all" or not whole or self.most_rows < 1):
            raise SchemaError(
                f"most_rows = {self.most_rows}: it caps how many of all rows of a person are "
                "published.",
                hint='Give a whole number of at least 1, with rows = "all".',
            )
        if self.person is not None and self.person == self.cluster:
            raise SchemaError(
                f"{self.person!r} is both person and cluster.",
                hint="A cluster holds several people, such as a household.",
            )


ROWS_ARE_ALONE = PeopleKey()
"""Nothing says whose rows are whose."""
