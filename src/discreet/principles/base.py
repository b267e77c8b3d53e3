"""What a principle is: one question asked of bags, and what it says about itself."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from numbers import Integral
from typing import ClassVar, NamedTuple, get_args

import numpy as np

from discreet.errors import PromiseError, SchemaError
from discreet.principles.groups import Groups
from discreet.table.arrays import Bools, Ints

Number = int | float | str | Fraction
EXPONENT = re.compile(r"[eE]([+-]?[\d_]+)")
MOST_DIGITS = 1000
"""Digits, or zeros by an exponent, that a parameter may be written with."""
ANY = "any"
"""How plans and manifests write a threshold that asks nothing; TOML has no null."""
UNBOUNDED = 2**40
"""Room for more people than any table has."""

RENAMED = {
    "least": "min_size", "singles": "distinct_enough", "alike": "look_alikes",
    "cover": "max_conflict", "mixed": "mixture_safe",
}  # fmt: skip


class Feasibility(NamedTuple):
    """Whether any partition of a table can satisfy a principle, and the best that can be."""

    possible: bool
    best: str


class KernelRule(NamedTuple):
    """A principle as integer arithmetic on a histogram; see ``discreet.kernels.rules``."""

    op: int
    a: int = 0
    b: int = 0
    c: int = 0
    table: tuple[int, ...] | Ints = ()


@dataclass(frozen=True)
class Principle(ABC):
    """A condition on one bag of sensitive values.

    ``on`` names the sensitive attribute it is about; without it, it is about each of them.
    """

    title: ClassVar[str]
    """Name in plans and on the command line."""
    paper: ClassVar[str]
    """Where it is defined."""
    monotone: ClassVar[bool]
    """Closed under union: two bags that satisfy it do so together. Then a bag that fails cannot
    be saved by splitting it, so a top-down search may stop, and the whole table tells what is
    feasible."""
    leaves_open: ClassVar[str]
    """What an adversary may still learn, in words."""
    reads_values: ClassVar[bool] = True
    """Whether it looks at the values in a bag, or only at how many there are."""
    spaced: ClassVar[bool] = False
    """Whether different values may be too near to each other."""
    joins: ClassVar[bool] = False
    """Whether its bags are groups of a join of tables."""
    personal: ClassVar[bool] = False
    """Whether it is about what each person asks for, which no release tells."""
    drawn: ClassVar[bool] = False
    """Whether it is about how a release is drawn, so that no bag that is shown satisfies it."""
    most_known: ClassVar[int | None] = None
    """How many items of a person's set are known to whom it is about; ``None`` for all."""
    max_share: ClassVar[Fraction] = Fraction(1)
    """The most of a bag that it lets any value be which it protects; 1 is no bound."""
    is_share_bound: ClassVar[bool] = False
    """Whether it is enough that no value has more of a bag than that."""

    on: str | None = field(default=None, kw_only=True)

    def __init_subclass__(cls) -> None:
        """Refuse old names: a search that does not hear of them would break the promise."""
        super().__init_subclass__()
        for old in RENAMED.keys() & vars(cls).keys():
            raise TypeError(f"{cls.__name__}.{old} is called {RENAMED[old]} now")

    @abstractmethod
    def admits(self, groups: Groups) -> Bools:
        """Say of every bag whether it satisfies the principle."""

    @abstractmethod
    def feasible(self, whole: Groups) -> Feasibility:
        """Say whether some partition of the whole table satisfies it, and the best reachable."""

    @property
    def min_size(self) -> int:
        """A size below which no bag can satisfy the principle."""
        return 1

    @property
    def distinct_enough(self) -> int | None:
        """So many values, each once and none near another, satisfy it, and so do more of them.

        ``None`` if it takes more than that.
        """
        return None

    @property
    def dealt(self) -> bool:
        """Whether people are dealt into groups for it, as no split from the whole need keep it."""
        return not all(part.monotone or part.personal for part in self.parts)

    @property
    def look_alikes(self) -> int:
        """How many people it promises to look the same, themselves included."""
        return 1

    def max_conflict(self, bags: Groups) -> Ints:
        """The most people of each bag whose values are too near to be ``distinct_enough``."""
        return bags.largest

    def room(self, q: int, whole: Groups) -> Ints:  # noqa: ARG002
        """How often each code may be in a bag of q people or more, if all keep to that.

        For q of ``distinct_enough`` and more; each once is always safe then.
        """
        return np.ones(whole.domain.size, dtype=np.int64)

    @property
    def named_values(self) -> tuple[str, ...]:
        """The values that have thresholds of their own."""
        return ()

    def counts(self, value: str) -> bool:  # noqa: ARG002
        """Whether it protects a value, or lets it be told of anybody."""
        return self.reads_values

    @property
    def mixture_safe(self) -> Principle | None:
        """What bags must satisfy so that any mixture of them is as this principle says of beliefs.

        A principle that is closed under union is its own. ``None`` if there is no such thing.
        """
        return self if self.monotone else None

    @property
    def of_beliefs(self) -> Principle:
        """What it comes to, said of what is believed about one person."""
        return self

    def generalizable(self, least: int = 1) -> Principle | None:  # noqa: ARG002
        """What a set must satisfy to be divisible into bags of ``least`` people that satisfy this.

        It is closed under union, so a top-down search may rely on it. A principle that is closed
        itself is its own: the set is such a bag. ``None`` if nothing is known.
        """
        return self if self.monotone else None

    def over_rows(self, rows: int, together: int) -> Principle:  # noqa: ARG002
        """What bags of rows must satisfy so that this holds of people with several of them.

        Nobody has more than ``rows`` rows, and people who count as one no more than ``together``.
        Whatever is published: if of each row a value is believed with at most p/rows, then that any
        of them has it with at most p, as a union is no likelier than the sum.
        """
        if rows == 1:
            return self
        raise PromiseError(
            f"{self} says nothing of people who have several rows.",
            hint='Publish one row of everybody (rows = "one" or "fold"), or promise another one.',
            subject=self,
        )

    def admits_labels(self, groups: Groups, stands_for: Mapping[str, frozenset[str]]) -> Bools:  # noqa: ARG002
        """Say it of bags of sets that show labels, each of which stands for several items."""
        return self.admits(groups)

    def rules(self, whole: Groups) -> list[KernelRule] | None:  # noqa: ARG002
        """Say the same for kernels, or ``None`` if it takes more than a histogram."""
        return None

    @property
    @abstractmethod
    def promise(self) -> str:
        """The guarantee in one sentence, with its numbers."""

    @property
    def parts(self) -> tuple[Principle, ...]:
        """The principles this one is made of."""
        return (self,)

    @property
    def all_left_open(self) -> tuple[str, ...]:
        """What an adversary may still learn, each thing once."""
        return tuple(dict.fromkeys(part.leaves_open for part in self.parts))

    def require(self, whole: Groups) -> None:
        """Raise, with the best reachable, if no partition of the table can satisfy it."""
        possible, best = self.feasible(whole)
        if not possible:
            raise PromiseError(
                f"{self} cannot be kept: {best}.",
                hint=f"Ask for what this table allows: {best.split(': ')[-1]}.",
                subject=self,
            )

    def require_mixed(self) -> Principle:
        """Give what bags must satisfy so that their mixtures satisfy this, or refuse."""
        if self.mixture_safe is None or not self.mixture_safe.monotone:
            raise PromiseError(
                f"{self} is not monotone: groups may satisfy it and their mixture not.",
                hint="Use generalization for it, or another principle here.",
                subject=self,
            )
        return self.mixture_safe

    def parameters(self) -> dict[str, object]:
        """The parameters as plain values, for plans and manifests."""
        return {
            f.name: _plain(value)
            for f in sorted(fields(self), key=lambda f: f.name == "on")
            if (value := getattr(self, f.name)) is not None
        }

    def __and__(self, other: Principle) -> Principle:
        return All((*self.parts, *other.parts))

    def __str__(self) -> str:
        shown = ", ".join(f"{k} = {v}" for k, v in self.parameters().items())
        return f"{self.title} ({shown})"


