"""Damaged releases, ledgers, evidence: refused in a sentence, or read; never taken for others."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.release.parts import StoredParts
from discreet.release.store import fingerprint
from discreet.steward.evidence import check_evidence
from discreet.steward.ledger import Ledger
from hostile.damaging import (
    BOOK,
    MANIFEST,
    copying,
    count_examples,
    damage_evidence,
    damage_ledger,
    damage_release,
    keep_ledger,
    list_ledger_uses,
    list_uses,
    people,
    print_folder,
    sign_off,
    take,
    written,
)
from hostile.walking import Walker, walk
from samples import reseal
from tampering import CASES

Change = Callable[[Any], object]
COMMON = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@settings(max_examples=count_examples(20), **COMMON)  # type: ignore[arg-type]
@given(data=st.data())
def test_a_release_in_which_anything_was_changed_is_refused_or_used(data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(list(CASES)), label="method")
    good = written(case, data.draw(st.sampled_from(["csv", "parquet"]), label="format"))
    with copying(good) as folder:
        before = fingerprint(folder)
        damage_release(data, folder)
        uses = list_uses(folder, case, good, folder.parent)
        if take(uses, ["verify"]):
            return
        now = print_folder(folder)
        assert now is not None
        if now[MANIFEST] == before[MANIFEST]:  # what was not sealed anew is what was published
            assert now == before
        some = st.lists(st.sampled_from(list(uses)), min_size=4, max_size=4, unique=True)
        take(uses, data.draw(some, label="uses"))


@settings(max_examples=count_examples(12), **COMMON)  # type: ignore[arg-type]
@given(data=st.data())
def test_a_ledger_in_which_anything_was_changed_confirms_nothing_else(data: st.DataObject) -> None:
    with copying(keep_ledger()) as folder:
        copy, place = folder / "releases" / "0001", folder.parent
        before = print_folder(copy)
        damage_ledger(data, folder)
        refused = take(list_ledger_uses(folder, place), ["list", "show", "tell", "check"])
        if "show" not in refused:
            assert print_folder(copy) == before
        if "list" in refused or "tell" in refused:
            assert take(list_ledger_uses(folder, place), ["publish"]) == ["publish"]
            assert not (place / "new").exists()


@settings(max_examples=count_examples(12), **COMMON)  # type: ignore[arg-type]
@given(data=st.data())
def test_evidence_confirms_what_was_examined_and_nothing_else(data: st.DataObject) -> None:
    with copying(sign_off()) as place:
        given = place / "evidence", place / "release", place / "people.csv"
        salt = place / "evidence.salt"
        assert check_evidence(*given, salt) == []
        before = print_folder(place / "release"), (place / "evidence" / "evidence.json").read_text()
        damage_evidence(data, place)
        try:
            problems = check_evidence(*given, salt)
        except dc.DiscreetError:
            return
        if not problems:
            now = (place / "evidence" / "evidence.json").read_text()
            assert print_folder(place / "release") == before[0]
            assert json.loads(now) == json.loads(before[1])


def change_manifest(folder: Path, change: Change) -> None:
    path = folder / MANIFEST
    manifest = json.loads(path.read_text(encoding="utf-8"))
    change(manifest)
    path.write_text(json.dumps(manifest), encoding="utf-8")


def change_table(folder: Path, title: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    path = folder / f"{title}.parquet"
    change(pl.read_parquet(path)).write_parquet(path)
    reseal(folder)


def make_folder(folder: Path) -> None:
    path = folder / "generalized.parquet"
    content = path.read_bytes()
    path.unlink()
    path.mkdir()
    (path / path.name).write_bytes(content)


def make_panic(folder: Path) -> None:
    """Damage what says how values are kept, not the ends by which a file is known."""
    path = folder / "generalized.parquet"
    content = path.read_bytes()
    path.write_bytes(content[:4] + bytes(len(content) // 2 - 4) + content[len(content) // 2 :])
    reseal(folder)


def nothing(name: str, dtype: Any = None) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda t: t.with_columns(pl.lit(None, dtype or t[name].dtype).alias(name))


HARM: dict[str, tuple[Callable[[Path], object], str]] = {
    "a column of the manifest is called otherwise": (
        lambda f: change_manifest(
            f, lambda m: m["resources"][0]["schema"]["fields"][1].update(name="years")
        ),
        "has no column 'years'|has an undeclared column",
    ),
    "an end of intervals is called otherwise": (
        lambda f: change_table(f, "generalized", lambda t: t.rename({"age_low": "low"})),
        "has no column 'age_low'",
    ),
    "an end of intervals is nothing": (
        lambda f: change_table(f, "generalized", nothing("age_low")),
        "'age' has intervals without ends",
    ),
    "intervals end before they begin": (
        lambda f: change_table(
            f, "generalized", lambda t: t.rename({"age_low": "age_high", "age_high": "age_low"})
        ),
        "'age' has intervals that end before they begin",
    ),
    "a label is nothing": (
        lambda f: change_table(f, "generalized", nothing("sex")),
        "'sex' has cells that are no label",
    ),
    "a value is nothing": (
        lambda f: change_table(f, "generalized", nothing("income")),
        "'income' has empty cells, which are no value",
    ),
    "a value has no type": (
        lambda f: change_table(f, "generalized", nothing("sex", pl.Null)),
        "column 'sex' is not of type string",
    ),
    "numbers have no sign": (
        lambda f: change_table(f, "generalized", lambda t: t.cast({"income": pl.UInt64})),
        "'income' is not published as integer",
    ),
    "a domain has one end": (
        lambda f: change_manifest(f, lambda m: m["discreet"]["attributes"][0].update(domain=["1"])),
        "The domain of 'age' is not two ends",
    ),
    "there is no domain": (
        lambda f: change_manifest(f, lambda m: m["discreet"]["attributes"][0].pop("domain")),
        "The domain of 'age' is not two ends",
    ),
    "a table is called otherwise": (
        lambda f: change_manifest(
            f, lambda m: m["resources"][0].update(name="other", path="other.parquet")
        ),
        "cannot be read",
    ),
    "a table is there twice": (
        lambda f: change_manifest(f, lambda m: m["resources"].append(m["resources"][0])),
        "resources: a name is there twice",
    ),
    "a folder has the name of a file": (make_folder, "it is not a plain file"),
    "native code gives up": (make_panic, "cannot be read"),
}


@pytest.mark.parametrize("harm", HARM)
def test_a_damaged_release_is_refused_when_it_is_read(harm: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(written("generalization", "parquet"), tmp_path / "r"))
    damage, message = HARM[harm]
    damage(folder)
    with pytest.raises(dc.errors.StoreError, match=message) as caught:
        dc.load(folder)
    assert caught.value.hint == dc.errors.DAMAGED
    with pytest.raises(dc.errors.StoreError):
        dc.audit(folder, people("generalization"))


@pytest.mark.parametrize("harm", ["folder", "panic", "unsealed", "column"])
def test_a_damaged_release_is_not_examined_in_parts(harm: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(written("generalization", "parquet"), tmp_path / "r"))
    take_parts(folder)
    if harm == "folder":
        make_folder(folder)
    elif harm == "panic":
        make_panic(folder)
    elif harm == "column":
        change_table(folder, "generalized", lambda t: t.rename({"income": "pay"}))
    else:
        change_manifest(
            folder, lambda m: [r.pop("hash") and r.pop("bytes") for r in m["resources"]]
        )
    with pytest.raises(dc.errors.StoreError):
        take_parts(folder)


def take_parts(folder: Path) -> None:
    parts = StoredParts(folder)
    parts.refuse_unsealed()
    assert sum(part.tables["generalized"].height for part in parts.read(8)) == 24


def test_no_command_falls_over_a_damaged_release(walker: Walker, tmp_path: Path) -> None:
    for number, (damage, _) in enumerate(HARM.values()):
        damage(Path(shutil.copytree(written("generalization", "parquet"), tmp_path / f"{number}")))
    for number in range(len(HARM)):
        folder = f"{number}"
        assert walk(walker, tmp_path, [
            ["query", folder, "SELECT COUNT(*), MAX(income) FROM release WHERE age > 30"],
            ["croissant", folder],
        ]) == []  # fmt: skip


def exchange_tables(folder: Path) -> None:
    one, other = folder / "generalized.csv", folder / "generalized_2.csv"
    texts = one.read_bytes(), other.read_bytes()
    one.write_bytes(texts[1])
    other.write_bytes(texts[0])


def test_two_tables_that_were_exchanged_are_noticed(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(written("angelization", "csv"), tmp_path / "r"))
    exchange_tables(folder)
    reseal(folder)
    with pytest.raises(dc.errors.StoreError, match="column"):
        dc.audit(folder, people("angelization"))

    def exchange(manifest: Any) -> None:
        held = {table["name"]: table for table in manifest["resources"]}
        one, other = held["generalized"], held["generalized_2"]
        one["schema"], other["schema"] = other["schema"], one["schema"]

    change_manifest(folder, exchange)
    problems = dc.audit(folder, people("angelization")).problems
    assert "the marginals are not those that the tables show" in problems


def test_an_audit_that_finds_nothing_says_how_far_that_goes() -> None:
    report = dc.audit(written("generalization", "csv"), people("generalization"))
    assert report.kept and "as far as the bytes can tell" in str(report.reach)
    assert "discreet verify" in report.to_dict()["reach"]
    strict = dc.audit(
        written("generalization", "csv"), people("generalization"), principle=dc.KAnonymity(24)
    )
    assert not strict.kept and strict.reach is None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("columns = '{}'", "row 1 was changed and cannot be read (columns: "),
        ("columns = '[1]'", "columns[0]: "),
        ("files = '{}'", "files: "),
        ("files = '[[]]'", "files: "),
        ("files = 'no JSON'", "files: "),
        ('files = \'{"a": "b"}\'', "files.a: "),
        ("made = 'yesterday'", "made: "),
        ("people = 'many'", "people: "),
        ("folder = x'ff'", "folder: "),
        ("method = NULL", "method: "),
        ("replaces = 7", "replaces: "),
        ("number = 0", "number: "),
        ("state = 'unknown'", "state: "),
    ],
)
def test_a_ledger_with_a_damaged_row_is_read_by_nobody(
    change: str, says: str, tmp_path: Path
) -> None:
    book = Path(shutil.copytree(keep_ledger(), tmp_path / "book"))
    with sqlite3.connect(book / BOOK) as database:
        columns = database.execute("SELECT * FROM release")
        names = ", ".join(column[0] for column in columns.description)
        # without what keeps rows as they are, as whoever edits the file by hand
        database.execute("ALTER TABLE release RENAME TO kept")
        database.execute(f"CREATE TABLE release ({names})")
        database.execute("INSERT INTO release SELECT * FROM kept")
        database.execute(f"UPDATE release SET {change} WHERE number = 1")
    uses = list_ledger_uses(book, tmp_path)
    assert take(uses, list(uses)) == list(uses)
    assert not (tmp_path / "new").exists()
    with pytest.raises(dc.errors.StoreError) as caught:
        _ = Ledger(book).entries
    assert says in caught.value.message and "backup" in str(caught.value.hint)
