"""Audits in parts find what an audit of the whole finds, wherever parts end."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import discreet as dc
from commands import discreet_here as discreet
from discreet.auditing.in_parts import SENT, AskedOfParts, Glance, audit_files
from discreet.forms.boxes import BoxView
from discreet.forms.matches import Matches
from discreet.release import parts, table_files
from discreet.table.arrays import Ints
from discreet.table.facts import survey
from discreet.table.parquet_files import ParquetFiles
from in_parts import AT_ONCE, publish_from_disk, reseal, spread
from in_parts import examine as examine_parts

DATA = dc.datasets.census(3000, sensitive="income")
ENDS = {
    name: [DATA.domains[name].values[end] for end in (0, -1)] if type_.ordered else []
    for name, type_ in ((name, DATA.schema[name].type) for name in DATA.quasi_identifiers)
}
METHOD = dc.Generalization(dc.KAnonymity(5) & dc.DistinctDiversity(3))


def make_small_parts(patch: pytest.MonkeyPatch) -> None:
    """Have files of 700 records."""
    patch.setattr(table_files, "PART", 700)
    patch.setitem(audit_files.__kwdefaults__ or {}, "at_once", 250)


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    make_small_parts(monkeypatch)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A table in files and its release in small parts, made once, and what its audit found."""
    folder = tmp_path_factory.mktemp("made")
    source = spread(DATA.to_polars(), folder / "source")
    with pytest.MonkeyPatch.context() as patch:
        make_small_parts(patch)
        found = publish_from_disk(source, DATA.schema.published, METHOD, folder / "r", 400)
    return folder, found.to_dict()


@pytest.fixture
def source(made: tuple[Path, dict[str, Any]]) -> Path:
    """The table, which nobody changes."""
    return made[0] / "source"


@pytest.fixture
def release(made: tuple[Path, dict[str, Any]], tmp_path: Path) -> Path:
    """A copy of the release, to be changed."""
    return Path(shutil.copytree(made[0] / "r", tmp_path / "r"))


def examine(release: Path, source: Path, folder: Path) -> dc.auditing.AuditReport:
    return examine_parts(release, source, DATA.schema.published, folder)


def change(folder: Path, number: int, how: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    path = folder / f"generalized-0000{number}.parquet"
    how(pl.read_parquet(path)).write_parquet(path)


def swap_files(folder: Path) -> None:
    one, other = (folder / f"generalized-0000{number}.parquet" for number in (1, 2))
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)


def write_one_file_otherwise(folder: Path) -> None:
    change(folder, 3, lambda table: table.with_columns(pl.col("age").cast(pl.String)))


def drop_people(folder: Path) -> None:
    change(folder, 2, lambda table: table[:-9])


def take_one_out_of_a_class(folder: Path) -> None:
    def give_away(table: pl.DataFrame) -> pl.DataFrame:
        sizes = table["class"].value_counts()
        smallest = sizes.filter(pl.col("count") == 5)["class"][0]
        at = int((table["class"] == smallest).arg_true()[0])
        return pl.concat([table[:at], table[at + 1 :]])

    change(folder, 1, give_away)


def give_values_to_others(folder: Path) -> None:
    change(folder, 1, lambda table: table.with_columns(pl.col("income").reverse()))


