"""Bounds by one statement, whatever the condition: for functions that are kept in databases.

Of the n people and n values of a group, those pairs may be meant of which some cell satisfies the
condition, and those must be of which all do. How many people are meant at most is the largest
matching of the first, and how many are not at most that of pairs that may fail; either is no larger
than any choice of people and values that touches all of these pairs (König). Two are tried: whoever
is in all pairs, and the values that are left; and the other way round. Where a condition is one on
people AND one on values these are the smallest there are, so that the bounds are those of the
form; for any other they hold, and may be wider. The least sum over L to H people takes so many of
the smallest values, and more only if they are below 0.
"""

from __future__ import annotations

from typing import cast

from sqlglot import exp, parse_one

from discreet.forms.expected import ROW, ROWS, TIMES, UNIT, VALUE, VALUES
from discreet.sql.catalogs import CONDITION, MEASURE

PAIRS = f"""
"#cells" AS (
  SELECT "{UNIT}", "{TIMES}", "{ROW}", "{ROWS}", "{VALUE}", "{VALUES}", {{weight}} AS "#w",
    {{measure}} AS "#x", CASE WHEN {{condition}} THEN 1 ELSE 0 END AS "#m"
  FROM "#possible"),
"#pairs" AS (
  SELECT "{UNIT}", "{ROW}", "{VALUE}", MAX("{TIMES}") AS "#t", MAX("{ROWS}") AS "{ROWS}",
    MAX("{VALUES}") AS "{VALUES}", MAX("#m") AS "#may", 1 - MIN("#m") AS "#fail",
    SUM("#m" * "#w") AS "#p", SUM(CASE WHEN "#m" = 1 THEN "#w" * "#x" END) AS "#px",
    MIN(CASE WHEN "#m" = 1 THEN "#x" END) AS "#low",
    MAX(CASE WHEN "#m" = 1 THEN "#x" END) AS "#high"
  FROM "#cells" GROUP BY "{UNIT}", "{ROW}", "{VALUE}"),
"#marked" AS (
  SELECT *,
    MIN("#may") OVER (PARTITION BY "{UNIT}", "{ROW}") AS "#row may",
    MIN("#may") OVER (PARTITION BY "{UNIT}", "{VALUE}") AS "#value may",
    MIN("#fail") OVER (PARTITION BY "{UNIT}", "{ROW}") AS "#row fail",
    MIN("#fail") OVER (PARTITION BY "{UNIT}", "{VALUE}") AS "#value fail"
  FROM "#pairs"),
"#kinds" AS ({{rows}} UNION ALL {{values}}),
"#units" AS (
  SELECT "{UNIT}", MAX("#t") AS "#t", SUM(CASE WHEN "#side" = 0 THEN "#n" ELSE 0 END) AS "#size",
    SUM("#n" * CASE WHEN "#side" = 0 THEN "#may all" ELSE "#may rest" END) AS "#may 0",
    SUM("#n" * CASE WHEN "#side" = 1 THEN "#may all" ELSE "#may rest" END) AS "#may 1",
    SUM("#n" * CASE WHEN "#side" = 0 THEN "#fail all" ELSE "#fail rest" END) AS "#fail 0",
    SUM("#n" * CASE WHEN "#side" = 1 THEN "#fail all" ELSE "#fail rest" END) AS "#fail 1"
  FROM "#kinds" GROUP BY "{UNIT}"),
"#counted" AS (
  SELECT "{UNIT}", "#t", LEAST("#size", "#may 0", "#may 1") AS "#most",
    "#size" - LEAST("#size", "#fail 0", "#fail 1") AS "#least"
  FROM "#units")
"""
KINDS = """
  SELECT "{unit}", {side} AS "#side", "{kind}" AS "#kind", MAX("#t") AS "#t",
    MAX("{often}") AS "#n",
    MAX("#{name} may") AS "#may all", MAX("#may" * (1 - "#{other} may")) AS "#may rest",
    MAX("#{name} fail") AS "#fail all", MAX("#fail" * (1 - "#{other} fail")) AS "#fail rest",
    MAX("#may") AS "#may", MIN("#low") AS "#low", MAX("#high") AS "#high"
  FROM "#marked" GROUP BY "{unit}", "{kind}"
"""
COUNT = """
SELECT CAST(COALESCE((SELECT SUM("#p") FROM "#pairs"), 0) AS DOUBLE) AS "estimate",
  CAST(COALESCE(SUM("#t" * "#least"), 0) AS DOUBLE) AS "low",
  CAST(COALESCE(SUM("#t" * "#most"), 0) AS DOUBLE) AS "high"
FROM "#counted"
"""
TOTALS = f""",
"#ranked" AS (
  SELECT "#kinds".*, "#least", "#most",
    SUM("#n") OVER ({{within}} ORDER BY "#low", "#kind" ROWS UNBOUNDED PRECEDING) - "#n" AS "#up",
    SUM("#n") OVER ({{within}} ORDER BY "#high" DESC, "#kind" ROWS UNBOUNDED PRECEDING) - "#n"
      AS "#down",
    SUM(CASE WHEN "#low" < 0 THEN "#n" ELSE 0 END) OVER ({{within}}) AS "#minus",
    SUM(CASE WHEN "#high" > 0 THEN "#n" ELSE 0 END) OVER ({{within}}) AS "#plus"
  FROM "#kinds" JOIN "#counted" ON "#kinds"."{UNIT}" = "#counted"."{UNIT}" WHERE "#may" = 1),
"#sides" AS (
  SELECT "{UNIT}", "#side", MAX("#t") AS "#t", {{low}} AS "#low", {{high}} AS "#high"
  FROM "#ranked" GROUP BY "{UNIT}", "#side"),
"#ends" AS (
  SELECT MAX("#t") * MAX("#low") AS "#low", MAX("#t") * MIN("#high") AS "#high"
  FROM "#sides" GROUP BY "{UNIT}")
SELECT (SELECT CAST(SUM("#px") AS DOUBLE) FROM "#pairs") AS "estimate",
  CAST(SUM("#low") AS DOUBLE) AS "low", CAST(SUM("#high") AS DOUBLE) AS "high"
FROM "#ends"
"""


