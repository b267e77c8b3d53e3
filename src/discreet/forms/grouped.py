"""Grouped: forms whose records are a place in a box, and a value of a group, class or batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import polars as pl

from discreet.errors import QueryError
from discreet.forms.base import Form
from discreet.forms.counterfeits import OWNER
from discreet.forms.incomplete import Dealt, Incomplete, open_boxes, read_cells
from discreet.release import Release
from discreet.release.cells import MOST_CELLS, list_cells

COUNT, LABEL, VALUE, MASS = "#count", "#label", "#value", "#mass"
PROBABILITY = "probability"
"""How what is rebuilt calls it, unless an attribute is called so."""


class GroupedForm(Form):
    """A form in which a record and a sensitive value are independent, given the group."""

    owner: ClassVar[str]
    """Its word for the column that says whose values a record may have."""

    def tell(self, release: Release) -> list[list[str]]:
        """Give the sensitive attributes, those that are told together in one list."""
        return [release.schema.sensitive] if release.schema.sensitive else []

    def weigh(self, release: Release, title: str) -> pl.Series | None:  # noqa: ARG002
        """Say how likely each record of a table is somebody's; ``None`` where all are for sure."""
        return None

    def fill(self, release: Release, table: pl.DataFrame) -> pl.DataFrame:  # noqa: ARG002
        """Add records where owners hold more values than they have, which are nobody's."""
        return table

    def hold(self, release: Release, title: str, names: list[str]) -> pl.DataFrame:
        """Count, per owner, every value of what is told together."""
        table = self._read(release, title)
        return table.group_by(OWNER, *names).len(COUNT)

    def reconstruct(self, release: Release, names: list[str]) -> pl.DataFrame:
        """Give D*(Q, x) (Equation 7), from the table with all these and fewest others."""
        known = [name for name in names if name in release.schema.quasi_identifiers]
        title = release.find_table(names)
        table = self._read(release, title)
        sensitive = [name for name in names if name not in known]
        weight = self.weigh(release, title)
        weights = np.ones(table.height) if weight is None else weight.to_numpy()
        table = table.with_columns(pl.Series(MASS, weights / weights.sum()))
        keys = [*known, OWNER] if sensitive else known
        sums = pl.col(MASS).sum()
        mass = table.group_by(keys).agg(sums) if keys else table.select(sums)
        for name in known:
            mass = spread_labels(release, title, name, mass)
        if sensitive:
            held = self._share(release, title, sensitive)
            refuse_many(mass.height * held.height // max(held[OWNER].n_unique(), 1), names)
            mass = mass.join(held, on=OWNER).with_columns(pl.col(MASS) * pl.col("#share"))
        return add_up(release, mass, names)

    def sample(self, release: Release, n: int, rng: np.random.Generator) -> pl.DataFrame:
        """Draw records of the widest table, of each a place in its box and a value of its owner."""
        title, shown = max(self.linked(release).items(), key=lambda item: len(item[1]))
        table = self._read(release, title)
        weight = self.weigh(release, title)
        if weight is None:
            drawn = table[rng.integers(0, table.height, n)]
        else:
            share = weight.to_numpy() / weight.sum()
            drawn = table[rng.choice(table.height, n, p=share)]
        columns = [draw_cells(release, title, name, drawn[name], rng) for name in shown]
        for names in self.tell(release):
            held = self._share(release, title, names).sort(OWNER, *names)
            columns += _draw_values(held, names, drawn[OWNER], rng)
        order = {name: i for i, name in enumerate([*shown, *release.schema.sensitive])}
        return pl.DataFrame(sorted(columns, key=lambda column: order[column.name]))

    def open_records(self, release: Release, names: list[str]) -> Incomplete:
        """Give records of the table that shows these, with values of their owners in any order."""
        known = [name for name in names if name not in release.schema.sensitive]
        title = release.find_table(names)
        table = self._read(release, title)
        if len(known) < len(names):
            table = self.fill(release, table)
        table = table.sort(OWNER, maintain_order=True)
        owner = table[OWNER].to_numpy().astype(np.int64)
        columns, dealt = table.select(known).get_columns(), []
        for told in self.tell(release):
            asked = [name for name in told if name in names]
            if asked:
                held = self.hold(release, title, asked).sort(OWNER, *asked)
                rows = np.repeat(np.arange(held.height), held[COUNT].to_numpy())
                columns += held.select(asked)[rows].get_columns()
                dealt.append(Dealt(tuple(asked), owner))
        cells = open_boxes(release, title, table, known)
        return Incomplete(pl.DataFrame(columns).select(names), cells, dealt)

    def _read(self, release: Release, title: str) -> pl.DataFrame:
        """Give a table, with its owners called as no attribute can be; one if it tells none."""
        table, owner = release.tables[title], release.own(self.owner)
        if owner not in table.columns:
            return table.with_columns(pl.lit(0).alias(OWNER))
        return table.rename({owner: OWNER})

    def _share(self, release: Release, title: str, names: list[str]) -> pl.DataFrame:
        share = (pl.col(COUNT) / pl.col(COUNT).sum().over(OWNER)).alias("#share")
        return self.hold(release, title, names).select(OWNER, *names, share)


def add_up(release: Release, mass: pl.DataFrame, wanted: list[str]) -> pl.DataFrame:
    """Add probabilities up over the attributes asked for."""
    found = mass.group_by(wanted).agg(pl.col(MASS).sum()).sort(wanted)
    return found.select(*wanted, pl.col(MASS).alias(release.own(PROBABILITY)))


def spread_labels(release: Release, title: str, name: str, mass: pl.DataFrame) -> pl.DataFrame:
    """Replace a label by the values it stands for, each with its part of the probability."""
    if not release.recodings[name].is_blurred:
        return mass
    cells = list_cells(release, title, name).select(
        pl.col("label").cast(pl.String).alias(LABEL),
        pl.col("value").alias(VALUE),
        pl.len().over("label").alias("#cells"),
    )
    mass = mass.rename({name: LABEL}).with_columns(pl.col(LABEL).cast(pl.String))
    sizes = cells.group_by(LABEL).len("#size")
    refuse_many(int(mass.join(sizes, on=LABEL)["#size"].sum()), [name])
    part = (pl.col(MASS) / pl.col("#cells")).alias(MASS)
    spread = mass.join(cells, on=LABEL).with_columns(part).drop(LABEL, "#cells")
    others = [column for column in spread.columns if column != MASS]
    return spread.group_by(others).agg(pl.col(MASS).sum()).rename({VALUE: name})


def refuse_many(cells: int, names: Sequence[str]) -> None:
    """Refuse to list more cells than is sensible."""
    if cells > 10 * MOST_CELLS:
        raise QueryError(
            f"The distribution of {', '.join(names)} has {cells:,} cells.",
            hint="Ask for fewer attributes, or draw records: release.sample(n).",
        )


def draw_cells(
    release: Release, title: str, name: str, labels: pl.Series, rng: np.random.Generator
) -> pl.Series:
    """Draw a value of each record's box."""
    if not release.recodings[name].is_blurred:
        return labels
    cells = read_cells(release, title, name, labels)
    return cells.values.gather(cells.pick(rng))


def _draw_values(
    held: pl.DataFrame, names: list[str], owners: pl.Series, rng: np.random.Generator
) -> list[pl.Series]:
    """Draw what is told together of each record's batch, group or class."""
    owner = held[OWNER].to_numpy()
    ends = np.cumsum(held["#share"].to_numpy())
    starts = np.flatnonzero(np.append(True, owner[1:] != owner[:-1]))
    numbers = owner[starts]
    before = np.concatenate([[0.0], ends])[starts]
    lasts = np.append(starts[1:], len(owner)) - 1
    which = np.searchsorted(numbers, owners.to_numpy())
    drawn = np.searchsorted(ends, before[which] + rng.random(len(which)), side="right")
    return held.select(names)[np.clip(drawn, starts[which], lasts[which])].get_columns()
