"""How releases answer whose values were shuffled within buckets: slices, batches, groups.

Every aggregate is about one side, its own, and goes through that side's rows; what the other sides
that the question asks take of a bucket's people is known by their tallies (`bucket_bounds`). Where
no other is asked, a side answers by itself, and buckets do not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlglot import exp, select

from discreet.forms.base import Statement
from discreet.forms.bucket_answers import state
from discreet.forms.bucket_bounds import (
    SIZES,
    AddedPart,
    bound_sums,
    count_cells,
    count_rows,
    list_deltas,
    name_cells,
    name_centred,
    name_out,
    name_ranked,
    name_sizes,
    rank_rows,
    write_cells,
    write_centred,
)
from discreet.forms.bucket_parts import PARTS, TiedSides, choose_sides, number_parts
from discreet.forms.bucket_products import (
    CrossProduct,
    bound_products,
    count_products,
    write_products,
)
from discreet.forms.bucket_sides import (
    WHOLE,
    AskedSide,
    Buckets,
    Measure,
    count_people,
    name_key,
    part_question,
    take_rows,
    tally_rows,
)
from discreet.release import Release
from discreet.sql.exact import name_parts
from discreet.sql.quantiles import ORDERED, Deltas, add_quantiles
from discreet.sql.query import Aggregate, Query
from discreet.sql.trees import ascending, column, formula, named_table

ADDED = "#added"
COUNTED = ("fewest", "most")
"""What is counted in whole people."""
NEEDED = {
    "COUNT": ("people", "fewest", "most", "spread", "middle", "reach"),
    "SUM": ("most", "sum", "sum low", "sum high", "sum spread"),
    "AVG": ("people", "fewest", "most", "spread", "sum", "sum low", "sum high", "sum spread",
            "both", "centre", "below", "above", "least", "largest"),
}  # fmt: skip
KNOWN = ("people", "most", "sum")
"""What an average is made of if all of it is known."""


class _Block(NamedTuple):
    """A side whose measures are aggregated, and the others that the question asks."""

    own: AskedSide
    others: list[AskedSide]
    aggregates: list[tuple[Aggregate, Measure | None]]
    together: TiedSides | None
    """Those of the others that are put together, as they share attributes."""

    @property
    def certain(self) -> bool:
        """Whether it is known who is taken, and what they have."""
        return not self.others and not self.own.shares

    def list_measures(self, *functions: str) -> list[Measure]:
        """Give what some functions are asked of, each once."""
        found = {m.number: m for a, m in self.aggregates if m and a.function in functions}
        return list(found.values())


def rewrite_buckets(query: Query, release: Release, buckets: Buckets) -> Statement:
    """Rewrite a question into one over the rows of sides and the tallies of others."""
    question = part_question(query, release, buckets)
    sides = question.sides
    products = [CrossProduct(whole, (sides[a], sides[b]), (one, two))
                for whole, ((a, one), (b, two)) in question.products.values()]  # fmt: skip
    blocks = _list_blocks(query, question.single, sides, question.home)
    clauses: dict[str, exp.Expr] = {
        share.table: share.clause for side in sides for share in side.shares
        if share.clause is not None
    }  # fmt: skip
    clauses |= _write_parts(buckets, blocks)
    clauses |= _write_sides(buckets, blocks, products)
    for block in blocks:
        if block.together is not None:
            clauses |= block.together.tally()
    parts: list[AddedPart] = []
    for block in blocks:
        clauses |= _write_block(block, len(query.keys))
        parts += _list_parts(block, len(query.keys))
    for product in products:
        clauses[product.cells] = write_products(product)
        parts.append(count_products(product))
        if product.bounded:
            parts.append(bound_products(product))
    measures = {name: measure for name, (_, measure) in question.single.items()}
    measures |= {name: whole for name, (whole, _) in question.products.items()}
    certain = {m.number for b in blocks for _, m in b.aggregates if m and b.certain}
    tree, wanted = _state_all(query, parts, measures, certain)
    clauses[ADDED] = _unite(parts, wanted, len(query.keys))
    for name, clause in clauses.items():
        tree = tree.with_(exp.to_identifier(name, quoted=True), as_=clause, copy=False)
    found = [
        Deltas(list_deltas(block.own, measure, query, alone=not block.others),
               [a for a, m in block.aggregates if m is measure and a.function in ORDERED],
               has_middle=measure.is_number)
        for block in blocks for measure in block.list_measures(*ORDERED)
    ]  # fmt: skip
    if found:
        return add_quantiles(query, tree, found), question.needed
    keys = [column(name_key(i)) for i in range(len(query.keys))]
    if keys:
        tree = tree.order_by(*ascending(*keys), copy=False)
    return tree, question.needed


def _list_blocks(
    query: Query, single: dict[str, tuple[int, Measure]], sides: Sequence[AskedSide], home: int
) -> list[_Block]:
    """Give every side that is aggregated with what is asked of it; people are counted by one."""
    asked: dict[int, list[tuple[Aggregate, Measure | None]]] = {}
    for aggregate in query.aggregates:
        if aggregate.term is not None and aggregate.term.name in single:
            place, measure = single[aggregate.term.name]
            asked.setdefault(place, []).append((aggregate, measure))
    people = [(a, None) for a in query.aggregates if a.term is None]
    asking = [side for side in sides if side.asks]
    if people or not asked:
        place = next(iter(asked), home)
        if sides[
            place
        ].side.ties:  # what shares nothing sees whole buckets, and bounds more closely
            place = next((side.place for side in asking if not side.side.ties), place)
        asked.setdefault(place, []).extend(people)
    blocks = []
    for place, aggregates in asked.items():
        others = [side for side in asking if side.place != place]
        own, others, together = choose_sides(sides[place], others)
        blocks.append(_Block(own, others, aggregates, together))
    return blocks


def _write_parts(buckets: Buckets, blocks: Sequence[_Block]) -> dict[str, exp.Expr]:
    """Number and count the parts of buckets, where any are asked."""
    asked = [block.together.sides[0] if block.together else block.own for block in blocks]
    part = next((side for side in asked if side.is_part), None)
    if part is None:
        return {}
    bound = next(side for side in buckets.sides if side.ties)
    return {PARTS: number_parts(bound), name_sizes(part): count_people([part.side])}


def _write_sides(
    buckets: Buckets, blocks: Sequence[_Block], products: Sequence[CrossProduct]
) -> dict[str, exp.Expr]:
    """Write the rows that sides take, and the tallies of those that are joined."""
    alone = [block.own for block in blocks if not block.others]
    joined = [[b.own, *b.others] for b in blocks if b.others] + [list(p.sides) for p in products]
    shown = [[side for side in sides if not side.is_mixed] for sides in joined]
    shown += [block.together.sides for block in blocks if block.together is not None]
    every = {side.title: side for sides in (alone, *shown) for side in sides}
    tallied = {side.title: side for sides in shown for side in sides}
    clauses: dict[str, exp.Expr] = {side.rows: take_rows(side) for side in every.values()}
    clauses |= {side.tally: tally_rows(side) for side in tallied.values()}
    if any(all(side.asks for side in sides) or sides[0].is_part for sides in joined):
        clauses[SIZES] = count_people(buckets.sides)
    ranked = {p.sides[i].title: (p.sides[i], [p.factors[i]])
              for p in products if p.bounded for i in (0, 1)}  # fmt: skip
    for block in blocks:
        if block.others:
            measures = block.list_measures("SUM", "AVG", *ORDERED)
            side, factors = ranked.get(block.own.title, (block.own, []))
            ranked[side.title] = (side, [*factors, *measures])
    clauses |= {name_ranked(side): rank_rows(side, measures)
                for side, measures in ranked.values() if measures}  # fmt: skip
    return clauses


def _write_block(block: _Block, keys: int) -> dict[str, exp.Expr]:
    """Write what a side's buckets take, or what its groups average, where that is not known."""
    own, averaged = block.own, block.list_measures("AVG")
    if block.others:
        return {name_cells(own): write_cells(own, block.others, averaged, keys)}
    if averaged and not block.certain:
        return {name_centred(own): write_centred(own, averaged, keys)}
    return {}


