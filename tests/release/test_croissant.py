"""Croissant: everything the public has, with its fingerprint, and nothing else."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import discreet as dc
from commands import discreet_here
from discreet.release.croissant import describe

FRAME = pl.DataFrame(
    {
        "passport": ["Ann", "Bob", "Cid", "Dan", "Eve", "Fay"],
        "age": [21, 23, 38, 40, 41, 43],
        "home town": ["Graz", "Graz", "Linz", "Linz", "Wels", "Wels"],
        "illness": ["flu", "gout", "flu", "gout", "flu", "gout"],
    }
)


@pytest.fixture
def data() -> dc.Microdata:
    schema = dc.Schema.infer(
        FRAME,
        identifiers=["passport"],
        quasi_identifiers=["age", "home town"],
        sensitive=["illness"],
    )
    return dc.read(FRAME, schema)


@pytest.fixture(params=["parquet", "csv"])
def folder(request: pytest.FixtureRequest, data: dc.Microdata, tmp_path: Path) -> Path:
    method = dc.Angelization(dc.FrequencyDiversity(2), k=2)
    return dc.publish(data, method).write(tmp_path / "release", format=request.param)


def test_every_file_is_listed_with_its_fingerprint(folder: Path) -> None:
    described = describe(folder)
    files = {file["contentUrl"]: file["sha256"] for file in described["distribution"]}
    assert files == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()
    }


def test_every_column_is_a_field_with_a_type_and_a_source(folder: Path) -> None:
    described = describe(folder)
    release = dc.load(folder)
    sets = {table["name"]: table for table in described["recordSet"]}
    assert {name: [f["name"] for f in table["field"]] for name, table in sets.items()} == {
        **{name: table.columns for name, table in release.tables.items()},
        "domains": ["attribute", "number", "value"],
        "labels": ["attribute", "label", "numbers"],
    }
    assert all("`domains`" in field["description"] for field in sets["labels"]["field"])
    by_name = {field["name"]: field for field in sets["generalized"]["field"]}
    assert by_name["age_low"]["dataType"] == "sc:Integer"
    assert by_name["age_low"]["description"].startswith("age: quasi-identifier, published as an")
    assert by_name["home town"]["dataType"] == "sc:Text"
    assert "`batch`" in by_name["batch"]["description"]


def test_it_has_what_croissant_asks_of_every_node(folder: Path) -> None:
    described = describe(folder)
    assert described["@type"] == "sc:Dataset"
    assert described["conformsTo"] == "http://mlcommons.org/croissant/1.0"
    assert described["name"] and described["description"]
    known = {file["@id"] for file in described["distribution"]}
    wanted = {"@type", "@id", "name", "contentUrl", "encodingFormat", "sha256"}
    for file in described["distribution"]:
        assert set(file) == wanted and file["@type"] == "cr:FileObject"
    ids = [*known]
    for table in described["recordSet"]:
        assert table["@type"] == "cr:RecordSet" and table["description"]
        ids.append(table["@id"])
        for field in table["field"]:
            assert field["@type"] == "cr:Field" and field["description"]
            assert field["source"]["fileObject"]["@id"] in known
            assert field["source"]["extract"] == {"column": field["name"]}
            ids.append(field["@id"])
    assert len(set(ids)) == len(ids) and not any(" " in name for name in ids)
    for term in _terms(described):
        assert term.startswith("@") or term in described["@context"] or term in SCHEMA_ORG, term


SCHEMA_ORG = {"name", "description", "distribution", "contentUrl", "encodingFormat", "sha256"}


def _terms(node: Any) -> set[str]:
    if isinstance(node, list):
        return set().union(*map(_terms, node))
    if not isinstance(node, dict):
        return set()
    below = [_terms(value) for key, value in node.items() if key != "@context"]
    return set(node).union(*below)


def test_nothing_of_the_steward_is_in_it(folder: Path) -> None:
    text = json.dumps(describe(folder))
    assert "passport" not in text and "Ann" not in text
    assert str(folder.parent) not in text


def test_the_command_writes_it_outside_of_the_release(folder: Path) -> None:
    def discreet(*arguments: str) -> subprocess.CompletedProcess[str]:
        return discreet_here(*arguments, cwd=folder.parent)

    assert discreet("croissant", "release", "--to", "c.json").returncode == 0
    assert json.loads((folder.parent / "c.json").read_text(encoding="utf-8")) == describe(folder)
    done = discreet("croissant", "release", "--to", "release/c.json")
    assert done.returncode == 2 and not (folder / "c.json").exists()
    done = discreet("croissant", ".", "--to", "d.json")
    assert done.returncode == 2 and "not a release" in done.stderr
    assert not (folder.parent / "d.json").exists()
