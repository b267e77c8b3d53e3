"""Draws: how releases answer whose values are drawn from bags: a batch's, or a group's.

A record falls under the conditions on what it shows with the share of its box that they cover;
whose value it has is a draw without replacement from its bag. With H hits of a bag of N values y (a
value that the conditions on the sensitive attribute rule out counts as 0), the sum over hits has
mean E[H]·ȳ and variance Var[H]·ȳ² + E[H(1 - H/N)]·s². Certain and possible records bound H, and the
smallest or largest so many values bound the sum. COUNT is the sum of ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlglot import exp, select

from discreet.errors import QueryError
from discreet.forms.base import Statement
from discreet.release import Release
from discreet.sql.exact import name_parts
from discreet.sql.query import Aggregate, Query, Term, find_columns
from discreet.sql.shares import (
    Share,
    add_clauses,
    bound_shares,
    find_share,
    join_shares,
    split_predicate,
    tabulate_shares,
    weigh_shares,
)
from discreet.sql.trees import (
    add_up,
    add_up_over,
    ascending,
    case,
    column,
    double,
    named_table,
    number,
)
from discreet.sql.widths import MIDDLE, REACH, weigh_ends, widen_sum

HIT, BAG, TALLY, CELL = "#hit", "#bag", "#tally", "#cell"
OWNER, KEY = "#owner", "#key"
"""Whose bag it is; and what stands before a sensitive attribute's name, where it is a column."""


class Draw(NamedTuple):
    """Where records stand, and the bags that their values are drawn from."""

    records: str
    bags: str
    owner: str
    """The column of both that says whose bag it is."""
    often: str
    """The column that says how often a bag has a value."""
    blurred: frozenset[str]
    """What records show by labels."""
    told: tuple[str, ...]
    """The sensitive attributes that bags hold together, each combination once."""


def rewrite_draw(query: Query, release: Release, draw: Draw) -> Statement:
    """Rewrite a question into one over records and the bags their values are drawn from."""
    told, term = set(draw.told), _find_term(query, draw.told)
    exact, components = split_predicate(query, set(draw.blurred))
    of_value = [part for part in exact if _names(part) and _names(part) <= told]
    of_record = [part for part in exact if not _names(part) & told]
    if len(of_value) + len(of_record) < len(exact):
        tied = [name for part in exact for name in sorted(_names(part) & told)
                if not _names(part) <= told]  # fmt: skip
        raise QueryError(
            f"A condition ties {tied[0]!r} to another attribute.",
            hint="Join conditions on the two by AND.",
        )
    keys, grouped = _split_keys(query, told)
    shares, needed = tabulate_shares(release, draw.records, components, keys)
    values = {key.name for key in grouped}
    named = [_key(name) if name in values else name for name in query.group_by]
    tree = select(*(column(name, CELL) for name in named))
    for aggregate in query.aggregates:
        tree = tree.select(
            *name_parts(aggregate, _answer(aggregate, valued=bool(of_value or grouped)))
        )
    tree = tree.from_(named_table(CELL))
    if query.group_by:
        places = [number(i + 1) for i in range(len(query.group_by))]
        by = [column(name, CELL) for name in named]
        tree = tree.group_by(*by).order_by(*ascending(*places))
    tree = add_clauses(tree, shares)
    summed = any(a.function in ("SUM", "AVG") for a in query.aggregates)
    by_value = [_key(key.name) for key in grouped]
    for name, clause in (
        (HIT, _count_hits(draw, keys, of_record, shares)),
        (BAG, _read_bags(draw, term, grouped, of_value, summed)),
        (TALLY, _tally(draw, by_value, summed)),
        (CELL, _bound_cells([key.name for key in keys], by_value, summed)),
    ):
        tree = tree.with_(exp.to_identifier(name, quoted=True), as_=clause)
    return tree, needed


def list_asked(query: Query, sensitive: Sequence[str]) -> list[str]:
    """Give the sensitive attributes that a question is about, in the order of the schema."""
    asked = {*query.columns, *(name for term in query.terms for name in term.columns)}
    return [name for name in sensitive if name in asked]


def _key(name: str) -> str:
    return f"{KEY} {name}"


