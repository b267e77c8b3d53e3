"""UCI Adult: 48,842 people from the US census of 1994. CC BY 4.0, see ``data/README.md``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files

import polars as pl

from discreet.table.microdata import Microdata, read
from discreet.table.schema import Missing, Schema
from discreet.table.taxonomy import Taxonomy

DATA = files("discreet.datasets") / "data"
QUASI_IDENTIFIERS = (
    "age",
    "sex",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
)


def adult_frame() -> pl.DataFrame:
    """Give all rows and columns as UCI has them, the training part first; ``?`` is null."""
    with (DATA / "adult.parquet").open("rb") as file:
        return pl.read_parquet(file)


def adult_taxonomies() -> dict[str, Taxonomy]:
    """Give the taxonomies of the eight categorical attributes."""
    folder = DATA / "taxonomies"
    return {
        entry.name.removesuffix(".csv"): Taxonomy.from_paths(
            [line.split(";") for line in entry.read_text(encoding="utf-8").splitlines()],
            source=entry.name,
        )
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
    }


def adult(
    sensitive: str | Sequence[str] = "occupation",
    *,
    quasi_identifiers: Sequence[str] | None = None,
    complete: bool = True,
) -> Microdata:
    """Give Adult as microdata, with taxonomies.

    Rows with a missing value are left out; with ``complete=False`` they stay, and missing is a
    value of its own.

    >>> data = adult(sensitive="occupation")
    >>> data.n, data.domains["occupation"].size
    (45222, 14)
    """
    named = [sensitive] if isinstance(sensitive, str) else list(sensitive)
    if quasi_identifiers is None:
        quasi_identifiers = [name for name in QUASI_IDENTIFIERS if name not in named]
    frame, missing = adult_frame(), Missing.VALUE
    if complete:
        frame, missing = frame.drop_nulls(), Missing.REJECT
    schema = Schema.infer(frame, quasi_identifiers=quasi_identifiers, sensitive=named)
    trees = adult_taxonomies()
    told = (replace(a, taxonomy=trees.get(a.name), missing=missing) for a in schema)
    return read(frame, schema.changed(*told))
