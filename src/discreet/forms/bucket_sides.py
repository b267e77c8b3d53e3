"""Sides: what a question asks of releases whose values were shuffled within buckets.

People of a bucket have several sides: the columns of a slice, a record and its number. Each shows
some attributes, and all sides of a bucket have as many rows as it has people; which rows belong to
one person is chance. Where some values are nobody's, the side of people has fewer rows: it is then
asked always, like a side with conditions, and nobody is whom none of its rows takes. A question
falls into what it asks of every side: which rows are taken, and with which weight where attributes
are blurred; what people are grouped by; what is aggregated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import polars as pl
from sqlglot import exp, select

from discreet.errors import QueryError
from discreet.release import Release
from discreet.sql.blurred import NUMBERS, Product, split_term
from discreet.sql.quantiles import ORDERED
from discreet.sql.query import Query, Term, find_columns, move
from discreet.sql.shares import (
    Share,
    bound_shares,
    find_share,
    join_shares,
    split_predicate,
    tabulate_shares,
    tell_product,
    weigh_shares,
)
from discreet.sql.trees import case, column, double, formula, name_part, named_table, number
from discreet.sql.widths import weigh_ends

BUCKET, MANY = "#b", "#n"
"""Whose row it is, and how many of it there are."""
WHOLE, PART = "#whole", "#part"
"""The bucket of which a row's is a part that agrees, and the table that numbers such parts."""


class Side(NamedTuple):
    """Where a side stands, and what it shows."""

    table: str
    bucket: str | None
    """The column that says whose a row is; without it the side is asked by itself only."""
    often: str | None
    """The column that says how many people have a row; without it, one."""
    attributes: frozenset[str]
    blurred: frozenset[str] = frozenset()
    shared: str | None = None
    """A table with how many rows of a bucket are people's, ``#hits`` of ``#total``, if not all."""
    lacks: bool = False
    """Whether it has fewer rows than others, of which some are nobody's."""
    ties: tuple[str, ...] = ()
    """What it shares with all others that share anything: their rows stand side by side so that
    they agree on it, and only what agrees is one person's."""

    @property
    def own(self) -> frozenset[str]:
        """What it shows and shares with no other."""
        return self.attributes.difference(self.ties)

    def find_bucket(self, table: str | None = None) -> exp.Expr:
        """Say whose a row is."""
        return number(0) if self.bucket is None else column(self.bucket, table)


class Buckets(NamedTuple):
    """A form's sides, and what it says where a question ties attributes of several."""

    sides: tuple[Side, ...]
    refuse_tie: Callable[[exp.Expr, list[str]], QueryError]
    """From what ties them, and one attribute of each side."""
    multiplies: bool = True
    """Whether products of what different sides show are answered."""


class Measure(NamedTuple):
    """Something that one side shows of people, and that is aggregated."""

    number: int
    told: Product
    """Of what it is a product: something exact, and what labels tell."""
    is_number: bool
    """Whether it is added up; else it is counted, or put in order."""
    is_ordered: bool

    @property
    def blurred(self) -> bool:
        """Whether labels leave open which number it is."""
        return bool(self.told.factors)

    @property
    def value(self) -> str:
        """The column that has it, or what is expected of it."""
        return f'"#x {self.number}"'

    @property
    def ends(self) -> tuple[str, str]:
        """The columns with the least and the most that it may be."""
        if not self.blurred:
            return self.value, self.value
        return f'"#least {self.number}"', f'"#most {self.number}"'

    @property
    def square(self) -> str:
        """What is expected of its square."""
        return f'"#xx {self.number}"' if self.blurred else f"{self.value} * {self.value}"


