"""Reading rank-swapped releases: a group is the people who show one number."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from discreet.errors import StoreError
from discreet.forms.base import View
from discreet.forms.estimates import Asked
from discreet.forms.matches import Matches
from discreet.forms.posterior import Posterior
from discreet.forms.reading import take_table
from discreet.forms.records import RecordView
from discreet.forms.several import read_several
from discreet.forms.swapped.exchanges import Exchanges
from discreet.forms.swapped.posterior import SwappedPosterior
from discreet.forms.swapped.rank_windows import build_windows
from discreet.principles.groups import Groups
from discreet.principles.spread import KE
from discreet.release import Release
from discreet.table.arrays import Floats
from discreet.table.domain import reduce_column
from discreet.table.microdata import Microdata


@dataclass(frozen=True, eq=False)
class SwappedView(RecordView):
    """People by the number they show; their own is any in its window."""

    max_own_value_lift: ClassVar[int | None] = 4  # late ones find few partners left

    def _read_bags(self, name: str) -> Groups:
        """Give all numbers in the window of each shown one."""
        codes, domain = reduce_column(self.table[name], self.release.schema[name]).encode(None)
        counts = np.bincount(codes, minlength=domain.size).astype(np.int64)
        windows = self.release.tables["windows"]
        low, high = (
            domain.series().search_sorted(windows[end]).to_numpy().astype(np.int64)
            for end in ("low", "high")
        )
        lengths = high - low + 1
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        inside = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - low, lengths)
        return Groups(offsets, inside.astype(np.int32), counts[inside], domain, counts)

    @cached_property
    def exchanges(self) -> Exchanges:
        """How likely each number shown stands for those of its window."""
        (name,), principle = self.release.schema.sensitive, self.release.promise.principle
        assert isinstance(principle, KE)
        return Exchanges.of(self.bags(name), principle)

    def posterior(self, matches: Matches, data: Microdata, name: str) -> Posterior:
        """Weigh the numbers of windows by how numbers were exchanged."""
        return SwappedPosterior(self, matches, data, name)

    @property
    def dealing(self) -> View | None:
        """Numbers are exchanged across all windows."""
        return None

    def estimate(self, asked: Asked) -> Floats:
        """Take what is shown for the truth."""
        from discreet.forms.swapped.estimate import estimate_swapped

        return estimate_swapped(self, asked)


TITLES = ("swapped", "windows")
"""The tables, the first of which is one for all sensitive attributes."""


def read_swapped(release: Release) -> list[View]:
    """Group people by the number shown, and hold the windows against the swapped table."""
    if len(release.schema.sensitive) > 1:
        return read_several(release, TITLES, (), read_swapped)
    table = take_table(release, {"swapped", "windows"}, "swapped", set(release.columns))
    principle = release.promise.principle
    if len(release.schema.sensitive) != 1 or not isinstance(principle, KE):
        raise StoreError("A rank-swapped release has one sensitive attribute and promises (k,e).")
    sensitive = release.schema[release.schema.sensitive[0]]
    if table[sensitive.name].null_count():
        raise StoreError(f"The table 'swapped' has empty cells in {sensitive.name!r}.")
    if not release.tables["windows"].equals(
        build_windows(table[sensitive.name], sensitive, principle)
    ):
        raise StoreError("The windows are not those that follow from the swapped table.")
    labels, _ = reduce_column(table[sensitive.name], sensitive).encode(None)
    return [SwappedView(release, table, labels.astype(np.int64))]
