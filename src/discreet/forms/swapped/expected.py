"""What a rank-swapped release leaves possible: of every record any number of its window."""

from __future__ import annotations

from sqlglot import exp, select

from discreet.forms.base import Statement
from discreet.forms.bucket_sides import Side
from discreet.forms.expected import WEIGHT, join_sides, number_kinds, pair_alone
from discreet.forms.swapped.view import TITLES
from discreet.release import Release, number_title
from discreet.sql.trees import case, column, double, named_table, number

KINDS, SHOWN, OWN = "#kinds", "#shown", "#own"


def expect(release: Release, names: list[str], sensitive: str, *, paired: bool) -> Statement:
    """List records as they are shown; paired, with every number that may be theirs instead."""
    if not paired or sensitive not in names:
        records = Side(TITLES[0], "", None, frozenset(names))
        return join_sides(release, names, [records], paired=paired)
    keys = [column(name) for name in names]
    people = exp.Count(this=exp.Star()).as_("#n", quoted=True)
    kinds = select(*keys, people, number_kinds(keys).as_("#kind", quoted=True))
    kinds = kinds.from_(named_table(TITLES[0])).group_by(*(key.copy() for key in keys))
    windows = number_title(TITLES[1], release.schema.sensitive.index(sensitive))
    shown, own = column(sensitive, KINDS), column("value", OWN)
    within = exp.Between(this=own, low=column("low", SHOWN), high=column("high", SHOWN))
    weight = case(own.eq(shown), column("#n", KINDS), number(0))
    places = {name: column(name, KINDS) for name in names} | {sensitive: own}
    tree = select(*(place.copy().as_(name, quoted=True) for name, place in places.items()))
    tree = tree.select(double(weight).as_(release.own(WEIGHT), quoted=True))
    tree = tree.select(*pair_alone(column("#kind", KINDS), column("#n", KINDS)))
    tree = tree.from_(kinds.subquery(KINDS))
    tree = tree.join(named_table(windows, SHOWN), on=shown.eq(column("value", SHOWN)))
    return tree.join(named_table(windows, OWN), on=within), {}
