"""Damage to releases, ledgers and evidence, and all that reads them.

Whatever is asked of what was changed gives an answer or an error of ours: never an exception of a
library, and never the word that something is what it is not.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import settings
from hypothesis import strategies as st

import discreet as dc
from discreet.auditing import audit
from discreet.forms.verify import verify
from discreet.release.croissant import describe
from discreet.release.parts import StoredParts
from discreet.release.series import load_series
from discreet.release.store import find_strangers, fingerprint
from discreet.steward.evidence import draw_salt, gather, write_evidence
from discreet.steward.ledger import Ledger
from hostile.retyping import mutate_json
from samples import reseal
from tampering import CASES, make_people

PEOPLE = 24
MANIFEST = "datapackage.json"
CELLS: list[Any] = [
    None, "", "x", "*", "NaN", -1, 0, 1, 3, 10**9, -(2**63), 2**63 - 1, 0.5, float("inf"),
    float("nan"), True, "2020-01-01",
]  # fmt: skip
TYPES = [
    pl.String, pl.Int64, pl.Int8, pl.Float64, pl.Boolean, pl.Date, pl.UInt64, pl.Binary,
    pl.Categorical, pl.List(pl.String), pl.Datetime, pl.Null,
]  # fmt: skip
FIELDS: list[Any] = [
    None, "", "x", "[]", "{}", "[1]", "[[]]", '{"a": 1}', "not json", "[" * 5000, "9" * 5000, 0,
    -1, 3, 10**12, 1.5, float("inf"), b"\xff", "2026", "pending", "recorded", "\x1b[31m", "../x",
]  # fmt: skip
"""What may stand in a field of a database."""
BOOK = "ledger.sqlite"
COLUMNS = [
    "number", "made", "method", "promise", "people", "columns", "files", "folder", "replaces",
    "state",
]  # fmt: skip
Step = Callable[[], object]


def count_examples(few: int) -> int:
    """Say how many examples to try: few on every run, as many as it says under ``fuzz``."""
    current = settings()
    return current.max_examples if settings.get_current_profile_name() == "fuzz" else few


@st.composite
def change_bytes(draw: st.DrawFn, content: bytes) -> bytes:
    """Cut, flip, insert or repeat some bytes; or leave nothing."""
    at = draw(st.integers(0, max(0, len(content) - 1)))
    match draw(st.sampled_from(["cut", "flip", "insert", "repeat", "nothing"])):
        case "cut":
            return content[:at]
        case "flip":
            other = bytes(byte ^ draw(st.integers(1, 255)) for byte in content[at : at + 1])
            return content[:at] + other + content[at + 1 :]
        case "insert":
            return content[:at] + draw(st.binary(min_size=1, max_size=9)) + content[at:]
        case "repeat":
            return content + content[at:]
    return b""


CHANGES = (
    "rename", "drop", "add", "retype", "nothing", "empty", "cell", "cells", "exchange", "order",
    "columns", "twice", "one",
)  # fmt: skip


@st.composite
def change_table(draw: st.DrawFn, table: pl.DataFrame) -> pl.DataFrame:  # noqa: PLR0912
    """Change columns or cells, or the order of either."""
    name = draw(st.sampled_from(table.columns))
    column, rows = table[name], st.integers(0, table.height - 1)
    match draw(st.sampled_from(CHANGES)):
        case "rename":
            other = draw(st.sampled_from([*table.columns, "x", "", "Age", "class", f"{name}_low"]))
            return table if other in table.columns else table.rename({name: other})
        case "drop":
            return table.drop(name)
        case "add":
            return table.with_columns(pl.lit(draw(st.sampled_from(CELLS))).alias("more"))
        case "retype":
            with suppress(pl.exceptions.PolarsError):
                kind = draw(st.sampled_from(TYPES))
                return table.with_columns(column.cast(kind, strict=False))
        case "nothing":
            return table.with_columns(pl.lit(None, column.dtype).alias(name))
        case "empty":
            return table.clear()
        case "cell" | "cells" as many:
            cells, value = column.to_list(), draw(st.sampled_from([*CELLS, column[0]]))
            for at in range(table.height) if many == "cells" else [draw(rows)]:
                cells[at] = value
            with suppress(pl.exceptions.PolarsError, OverflowError):
                changed = pl.Series(name, cells, strict=False).cast(column.dtype, strict=False)
                return table.with_columns(changed)
        case "exchange":
            a, b, cells = draw(rows), draw(rows), column.to_list()
            cells[a], cells[b] = cells[b], cells[a]
            return table.with_columns(pl.Series(name, cells, dtype=column.dtype))
        case "order":
            return draw(st.sampled_from([table.reverse(), table.sort(name), table[1:]]))
        case "columns":
            return table.select(draw(st.permutations(table.columns)))
        case "twice":
            return pl.concat([table, table])
        case "one":
            return table[:1]
    return table.drop(name)


def _change_file(data: st.DataObject, path: Path) -> None:
    read, write = pl.read_csv, pl.DataFrame.write_csv
    if path.suffix == ".parquet":
        read, write = pl.read_parquet, pl.DataFrame.write_parquet  # type: ignore[assignment]
    table = data.draw(change_table(read(path)), label="table")
    with suppress(pl.exceptions.PolarsError):  # not every type goes into every file
        write(table, path)


def damage_release(data: st.DataObject, folder: Path) -> None:
    """Change something in the folder of a release, and make the seals fit it or not."""
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    tables = sorted(path for path in folder.iterdir() if path.suffix in (".csv", ".parquet"))
    path = data.draw(st.sampled_from(tables), label="file")
    match data.draw(st.sampled_from(["json", "table", "bytes", "file"]), label="what"):
        case "json":
            changed = data.draw(mutate_json(manifest), label="manifest")
            (folder / MANIFEST).write_text(json.dumps(changed), encoding="utf-8")
            return
        case "table":
            _change_file(data, path)
        case "bytes":
            path = data.draw(st.sampled_from([*tables, folder / MANIFEST]), label="file")
            path.write_bytes(data.draw(change_bytes(path.read_bytes()), label="bytes"))
        case "file":
            _move_file(data, path, tables)
    if data.draw(st.booleans(), label="sealed anew"):
        with suppress(OSError, ValueError, KeyError, TypeError):
            reseal(folder)


def _move_file(data: st.DataObject, path: Path, tables: list[Path]) -> None:
    other = data.draw(st.sampled_from(tables), label="other")
    how = data.draw(st.sampled_from(["exchange", "folder", "gone", "link"]), label="how")
    content = path.read_bytes()
    path.unlink()
    if how == "exchange" and other != path:
        path.write_bytes(other.read_bytes())
        other.write_bytes(content)
    elif how == "folder":
        path.mkdir()
        (path / path.name).write_bytes(content)
    elif how == "link":
        path.symlink_to(path.parent.parent)


@cache
def people(case: str) -> dc.Microdata:
    """Give the people of whom there is a release by a method."""
    return make_people(case, PEOPLE)


@cache
def written(case: str, format: str) -> Path:
    """Give a release by a method, which is to be copied and not to be changed."""
    place = Path(tempfile.mkdtemp(prefix="damage"))
    return dc.publish(people(case), CASES[case]).write(place / "good", format=format)  # type: ignore[arg-type]


QUESTIONS = {
    "count": "SELECT COUNT(*) FROM release",
    "groups": "SELECT income, COUNT(*), AVG(age) FROM release GROUP BY income",
    "numbers": "SELECT SUM(income), MIN(age), MAX(income) FROM release WHERE age < 40",
    "texts": "SELECT COUNT(*) FROM release WHERE sex = 'male' AND region LIKE '%e%'",
    "median": "SELECT region, MEDIAN(income) FROM release WHERE age > 30 GROUP BY region",
}


def list_uses(folder: Path, case: str, good: Path, place: Path) -> dict[str, Step]:
    """List everything that can be done with the folder of a release."""
    data = people(case)

    def load() -> dc.Release:
        return dc.load(folder)

    def in_parts() -> object:
        parts = StoredParts(folder)
        parts.refuse_unsealed()
        return [part.views for part in parts.read(8)]

    return {
        "verify": lambda: verify(load()),
        "strangers": lambda: find_strangers(folder),
        "audit": lambda: audit(folder, data).to_dict(),
        "attacks": lambda: audit(folder, data, attacks=True, population_data=data).to_dict(),
        "earlier": lambda: audit(good, data, earlier=[folder]).to_dict(),
        "page": lambda: audit(folder, data).to_html(place / "page.html", rows=3),
        "parts": in_parts,
        **{name: lambda sql=sql: load().query(sql) for name, sql in QUESTIONS.items()},
        "crosstab": lambda: load().crosstab("sex", "region"),
        "histogram": lambda: load().histogram("income", bins=3),
        "regress": lambda: load().regress("income ~ age + sex", seed=1),
        "sample": lambda: load().sample(5, seed=1),
        "impute": lambda: load().impute(2, seed=1),
        "reconstruct": lambda: load().reconstruct(["age", "income"]),
        "xlsx": lambda: load().export(place / "out.xlsx", overwrite=True),
        "sav": lambda: load().export(place / "out.sav", overwrite=True),
        "dta": lambda: load().export(place / "out.dta", overwrite=True),
        "duckdb": lambda: load().to_database(str(place / "out.duckdb"), overwrite=True),
        "croissant": lambda: describe(folder),
        "series": lambda: load_series({"1": good, "2": folder}).query(
            "SELECT COUNT(*), AVG(income) FROM releases WHERE age > 30"
        ),
        "evaluate": lambda: dc.evaluate.measure_loss(load(), data),
        "write": lambda: load().write(place / "again", overwrite=True),
    }


@cache
def keep_ledger() -> Path:
    """Give a ledger of two releases, which is to be copied and not to be changed."""
    place = Path(tempfile.mkdtemp(prefix="damage"))
    ledger = Ledger.init(place / "book", "people")
    data = _read_keyed()
    for k in (4, 8):
        release = dc.publish(data, dc.Generalization(dc.KAnonymity(k)))
        ledger.publish(release, data, place / f"out{k}")
    return place / "book"


@cache
def _read_keyed() -> dc.Microdata:
    frame = dc.datasets.census_frame(PEOPLE, seed=1).select("age", "income").with_row_index("id")
    schema = dc.Schema.infer(frame, quasi_identifiers=["age"], sensitive=["income"], person="id")
    return dc.read(frame, schema)


def damage_ledger(data: st.DataObject, folder: Path) -> None:
    """Change something in a ledger: rows, people, bytes of its files, its copies."""
    match data.draw(st.sampled_from(["row", "row", "people", "source", "bytes", "copy"])):
        case "row":
            column = data.draw(st.sampled_from(COLUMNS), label="column")
            value = data.draw(st.sampled_from(FIELDS), label="value")
            if column in ("columns", "files") and data.draw(st.booleans()):
                with closing(sqlite3.connect(folder / BOOK)) as book:
                    (text,) = book.execute(f"SELECT {column} FROM release").fetchone()
                value = json.dumps(data.draw(mutate_json(json.loads(text)), label="value"))
            _change_book(folder, f"UPDATE release SET {column} = ? WHERE number = 1", value)
        case "people":
            with closing(sqlite3.connect(folder / BOOK)) as book:
                (noted,) = book.execute("SELECT attendance FROM people").fetchone()
            value = data.draw(st.one_of(change_bytes(noted), st.sampled_from(FIELDS)))
            _change_book(folder, "UPDATE people SET attendance = ? WHERE number = 1", value)
        case "source":
            column = data.draw(st.sampled_from(["name", "made", "version"]), label="column")
            value = data.draw(st.sampled_from(FIELDS), label="value")
            _change_book(folder, f"UPDATE source SET {column} = ?", value)
        case "bytes":
            path = folder / data.draw(st.sampled_from([BOOK, "people.key"]), label="file")
            path.write_bytes(data.draw(change_bytes(path.read_bytes()), label="bytes"))
        case "copy":
            damage_release(data, folder / "releases" / "0001")


def _change_book(folder: Path, statement: str, value: object) -> None:
    with closing(sqlite3.connect(folder / BOOK)) as book, book, suppress(sqlite3.Error):
        for trigger in ("keep", "settle", "keep_people", "settle_people"):
            book.execute(f"DROP TRIGGER {trigger}")
        book.execute("PRAGMA ignore_check_constraints = ON")
        book.execute(statement, (value,))


def list_ledger_uses(folder: Path, place: Path) -> dict[str, Step]:
    """List everything that can be done with a ledger."""
    data = _read_keyed()
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(6)))

    def ledger() -> Ledger:
        return Ledger(folder)

    return {
        "list": lambda: [entry.to_dict() for entry in ledger().entries],
        "show": lambda: ledger().load(ledger().find(1)),
        "tell": lambda: ledger().tell(),
        "check": lambda: ledger().check(release, data),
        "publish": lambda: ledger().publish(release, data, place / "new"),
    }


@cache
def sign_off() -> Path:
    """Give a folder with a release, its evidence, the salt, and the table; not to be changed."""
    place = Path(tempfile.mkdtemp(prefix="damage"))
    data, case = people("permutation"), "permutation"
    frame = dc.datasets.census_frame(PEOPLE, seed=1).select("age", "sex", "region", "income")
    frame.write_csv(place / "people.csv")
    folder = dc.publish(data, CASES[case]).write(place / "release", format="csv")
    salt = draw_salt()
    found = gather(folder, place / "people.csv", data, audit(folder, data), salt)
    write_evidence(found, place / "evidence", salt)
    return place


def damage_evidence(data: st.DataObject, place: Path) -> None:
    """Change evidence, its page or its salt, or the release that it is of."""
    if data.draw(st.booleans(), label="release"):
        damage_release(data, place / "release")
        return
    file = place / "evidence" / "evidence.json"
    if data.draw(st.booleans(), label="json"):
        changed = data.draw(mutate_json(json.loads(file.read_text(encoding="utf-8"))))
        file.write_text(json.dumps(changed), encoding="utf-8")
        return
    path = data.draw(st.sampled_from([file, file.with_suffix(".html"), place / "evidence.salt"]))
    path.write_bytes(data.draw(change_bytes(path.read_bytes()), label="bytes"))


def print_folder(folder: Path) -> dict[str, str] | None:
    """Say what a folder holds, byte by byte; nothing where it holds more than files."""
    with suppress(dc.DiscreetError):
        return fingerprint(folder)
    return None


def take(steps: dict[str, Step], chosen: list[str]) -> list[str]:
    """Take steps; list those that end in an error of ours, and let others through."""
    refused = []
    for name in chosen:
        try:
            steps[name]()
        except dc.DiscreetError as error:
            assert error.message.strip() and error.exit_code in (1, 2)
            refused.append(name)
        except BaseException as error:
            error.add_note(f"step: {name}")
            raise
    return refused


@contextmanager
def copying(folder: Path) -> Iterator[Path]:
    """Give a copy of a folder that may be changed, in a place of its own."""
    with tempfile.TemporaryDirectory() as place:
        yield Path(shutil.copytree(folder, Path(place) / folder.name))
