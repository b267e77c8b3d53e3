"""Links: what follows from joining a release with earlier ones, row by distinct row.

Written against the published tables alone. Rows of tables may be one person's if what they show of
every common attribute has a value in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

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
"""More pairs of distinct rows are not joined."""
LARGEST = 2**62
"""More rows of a join are not counted: 64 bits would not hold them."""


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
        made = pl.DataFrame(columns) if columns else pl.DataFrame({"#": np.zeros(frame.height)})
        weighed = made.with_columns(pl.Series("w", records.weights))
        counted = weighed.group_by(made.columns).agg(pl.col("w").sum())
        frames.append(counted.with_row_index(f"#{i}"))
    joined = frames[0].with_columns(w0=pl.col("w"))
    for i in range(1, len(frames)):
        joined = _join(joined, frames[i], labels, i, rules)
    lost = [
        int(frame.filter(~pl.col(f"#{i}").is_in(joined[f"#{i}"].unique().to_list()))["w"].sum())
        if own[i] else 0  # of combinations that are merely possible, most are nobody's
        for i, frame in enumerate(frames)
    ]  # fmt: skip
    groups, owners = _group(joined, labels, part) if joined.height else (None, np.zeros((0, 2)))
    return groups, owners.astype(np.int64), lost


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


def _read_rules(release: Release) -> list[Barred]:
    """Read the values that the release says cannot be one person's."""
    listed: Any = release.parameters.get("inconsistent") or []
    return [(here, frozenset(a), there, frozenset(b)) for here, a, there, b in listed]


def _join(
    left: pl.DataFrame,
    right: pl.DataFrame,
    labels: list[dict[str, Labels]],
    i: int,
    rules: list[Barred],
) -> pl.DataFrame:
    """Join with one more table by everything that it shares with those before."""
    ties = [
        (f"{j}:{name}", f"{i}:{name}") for j in range(i) for name in labels[j] if name in labels[i]
    ]
    barred = [rule for rule in rules if rule[2] in labels[i]]
    ends = [*ties, *((f"0:{rule[0]}", f"{i}:{rule[2]}") for rule in barred)]
    keys = [list(dict.fromkeys(end[side] for end in ends)) for side in (0, 1)]
    ours, theirs = (
        frame.select(names).unique(maintain_order=True) if names else pl.DataFrame({"#": [0]})
        for frame, names in ((left, keys[0]), (right, keys[1]))
    )
    if ours.height * theirs.height > MOST:
        raise SchemaError(
            "The releases share too many combinations to be joined.",
            hint="Audit against one earlier release at a time.",
        )
    met = np.ones((ours.height, theirs.height), dtype=bool)
    for one, other in ties:
        place, name = int(one.split(":")[0]), one.split(":", 1)[1]
        meets = labels[place][name].meets(labels[i][name])
        met &= meets[ours[one].to_numpy()][:, theirs[other].to_numpy()]
    for here, values, there, others in barred:
        named = _inside(labels[0][here], values)[ours[f"0:{here}"].to_numpy()]
        other_named = _inside(labels[i][there], others)[theirs[f"{i}:{there}"].to_numpy()]
        met &= ~(named[:, None] & other_named)
    at, to = np.nonzero(met)
    matched = pl.concat([ours[at], theirs[to]], how="horizontal") if keys[0] else None
    if matched is None:
        found = left.join(right, how="cross")
    else:
        found = left.join(matched, on=keys[0]).join(right, on=keys[1], suffix="_")
    theirs_too = "w_right" if matched is None else "w_"
    about = (found["w"].cast(pl.Float64) * found[theirs_too].cast(pl.Float64)).sum()
    if about > LARGEST:
        raise SchemaError(
            "The join of these releases has more rows than can be counted.",
            hint="Audit against one earlier release at a time.",
        )
    weight = (pl.col("w") * pl.col(theirs_too)).alias("w")
    return found.with_columns(weight).select(
        [c for c in found.columns if c not in ("w_", "w_right", "#", "#_", "#_right")]
    )


def _inside(labels: Labels, values: frozenset[str]) -> Bools:
    """Which labels can only be one of some values."""
    sets = labels.sets or [frozenset([text]) for text in labels.texts]
    return np.array([bool(s) and s <= values for s in sets])


def _group(
    joined: pl.DataFrame, labels: list[dict[str, Labels]], part: Linking
) -> tuple[Groups, Ints]:
    """Group the rows of a join by X, and count Y."""
    x = [f"{i}:{name}" for i, there in enumerate(labels) for name in there if name in part.x]
    if part.y == PEOPLE:
        rows = joined.unique([*x, "#0"]).group_by(x).agg(pl.col("w0").sum().alias("w"))
        rows = rows.with_columns(y=0)
        texts = ["people"]
    else:
        told = [] if part.y == PAIRS else [
            next(f"{i}:{name}" for i, there in enumerate(labels) if name in there)
            for name in part.y
        ]  # fmt: skip
        number = pl.struct(told).rank("dense") - 1 if told else pl.lit(0)
        joined = joined.with_columns(number.cast(pl.Int64).alias("y"))
        rows = joined.group_by([*x, "y"]).agg(pl.col("w").sum())
        values = joined.unique("y", keep="any").sort("y")
        texts = [
            ", ".join(labels[int(c.split(":")[0])][c.split(":", 1)[1]].texts[row[c]] for c in told)
            for row in values.iter_rows(named=True)
        ]
    group = (
        rows.select(pl.struct(x).rank("dense") - 1).to_series()
        if x
        else pl.Series([0] * rows.height)
    )
    rows = rows.with_columns(group.cast(pl.Int64).alias("x")).sort("x", "y")
    keys, y = rows["x"].to_numpy(), rows["y"].to_numpy().astype(np.int32)
    weights = rows["w"].to_numpy().astype(np.int64)
    domain = Domain(
        Attribute(str(part.y), Role.SENSITIVE, Type.CATEGORY), np.array(texts, dtype=object)
    )
    groups = Groups.from_entries(keys, y, weights, domain)
    ours = [c for c in x if c.startswith("0:")]
    first = rows[groups.offsets[:-1]].select(ours).with_row_index("g")
    classes = joined.select("class", *ours).unique()
    owner = first.join(classes, on=ours) if ours else first.join(classes, how="cross")
    return groups, owner.select("g", "class").to_numpy().astype(np.int64)
