"""Composed: what does not survive that several releases are put together."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.principles.base import Principle

PLURAL = {"person": "people", "row": "rows", "row of the join": "rows of the join"}


@dataclass(frozen=True)
class Composed:
    """A promise that does not survive the other releases."""

    names: tuple[str, ...]
    """The releases that were put together."""
    promised_by: str
    principle: Principle
    attribute: str | None
    people: int
    """For how many people it fails; of a join, in how many groups."""
    smallest: int
    """The fewest people, or weight of a join, that one of the groups found has."""
    worst: Fraction | None
    """The largest belief in a value, where it is about values."""
    of_rows: bool = False
    """Whether people have several rows, of which it says what is enough: then rows are counted."""
    possible: bool = False
    """Whether it only may fail: worlds are too many to be counted, and bounds do not exclude it."""
    why: str = "the worlds are too many to be counted"
    """Why nobody can say whether it does."""

    def to_dict(self) -> dict[str, object]:
        """Give it as plain values, for ``--json``."""
        return {
            "releases": list(self.names),
            "promised_by": self.promised_by,
            "principle": str(self.principle),
            "attribute": self.attribute,
            "people": self.people,
            "smallest": self.smallest,
            "belief": None if self.worst is None else float(self.worst),
            "possible": self.possible,
        }

    def __str__(self) -> str:
        together = " and ".join(self.names)
        joins = self.principle.joins
        one = "row of the join" if joins else "row" if self.of_rows else "person"
        whom = f"{self.people:,} {'X-groups' if joins else PLURAL[one]}"
        least = f"1 {one}" if self.smallest == 1 else f"{self.smallest:,} {PLURAL[one]}"
        about = f" on {self.attribute}" if self.attribute else ""
        sure = "" if self.worst is None else f", believed with up to {float(self.worst):.0%}"
        promise = f"{self.principle}{' of rows' if self.of_rows else ''}{about}"
        if self.possible:
            fitted = "" if self.worst is None else (
                f"; by estimate, nothing is believed above {float(self.worst):.0%}")  # fmt: skip
            return (
                f"{promise}, promised by {self.promised_by}, may fail for {whom} once {together} "
                f"are put together: {self.why}{fitted}"
            )
        return (
            f"{promise}, promised by {self.promised_by}, fails for {whom} once {together}"
            f" are put together; smallest group found: {least}{sure}"
        )
