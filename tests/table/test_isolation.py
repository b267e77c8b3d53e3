"""Files that bring a reader down bring down nothing else."""

from __future__ import annotations

import random
import zipfile
from importlib import import_module
from pathlib import Path

import polars as pl
import pyreadstat
import pytest

import discreet as dc
from commands import discreet
from discreet.table.isolation import read_apart
from discreet.table.readers import read_table

READERS = """
import ctypes, os
import numpy as np
import polars as pl
from discreet.errors import MicrodataError

def crash(path):
    ctypes.string_at(0)

def abort(path):
    os.abort()

def devour(path):
    held = []
    while True:
        held.append(np.zeros(2**28))

def leave(path):
    os._exit(0)

def chatter(path):
    os.write(1, b"library 1.0 says hello\\n")
    return pl.DataFrame({"a": ["01", None]}), {"said": path.read_text()}

def stumble(path):
    raise LookupError("no sheet\\nin this file")

def refuse(path):
    raise MicrodataError("It is refused.", hint="Try another.")
"""


@pytest.fixture
def readers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    (tmp_path / "some_readers.py").write_text(READERS)
    monkeypatch.syspath_prepend(tmp_path)
    return import_module("some_readers")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("crash", "crashes the library that reads .odd files.*Segmentation fault"),
        ("abort", "crashes the library that reads .odd files.*Aborted"),
        ("devour", "needs more memory than there is.*MemoryError"),
        ("leave", "crashes the library"),
        ("stumble", r"t\.odd: cannot be read as odd \(.?no sheet"),
        ("refuse", "It is refused.\nHint: Try another."),
    ],
)
def test_whatever_a_reader_does_is_one_error(
    readers: object, tmp_path: Path, name: str, message: str
) -> None:
    with pytest.raises(dc.errors.MicrodataError, match=message):
        read_apart(getattr(readers, name), tmp_path / "t.odd")


def test_what_was_read_comes_back_as_it_is(readers: object, tmp_path: Path) -> None:
    (tmp_path / "t.odd").write_text("ü\n\x00")
    frame, told = read_apart(readers.chatter, tmp_path / "t.odd")  # type: ignore[attr-defined]
    assert frame.equals(pl.DataFrame({"a": ["01", None]}))
    assert told == {"said": "ü\n\x00"}


SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def write_bomb(path: Path, row: int, column: str) -> None:
    """Write a workbook of two cells, as far apart as a sheet is large."""
    cells = "".join(
        f'<row r="{r}"><c r="{c}{r}" t="str"><v>x</v></c></row>'
        for r, c in ((1, "A"), (row, column))
    )
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" '
        f'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override '
        f'PartName="/xl/workbook.xml" ContentType="{KIND}.sheet.main+xml"/><Override '
        f'PartName="/xl/worksheets/sheet1.xml" ContentType="{KIND}.worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{SHEET}" xmlns:r="{OFFICE}"><sheets>'
        '<sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
        f'<Relationship Id="r1" Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
        "</Relationships>",
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{SHEET}"><sheetData>{cells}</sheetData>'
        "</worksheet>",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, f'<?xml version="1.0"?>{text}')


def test_a_workbook_that_unpacks_to_terabytes_is_one_error(tmp_path: Path) -> None:
    write_bomb(tmp_path / "small.xlsx", 3, "A")
    assert read_table(tmp_path / "small.xlsx").columns == ["x"]
    write_bomb(tmp_path / "bomb.xlsx", 1_048_576, "XFD")
    assert (tmp_path / "bomb.xlsx").stat().st_size < 7000
    done = discreet("inspect", "bomb.xlsx", cwd=tmp_path)
    assert done.returncode == 2
    assert "bomb.xlsx: cannot be read" in done.stderr and "Hint: " in done.stderr
    assert "Traceback" not in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"small.xlsx", "bomb.xlsx"}


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_project_packed_as_no_project_is_packed_is_refused(tmp_path: Path, packing: int) -> None:
    """With these, some kilobytes become gigabytes."""
    with zipfile.ZipFile(tmp_path / "p.deid", "w", packing) as archive:
        for name in ("metadata.xml", "input/definition.xml"):
            archive.writestr(name, "<definition/>")
        archive.writestr("data/input.csv", "a;b\n" + "1;2\n" * 1_000_000)
    assert (tmp_path / "p.deid").stat().st_size < 7000
    done = discreet("inspect", "p.deid", cwd=tmp_path)
    assert done.returncode == 2 and "packed as ARX does not pack" in done.stderr


@pytest.mark.parametrize("kind", ["sav", "dta"])
def test_damaged_statistics_files_are_read_or_refused(tmp_path: Path, kind: str) -> None:
    """About one in a thousand such files crashes the library; none may crash us."""
    whole = tmp_path / f"t.{kind}"
    frame = pl.DataFrame({"sex": [1.0, 2.0] * 9, "name": ["x" * 600, "y"] * 9})
    write = pyreadstat.write_sav if kind == "sav" else pyreadstat.write_dta
    write(frame, whole, variable_value_labels={"sex": {1: "m", 2: "f"}})
    content = whole.read_bytes()
    for seed in range(6):
        rng, bytes_ = random.Random(seed), bytearray(content)
        for _ in range(8):
            bytes_[rng.randrange(len(bytes_))] = rng.choice([0, 127, 128, 255])
        whole.write_bytes(bytes_)
        try:
            assert read_table(whole).width
        except dc.errors.MicrodataError as error:
            assert f"t.{kind}" in error.message
