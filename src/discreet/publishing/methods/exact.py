"""Exact: what methods share that publish quasi-identifiers as they are."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import SchemaError
from discreet.principles.base import Principle, demands
from discreet.principles.spread import KE
from discreet.publishing.partitioners.histograms import require_names
from discreet.release import Recoding, Transformation
from discreet.table.microdata import Microdata
from discreet.table.schema import Type


def require_ke(method: str, principle: Principle) -> KE:
    """Refuse principles that a method of exact quasi-identifiers and numbers does not promise."""
    if not isinstance(principle, KE):
        raise SchemaError(
            f"{method} promises (k,e), not {principle}.",
            hint="Give KE(k, e), or use generalization for other principles.",
        )
    return principle


def find_number(data: Microdata, method: str, principle: Principle) -> str:
    """Give the one sensitive number of a table, or refuse the table."""
    names = data.sensitive
    if len(names) != 1 or data.schema[names[0]].type not in (Type.INTEGER, Type.DECIMAL):
        raise SchemaError(
            f"{method} needs exactly one sensitive attribute, and a number: "
            f"{', '.join(map(repr, names)) or 'none'} given.",
            hint='Set role = "sensitive" for one integer or decimal column, "other" for the rest.',
        )
    list(demands(principle, names))  # refuses to be about another attribute
    require_names(data.quasi_identifiers)
    return names[0]


def take_exactly(
    data: Microdata, names: Iterable[str]
) -> tuple[dict[str, pl.Series], dict[str, Recoding]]:
    """Give some columns as they are, and how to read them."""
    columns, recodings = {}, {}
    for name in names:
        domain = data.domains[name]
        columns[name] = domain.series().gather(data.codes[name])
        recodings[name] = Recoding(Transformation.EXACT, missing=domain.missing)
    return columns, recodings


def refuse_names(columns: Iterable[str], *ours: str) -> None:
    """Refuse published columns whose names a release needs for itself."""
    for column in columns:
        if column.casefold() in ours:
            raise SchemaError(
                f"Column {column!r} has a name that the release needs for itself.",
                hint="Rename the column.",
            )


def lay_out(
    data: Microdata, name: str, shown: NDArray[np.int32], lead: dict[str, NDArray[np.int32]]
) -> tuple[pl.DataFrame, dict[str, Recoding]]:
    """Write everyone's record: ``lead``, exact columns, and the codes ``shown`` for one attribute.

    Rows are in the order of what they show, so that nothing of the input's order is left.
    """
    others = [a.name for a in data.schema.published if a.name != name]
    refuse_names([*others, name], *lead)
    keys = [shown, *(data.codes[other] for other in reversed(others)), *reversed(lead.values())]
    columns, recodings = take_exactly(data, others)
    columns[name] = data.domains[name].series().gather(shown)
    recodings[name] = Recoding("permuted")
    return pl.DataFrame({**lead, **columns})[np.lexsort(keys)], recodings
