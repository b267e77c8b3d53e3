"""Shares: how much of each box a question covers.

Attributes are independent given the box, so a predicate falls into components that share no
attribute; each is tabulated once per combination of labels, and records look their shares up.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import NamedTuple

import numpy as np
import polars as pl
from sqlglot import exp, select

from discreet.errors import QueryError
from discreet.release import Release
from discreet.release.cells import MOST_CELLS, list_cells, write_texts
from discreet.release.labels import read_labels
from discreet.sql.evenness import learn_spread
from discreet.sql.parse import Query
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


def split_predicate(query: Query, blurred: set[str]) -> tuple[list[exp.Expr], list[Component]]:
    """Part the predicate into what is exact and components that share no blurred attribute."""
    exact: list[exp.Expr] = []
    components: list[tuple[set[str], list[exp.Expr]]] = [
        ({name}, []) for name in query.group_by if name in blurred
    ]
    for part in query.conditions:
        names = {column.name for column in part.find_all(exp.Column)}
        if not names & blurred:
            exact.append(part)
            continue
        if names - blurred:
            raise QueryError(
                f"{part.sql()!r} ties a blurred column to an exact one.",
                hint="Join conditions on the two by AND.",
            )
        joined = [c for c in components if c[0] & names]
        components = [c for c in components if not c[0] & names]
        merged = names.union(*(c[0] for c in joined))
        components.append((merged, [*(p for c in joined for p in c[1]), part]))
    return exact, [(sorted(names), parts) for names, parts in components]


def tabulate_shares(
    release: Release, table: str, components: list[Component], grouping: list[str]
) -> tuple[list[Share], dict[str, pl.DataFrame]]:
    """Tabulate every component, and give the tables that needs.

    What one attribute's labels share with a question is counted here; where attributes are tied
    together, or people grouped, cells are counted by the engine.
    """
    shares: list[Share] = []
    needed: dict[str, pl.DataFrame] = {}
    for i, (names, parts) in enumerate(components):
        title = f"share {i}"
        if len(names) == 1 and names[0] not in grouping:
            labels, _ = read_labels(release, release.tables[table], names[0])
            asked = select_values(labels, parts)
            hits, sizes = labels.share([asked])
            exact = not release.recodings[names[0]].is_blurred
            shown = write_texts(labels.texts, labels.attribute) if exact else labels.texts
            counted = {names[0]: shown, "#hits": hits[:, 0], "#total": sizes}
            least, most = np.zeros(len(sizes)), np.ones(len(sizes))
            if _is_spread(release, names[0]):
                least, most = learn_spread(release, table, names[0]).bound(asked)
            counted["#least"] = np.where(hits[:, 0] == sizes, 1.0, least)
            counted["#most"] = np.where(hits[:, 0] == sizes, 1.0, most)
            needed[title] = pl.DataFrame(counted)
            shares.append(Share(title, names, None, exact))
            continue
        _refuse_coarse(release, names, parts)
        listed = {f"cells {name}": _list_cells(release, table, name) for name in names}
        size = reduce(lambda n, frame: n * frame.height, listed.values(), 1)
        if size > MOST_CELLS:
            raise QueryError(
                f"The predicate on {', '.join(names)} has {size:,} combinations to look at.",
                hint="Ask about fewer attributes at once, or join them by AND instead of OR.",
            )
        needed.update(listed)
        shares.append(Share(title, names, _count_cells(names, parts, grouping)))
    return shares, needed


def _is_spread(release: Release, name: str) -> bool:
    """Whether it can be learned how people are spread over what labels stand for."""
    return release.recodings[name].is_blurred and not is_coarse(release.schema[name])


def _list_cells(release: Release, table: str, name: str) -> pl.DataFrame:
    """List the values of labels, each with the least and the largest credible share."""
    cells = list_cells(release, table, name)
    least, most = np.zeros(cells.height), np.ones(cells.height)
    if _is_spread(release, name):
        least, most = learn_spread(release, table, name).bound_cells(cells)
    return cells.with_columns(pl.Series("#least", least), pl.Series("#most", most))


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


def add_clauses(statement: exp.Select, shares: list[Share]) -> exp.Select:
    """Let a statement make the shares that are not at hand."""
    for share in shares:
        if share.clause is not None:
            name = exp.to_identifier(share.table, quoted=True)
            statement = statement.with_(name, as_=share.clause)
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
        statement = statement.join(named_table(share), on=exp.and_(*same, possible))
    return statement


def _at(parts: list[exp.Expr], place: Callable[[str], exp.Expr]) -> exp.Expr:
    """A predicate with columns replaced by where their values are."""
    moved = [
        part.transform(lambda node: place(node.name) if isinstance(node, exp.Column) else node)
        for part in parts
    ]
    return exp.and_(*(exp.paren(part) for part in moved)) if moved else exp.true()


def _count_cells(names: list[str], parts: list[exp.Expr], grouping: list[str]) -> exp.Select:
    """Count, per combination of labels (and group), the cells that satisfy the predicate."""
    condition = _at(parts, lambda name: column("value", f"c {name}"))
    labels = [column("label", f"c {name}") for name in names]
    values = [column("value", f"c {name}") for name in names if name in grouping]
    total = add_up_over(exp.Count(this=exp.Star()), labels)
    hits = add_up(case(condition, number(1), number(0)))
    # what is taken has at least what its cells have, and what the others leave of the whole
    taken: dict[str, exp.Expr] = {}
    left: dict[str, exp.Expr] = {}
    for end in ("#least", "#most"):
        share = reduce(lambda a, b: a * b, (column(end, f"c {name}") for name in names))
        taken[end] = add_up(case(condition.copy(), share, double(number(0))))
        others = add_up_over(add_up(share.copy()), labels) - taken[end].copy()
        left[end] = 1 - exp.paren(others)
    least = exp.Greatest(this=taken["#least"], expressions=[left["#most"]])
    most = exp.Least(this=taken["#most"], expressions=[left["#least"]])
    whole = hits.eq(total)
    made = select(
        *(label.as_(name, quoted=True) for label, name in zip(labels, names, strict=True)),
        *(column("value", f"c {n}").as_(f"#v {n}", quoted=True) for n in names if n in grouping),
        hits.copy().as_("#hits", quoted=True),
        total.copy().as_("#total", quoted=True),
        case(whole, double(number(1)), least).as_("#least", quoted=True),
        case(whole.copy(), double(number(1)), most).as_("#most", quoted=True),
    )
    for i, name in enumerate(names):
        table = named_table(f"cells {name}", f"c {name}")
        made = made.from_(table) if i == 0 else made.join(table, join_type="cross")
    return made.group_by(*(label.copy() for label in labels), *values)