class AskedSide(NamedTuple):
    """What a question asks of one side."""

    place: int
    side: Side
    conditions: list[exp.Expr]
    """On what it shows exactly."""
    keys: list[tuple[int, Term]]
    """What people are grouped by, each with its place among all."""
    shares: list[Share]
    """How much of labels is asked."""
    measures: list[Measure]
    asks: bool
    """Whether conditions or groups depend on it."""
    is_part: bool = False
    """Whether its buckets are parts of buckets, which agree on what several sides share."""
    is_mixed: bool = False
    """Whether it is chance how many of its rows are taken: it is several sides, put together."""

    @property
    def title(self) -> str:
        """Its place, and what its buckets and rows are."""
        if self.is_mixed:
            return f"{self.place} together"
        return f"{self.place} {PART}" if self.is_part else f"{self.place}"

    @property
    def rows(self) -> str:
        """The clause with the rows that are taken."""
        return f"#side {self.title}"

    @property
    def tally(self) -> str:
        """The clause that counts them, by bucket and group."""
        return f"#tally {self.title}"

    @property
    def key_columns(self) -> list[str]:
        """Where the clauses have what is grouped by."""
        return [name_key(i) for i, _ in self.keys]

    @property
    def by(self) -> list[str]:
        """What rows are counted by."""
        return [BUCKET, *([WHOLE] if self.is_part else []), *self.key_columns]

    def stat(self, letter: str, measure: Measure | None) -> str:
        """Name a count or sum that the tally has, of people or of those who have a measure.

        With the weight w of n people: M = Σn, S those who are taken for sure, W = Σnw, V = Σnw²,
        T = Σnwx, Q = Σnwx², R = Σn(wx)², D = Σnw²x. Without weights several are the same.
        """
        if not self.shares and not self.is_mixed:
            letter = {"S": "M", "W": "M", "V": "M", "R": "Q", "D": "T"}.get(letter, letter)
        return f'"#all {letter}"' if measure is None else f'"#all {letter} {measure.number}"'

    def row(self, letter: str, measure: Measure | None) -> str:
        """Write what a row has: n, the weight w, how many are sure (s)."""
        ending = "" if measure is None else f" {measure.number}"
        if not self.shares:
            return "1" if letter == "w" else f'"#n{ending}"'
        return f'"#{letter}{ending}"'


def name_key(i: int) -> str:
    """Name the column that has what people are grouped by."""
    return f"#k {i}"


def find_side(buckets: Buckets, what: exp.Expr) -> int | None:
    """Give the side that an expression is about; refuse one that ties several."""
    names = sorted(find_columns(what))
    places = find_sides(buckets.sides, names)
    if len(places) > 1:
        raise buckets.refuse_tie(what, [_first(names, buckets.sides[i]) for i in places])
    return places[0] if places else None


def find_sides(sides: Sequence[Side], names: Collection[str]) -> list[int]:
    """Give the sides that show these attributes: one that shows all, if there is one.

    What several share is shown by any of them that is needed for something else, or by the first.
    """
    every = [i for i, side in enumerate(sides) if side.attributes >= {*names}]
    if names and every:
        return every[:1]
    needed = [i for i, side in enumerate(sides) if side.own & {*names}]
    for i, side in enumerate(sides):
        if side.attributes & {*names}.difference(*(sides[place].attributes for place in needed)):
            needed.append(i)
    return sorted(needed)


def _first(names: Sequence[str], side: Side) -> str:
    return next(name for name in (*filter(side.own.__contains__, names), *side.ties, *names)
                if name in names and name in side.attributes)  # fmt: skip


class Question(NamedTuple):
    """A question parted into what it asks of every side."""

    sides: list[AskedSide]
    home: int
    """The side that is asked what is about no attribute at all."""
    single: dict[str, tuple[int, Measure]]
    """By the name of a term, its side and what is measured there."""
    products: dict[str, tuple[Measure, list[tuple[int, Measure]]]]
    """By the name of a term, a number for it, and what it is a product of."""
    needed: dict[str, pl.DataFrame]


