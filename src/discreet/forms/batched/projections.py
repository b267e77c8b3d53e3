"""Projections: tables of boxes whose records refer to no batch (ANGEL, section 4.1).

A world gives everybody a record of every table. Which records of a projection are whose depends on
quasi-identifiers alone, so that every way of giving them out goes with every way of giving out the
rest: who knows everybody's quasi-identifiers believes of sensitive values what all other tables
say, neither more nor less. Where one table refers to batches, so does everybody else: of two
records of a box the batches may be exchanged in any world, and what a projection shows stays as it
is. Where several do, a projection may tell somebody who knows some people's quasi-identifiers how
those of others go together, and so which batches are likelier a person's; what is believed is then
another mixture of batches that are possible, for which the promise holds as well (Theorem 1).
What it does add to is who looks the same: in all tables together fewer people do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discreet.errors import StoreError
from discreet.forms.boxes import BoxView, box_columns, number_boxes
from discreet.forms.matches import Matches
from discreet.principles.base import Principle
from discreet.release import Release
from discreet.table.arrays import Bools
from discreet.table.microdata import Microdata

PROJECTION = "projection"


@dataclass(frozen=True, eq=False)
class ProjectedBoxes(BoxView):
    """The boxes of a table that says nothing of sensitive values; its schema has none."""

    def admits(self, part: Principle, name: str | None) -> Bools:
        """Of a principle only how many people look the same is a matter here."""
        looks = self.sizes >= part.look_alikes
        return looks & part.admits(self.bags(None)) if name is None else looks

    @property
    def boxes_may_overlap(self) -> bool:
        """Whoever knows a person's box must not be told another."""
        return False

    def _compare_values(self, matches: Matches, data: Microdata) -> list[str]:  # noqa: ARG002
        return []


def read_projection(release: Release, title: str) -> ProjectedBoxes:
    """Read a table of boxes that has nothing but these."""
    table = release.tables[title]
    names = [n for n in release.schema.quasi_identifiers if n in table.columns]
    view = replace(release, schema=release.schema.only(names), shares={})
    if sorted(table.columns) != sorted(box_columns(view)) or not names:
        raise StoreError(f"The table {title!r} has undeclared columns, or lacks some.")
    if not all(view.recodings[name].is_blurred for name in names):
        raise StoreError(f"The table {title!r} shows quasi-identifiers as they are.")
    labels, boxes = number_boxes(view, table)
    if int((np.diff(labels) != 0).sum()) + 1 > boxes.height:
        raise StoreError(f"The rows of {title!r} are not in the order of what they show.")
    return ProjectedBoxes(view, table, labels, boxes)


def refers_to_batches(matches: Matches) -> bool:
    """Whether the records that people were matched with refer to batches."""
    return not isinstance(matches.view, ProjectedBoxes)
