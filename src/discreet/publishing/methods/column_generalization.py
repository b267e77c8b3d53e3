"""Column generalization: how the attributes of each column of a sliced table are shown.

Li, Li, Zhang, Molloy, TKDE 2012, section 4.2: a column value that only one person has can only be
in one bucket. With a minimum frequency, Mondrian parts the values of every column by themselves
into regions that at least so many people are in, and the column shows regions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from discreet.errors import PromiseError
from discreet.principles import KAnonymity
from discreet.publishing.methods.boxes import blur
from discreet.publishing.partitioners.mondrian import mondrian
from discreet.release import Recoding
from discreet.release.labels import rank_cells
from discreet.table.coded_table import CodedTable
from discreet.table.domain import Domain
from discreet.table.microdata import Microdata, representatives
from discreet.table.schema import Attribute, Role, Type


@dataclass(frozen=True, eq=False)
class ShownColumns:
    """What a table shows of everyone."""

    cells: list[pl.DataFrame]
    """Per column one row per person."""
    recodings: dict[str, Recoding]
    people: Microdata
    """The same people, with the labels of regions for values."""


def recode_columns(data: CodedTable, columns: Sequence[Sequence[str]]) -> dict[str, Recoding]:
    """Say how columns are read that show values as they are."""
    return {
        name: Recoding("sliced", missing=data.domains[name].missing)
        for column in columns
        for name in column
    }


def show_columns(data: Microdata, columns: Sequence[Sequence[str]], frequency: int) -> ShownColumns:
    """Show the values of every column, or regions of them that are frequent enough."""
    recodings = recode_columns(data, columns)
    domains, codes, cells = dict(data.domains), dict(data.codes), []
    for column in columns:
        frame = pl.DataFrame({n: data.domains[n].series().gather(data.codes[n]) for n in column})
        known = [name for name in column if name in data.quasi_identifiers]
        if frequency > 1 and known:
            if data.n < frequency:
                raise PromiseError(
                    f"frequency = {frequency}: there are only {data.n} people.",
                    hint=f"Give at most {data.n}.",
                )
            regions = mondrian(data, KAnonymity(frequency), known)
            boxes, blurred = blur(data, regions, known, "set")
            frame = pl.concat([boxes[regions.labels], frame.drop(known)], how="horizontal")
            recodings |= blurred
            for name in known:
                attribute = Attribute(name, Role.QUASI_IDENTIFIER, Type.CATEGORY)
                rank = rank_cells(boxes, name, blurred[name])
                labels = boxes[name].cast(pl.String).to_numpy()[representatives(rank)]
                domains[name] = Domain(attribute, labels)
                codes[name] = rank[regions.labels].astype(np.int32)
        cells.append(frame)
    return ShownColumns(cells, recodings, replace(data, domains=domains, codes=codes))
