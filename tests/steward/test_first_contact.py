"""First contact: from a file that nobody has seen to an audited release, in three commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

from commands import discreet_here as discreet

ROWS = 400


def draw_people() -> pl.DataFrame:
    rng = np.random.default_rng(8)
    return pl.DataFrame({
        "id": np.arange(10_000, 10_000 + ROWS),
        "born": pl.Series(rng.integers(-9_000, 12_000, ROWS)).cast(pl.Int32).cast(pl.Date),
        "sex": rng.choice(["male", "female"], ROWS),
        "town": rng.choice(["Köln", "Bonn", "Genf", "Lyon"], ROWS),
        "pay": rng.integers(100_000, 900_000, ROWS) / 100,
    })  # fmt: skip


def write_american(folder: Path) -> str:
    """Months first, dollars, commas between thousands, Windows' own encoding."""
    frame = draw_people().with_columns(
        pl.col("born").dt.strftime("%m/%d/%Y"),
        pl.col("pay").map_elements(lambda pay: f'"${pay:,.2f}"', return_dtype=pl.String),
    ).rename({"id": "Person ID", "born": "Date of Birth", "pay": "Income"})  # fmt: skip
    (folder / "people.csv").write_bytes(
        frame.write_csv(quote_style="never", line_terminator="\r\n").encode("cp1252")
    )
    return "people.csv"


def write_german(folder: Path) -> str:
    """Days first, decimal commas, semicolons, UTF-16 as Excel saves it."""
    frame = draw_people().with_columns(
        pl.col("born").dt.strftime("%d.%m.%Y"),
        pl.col("pay").map_elements(
            lambda pay: f"{pay:,.2f} €".translate(str.maketrans(",.", ".,")), return_dtype=pl.String
        ),
        pl.col("sex").replace({"male": "männlich", "female": "weiblich"}),
    ).rename({"id": "Personalnummer", "born": "Geburtsdatum", "sex": "Geschlecht",
              "town": "Wohnort", "pay": "Einkommen"})  # fmt: skip
    (folder / "personen.csv").write_bytes(frame.write_csv(separator=";").encode("utf-16"))
    return "personen.csv"


def write_database(folder: Path) -> str:
    """A file of DuckDB."""
    people = draw_people()
    with duckdb.connect(str(folder / "office.duckdb")) as database:
        database.register("given", people.to_arrow())
        database.execute("CREATE TABLE people AS SELECT * FROM given")
    return "office.duckdb"


def write_parts(folder: Path) -> str:
    """A folder of Parquet files."""
    (folder / "people").mkdir()
    for i, part in enumerate(draw_people().iter_slices(150)):
        part.write_parquet(folder / "people" / f"part-{i}.parquet")
    return "people"


@pytest.mark.parametrize(
    "write", [write_american, write_german, write_database, write_parts], ids=lambda f: f.__doc__
)
def test_an_unknown_file_is_published_as_drafted_and_nobody_is_certain(
    write: Callable[[Path], str], tmp_path: Path
) -> None:
    source = write(tmp_path)
    table = ["--table", "people"] if source.endswith(".duckdb") else []
    done = discreet("inspect", source, *table, "--plan", "p.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    plan = (tmp_path / "p.toml").read_text(encoding="utf-8")
    for role, many in (("identifier", 1), ("quasi-identifier", 3), ("sensitive", 1)):
        assert plan.count(f'role = "{role}"') == many, plan
    assert plan.count('type = "date"') == 1 and plan.count('type = "decimal"') == 1, plan
    done = discreet("publish", "p.toml", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["kept"] and told["people"] == ROWS
    assert told["max_belief"] < 1 and not told["cautions"]
    if not table:
        done = discreet("audit", "release", "--microdata", source, "--plan", "p.toml", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
