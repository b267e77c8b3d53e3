"""Star joins: what several earlier releases make of rows of the new table, without joining them.

Wang and Fung, KDD 2006, section 7: the weights of what matches a row multiply. Earlier releases
that share no attribute with each other are independent then, and each is summed by itself, down to
what it shows of X and Y. Those that share attributes make a branch: they are joined one after the
other, and what no later one is matched by is summed at once. So everything is as large as there are
combinations of X, Y and what is shared, however many records and releases there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import mul

import numpy as np
import polars as pl

from discreet.errors import SchemaError
from discreet.publishing.methods.lossy_join import (
    LARGEST,
    EarlierTable,
    EarlierTables,
    refuse_counting,
)
from discreet.table.arrays import Bools, Ints
from discreet.table.coded_table import CodedTable
from discreet.table.microdata import representatives, row_ids

MOST = 10_000_000
"""More combinations of X, Y and what is shared are not kept."""
MOST_CELLS = 500_000_000
"""More pairs of what is shown here and there are not matched."""
AT_ONCE = 2_000_000
"""So many pairs are looked at before they are summed."""
RUNS = 500
"""Rows of single codes that are matched at a time."""


@dataclass(frozen=True, eq=False)
class Arm:
    """What matters of one earlier release."""

    keys: EarlierTable
    """What the new table is matched by."""
    joined: list[str]
    """The attributes of the new table that decide it."""
    rows: pl.DataFrame
    """Distinct combinations: the ``key``, labels of what other releases share (``3:age`` is that of
    release 3), numbers of what it shows of X (``x3``) and Y (``y3``), and their weight ``w``."""
    labels: Sequence[str]
    """What it shares with others of its branch."""

    @property
    def told(self) -> list[str]:
        """The columns of X and Y."""
        return [name for name in self.rows.columns if name.startswith(("x", "y"))]

    @property
    def tells_y(self) -> bool:
        """Whether any of Y is in it."""
        return any(name.startswith("y") for name in self.told)


@dataclass(frozen=True, eq=False)
class JoinBranch:
    """Earlier releases that share attributes with each other, directly or through others."""

    data: CodedTable
    arms: Mapping[int, Arm]
    history: EarlierTables

    @cached_property
    def joined(self) -> list[str]:
        """The attributes of the new table that decide what matches."""
        return list(dict.fromkeys(name for arm in self.arms.values() for name in arm.joined))

    @cached_property
    def _order(self) -> list[int]:
        """Small ones first, and each after one that it shares something with."""
        left = sorted(self.arms, key=lambda i: self.arms[i].rows.height)
        found = [left.pop(0)]
        while left:
            known = {name for i in found for name in self.arms[i].labels}
            near = next(i for i in left if known & {*self.arms[i].labels})
            left.remove(near)
            found.append(near)
        return found

    @cached_property
    def _met(self) -> dict[tuple[int, int, str], pl.DataFrame]:
        """Which labels meet of an attribute that two of them share, pair by pair."""
        found = {}
        for at, i in enumerate(self._order):
            for j in self._order[:at]:
                for name in {*self.arms[i].labels} & {*self.arms[j].labels}:
                    flags = self.history.met[min(i, j), max(i, j), name]
                    met = np.nonzero(flags if j < i else flags.T)
                    columns = (f"{j}:{name}", f"{i}:{name}")
                    found[j, i, name] = pl.DataFrame(dict(zip(columns, met, strict=True)))
        return found

    def weigh(self, low: Ints, high: Ints, *, counted: bool = True) -> pl.DataFrame:
        """Give what goes with runs of codes of ``joined`` (rows): X, Y and the weight ``w``.

        Rows are distinct by their ``run``, X and Y; a run that matches nothing has none. Not
        ``counted``, weights are 1: of what is only asked whether it is there.
        """
        made = pl.DataFrame({"run": np.arange(len(low)), "w": np.ones(len(low), dtype=np.int64)})
        told = ["run"]
        for place, i in enumerate(self._order):
            arm, later = self.arms[i], self._order[place + 1 :]
            at = [self.joined.index(name) for name in arm.joined]
            number = row_ids((*low[:, at].T, *high[:, at].T), len(low))
            first = representatives(number)
            part = self._match(arm, low[first][:, at], high[first][:, at], counted)
            if len(self.arms) == 1 and len(first) == len(low):
                return part.with_columns(run=pl.Series(first).gather(part["at"])).drop("at")
            tied = {key: met for key, met in self._met.items() if key[1] == i}
            told += arm.told
            wanted = {name for j in later for name in self.arms[j].labels}
            own = [f"{i}:{name}" for name in arm.labels if name in wanted]
            if tied:
                part = _translate(part, made, list(tied.values()), [*own, *arm.told], counted)
            before = [c for c in made.columns if ":" in c]
            open_still = [c for c in before if c.split(":", 1)[1] in wanted]
            made = made.with_columns(at=pl.Series(number[made["run"].to_numpy()]))
            ends = ["at", *dict.fromkeys(met.columns[0] for met in tied.values())]
            made = multiply(made, part, ends, [*told, *open_still, *own], counted=counted)
        return made

    def _match(self, arm: Arm, low: Ints, high: Ints, counted: bool) -> pl.DataFrame:
        """Give the rows of one release that match runs (``at``)."""
        if len(low) * len(arm.keys.weights) > MOST_CELLS:
            raise SchemaError(
                f"{len(low):,} combinations here and {len(arm.keys.weights):,} in an earlier "
                "release are too many to match.",
                hint="Give what tables share taxonomies or coarser values, or put it into X.",
            )
        columns = ["at", *(c for c in arm.rows.columns if c not in ("key", "w"))]
        step, found, height = max(AT_ONCE // max(arm.rows.height, 1), 1), [], 0
        for start in range(0, max(len(low), 1), step):
            part = slice(start, start + step)
            met = arm.keys.match(self.data, arm.joined, low[part], high[part], self.history.rules)
            at, key = np.nonzero(met)
            pairs = pl.DataFrame({"at": at + start, "key": key})
            found.append(_add(pairs.join(arm.rows, on="key"), columns, counted=counted))
            height += found[-1].height
            _require_room(height)
        return pl.concat(found)


def grow(
    history: EarlierTables,
    data: CodedTable,
    names: Sequence[str],
    x: Sequence[str] = (),
    y: Sequence[str] = (),
    *,
    settled: bool = False,
) -> list[JoinBranch]:
    """Sort earlier releases into branches, each with what matters of it.

    Given are the attributes by which the new table may be matched, and those of X and Y. Of Y the
    first release that has an attribute counts. ``settled``, releases need not be compared by what
    they share with the new table (:meth:`EarlierTables.settle`).
    """
    tables = history.tables
    tying = [{*table.names} - {*(names if settled else ())} for table in tables]
    near: list[set[int]] = []
    for i in range(len(tables)):
        touched = [b for b in near if any(tying[j] & tying[i] for j in b)]
        near = [b for b in near if b not in touched] + [{i}.union(*touched)]
    branches = []
    for members in near:
        arms = {}
        for i in sorted(members):
            others = {name for j in members - {i} for name in tying[i] & tying[j]}
            told = [name for name in y if name in tables[i].names and history.find_first(name) == i]
            arms[i] = _bend(i, tables[i], history, names, others, x, told)
        branches.append(JoinBranch(data, arms, history))
    return branches


def _bend(
    i: int,
    table: EarlierTable,
    history: EarlierTables,
    names: Sequence[str],
    others: set[str],
    x: Sequence[str],
    y: Sequence[str],
) -> Arm:
    """Keep what matters of a release."""
    joined = table.joined(names, history.rules)
    keyed = {*names, *(rule.there for rule in history.rules)}
    columns = {"key": table.number(keyed)}
    for column, codes in zip(table.columns, table.codes, strict=True):
        if column.name in others:
            columns[f"{i}:{column.name}"] = codes
    for mark, told in (("x", x), ("y", y)):
        if any(name in table.names for name in told):
            columns[f"{mark}{i}"] = table.number(told)
    rows = pl.DataFrame({**columns, "w": table.weights})
    rows = rows.group_by([*columns]).agg(pl.col("w").sum())
    return Arm(table.take(keyed), joined, rows, sorted(others))


def _translate(
    part: pl.DataFrame, made: pl.DataFrame, met: list[pl.DataFrame], kept: list[str], counted: bool
) -> pl.DataFrame:
    """Say what is shared in the labels of the releases before, and sum what is alike then."""
    # what tells most labels apart first: it leaves the fewest pairs
    met = sorted(met, key=lambda pairs: -pairs[pairs.columns[1]].n_unique())
    ours = [*dict.fromkeys(labels.columns[0] for labels in met)]
    pairs, theirs = made.select(ours).unique(), list[str]()
    for labels in met:
        one, other = labels.columns
        on = [one, other] if other in theirs else [one]
        theirs = [*dict.fromkeys([*theirs, other])]
        pairs = pairs.join(labels, on=on)
        pairs = pairs.join(part.select(theirs).unique(), on=theirs, how="semi")
        _require_room(pairs.height)
    pairs = pairs.with_columns(w=pl.lit(1, pl.Int64))
    return multiply(part, pairs, theirs, ["at", *ours, *kept], counted=counted)


def join_branches(here: pl.DataFrame, parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Sum, over the rows of a new table, what goes with each in all branches.

    A row has its weight ``w`` and, in ``q0``, ``q1``, …, its run in each of the parts that
    :meth:`JoinBranch.weigh` gave. All other columns are kept.
    """
    for i, part in sorted(enumerate(parts), key=lambda found: found[1].width):
        run = f"q{i}"
        kept = [c for c in (*here.columns, *part.columns) if c not in (run, "run", "w")]
        here = multiply(here, part.rename({"run": run}), [run], kept)
    return here


