"""Design: attributes as columns of numbers that a model can be fitted to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from discreet.errors import QueryError
from discreet.forms.incomplete import Incomplete
from discreet.table.arrays import Floats, Ints
from discreet.table.domain import Domain, reduce_column
from discreet.table.schema import Attribute

MOST_COLUMNS = 200
INTERCEPT = "(intercept)"


@dataclass(frozen=True, eq=False)
class DesignBlock:
    """An attribute of all records: numbers, or a flag for each value but the first."""

    terms: list[str]
    numbers: Floats
    """Per code a row, per term a column; of the missing one nothing is known."""
    codes: Ints
    """Per record what it shows, or some value that is possible."""
    of_cells: Ints | None
    """Where it is shown by labels: the code of each of their values."""
    reference: str | None = None

    @property
    def centre(self) -> Floats:
        """The mean of every number; flags are left as they are."""
        return self._moment()[0]

    @property
    def scale(self) -> Floats:
        """The spread of every number."""
        return self._moment()[1]

    def _moment(self) -> tuple[Floats, Floats]:
        if self.reference is not None:
            return np.zeros(len(self.terms)), np.ones(len(self.terms))
        shown = self.numbers[self.codes]
        spread = np.nanstd(shown, axis=0)
        return np.nanmean(shown, axis=0), np.where(spread > 0, spread, 1.0)


def code_regressor(incomplete: Incomplete, attribute: Attribute) -> DesignBlock:
    """Give a number as it is, and of anything else a flag for every value but the first."""
    codes, domain, of_cells = _encode(incomplete, attribute)
    name = attribute.name
    if attribute.type.numeric:
        return DesignBlock([name], _numbers(domain)[:, None], codes, of_cells)
    size = len(domain.values)
    if size - 1 > MOST_COLUMNS:
        raise QueryError(
            f"{name!r} has {size:,} values, each of which would have a coefficient.",
            hint=f"At most {MOST_COLUMNS} can be fitted; leave it out.",
        )
    if size < 2:
        raise QueryError(f"All records have the same {name!r}.", hint="Leave it out.")
    flags = np.full((size + 1, size - 1), np.nan)
    flags[:size] = np.eye(size)[:, 1:]
    terms = [f"{name} = {text}" for text in domain.texts[1:size]]
    return DesignBlock(terms, flags, codes, of_cells, domain.texts[0])


def code_response(
    incomplete: Incomplete, attribute: Attribute, family: str | None
) -> tuple[DesignBlock, str]:
    """Give the response as numbers, or as whether it is the second of two values."""
    codes, domain, of_cells = _encode(incomplete, attribute)
    name, size = attribute.name, len(domain.values)
    if family is None:
        family = "gaussian" if attribute.type.numeric else "binomial"
    if family not in ("gaussian", "binomial"):
        raise QueryError(
            f"family = {family!r}: there is none of this name.",
            hint="Give gaussian (least squares) or binomial (logistic).",
        )
    if family == "gaussian":
        if not attribute.type.numeric:
            raise QueryError(
                f"{name!r} is a {attribute.type}: least squares explain numbers.",
                hint='Give family="binomial" for one of two values.',
            )
        return DesignBlock([name], _numbers(domain)[:, None], codes, of_cells), family
    if size != 2:
        raise QueryError(
            f"{name!r} has {size:,} values: a logistic fit explains one of two.",
            hint="Explain a number, or an attribute with two values.",
        )
    flags = np.array([[0.0], [1.0], [np.nan]])
    return DesignBlock([f"{name} = {domain.texts[1]}"], flags, codes, of_cells), family


def _encode(incomplete: Incomplete, attribute: Attribute) -> tuple[Ints, Domain, Ints | None]:
    cells = incomplete.cells.get(attribute.name)
    column = incomplete.shown[attribute.name] if cells is None else cells.values
    codes, domain = reduce_column(_as_read(column), attribute).encode(None)
    found = codes.astype(np.int64)
    return (found, domain, None) if cells is None else (found[cells.starts], domain, found)


def _as_read(column: pl.Series) -> pl.Series:
    kind = column.dtype
    return column.cast(pl.String) if kind in (pl.Categorical, pl.Enum) else column


def _numbers(domain: Domain) -> Floats:
    units = np.asarray(domain.values, dtype=np.float64) / 10.0**domain.decimals
    return np.append(units, np.nan)
