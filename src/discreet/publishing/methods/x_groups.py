"""X-groups: for every combination of X in a lossy join, the values of Y that go with it.

Wang and Fung, KDD 2006, Definitions 3.1 and 3.2, counted over matching partitions. Where X covers
everything that tables are matched by, a group of the join is a partition of the new table times
what matches it, which makes limits for the search (cases 1 to 4 of section 5.4, corrected). Else
groups are listed, exactly, for every step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from discreet.principles.groups import Groups
from discreet.principles.linking import PAIRS, PEOPLE, Linking, XYAnonymity, XYLinkability
from discreet.publishing.methods.lossy_join import JoinedEarlier
from discreet.publishing.partitioners.specialization import Limit, TableCheck
from discreet.table.arrays import Ints
from discreet.table.domain import Domain
from discreet.table.microdata import Microdata, representatives, row_ids
from discreet.table.schema import Attribute, Role, Type


@dataclass(frozen=True, eq=False)
class Link:
    """A principle of a join, with its attributes sorted by table."""

    principle: Linking
    data: Microdata
    history: JoinedEarlier
    names: tuple[str, ...]
    """The attributes that are generalized."""
    weights: Ints | None = None
    """How many people each row of the table stands for, where that is not one."""

    @property
    def known(self) -> list[str]:
        """X in the new table."""
        return [name for name in self.names if name in self.principle.x]

    @property
    def told(self) -> list[str]:
        """Y in the new table."""
        y = self.principle.y
        return [] if isinstance(y, str) else [name for name in y if name in self._shown]

    @property
    def told_before(self) -> list[str]:
        """Y in earlier tables."""
        y = self.principle.y
        return [] if isinstance(y, str) else [name for name in y if name not in self._shown]

    @property
    def joined(self) -> list[str]:
        """What tables are matched by."""
        return self.history.joined(self._shown)

    @property
    def _shown(self) -> list[str]:
        return self.data.schema.published.names

    def limit(self) -> Limit | None:
        """The principle as a limit on partitions of the new table, where that says the same."""
        known_before = any(name in self.principle.x for name in self.history.names)
        covered = set(self.joined) <= set(self.known)
        told_too = set(self.joined) <= {*self.known, *self.told}
        anonymity = isinstance(self.principle, XYAnonymity)
        if set(self.known) != set(self.names):
            return None
        if not (covered or (anonymity and not known_before) or (not anonymity and told_too)):
            return None
        if isinstance(self.principle, XYAnonymity):
            if self.principle.y == PEOPLE or (self.told and not self.told_before):
                return Limit(self._number_told(), self.principle.k)
            if covered and self.principle.y != PEOPLE and (self.told or self.principle.y == PAIRS):
                return Limit(self._number_told(), self.principle.k, times=self._multiply())
            return None
        if self.told_before:
            return None
        assert isinstance(self.principle, XYLinkability)
        values = self._number_told()
        assert values is not None
        most = [self.principle.threshold(text) for text in self._word_told()]
        above = np.array([share.numerator for share in most], dtype=np.int64)
        below = np.array([0 if share == 1 else share.denominator for share in most], dtype=np.int64)
        return Limit(values, above=above, below=below, weigh=None if covered else self._repeat())

    def _number_told(self) -> Ints | None:
        if self.principle.y == PEOPLE and self.data.persons is not None:
            return self.data.persons.units
        return self.data.number(self.told) if self.told else None

    def _word_told(self) -> list[str]:
        first = representatives(self.data.number(self.told))
        return [
            ", ".join(self.data.domains[n].texts[self.data.codes[n][row]] for n in self.told)
            for row in first
        ]

    def _multiply(self) -> Callable[[Ints, Ints], Ints]:
        """Of runs: the least that the earlier tables add, over all X of theirs that match."""
        history, joined = self.history, self.joined
        at = [self.names.index(name) for name in joined]
        group = history.number(list(self.principle.x))
        told = history.number_once(self.told_before)
        known: dict[bytes, int] = {}

        def count(low: Ints, high: Ints) -> int:
            met = history.match(self.data, joined, low, high)[0]
            if self.principle.y == PAIRS:
                sums = np.bincount(group[met], weights=history.weights[met])
                return int(sums[sums > 0].min())
            pairs = np.unique(np.stack([group[met], told[met]], axis=1), axis=0)
            different = np.bincount(pairs[:, 0])
            return int(different[different > 0].min())

        def times(low: Ints, high: Ints) -> Ints:
            distinct, which = _distinct_runs(low[:, at], high[:, at])
            found = np.empty(len(distinct), dtype=np.int64)
            for i, run in enumerate(distinct):
                key = run.tobytes()
                if key not in known:
                    known[key] = count(run[None, : len(at)], run[None, len(at) :])
                found[i] = known[key]
            return found[which]

        return times

    def _repeat(self) -> Callable[[Ints, Ints], tuple[Ints, list[Ints]]]:
        """Of one partition's runs: how many earlier rows go with each Y, by X of earlier tables.

        For Y that tables are matched by as well: then rows of a partition match different rows.
        """
        history, joined = self.history, self.joined
        at = [name for name in joined if name in self.names]
        places = [self.names.index(name) for name in at]
        first = representatives(self.data.number(self.told))
        group = history.number(list(self.principle.x))
        known: dict[bytes, Ints] = {}

        def repeat(low: Ints, high: Ints) -> Ints:
            ends = [
                np.stack([
                    np.full(len(first), end[at.index(n)]) if n in at
                    else self.data.codes[n][first].astype(np.int64)
                    for n in joined
                ], axis=1)
                for end in (low, high)
            ]  # fmt: skip
            met = history.match(self.data, joined, *ends)
            found = np.zeros((int(group.max()) + 1, len(first)), dtype=np.int64)
            y, w = np.nonzero(met)
            np.add.at(found, (group[w], y), history.weights[w])
            return np.asarray(found[found.any(axis=1)])

        def weigh(low: Ints, high: Ints) -> tuple[Ints, list[Ints]]:
            distinct, which = _distinct_runs(low[:, places], high[:, places])
            for run in distinct:
                if run.tobytes() not in known:
                    known[run.tobytes()] = repeat(run[: len(at)], run[len(at) :])
            return which, [known[run.tobytes()] for run in distinct]

        return weigh

    def check(self) -> TableCheck:
        """The principle as a question about the whole join."""

        def ask(low: Ints, high: Ints, row_of: Ints) -> tuple[bool, float]:
            groups = self.list_groups(low[row_of], high[row_of])
            good = bool(self.principle.admits(groups).all())
            if isinstance(self.principle, XYAnonymity):
                counts = groups.sizes if isinstance(self.principle.y, str) else groups.distinct
                return good, float(counts.min())
            assert isinstance(self.principle, XYLinkability)
            most = [self.principle.threshold(text) < 1 for text in groups.domain.texts]
            shares = groups.weights / groups.sizes[groups.owners]
            return good, -float(shares[np.array(most)[groups.codes]].max(initial=0))

        return ask

    def list_groups(self, low: Ints, high: Ints) -> Groups:
        """List the X-groups of the join with a table that shows runs of codes of ``names``."""
        at = [self.names.index(name) for name in self.known]
        known = _run_ids(low[:, at], high[:, at])
        joined = self.joined
        runs = [
            np.stack([ends[:, self.names.index(n)] if n in self.names else self.data.codes[n]
                      for n in joined], axis=1).astype(np.int64)
            if joined else np.zeros((self.data.n, 0), dtype=np.int64)
            for ends in (low, high)
        ]  # fmt: skip
        place = _run_ids(*runs)
        first = representatives(place)
        met = self.history.match(self.data, joined, runs[0][first], runs[1][first])
        told = self._number_told()
        each = np.ones(self.data.n, dtype=np.int64) if self.weights is None else self.weights
        y1 = np.zeros(self.data.n, dtype=np.int64) if told is None else told
        here = (
            pl.DataFrame({"place": place, "x1": known, "y1": y1, "w1": each})
            .group_by("place", "x1", "y1").agg(pl.col("w1").sum())
        )  # fmt: skip
        places, groups = np.nonzero(met)
        there = pl.DataFrame({
            "place": places,
            "x2": self.history.number(list(self.principle.x))[groups],
            "y2": self.history.number_once(self.told_before)[groups],
            "w2": self.history.weights[groups],
        }).group_by("place", "x2", "y2").agg(pl.col("w2").sum())  # fmt: skip
        if self.principle.y == PEOPLE:
            there = there.select("place", "x2", y2=0, w2=1).unique()
        rows = here.join(there, on="place").group_by("x1", "x2", "y1", "y2").agg(
            (pl.col("w1") * pl.col("w2")).sum().alias("w")
        )  # fmt: skip
        if self.principle.y == PEOPLE and told is not None:  # everybody once, by whatever row
            rows = rows.with_columns(y1=0, w=1).group_by("x1", "x2", "y1", "y2").agg(
                pl.col("w").sum().cast(pl.Int64))  # fmt: skip
        return self._pack(rows)

    def _pack(self, rows: pl.DataFrame) -> Groups:
        rows = rows.with_columns(
            x=pl.struct("x1", "x2").rank("dense") - 1, y=pl.struct("y1", "y2").rank("dense") - 1
        ).sort("x", "y")
        x, y = rows["x"].to_numpy().astype(np.int64), rows["y"].to_numpy().astype(np.int32)
        first = rows.unique("y", keep="first").sort("y")
        texts = [self._word(a, b) for a, b in first.select("y1", "y2").iter_rows()]
        attribute = Attribute(str(self.principle.y), Role.SENSITIVE, Type.CATEGORY)
        domain = Domain(attribute, np.array(texts, dtype=object))
        return Groups.from_entries(x, y, rows["w"].to_numpy().astype(np.int64), domain)

    def _word(self, here: int, there: int) -> str:
        return ", ".join(words[i] for words, i in zip(self._words, (here, there), strict=True)
                         if words)  # fmt: skip

    @cached_property
    def _words(self) -> tuple[list[str], list[str]]:
        """Every Y of the new table, and of earlier ones, in words."""
        here = self._word_told() if self.told else []
        if not self.told_before:
            return here, []
        history = self.history
        places = history.find_first(self.told_before)
        first = representatives(history.number_once(self.told_before))
        there = [
            ", ".join(history.columns[i].labels.texts[history.codes[i][row]] for i in places)
            for row in first
        ]
        return here, there


def _run_ids(low: Ints, high: Ints) -> Ints:
    """Number rows of runs."""
    return row_ids((*low.T, *high.T), len(low))


def _distinct_runs(low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """Give the different rows of runs, first and last codes side by side; and which each row is."""
    number = _run_ids(low, high)
    first = representatives(number)
    return np.concatenate([low, high], axis=1)[first], number