def _split_keys(query: Query, told: set[str]) -> tuple[list[Term], list[Term]]:
    """Part what people are grouped by into what records show and what bags hold."""
    for key in query.keys:
        if key.columns & told and not key.columns <= told:
            raise QueryError(
                f"{', '.join(sorted(key.columns))} are grouped by in one expression: it is not "
                "known whose is whose.",
                hint="Group by each of them.",
            )
    return ([key for key in query.keys if not key.columns & told],
            [key for key in query.keys if key.columns & told])  # fmt: skip


def _find_term(query: Query, told: Sequence[str]) -> Term:
    """Refuse what cannot be told; give what is aggregated, or the first that bags hold."""
    asked = [term for term in query.terms if term.columns & set(told)]
    if len(asked) > 1:
        raise QueryError(
            f"{' and '.join(term.expression.sql() for term in asked)} are aggregated in one "
            "question.",
            hint="Ask one question for each.",
        )
    term = asked[0] if asked else Term(told[0], column(told[0]))
    sensitive = " and ".join(sorted(term.columns & set(told)))
    grouped = {name for key in query.keys for name in key.columns & set(told)}
    for aggregate in query.aggregates:
        if aggregate.term not in (None, term) or not term.columns <= set(told):
            raise QueryError(
                f"{aggregate.function} of {', '.join(sorted(aggregate.columns))!r} cannot be "
                f"answered: it is not known whose {sensitive!r} is whose.",
                hint=f"Aggregate {sensitive!r}, or count people.",
            )
        if aggregate.function in ("MIN", "MAX"):
            raise QueryError(
                f"{aggregate.function} cannot be answered: it is not known whose {sensitive!r} is "
                "whose.",
                hint="Use COUNT, SUM or AVG; or read the values from the tables.",
            )
        if aggregate.function in ("SUM", "AVG") and grouped & term.columns:
            raise QueryError(
                f"{aggregate.function} of what people are grouped by is that value itself.",
                hint="Count them.",
            )
    return term


def _names(part: exp.Expr) -> set[str]:
    return set(find_columns(part))


def _count_hits(
    draw: Draw, keys: list[Term], of_record: list[exp.Expr], shares: list[Share]
) -> exp.Select:
    """Per bag (and group): expected hits, their variance, certain and possible ones."""
    table, owner = draw.records, column(draw.owner, draw.records)
    p, certain = weigh_shares(shares)
    doubt = p * exp.paren(1 - p)
    grouping = [
        column(f"#v {key.name}", find_share(key, shares)) if key.columns & draw.blurred
        else key.at(table) for key in keys
    ]  # fmt: skip
    made = select(
        owner.as_(OWNER, quoted=True),
        *(g.copy().as_(key.name, quoted=True) for g, key in zip(grouping, keys, strict=True)),
        add_up(p.copy()).as_("#h", quoted=True),
        add_up(doubt).as_("#v", quoted=True),
        *(add_up(end).as_(title, quoted=True) for end, title in weigh_ends(*bound_shares(shares))),
        add_up(certain).as_("#sure", quoted=True),
        exp.Count(this=exp.Star()).as_("#maybe", quoted=True),
    ).from_(exp.to_table(table))
    made = join_shares(made, table, shares)
    for part in of_record:
        made = made.where(part.copy())
    return made.group_by(owner.copy(), *(g.copy() for g in grouping))


def _read_bags(
    draw: Draw, term: Term, grouped: list[Term], of_value: list[exp.Expr], summed: bool
) -> exp.Select:
    """Per bag and value: how often, whether it is meant (m), and what it adds to a sum (y)."""
    meant = exp.and_(*(part.copy() for part in of_value)) if of_value else exp.true()
    value = exp.paren(term.expression.copy())
    there = exp.and_(meant.copy(), value.is_(exp.null()).not_())
    derived = [key for key in grouped if not key.is_plain]
    made = select(
        column(draw.owner).as_(OWNER, quoted=True),
        *(column(name).as_(_key(name), quoted=True) for name in draw.told),
        *(key.expression.copy().as_(_key(key.name), quoted=True) for key in derived),
        column(draw.often).as_("#n", quoted=True),
        case(meant, number(1), number(0)).as_("#m", quoted=True),
        case(there.copy(), number(1), number(0)).as_("#k", quoted=True),
    )
    if summed:
        made = made.select(case(there, value.copy(), number(0)).as_("#y", quoted=True))
    return made.from_(named_table(draw.bags))


