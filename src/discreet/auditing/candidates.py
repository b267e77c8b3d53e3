"""Candidates: for each person, the published records that may be theirs.

The adversary knows all quasi-identifiers of the person and that the person is in the table. The
person's record is then one of those whose box covers the person.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.extents import read_extents
from discreet.groups import Groups
from discreet.microdata import Microdata
from discreet.release import Release
from discreet.verify import Classes, bags_of, read_classes


@dataclass(frozen=True, eq=False)
class Candidates:
    """People who face the same set of groups share one number in ``of``; -1 means no group."""

    of: NDArray[np.int64]
    sets: list[tuple[int, ...]]
    """Per candidate set its groups."""
    classes: Classes
    release: Release

    def believe(self, name: str | None) -> Groups:
        """What is believed about the people of each candidate set on one sensitive attribute.

        Without a name, a bag of people only: its size is the number of candidate records.
        """
        return self._pour(bags_of(self.release, self.classes, name))

    @property
    def several(self) -> NDArray[np.bool_]:
        """Per person whether more than one group covers them."""
        many = np.array([len(groups) > 1 for groups in self.sets] + [False])
        return many[self.of]

    @property
    def group_of(self) -> NDArray[np.int64]:
        """Per person the first group that covers them; -1 if none does."""
        first = np.array([groups[0] for groups in self.sets] + [-1], dtype=np.int64)
        return first[self.of]

    def _pour(self, bags: Groups) -> Groups:
        """Unite the bags of the groups in each candidate set."""
        group = np.array([g for s in self.sets for g in s], dtype=np.int64)
        lengths = bags.distinct[group]
        owner = np.repeat(np.arange(len(self.sets)), [len(s) for s in self.sets])
        owners = np.repeat(owner, lengths)
        # entries of all groups one after the other: where each group starts, plus a running count
        shift = np.repeat(bags.offsets[group] - np.cumsum(lengths) + lengths, lengths)
        picked = np.arange(int(lengths.sum())) + shift
        size = bags.domain.size
        keys, inverse = np.unique(owners * size + bags.codes[picked], return_inverse=True)
        weights = np.zeros(len(keys), dtype=np.int64)
        np.add.at(weights, inverse, bags.weights[picked])
        offsets = np.searchsorted(keys // size, np.arange(len(self.sets) + 1))
        codes = (keys % size).astype(np.int32)
        return Groups(offsets, codes, weights, bags.domain, bags.whole)


def find_candidates(release: Release, data: Microdata) -> Candidates:
    """Match every person of the microdata with the boxes of a generalized release."""
    classes = read_classes(release)
    people, person_of = _distinct_people(data, release.schema.quasi_identifiers)
    pairs = _match(release, data, classes.boxes, people)
    sets, set_of = _gather_sets(pairs, len(people))
    return Candidates(set_of[person_of], sets, classes, release)


def _distinct_people(
    data: Microdata, names: list[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    frame = pl.DataFrame({name: data.codes[name] for name in names})
    number = frame.select(pl.struct(names).rank("dense")).to_series().to_numpy().astype(np.int64)
    number -= 1
    first = np.empty(int(number.max()) + 1, dtype=np.int64)
    first[number] = np.arange(len(number))
    return frame.to_numpy()[first].astype(np.int64), number


def _match(
    release: Release, data: Microdata, boxes: pl.DataFrame, people: NDArray[np.int64]
) -> NDArray[np.int64]:
    from discreet.kernels.match import match

    extents = read_extents(release, data, boxes)
    missing = [data.domains[n].size - 1 if data.domains[n].missing else -1 for n in extents]
    flags, places, end = [np.zeros(1, dtype=bool)], [], 1
    for extent in extents.values():
        places.append((-1, 0) if extent.covers is None else (end, extent.covers.shape[1]))
        if extent.covers is not None:
            flags.append(extent.covers.ravel())
            end += extent.covers.size
    rows = np.zeros(boxes.height, dtype=np.int64)
    pairs: NDArray[np.int64] = match(
        people,
        np.stack([e.low for e in extents.values()]),
        np.stack([e.high for e in extents.values()]),
        np.stack([e.absent for e in extents.values()]),
        np.array(missing, dtype=np.int64),
        np.concatenate(flags),
        np.array(places, dtype=np.int64),
        np.stack([rows if e.which is None else e.which for e in extents.values()]),
    )
    return pairs


def _gather_sets(
    pairs: NDArray[np.int64], people: int
) -> tuple[list[tuple[int, ...]], NDArray[np.int64]]:
    """Number the distinct sets of groups; -1 for people no box covers."""
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    counts = np.bincount(pairs[:, 0], minlength=people)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    number: dict[tuple[int, ...], int] = {}
    set_of = np.full(people, -1, dtype=np.int64)
    single = np.flatnonzero(counts == 1)
    groups, inverse = np.unique(pairs[starts[single], 1], return_inverse=True)
    for group in groups.tolist():
        number[(group,)] = len(number)
    set_of[single] = inverse
    for person in np.flatnonzero(counts > 1):
        several = tuple(pairs[starts[person] : starts[person] + counts[person], 1].tolist())
        set_of[person] = number.setdefault(several, len(number))
    return list(number), set_of
