"""Workload: many questions at once, each a set of codes per attribute."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from discreet.table.arrays import Bools, Ints


@dataclass(frozen=True, eq=False)
class Workload:
    """Per attribute, and per question and code of it, whether the question takes the code."""

    takes: dict[str, Bools]

    @property
    def count(self) -> int:
        """Number of questions."""
        return len(next(iter(self.takes.values())))


def count_rows(
    codes: dict[str, Ints],
    takes: dict[str, Bools],
    group: Ints,
    groups: int,
) -> Iterator[Ints]:
    """Count the rows of each group that questions take, some questions at a time.

    Rows are given by their codes; a code of -1 is none of the domain, and taken by who takes all.
    """
    from discreet.kernels.workload import count_taken

    names = list(takes)
    known = np.stack([np.where(codes[n] < 0, takes[n].shape[1], codes[n]) for n in names])
    sizes = [takes[name].shape[1] + 1 for name in names]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    flags = np.concatenate([take_known(takes[name]).T for name in names], axis=1)
    bits = np.uint64(1) << np.arange(64, dtype=np.uint64)
    for first in range(0, len(flags), 64):
        part = flags[first : first + 64]
        takers = (part * bits[: len(part), None]).sum(axis=0, dtype=np.uint64)
        yield count_taken(known, takers, starts, group, groups)[:, : len(part)]


def take_known(takes: Bools) -> Bools:
    """What questions take, a row per code; the last one, at -1, is for values not in the domain.

    Who takes every value that is in it takes those as well.
    """
    return np.vstack([takes.T, takes.all(axis=1)])
