"""Principles about linking: what who knows X learns about Y where tables are joined.

Their bags are X-groups of a join: for every combination of X that shows, the values of Y that go
with it. Only the method ``sequential`` makes such bags; others refuse these principles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from operator import and_
from typing import ClassVar

import numpy as np

from discreet.errors import SchemaError
from discreet.principles.base import (
    Feasibility,
    Number,
    Principle,
    ratio,
    require_ratio,
    require_whole,
)
from discreet.principles.groups import Groups
from discreet.principles.thresholds import ThresholdTable, keep_shares
from discreet.table.arrays import Bools

SEQUENTIAL = "Wang and Fung: Anonymizing Sequential Releases, KDD 2006"
PEOPLE, PERSON, PAIRS = "people", "person", "pairs"
"""For Y: the people of the new table (the paper's Pid), or the rows of the join."""


@dataclass(frozen=True)
class Linking(Principle):
    """What both have in common: attributes X that somebody knows, and Y that may be linked."""

    paper: ClassVar[str] = SEQUENTIAL
    monotone: ClassVar[bool] = True
    joins: ClassVar[bool] = True

    x: Sequence[str]
    y: Sequence[str] | str

    def __post_init__(self) -> None:
        if self.on is not None:
            raise SchemaError(f"{self.title} says what it is about by x and y, not by on.")
        if self.y == PERSON:
            object.__setattr__(self, "y", PEOPLE)
        given = {}
        for name in ("x", "y"):
            value = getattr(self, name)
            if name == "y" and value in (PEOPLE, PAIRS):
                continue
            if isinstance(value, str) or not value or not all(isinstance(v, str) for v in value):
                wanted = "a list of attributes" + (f", {PEOPLE!r} or {PAIRS!r}" * (name == "y"))
                raise SchemaError(f"{name} = {value!r}: give {wanted}.")
            given[name] = tuple(dict.fromkeys(value))
            object.__setattr__(self, name, given[name])
        both = sorted(set(given["x"]) & set(given.get("y", ())))
        if both:
            raise SchemaError(f"x and y both have {both[0]!r}.", hint="List it in one of them.")

    @property
    def told(self) -> str:
        """X in words."""
        return ", ".join(self.x)


@dataclass(frozen=True)
class XYAnonymity(Linking):
    """Every X-group of the join has at least ``k`` different values of Y (Definition 3.1).

    >>> groups = Groups.of([["flu", "ulcer"], ["flu", "flu"]])
    >>> XYAnonymity(x=["job"], y=["disease"], k=2).admits(groups).tolist()
    [True, False]

    **Guarantee**: whoever knows X of a person, joins this table with the earlier ones and finds
    the rows that fit, finds at least k different values of Y. With ``y="person"`` these are people
    of the new table, by their key if they have several rows (the paper's Pid, Example 2), which is
    k-anonymity if X covers what tables share. It bounds no probability.
    """

    title: ClassVar[str] = "xy-anonymity"
    leaves_open: ClassVar[str] = (
        "A value of Y may be near certain as long as others occur with the same X."
    )

    k: int

    def __post_init__(self) -> None:
        super().__post_init__()
        require_whole("k", self.k)

    def admits(self, groups: Groups) -> Bools:
        """At least k different values; of people and rows, each is different."""
        return (groups.sizes if isinstance(self.y, str) else groups.distinct) >= self.k

    def feasible(self, whole: Groups) -> Feasibility:
        """Reachable up to what one group of everything has."""
        most = int((whole.sizes if isinstance(self.y, str) else whole.distinct)[0])
        return Feasibility(most >= self.k, f"all together have {most:,}: k ≤ {most}")

    def over_rows(self, rows: int, together: int) -> XYAnonymity:
        """So many rows that they are of k people; or values that nobody has all of a k-th of."""
        return replace(self, k=self.k * (together if isinstance(self.y, str) else rows))

    @property
    def min_size(self) -> int:
        """One row per value."""
        return self.k

    @property
    def promise(self) -> str:
        """In words."""
        what = {PEOPLE: "people", PAIRS: "rows"}.get(str(self.y))
        of = what or f"values of {', '.join(self.y)}"
        return (
            f"Who knows {self.told} and joins this table with the earlier ones finds at least "
            f"{self.k} different {of}."
        )


@dataclass(frozen=True)
class XYLinkability(Linking):
    """No value of Y has more than ``k`` of the rows of an X-group of the join (Definition 3.2).

    ``values`` names the values of Y that matter, if not all do; as a table, each with a threshold
    of its own. Of several attributes Y it is a table of such tables, and says the same as one
    principle for each attribute: it bounds the belief in each one's values, whatever the others.

    >>> groups = Groups.of([["hiv"] * 9 + ["diabetes"], ["hiv", "diabetes"]])
    >>> XYLinkability(x=["job"], y=["test"], k="1/2").admits(groups).tolist()
    [False, True]
    >>> XYLinkability(x=["job"], y=["test"], k="1/2", values=["diabetes"]).admits(groups).tolist()
    [True, True]
    >>> both = {"test": {"hiv": "1/4"}, "drug": ["azt"]}
    >>> for part in XYLinkability(x=["job"], y=["test", "drug"], k="1/2", values=both).parts:
    ...     print(part.y, part.values)
    ('test',) {'hiv': '1/4'}
    ('drug',) ('azt',)

    **Guarantee**: whoever knows X of a person, joins this table with the earlier ones and takes the
    rows that fit for equally likely, believes no such value of Y with more than k.
    """

    title: ClassVar[str] = "xy-linkability"
    leaves_open: ClassVar[str] = (
        "Rows of the join are not equally likely to who knows more than how tables are matched."
    )

    k: Number
    values: Sequence[str] | Mapping[str, Number | Sequence[str] | Mapping[str, Number]] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        require_ratio("k", self.k, 0, 1)
        if isinstance(self.y, str):
            raise SchemaError(f"y = {self.y!r}: people are counted by xy-anonymity.")
        if isinstance(self.values, str):
            raise SchemaError(f"values = {self.values!r}: give a list of values of {self.y[0]}.")
        if self.values and len(self.y) > 1:
            self._read_tables()
        elif isinstance(self.values, Mapping):
            for value, most in self.values.items():
                require_ratio(f"values.{value}", most, 0, 1)  # type: ignore[arg-type]
            object.__setattr__(self, "values", ThresholdTable(self.values))
        else:
            object.__setattr__(self, "values", tuple(self.values))

    def over_rows(self, rows: int, together: int) -> Principle:
        """Of each row, that many times less is believed."""
        if len(self.parts) > 1:
            return reduce(and_, (part.over_rows(rows, together) for part in self.parts))
        values = self.values
        if isinstance(values, Mapping):
            counted = {value: self.threshold(value) for value in values}
            values = {value: most / rows for value, most in counted.items() if most < 1}
        return replace(self, k=ratio(self.k) / rows, values=values)

    def _read_tables(self) -> None:
        """Refuse tables of values that are not one for each attribute of Y."""
        tables = self.values if isinstance(self.values, Mapping) else {}
        given = [v for v in tables.values() if v and isinstance(v, Mapping | list | tuple)]
        if sorted(tables) != sorted(self.y) or len(given) < len(tables):
            raise SchemaError(
                f"values = {self.values!r}: there are several attributes y.",
                hint='Give values of each: values = { test = { hiv = "1/4" }, drug = ["azt"] }.',
            )
        parts = [
            XYLinkability(self.x, (name,), self.k, tables[name])  # type: ignore[arg-type]
            for name in self.y
        ]
        read = ThresholdTable({part.y[0]: part.values for part in parts})
        object.__setattr__(self, "values", read)

    @property
    def parts(self) -> tuple[Principle, ...]:
        """One for each attribute, where values of several are named."""
        if len(self.y) < 2 or not isinstance(self.values, Mapping):
            return (self,)
        return tuple(
            XYLinkability(self.x, (name,), self.k, self.values[name])  # type: ignore[arg-type]
            for name in self.y
        )

    def threshold(self, value: str) -> Fraction:
        """The most of a group's rows a value may have; 1 for one that does not matter."""
        if not self.values:
            return ratio(self.k)
        if isinstance(self.values, Mapping):
            return ratio(self.values.get(value, 1))  # type: ignore[arg-type]
        return ratio(self.k) if value in self.values else Fraction(1)

    def admits(self, groups: Groups) -> Bools:
        """No value above its threshold."""
        most = [self.threshold(text) for text in groups.domain.texts]
        shares = list(dict.fromkeys(most))
        return keep_shares(groups, shares, np.array([shares.index(share) for share in most]))

    def feasible(self, whole: Groups) -> Feasibility:
        """Averages over groups cannot be below those of all together."""
        shares = [
            (Fraction(int(w), int(whole.sizes[0])), whole.domain.texts[c])
            for c, w in zip(whole.codes, whole.weights, strict=True)
            if self.threshold(whole.domain.texts[c]) < 1
        ]
        over = [(share, text) for share, text in shares if share > self.threshold(text)]
        share, text = max(over or shares or [(Fraction(0), "nothing")])
        best = f"{text} has {float(share):.1%} of all rows: k ≥ {float(share):.4g}"
        return Feasibility(not over, best)

    @property
    def promise(self) -> str:
        """In words."""
        if len(self.parts) > 1:
            return " ".join(part.promise for part in self.parts)
        meant = f"values of {', '.join(self.y)}"
        if isinstance(self.values, Mapping):
            limits = ", ".join(f"{v} with at most {float(self.threshold(v)):.4g}"
                               for v in self.values)  # fmt: skip
            said = f"believes {limits}"
        else:
            named = f" {', '.join(self.values)}" if self.values else f" of the {meant}"
            said = f"believes none{named} with more than {float(ratio(self.k)):.4g}"
        return f"Who knows {self.told} and joins this table with the earlier ones {said}."