def bound_count(possible: exp.Select, weight: str) -> exp.Select:
    """Count people who satisfy a condition: the estimate and its bounds.

    ``weight`` is the column of what is ``possible`` that says how much of it is expected.
    """
    return _write(possible, weight, "CAST(NULL AS DOUBLE)", f'"{CONDITION}"', COUNT)


def bound_sum(possible: exp.Select, weight: str) -> exp.Select:
    """Add something up over people who satisfy a condition: the estimate and its bounds."""
    condition = f'("{CONDITION}") AND ("{MEASURE}") IS NOT NULL'
    pushed = 'GREATEST("#least", LEAST("{beyond}", "#most")) - "{before}"'
    low, high = (
        f'SUM("{end}" * GREATEST(LEAST("#n", {pushed.format(beyond=beyond, before=before)}), 0))'
        for end, beyond, before in (("#low", "#minus", "#up"), ("#high", "#plus", "#down"))
    )
    within = f'PARTITION BY "#kinds"."{UNIT}", "#side"'
    totals = TOTALS.format(within=within, low=low, high=high)
    return _write(possible, weight, f'CAST("{MEASURE}" AS DOUBLE)', condition, totals)


def _write(
    possible: exp.Select, weight: str, measure: str, condition: str, asked: str
) -> exp.Select:
    rows, values = (
        KINDS.format(unit=UNIT, side=side, kind=kind, often=often, name=name, other=other)
        for side, kind, often, name, other in (
            (0, ROW, ROWS, "row", "value"), (1, VALUE, VALUES, "value", "row"),
        )
    )  # fmt: skip
    pairs = PAIRS.format(
        weight=f'"{weight}"', measure=measure, condition=condition, rows=rows, values=values
    )
    tree = cast("exp.Select", parse_one(f"WITH {pairs} {asked}", read="duckdb"))
    tree.with_(exp.to_identifier("#possible", quoted=True), as_=possible, copy=False)
    tree.args["with_"].expressions.sort(key=lambda clause: clause.alias != "#possible")
    return tree
