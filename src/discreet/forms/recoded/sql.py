"""How a recoded release answers: who has some items, and lacks others, as far as labels tell.

Per set shown, the condition is tried in every world that its labels allow: an item that is shown by
itself is there, one of a label that is not shown is not, and of a label that is shown there are any
of its items, but at least one. So bounds are hard, and as narrow as the sets allow.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import polars as pl
from sqlglot import exp, select

from discreet.errors import QueryError, name_closest
from discreet.forms.base import Statement
from discreet.forms.recoded.view import TRANSACTIONS, read_labels
from discreet.release import Release
from discreet.sql.exact import name_parts
from discreet.sql.query import Query
from discreet.sql.reading import is_looked_up, refuse, show
from discreet.sql.trees import add_up, column, double, named_table, number
from discreet.table.item_sets import split_items
from discreet.table.taxonomy import canonical_text

POSSIBLE, SURE, LIKELY, MAYBE = "possible", "#sure", "#likely", "#maybe"
MOST_OPEN = 12
"""So many items that labels leave open are asked about at a time."""
ASK = "Ask by contains(items, 'x'), AND, OR and NOT: COUNT(*) … WHERE contains(items, 'x')."


class SetVerdict(NamedTuple):
    """What a set that is shown tells about a condition."""

    sure: bool
    likely: Fraction
    maybe: bool


class Worlds(NamedTuple):
    """What labels leave open about the items that are asked for."""

    stands_for: Mapping[str, frozenset[str]]
    label_of: Mapping[str, str]
    """Per item that is asked for, the label by which it would be shown."""

    def tell(self, condition: exp.Expr | None, shown: frozenset[str]) -> SetVerdict:
        """Try a condition in all worlds that a set allows."""
        if condition is None:
            return SetVerdict(True, Fraction(1), True)
        sure = {item: label in shown for item, label in self.label_of.items()
                if label not in self.stands_for or label not in shown or item == label}  # fmt: skip
        asked: dict[str, list[str]] = {}
        for item, label in self.label_of.items():
            if item not in sure:
                asked.setdefault(label, []).append(item)
        options = [self._list_options(label, items) for label, items in asked.items()]
        verdicts, likely = set(), Fraction(0)
        for world in product(*options):
            there = {item for items, _ in world for item in items}
            has = sure | {item: item in there for items in asked.values() for item in items}
            verdict = _holds(condition, has)
            verdicts.add(verdict)
            if verdict:
                weight = Fraction(1)
                for _, share in world:
                    weight *= share
                likely += weight
        return SetVerdict(False not in verdicts, likely, True in verdicts)

    def _list_options(self, label: str, asked: list[str]) -> list[tuple[list[str], Fraction]]:
        """List which of the items asked for may be there, where a label is shown; how likely each.

        It is taken to be one item of the label, each as likely.
        """
        size = len(self.stands_for[label])
        options = []
        for chosen in product((False, True), repeat=len(asked)):
            items = [item for item, there in zip(asked, chosen, strict=True) if there]
            if items or len(asked) < size:
                shares = {0: Fraction(size - len(asked), size), 1: Fraction(1, size)}
                options.append((items, shares.get(len(items), Fraction(0))))
        return options


def rewrite(query: Query, release: Release) -> Statement:
    """Rewrite a question into sums over the sets that are shown."""
    name = release.schema.names[0]
    sign = release.schema[name].separator
    if query.keys or any(a.term is not None for a in query.aggregates):
        raise QueryError(
            f"Of sets of items only people are counted: {name!r} is neither grouped by nor added "
            "up.",
            hint=ASK,
        )
    cells = release.tables[TRANSACTIONS][name].unique().sort()
    sets = {text: frozenset(split_items(text, sign)) for text in cells}
    items = _list_items(query.where, name) if query.where is not None else []
    worlds = _find_labels(items, release, frozenset[str]().union(*sets.values()))
    matter = frozenset(worlds.label_of.values())
    kinds = {shown & matter for shown in sets.values()}
    verdicts = {labels: worlds.tell(query.where, labels) for labels in kinds}
    told = [verdicts[shown & matter] for shown in sets.values()]
    possible = pl.DataFrame(
        {
            name: cells,
            SURE: [int(one.sure) for one in told],
            LIKELY: [float(one.likely) for one in told],
            MAYBE: [int(one.maybe) for one in told],
        },
        schema_overrides={SURE: pl.Int64, LIKELY: pl.Float64, MAYBE: pl.Int64},
    )
    p = column(LIKELY, POSSIBLE)
    parts = [p, column(SURE, POSSIBLE), column(MAYBE, POSSIBLE)]
    sums = [exp.func("COALESCE", add_up(part), number(0)) for part in parts]
    doubt = exp.func("COALESCE", add_up(p * exp.paren(number(1) - p)), number(0))
    error = exp.Sqrt(this=double(doubt))
    tree = select()
    for aggregate in query.aggregates:
        tree.select(*name_parts(aggregate, [part.copy() for part in (*sums, error)]), copy=False)
    tree.from_(exp.to_table(TRANSACTIONS), copy=False)
    on = column(name, TRANSACTIONS).eq(column(name, POSSIBLE))
    return tree.join(named_table(POSSIBLE), on=on, copy=False), {POSSIBLE: possible}


def _find_labels(items: list[str], release: Release, shown: frozenset[str]) -> Worlds:
    """Find the label that shows each item; refuse items of which nothing is told."""
    stands_for = read_labels(release)
    owner = {item: label for label, held in stands_for.items() for item in held}
    label_of = {}
    for item in items:
        label_of[item] = owner.get(item, item)
        if label_of[item] not in shown and release.parameters.get("items_left_out") != 0:
            raise QueryError(
                f"Nothing is told of the item {item!r}: nobody has it, or it is one of those that "
                "are left out of all sets.",
                hint=name_closest(item, sorted({*shown, *owner})[:50]),
            )
    left = [item for item, label in label_of.items() if label in stands_for and item != label]
    if len(left) > MOST_OPEN:
        raise QueryError(
            f"The question is about {len(left)} items that labels leave open; at most {MOST_OPEN} "
            "are asked about at a time.",
            hint="Ask about labels, which are answered exactly, or about fewer items.",
        )
    return Worlds(stands_for, label_of)


def _list_items(condition: exp.Expr, name: str) -> list[str]:
    """List the items that a condition is about; refuse what is none about items."""
    found: dict[str, None] = {}
    left = [condition]
    while left:
        node = left.pop()
        if (item := _read_item(node, name)) is not None:
            found[item] = None
        elif isinstance(node, exp.And | exp.Or):
            left += [node.expression, node.this]
        elif isinstance(node, exp.Not | exp.Paren) or is_looked_up(node):
            left.append(node.this)
        elif not isinstance(node, exp.Boolean):
            raise refuse(node, f"{show(node)} cannot be asked of a set of items", ASK)
    return list(found)


def _read_item(node: exp.Expr, name: str) -> str | None:
    """Give the item that contains() asks for."""
    if not isinstance(node, exp.Contains | exp.ArrayContains):
        return None
    held, asked = node.this.unnest(), node.expression.unnest()
    if not isinstance(held, exp.Column) or held.name != name:
        return None
    if not isinstance(asked, exp.Literal) or not asked.is_string:
        return None
    return canonical_text(asked.name)


def _holds(condition: exp.Expr, has: Mapping[str, bool]) -> bool:
    """Say whether a condition holds of who has some items."""
    if isinstance(condition, exp.Contains | exp.ArrayContains):
        return has[canonical_text(condition.expression.unnest().name)]
    if isinstance(condition, exp.And):
        return _holds(condition.this, has) and _holds(condition.expression, has)
    if isinstance(condition, exp.Or):
        return _holds(condition.this, has) or _holds(condition.expression, has)
    if isinstance(condition, exp.Not):
        return not _holds(condition.this, has)
    if isinstance(condition, exp.Boolean):
        return bool(condition.this)
    return _holds(condition.this, has)
