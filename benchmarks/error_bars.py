"""Coverage, measured: how often the truth lies within an answer's error bars, over boxes.

python benchmarks/error_bars.py [--quick] [--json FILE]
    [--parquet FILE --known A,B,C --number N]

Questions are drawn: COUNT, SUM and AVG of people whom one to three conditions take, a third of them
by group. The truth is plain DuckDB over the microdata; what is answered exactly is not counted.
With ``--parquet``, of a table of your own instead of Adult and the census.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl

import discreet as dc

STEPS = {"age": (5, 10, 20), "education": (2, 4, 8), "household": (2, 4)}
"""Levels of numbers in full-domain releases."""
PARTS = ("COUNT", "SUM", "AVG")


def draw_conditions(frame: pl.DataFrame, known: list[str], rng: np.random.Generator) -> list[str]:
    """Draw one to three conditions: ranges of numbers, values common or not, sets of them."""
    found = []
    for name in rng.permutation(known)[: rng.integers(1, 4)]:
        column, kind = frame[name], rng.random()
        values, own = column.unique().sort(), column[int(rng.integers(frame.height))]
        if column.dtype.is_numeric():
            width = int(np.exp(rng.uniform(0, np.log(0.8 * len(values)))))
            low = own - int(rng.integers(0, width))
            found.append(f'"{name}" BETWEEN {low} AND {low + width - 1}')
        elif kind < 0.7:
            value = own if kind < 0.5 else values[int(rng.integers(len(values)))]
            found.append(f'"{name}" = {quote(value)}')
        else:
            some = rng.permutation(values.to_list())[: rng.integers(1, 2 + len(values) // 2)]
            found.append(f'"{name}" IN ({", ".join(map(quote, some))})')
    return found


def quote(text: str) -> str:
    """Write a text as SQL does."""
    return "'" + str(text).replace("'", "''") + "'"


def draw_questions(frame: pl.DataFrame, known: list[str], number: str, count: int) -> Iterator[Any]:
    """Draw questions, with what they are grouped by."""
    rng = np.random.default_rng(1)
    few = [name for name in known if not frame[name].dtype.is_numeric()]
    for _ in range(count):
        where = " AND ".join(draw_conditions(frame, known, rng))
        key = str(rng.choice(few)) if rng.random() < 1 / 3 else None
        shown, by = ("", "") if key is None else (f'"{key}", ', f' GROUP BY "{key}"')
        asked = f'COUNT(*) AS c, SUM("{number}") AS s, AVG("{number}") AS a'
        yield f"SELECT {shown}{asked} FROM release WHERE {where}{by}", key


def compare(release: dc.Release, frame: pl.DataFrame, number: str, count: int) -> dict[str, Any]:
    """Ask a release and its microdata, and hold error bars against the truth."""
    known = list(release.schema.quasi_identifiers)
    rows: dict[str, list[list[float]]] = {part: [] for part in PARTS}
    with duckdb.connect() as plain, release.prepare() as prepared:
        plain.register("release", frame.to_arrow())
        for sql, key in draw_questions(frame, known, number, count):
            told = {row[key] if key else None: row for row in plain.sql(sql).pl().to_dicts()}
            for row in prepared.query(sql).frame.to_dicts():
                truth = told.get(row[key] if key else None, {"c": 0, "s": None, "a": None})
                for part, alias in zip(PARTS, "csa", strict=True):
                    low, high, estimate = row[f"{alias}_low"], row[f"{alias}_high"], row[alias]
                    if truth[alias] is None or estimate is None or high <= low:
                        continue
                    low, high, told_here = float(low), float(high), float(truth[alias])
                    far = max(estimate - low, high - estimate)
                    rows[part].append([abs(told_here - estimate), row[f"{alias}_stderr"],
                                       row[f"{alias}_width"], abs(estimate), far])  # fmt: skip
    found: dict[str, Any] = {}
    for part, listed in rows.items():
        away, error, width, size, far = np.array(listed, dtype=float).T
        found[part] = {
            "answers": len(away),
            "two errors": round(float(np.mean(away <= 2 * error + 1e-9 * size)), 3),
            "width": round(float(np.mean(away <= width + 1e-9 * size)), 3),
            "width / estimate": round(float(np.median(width / np.maximum(size, 1e-9))), 3),
            "width / bounds": round(float(np.median(width / far)), 3),
        }
    return found


def publish_all(frame: pl.DataFrame, schema: dc.Schema, quick: bool) -> Iterator[Any]:
    """Publish a table in boxes of several sizes, by two methods."""
    finer = [replace(schema[name], taxonomy=dc.Intervals(STEPS[name.lower()]))
             for name in schema.quasi_identifiers
             if frame[name].dtype.is_numeric()]  # fmt: skip
    leveled = dc.read(frame, schema.changed(*finer))
    table = dc.read(frame, schema)
    for k in (10,) if quick else (5, 10, 50):
        promise = dc.KAnonymity(k)
        yield f"generalization, k = {k}", dc.publish(table, dc.Generalization(promise))
        yield f"full-domain, k = {k}", dc.publish(leveled, dc.FullDomain(promise, suppress="0.03"))


def list_tables(file: Path | None, known: str, number: str) -> Iterator[Any]:
    """Give tables, their schemas, and the number that is summed."""
    if file is not None:
        names = known.split(",")
        frame = pl.read_parquet(file, columns=[*names, number]).with_columns(
            pl.selectors.float().round().cast(pl.Int64), pl.selectors.categorical().cast(pl.String)
        )
        schema = dc.Schema.infer(frame, quasi_identifiers=names, sensitive=[number])
        yield file.stem, frame, schema, number
        return
    adult = dc.datasets.adult(sensitive="hours-per-week")
    yield "Adult", dc.datasets.adult_frame().drop_nulls(), adult.schema, "hours-per-week"
    frame = dc.datasets.census_frame(50_000)
    frame = frame.with_columns(pl.selectors.enum().cast(pl.String))
    yield "census", frame, dc.datasets.census_schema(frame, ["income"]), "income"


def measure(chosen: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Measure every release, and print it as it is found."""
    count = 20 if chosen.quick else 60
    for name, frame, schema, number in list_tables(chosen.parquet, chosen.known, chosen.number):
        for how, release in publish_all(frame, schema, chosen.quick):
            found = compare(release, frame, number, count)
            for part, figures in found.items():
                yield {"what": f"{name}, {how}, {part}", **figures}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer questions, and k = 10 alone")
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--parquet", type=Path, help="another table")
    parser.add_argument("--known", default="", help="its quasi-identifiers")
    parser.add_argument("--number", default="", help="the number that is summed")
    given = parser.parse_args()
    rows = []
    for row in measure(given):
        rows.append(row)
        print(
            f"{row['what']:<45}",
            *(f"{title} {value}" for title, value in list(row.items())[1:]),
            sep="  ",
            flush=True,
        )
    if given.json is not None:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")
