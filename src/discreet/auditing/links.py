"""Links: what follows from joining a release with earlier ones, by what is different in each.

Written against the published tables alone. Rows of tables may be one person's if what they show of
every common attribute has a value in common.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from discreet.errors import SchemaError
from discreet.principles.base import Principle
from discreet.principles.groups import Groups
from discreet.principles.linking import PAIRS, PEOPLE, Linking
from discreet.release import PossibleRecords, Release
from discreet.release.labels import Labels, read_labels
from discreet.table.arrays import Bools, Ints
from discreet.table.domain import Domain
from discreet.table.schema import Attribute, Role, Type, refuse_other_kind

MOST = 20_000_000
"""More combinations of X, Y and what tables share are not kept."""
AT_ONCE = 2_000_000
"""So many pairs are looked at before they are added up."""
LARGEST = 2**62
"""More rows of a join are not counted: 64 bits would not hold them."""
ALL, ROW = "#", "#row"
"""Columns: the same for all rows, and a number of its own for each."""


def list_x_groups(
    release: Release, table: pl.DataFrame, classes: Ints, earlier: Sequence[Release],
    part: Linking, times: pl.Series | None = None,
) -> tuple[Groups | None, Ints, list[int]]:  # fmt: skip
    """Join a release with earlier ones; give the X-groups, and pairs of a group and a class.

    Also, per table, how many of its records match nobody: they are not in what is counted. Those of
    the release may be different ones, which are shown so many ``times`` each.
    """
    named = _name(part)
    seen: dict[str, Attribute] = {}
    if release.own_records is None:
        raise _refuse_joining(release)
    for held in (release, *earlier):
        for attribute in held.schema:
            refuse_other_kind(attribute, seen.setdefault(attribute.name, attribute))
    for name in sorted(named - set(seen)):
        raise SchemaError(
            f"{part}: none of the releases given has {name!r}.", hint="Give all earlier ones."
        )
    shared = {
        name
        for one, other in combinations((release, *earlier), 2)
        for name in {*one.schema.names} & {*other.schema.names}
    }
    rules = _read_rules(release)
    shared |= {name for here, _, there, _ in rules for name in (here, there)}
    frames, labels, own = [], [], []
    for i, held in enumerate((release, *earlier)):
        names = [n for n in held.schema.names if n in named | shared]
        if i == 0:
            weights = np.ones(table.height, dtype=np.int64) if times is None else times.to_numpy()
            records = PossibleRecords(table, weights, own=True)
        else:
            records = _list_possible(held, names, part)
        frame = records.table
        own.append(records.own)
        read = {name: read_labels(held, frame, name) for name in names}
        labels.append({name: found for name, (found, _) in read.items()})
        columns = {f"{i}:{name}": number for name, (_, number) in read.items()}
        if i == 0:
            columns["class"] = classes
        everywhere = np.zeros(frame.height, dtype=np.int64)
        made = pl.DataFrame({ALL: everywhere, **columns, "w": records.weights})
        frames.append(_add_up(made, [ALL, *columns]))
    star = Star(frames, _find_ties(labels, rules))
    x = [f"{i}:{name}" for i, there in enumerate(labels) for name in there if name in part.x]
    if part.y == PEOPLE:
        rows = star.count_first(x)
        told: list[str] = []
    else:
        told = [] if part.y == PAIRS else [
            next(f"{i}:{name}" for i, there in enumerate(labels) if name in there)
            for name in part.y
        ]  # fmt: skip
        rows = star.add_up([*x, *told])
    # of combinations that are merely possible, most are nobody's
    met = [star.find_met(i) if own[i] else frame for i, frame in enumerate(frames)]
    lost = [int(frame["w"].sum()) - int(found["w"].sum())
            for frame, found in zip(frames, met, strict=True)]  # fmt: skip
    if not rows.height:
        return None, np.zeros((0, 2), dtype=np.int64), lost
    groups, first = _group(rows, x, told, labels, part)
    ours = [c for c in (ALL, *x) if c == ALL or c.startswith("0:")]
    owner = first.join(met[0].select("class", *ours).unique(), on=ours)
    return groups, owner.select("g", "class").to_numpy().astype(np.int64), lost


def _list_possible(held: Release, names: Sequence[str], part: Linking) -> PossibleRecords:
    """List what an earlier release leaves possible of some attributes; refuse if it cannot."""
    records = held.list_possible(names)
    if records is None:
        raise _refuse_joining(held)
    if part.y == PAIRS and not records.own:
        raise SchemaError(
            f"{part} counts rows of a join, and a release by {held.method} has none: it tells only "
            "how likely they are.",
            hint='Ask for people of this table: y = "people".',
        )
    return records


def _refuse_joining(held: Release) -> SchemaError:
    return SchemaError(f"A release by {held.method} has no records to join with.")


def list_named(
    release: Release, earlier: Sequence[Release], parts: Sequence[Principle]
) -> set[str]:
    """List the attributes of a release that decide what such joins make of its records."""
    named = {name for part in parts if isinstance(part, Linking) for name in _name(part)}
    shared = {name for held in earlier for name in held.schema.names}
    ruled = {name for here, _, there, _ in _read_rules(release) for name in (here, there)}
    return {*release.schema.names} & (named | shared | ruled)


def _name(part: Linking) -> set[str]:
    return {*part.x, *(() if isinstance(part.y, str) else part.y)}


Barred = tuple[str, frozenset[str], str, frozenset[str]]


class Tie(NamedTuple):
    """Columns of two tables, and which labels of theirs may be one person's."""

    one: str
    other: str
    met: Bools


