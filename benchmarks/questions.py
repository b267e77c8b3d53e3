"""The analyst's SQL, measured: every figure a ratio of two things timed in the same run.

The plain query runs on the original table in DuckDB, the question on a release of it, held by
``prepare``, with its bounds.

python benchmarks/questions.py [--quick] [--json FILE]
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import duckdb

import discreet as dc
from clock import clock, run
from discreet.forms.asking import rewrite
from discreet.sql.planning import plan_question

PLAIN = (
    "SELECT sex, COUNT(*) AS n, SUM(income) AS s FROM release WHERE age BETWEEN 30 AND 50 "
    "GROUP BY sex"
)
BEYOND = f"{PLAIN} HAVING COUNT(*) > 10 ORDER BY n DESC"
LONG = "SELECT COUNT(*) FROM release WHERE " + " OR ".join(f"income = {i}" for i in range(5000))
METHODS = {
    "permuted": dc.Permutation(dc.KE(20, 0)),
    "generalized": dc.Generalization(dc.KAnonymity(10)),
}


def measure(quick: bool) -> Iterable[dict[str, Any]]:
    """Measure what HAVING and ORDER BY cost, planning, and thousands of conditions."""
    n, times = (20_000, 3) if quick else (1_000_000, 7)
    people = dc.datasets.census(n, sensitive=["income"])
    kept = ["age", "sex", "education", "income"]
    data = dc.read(people.to_polars().select(kept), people.public_schema.only(kept))
    with duckdb.connect() as database:
        database.register("given", data.to_polars().to_arrow())
        database.execute("CREATE TABLE release AS SELECT * FROM given")
        plain = clock(lambda: database.sql(BEYOND).fetchall(), times)
    for form, method in METHODS.items():
        release = dc.publish(data, method, insecure_seed=1)
        with release.prepare() as prepared:
            alone = clock(lambda ask=prepared: ask.query(PLAIN), times)
            beyond = clock(lambda ask=prepared: ask.query(BEYOND), times)
            long = clock(lambda ask=prepared: ask.query(LONG), 1)
        yield {"what": f"HAVING and ORDER BY, {form}", "n": n, "seconds": beyond,
               "ratio": beyond / plain, "against": "the plain query on the original"}  # fmt: skip
        yield {"what": f"HAVING and ORDER BY, {form}", "n": n, "seconds": beyond,
               "ratio": beyond / alone, "against": "the question without them"}  # fmt: skip
        writing = clock(lambda made=release: rewrite(made, BEYOND), times)
        planning = clock(lambda made=release: plan_question(BEYOND, made.schema), times)
        yield {"what": f"planning it, {form}", "seconds": planning, "ratio": planning / writing,
               "against": "writing the whole statement"}  # fmt: skip
        yield {"what": f"5,000 conditions, {form}", "n": n, "seconds": long,
               "ratio": long / alone, "against": "a question with one"}  # fmt: skip


if __name__ == "__main__":
    run(__doc__, measure)