def _list_parts(block: _Block, keys: int) -> list[AddedPart]:
    """Give what a side adds to the answer."""
    own = block.own
    people = [None] if any(m is None for _, m in block.aggregates) else []
    measures = [*people, *block.list_measures("COUNT", "SUM", "AVG")]
    if block.others:
        summed = block.list_measures("SUM", "AVG")
        # of a side that shares nothing it is the same people, whatever part they are taken of
        apart = own.is_part and not all(side.is_part for side in block.others)
        related = [WHOLE, *map(name_key, range(keys))] if apart else []
        counted = count_cells(own, measures, related)
        return [counted, bound_sums(own, summed)] if summed else [counted]
    centred = bool(block.list_measures("AVG")) and not block.certain
    source = name_centred(own) if centred else own.rows
    return [count_rows(own, measures, source)]


def _state_all(
    query: Query, parts: Sequence[AddedPart], measures: dict[str, Measure], certain: set[int]
) -> tuple[exp.Select, dict[str, str]]:
    """State every aggregate that is no matter of order; give what that adds up, and its types."""
    keys = [column(name_key(i)) for i in range(len(query.keys))]
    columns = [key.as_(term.name, quoted=True)
               for key, term in zip(keys, query.keys, strict=True)]  # fmt: skip
    added = {name for part in parts for name in part.added}
    wanted: dict[str, str] = {}
    for aggregate in query.aggregates:
        if aggregate.function in ORDERED:
            continue
        measure = None if aggregate.term is None else measures[aggregate.term.name]
        known = measure is not None and measure.number in certain
        kinds = KNOWN if known and aggregate.function == "AVG" else NEEDED[aggregate.function]
        wanted |= {name_out(what, measure): "BIGINT" if what in COUNTED else "DOUBLE"
                   for what in kinds if name_out(what, measure) in added}  # fmt: skip
        stated = state(aggregate, measure, wanted, known=known)
        columns += name_parts(aggregate, [formula(text) for text in stated])
    if not wanted:
        columns.append(exp.Count(this=exp.Star()).as_("#rows", quoted=True))
    tree = select(*columns).from_(named_table(ADDED), copy=False)
    return tree.group_by(*(key.copy() for key in keys), copy=False) if keys else tree, wanted


def _unite(parts: Sequence[AddedPart], wanted: dict[str, str], keys: int) -> exp.Expr:
    """Put together what rows and buckets add."""
    found = []
    for part in [part for part in parts if part.added.keys() & wanted.keys()] or parts[:1]:
        columns: list[exp.Expr] = [column(name_key(i), part.table) for i in range(keys)]
        columns += [formula(f'CAST({part.added.get(name, "NULL")} AS {kind}) AS "{name}"')
                    for name, kind in wanted.items()]  # fmt: skip
        found.append(part.rows.select(*(columns or [exp.Literal.number(1)])))
    return found[0] if len(found) == 1 else exp.union(*found, distinct=False, copy=False)