def widen_a_box(folder: Path) -> None:
    for number in range(5):  # labels as texts in all files, so that one may be new
        change(folder, number, lambda table: table.with_columns(pl.col(pl.Enum).cast(pl.String)))

    def widen(table: pl.DataFrame) -> pl.DataFrame:
        first = pl.col("class") == table["class"][table.height // 2]
        shown = {
            column: pl.when(first).then(pl.lit(value)).otherwise(column)
            for name, ends in ENDS.items()
            for column, value in zip(
                (name, f"{name}_low", f"{name}_high"), ("*", *ends), strict=False
            )
        }
        return table.with_columns(**shown)

    change(folder, 1, widen)


@pytest.mark.usefixtures("small_parts")
def test_parts_are_audited_as_the_whole(
    tmp_path: Path, made: tuple[Path, dict[str, Any]], source: Path, release: Path
) -> None:
    _, told = made
    assert len(list((release).glob("generalized-*.parquet"))) == 5
    assert len(list(parts.StoredParts(release).read(AT_ONCE))) == 7
    whole = dc.audit(release, DATA).to_dict()
    for name in ("kept", "groups", "max_belief", "checks", "identity"):
        assert told[name] == whole[name]
    for mine, theirs in zip(
        told["proximity"]["income"]["curve"], whole["proximity"]["income"]["curve"], strict=True
    ):
        assert mine == pytest.approx(theirs)
    beliefs = {person["beliefs"]["income"] for person in whole["worst_explained"][:1]}
    assert {person["beliefs"]["income"] for person in told["worst_explained"][:1]} == beliefs
    page = examine(release, source, tmp_path / "w").to_html(tmp_path / "page.html")
    assert "income" in page.read_text(encoding="utf-8")
    answer = dc.load(release).query("SELECT COUNT(*) FROM release WHERE age < 40")
    assert answer.low <= (DATA.to_polars()["age"] < 40).sum() <= answer.high


@pytest.mark.usefixtures("small_parts")
def test_a_part_may_be_sent_everybody(
    tmp_path: Path, source: Path, release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def send_all(self: Glance, codes: dict[str, NDArray[np.int32]]) -> Iterator[tuple[int, Ints]]:
        for part in range(next(iter(self.bits.values())).shape[1]):
            yield part, np.arange(len(codes["age"]))

    held: list[int] = []
    match = BoxView.match

    def watch(self: BoxView, data: dc.Microdata) -> Matches:
        held.append(data.n)
        return match(self, data)

    few = examine(release, source, tmp_path / "few").to_dict()
    monkeypatch.setattr(Glance, "find", send_all)
    monkeypatch.setattr(BoxView, "match", watch)
    told = examine(release, source, tmp_path / "all").to_dict()
    for name in ("kept", "problems", "people", "groups", "max_belief", "checks", "identity"):
        assert told[name] == few[name]
    assert sum(held) > 6 * DATA.n
    assert max(held) == AT_ONCE * SENT


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(
    "forge",
    [
        swap_files,
        write_one_file_otherwise,
        drop_people,
        take_one_out_of_a_class,
        give_values_to_others,
        widen_a_box,
    ],
)
def test_what_was_changed_is_found_in_parts_as_in_the_whole(
    tmp_path: Path, source: Path, release: Path, forge: Callable[[Path], None]
) -> None:
    forge(release)
    with pytest.raises(dc.DiscreetError, match="is not what was published"):
        examine(release, source, tmp_path / "before")
    reseal(release)
    try:
        report = examine(release, source, tmp_path / "w")
    except dc.DiscreetError:
        return  # refused, as what it is not
    assert not report.kept


@pytest.mark.usefixtures("small_parts")
def test_somebody_who_is_not_in_the_release_is_noticed(tmp_path: Path, release: Path) -> None:
    frame = DATA.to_polars()
    other = frame.with_columns(
        age=pl.when(pl.int_range(pl.len()) == 5).then(17).otherwise("age"),
        region=pl.when(pl.int_range(pl.len()) == 5).then(pl.lit("R49")).otherwise("region"),
    )
    report = examine(release, spread(other, tmp_path / "other"), tmp_path / "w")
    assert not report.kept
    assert np.any([("covered" in p or "cover" in p or "published" in p) for p in report.problems])


def test_the_command_line_audits_in_parts(tmp_path: Path) -> None:
    source = spread(DATA.to_polars(), tmp_path / "source")
    publish_from_disk(source, DATA.schema.published, METHOD, tmp_path / "r", 400)
    whole = discreet("audit", "r", "--microdata", "source", "--json", cwd=tmp_path)
    part = discreet(
        "audit", "r", "--microdata", "source", "--json", "--memory", "20KB", cwd=tmp_path
    )
    assert (whole.returncode, part.returncode) == (0, 0), part.stderr
    told, known = json.loads(part.stdout), json.loads(whole.stdout)
    assert told["identity"] == known["identity"]
    assert told["max_belief"] == known["max_belief"]
    refused = discreet(
        "audit", "r", "--microdata", "source", "--attacks", "--memory", "20KB", cwd=tmp_path
    )
    assert (refused.returncode, "not done in parts" in refused.stderr) == (2, True)


def rename(manifest: dict[str, Any]) -> None:
    manifest["title"] = "Another"


def call_a_role_otherwise(manifest: dict[str, Any]) -> None:
    manifest["resources"][0]["schema"]["fields"][1]["role"] = "other"


def call_it_older(manifest: dict[str, Any]) -> None:
    manifest["discreet"]["manifest"] = 1


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("forge", [rename, call_a_role_otherwise, call_it_older])
def test_a_rewritten_manifest_is_noticed(
    tmp_path: Path, source: Path, release: Path, forge: Callable[[dict[str, Any]], None]
) -> None:
    path = release / "datapackage.json"
    manifest = json.loads(path.read_text())
    forge(manifest)
    path.write_text(json.dumps(manifest))
    try:
        assert not examine(release, source, tmp_path / "w").kept
    except dc.DiscreetError:
        assert forge is call_it_older


@pytest.mark.usefixtures("small_parts")
def test_files_that_are_gone_or_of_other_types_are_one_error(
    tmp_path: Path, source: Path, release: Path
) -> None:
    for number in range(5):
        change(release, number, lambda t: t.with_columns(pl.col("age_low").cast(pl.Float64)))
    reseal(release)
    with pytest.raises(dc.errors.StoreError, match="not of type"):
        examine(release, source, tmp_path / "w")
    (release / "generalized-00003.parquet").unlink()
    with pytest.raises(dc.errors.StoreError, match="cannot be read"):
        examine(release, source, tmp_path / "v")


@pytest.mark.usefixtures("small_parts")
def test_files_may_end_within_a_class(release: Path) -> None:
    """Whoever takes a file takes the classes that begin in it, and all of each."""
    stored = parts.StoredParts(release)
    taken = [stored.take_file(number).tables["generalized"] for number in range(5)]
    assert pl.concat(taken).equals(dc.load(release).tables["generalized"])
    stored.require_order([(t["class"][0], t["class"][-1]) for t in taken], [0] * 5)
    with pytest.raises(dc.errors.StoreError, match="order"):
        stored.require_order([(0, 5), (5, 9)], [0, 0])

    def hide(table: pl.DataFrame) -> pl.DataFrame:
        """Put a record of the class that ends in the file before where nobody would look."""
        last = taken[1][-1:].with_columns(pl.col(pl.Enum).cast(pl.String))
        texts = table.with_columns(pl.col(pl.Enum).cast(pl.String))
        return pl.concat([texts[:300], last, texts[300:]])

    for number in range(5):
        change(release, number, lambda t: t.with_columns(pl.col(pl.Enum).cast(pl.String)))
    change(release, 2, hide)
    reseal(release)
    with pytest.raises(dc.errors.StoreError, match="order"):
        parts.StoredParts(release).take_file(2)


@pytest.mark.usefixtures("small_parts")
def test_forms_that_are_seen_whole_and_other_tables_are_refused(tmp_path: Path) -> None:
    data = dc.datasets.census(500, sensitive="income")
    source = spread(data.to_polars(), tmp_path / "source")
    swapped = dc.publish(data, dc.RankSwapping(dc.KE(2, 2)))
    swapped.write(tmp_path / "swapped")
    with pytest.raises(dc.errors.SchemaError, match=r"rank-swapping.*not examined in parts"):
        examine(tmp_path / "swapped", source, tmp_path / "w")
    publish_from_disk(source, data.schema.published, METHOD, tmp_path / "r", 400)
    fewer = data.to_polars().drop("region")
    files = ParquetFiles(spread(fewer, tmp_path / "fewer"))
    facts = survey(files, data.schema.published.only(fewer.columns))
    with pytest.raises(dc.errors.SchemaError, match="region"):
        audit_files(tmp_path / "r", files, facts, tmp_path, progress=lambda *told: None)


def test_a_kept_column_that_a_plan_calls_sensitive_is_held_against_the_whole(
    tmp_path: Path,
) -> None:
    frame = DATA.to_own_values().select("age", "sex", "income", "household")[:600]
    schema = dc.Schema.infer(frame, quasi_identifiers=["age", "sex"], sensitive=["income"])
    kept = schema.changed(replace(schema["household"], keep=True, role=dc.Role.OTHER))
    source = spread(frame, tmp_path / "source")
    publish_from_disk(source, kept, dc.Generalization(dc.KAnonymity(5)), tmp_path / "r", 100)
    roles = kept.changed(replace(kept["household"], role=dc.Role.SENSITIVE))
    asked = AskedOfParts(principle=dc.TCloseness(0.3, on="household"), roles=roles)
    files = ParquetFiles(source)
    (tmp_path / "w").mkdir()
    found = audit_files(tmp_path / "r", files, survey(files, kept), tmp_path / "w", asked=asked,
                        at_once=100, progress=lambda *told: None)  # fmt: skip
    whole = dc.audit(tmp_path / "r", dc.read(frame, kept), principle=asked.principle, schema=roles)
    assert found.breaches == whole.breaches > 0
    assert found.to_dict()["checks"] == whole.to_dict()["checks"]
