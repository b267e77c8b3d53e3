"""What permuting costs: Zhang, Koudas, Srivastava, Yu, ICDE 2007, sections 7.2 and 7.3."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from discreet.datasets import census_frame
from discreet.experiments.bounded import SEED
from discreet.experiments.claims import Claim, Inequality
from discreet.experiments.losses import read_people
from discreet.experiments.outcome import Experiment, Outcome, Settings, clock
from discreet.experiments.permutation import LINES
from discreet.principles import KE
from discreet.publishing import publish
from discreet.publishing.methods.permutation import Permutation
from discreet.publishing.partitioners.sorted_runs import cut_runs
from discreet.table.arrays import Ints

if TYPE_CHECKING:
    import duckdb


def overhead(settings: Settings) -> Outcome:
    """Figures 15 and 16: the rewritten query against the plain one on the original."""
    import duckdb

    from discreet.forms.asking import rewrite

    rows = []
    for n in (10_000, 100_000) if settings.quick else (10_000, 100_000, 1_000_000):
        data = read_people(census_frame(n).select("age", "income"), ["age"], "income")
        release = publish(data, Permutation(KE(20, 0)), insecure_seed=SEED)
        row: dict[str, float] = {"people": n}
        with duckdb.connect() as connection:
            copy_tables(connection, {"release": data.to_polars(), **release.tables})
            for span in (10, 30, 50):
                sql = f"SELECT SUM(income) FROM release WHERE age BETWEEN 30 AND {30 + span}"
                again = rewrite(release, sql).tree.sql(dialect="duckdb", identify=True)
                plain, rewritten = (
                    float(np.median(clock(15, _fetch, connection, text))) for text in (sql, again)
                )
                row[f"span {span}"] = rewritten / plain
        rows.append(row)
    table = pl.DataFrame(rows)
    times = [x for line in table.columns[1:] for x in table[line]]
    return Outcome(
        "Figures 15 and 16: time of the rewritten query over that of the plain one",
        "census, age and income, (20,0) by min sum, in DuckDB",
        table, "rewritten / plain",
        (
            Claim("the rewritten query takes about 4 times as long (here: no more than 5)", (
                Inequality("at least", min(times), "≤", 5, unit="times"),
                Inequality("at most", max(times), "≤", 5, unit="times"),
            ), "On small tables planning it counts most.",
               "One join with the help table by group and hits instead of the paper's two."),
        ),
    )  # fmt: skip


def copy_tables(connection: duckdb.DuckDBPyConnection, tables: dict[str, pl.DataFrame]) -> None:
    """Copy tables into a database, so that only questions are timed."""
    for name, table in tables.items():
        connection.register("given", table.to_arrow())
        connection.execute(f'CREATE TABLE "{name}" AS SELECT * FROM given')


def _fetch(connection: duckdb.DuckDBPyConnection, sql: str) -> object:
    return connection.execute(sql).fetchall()


def _partition(values: Ints, line: str) -> object:
    return cut_runs(np.sort(values), 4, 100, LINES[line])


def scaling(settings: Settings) -> Outcome:
    """Figure 17: the time to partition, by the number of people."""
    sizes = [100, 500, 2_000, 10_000, 100_000, 1_000_000]
    rows = []
    for n in sizes if settings.quick else [*sizes, 10_000_000]:
        values = np.random.default_rng(SEED).integers(155, 155 + 4 * n, n)
        row: dict[str, float] = {"people": n}
        for line in ("min sum", "min max", "max groups"):
            _partition(values[:100], line)  # compiles it
            row[line] = min(clock(3, _partition, values, line))
        rows.append(row)
    table = pl.DataFrame(rows)
    growth = float(table["min sum"][-1] / table["min sum"][-2])
    return Outcome(
        "Figure 17: seconds to partition",
        "numbers drawn evenly, (4,100), sorting included",
        table, "seconds",
        (
            Claim("no worse than O(n²): 100 times as long for 10 times the people", (
                Inequality("min sum", growth, "≤", 100, unit="times"),
            )),
            Claim("the same optimum in time that grows like sorting", (
                Inequality("min sum, 10 times the people", growth, "<", 20, unit="times"),
            ), note="By a running minimum over the sorted numbers.", beyond=True),
        ),
        log=True,
    )  # fmt: skip


EXPERIMENTS = [
    Experiment("permutation-overhead", overhead),
    Experiment("permutation-scaling", scaling),
]
