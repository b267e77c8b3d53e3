"""Bounds within buckets: what follows of people when the other sides take some of them.

Of a bucket's n people the other sides of a question take H, chosen by chance: with the weights W of
their rows E[H] = n·ΠW/n; at most l = min(M) of them, and all but g = Σ(n - S). A set of one side's
own rows can be what is taken if it has at most l, and leaves out at most g of those that are sure.
So at least f = max(0, S - g) sure ones are taken: for the least sum the smallest, and further ones
as long as they are negative; and in the order of numbers every count follows from l and g.

With a and b of each person, A = Σ E[a] and so on, the sums over those taken have the covariance
Var[H]·AB/n² + E[H²]·(Σ E[ab] - Σ E[a]E[b])/n² + E[H - H²/n]·(Σ E[ab] - E[AB]/n)/(n-1).

Where several sides share attributes, these are counted in the parts of a bucket that agree on them
(`bucket_parts`), and n is the size of a part. A side that shares nothing takes people of a whole
bucket of N: of the part's n people W/N each, leaves out N - S at most, and each two of them with
the chance of two of the bucket. So what it takes of two parts is not independent: with the sums A
and B expected of those taken, of two parts, and r = Π((W² - V)/W²)·(N/(N-1)) - 1 over such sides,
the covariance is r·AB.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlglot import exp, select

from discreet.forms.bucket_sides import BUCKET, MANY, PART, WHOLE, AskedSide, Measure, name_key
from discreet.sql.quantiles import COUNTS, MEAN, VALUE
from discreet.sql.query import Query
from discreet.sql.trees import column, formula, named_table
from discreet.sql.widths import MIDDLE, REACH

SIZES, SIZE = "#sizes", "#size"
"""Where the number of a bucket's people stands, if no clause has it besides."""


class AddedPart(NamedTuple):
    """What some rows add to an answer."""

    added: dict[str, str]
    """By name, over the columns of where the rows are."""
    rows: exp.Select
    table: str
    """The clause that has what people are grouped by."""


def name_cells(own: AskedSide) -> str:
    """Name the clause with the buckets, by group, in which a side is asked together with others."""
    return f"#cell {own.title}"


def name_ranked(own: AskedSide) -> str:
    """Name the clause with the rows of a side in the order of its numbers."""
    return f"#ranked {own.title}"


def name_centred(own: AskedSide) -> str:
    """Name the clause with the rows of a side and what their group averages."""
    return f"#centred {own.title}"


def name_sizes(own: AskedSide) -> str:
    """Name the clause with the number of people of every bucket, or part of one."""
    return f"{SIZES} {PART}" if own.is_part else SIZES


def name_out(what: str, measure: Measure | None) -> str:
    """Name what is added up for an answer."""
    return f"#{what}" if measure is None else f"#{what} {measure.number}"


def write_cells(
    own: AskedSide, others: Sequence[AskedSide], averaged: Sequence[Measure], keys: int
) -> exp.Select:
    """Per bucket and group: what one side takes, and what the others leave of that."""
    joined = (own, *others)
    n = find_size(joined)
    columns = [column(BUCKET, own.tally), formula(f'CAST({n} AS DOUBLE) AS "{SIZE}"')]
    wholes = [part for part in others if own.is_part and not part.is_part]
    if own.is_part:
        columns.append(column(WHOLE, own.tally))
        columns.append(formula(f'{_relate_parts(wholes)} AS "#between"'))
    for i, owner in sorted((i, part) for part in joined for i, _ in part.keys):
        columns.append(column(name_key(i), owner.tally))
    for measure in (None, *own.measures):
        letters = "MSWV" + ("TQRDAZ" if measure is not None and measure.is_number else "")
        for name in dict.fromkeys(own.stat(letter, measure) for letter in letters):
            columns.append(column(name.strip('"'), own.tally))
    taken = _take_others(others, [find_size([part]) if part in wholes else n for part in others], n)
    columns += [formula(f'{text} AS "#{name}"') for name, text in taken.items()]
    found = join_tallies(select(*columns), joined)
    size, squared = f'"{SIZE}"', '("#var" + "#h" * "#h")'
    made = [
        exp.Star(),
        formula(f'"#var" / ({size} * {size}) AS "#alike"'),
        formula(f'{squared} / ({size} * {size}) AS "#own"'),
        formula(f'("#h" - {squared} / {size}) / GREATEST({size} - 1, 1) AS "#apart"'),
    ]
    for measure in averaged:
        made.append(_find_centre(
            f'"#h" * {own.stat("T", measure)} / {size}',
            f'"#h" * {own.stat("W", measure)} / {size}', measure, keys))  # fmt: skip
    return select(*made).from_(found.subquery("joined", copy=False), copy=False)


