"""Shares: how much of each box a question covers.

Attributes are independent given the box, so a predicate falls into components that share no
attribute; each is tabulated once per combination of labels, and records look their shares up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import NamedTuple

import numpy as np
import polars as pl
from sqlglot import exp, select

from discreet.errors import QueryError
from discreet.release import Release
from discreet.release.cells import MOST_CELLS, write_texts
from discreet.release.labels import find_labels
from discreet.sql.blurred import (
    LEAST,
    MEAN,
    MOST,
    SQUARE,
    THERE,
    Factor,
    Product,
    count_factor,
    multiply,
    multiply_ends,
    tell_factor,
)
from discreet.sql.cells import MANY, list_terms, tabulate_cells
from discreet.sql.evenness import AMONG, is_spread, learn_spread
from discreet.sql.query import Query, Term, find_columns, move
from discreet.sql.reading import shorten
from discreet.sql.selection import select_values
from discreet.sql.trees import add_up, add_up_over, case, column, double, named_table, number
from discreet.table.coarsening import describe_coarsening, is_coarse

Component = tuple[list[str], list[exp.Expr]]
"""Blurred attributes, and the conditions that tie them together."""


class Share(NamedTuple):
    """A component tabulated."""

    table: str
    """Its name in the statement."""
    names: list[str]
    clause: exp.Select | None
    """How it is made from cells; ``None`` where it is at hand, as a table that is needed."""
    exact: bool = False
    """Whether it goes by single values, which may be missing, not by labels."""


def split_predicate(
    query: Query, blurred: set[str], told: Sequence[Factor] = ()
) -> tuple[list[exp.Expr], list[Component]]:
    """Part the predicate into what is exact and components that share no blurred attribute.

    Attributes of which something is told are of one, whether the predicate is about them or not.
    """
    exact: list[exp.Expr] = []
    components: list[tuple[set[str], list[exp.Expr]]] = [
        (set(key.columns), []) for key in query.keys if key.columns & blurred
    ]
    for names, _ in components:
        if names - blurred:
            raise QueryError(
                f"{', '.join(sorted(names))} are grouped by in one expression, and not all of them "
                "are blurred.",
                hint="Group by each of them.",
            )
    for part in query.conditions:
        names = set(find_columns(part))
        if not names & blurred:
            exact.append(part)
            continue
        if names - blurred:
            raise QueryError(
                f"{shorten(part.sql())!r} ties a blurred column to an exact one.",
                hint="Join conditions on the two by AND.",
            )
        components.append((names, [part]))
    components += [({factor.attribute}, []) for factor in told]
    return exact, [(sorted(names), parts) for names, parts in _merge(components)]


def _merge(
    components: list[tuple[set[str], list[exp.Expr]]],
) -> list[tuple[set[str], list[exp.Expr]]]:
    """Put components together that share attributes."""
    merged: list[tuple[set[str], list[exp.Expr]]] = []
    for names, parts in components:
        joined = [c for c in merged if c[0] & names]
        merged = [c for c in merged if not c[0] & names]
        merged.append(
            (names.union(*(c[0] for c in joined)), [*(p for c in joined for p in c[1]), *parts])
        )
    return merged


def tabulate_shares(
    release: Release,
    table: str,
    components: list[Component],
    grouping: Sequence[Term],
    told: Sequence[Factor] = (),
) -> tuple[list[Share], dict[str, pl.DataFrame]]:
    """Tabulate every component, and give the tables that needs.

    What one attribute's labels share with a question is counted here; where attributes are tied
    together, or people grouped, cells are counted by the engine.
    """
    shares: list[Share] = []
    needed: dict[str, pl.DataFrame] = {}
    for i, (names, parts) in enumerate(components):
        title = f"share {i}"
        factors = [factor for factor in told if factor.attribute in names]
        if len(names) == 1 and not any(key.columns & set(names) for key in grouping):
            labels = find_labels(release, table, names[0])
            asked = select_values(labels, parts)
            hits, sizes = labels.share([asked])
            exact = not release.recodings[names[0]].is_blurred
            shown = write_texts(labels.texts, labels.attribute) if exact else labels.texts
            counted = {names[0]: shown, "#hits": hits[:, 0], "#total": sizes}
            least, most = np.zeros(len(sizes)), np.ones(len(sizes))
            if is_spread(release, names[0]):
                least, most = learn_spread(release, table, names[0]).bound(asked)
            counted["#least"] = np.where(hits[:, 0] == sizes, 1.0, least)
            counted["#most"] = np.where(hits[:, 0] == sizes, 1.0, most)
            cells = partial(
                tabulate_cells, release, table, names[0], list_terms(parts, names[0]), factors
            )
            needed[title] = pl.DataFrame(counted).with_columns(
                series
                for one in factors
                for series in tell_factor(one, labels, asked, parts, cells)
            )
            shares.append(Share(title, names, None, exact))
            continue
        _refuse_coarse(release, names, parts)
        listed = {}
        for name in names:
            read = [*parts, *(key.expression for key in grouping if key.columns & set(names))]
            about = [factor for factor in factors if factor.attribute == name]
            terms = list_terms(read, name)
            listed[f"cells {name}"] = tabulate_cells(release, table, name, terms, about)
        size = reduce(lambda n, frame: n * frame.height, listed.values(), 1)
        if size > MOST_CELLS:
            raise QueryError(
                f"The predicate on {', '.join(names)} has {size:,} combinations to look at.",
                hint="Ask about fewer attributes at once, or join them by AND instead of OR.",
            )
        needed.update(listed)
        shares.append(Share(title, names, _count_cells(names, parts, grouping, factors)))
    return shares, needed


def _refuse_coarse(release: Release, names: list[str], parts: list[exp.Expr]) -> None:
    """Refuse to look one by one at values that stand for others."""
    for name in names:
        attribute = release.schema[name]
        if is_coarse(attribute) and (parts or attribute.aggregate is not None):
            raise QueryError(
                f"{name!r} was made coarser: {describe_coarsening(attribute)}. People cannot be "
                "grouped by it and selected, nor by it together with other columns at once.",
                hint="Ask once for each range of it, and join conditions by AND.",
            )


def find_share(key: Term, shares: list[Share]) -> str:
    """Give the table that tells by which group of a blurred key a record may be meant."""
    return find_table(min(key.columns), shares)


def find_table(name: str, shares: list[Share]) -> str:
    """Give the table that tells of a blurred attribute."""
    return next(share.table for share in shares if name in share.names)


def add_clauses(statement: exp.Select, shares: list[Share]) -> exp.Select:
    """Let a statement make the shares that are not at hand."""
    for share in shares:
        if share.clause is not None:
            name = exp.to_identifier(share.table, quoted=True)
            statement = statement.with_(name, as_=share.clause, copy=False)
    return statement


def weigh_shares(shares: list[Share]) -> tuple[exp.Expr, exp.Expr]:
    """Give a record's probability of being meant, and 1 or 0 for whether it is sure to be."""
    probability: exp.Expr = double(number(1))
    sure: list[exp.Expr] = []
    for table, *_ in shares:
        hits, cells = column("#hits", table), column("#total", table)
        probability = probability * (double(hits) / double(cells))
        sure.append(hits.eq(cells))
    return probability, case(exp.and_(*sure), number(1), number(0)) if sure else number(1)


