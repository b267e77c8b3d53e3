"""Expected: every combination of values that a release leaves possible, with its expected weight.

A record is anywhere in its box with the same probability, and has any value of its group as often
as the group has it. So ``SUM(weight)`` over the combinations that a condition takes is the estimate
of COUNT, and ``SUM(weight * x)`` that of SUM(x), by plain SQL in whatever client.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from sqlglot import exp, select

from discreet.errors import QueryError, name_closest
from discreet.forms import find_form
from discreet.forms.base import Statement
from discreet.forms.bucket_parts import PARTS, number_parts
from discreet.forms.bucket_sides import BUCKET, PART, WHOLE, Side, find_sides
from discreet.release import Release, number_title
from discreet.release.cells import list_cells
from discreet.sql.trees import add_up_over, column, double, named_table, number
from discreet.table.coarsening import describe_coarsening, is_coarse

WEIGHT = "weight"
"""The word for what is expected of a combination, which gives way to attributes."""
UNIT, TIMES, ROW, ROWS, VALUE, VALUES = "#unit", "#times", "#row", "#rows", "#value", "#values"
"""Of what is paired: among whom values are mixed, and how many such there are; a kind of people and
a kind of values of it, each with how many they are."""


def expect(release: Release, names: Sequence[str]) -> Statement:
    """List the combinations of some attributes: their columns, and the ``weight`` of each.

    >>> import discreet as dc
    >>> data = dc.datasets.census(500, sensitive=["income"])
    >>> release = dc.publish(data, dc.Permutation(dc.KE(k=5, e=1000)))
    >>> tree, needed = expect(release, ["sex", "income"])
    >>> tree.named_selects, list(needed)
    (['sex', 'income', 'weight'], [])
    """
    return find_form(release.form).expect(release, check_names(release, names))


def check_names(release: Release, names: Sequence[str]) -> list[str]:
    """Refuse what is no attribute of a release, or has no values to list."""
    if not names or len(set(names)) < len(names):
        raise QueryError(
            "Give different attributes.", hint=f"Known: {', '.join(release.schema.names)}."
        )
    for name in names:
        if name not in release.schema.names:
            hint = name_closest(name, release.schema.names)
            raise QueryError(f"The release has no {name!r}.", hint=hint)
        if is_coarse(release.schema[name]):
            raise QueryError(
                f"What {name!r} shows stands for other numbers "
                f"({describe_coarsening(release.schema[name])}): which of them a condition takes "
                "no list of values tells.",
                hint="Leave it out, and ask about it with discreet query.",
            )
    return list(names)


def join_sides(
    release: Release, names: Sequence[str], sides: Sequence[Side], *, paired: bool
) -> Statement:
    """Mix, per bucket, what sides show of some attributes; those without any of them are left out.

    Sides that share attributes are mixed in the parts of buckets that agree on these. Paired, it
    says besides whose is mixed with whose.
    """
    asked = _choose(names, sides)
    alone = len(asked) == 1
    if paired and len(asked) > 2:
        raise QueryError(
            f"{', '.join(names)} are of {len(asked)} columns that are mixed with each other: "
            "their bounds follow from no pairs.",
            hint="Choose attributes of two columns.",
        )
    places = {name: i for i, (_, some) in enumerate(asked) for name in some}
    weight = double(column("#n", _alias(0)))
    for i in range(1, len(asked)):
        share = double(column("#n", _alias(i))) / double(column("#size", _alias(i)))
        weight = weight * exp.paren(share)
    bound = [side for side, _ in asked if side.ties]
    parted = len(bound) > 1
    kinds = [
        _count_kinds(side, some, alone=alone, paired=paired, parted=parted and side in bound)
        for side, some in asked
    ]
    tree = select().from_(kinds[0].subquery(_alias(0)))
    for i in range(1, len(asked)):
        owner = WHOLE if parted and asked[i][0] not in bound else BUCKET
        same = column(owner, _alias(0)).eq(column(BUCKET, _alias(i)))
        tree = tree.join(kinds[i].subquery(_alias(i)), on=same)
    needed: dict[str, pl.DataFrame] = {}
    for name in names:
        place = places[name]
        if not release.recodings[name].is_blurred:
            tree = tree.select(column(name, _alias(place)))
            continue
        title = name_cells(release, asked[place][0].table, name)
        needed[title] = tabulate_cells(release, asked[place][0].table, name)
        same = column(name, _alias(place)).eq(column("label", title))
        tree = tree.join(named_table(title), on=same)
        tree = tree.select(column("value", title).as_(name, quoted=True))
        weight = weight * column("share", title)
    tree = tree.select(weight.as_(release.own(WEIGHT), quoted=True))
    return (tree.select(*_pair(alone=alone)) if paired else tree), needed


def _choose(names: Sequence[str], sides: Sequence[Side]) -> list[tuple[Side, list[str]]]:
    """Choose sides that show all attributes, and what each gives; first those that share any."""
    asked, left = [], [*names]
    for side in sorted(
        (sides[i] for i in find_sides(sides, names)), key=lambda side: not side.ties
    ):
        asked.append((side, [name for name in left if name in side.attributes]))
        left = [name for name in left if name not in side.attributes]
    return asked


def name_cells(release: Release, table: str, name: str) -> str:
    """Name the table of what an attribute's labels stand for, which may differ between tables."""
    return number_title(f"cells_{name}", [*release.shown].index(table))