@dataclass(frozen=True)
class CountedPrinciple(Principle):
    """A principle that as few people satisfy as it takes, if no two of their values are near."""

    @property
    def distinct_enough(self) -> int:
        """As many as it takes in any case."""
        return self.min_size


@dataclass(frozen=True)
class All(Principle):
    """Several principles at once, as made by ``&``.

    >>> from discreet.principles import DistinctDiversity, KAnonymity
    >>> both = KAnonymity(3) & DistinctDiversity(2)
    >>> both.admits(Groups.of([["a", "a", "a"], ["a", "b"], ["a", "a", "b"]])).tolist()
    [False, False, True]
    """

    title: ClassVar[str] = "all of"
    paper: ClassVar[str] = ""
    leaves_open: ClassVar[str] = "What each of its parts leaves open."

    members: tuple[Principle, ...] = ()

    def __post_init__(self) -> None:
        once: list[Principle] = []  # a promise that is given twice is one promise
        for member in self.members:
            if member not in once:
                once.append(member)
        object.__setattr__(self, "members", tuple(once))

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """Closed under union if every part is."""
        return all(part.monotone for part in self.members)

    @property
    def parts(self) -> tuple[Principle, ...]:
        """The principles combined."""
        return self.members

    @property
    def min_size(self) -> int:
        """The largest of the parts' least sizes."""
        return max(part.min_size for part in self.members)

    @property
    def distinct_enough(self) -> int | None:
        """The most any part needs, if that is enough for every part."""
        needed = [part.distinct_enough for part in self.members]
        return None if None in needed else max(n for n in needed if n is not None)

    @property
    def look_alikes(self) -> int:
        """The most any part promises."""
        return max(part.look_alikes for part in self.members)

    @property
    def spaced(self) -> bool:  # type: ignore[override]
        """Whether any part is."""
        return any(part.spaced for part in self.members)

    def max_conflict(self, bags: Groups) -> Ints:
        """The most over all parts."""
        return np.asarray(np.maximum.reduce([part.max_conflict(bags) for part in self.members]))

    def room(self, q: int, whole: Groups) -> Ints:
        """The least over all parts."""
        return np.asarray(np.minimum.reduce([part.room(q, whole) for part in self.members]))

    @property
    def mixture_safe(self) -> Principle | None:
        """Every part's."""
        return _combine([part.mixture_safe for part in self.members])

    def generalizable(self, least: int = 1) -> Principle | None:
        """Every part's, for bags large enough for all.

        Enough on one attribute if different values are all it takes (``distinct_enough``); not
        always needed, as larger bags may hold near values.
        """
        least = max(least, self.distinct_enough or 1)
        return _combine([part.generalizable(least) for part in self.members])

    def over_rows(self, rows: int, together: int) -> Principle:
        """Every part's."""
        parts = [part.over_rows(rows, together) for part in self.members]
        return All(tuple(p for part in parts for p in part.parts))

    @property
    def promise(self) -> str:
        """The promises of all parts."""
        return " ".join(part.promise for part in self.members)

    def admits(self, groups: Groups) -> Bools:
        """Say of every bag whether it satisfies every part."""
        verdicts = [part.admits(groups) for part in self.members]
        return np.asarray(np.logical_and.reduce(verdicts), dtype=bool)

    def feasible(self, whole: Groups) -> Feasibility:
        """Feasible if every part is; for monotone parts the undivided table satisfies all."""
        for part in self.members:
            possible, best = part.feasible(whole)
            if not possible:
                return Feasibility(False, best)
        return Feasibility(True, "; ".join(part.feasible(whole).best for part in self.members))

    def __str__(self) -> str:
        return " and ".join(map(str, self.members))