def sum_frames(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Put what was summed for different rows of the new table together."""
    whole = pl.concat(frames, how="diagonal").fill_null(-1)
    if len(frames) > 1:
        whole = _add(whole, [name for name in whole.columns if name != "w"], counted=True)
    if whole["w"].cast(pl.Float64).sum() > LARGEST:
        raise refuse_counting()
    return whole


def multiply(
    left: pl.DataFrame,
    right: pl.DataFrame,
    on: Sequence[str],
    kept: Sequence[str],
    *,
    counted: bool = True,
) -> pl.DataFrame:
    """Join two frames; multiply weights, and add up those of what is alike in some columns."""
    right, pieces, room = right.rename({"w": "v"}), list[pl.DataFrame](), AT_ONCE
    for piece in _cut(left, right, on):
        pieces.append(_add(piece.join(right, on=on), kept, ("w", "v"), counted=counted))
        height = sum(each.height for each in pieces)
        if height > room:
            pieces = [_add(pl.concat(pieces), kept, counted=counted)]
            room = AT_ONCE + pieces[0].height
            _require_room(pieces[0].height)
    return pieces[0] if len(pieces) == 1 else _add(pl.concat(pieces), kept, counted=counted)


def _cut(left: pl.DataFrame, right: pl.DataFrame, on: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Cut rows into pieces that have not too many partners each."""
    if left.height * right.height <= AT_ONCE:
        yield left
        return
    partners = left.select(on).join(
        right.group_by(on).agg(often=pl.len().cast(pl.Int64)),
        on=on, how="left", maintain_order="left",
    )["often"].fill_null(0).to_numpy()  # fmt: skip
    piece = (np.cumsum(partners) - partners) // AT_ONCE
    ends = np.flatnonzero(np.diff(piece, append=piece[-1:] + 1)) + 1
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        yield left[int(start) : int(end)]


def _add(
    found: pl.DataFrame, kept: Sequence[str], factors: Sequence[str] = ("w",), *, counted: bool
) -> pl.DataFrame:
    """Add up products of weights; not counted, say only what there is."""
    if not counted:
        return found.select(kept).unique().with_columns(w=pl.lit(1, pl.Int64))
    exact = reduce(mul, (pl.col(name) for name in factors))
    about = reduce(mul, (pl.col(name).cast(pl.Float64) for name in factors))
    whole = found.group_by(kept).agg(exact.sum().alias("w"), about.sum().alias("about"))
    # none is negative: as long as no sum is beyond that, no product was
    if whole.height and whole["about"].max() > LARGEST:  # type: ignore[operator]
        raise refuse_counting()
    return whole.drop("about")


def _require_room(height: int) -> None:
    if height > MOST:
        raise refuse_size()


def refuse_size() -> SchemaError:
    """Say that there are too many combinations."""
    return SchemaError(
        f"The earlier releases show more than {MOST:,} combinations of X, Y and what tables share.",
        hint="Leave attributes of earlier releases out of X, or check against fewer at a time.",
    )


def find_unmatched(
    history: EarlierTables, data: CodedTable, names: Sequence[str], rows: Ints
) -> tuple[Bools, int]:
    """Find who matches nobody: rows of codes of some attributes, and records of earlier releases.

    A record matches if some row does with which it, and records of all other releases, match each
    other too. Of combinations that are merely possible most are nobody's, and none is counted.
    """
    branches = grow(history, data, names)
    numbers, runs, there = [], [], np.ones(len(rows), dtype=bool)
    for branch in branches:
        at = [names.index(name) for name in branch.joined]
        numbers.append(row_ids(rows[:, at].T, len(rows)))
        runs.append(rows[representatives(numbers[-1])][:, at])
        matched = np.zeros(len(runs[-1]), dtype=bool)
        for part, found in _weigh_some(branch, runs[-1]):
            matched[part[found["run"].to_numpy()]] = True
        there &= matched[numbers[-1]]
    lost = 0
    for branch, number, shown in zip(branches, numbers, runs, strict=True):
        used = shown[np.unique(number[there])]
        for i, arm in branch.arms.items():
            if history.tables[i].counted:
                named = arm.rows.with_columns(pl.Series(f"x{i}", np.arange(arm.rows.height)))
                last = replace(branch, arms={**branch.arms, i: replace(arm, rows=named)})
                met = np.zeros(arm.rows.height, dtype=bool)
                for _, found in _weigh_some(last, used):
                    met[found[f"x{i}"].to_numpy()] = True
                lost += int(arm.rows["w"].to_numpy()[~met].sum())
    return ~there, lost


def _weigh_some(branch: JoinBranch, runs: Ints) -> Iterator[tuple[Ints, pl.DataFrame]]:
    """Say what goes with single codes, not too many rows at a time; and which rows these are."""
    for start in range(0, len(runs), RUNS):
        part = np.arange(start, min(start + RUNS, len(runs)))
        yield part, branch.weigh(runs[part], runs[part], counted=False)