def bound_shares(shares: list[Share]) -> tuple[exp.Expr, exp.Expr]:
    """Give the least and the largest credible probability of a record to be meant."""
    ends: list[exp.Expr] = []
    for end in ("#least", "#most"):
        probability: exp.Expr = double(number(1))
        for table, *_ in shares:
            probability = probability * column(end, table)
        ends.append(probability)
    return ends[0], ends[1]


def join_shares(statement: exp.Select, table: str, shares: list[Share]) -> exp.Select:
    """Let every record of a table look its shares up; those that cannot be meant are left out."""
    for share, names, _, exact in shares:
        alike = exp.NullSafeEQ if exact else exp.EQ
        same = [alike(this=column(n, table), expression=column(n, share)) for n in names]
        possible = exp.GT(this=column("#hits", share), expression=number(0))
        statement.join(named_table(share), on=exp.and_(*same, possible, copy=False), copy=False)
    return statement


def tell_product(
    product: Product, table: str, shares: list[Share], share: exp.Expr, certain: exp.Expr
) -> dict[str, exp.Expr]:
    """Give a product's mean and ends, how likely it is there, and the mean of its square.

    What the factors are is independent given the box, but where conditions tie them together.
    """

    def tell(factor: Factor, part: str) -> exp.Expr:
        return column(factor.title(part), find_table(factor.attribute, shares))

    known = None if product.exact is None else exp.paren(move(product.exact, table))
    likely, sure = share.copy(), [certain.copy().eq(number(1))]
    for factor in product.factors:
        there, hits = tell(factor, THERE), column("#hits", find_table(factor.attribute, shares))
        likely = likely * (double(there) / double(hits))
        sure.append(there.eq(hits))
    ends = [[tell(factor, end) for end in (LEAST, MOST)] for factor in product.factors]
    if known is not None:
        ends.append([known, known])
    low, high = reduce(multiply_ends, ends)
    x, square = low, low  # of what is only counted or put in order
    if all(factor.summed for factor in product.factors):
        x = _multiply_all([tell(factor, MEAN) for factor in product.factors], known)
        squared = None if known is None else double(known) * double(known)
        square = _multiply_all([tell(factor, SQUARE) for factor in product.factors], squared)
    told = {
        "x": x, "least": low, "most": high, "p": likely, "xx": square,
        "c": case(exp.and_(*sure), number(1), number(0)),
    }  # fmt: skip
    return {title: part.copy() for title, part in told.items()}


