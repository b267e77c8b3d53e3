"""Selection: the values of one attribute that a question takes, whoever asks and however.

From conditions in SQL or from codes of a workload, it is the same: runs of an ordered attribute,
or a set of others, and whether a missing value is taken. Labels say what share of theirs it takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from discreet.table.arrays import Bools, Ints
from discreet.table.coarsening import Coarsening
from discreet.table.domain import MISSING, Domain, reduce_column
from discreet.table.schema import Attribute, Type


@dataclass(frozen=True, eq=False)
class Selection:
    """What is taken of an attribute.

    >>> from discreet.table.schema import Role
    >>> age = Attribute("age", Role.QUASI_IDENTIFIER, Type.INTEGER)
    >>> some = Selection(age, np.array([20, 40]), np.array([29, 40]), frozenset(), missing=False)
    >>> some.count_upto(np.array([19, 24, 35, 90])).tolist(), some.holds(["41", "40"]).tolist()
    ([0, 5, 10, 11], [False, True])
    """

    attribute: Attribute
    starts: Ints
    ends: Ints
    """Of an ordered attribute the runs that are taken, ascending, as numbers; ends included."""
    texts: frozenset[str]
    """Of another its values."""
    missing: bool

    @staticmethod
    def list_from_codes(domain: Domain, takes: Bools) -> list[Selection]:
        """Read a row of flags over a domain's codes per question.

        Of an ordered attribute, codes in a row are a run: values between them that nobody has are
        taken as well, as nobody who reads a release can tell them.
        """
        present, attribute = takes[:, : len(domain.values)], domain.attribute
        missing = takes[:, -1] if domain.missing else np.zeros(len(takes), dtype=bool)
        none, listed = np.zeros(0, dtype=np.int64), frozenset[str]()
        if not attribute.type.ordered:
            names = np.array(domain.texts[: len(domain.values)], dtype=object)
            sets = [frozenset(names[row].tolist()) for row in present]
            return [Selection(attribute, none, none, texts, bool(gone))
                    for texts, gone in zip(sets, missing, strict=True)]  # fmt: skip
        at = find_positions(domain.series().head(len(domain.values)), attribute)
        edge = np.diff(np.pad(present.astype(np.int8), ((0, 0), (1, 1))), axis=1)
        coarse = Coarsening.of(attribute)
        first, last = at, at
        if coarse is not None and coarse.aggregate is None:  # all that is shown as they are
            first, last = coarse.least(at), coarse.most(at)
        return [
            Selection(attribute, first[step[:-1] > 0], last[step[1:] < 0], listed, bool(gone))
            for step, gone in zip(edge, missing, strict=True)
        ]

    @cached_property
    def _before(self) -> Ints:
        """How many values the runs before each have."""
        return np.concatenate([[0], np.cumsum(self.ends - self.starts + 1)]).astype(np.int64)

    def count_upto(self, positions: Ints) -> Ints:
        """Count the values that are taken up to and with each of some numbers."""
        run = np.searchsorted(self.starts, positions, side="right") - 1
        if not len(self.starts):
            return np.zeros(len(positions), dtype=np.int64)
        inside = np.minimum(positions, self.ends[run]) - self.starts[run] + 1
        return np.where(run < 0, 0, self._before[run] + inside)

    def takes(self, positions: Ints) -> Bools:
        """Say which of some numbers are taken."""
        return self.count_upto(positions) > self.count_upto(positions - 1)

    def holds(self, texts: list[str]) -> Bools:
        """Say which of some values are taken."""
        if not self.attribute.type.ordered:
            return np.array([self.missing if text == MISSING else text in self.texts
                             for text in texts], dtype=bool)  # fmt: skip
        cells = pl.Series([None if text == MISSING else text for text in texts], dtype=pl.String)
        absent = cells.is_null().to_numpy()
        here = self.takes(find_positions(cells, self.attribute))
        return np.where(absent, self.missing, here)


def find_positions(cells: pl.Series, attribute: Attribute) -> Ints:
    """Give values as exact numbers that can be compared: units, days or ranks."""
    column = reduce_column(cells, attribute)
    values = column.canonical[column.inverse]
    if attribute.type is Type.ORDINAL:
        rank = {text: i for i, text in enumerate(attribute.order)}
        return np.array([rank.get(text, -1) for text in values], dtype=np.int64)
    return np.asarray(values, dtype=np.int64)
