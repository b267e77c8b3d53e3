"""Labelled files: tables for SPSS and Stata, whose variables have short names and long labels.

A column whose name they do not take gets another; its label, and the table ``about``, keep the true
one. Ordinals become numbers in their order, and labels of these: as texts they would lose it.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from discreet.errors import StoreError
from discreet.release.about import Row
from discreet.release.workbooks import refuse_changed
from discreet.table.schema import Attribute, Type

LONGEST_MEANING = 120
"""Bytes of the label of a value that SPSS keeps; Stata keeps more."""
CODED = "Numbers from low to high, labelled with the values they stand for."


@dataclass(frozen=True)
class LabelledKind:
    """A format, and what it takes."""

    program: str
    taken: re.Pattern[str]
    """Words that are no names."""
    longest_name: int
    longest_label: int
    longest_text: int
    in_bytes: bool
    """Whether names and labels are measured in bytes, else in characters."""

    def measure(self, text: str) -> int:
        """Say how long a name or label is."""
        return len(text.encode()) if self.in_bytes else len(text)

    def takes(self, name: str) -> bool:
        """Whether a column can be called so."""
        plain = re.fullmatch(r"[^\W\d_]\w*", name) is not None
        return plain and self.measure(name) <= self.longest_name and not self.taken.fullmatch(name)

    def wrap(self, rows: Iterable[Row]) -> list[Row]:
        """Say what is too long for a cell in several rows."""
        width = self.longest_text // 4  # bytes of the longest characters
        return [
            (topic, name, part)
            for topic, name, says in rows
            for part in (textwrap.wrap(says, width) if len(says) > width else [says])
        ]


LABELLED = {
    ".sav": LabelledKind(
        "SPSS",
        re.compile(r"(?i:all|and|by|eq|ge|gt|le|lt|ne|not|or|to|with)"),
        longest_name=64, longest_label=255, longest_text=32_767, in_bytes=True,
    ),
    ".dta": LabelledKind(
        "Stata",
        re.compile(r"byte|double|float|if|in|int|long|using|with|str\d+|strL"),
        longest_name=32, longest_label=80, longest_text=2_044, in_bytes=False,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class LabelledTable:
    """A table as it is written: its columns under names that fit, and what they are."""

    kind: LabelledKind
    title: str
    frame: pl.DataFrame
    labels: dict[str, str]
    meanings: dict[str, dict[int, str]]
    """Per column of codes what each stands for."""
    ordinals: list[str]
    remarks: list[Row] = field(default_factory=list)
    """What is to be said of names and codes."""

    @staticmethod
    def make(
        kind: LabelledKind,
        title: str,
        table: pl.DataFrame,
        about: Mapping[str, str],
        attributes: Iterable[Attribute],
    ) -> LabelledTable:
        """Name and label the columns of a table; refuse what the format cannot hold."""
        names = choose_names(table.columns, kind)
        remarks: list[Row] = [
            ("renamed", f"{title}.{new}", f"{kind.program} does not take the name: {name}")
            for name, new in names.items()
            if new != name
        ]
        orders = {a.name: a.order for a in attributes if a.type is Type.ORDINAL}
        made = LabelledTable(kind, title, table.rename(names), {}, {}, [], remarks)
        for column in table:
            name, order = names[column.name], orders.get(column.name, ())
            _refuse_long(kind, title, column)
            told = about.get(column.name)
            label = _write_label(kind, column.name, told, renamed=name != column.name)
            if label is not None:
                made.labels[name] = label
            if column.dtype == pl.Boolean:
                made.meanings[name] = {0: "false", 1: "true"}
            elif _can_be_coded(column, order):
                made.meanings[name] = dict(enumerate(order, start=1))
                made.ordinals.append(name)
                remarks.append(("coded", f"{title}.{name}", CODED))
        return made

    def encode(self) -> pl.DataFrame:
        """Give the cells as they are written: numbers where these have labels."""
        codes = []
        for name, meanings in self.meanings.items():
            texts = pl.col(name).cast(pl.String)
            codes.append(texts.replace_strict(list(meanings.values()), list(meanings),
                                              return_dtype=pl.Int64))  # fmt: skip
        return self.frame.with_columns(codes)


def choose_names(columns: list[str], kind: LabelledKind) -> dict[str, str]:
    """Give every column a name that the format takes: its own, or one like it.

    >>> choose_names(["capital-loss", "capital_loss", "2nd", "with"], LABELLED[".dta"]).values()
    dict_values(['capital_loss_2', 'capital_loss', 'v2nd', 'with_'])
    """
    chosen: dict[str, str] = {}
    used: set[str] = set()
    for name in columns:
        if kind.takes(name) and name.casefold() not in used:
            chosen[name] = name
            used.add(name.casefold())
    for name in columns:
        if name in chosen:
            continue
        plain = re.sub(r"\W", "_", name)
        plain = plain if re.match(r"[^\W\d_]", plain) else f"v{plain}"
        plain = f"{plain}_" if kind.taken.fullmatch(plain) else plain
        number, fitting = 1, _cut(plain, "", kind)
        while fitting.casefold() in used:
            number += 1
            fitting = _cut(plain, f"_{number}", kind)
        used.add(fitting.casefold())
        chosen[name] = fitting
    return {name: chosen[name] for name in columns}


def _cut(name: str, ending: str, kind: LabelledKind) -> str:
    while kind.measure(name + ending) > kind.longest_name:
        name = name[:-1]
    return name + ending


def _write_label(kind: LabelledKind, name: str, about: str | None, *, renamed: bool) -> str | None:
    """Say what a column is, as far as there is room; a name that was not taken comes first."""
    if about is not None:
        full = about if about.startswith(f"{name}:") else f"{name}; {about}"
        if kind.measure(full) <= kind.longest_label:
            return full
    return name if renamed and kind.measure(name) <= kind.longest_label else None


def _can_be_coded(column: pl.Series, order: tuple[str, ...]) -> bool:
    """Whether cells are values of an ordinal, which are not too long for labels."""
    short = all(len(text.encode()) <= LONGEST_MEANING for text in order)
    return bool(order) and short and set(column.drop_nulls().unique()) <= set(order)


def _refuse_long(kind: LabelledKind, title: str, column: pl.Series) -> None:
    if column.dtype != pl.String:
        return
    longest: Any = column.str.len_bytes().max()
    if (longest or 0) > kind.longest_text:
        raise StoreError(
            f"{title}: a text in {column.name!r} has {longest:,} bytes, and {kind.program} takes "
            f"at most {kind.longest_text:,}.",
            hint="Export it to .xlsx, or use: discreet install.",
        )


def write_labelled(path: Path, table: LabelledTable) -> None:
    """Write a file of SPSS or Stata, and read it back."""
    try:
        import pyreadstat
    except ModuleNotFoundError as error:
        raise StoreError(
            "Writing files of SPSS and Stata needs pyreadstat.",
            hint="pip install 'discreet[stats]'",
        ) from error
    frame = table.encode()
    told: dict[str, Any] = {
        "column_labels": table.labels, "variable_value_labels": table.meanings,
    }  # fmt: skip
    try:
        if path.suffix.lower() == ".sav":
            measures = {name: "scale" if kind.is_numeric() else "nominal"
                        for name, kind in frame.schema.items()}  # fmt: skip
            told["variable_measure"] = measures | dict.fromkeys(table.ordinals, "ordinal")
            told["variable_format"] = {name: "F12.0" for name, kind in frame.schema.items()
                                       if kind.is_integer()}  # fmt: skip
            pyreadstat.write_sav(frame, path, row_compress=True, **told)
            read, found = pyreadstat.read_sav(path, output_format="polars")
        else:
            pyreadstat.write_dta(frame, path, **told)
            read, found = pyreadstat.read_dta(path, output_format="polars")
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as error:
        raise StoreError(
            f"{table.title}: {table.kind.program} cannot hold it ({error}).",
            hint="Give the CSV or Parquet files of the release, or use: discreet install.",
        ) from error
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    read = read.with_columns(pl.col(texts).replace("", None))  # there is no other missing text
    refuse_changed(table.title, read, frame)
    kept = [found.variable_value_labels.get(name, {}) for name in table.meanings]
    if found.column_names_to_labels != {n: table.labels.get(n) for n in frame.columns} or kept != [
        *table.meanings.values()
    ]:
        raise StoreError(f"{table.title}: {table.kind.program} does not keep its labels.")
