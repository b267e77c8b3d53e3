"""How a perturbed release answers: subtract what the numbers drawn at random contribute.

Agrawal, Srikant, Thomas, SIGMOD 2005. A record shows its own number with probability p, else any
of the domain. Of n records, those that show a number in a set b are expected to be
``p k + (1-p) n |b|/|domain|``, where k really have one: solved for k, that estimates COUNT. The
same with the numbers, or terms of them, estimates SUM; weighted by what is exact, that of others.
Every record may have any number: bounds are wide.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sqlglot import exp, select

from discreet.errors import QueryError
from discreet.forms.base import Statement
from discreet.forms.perturbed.moments import GROUP, HIGH, LOW, MOMENTS, PerturbedTerm, draw_moments
from discreet.forms.perturbed.randomized_response import RandomizedResponse
from discreet.release import Release
from discreet.sql.blurred import multiply_ends, split_term
from discreet.sql.exact import aggregate_column, name_parts, split_conditions, state_exactly
from discreet.sql.quantiles import Deltas, add_quantiles, list_deltas
from discreet.sql.query import Aggregate, Query, Term, move
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

TABLE, DRAWN, SHOWN, ROWS, SEEN = "perturbed", "#drawn", "#shown", "rows", "seen"
WHOLE, MET = "#whole", "#met"
EVERYONE = PerturbedTerm("everyone")


class _Question:
    """A question, with its parts by what they are about."""

    def __init__(self, query: Query, release: Release) -> None:
        (self.sensitive,) = release.schema.sensitive
        self.query = query
        self.exact, self.about = split_conditions(query, self.sensitive)
        self.keys = [key for key in query.keys if self.sensitive in key.columns]
        self.known_keys = [key.name for key in query.keys if key not in self.keys]
        for key in self.keys:
            if len(key.columns) > 1:
                raise QueryError(
                    f"{key.expression.sql()} ties {self.sensitive!r}, which is perturbed, to other "
                    "columns: people cannot be grouped by it.",
                    hint="Group by each of the columns.",
                )
        self.selects = self.about is not None or bool(self.keys)
        self.parts = {term.name: self._part(i, term) for i, term in enumerate(query.terms)
                      if self.selects or self.sensitive in term.columns}  # fmt: skip
        self.drawn = draw_moments(release, self.about, self.keys, [EVERYONE, *self.parts.values()])
        self.retention = RandomizedResponse.read(release).retention

    def _part(self, place: int, term: Term) -> PerturbedTerm:
        asked = [a for a in self.query.aggregates if a.column == term.name]
        product = split_term(term, {self.sensitive}, place, summed=True)
        factor = product.factors[0] if product.factors else None
        if product.exact is not None and any(a.function == "QUANTILE" for a in asked):
            raise QueryError(
                f"{self.sensitive!r} is perturbed: a quantile of {term.expression.sql()} cannot be "
                "told of people selected by it, nor of products with it.",
                hint=f"Ask for a quantile of {self.sensitive!r} alone, or for SUM and AVG.",
            )
        functions = frozenset(a.function for a in asked)
        return PerturbedTerm(str(place), product.exact, factor, functions)

    def find_part(self, aggregate: Aggregate) -> PerturbedTerm | None:
        """Give what is estimated; nothing where all is exact."""
        if aggregate.term is None:
            return EVERYONE if self.selects else None
        return self.parts.get(aggregate.term.name)


def rewrite(query: Query, release: Release) -> Statement:
    """Rewrite a question into one over the perturbed table and what numbers drawn add to it."""
    asked = _Question(query, release)
    needed = {DRAWN: asked.drawn.moments}
    outer = select(*(column(name, SEEN) for name in query.group_by))
    ordered = [a for a in query.aggregates
               if a.function == "QUANTILE" and asked.find_part(a) is None]  # fmt: skip
    reached: list[tuple[str, exp.Select]] = []
    for aggregate in query.aggregates:
        if aggregate in ordered:
            continue
        part = asked.find_part(aggregate)
        if part is None:
            parts = state_exactly(column(f"#e {aggregate.alias}", SEEN))
        else:
            parts = _estimate(aggregate, part, asked)
        outer.select(*name_parts(aggregate, parts), copy=False)
        if part is not None and aggregate.function == "QUANTILE":
            assert aggregate.share is not None
            reached.append((f"#reached {aggregate.alias}", _reach(part, aggregate.share, asked)))
    outer.from_(exp.to_table(SEEN), copy=False)
    if ordered and not outer.expressions:
        outer = outer.select(column("#n", SEEN))
    for title, _ in reached:
        outer = _join_groups(outer, title, [*asked.known_keys, *([GROUP] if asked.keys else [])])
    outer.with_(ROWS, as_=_list_rows(asked), copy=False)
    for title, clause in [*_see(asked), *reached]:
        outer.with_(exp.to_identifier(title, quoted=True), as_=clause, copy=False)
    if asked.drawn.shown is not None:
        needed[SHOWN] = asked.drawn.shown
    if ordered:
        return add_quantiles(query, outer, _list_known(query, ordered)), needed
    keys = [column(name, SEEN) for name in query.group_by]
    return outer.order_by(*ascending(*keys), copy=False) if keys else outer, needed


def _list_rows(asked: _Question) -> exp.Select:
    """One row per record: its groups, and its terms where the number shown is taken."""
    rows = select()
    for key in asked.query.keys:
        if key not in asked.keys:
            rows = rows.select(key.at(TABLE).as_(key.name, quoted=True))
    taken = None if asked.about is None else exp.paren(move(asked.about, TABLE))

    def take(term: exp.Expr) -> exp.Expr:
        return term if taken is None else case(taken.copy(), term, exp.null())

    for term in asked.query.terms:
        if term.name not in asked.parts:
            rows = rows.select(term.at(TABLE).as_(f"#x {term.name}", quoted=True))
    for part in [EVERYONE, *asked.parts.values()]:
        shown = number(1) if part.factor is None else move(part.factor.expression, TABLE)
        rows = rows.select(take(shown).as_(part.title("#f"), quoted=True))
        if part.known is not None:
            rows = rows.select(move(part.known, TABLE).as_(part.title("#w"), quoted=True))
        if part.is_ranked:
            rows = rows.select(*(column(part.title(t), SHOWN) for t in ("#at", "#upto")))
    rows = rows.from_(exp.to_table(TABLE))
    if asked.drawn.shown is not None:
        rows = rows.select(column(GROUP, SHOWN))
        on = column(asked.sensitive, TABLE).eq(column("value", SHOWN))
        rows = rows.join(named_table(SHOWN), on=on)
    for condition in asked.exact:
        rows = rows.where(move(condition, TABLE))
    return rows


def _see(asked: _Question) -> list[tuple[str, exp.Select]]:
    """Add records up by group; those of groups of the number are put beside all records."""
    query, parts = asked.query, [EVERYONE, *asked.parts.values()]
    known = [column(name) for name in asked.known_keys]
    whole = select(*(key.copy() for key in known))
    whole = whole.select(exp.Count(this=exp.Star()).as_("#n", quoted=True))
    for aggregate in query.aggregates:
        term = aggregate.term
        if term is None or asked.find_part(aggregate) is not None:
            if term is None and not asked.selects:
                every = exp.Count(this=exp.Star())
                whole = whole.select(every.as_(f"#e {aggregate.alias}", quoted=True))
            continue
        if aggregate.function != "QUANTILE":
            made = aggregate_column(aggregate.function, column(f"#x {term.name}"))
            whole = whole.select(made.as_(f"#e {aggregate.alias}", quoted=True))
    for part in parts:
        whole = whole.select(*(e.as_(part.title(t), quoted=True) for t, e in _weigh(part).items()))
    sums = {part.title(t): e for part in parts for t, e in _add_shown(part).items()}
    shown = [e.as_(title, quoted=True) for title, e in sums.items()]
    drawn = [c for c in asked.drawn.moments.columns if not c.startswith("#v ")]
    if not asked.keys:
        whole = whole.select(*shown).from_(exp.to_table(ROWS))
        whole = whole.group_by(*(key.copy() for key in known)) if known else whole
        seen = select(exp.Star()).from_(named_table(WHOLE))
        seen = seen.join(named_table(DRAWN), join_type="CROSS")
        return [(WHOLE, whole), (SEEN, seen)]
    by = [*known, column(GROUP)]
    met = select(*(key.copy() for key in by), *shown).from_(exp.to_table(ROWS))
    met = met.group_by(*(key.copy() for key in by))
    whole = whole.from_(exp.to_table(ROWS))
    whole = whole.group_by(*(key.copy() for key in known)) if known else whole
    seen = select(*(column(name, WHOLE) for name in whole.named_selects))
    seen = seen.select(*(column(name, DRAWN) for name in drawn))
    for key in asked.keys:
        seen = seen.select(column(f"#v {key.name}", DRAWN).as_(key.name, quoted=True))
    nothing = double(number(0))
    seen = seen.select(
        *(exp.func("COALESCE", column(t, MET), nothing).as_(t, quoted=True) for t in sums)
    )
    seen = seen.from_(named_table(WHOLE)).join(named_table(DRAWN), join_type="CROSS")
    same = [exp.NullSafeEQ(this=column(key, WHOLE), expression=column(key, MET))
            for key in asked.known_keys]  # fmt: skip
    on = exp.and_(*same, column(GROUP, DRAWN).eq(column(GROUP, MET)))
    seen = seen.join(named_table(MET), on=on, join_type="LEFT")
    seen = seen.where(exp.GT(this=column("#n", WHOLE), expression=number(0)))
    return [(WHOLE, whole), (MET, met), (SEEN, seen)]


def _weigh(part: PerturbedTerm) -> dict[str, exp.Expr]:
    """Of all records: how many have what is exact, its sums, and its ends."""
    if part.known is None:
        return {}
    w = column(part.title("#w"))
    told = {"#w0": double(exp.Count(this=w.copy()))}
    if part.functions & {"MIN", "MAX", "AVG"}:
        told |= {"#least": exp.Min(this=w.copy()), "#most": exp.Max(this=w.copy())}
    if part.is_summed:
        zero = [double(number(0))]
        told |= {
            "#w1": _sum(w), "#w2": _sum(w, w),
            "#w+": _sum(exp.Greatest(this=double(w), expressions=zero)),
            "#w-": _sum(exp.Least(this=double(w), expressions=zero)),
        }  # fmt: skip
    return told


def _add_shown(part: PerturbedTerm) -> dict[str, exp.Expr]:
    """Of records that show a number taken: how many, and sums of powers of what is shown."""
    f, w = column(part.title("#f")), column(part.title("#w"))
    weighed = part.known is not None
    there = [f.copy().is_(exp.null()), *([w.copy().is_(exp.null())] if weighed else [])]
    told = {"#s0": _sum(case(exp.or_(*there), number(0), number(1)))}
    if part.is_summed:
        ones = [w] if weighed else []
        told |= {"#s1": _sum(f, *ones), "#s2": _sum(f, f, *ones, *ones)}
        if weighed:
            told["#s12"] = _sum(f, *ones, *ones)
    return told


def _sum(*factors: exp.Expr) -> exp.Expr:
    """Add a product up, as a floating-point number; nothing adds up to 0."""
    product = double(factors[0].copy())
    for factor in factors[1:]:
        product = product * double(factor.copy())
    return exp.func("COALESCE", add_up(product), double(number(0)))


def _estimate(aggregate: Aggregate, part: PerturbedTerm, asked: _Question) -> list[exp.Expr]:
    """Give estimate, bounds and standard error, from what is shown and what is drawn."""
    retention = asked.retention
    p, q = (exp.Literal.number(repr(float(x))) for x in (retention, 1 - retention))
    partial = part.name in asked.drawn.partial

    def see(title: str) -> exp.Expr:
        return column(part.title(title), SEEN)

    n = double(column("#n", SEEN))
    weights = [n, n, n] if part.known is None else [see(w) for w in ("#w0", "#w1", "#w2")]
    low, high = (double(see(end)) for end in (LOW, HIGH))  # nothing has no type

    def solve(power: int, shown: str | None = None, weight: int | None = None) -> exp.Expr:
        seen, all_ = see(shown or f"#s{power}"), weights[power if weight is None else weight]
        return exp.paren((seen - all_ * q * see(MOMENTS[power])) / p)

    def find_error(power: int) -> exp.Expr:
        """Σ var of what records show, over p: each shows x or anything."""
        second = solve(2 * power)
        first = solve(power) if part.known is None or not power else solve(1, "#s12", 2)
        drawn, square = see(MOMENTS[power]), see(MOMENTS[2 * power])
        every = weights[2 * power]
        shown = p * second + every * q * square
        means = p * p * second + 2 * p * q * drawn * first + every * q * q * drawn * drawn
        spread = exp.Greatest(this=shown - means, expressions=[double(number(0))])
        return exp.Sqrt(this=spread) / p

    people = weights[0]
    nobody = people.eq(number(0))
    if aggregate.function == "COUNT":
        if not partial:
            return state_exactly(people)
        whole = column("#n", SEEN) if part.known is None else people
        possible = case(low.copy().is_(exp.null()), number(0), whole)
        return [_clamp(solve(0), number(0), possible), number(0), possible, find_error(0)]
    if aggregate.function == "SUM":
        ends = _bound_sum(part, low, high, partial=partial)
        parts = [_clamp(solve(1), *ends), *ends, find_error(1)]
        return [case(nobody.copy(), exp.null(), each) for each in parts]
    ends = _bound_one(part, low, high)
    if aggregate.function == "AVG":
        some = exp.Nullif(this=people.copy(), expression=number(0))
        divisor = some
        error: exp.Expr = exp.null()
        if partial:  # the sum over the count, both estimated
            held = _clamp(solve(0), number(0), people)
            divisor = exp.Nullif(this=held, expression=number(0))
        else:
            error = find_error(1) / some.copy()
            ends = [exp.paren(end) / some.copy()
                    for end in _bound_sum(part, low, high, partial=False)]  # fmt: skip
        parts = [_clamp(solve(1) / divisor, *ends), *ends, error]
    elif aggregate.function == "QUANTILE":
        reached = column("#at", f"#reached {aggregate.alias}")
        parts = [_clamp(reached, *ends), *ends, exp.null()]
    elif part.factor is None:  # what is exact need not be a number
        none = low.copy().is_(exp.null())
        ends = [case(none.copy(), exp.null(), see(end)) for end in ("#least", "#most")]
        parts = [ends[aggregate.function == "MAX"].copy(), *ends, exp.null()]
    else:
        parts = [exp.paren(ends[0].copy() + ends[1].copy()) / 2, *ends, exp.null()]
    return [case(nobody.copy(), exp.null(), each) for each in parts]


def _bound_sum(
    part: PerturbedTerm, low: exp.Expr, high: exp.Expr, *, partial: bool
) -> list[exp.Expr]:
    """Give the least and the largest sum: who is not taken adds nothing."""
    if partial:
        low = exp.Least(this=low, expressions=[number(0)])
        high = exp.Greatest(this=high, expressions=[number(0)])
    ends: list[exp.Expr]
    if part.known is None:
        n = double(column("#n", SEEN))
        ends = [n * low.copy(), n * high.copy()]
    else:
        up, down = (column(part.title(w), SEEN) for w in ("#w+", "#w-"))
        ends = [up * one.copy() + down * other.copy() for one, other in ((low, high), (high, low))]
    return [exp.func("COALESCE", end, double(number(0))) for end in ends]


def _bound_one(part: PerturbedTerm, low: exp.Expr, high: exp.Expr) -> list[exp.Expr]:
    """Give the least and the largest that anybody may have."""
    if part.known is None or (part.factor is None and not part.is_summed):
        return [low, high]
    return multiply_ends([low, high], [double(column(part.title(end), SEEN))
                                       for end in ("#least", "#most")])  # fmt: skip


def _reach(part: PerturbedTerm, share: Fraction, asked: _Question) -> exp.Select:
    """Find the first number shown with as many at or below it as the share says.

    How many are is solved from those who show so, as a count is.
    """
    q = exp.Literal.number(repr(float(1 - asked.retention)))  # both sides would be divided by p
    names = [*asked.known_keys, *([GROUP] if asked.keys else [])]
    keys = [column(name) for name in names]
    at, upto = (column(part.title(title)) for title in ("#at", "#upto"))
    each = select(*(key.copy() for key in keys), at.as_("#at", quoted=True),
                  exp.Max(this=upto).as_("#upto", quoted=True),
                  exp.Count(this=exp.Star()).as_("#here", quoted=True))  # fmt: skip
    each = each.from_(exp.to_table(ROWS)).where(at.copy().is_(exp.null()).not_())
    each = each.group_by(*(key.copy() for key in keys), at.copy())
    shown = add_up_over(column("#here"), keys, [column("#at")])
    running = select(exp.Star(), double(shown).as_("#shown", quoted=True))
    running = running.from_(each.subquery("each"))
    n = double(column("#n", SEEN))
    seen, drawn = (column(part.title(title), SEEN) for title in ("#s0", MOMENTS[0]))
    part_of = double(exp.Literal.number(repr(float(share))))
    below = column("#shown", "running") - n * q * column("#upto", "running")
    wanted = part_of * exp.paren(seen - n * q * drawn)
    passed = exp.GTE(this=below, expression=wanted)
    first = exp.Min(this=case(passed, column("#at", "running"), exp.null()))
    found = select(*(column(name, "running") for name in names), first.as_("#at", quoted=True))
    found = found.from_(running.subquery("running"))
    found = _join_groups(found, SEEN, names, "running")
    return found.group_by(*(column(name, "running") for name in names)) if names else found


def _join_groups(
    statement: exp.Select, title: str, names: Sequence[str], of: str = SEEN
) -> exp.Select:
    """Put beside every group what a clause has of it."""
    same = [exp.NullSafeEQ(this=column(name, of), expression=column(name, title)) for name in names]
    join = {"on": exp.and_(*same), "join_type": "LEFT"} if same else {"join_type": "CROSS"}
    return statement.join(named_table(title), **join)


def _list_known(query: Query, ordered: Sequence[Aggregate]) -> list[Deltas]:
    """List what quantiles of exact terms go by."""
    found = []
    for name in dict.fromkeys(str(a.column) for a in ordered):
        x = column(f"#x {name}")
        listed = list_deltas(ROWS, query.group_by, (x, x, x), number(1), double(number(1)))
        found.append(Deltas(listed, [a for a in ordered if a.column == name]))
    return found


def _clamp(value: exp.Expr, low: exp.Expr, high: exp.Expr) -> exp.Expr:
    """Keep an estimate between its bounds; nothing stays nothing."""
    held = exp.Least(
        this=exp.Greatest(this=value.copy(), expressions=[double(low.copy())]),
        expressions=[double(high.copy())],
    )
    return case(value.copy().is_(exp.null()), exp.null(), held)