def part_question(query: Query, release: Release, buckets: Buckets) -> Question:
    """Part a question into what it asks of every side; give the tables that needs."""
    sides = buckets.sides
    conditions = [(find_side(buckets, part), part) for part in query.conditions]
    keys = [(find_side(buckets, key.expression), key) for key in query.keys]
    asking = [place for place, _ in (*conditions, *keys) if place is not None]
    measured = [i for term in query.terms for i in find_sides(sides, term.columns)]
    people = next((i for i, side in enumerate(sides) if side.lacks), len(sides) - 1)
    home = next(iter((*asking, *measured)), people)
    blurred = {name for side in sides for name in side.blurred}
    placing = _Placing(buckets, home, blurred)
    for term in query.terms:
        functions = {a.function for a in query.aggregates if a.term == term}
        numbers = not term.is_plain or release.schema[term.name].type in NUMBERS
        placing.place(term, functions, is_number=numbers and functions != {"COUNT"})
    every = placing.every
    told = [factor for _, measure in every for factor in measure.told.factors]
    exact, components = split_predicate(query, blurred, told)
    grouping = [key for key in query.keys if key.columns & blurred]
    table = next((side.table for side in sides if side.blurred), sides[home].table)
    shares, needed = tabulate_shares(release, table, components, grouping, told)
    kept = {id(part) for part in exact}
    asked = []
    for i, side in enumerate(sides):
        here = [part for at, part in conditions if (home if at is None else at) == i]
        grouped = [(k, key) for k, (at, key) in enumerate(keys)
                   if (home if at is None else at) == i]  # fmt: skip
        asked.append(AskedSide(
            i, side, [part for part in here if id(part) in kept], grouped,
            [share for share in shares if share.names[0] in side.attributes],
            [measure for at, measure in every if at == i], bool(here or grouped or side.lacks),
        ))  # fmt: skip
    return Question(asked, home, placing.single, placing.products, needed)


class _Placing:
    """Says of which side each term is, or of which two it is a product."""

    def __init__(self, buckets: Buckets, home: int, blurred: set[str]) -> None:
        self.buckets, self.home, self.blurred = buckets, home, blurred
        self.every: list[tuple[int, Measure]] = []
        self.single: dict[str, tuple[int, Measure]] = {}
        self.products: dict[str, tuple[Measure, list[tuple[int, Measure]]]] = {}

    def place(self, term: Term, functions: set[str], *, is_number: bool) -> None:
        """Place a term of which some functions are asked."""
        places = find_sides(self.buckets.sides, term.columns)
        ordered = bool(functions & set(ORDERED))
        if len(places) < 2:
            side = places[0] if places else self.home
            measure = self._measure(side, term, is_number=is_number, is_ordered=ordered)
            self.single[term.name] = side, measure
            return
        pair = _split_product(term, self.buckets, places)
        if ordered:
            raise QueryError(
                f"The order of {term.expression.sql()} is not known: it is chance which of the two "
                "belong to one person.",
                hint="Ask for SUM or AVG.",
            )
        factors = [
            (side, self._measure(side, Term(term.name, part), is_number=is_number,
                                 is_ordered=False))
            for side, part in pair
        ]  # fmt: skip
        number = len(self.every) + len(self.products)
        whole = Measure(-1 - number, Product(None, []), is_number, is_ordered=False)
        self.products[term.name] = whole, factors

    def _measure(self, side: int, term: Term, *, is_number: bool, is_ordered: bool) -> Measure:
        first = sum(len(measure.told.factors) for _, measure in self.every)
        told = split_term(term, self.blurred, first, summed=is_number)
        measure = Measure(len(self.every), told, is_number, is_ordered)
        self.every.append((side, measure))
        return measure


def _split_product(term: Term, buckets: Buckets, places: list[int]) -> list[tuple[int, exp.Expr]]:
    """Part a product into what each of two sides shows of it; refuse anything else."""
    parts: dict[int, exp.Expr] = {}
    names = sorted(term.columns)
    tied = buckets.refuse_tie(term.expression, [_first(names, buckets.sides[i]) for i in places])
    if not buckets.multiplies or len(places) > 2:
        raise tied
    for factor in _list_factors(term.expression):
        found = find_sides(buckets.sides, find_columns(factor))
        if len(found) > 1:
            raise tied
        place = found[0] if found else places[0]
        once = exp.Paren(this=factor.copy())
        parts[place] = parts[place] * once if place in parts else once
    if len(parts) < 2:
        raise tied
    return [(place, parts[place]) for place in places]


def _list_factors(expression: exp.Expr) -> list[exp.Expr]:
    inner = expression.unnest()
    if isinstance(inner, exp.Mul):
        return [*_list_factors(inner.this), *_list_factors(inner.expression)]
    return [inner]