def find_size(joined: Sequence[AskedSide]) -> str:
    """Say where the number of people of a bucket, or of a part of it, stands."""
    whole = next((part for part in joined if not part.asks), None)
    if whole is None or whole.is_part:
        return f'"{name_sizes(joined[0])}"."{MANY}"'
    return f'"{whole.tally}"."#all M"'


def join_tallies(found: exp.Select, joined: Sequence[AskedSide]) -> exp.Select:
    """Join what sides take within every bucket."""
    own, *others = joined
    rest = [(part.tally, part.is_part == own.is_part) for part in others]
    if own.is_part or all(part.asks for part in joined):
        rest.append((name_sizes(own), True))
    if not all(same for _, same in rest):
        rest.append((SIZES, False))
    found = found.from_(named_table(own.tally), copy=False)
    for name, same in rest:
        on = column(BUCKET if same else WHOLE, own.tally).eq(column(BUCKET, name))
        found.join(named_table(name), on=on, copy=False)
    return found


def _relate_parts(wholes: Sequence[AskedSide]) -> str:
    """How far sides that take people of whole buckets relate what they take of two parts."""
    if not wholes:
        return "0"
    ratios = []
    for part in wholes:
        w, v, n = part.stat("W", None), part.stat("V", None), find_size([part])
        w, v = f'CAST("{part.tally}".{w} AS DOUBLE)', f'"{part.tally}".{v}'
        ratios.append(f"({w} * {w} - {v}) / NULLIF({w} * {w}, 0) * {n} / NULLIF({n} - 1, 0)")
    return f"COALESCE({' * '.join(ratios)} - 1, 0)"


def _take_others(others: Sequence[AskedSide], sizes: Sequence[str], n: str) -> dict[str, str]:
    """How many people other sides take: expected, variance, at most, and left out at most.

    Each takes them from so many; they are counted among n of these.
    """
    w, v, s, m = ([f'"{part.tally}".{part.stat(letter, None)}' for part in others]
                  for letter in "WVSM")  # fmt: skip
    left = " + ".join(f"({size} - {sure})" for size, sure in zip(sizes, s, strict=True))
    if len(others) == 1:
        return {"h": f"CAST({w[0]} AS DOUBLE)", "var": f"CAST({w[0]} - {v[0]} AS DOUBLE)",
                "l": m[0], "g": left}  # fmt: skip
    size, of = f"CAST({n} AS DOUBLE)", [f"CAST({whole} AS DOUBLE)" for whole in sizes]
    expected = " * ".join([size, *(f"({weight} / {whole})"
                                   for weight, whole in zip(w, of, strict=True))])  # fmt: skip
    pairs = " * ".join([f"{size} * ({size} - 1)", *(
        f"(({a} * {a} - {b}) / NULLIF({whole} * ({whole} - 1), 0))"
        for a, b, whole in zip(w, v, of, strict=True))])  # fmt: skip
    spread = f"{expected} + COALESCE({pairs}, 0) - {expected} * {expected}"
    return {"h": expected, "var": f"GREATEST({spread}, 0)", "l": f"LEAST({', '.join(m)})",
            "g": left}  # fmt: skip


def _find_centre(total: str, people: str, measure: Measure, keys: int) -> exp.Expr:
    """What a group's average is expected to be: from there sums are bounded most closely."""
    groups = ", ".join(f'"{name_key(i)}"' for i in range(keys))
    over = f"OVER ({f'PARTITION BY {groups}' if groups else ''})"
    centre = f"SUM({total}) {over} / NULLIF(SUM({people}) {over}, 0)"
    return formula(f'{centre} AS "{name_out("centre", measure)}"')


def _covary(a: str, b: str, both: str, apart: str) -> str:
    """The covariance of two sums over those taken."""
    own = f"({both} - {apart})"
    return (f'"#alike" * {a} * {b} + "#own" * {own} '
            f'+ "#apart" * ({both} - ({a} * {b} + {own}) / "{SIZE}")')  # fmt: skip


