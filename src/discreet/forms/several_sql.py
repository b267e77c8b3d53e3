"""Questions about one of several sensitive attributes, each of which is told by itself."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import cast

from sqlglot import exp, select

from discreet.errors import QueryError
from discreet.forms.base import Statement
from discreet.release import Release, number_title
from discreet.sql.query import Query
from discreet.sql.trees import column, named_table


def choose_asked(query: Query, release: Release) -> str:
    """Give the sensitive attribute that a question is about; refuse one about several."""
    asked = {*query.columns, *(name for term in query.terms for name in term.columns)}
    return choose_one(asked, release)


def choose_one(asked: Collection[str], release: Release) -> str:
    """Give the one sensitive attribute that is asked for; without any, the first."""
    names = [name for name in release.schema.sensitive if name in asked]
    if len(names) > 1:
        raise QueryError(
            f"{', '.join(names)} are told each by itself: which of them belong to one person is "
            "not known.",
            hint="Ask about one of them.",
        )
    return names[0] if names else release.schema.sensitive[0]


def rename_tables(
    statement: Statement, release: Release, name: str, titles: Sequence[str], columns: Sequence[str]
) -> Statement:
    """Let a statement over a release of one attribute alone read the tables of this one."""
    tree, needed = statement
    place = release.schema.sensitive.index(name)
    if place == 0:
        return statement
    table, *others = titles
    real = {o: number_title(o, place) for o in others}
    if columns:
        real[table] = f"#{table}"

    def rename(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Table) and node.name in real:
            return named_table(real[node.name], node.alias or node.name)
        return node

    tree = cast("exp.Select", tree.transform(rename))
    if columns:
        back = {release.own(number_title(c, place)): release.own(c) for c in columns}
        kept = [*release.schema.names, *back]
        read = select(
            *(column(n).as_(back[n], quoted=True) if n in back else column(n) for n in kept)
        )
        tree = tree.with_(exp.to_identifier(real[table], quoted=True), as_=read.from_(table))
        tree.args["with_"].expressions.sort(key=lambda clause: clause.alias != real[table])
    return tree, needed