def take_rows(asked: AskedSide) -> exp.Select:
    """The rows that a side takes: bucket, groups, how many, weight, and what is aggregated."""
    side, table, shares = asked.side, asked.side.table, asked.shares
    shared = {name for share in shares for name in share.names}
    many = number(1) if side.often is None else column(side.often, table)
    weight, sure = weigh_shares(shares)
    columns: dict[str, exp.Expr] = {BUCKET: side.find_bucket(table)}
    if asked.is_part:
        columns[WHOLE] = column(WHOLE, table)
    for i, key in asked.keys:
        columns[name_key(i)] = (
            column(f"#v {key.name}", find_share(key, shares)) if key.columns & shared
            else key.at(table)
        )  # fmt: skip
    columns[MANY] = many
    if shares:
        columns |= {"#w": weight, "#s": many * sure}
        columns |= {title: end for end, title in weigh_ends(*bound_shares(shares))}
    for measure in asked.measures:
        shown = _show(measure, table, shares, weight, sure)
        there = shown["x"].is_(exp.null()).not_()
        shown["n"] = case(there, many.copy(), number(0))
        if shares:
            likely, certain = shown.pop("p", weight), shown.pop("c", sure)
            shown["w"] = case(there.copy(), likely.copy(), number(0))
            shown["s"] = case(there.copy(), many * certain, number(0))
        if not measure.is_number and not measure.is_ordered:
            shown["x"] = case(there.copy(), number(1), exp.null())
        columns |= {f"#{letter} {measure.number}": part for letter, part in shown.items()}
    found = select(*(name_part(part, name) for name, part in columns.items()))
    found = join_shares(found.from_(named_table(table), copy=False), table, shares)
    for condition in asked.conditions:
        found = found.where(move(condition, table), copy=False)
    return found


def _show(
    measure: Measure, table: str, shares: list[Share], weight: exp.Expr, sure: exp.Expr
) -> dict[str, exp.Expr]:
    """Give what a row shows of a measure."""
    if measure.blurred:
        told = tell_product(measure.told, table, shares, weight, sure)
        if measure.is_number:
            return told | {name: double(told[name]) for name in ("x", "least", "most")}
        return {name: part for name, part in told.items() if name != "xx"}
    assert measure.told.exact is not None
    value = exp.paren(move(measure.told.exact, table))
    return {"x": double(value) if measure.is_number else value}


def tally_rows(asked: AskedSide) -> exp.Select:
    """Per bucket and group: how many rows are taken, with what weight, and what they add."""
    columns: list[exp.Expr] = [column(name) for name in asked.by]
    for measure in (None, *asked.measures):
        n, w, s = (asked.row(letter, measure) for letter in "nws")
        found = {"M": f"SUM({n})"}
        if asked.shares:
            found |= {"S": f"SUM({s})", "W": f"SUM({n} * {w})", "V": f"SUM({n} * {w} * {w})"}
        if measure is not None and measure.is_number:
            x, (low, high) = measure.value, measure.ends
            found |= {
                "T": f"SUM({n} * {w} * {x})", "Q": f"SUM({n} * {w} * {measure.square})",
                "A": f"MIN({low})", "Z": f"MAX({high})",
            }  # fmt: skip
            if asked.shares:
                found |= {"R": f"SUM({n} * {w} * {w} * {x} * {x})",
                          "D": f"SUM({n} * {w} * {w} * {x})"}  # fmt: skip
        columns += [formula(f"{text} AS {asked.stat(letter, measure)}")
                    for letter, text in found.items()]  # fmt: skip
    by = [column(name) for name in asked.by]
    return select(*columns).from_(named_table(asked.rows), copy=False).group_by(*by, copy=False)


def count_people(sides: Sequence[Side]) -> exp.Select:
    """Per bucket how many people it has, by the side that says so in fewest rows."""
    side = min(sides, key=lambda side: side.often is None)
    many = number(1) if side.often is None else column(side.often)
    bucket = side.find_bucket()
    found = select(bucket.as_(BUCKET, quoted=True), exp.Sum(this=many).as_(MANY, quoted=True))
    return found.from_(named_table(side.table)).group_by(bucket.copy())
