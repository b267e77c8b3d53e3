"""Formulas: what a spreadsheet would take for one stands in CSV files so that it does not.

Texts that begin with certain signs have an apostrophe in front there, as OWASP says of CSV
injection. So have texts that begin with apostrophes and then such a sign: with that, it can be told
which apostrophe is part of a value, and whoever reads a release takes one away. Verifier, audit and
answers know nothing of it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, get_args

import polars as pl
import polars.selectors as cs

SIGNS = "=+\\-@\t\r\n＝＋－＠"
FORMULA, ESCAPED = f"^('*[{SIGNS}])", f"^'('*[{SIGNS}])"
Escape = Literal[
    "' before texts that begin, or begin after other ', with one of = + - @ ＝ ＋ － ＠ \\t \\r \\n"
]
"""How a manifest says it; one that says something else is not read."""
(ESCAPE,) = get_args(Escape)


def escape_text(text: str) -> str:
    """Write a text so that it is none.

    >>> [escape_text(text) for text in ("=1+1", "'=1+1", "1 = 1", "'s Gravenhage")]
    ["'=1+1", "''=1+1", '1 = 1', "'s Gravenhage"]
    """
    return re.sub(FORMULA, r"'\1", text)


def restore_text(text: str) -> str:
    """Read a text that was written so.

    >>> [restore_text(text) for text in ("'=1+1", "''=1+1", "1 = 1", "'s Gravenhage")]
    ['=1+1', "'=1+1", '1 = 1', "'s Gravenhage"]
    """
    return re.sub(ESCAPED, r"\1", text)


def write_csv(table: pl.DataFrame, path: Path) -> None:
    """Write a table as CSV, its texts and the names of its columns so that none is a formula."""
    escaped = table.with_columns(cs.string().str.replace(FORMULA, "'${1}"))
    escaped.rename(escape_text).write_csv(path)


def restore_table(table: pl.DataFrame) -> pl.DataFrame:
    """Give a table of texts that was written so as it was."""
    return table.with_columns(cs.string().str.replace(ESCAPED, "${1}")).rename(restore_text)