def _tally(draw: Draw, grouped: list[str], summed: bool) -> exp.Select:
    """Per bag and value: the bag's size, how many of it are meant, ranks by what they add."""
    bag = [column(OWNER)]
    by = [*bag, *(column(key) for key in grouped)]
    values = list(dict.fromkeys([*(_key(name) for name in draw.told), *grouped]))
    often, added = column("#n"), column("#y")
    made = select(
        column(OWNER), *(column(key) for key in values), column("#n"), column("#m"), column("#k"),
        add_up_over(column("#n"), bag).as_("#size", quoted=True),
        add_up_over(often * column("#m"), by).as_("#all m", quoted=True),
        add_up_over(often * column("#k"), by).as_("#all k", quoted=True),
    )  # fmt: skip
    if summed:
        negative = case(exp.LT(this=column("#y"), expression=number(0)), column("#n"), number(0))
        positive = case(exp.GT(this=column("#y"), expression=number(0)), column("#n"), number(0))
        made = made.select(
            column("#y"),
            add_up_over(double(often * added), bag).as_("#all y", quoted=True),
            add_up_over(double(often * added) * added, bag).as_("#all yy", quoted=True),
            add_up_over(negative, bag).as_("#minus", quoted=True),
            add_up_over(positive, bag).as_("#plus", quoted=True),
            _before(values, descending=False).as_("#up", quoted=True),
            _before(values, descending=True).as_("#down", quoted=True),
        )
    return made.from_(named_table(BAG))


def _before(values: list[str], *, descending: bool) -> exp.Expr:
    """How many of a bag come before a value, in the order of what they add."""
    order = [column("#y"), *(column(key) for key in values)]
    upto = add_up_over(column("#n"), [column(OWNER)], order, descending=descending)
    return upto - column("#n")


def _bound_cells(keys: list[str], grouped: list[str], summed: bool) -> exp.Select:
    """Per group and bag (and value grouped by): estimate, bounds and variance of each sum."""
    h, v, size = column("#h", HIT), column("#v", HIT), double(column("#size", TALLY))
    sure, maybe = column("#sure", HIT), column("#maybe", HIT)
    columns: list[exp.Expr] = [column(name, HIT) for name in keys]
    by = [column(OWNER, HIT), *(c.copy() for c in columns)]
    columns += [column(key, TALLY) for key in grouped]
    by += [column(key, TALLY) for key in grouped]
    columns += [exp.Max(this=column(end, HIT)).as_(end, quoted=True) for end in (MIDDLE, REACH)]

    def once(expression: exp.Expr) -> exp.Expr:
        return exp.Max(this=expression.copy())  # the same in all rows of a bag

    def vary(one: exp.Expr, other: exp.Expr, product: exp.Expr) -> exp.Expr:
        """The covariance of two sums, by the means and the product of what they add up."""
        # s² on N - 1, of which a bag of one has none
        spread = (product - one * other * size.copy()) / exp.Greatest(
            this=size.copy() - number(1), expressions=[double(number(1))]
        )
        left = exp.paren(h.copy() - exp.paren(v.copy() + h.copy() * h.copy()) / size.copy())
        return v.copy() * one.copy() * other.copy() + left * exp.paren(spread)

    def moments(letter: str, mean: exp.Expr, square: exp.Expr) -> list[exp.Expr]:
        return [
            once(h.copy() * mean.copy()).as_(f"#{letter} mean", quoted=True),
            once(vary(mean, mean, square)).as_(f"#{letter} variance", quoted=True),
        ]

    for letter in ("m", "k"):
        meant = column(f"#all {letter}", TALLY)
        share = exp.paren(double(meant) / size.copy())
        columns += moments(letter, share, double(meant.copy()))
        least = exp.Greatest(
            this=sure.copy() + meant.copy() - column("#size", TALLY), expressions=[number(0)]
        )
        most = exp.Least(this=maybe.copy(), expressions=[meant.copy()])
        columns += [
            once(least).as_(f"#{letter} low", quoted=True),
            once(most).as_(f"#{letter} high", quoted=True),
        ]
    if summed:
        mean = exp.paren(column("#all y", TALLY) / size.copy())
        columns += moments("y", mean, column("#all yy", TALLY))
        share = exp.paren(double(column("#all k", TALLY)) / size.copy())
        both = vary(mean, share, column("#all y", TALLY))
        columns.append(once(both).as_("#y covariance", quoted=True))
        for end, beyond, before in (("low", "#minus", "#up"), ("high", "#plus", "#down")):
            # as many hits as can be, beyond those that must, of values that push the sum this way
            pushing = exp.Greatest(this=column(beyond, TALLY), expressions=[sure.copy()])
            hits = exp.Least(this=pushing, expressions=[maybe.copy()])
            left = hits - column(before, TALLY)
            taken = exp.Greatest(
                this=exp.Least(this=column("#n", TALLY), expressions=[left]),
                expressions=[number(0)],
            )
            amount = add_up(column("#y", TALLY) * taken)
            columns.append(amount.as_(f"#y {end}", quoted=True))
        there = column("#k", TALLY).eq(number(1))
        for kind, name in ((exp.Min, "least"), (exp.Max, "most")):
            found = kind(this=case(there.copy(), column("#y", TALLY), exp.null()))
            columns.append(found.as_(f"#y {name}", quoted=True))
    made = select(*columns).from_(named_table(HIT))
    made = made.join(named_table(TALLY), on=column(OWNER, HIT).eq(column(OWNER, TALLY))).group_by(
        *by
    )
    return made.where(column("#m", TALLY).eq(number(1))) if grouped else made


