"""Claims: what a paper says, as inequalities between numbers that say themselves what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal

Sign = Literal["<", "≤", ">", "≥", "≈"]
PERCENT = "%"


@dataclass(frozen=True)
class Inequality:
    """A number found here, and how it compares with another one if the paper is right.

    >>> print(Inequality("permuted, a span of 5", 0.281, "<", 0.2, unit="%"))
    permuted, a span of 5 28.1 % > 20 %
    """

    of: str
    found: float
    sign: Sign
    bound: float
    by: str = ""
    """What the other number is, if it was found, too."""
    unit: str = ""
    within: float = 0.0
    """How far apart they may be if they are to be equal."""

    @property
    def holds(self) -> bool:
        """Whether they compare so. What is no number compares with nothing."""
        if self.sign == "≈":
            return abs(self.found - self.bound) <= self.within
        return {
            "<": self.found < self.bound,
            "≤": self.found <= self.bound,
            ">": self.found > self.bound,
            "≥": self.found >= self.bound,
        }[self.sign]

    def __str__(self) -> str:
        """Say how they do compare, whatever the paper says, in as many digits as that takes."""
        relation = self._relate()
        for digits in (3, 4, 5, 8, 17):
            found, bound = (_write(x, self.unit, digits) for x in (self.found, self.bound))
            if found != bound or relation in "=≈":
                break
        unit = f" {self.unit}" if self.unit else ""
        found += unit if self.unit == PERCENT else ""  # any other is said once
        near = _write(self.within, self.unit) + unit
        allowed = f" (± {near})" if self.within and not self.holds else ""
        said = (self.of, found, relation, self.by, bound + unit)
        return " ".join(filter(None, said)) + allowed

    def _relate(self) -> str:
        if self.sign == "≈":
            return "≈" if self.holds else "≠"
        if self.found == self.bound:
            return "="
        return "<" if self.found < self.bound else ">" if self.found > self.bound else "≠"


def _write(number: float, unit: str, digits: int = 3) -> str:
    """Write a number, without its unit, in so many digits."""
    shown = 100 * number if unit == PERCENT else number
    text = f"{shown:,.0f}" if abs(shown) >= 10 ** min(digits, 15) else f"{shown:.{digits}g}"
    return text.replace("-", "−")


def rising(of: str, numbers: Sequence[float], unit: str = "") -> Inequality:
    """Every number is larger than the one before.

    >>> print(rising("min sum", [1.0, 2.5, 3.0]))
    min sum from 1 to 3, smallest step 0.5 > 0
    """
    step = min(after - before for before, after in pairwise(numbers))
    return Inequality(f"{of} {_span(numbers, unit)}, smallest step", step, ">", 0, unit=unit)


def falling(of: str, numbers: Sequence[float], unit: str = "") -> Inequality:
    """Every number is smaller than the one before."""
    step = max(after - before for before, after in pairwise(numbers))
    return Inequality(f"{of} {_span(numbers, unit)}, largest step", step, "<", 0, unit=unit)


def _span(numbers: Sequence[float], unit: str) -> str:
    for digits in (3, 4, 5):
        first, last = (_write(numbers[end], unit, digits) for end in (0, -1))
        if first != last:
            break
    return f"from {first} to {last} {unit}".rstrip()


@dataclass(frozen=True)
class Claim:
    """A statement, the inequalities that make it true, and why it does not hold if not."""

    paper: str
    found: tuple[Inequality, ...]
    otherwise: str = ""
    """Why it does not hold, if it does not."""
    note: str = ""
    """What is to be said in any case."""
    beyond: bool = False
    """Whether it is said here, and not by the paper."""

    def __post_init__(self) -> None:
        if not self.found:
            raise ValueError(f"{self.paper!r} is held against no number.")

    @property
    def holds(self) -> bool:
        """Whether all of it holds."""
        return all(each.holds for each in self.found)

    @property
    def verdict(self) -> str:
        """Whether it holds, in a word or two."""
        if self.holds:
            return "yes"
        return "in part" if any(each.holds for each in self.found) else "no"

    @property
    def here(self) -> str:
        """What was found."""
        return "; ".join(map(str, self.found))

    @property
    def why(self) -> str:
        """What is said beside it."""
        return " ".join(filter(None, (self.note, "" if self.holds else self.otherwise)))

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain values."""
        said = {"here": self.here, "holds": self.holds, "verdict": self.verdict, "why": self.why}
        return asdict(self) | {"found": [asdict(each) for each in self.found]} | said

    @staticmethod
    def from_dict(told: dict[str, Any]) -> Claim:
        """Read it again; the verdict is found anew, from the numbers."""
        found = tuple(Inequality(**each) for each in told["found"])
        rest = {name: told[name] for name in ("paper", "otherwise", "note", "beyond")}
        return Claim(found=found, **rest)


__all__ = ["PERCENT", "Claim", "Inequality", "Sign", "falling", "rising"]