def _read_rules(release: Release) -> list[Barred]:
    """Read the values that the release says cannot be one person's."""
    listed: Any = release.parameters.get("inconsistent") or []
    return [(here, frozenset(a), there, frozenset(b)) for here, a, there, b in listed]


def _find_ties(labels: list[dict[str, Labels]], rules: list[Barred]) -> list[Tie]:
    """Find the columns by which tables are matched two by two, and which of their labels go."""
    ties = []
    for (i, mine), (j, theirs) in combinations(enumerate(labels), 2):
        ties += [Tie(f"{i}:{name}", f"{j}:{name}", mine[name].meets(theirs[name]))
                 for name in mine if name in theirs]  # fmt: skip
    for here, values, there, others in rules:
        for j, shown in enumerate(labels[1:], 1):
            if there in shown:
                named, other_named = _inside(labels[0][here], values), _inside(shown[there], others)
                met = ~(named[:, None] & other_named)
                ties.append(Tie(f"0:{here}", f"{j}:{there}", met))
    return ties


def _inside(labels: Labels, values: frozenset[str]) -> Bools:
    """Which labels can only be one of some values."""
    sets = labels.sets or [frozenset([text]) for text in labels.texts]
    return np.array([bool(s) and s <= values for s in sets])


@dataclass(frozen=True, eq=False)
class Star:
    """Tables that are joined with the first of them, and with each other by what they share.

    They are joined one by one. What no table still to come is matched by, and nobody asks for, is
    added up before and after: the rows of the join are never there.
    """

    frames: list[pl.DataFrame]
    """Numbers of labels (``2:age`` is what table 2 shows), and how often ``w`` these are there."""
    ties: list[Tie]

    def add_up(self, wanted: Sequence[str]) -> pl.DataFrame:
        """Count the rows of the join by some columns."""
        return self._eliminate(self.frames, wanted)

    def count_first(self, wanted: Sequence[str]) -> pl.DataFrame:
        """Count the rows of the first table that are in the join, by some columns of all."""
        rows = self._narrow(0, self.frames[0], wanted).with_row_index(ROW)
        found = self._eliminate([rows, *self.frames[1:]], [ROW, *wanted], counted=False)
        return _add_up(found.drop("w").join(rows.select(ROW, "w"), on=ROW), wanted)

    def find_met(self, i: int) -> pl.DataFrame:
        """Give the rows of a table that are in the join."""
        frame = self.frames[i]
        rows = self._narrow(i, frame, ()).with_row_index(ROW)
        found = self._eliminate(
            [*self.frames[:i], rows, *self.frames[i + 1 :]], [ROW], counted=False
        )
        shown = [c for c in rows.columns if c not in (ROW, "w")]
        return frame.join(rows.join(found, on=ROW, how="semi"), on=shown, how="semi")

    def _narrow(self, i: int, frame: pl.DataFrame, wanted: Sequence[str]) -> pl.DataFrame:
        """Add up what is alike in all that is wanted of a table and that it is matched by."""
        tied = self._list_tied({*range(len(self.frames))} - {i})
        return _add_up(frame, [c for c in frame.columns if c in tied or c in wanted])

    def _list_tied(self, others: Collection[int]) -> set[str]:
        """List the columns by which some tables are matched with any."""
        ends = [{one: other, other: one} for one, other, _ in self.ties]
        return {mine for end in ends for mine, their in end.items()
                if int(their.partition(":")[0]) in others}  # fmt: skip

    def _eliminate(
        self, frames: list[pl.DataFrame], wanted: Sequence[str], *, counted: bool = True
    ) -> pl.DataFrame:
        """Join all tables and count by the columns that are wanted, or say only what there is."""
        left = [self._narrow(i, frame, wanted) for i, frame in enumerate(frames)]
        if not counted:
            left = [frame.with_columns(w=pl.lit(1, pl.Int64)) for frame in left]
        joined, numbers = left[0], [*range(1, len(left))]
        while numbers:
            i = max(numbers, key=lambda j: (len(self._tie(joined, left[j])), -left[j].height))
            numbers.remove(i)
            needed = {*wanted, *self._list_tied(numbers)}
            joined = self._join(joined, left[i], needed, counted)
        return _add_up(joined, wanted) if counted else joined

    def _tie(self, left: pl.DataFrame, right: pl.DataFrame) -> list[Tie]:
        """Find what the tables joined so far and another one are matched by."""
        ties = [*self.ties, *(Tie(other, one, met.T) for one, other, met in self.ties)]
        return [tie for tie in ties if tie.one in left.columns and tie.other in right.columns]

    def _join(
        self, left: pl.DataFrame, right: pl.DataFrame, needed: set[str], counted: bool
    ) -> pl.DataFrame:
        """Join with one more table, and keep what is needed."""
        ties = self._tie(left, right)
        ends = ([ALL, *dict.fromkeys(tie.one for tie in ties)],
                [ALL, *dict.fromkeys(tie.other for tie in ties)])  # fmt: skip
        matched = _match(left.select(ends[0]).unique(), right.select(ends[1]).unique(), ties)
        kept = [c for c in right.columns if c in needed]
        told = _multiply(right, matched, ends[1], [*ends[0], *kept], counted)
        kept = [*dict.fromkeys(c for c in (ALL, *left.columns, *kept) if c == ALL or c in needed)]
        return _multiply(left, told, ends[0], kept, counted)


