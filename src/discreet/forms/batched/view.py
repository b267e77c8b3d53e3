"""Reading batched releases: boxes per marginal, each person's value in a batch.

One view per generalized table. What is believed about the people of a box is a mixture of the
batches its records refer to; whoever knows more may tell the batch, so each of them is judged.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import StoreError
from discreet.forms.base import View
from discreet.forms.batched.consistency import is_foreign
from discreet.forms.batched.disclosure import disclose_batches
from discreet.forms.batched.joins import join_tables
from discreet.forms.boxes import BoxView, box_columns, number_boxes
from discreet.forms.consistency import has_counts
from discreet.forms.disclosure import Disclosure, Observed
from discreet.forms.matches import Matches
from discreet.forms.records import RecordView
from discreet.principles.base import Principle
from discreet.principles.groups import Groups
from discreet.release import Release, Transformation
from discreet.table.arrays import Bools, Ints
from discreet.table.domain import reduce_column
from discreet.table.microdata import Microdata

BATCHES, GENERALIZED = "batches", "generalized"
FINE = 2**40
"""Shares of a mixture are rounded to so many parts where exact ones do not fit 64 bits."""


@dataclass(frozen=True, eq=False)
class BatchedView(View):
    """Records refer to batches; what is believed about a group is a mixture of these."""

    max_own_value_lift: ClassVar[int | None] = None
    shows_whose: ClassVar[bool] = False

    batch: Ints
    """Per record its batch, numbered from 0."""
    held: Groups
    """The bag of each batch."""

    @abstractmethod
    def _look_alike(self, people: int) -> Bools:
        """Say of each group whether so many show the same."""

    def admits(self, part: Principle, name: str | None) -> Bools:
        """A group is good if every batch it refers to is, for then every mixture is."""
        looks = self._look_alike(part.look_alikes)
        if name is None:
            return looks & part.admits(self.bags(None))
        if part.mixture_safe is None:
            return looks & part.admits(self.bags(name))
        bad = ~part.mixture_safe.admits(self.held)
        spoilt = np.zeros(self.count, dtype=bool)
        np.logical_or.at(spoilt, self.labels, bad[self.batch])
        return looks & ~spoilt

    @property
    def smallest_count(self) -> int | None:
        """Batches are published as counts."""
        return int(self.held.weights.min())

    def source_bags(self, name: str) -> tuple[Ints, Groups]:  # noqa: ARG002
        """A record's value is drawn from its batch."""
        return self.batch, self.held

    @cached_property
    def references(self) -> tuple[Ints, Ints, Ints]:
        """The distinct pairs of group and batch, and how many records each has."""
        pairs, counts = np.unique(self.labels * self.held.count + self.batch, return_counts=True)
        return pairs // self.held.count, pairs % self.held.count, counts

    def _read_bags(self, name: str) -> Groups:  # noqa: ARG002
        """Mix the batches of each group in the proportion of its records (Equation 2)."""
        box, batch, records = self.references
        sizes = self.held.sizes[batch]
        # how many parts of a record go to each person of its batch
        parts = _common_units(box, sizes, self.count)[box] // sizes
        return self.held.mix(batch, box, records * parts, self.count)

    @abstractmethod
    def list_batches(self, matches: Matches, sets: Ints) -> pl.DataFrame:
        """List the batches that records of some sets refer to: set, batch, number of records w."""

    def disclose(self, found: list[Matches], observed: Observed) -> Disclosure:
        """Give the batches that all tables leave possible."""
        return disclose_batches(self, found, observed)


@dataclass(frozen=True, eq=False)
class BatchedRecords(BatchedView, RecordView):
    """Exact records, told apart; a group is a batch."""

    def _look_alike(self, people: int) -> Bools:
        return np.full(self.count, people <= 1)

    def _read_bags(self, name: str) -> Groups:  # noqa: ARG002
        return self.held

    def list_batches(self, matches: Matches, sets: Ints) -> pl.DataFrame:
        """Records that show a person's values refer to so many of each batch."""
        place, batch = matches.list_options(sets)
        return pl.DataFrame({"set": place, "batch": batch, "w": matches.list_likelihoods(sets)})


@dataclass(frozen=True, eq=False)
class BatchedBoxes(BatchedView, BoxView):
    """The boxes of one generalized table."""

    deals_values: ClassVar[bool] = False  # a box mixes batches, of which it has known parts

    def _look_alike(self, people: int) -> Bools:
        return self.sizes >= people

    def list_batches(self, matches: Matches, sets: Ints) -> pl.DataFrame:
        """All records of a person's box may be theirs."""
        place, group = matches.list_options(sets)
        box, batch, records = self.references
        refers = pl.DataFrame({"box": box, "batch": batch, "w": records})
        options = pl.DataFrame({"set": place, "box": group}).join(refers, on="box")
        return options.group_by("set", "batch").agg(pl.col("w").sum())

    @property
    def boxes_may_overlap(self) -> bool:
        """Whoever knows a person's box must not be told another."""
        return False

    def _compare_values(self, matches: Matches, data: Microdata) -> list[str]:
        """Boxes show no values; their people must find theirs in the batches."""
        findings = []
        for name in self.release.schema.sensitive:
            published = self.bags(name)
            own = data.codes_in(name, published.domain)
            if not has_counts(own, published.whole) or is_foreign(self, matches, own):
                findings.append(f"the published values of {name} are not those of the people")
        return findings

    def join(self, found: Sequence[Matches]) -> Matches | None:
        """Put the tables together by the batches they refer to; one by itself adds nothing."""
        if len(found) < 2:
            return None
        return join_tables(
            BatchedRecords(self.release, self.table, self.batch, self.batch, self.held), found
        )

    def word_check(self, part: Principle) -> str:
        """What a release of several tables promises of people is said of each table."""
        several = len(self.release.shown) > 1 and part.look_alikes > 1
        return f"{part}, table by table" if several else super().word_check(part)