def _combine(parts: list[Principle | None]) -> Principle | None:
    """Ask for all parts, if all there are."""
    return None if None in parts else All(tuple(part for part in parts if part is not None))


def demands(principle: Principle, sensitive: list[str]) -> Iterator[tuple[Principle, str | None]]:
    """Spell out a principle: each part with each attribute it is about.

    A table without sensitive attributes has only sizes, so only principles that read nothing
    but sizes can be asked of it.
    """
    for part in principle.parts:
        if part.joins:
            raise SchemaError(
                f"{part} is about joins with earlier releases.",
                hint='Use the method "sequential" for it.',
            )
        if part.on is not None and part.on not in sensitive:
            raise SchemaError(
                f"{part} is about {part.on!r}, which is not sensitive.",
                hint=f"Sensitive are: {', '.join(map(repr, sensitive)) or 'none'}.",
            )
        if not part.reads_values:
            yield part, None
        elif not sensitive:
            raise SchemaError(
                f"{part} is about sensitive values, but no column is sensitive.",
                hint='Set role = "sensitive" for a column, or promise k-anonymity only.',
            )
        else:
            for name in [part.on] if part.on else sensitive:
                yield part, name


def part_joins(principle: Principle) -> tuple[Principle | None, tuple[Principle, ...]]:
    """Part a principle into what is about the table alone, if anything is, and about joins."""
    alone = tuple(part for part in principle.parts if not part.joins)
    return (All(alone) if alone else None), tuple(p for p in principle.parts if p.joins)


def require_choice(name: str, value: object, choices: object) -> None:
    """Refuse a parameter that is none of the values of a ``Literal``."""
    if value not in get_args(choices):
        raise SchemaError(f"{name} = {value!r}: give one of {', '.join(get_args(choices))}.")


def require_whole(name: str, value: object, least: int = 1) -> None:
    """Refuse a parameter that is not a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise SchemaError(f"{name} = {value!r}: give a whole number of at least {least}.")


def require_ratio(name: str, value: Number, low: int | Fraction, high: int = 10**15) -> None:
    """Refuse a parameter that is not a number between ``low`` and ``high``, both included."""
    try:
        good = not isinstance(value, bool) and low <= ratio(value) <= high
    except (ValueError, ZeroDivisionError, TypeError):
        good = False
    if not good:
        raise SchemaError(f"{name} = {value}: give a number from {low} to {high:g}.")


def ratio(value: Number) -> Fraction:
    """Read a parameter as the exact number it is written as.

    Texts come from plans and manifests: one that would fill the memory with digits is no number.

    >>> ratio(0.1), ratio("1/3"), ratio(2)
    (Fraction(1, 10), Fraction(1, 3), Fraction(2, 1))
    """
    if isinstance(value, Fraction):
        return value
    text = str(value)
    power = EXPONENT.search(text)
    if len(text) > MOST_DIGITS or (power and abs(int(power[1])) > MOST_DIGITS):
        raise ValueError(f"{text[:40]}… has more than {MOST_DIGITS} digits")
    return Fraction(text)


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    if isinstance(value, Mapping):
        return {key: ANY if part is None else _plain(part) for key, part in value.items()}
    if isinstance(value, Fraction) and value.denominator > 1:
        return float(value) if ratio(float(value)) == value else str(value)
    if isinstance(value, Integral | Fraction) and not isinstance(value, bool):
        return int(value)
    return value