def _match(ours: pl.DataFrame, theirs: pl.DataFrame, ties: list[Tie]) -> pl.DataFrame:
    """Pair what two tables show, attribute by attribute, and drop what goes with no row at once."""
    shown = [ALL]
    for one, other, met in sorted(ties, key=lambda tie: tie.met.mean() if tie.met.size else 0):
        mine, their = np.nonzero(met)
        labels = pl.DataFrame({one: mine, other: their})
        ours = ours.join(labels, on=[one, other] if other in shown else [one])
        shown = [*dict.fromkeys([*shown, other])]
        ours = ours.join(theirs.select(shown).unique(), on=shown, how="semi")
        _require_room(ours.height)
    return ours.with_columns(w=pl.lit(1, pl.Int64))


def _multiply(
    left: pl.DataFrame, right: pl.DataFrame, on: list[str], kept: list[str], counted: bool
) -> pl.DataFrame:
    """Join rows, half of them at a time where they are many; count by the columns that are kept."""
    ours, theirs = (frame.group_by(on).agg(many=pl.len().cast(pl.Int64)) for frame in (left, right))
    both = ours.join(theirs, on=on)
    if (both["many"] * both["many_right"]).sum() > AT_ONCE and left.height > 1:
        half = left.height // 2
        found = pl.concat(
            [_multiply(part, right, on, kept, counted) for part in (left[:half], left[half:])]
        )
        _require_room(found.height // 2)
    else:
        found = left.join(right, on=on)
        about = (found["w"].cast(pl.Float64) * found["w_right"].cast(pl.Float64)).sum()
        _require_counting(float(about))
        found = found.with_columns(pl.col("w") * pl.col("w_right"))
    if counted:
        return _add_up(found, kept)
    return found.select(kept).unique().with_columns(w=pl.lit(1, pl.Int64))


def _add_up(found: pl.DataFrame, kept: Sequence[str]) -> pl.DataFrame:
    _require_counting(float(found["w"].cast(pl.Float64).sum()))
    names = [*dict.fromkeys([ALL, *kept])]
    return found.group_by(names).agg(pl.col("w").sum())


def _require_counting(rows: float) -> None:
    if rows > LARGEST:
        raise SchemaError(
            "The join of these releases has more rows than can be counted.",
            hint="Audit against one earlier release at a time.",
        )


def _require_room(height: int) -> None:
    if height > MOST:
        raise SchemaError(
            f"The releases have more than {MOST:,} combinations of X, Y and what they share.",
            hint="Audit against one earlier release at a time.",
        )


def _group(
    rows: pl.DataFrame, x: list[str], told: list[str], labels: list[dict[str, Labels]],
    part: Linking,
) -> tuple[Groups, pl.DataFrame]:  # fmt: skip
    """Group what was counted by X; also give, of each group, a row of it with its number ``g``."""
    y = pl.struct(told).rank("dense") - 1 if told else pl.lit(0)
    rows = rows.with_columns(x=pl.struct(x).rank("dense") - 1, y=y.cast(pl.Int64)).sort("x", "y")
    values = rows.unique("y", keep="any").sort("y")
    texts = ["people"] if part.y == PEOPLE else [
        ", ".join(labels[int(c.split(":")[0])][c.split(":", 1)[1]].texts[row[c]] for c in told)
        for row in values.iter_rows(named=True)
    ]  # fmt: skip
    domain = Domain(
        Attribute(str(part.y), Role.SENSITIVE, Type.CATEGORY), np.array(texts, dtype=object)
    )
    groups = Groups.from_entries(
        rows["x"].to_numpy().astype(np.int64),
        rows["y"].to_numpy().astype(np.int32),
        rows["w"].to_numpy().astype(np.int64),
        domain,
    )
    return groups, rows[groups.offsets[:-1]].with_row_index("g")
