"""Exact: what methods share that publish quasi-identifiers as they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from math import ceil
from operator import and_

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import SchemaError
from discreet.principles import KAnonymity
from discreet.principles.base import Principle, demands
from discreet.principles.spread import KE
from discreet.publishing.partitioners.histograms import require_names
from discreet.release import Recoding, Transformation
from discreet.table.coded_table import CodedTable
from discreet.table.microdata import Microdata
from discreet.table.schema import Type


def part_alike(principle: Principle) -> tuple[int, Principle | None]:
    """Part a promise into how many people look alike, and everything else."""
    alike = [part.k for part in principle.parts if isinstance(part, KAnonymity)]
    others = tuple(part for part in principle.parts if not isinstance(part, KAnonymity))
    return max(alike, default=0), reduce(and_, others) if others else None


def find_nearest_ke(principle: Principle) -> Principle:
    """Give the (k,e) nearest to a promise: as many different numbers as it asks for values."""
    if any(isinstance(part, KE) for part in principle.parts):
        return reduce(and_, (part for part in principle.parts if isinstance(part, KE)))
    wanted = [ceil(part.l) for part in principle.parts if hasattr(part, "l")]
    return KE(max(wanted), 0) if wanted else principle


def require_ke(method: str, principle: Principle) -> None:
    """Refuse principles that a method of exact quasi-identifiers and numbers does not promise."""
    if not all(isinstance(part, KE) for part in principle.parts):
        raise SchemaError(
            f"{method} promises (k,e), not {principle}.",
            hint="Give KE(k, e), or use generalization for other principles.",
        )


def find_numbers(data: CodedTable, method: str, principle: Principle) -> dict[str, Principle]:
    """Give the sensitive numbers with the one thing that is promised of each."""
    found = list_promised(data, method, principle)
    for name, parts in found.items():
        if len(parts) != 1:
            raise SchemaError(
                f"{method} promises one thing of each sensitive number, not {len(parts)} of "
                f"{name!r}.",
                hint="Give one principle for all, or one for each by its parameter on.",
            )
    return {name: parts[0] for name, parts in found.items()}


def list_promised(
    data: CodedTable, method: str, principle: Principle
) -> dict[str, list[Principle]]:
    """Give the sensitive numbers of a table with all that is promised of each.

    Refuses tables that a method has no place for which shows quasi-identifiers exactly, and numbers
    otherwise.
    """
    names = data.sensitive
    for name in names:
        if data.schema[name].type not in (Type.INTEGER, Type.DECIMAL):
            raise SchemaError(
                f"{method} takes sensitive numbers: {name!r} is a {data.schema[name].type}.",
                hint='Set role = "sensitive" for integer or decimal columns, "other" for the rest.',
            )
    if not names:
        raise SchemaError(
            f"{method} needs a sensitive number.",
            hint='Set role = "sensitive" for an integer or decimal column.',
        )
    wanted = list(demands(principle, names))  # refuses to be about another attribute
    require_names(data.quasi_identifiers)
    return {name: [part for part, about in wanted if about == name] for name in names}


def take_exactly(
    data: Microdata, names: Sequence[str]
) -> tuple[dict[str, pl.Series], dict[str, Recoding]]:
    """Give some columns as they are, and how to read them."""
    columns = {name: data.domains[name].series().gather(data.codes[name]) for name in names}
    return columns, recode_exactly(data, names)


def recode_exactly(data: CodedTable, names: Iterable[str]) -> dict[str, Recoding]:
    """Say of some columns that they are shown as they are."""
    return {
        name: Recoding(Transformation.EXACT, missing=data.domains[name].missing) for name in names
    }


def lay_out(
    data: Microdata,
    shown: dict[str, NDArray[np.int32]],
    lead: dict[str, NDArray[np.int32]],
) -> tuple[pl.DataFrame, dict[str, Recoding]]:
    """Write everyone's record: ``lead``, exact columns, and the codes ``shown`` for some.

    Rows are in the order of what they show, so that nothing of the input's order is left.
    """
    others = [a.name for a in data.schema.published if a.name not in shown]
    keys = [*lead.values(), *(data.codes[other] for other in others), *shown.values()]
    columns, recodings = take_exactly(data, others)
    for name, codes in shown.items():
        columns[name] = data.domains[name].series().gather(codes)
        recodings[name] = Recoding("permuted")
    return pl.DataFrame({**lead, **columns})[np.lexsort(keys[::-1])], recodings
