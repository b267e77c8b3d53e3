"""Answers of buckets: from what was added up over them to estimates, bounds and errors."""

from __future__ import annotations

from collections.abc import Collection

from discreet.forms.bucket_bounds import name_out
from discreet.forms.bucket_sides import Measure
from discreet.sql.query import Aggregate

ROUNDING = "0.000000000001"
EXTREMES = {"least": "MIN", "largest": "MAX", "centre": "MAX"}
"""What is not added up over buckets."""


def state(
    aggregate: Aggregate, measure: Measure | None, told: Collection[str], *, known: bool
) -> list[str]:
    """Write estimate, bounds and standard error of one aggregate over what was added up.

    ``known`` says that nothing of it is left open.
    """

    def total(what: str) -> str:
        name = name_out(what, measure)
        return f'{EXTREMES.get(what, "SUM")}("{name}")' if name in told else "CAST(NULL AS DOUBLE)"

    if aggregate.function == "COUNT":
        people, low, high, error = (f"COALESCE({part}, 0)" for part in (
            total("people"), total("fewest"), total("most"), _root(total("spread"))))  # fmt: skip
        if name_out("middle", measure) not in told:
            # whose values are whose was mixed on purpose: how far that leads is not known
            return [people, low, high, error]
        middle, reach = (f"COALESCE({total(what)}, 0)" for what in ("middle", "reach"))
        farthest = f"GREATEST({people} - {low}, {high} - {people})"
        width = f"LEAST(ABS({people} - {middle}) + {reach} + 2 * {error}, {farthest})"
        return [people, low, high, error, f"CAST({width} AS DOUBLE)"]
    some = f"{total('most')} > 0"  # whether anybody may be meant
    if aggregate.function == "SUM":
        parts = [*(total(what) for what in ("sum", "sum low", "sum high")),
                 _root(total("sum spread"))]  # fmt: skip
        return [f"CASE WHEN {some} THEN {part} END" for part in parts]
    people = f"NULLIF({total('people')}, 0)"
    average = f"({total('sum')} / {people})"
    if known:
        return [average, average, average, f"0 * {average}"]
    fewest, most = f"NULLIF({total('fewest')}, 0)", f"NULLIF({total('most')}, 0)"

    # a sum of at least s ≥ 0 over at most c people averages to s/c or more, and so on
    def divide(part: str, sign: str) -> str:
        return f"CASE WHEN {part} {sign} 0 THEN {part} / {most} ELSE {part} / {fewest} END"

    # distances to a centre that is no whole number are rounded
    slack = f"{ROUNDING} * ABS({total('centre')})"
    low = _tighten("GREATEST", total("least"), [
        divide(total("sum low"), ">="),
        f"{total('centre')} - {slack} + {divide(total('below'), '>=')}",
    ])  # fmt: skip
    high = _tighten("LEAST", total("largest"), [
        divide(total("sum high"), "<="),
        f"{total('centre')} + {slack} + {divide(total('above'), '<=')}",
    ])  # fmt: skip
    spread = (f"{total('sum spread')} - 2 * {average} * {total('both')} "
              f"+ {average} * {average} * {total('spread')}")  # fmt: skip
    return [f"CASE WHEN {some} THEN {part} END"
            for part in (average, low, high, f"{_root(spread)} / {people}")]  # fmt: skip


def _tighten(kind: str, end: str, others: list[str]) -> str:
    """Give the tightest of several bounds, of which some may not exist."""
    first = f"COALESCE({end}, {others[0]})"
    return f"{kind}({first}, {', '.join(f'COALESCE({other}, {first})' for other in others)})"


def _root(variance: str) -> str:
    """The standard error; a variance that rounding left below nothing is none."""
    return f"SQRT(GREATEST({variance}, 0))"