def _common_units(box: Ints, sizes: Ints, count: int) -> Ints:
    """Give each box a number of parts that all its batches divide, if 64 bits hold it."""
    units = np.ones(count, dtype=np.int64)
    for group, size in np.unique(np.stack([box, sizes], 1), axis=0).tolist():
        units[group] = np.lcm(units[group], size) if units[group] < FINE else FINE
    return np.where(units < FINE, units, FINE)


def read_batched(release: Release) -> list[View]:
    """Read the batches once, then the boxes of every generalized table."""
    titles = [title for title in release.tables if title != BATCHES]
    expected = [GENERALIZED, *(f"{GENERALIZED}_{i + 2}" for i in range(len(titles) - 1))]
    if BATCHES not in release.tables or titles != expected:
        raise StoreError(
            f"A release by {release.method} has the tables {[BATCHES, *expected]}, not "
            f"{list(release.tables)}."
        )
    numbers, held = _read_batches(release)
    views = [_read_boxes(release, title, numbers, held) for title in titles]
    unseen = set(release.schema.quasi_identifiers) - {n for s in release.shown.values() for n in s}
    if unseen:
        raise StoreError(f"No table shows {min(unseen)!r}, which the release declares.")
    return views


def _read_batches(release: Release) -> tuple[Ints, Groups]:
    table = release.tables[BATCHES]
    names = release.schema.sensitive
    if len(names) != 1 or table.columns != ["batch", names[0], "count"]:
        raise StoreError("The table 'batches' has the columns batch, sensitive value and count.")
    whole = all(table[c].dtype.is_integer() and not table[c].null_count()
                for c in ("batch", "count"))  # fmt: skip
    if not whole or table.height == 0 or int(table["count"].min()) < 1:  # type: ignore[arg-type]
        raise StoreError("The table 'batches' has batches and counts that are not whole numbers.")
    codes, domain = reduce_column(table[names[0]], release.schema[names[0]]).encode(None)
    numbers, owners = np.unique(table["batch"].to_numpy(), return_inverse=True)
    keys = owners.astype(np.int64) * domain.size + codes
    if (np.diff(keys) <= 0).any():  # another order would be a message
        raise StoreError(
            "The table 'batches' is not in the order of batches and values, each once."
        )
    counts = table["count"].to_numpy().astype(np.int64)
    offsets = np.searchsorted(owners, np.arange(len(numbers) + 1))
    everyone = np.zeros(domain.size, dtype=np.int64)
    np.add.at(everyone, codes, counts)
    return numbers, Groups(offsets, codes.astype(np.int32), counts, domain, everyone)


def _read_boxes(release: Release, title: str, numbers: Ints, held: Groups) -> View:
    table = release.tables[title]
    (sensitive,) = release.schema.sensitive
    known = release.schema.quasi_identifiers
    names = [n for n in known if n in table.columns]
    view = replace(release, schema=release.schema.only([*names, sensitive]))
    if sorted(table.columns) != sorted([*box_columns(view), "batch"]) or not names:
        raise StoreError(f"The table {title!r} has undeclared columns, or lacks some.")
    if not table["batch"].dtype.is_integer() or table["batch"].null_count():
        raise StoreError(f"The table {title!r} has batches that are not whole numbers.")
    batch = np.searchsorted(numbers, table["batch"].to_numpy())
    if (numbers[np.minimum(batch, len(numbers) - 1)] != table["batch"].to_numpy()).any():
        raise StoreError(f"The table {title!r} refers to a batch that is not there.")
    if not np.array_equal(np.bincount(batch, minlength=len(numbers)), held.sizes):
        raise StoreError(f"The table {title!r} has not as many records per batch as it holds.")
    exact = {view.recodings[name].transformation is Transformation.EXACT for name in names}
    if exact == {True, False}:
        raise StoreError(f"The table {title!r} mixes exact and generalized columns.")
    if exact == {True}:
        shown = table.select(pl.struct(names).rank("dense")).to_series().to_numpy()
        _refuse_order(title, shown, batch)
        return BatchedRecords(view, table, batch.astype(np.int64), batch.astype(np.int64), held)
    labels, boxes = number_boxes(view, table)
    _refuse_order(title, labels, batch)
    return BatchedBoxes(view, table, labels, boxes, batch.astype(np.int64), held)


def _refuse_order(title: str, labels: NDArray[np.integer], batch: NDArray[np.integer]) -> None:
    """Rows that look the same stand together, by batch: an order of people would link tables."""
    runs = np.append(True, np.diff(labels) != 0)
    apart = int(runs.sum()) > len(np.unique(labels))
    if apart or ((np.diff(batch) < 0) & ~runs[1:]).any():
        raise StoreError(f"The rows of {title!r} are not in the order of what they show.")
