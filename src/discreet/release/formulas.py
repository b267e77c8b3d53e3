"""Formulas: what a spreadsheet would take for one stands in CSV files so that it does not.

Texts that begin with certain signs and are no numbers have an apostrophe in front there, as OWASP
says of CSV injection. So have texts that begin with apostrophes and then like this: with that, it
can be told which apostrophe is part of a value, and whoever reads a release takes one away.
Verifier, audit and answers know nothing of it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, get_args

import polars as pl
import polars.selectors as cs

from discreet.errors import DAMAGED, StoreError

SIGNS = "=+\\-@\t\r\n＝＋－＠"
FORMULA, NUMBER = f"'*[{SIGNS}]", r"'*-[0-9]+(?:\.[0-9]+)?"
Escape = Literal[
    "' before texts that, after any ', begin with one of = + - @ ＝ ＋ － ＠ \\t \\r \\n, no number"
]
"""How a manifest says it; one that says something else is not read."""
(ESCAPE,) = get_args(Escape)
TEXTS = cs.string() | cs.categorical() | cs.enum()


def escape_text(text: str) -> str:
    """Write a text so that it is none.

    >>> [escape_text(text) for text in ("=1+1", "'=1+1", "1 = 1", "'s Gravenhage", "-1")]
    ["'=1+1", "''=1+1", '1 = 1', "'s Gravenhage", '-1']
    """
    return f"'{text}" if _is_formula(text) else text


def restore_text(text: str) -> str:
    """Read a text that was written so; one that was not is refused.

    >>> [restore_text(text) for text in ("'=1+1", "''=1+1", "1 = 1", "'s Gravenhage", "-1")]
    ['=1+1', "'=1+1", '1 = 1', "'s Gravenhage", '-1']
    """
    if not _is_formula(text):
        return text
    if not text.startswith("'"):
        raise _refuse(text)
    return text.removeprefix("'")


def _is_formula(text: str) -> bool:
    """Whether a text would be one, but for apostrophes in front of it."""
    return bool(re.match(FORMULA, text)) and not re.fullmatch(NUMBER, text)


def _are_formulas(texts: pl.Expr) -> pl.Expr:
    """Say the same of many texts."""
    return texts.str.contains(f"^{FORMULA}") & ~texts.str.contains(f"^{NUMBER}$")


def write_csv(table: pl.DataFrame, path: Path) -> None:
    """Write a table as CSV, its texts and the names of its columns so that none is a formula."""
    escape_table(table).write_csv(path)


def escape_table(table: pl.DataFrame) -> pl.DataFrame:
    """Give a table as it is written."""
    texts = TEXTS.as_expr().cast(pl.String)
    escaped = pl.when(_are_formulas(texts)).then("'" + texts).otherwise(texts)
    return table.with_columns(escaped.name.keep()).rename(escape_text)


def _refuse(text: str) -> StoreError:
    """A cell that could stand for the same in two ways would tell one of people who look alike."""
    return StoreError(f"{text[:40]!r} stands where formulas have an apostrophe.", hint=DAMAGED)


def restore_table(table: pl.DataFrame) -> pl.DataFrame:
    """Give a table of texts that was written so as it was; one that was not is refused."""
    texts = cs.string().as_expr()
    for column in table.select(cs.string()):
        bare = column.to_frame().filter(_are_formulas(texts) & ~texts.str.starts_with("'"))
        if bare.height:
            raise _refuse(bare.item(0, 0))
    restored = pl.when(_are_formulas(texts)).then(texts.str.strip_prefix("'")).otherwise(texts)
    return table.with_columns(restored.name.keep()).rename(restore_text)