def _answer(aggregate: Aggregate, *, valued: bool) -> list[exp.Expr]:
    """Add up over bags.

    Whose values are whose was mixed on purpose, so that no width is known where these matter.
    """
    letter = "m" if aggregate.column is None else "k"
    count = [add_up(column(f"#{letter} {end}")) for end in ("mean", "low", "high", "variance")]
    if aggregate.function == "COUNT":
        parts = [exp.func("COALESCE", part, number(0)) for part in count]
        error = _root(parts[3])
        if aggregate.term is not None or valued:
            return [*parts[:3], error]
        middle, reach = (exp.func("COALESCE", add_up(column(end)), number(0))
                         for end in (MIDDLE, REACH))  # fmt: skip
        return [*parts[:3], error, widen_sum(parts[:3], middle, reach, error)]
    mean, low, high, variance = (
        add_up(column(f"#y {end}")) for end in ("mean", "low", "high", "variance")
    )
    some = exp.GT(this=count[2].copy(), expression=number(0))  # whether anybody may be meant

    def if_some(part: exp.Expr) -> exp.Expr:
        return case(some.copy(), part, exp.null())

    if aggregate.function == "SUM":
        return [if_some(part) for part in (mean, low, high, _root(variance))]
    people, fewest, most, doubt = (double(part) for part in count)
    least, largest = (double(kind(this=column(f"#y {end}")))
                      for kind, end in ((exp.Min, "least"), (exp.Max, "most")))  # fmt: skip
    # a sum of at least s ≥ 0 over at most c people averages to s/c or more, and so on
    not_below = exp.GTE(this=low.copy(), expression=number(0))
    not_above = exp.LTE(this=high.copy(), expression=number(0))
    at_least = case(not_below, low / most, low.copy() / _some(fewest))
    at_most = case(not_above, high / most.copy(), high.copy() / _some(fewest))
    at_least = exp.func("COALESCE", at_least, least.copy())
    at_most = exp.func("COALESCE", at_most, largest.copy())
    # of a ratio of two sums, to first order
    average = exp.paren(mean / _some(people))
    both = number(2) * average * add_up(column("#y covariance"))
    error = _root(variance - both + average * average * doubt) / _some(people)
    return [
        if_some(average),
        if_some(exp.Greatest(this=least, expressions=[at_least])),
        if_some(exp.Least(this=largest, expressions=[at_most])),
        if_some(error),
    ]


def _some(people: exp.Expr) -> exp.Expr:
    return exp.Nullif(this=people.copy(), expression=number(0))


def _root(variance: exp.Expr) -> exp.Expr:
    """The standard error; a variance that rounding left below nothing is none."""
    return exp.Sqrt(this=exp.Greatest(this=variance, expressions=[double(number(0))]))