def _multiply_all(factors: Sequence[exp.Expr], known: exp.Expr | None) -> exp.Expr:
    every = [*factors, *([] if known is None else [double(known)])]
    return reduce(lambda a, b: a * b, every)


def _at(parts: list[exp.Expr], place: Callable[[str], exp.Expr]) -> exp.Expr:
    """A predicate with columns replaced by where their values are."""
    moved = [
        part.transform(lambda node: place(node.name) if isinstance(node, exp.Column) else node)
        for part in parts
    ]
    return exp.and_(*(exp.paren(part) for part in moved)) if moved else exp.true()


def _count_cells(
    names: list[str], parts: list[exp.Expr], grouping: Sequence[Term], factors: Sequence[Factor]
) -> exp.Select:
    """Count, per combination of labels (and group), the cells that satisfy the predicate."""

    def place(name: str) -> exp.Expr:
        return column("value", f"c {name}")

    condition = _at(parts, place)
    labels = [column("label", f"c {name}") for name in names]
    keys = [key for key in grouping if key.columns & set(names)]
    values = [_at([key.expression], place).unnest() for key in keys]
    many = _multiply_many(names)
    total = add_up_over(add_up(many), labels)
    hits = add_up(case(condition, many.copy(), number(0)))
    ends = [case(hits.eq(total), double(number(1)), end)
            for end in _bound_cells(names, condition, labels)]  # fmt: skip
    made = select(
        *(label.as_(name, quoted=True) for label, name in zip(labels, names, strict=True)),
        *(v.copy().as_(f"#v {key.name}", quoted=True) for key, v in zip(keys, values, strict=True)),
        hits.copy().as_("#hits", quoted=True),
        total.copy().as_("#total", quoted=True),
        *(
            end.as_(title, quoted=True)
            for end, title in zip(ends, ("#least", "#most"), strict=True)
        ),
        *(
            part
            for factor in factors
            for part in count_factor(
                factor,
                condition,
                f"c {factor.attribute}",
                _multiply_many([name for name in names if name != factor.attribute]),
            )
        ),
    )
    for i, name in enumerate(names):
        table = named_table(f"cells {name}", f"c {name}")
        made = (
            made.from_(table, copy=False)
            if i == 0
            else made.join(table, join_type="cross", copy=False)
        )
    return made.group_by(*(label.copy() for label in labels), *values, copy=False)


def _multiply_many(names: Sequence[str]) -> exp.Expr:
    """How many combinations of values cells of some attributes have."""
    return multiply([column(MANY, f"c {name}") for name in names] or [number(1)])


def _bound_cells(
    names: list[str], condition: exp.Expr, labels: Sequence[exp.Expr]
) -> tuple[exp.Expr, exp.Expr]:
    """Give the least and the largest credible share of the cells that satisfy the predicate.

    They have at least what they have one by one, and what all others leave of the whole.
    """
    taken: dict[str, exp.Expr] = {}
    left: dict[str, exp.Expr] = {}
    for part in ("#likely", "#least", "#most"):
        share: exp.Expr = double(number(1))
        for name in names:
            share = share * column(part, f"c {name}")
        taken[part] = add_up(case(condition.copy(), share, double(number(0))))
        others = add_up_over(add_up(share.copy()), labels) - taken[part]
        left[part] = 1 - exp.paren(others)
    doubt = _larger(taken["#likely"] * exp.paren(1 - taken["#likely"]), double(number(0)))
    slack = double(exp.Literal.number(AMONG)) * exp.Sqrt(this=doubt)
    least = _larger(taken["#least"], left["#most"]) - slack
    most = exp.Least(this=taken["#most"], expressions=[left["#least"]], ignore_nulls=True) + slack
    whole = [double(number(1))]
    return (
        _larger(least, double(number(0))),
        exp.Least(this=most, expressions=whole, ignore_nulls=True),
    )


def _larger(one: exp.Expr, other: exp.Expr) -> exp.Expr:
    return exp.Greatest(this=one, expressions=[other], ignore_nulls=True)