def count_cells(
    own: AskedSide, measures: Sequence[Measure | None], related: Sequence[str] = ()
) -> AddedPart:
    """Give what buckets add: people, sums, their variances, and what numbers lie between.

    What they take of those that have the same in ``related`` columns is not independent.
    """
    size, found = f'"{SIZE}"', dict[str, str]()

    def covary(a: str, b: str, both: str, apart: str) -> str:
        within = _covary(a, b, both, apart)
        if not related:
            return within
        one, other = (f'("#h" * {total} / {size})' for total in (a, b))
        groups = ", ".join(f'"{name}"' for name in related)
        return (f'{within} + "#between" * {one} '
                f"* (SUM({other}) OVER (PARTITION BY {groups}) - {other})")  # fmt: skip

    for measure in measures:
        m, s, w, v = (own.stat(letter, measure) for letter in "MSWV")
        parts = {
            "people": f'"#h" * {w} / {size}', "fewest": f'GREATEST({s} - "#g", 0)',
            "most": f'LEAST({m}, "#l")', "spread": covary(w, w, w, v),
        }  # fmt: skip
        if measure is not None and measure.is_number:
            t, q, r, d, a, z = (own.stat(letter, measure) for letter in "TQRDAZ")
            parts |= {
                "sum": f'"#h" * {t} / {size}', "sum spread": covary(t, t, q, r),
                "both": covary(t, w, t, d), "least": a, "largest": z,
                "centre": f'"{name_out("centre", measure)}"',
            }  # fmt: skip
        found |= {name_out(what, measure): text for what, text in parts.items()}
    cells = name_cells(own)
    return AddedPart(found, select().from_(named_table(cells)), cells)


def count_rows(own: AskedSide, measures: Sequence[Measure | None], source: str) -> AddedPart:
    """Give what rows add where no other side is asked: whoever is taken is taken for sure."""
    found = dict[str, str]()
    for measure in measures:
        n, w, s = (own.row(letter, measure) for letter in "nws")
        doubt = f"{n} * {w} * (1 - {w})" if own.shares else "0"
        parts = {"people": f"{n} * {w}", "fewest": s, "most": n, "spread": doubt}
        if measure is None:  # where people credibly are in their boxes
            parts |= {"middle": f'{n} * "{MIDDLE}"' if own.shares else n,
                      "reach": f'{n} * "{REACH}"' if own.shares else "0"}  # fmt: skip
        if measure is not None and measure.is_number:
            x, (low, high) = measure.value, measure.ends
            centre = f'"{name_out("centre", measure)}"'
            spread = f"{n} * ({w} * {measure.square} - {w} * {w} * {x} * {x})"
            parts |= {
                "sum": f"{n} * {w} * {x}", "sum spread": spread if own.shares else "0",
                "both": f"{doubt} * {x}", "centre": centre, "least": low, "largest": high,
                **_add_ends(low, high, centre, (s, s), (f"{n} - {s}", f"{n} - {s}")),
            }  # fmt: skip
            if not own.shares:
                parts |= {"sum low": parts["sum"], "sum high": parts["sum"]}
        found |= {name_out(what, measure): text for what, text in parts.items()}
    return AddedPart(found, select().from_(named_table(source)), source)


def write_centred(own: AskedSide, averaged: Sequence[Measure], keys: int) -> exp.Select:
    """Add to rows what their group's average is expected to be."""
    columns: list[exp.Expr] = [exp.Star()]
    for measure in averaged:
        n, w = (own.row(letter, measure) for letter in "nw")
        total = f"{n} * {w} * {measure.value}"
        columns.append(_find_centre(total, f"{n} * {w}", measure, keys))
    return select(*columns).from_(named_table(own.rows))


def _add_ends(
    low: str, high: str, centre: str, forced: tuple[str, str], free: tuple[str, str]
) -> dict[str, str]:
    """What a number adds to the least and the largest sum, and to those of distances to a centre.

    So many of it must be taken, and so many more can be, where that goes further.
    """

    def add(end: str, sign: str, zero: str, place: int) -> str:
        more = f"CASE WHEN {end} {sign} {zero} THEN {free[place]} ELSE 0 END"
        return f"({end} - {zero}) * ({forced[place]} + {more})"

    return {
        "sum low": add(low, "<", "0", 0), "sum high": add(high, ">", "0", 1),
        "below": add(low, "<", centre, 0), "above": add(high, ">", centre, 1),
    }  # fmt: skip


def rank_rows(own: AskedSide, measures: Sequence[Measure]) -> exp.Select:
    """Add to a side's rows how many come before them, in the order of what each may be."""
    columns: list[exp.Expr] = [exp.Star()]
    within = ", ".join(f'"{name}"' for name in own.by)
    for measure in measures:
        for end, value in zip(("low", "high"), measure.ends, strict=True):
            if end == "high" and not measure.blurred:
                continue
            frame = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
            # equal numbers may come in any order, but in one: SQL engines sort once for windows
            # that are written alike
            over = f"OVER (PARTITION BY {within} ORDER BY {value} {frame})"
            for letter in dict.fromkeys(own.row(letter, measure) for letter in "ns"):
                before = f"SUM({letter}) {over} - {letter}"
                columns.append(formula(f"{before} AS {_before(letter, end)}"))
    return select(*columns).from_(named_table(own.rows))


