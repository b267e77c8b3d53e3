"""X-groups: for every combination of X in a lossy join, the values of Y that go with it.

Wang and Fung, KDD 2006, Definitions 3.1 and 3.2, counted over matching partitions. Where X covers
everything that tables are matched by, a group of the join is a partition of the new table times
what matches it, which makes limits for the search (cases 1 to 4 of section 5.4, corrected). Else
groups are listed, exactly, for every step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl

from discreet.principles.groups import Groups
from discreet.principles.linking import PAIRS, PEOPLE, Linking, XYAnonymity, XYLinkability
from discreet.publishing.methods.lossy_join import LARGEST, EarlierTables, refuse_counting
from discreet.publishing.methods.star_joins import (
    MOST,
    JoinBranch,
    grow,
    join_branches,
    refuse_size,
    sum_frames,
)
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
    history: EarlierTables
    names: tuple[str, ...]
    """The attributes that are generalized."""
    weights: Ints | None = None
    """How many people each row of the table stands for, where that is not one."""
    _grown: dict[tuple[bool, bool], list[JoinBranch]] = field(default_factory=dict, init=False)

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

    @cached_property
    def branches(self) -> list[JoinBranch]:
        """Earlier releases, as far as X and Y are about them."""
        return self._grow(settled=False, judged=False)

    def _grow(self, *, settled: bool, judged: bool) -> list[JoinBranch]:
        """The same where the new table settles what is shared; or as far as they decide.

        Where X covers what tables are matched by, a group is one partition's, and what a branch
        without Y shows goes with all of its Y alike: shares and different values stay as they are.
        """
        key = settled, judged
        if key not in self._grown:
            given = self.history, self.data, self.joined
            found = grow(*given, self.principle.x, self.told_before, settled=settled)
            if judged and self.principle.y != PAIRS and set(self.joined) <= set(self.known):
                alone = grow(*given, (), self.told_before, settled=settled)
                found = [branch if any(arm.tells_y for arm in branch.arms.values()) else plain
                         for branch, plain in zip(found, alone, strict=True)]  # fmt: skip
            self._grown[key] = found
        return self._grown[key]

    def _multiply(self) -> Callable[[Ints, Ints], Ints]:
        """Of runs: the least that the earlier tables add, over all X of theirs that match.

        Branches show their X whatever others do, so the least of all is the product of the least.
        """
        people = self.data.n if self.weights is None else int(self.weights.sum())
        pairs = self.principle.y == PAIRS
        known: list[dict[bytes, int]] = [{} for _ in self.branches]

        def count(branch: JoinBranch, low: Ints, high: Ints) -> Ints:
            found = branch.weigh(low, high, counted=pairs)
            x = [name for name in found.columns if name.startswith("x")]
            often = found.group_by("run", *x).agg(pl.col("w").sum())
            least = often.group_by("run").agg(pl.col("w").min())
            counts = np.zeros(len(low), dtype=np.int64)
            counts[least["run"].to_numpy()] = least["w"].to_numpy()
            return counts

        def times(low: Ints, high: Ints) -> Ints:
            product = np.ones(len(low), dtype=np.int64)
            for branch, counted in zip(self.branches, known, strict=True):
                at = [self.names.index(name) for name in branch.joined]
                distinct, which = _distinct_runs(low[:, at], high[:, at])
                keys = [run.tobytes() for run in distinct]
                new = [i for i, key in enumerate(keys) if key not in counted]
                if new:
                    found = count(branch, distinct[new, : len(at)], distinct[new, len(at) :])
                    counted.update(zip([keys[i] for i in new], found.tolist(), strict=True))
                factor = np.array([counted[key] for key in keys], dtype=np.int64)[which]
                if float(product.max(initial=1)) * float(factor.max(initial=1)) * people > LARGEST:
                    raise refuse_counting()
                product *= factor
            return product

        return times

    def _repeat(self) -> Callable[[Ints, Ints], tuple[Ints, list[Ints]]]:
        """Of one partition's runs: how many earlier rows go with each Y, by X of earlier tables.

        For Y that tables are matched by as well: then rows of a partition match different rows.
        """
        at = [name for name in self.joined if name in self.names]
        places = [self.names.index(name) for name in at]
        first = representatives(self.data.number(self.told))
        people = self.data.n if self.weights is None else int(self.weights.sum())
        known: dict[bytes, Ints] = {}

        def repeat(low: Ints, high: Ints) -> Ints:
            found = np.ones((1, len(first)), dtype=np.int64)
            for branch in self.branches:
                ends = [
                    np.stack([
                        np.full(len(first), end[at.index(n)]) if n in at
                        else self.data.codes[n][first].astype(np.int64)
                        for n in branch.joined
                    ], axis=1) if branch.joined else np.zeros((len(first), 0), dtype=np.int64)
                    for end in (low, high)
                ]  # fmt: skip
                found = _multiply_rows(found, _spread(branch.weigh(*ends), len(first)), people)
            return found

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
            groups = self.judge_groups(low[row_of], high[row_of])
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
        return self._list(low, high, judged=False, counted=self.principle.y != PEOPLE)

    def judge_groups(self, low: Ints, high: Ints) -> Groups:
        """List them as far as they decide: groups that are as good as another may be missing.

        For k different values, how often each is there is not counted.
        """
        linked = isinstance(self.principle, XYLinkability)
        return self._list(low, high, judged=True, counted=linked or self.principle.y == PAIRS)

    def _list(self, low: Ints, high: Ints, *, judged: bool, counted: bool) -> Groups:
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
        places = runs[0][first], runs[1][first]
        told = self._number_told()
        each = np.ones(self.data.n, dtype=np.int64) if self.weights is None else self.weights
        y = np.zeros(self.data.n, dtype=np.int64) if told is None else told
        here = pl.DataFrame({"place": place, "x": known, "y": y, "w": each})
        here = here.group_by(pl.exclude("w")).agg(pl.col("w").sum())
        settled, found = self.history.settle(self.data, joined, *places), []
        for alike in (True, False):
            if (settled == alike).any():
                branches = self._grow(settled=alike, judged=judged)
                rows = here.filter(pl.Series(settled == alike).gather(here["place"]))
                found.append(self._join(rows, places, branches, counted))
        rows = sum_frames(found)
        if self.principle.y == PEOPLE and told is not None:  # everybody once, by whatever row
            rows = rows.drop("w").unique().drop("y").with_columns(y=0)
            rows = rows.group_by(pl.all()).agg(w=pl.len().cast(pl.Int64))
        return self._pack(rows)

    def _join(
        self, here: pl.DataFrame, places: tuple[Ints, Ints], branches: list[JoinBranch],
        counted: bool,
    ) -> pl.DataFrame:  # fmt: skip
        """Sum what goes with some of the places of the new table, by X and Y."""
        used = np.unique(here["place"].to_numpy())
        parts = []
        for i, branch in enumerate(branches):
            at = [self.joined.index(name) for name in branch.joined]
            distinct, which = _distinct_runs(*(ends[used][:, at] for ends in places))
            run = which[np.searchsorted(used, here["place"].to_numpy())]
            here = here.with_columns(pl.Series(f"q{i}", run))
            parts.append(branch.weigh(*np.hsplit(distinct, 2), counted=counted))
        return join_branches(here.drop("place"), parts)

    def _pack(self, rows: pl.DataFrame) -> Groups:
        x, y = ([name for name in rows.columns if name.startswith(mark)] for mark in "xy")
        numbered = rows.with_columns(
            group=pl.struct(x).rank("dense") - 1, code=pl.struct(y).rank("dense") - 1
        ).sort("group", "code")  # fmt: skip
        first = numbered.unique("code", keep="first").sort("code")
        texts = [self._word(row) for row in first.select(y).iter_rows(named=True)]
        attribute = Attribute(str(self.principle.y), Role.SENSITIVE, Type.CATEGORY)
        domain = Domain(attribute, np.array(texts, dtype=object))
        return Groups.from_entries(
            numbered["group"].to_numpy().astype(np.int64),
            numbered["code"].to_numpy().astype(np.int32),
            numbered["w"].to_numpy().astype(np.int64),
            domain,
        )

    def _word(self, row: dict[str, int]) -> str:
        """Say a Y of the join in words: what the new table shows, and what earlier ones do."""
        here = [self._words_here[row["y"]]] if self.told else []
        return ", ".join([*here, *(texts[row[column]] for column, texts in self._words_before)])

    @cached_property
    def _words_here(self) -> list[str]:
        return self._word_told()

    @cached_property
    def _words_before(self) -> list[tuple[str, list[str]]]:
        """Of each Y of earlier tables: the column of numbers, and what each of them shows."""
        found = []
        for name in self.told_before:
            i = self.history.find_first(name)
            table = self.history.tables[i]
            told = [other for other in self.told_before if self.history.find_first(other) == i]
            first = representatives(table.number(told))
            a = table.names.index(name)
            texts = table.columns[a].labels.texts
            found.append((f"y{i}", [texts[label] for label in table.codes[a][first]]))
        return found


def _run_ids(low: Ints, high: Ints) -> Ints:
    """Number rows of runs."""
    return row_ids((*low.T, *high.T), len(low))


def _distinct_runs(low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """Give the different rows of runs, first and last codes side by side; and which each row is."""
    number = _run_ids(low, high)
    first = representatives(number)
    return np.concatenate([low, high], axis=1)[first], number


def _spread(found: pl.DataFrame, runs: int) -> Ints:
    """Write out what goes with runs: a row per X, a column per run."""
    x = [name for name in found.columns if name.startswith("x")]
    number = row_ids((found[name].to_numpy() for name in x), found.height)
    table = np.zeros((int(number.max(initial=-1)) + 1, runs), dtype=np.int64)
    np.add.at(table, (number, found["run"].to_numpy()), found["w"].to_numpy())
    return table


def _multiply_rows(one: Ints, other: Ints, people: int) -> Ints:
    """Multiply each row of a table with each of another, and give the different ones.

    Shares that rows lead to stay as they are if a row is divided by what all of it can be.
    """
    if len(one) * other.size > MOST:
        raise refuse_size()
    if float(one.max(initial=0)) * float(other.max(initial=0)) > LARGEST:
        raise refuse_counting()
    rows = (one[:, None, :] * other[None]).reshape(-1, other.shape[1])
    rows = rows[rows.any(axis=1)]
    if len(rows):
        rows = np.unique(rows // np.gcd.reduce(rows, axis=1, keepdims=True), axis=0)
    if float(rows.max(initial=0)) * people > LARGEST:
        raise refuse_counting()
    return rows