def tabulate_cells(release: Release, table: str, name: str) -> pl.DataFrame:
    """List the values each label of an attribute stands for, and which share of it each is."""
    share = (1 / pl.len().over("label")).alias("share")
    return list_cells(release, table, name).with_columns(share)


def pair_alone(unit: exp.Expr, times: exp.Expr) -> list[exp.Expr]:
    """Say of records that nobody's values are mixed with: each is its own, so many times."""
    ones = [number(1).as_(name, quoted=True) for name in (ROW, ROWS, VALUE, VALUES)]
    return [unit.as_(UNIT, quoted=True), times.as_(TIMES, quoted=True), *ones]


def _pair(*, alone: bool) -> list[exp.Expr]:
    first, second = _alias(0), _alias(1)
    if alone:
        return pair_alone(column("#kind", first), column("#n", first))
    found = {
        UNIT: column(BUCKET, first), TIMES: number(1), ROW: column("#kind", first),
        ROWS: column("#n", first), VALUE: column("#kind", second), VALUES: column("#n", second),
    }  # fmt: skip
    return [part.as_(name, quoted=True) for name, part in found.items()]


def _alias(place: int) -> str:
    return f"#side {place}"


def _count_kinds(
    side: Side, names: list[str], *, alone: bool, paired: bool, parted: bool
) -> exp.Select:
    """Count, per bucket, who shows the same; numbered, where they are to be told apart.

    Parted, it is done in every part of a bucket that agrees on what the side shares.
    """
    keys: list[exp.Expr] = [column(name) for name in names]
    people = exp.Count(this=exp.Star()) if side.often is None else exp.Sum(this=column(side.often))
    source: exp.Expr = named_table(side.table)
    if parted:
        source, side = number_parts(side).subquery(PARTS), side._replace(table=PARTS, bucket=PART)
    if side.shared is not None:  # some rows are nobody's
        keys = [column(name, side.table) for name in names]
        hits, total = column("#hits", side.shared), column("#total", side.shared)
        share = double(hits) / double(total)
        often = None if side.often is None else column(side.often, side.table)
        people = exp.Sum(this=share if often is None else double(often) * exp.paren(share))
    made = select(*keys, people.as_("#n", quoted=True))
    if not alone:
        bucket = side.find_bucket()
        keys = [bucket, *([column(WHOLE)] if parted else []), *keys]
        if parted:
            made = made.select(column(WHOLE))
        size = add_up_over(people, [bucket])
        made = made.select(bucket.as_(BUCKET, quoted=True), size.as_("#size", quoted=True))
    if paired:
        made = made.select(number_kinds(keys).as_("#kind", quoted=True))
    made = made.from_(source)
    if side.shared is not None:
        same = side.find_bucket(side.table).eq(side.find_bucket(side.shared))
        made = made.join(named_table(side.shared), on=same)
    return made.group_by(*(key.copy() for key in keys))


def number_kinds(keys: Sequence[exp.Expr]) -> exp.Expr:
    """Number what differs in some keys."""
    order = exp.Order(expressions=[exp.Ordered(this=key.copy()) for key in keys])
    return exp.Window(this=exp.RowNumber(), order=order)