def _before(counted: str, end: str) -> str:
    return f'"{end} {counted[1:-1]}"'


def _order(own: AskedSide, measure: Measure, end: str) -> tuple[str, str]:
    """How many rows come before one by an end: those possible, and of these the sure ones."""
    kept = end if measure.blurred else "low"
    n, s = (own.row(letter, measure) for letter in "ns")
    return _before(n, kept), _before(s, kept)


def join_ranked(own: AskedSide, cells: str | None = None) -> exp.Select:
    """Look up, for every row in order, what is known of its bucket and group."""
    place, cells = name_ranked(own), cells or name_cells(own)
    same = [exp.NullSafeEQ(this=column(name, place), expression=column(name, cells))
            for name in own.key_columns]  # fmt: skip
    on = exp.and_(column(BUCKET, place).eq(column(BUCKET, cells)), *same)
    return select().from_(named_table(place)).join(named_table(cells), on=on)


def bound_sums(own: AskedSide, measures: Sequence[Measure]) -> AddedPart:
    """Give what single rows add to the least and the largest sums."""
    found = dict[str, str]()
    for measure in measures:
        n, s = (own.row(letter, measure) for letter in "ns")
        all_n, all_s = (own.stat(letter, measure) for letter in "MS")
        must = f'GREATEST({all_s} - "#g", 0)'
        up, up_sure = _order(own, measure, "low")
        down, down_sure = _order(own, measure, "high")
        down, down_sure = f"({all_n} - {down} - {n})", f"({all_s} - {down_sure} - {s})"
        forced, free = [], []
        for before, sure in ((up, up_sure), (down, down_sure)):
            here = f"LEAST(GREATEST({must} - {sure}, 0), {s})"
            left = f'"#l" - {must} - ({before} - LEAST({must}, {sure}))'
            forced.append(here)
            free.append(f"LEAST(GREATEST({left}, 0), {n} - {here})")
        centre = f'"{name_out("centre", measure)}"'
        ends = _add_ends(*measure.ends, centre, (forced[0], forced[1]), (free[0], free[1]))
        found |= {name_out(what, measure): text for what, text in ends.items()}
    return AddedPart(found, join_ranked(own), name_cells(own))


def list_deltas(own: AskedSide, measure: Measure, query: Query, *, alone: bool) -> exp.Expr:
    """List numbers with what they add to the running counts that quantiles are found by."""
    n, w, s = (own.row(letter, measure) for letter in "nws")
    weight = f"{n} * {w}" if alone else f'{n} * {w} * "#h" / "{SIZE}"'

    def count(end: str) -> list[str]:
        if alone:
            return [n, s, s, n]
        all_n, all_s = (own.stat(letter, measure) for letter in "MS")
        before, sure = _order(own, measure, end)
        return [
            f'LEAST("#l", {before} + {n}) - LEAST("#l", {before})',
            f'GREATEST({all_s} - {sure} - "#g", 0) - GREATEST({all_s} - {sure} - {s} - "#g", 0)',
            f'GREATEST({sure} + {s} - "#g", 0) - GREATEST({sure} - "#g", 0)',
            f'LEAST("#l", {all_n} - {before}) - LEAST("#l", {all_n} - {before} - {n})',
        ]

    def read(value: str, counts: list[str], mean: str) -> exp.Select:
        found = select().from_(named_table(own.rows)) if alone else join_ranked(own)
        keys = [column(name_key(i), own.rows if alone else name_cells(own)).as_(
                    key.name, quoted=True) for i, key in enumerate(query.keys)]  # fmt: skip
        named = zip((*COUNTS, MEAN), (*counts, f"CAST({mean} AS DOUBLE)"), strict=True)
        found = found.select(*keys, formula(f'{value} AS "{VALUE}"'),
                             *(formula(f'{text} AS "{name}"') for name, text in named))  # fmt: skip
        return found.where(formula(f"{value} IS NOT NULL"))

    low, high = measure.ends
    if not measure.blurred:
        return read(low, count("low"), weight)
    first, last = count("low"), count("high")
    return exp.union(
        read(low, [first[0], first[1], "0", "0"], "0"),
        read(high, ["0", "0", last[2], last[3]], "0"),
        read(measure.value, ["0", "0", "0", "0"], weight),
        distinct=False,
    )
