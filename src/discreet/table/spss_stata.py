"""Labelled files: SPSS, Stata and SAS tables, their codes replaced by what they stand for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import polars as pl

from discreet.errors import MicrodataError
from discreet.table.taxonomy import canonical_text
from discreet.table.text_files import AS_FOUND, FileFormat

LABELLED = (".sav", ".zsav", ".dta", ".sas7bdat", ".xpt")


class Described(NamedTuple):
    """A table, and what its file says about columns besides their cells."""

    frame: pl.DataFrame
    labels: Mapping[str, str] = MappingProxyType({})
    """What a column is, in the words of the file."""
    orders: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """The values of columns that the file calls ordinal, from low to high."""
    format: FileFormat = AS_FOUND
    """How a file of text is written, as was found."""


def read_labelled(path: Path) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Read an SPSS, Stata or SAS file: its table, labels and orders.

    User-defined missing values become empty cells.
    """
    try:
        import pyreadstat
    except ModuleNotFoundError as error:
        raise MicrodataError(
            f"{path.name}: reading SPSS, Stata and SAS files needs pyreadstat.",
            hint="pip install 'discreet[stats]'",
        ) from error
    readers: dict[str, Any] = {".dta": pyreadstat.read_dta, ".sas7bdat": pyreadstat.read_sas7bdat,
               ".xpt": pyreadstat.read_xport}  # fmt: skip
    reader = readers.get(path.suffix.lower(), pyreadstat.read_sav)
    frame, told = reader(path, output_format="polars")
    changed, orders = [], {}
    for column in frame:
        meanings: dict[Any, str] = told.variable_value_labels.get(column.name, {})
        codes = column.drop_nulls().unique().sort().to_list() if meanings else []
        if any(code in meanings for code in codes):
            texts = _name_codes(codes, meanings)
            changed.append(column.replace_strict(codes, texts, return_dtype=pl.String))
            if told.variable_measure[column.name] == "ordinal":
                orders[column.name] = tuple(texts)
        elif column.dtype.is_float() and _is_whole(column):
            changed.append(column.cast(pl.Int64))
    labels = {
        name: "".join(c for c in " ".join(label.split()) if c.isprintable())
        for name, label in told.column_names_to_labels.items()
        if label and label.strip()
    }
    return frame.with_columns(changed), {"labels": labels, "orders": orders}


def _is_whole(numbers: pl.Series) -> bool:
    """Whether floats, as which these files keep all numbers, are whole and exact."""
    return bool(((numbers == numbers.round()) & (numbers.abs() < 2**53)).all())


def _name_codes(codes: list[float | str], meanings: Mapping[Any, str]) -> list[str]:
    """Name every code by its label, or by itself; codes of one label keep their code beside it.

    >>> _name_codes([1.0, 2.0, 3.0, 4.5], {1: "yes", 2: "other", 3: "other"})
    ['yes', 'other (2)', 'other (3)', '4.5']
    """
    texts = [meanings.get(code, "").strip() or _write(code) for code in codes]
    while True:
        counted = Counter(map(canonical_text, texts))
        if len(counted) == len(texts):
            return texts
        texts = [
            f"{text} ({_write(code)})" if counted[canonical_text(text)] > 1 else text
            for code, text in zip(codes, texts, strict=True)
        ]


def _write(code: float | str) -> str:
    whole = isinstance(code, float) and code.is_integer()
    return str(int(code)) if whole else str(code)
