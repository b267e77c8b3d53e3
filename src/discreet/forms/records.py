"""Records: a view whose records show quasi-identifiers exactly, and a value that is anybody's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from discreet.forms.base import View
from discreet.forms.consistency import compare_columns, compare_groups, compare_kept, has_counts
from discreet.forms.disclosure import (
    Disclosure,
    Observed,
    disclose_bags,
    list_values,
    mix_options,
)
from discreet.forms.estimates import Asked
from discreet.forms.matches import Matches
from discreet.release.labels import read_codes
from discreet.table.arrays import Floats, Ints
from discreet.table.microdata import Microdata

ANY_VALUE = 2**20
"""The weight, per record, of every value that is not listed where any may be a person's."""


@dataclass(frozen=True, eq=False)
class RecordView(View):
    """Exact records, each of a group whose values are its people's, nobody knows whose."""

    any_value: ClassVar[bool] = False
    """Whether any value may be a person's, and those listed are only likelier."""

    def match(self, data: Microdata) -> Matches:
        """Find the records that show exactly a person's quasi-identifiers."""
        names = self.release.schema.quasi_identifiers
        shown = {
            name: read_codes(self.release, self.table, name, data.domains[name]).astype(np.int32)
            for name in names
        }
        both = pl.concat([pl.DataFrame({n: data.codes[n] for n in names}), pl.DataFrame(shown)])
        number = both.select(pl.struct(names).rank("dense")).to_series().to_numpy()
        number = number.astype(np.int64) - 1
        people, records = number[: data.n], number[data.n :]
        # one candidate set per combination of quasi-identifiers that some record shows
        looks = np.intersect1d(people, records)
        place = np.full(int(number.max()) + 1, -1, dtype=np.int64)
        place[looks] = np.arange(len(looks))
        rows = np.flatnonzero(place[records] >= 0)
        keys, counts = np.unique(
            place[records[rows]] * self.count + self.labels[rows], return_counts=True
        )
        offsets = np.searchsorted(keys, np.arange(len(looks) + 1) * self.count)
        first = np.full(len(looks), -1, dtype=np.int64)
        first[place[records[rows]][::-1]] = rows[::-1]
        return Matches(
            self,
            place[people],
            offsets,
            keys % self.count,
            counts,
            np.bincount(place[records[rows]], minlength=len(looks)),
            pools_groups=False,
            first=first,
        )

    def find_inconsistencies(self, matches: Matches, data: Microdata) -> list[str]:
        """Hold the published people and values, as multisets, against those of the microdata."""
        findings = [*compare_columns(self, data), *self._compare_values(matches, data)]
        return [*findings, *compare_kept(self, data)]

    def _compare_values(self, matches: Matches, data: Microdata) -> list[str]:
        findings = []
        for name in self.release.schema.sensitive:
            bags = self.bags(name)
            own = data.codes_in(name, bags.domain)
            if name not in self.release.bags and not has_counts(own, bags.whole):
                findings.append(f"the published values of {name} are not those of the people")
                continue
            findings += compare_groups(matches, name, own)
        return findings

    def disclose(self, found: list[Matches], observed: Observed) -> Disclosure:
        """Give the bag of the groups that may be a person's, and what stands beside it."""
        return disclose_bags(found[0], observed)

    @property
    def dealing(self) -> View | None:
        """All values of a group are of its people."""
        return self

    def list_told(
        self, matches: Matches, observed: Observed, name: str, sets: Ints
    ) -> pl.DataFrame:
        """List what is told of one sensitive attribute, of some candidate sets."""
        return list_values(mix_options(matches, name, sets), observed.targets[name].domain, name)

    def estimate(self, asked: Asked) -> Floats:
        """Count the records of each group that a question takes, times what its values add."""
        found, first = [], 0
        for counts in asked.count_groups(asked.known, self.labels, self.count):
            part = slice(first, first + counts.shape[1])
            first = part.stop
            held = asked.hold(part) if asked.told is not None else 1.0
            found.append((counts * held).sum(axis=0))
        return np.concatenate(found)
