"""Projects of ARX: the table, the roles and the hierarchies that a ``.deid`` file holds.

Only its CSV and XML parts are opened; its serialized Java objects never are.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from discreet.errors import MicrodataError
from discreet.table.isolation import read_apart
from discreet.table.readers import refuse_missing
from discreet.table.schema import Role
from discreet.table.text_files import find_separator, refuse_header

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

PROJECT = ".deid"
LARGEST = 2**30
"""Bytes that the parts of a project may have, unpacked and together."""
ROLES = {
    "IDENTIFYING_ATTRIBUTE": Role.IDENTIFIER,
    "QUASI_IDENTIFYING_ATTRIBUTE": Role.QUASI_IDENTIFIER,
    "SENSITIVE_ATTRIBUTE": Role.SENSITIVE,
    "INSENSITIVE_ATTRIBUTE": Role.OTHER,
}
ESCAPING = re.compile(r"^[/\\]|^[A-Za-z]:[/\\]|(^|[/\\])\.\.([/\\]|$)")
SAVE_AGAIN = "Open the project in ARX and save it again."


@dataclass(frozen=True)
class Project:
    """What a project of ARX says about a table."""

    frame: pl.DataFrame
    roles: dict[str, Role]
    hierarchies: dict[str, list[list[str]]]
    """One path per value, leaf first, of attributes that have more than one level."""


def read_project(path: Path) -> Project:
    """Read the table of a project, the role of every column, and the hierarchies."""
    refuse_missing(path)
    frame, told = read_apart(unpack, path)
    roles = {name: Role(role) for name, role in told["roles"].items()}
    return Project(frame, roles, told["hierarchies"])


def unpack(path: Path) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Read what a project holds: its table, and in plain values roles and hierarchies."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _understand(archive, path.name)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise MicrodataError(
            f"{path.name}: cannot be read as an ARX project ({error}).",
            hint="Check that the file is complete and not encrypted.",
        ) from error


def _understand(archive: zipfile.ZipFile, source: str) -> tuple[pl.DataFrame, dict[str, Any]]:
    parts = _Parts(archive, source)
    if not parts.has("metadata.xml") or not parts.has("input/definition.xml"):
        missing = "metadata.xml or input/definition.xml is missing"
        raise _broken(source, f"not a project of ARX: {missing}")
    separator = ""
    if parts.has("project.xml"):
        separator = parts.read_xml("project.xml").findtext("separator") or ""
    frame = _make_frame(parts.read_rows("data/input.csv", separator), source)
    roles, refs = _read_definition(parts.read_xml("input/definition.xml"), source)
    hierarchies = {}
    for name in frame.columns:
        part = f"input/{refs.get(name) or f'hierarchies/{name}.csv'}"
        rows = parts.read_rows(part, separator) if parts.has(part) else []
        if rows and len(rows[0]) > 1:  # ARX writes down values alone where nobody made any levels
            hierarchies[name] = rows
    # a column without a type is identifying, as in ARX
    every = {name: str(roles.get(name, Role.IDENTIFIER)) for name in frame.columns}
    return frame, {"roles": every, "hierarchies": hierarchies}


@dataclass
class _Parts:
    """The files inside a project, each checked before it is opened."""

    archive: zipfile.ZipFile
    source: str
    opened: int = 0

    def __post_init__(self) -> None:
        escaping = [name for name in self.archive.namelist() if ESCAPING.search(name)]
        if escaping:
            raise MicrodataError(
                f"{self.source}: its part {escaping[0]!r} would lie outside of the project.",
                hint="Do not use this file; " + SAVE_AGAIN[0].lower() + SAVE_AGAIN[1:],
            )

    def has(self, part: str) -> bool:
        return part in self.archive.NameToInfo

    def read(self, part: str) -> bytes:
        if not self.has(part):
            raise _broken(self.source, f"{part} is missing")
        info = self.archive.getinfo(part)
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise _broken(self.source, f"{part} is packed as ARX does not pack")
        self.opened += info.file_size
        if self.opened > LARGEST:
            raise MicrodataError(
                f"{self.source}: unpacked it has more than {LARGEST:,} bytes.",
                hint="Export the table from ARX as CSV and inspect that.",
            )
        with self.archive.open(info) as file:  # unpacks no more than asked, whatever it holds
            return file.read(info.file_size + 1)

    def read_xml(self, part: str) -> Element:
        from xml.etree import ElementTree

        class Builder(ElementTree.TreeBuilder):
            def doctype(self, *_: object) -> None:
                raise ElementTree.ParseError("it declares a DOCTYPE, which ARX does not")

        parser = ElementTree.XMLParser(target=Builder())
        try:
            parser.feed(self.read(part))
            root: Element = parser.close()
        except (ElementTree.ParseError, LookupError, ValueError) as error:
            raise _broken(self.source, f"{part} cannot be read ({error})") from error
        return root

    def read_rows(self, part: str, separator: str) -> list[list[str]]:
        try:
            text = self.read(part).decode("utf-8-sig")
            separator = separator if len(separator) == 1 else find_separator(text)
            reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
            rows = [[cell.strip() for cell in row] for row in reader if row]
        except (UnicodeDecodeError, csv.Error) as error:
            raise _broken(self.source, f"{part} cannot be read ({error})") from error
        for number, row in enumerate(rows, start=1):
            if len(row) != len(rows[0]):
                found = f"row {number} has {len(row)} cells, the first has {len(rows[0])}"
                raise _broken(self.source, f"{part}: {found}")
        return rows


def _broken(source: str, what: str) -> MicrodataError:
    return MicrodataError(f"{source}: {what}.", hint=SAVE_AGAIN)


def _make_frame(rows: list[list[str]], source: str) -> pl.DataFrame:
    if len(rows) < 2:
        raise MicrodataError(f"{source}: its table has no rows.", hint="Import data in ARX first.")
    refuse_header(rows[0], source)
    columns = zip(rows[0], zip(*rows[1:], strict=True), strict=True)
    return pl.DataFrame(
        {name: pl.Series([cell or None for cell in cells], dtype=pl.String)
         for name, cells in columns}
    )  # fmt: skip


def _read_definition(root: Element, source: str) -> tuple[dict[str, Role], dict[str, str]]:
    """Give the role of every attribute, and where the hierarchies lie."""
    roles, refs = {}, {}
    for assigned in root.iter("assigment"):  # as ARX spells it
        name = (assigned.findtext("name") or "").strip()
        kind = (assigned.findtext("type") or "").strip()
        if kind not in ROLES:
            what = f"attribute {name!r} is of type {kind!r}, which ARX does not have"
            raise _broken(source, what)
        roles[name] = ROLES[kind]
        refs[name] = (assigned.findtext("ref") or "").strip()
    return roles, refs
