"""Questions about numbers that were made coarser: they are about people's own numbers.

A column shows 90 where somebody is 97. A condition that takes all or nothing of what every value
shown may be is one about the values shown; any other cuts through what they stand for. Where a
form does not spread people over that, such a question is refused: an answer would be wrong.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np
from sqlglot import exp

from discreet.errors import QueryError
from discreet.release import Release
from discreet.release.labels import Labels, find_labels
from discreet.sql.query import Query, find_columns
from discreet.sql.selection import select_values
from discreet.sql.trees import case, column, nothing
from discreet.table.coarsening import Coarsening, describe_coarsening, is_coarse
from discreet.table.schema import Attribute, Type
from discreet.table.taxonomy import write_decimal


def list_coarse(release: Release) -> set[str]:
    """Name the columns whose cells are single values that stand for others."""
    return {
        a.name for a in release.schema if is_coarse(a) and not release.recodings[a.name].is_blurred
    }


def refuse_coarse_aggregates(query: Query, release: Release, *, bounded: bool) -> None:
    """Refuse aggregates of numbers that stand for others, where their bounds are not told."""
    for aggregate in query.aggregates:
        if aggregate.term is None or aggregate.function == "COUNT":
            continue
        told = bounded and aggregate.term.is_plain
        coarse = [release.schema[name] for name in sorted(aggregate.columns)
                  if is_coarse(release.schema[name])]  # fmt: skip
        for attribute in coarse:
            if told and attribute.type is not Type.DATE:
                continue
            raise QueryError(
                f"{aggregate.function} of {attribute.name!r} cannot be answered: "
                f"{describe_coarsening(attribute)}.",
                hint="Count people, or read what the tables show.",
            )


def restate(query: Query, release: Release) -> Query:
    """Put conditions on people's own numbers as conditions on what is shown of them."""
    coarse = list_coarse(release)
    used = {name for part in query.conditions for name in find_columns(part)}
    if not coarse & used:
        return query
    about: dict[str, list[exp.Expr]] = {}
    others = []
    for part in query.conditions:
        names = set(find_columns(part))
        if not names & coarse:
            others.append(part)
        elif len(names) > 1:
            raise QueryError(
                f"{part.sql()!r} ties {min(names & coarse)!r}, whose numbers were made coarser, to "
                "another column.",
                hint="Join conditions on the two by AND.",
            )
        else:
            about.setdefault(names.pop(), []).append(part)
    shown = [_restate_parts(parts, release, name) for name, parts in about.items()]
    return replace(query, where=exp.and_(*others, *shown))


def _restate_parts(parts: list[exp.Expr], release: Release, name: str) -> exp.Expr:
    title = next(title for title, table in release.carriers.items() if name in table.columns)
    labels = find_labels(release, title, name)
    hits, sizes = labels.share([select_values(labels, parts)])
    taken = hits[:, 0]
    cut = np.flatnonzero((taken > 0) & (taken < sizes))
    if len(cut):
        asked = " AND ".join(part.sql() for part in parts)
        raise QueryError(
            f"{asked!r} cuts through what {labels.texts[int(cut[0])]} of {name!r} stands for: "
            f"{describe_coarsening(labels.attribute)}.",
            hint="Ask for all of it, or for none.",
        )
    return _list_taken(labels, taken > 0)


def _list_taken(labels: Labels, taken: np.ndarray) -> exp.Expr:
    shown = column(labels.attribute.name)
    values = [_write(labels.attribute, labels.texts[i])
              for i in np.flatnonzero(taken & ~labels.absent).tolist()]  # fmt: skip
    never = exp.EQ(this=exp.Literal.number(1), expression=exp.Literal.number(0))
    meant: exp.Expr = exp.In(this=shown, expressions=values) if values else never
    if (taken & labels.absent).any():
        meant = exp.or_(meant, shown.copy().is_(exp.null()))
    return exp.paren(meant)


def _write(attribute: Attribute, text: str) -> exp.Expr:
    if attribute.type is Type.DATE:
        return exp.cast(exp.Literal.string(text), "DATE")
    return exp.Neg(this=exp.Literal.number(text[1:])) if text[0] == "-" else (
        exp.Literal.number(text))  # fmt: skip


def write_ends(attribute: Attribute, shown: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
    """Write the least and the largest that a number shown may be; nothing where it has no end."""
    coarse = Coarsening.of(attribute)
    assert coarse is not None

    def literal(unit: int) -> exp.Expr:
        exact = Decimal(unit).scaleb(-(attribute.decimals or 0))
        return _write(attribute, write_decimal(exact))

    low = nothing() if attribute.low is None else literal(coarse.low)
    high = nothing() if attribute.high is None else literal(coarse.high)
    if coarse.aggregate is not None:
        return low, high
    base, half = coarse.base, coarse.base // 2
    least: exp.Expr = shown.copy() - literal(half)
    most: exp.Expr = shown.copy() + literal(base - 1 - half)
    if coarse.bottom is not None:  # numbers next to a code reach up to it
        first = coarse.bottom - coarse.bottom % base + base
        least = case(shown.copy().eq(literal(first)), literal(coarse.bottom + 1), least)
        at = shown.copy().eq(literal(coarse.bottom))
        least, most = case(at, low, least), case(at.copy(), literal(coarse.bottom), most)
    if coarse.top is not None:
        last = coarse.top - 1 - (coarse.top - 1) % base
        most = case(shown.copy().eq(literal(last)), literal(coarse.top - 1), most)
        at = shown.copy().eq(literal(coarse.top))
        least, most = case(at, literal(coarse.top), least), case(at.copy(), high, most)
    return least, most
