"""Packing: the codes of a row and its number in as few 64-bit words as they need."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.table.arrays import Ints
from discreet.table.domain import Domain
from discreet.table.microdata import Microdata

WORD = 63
"""Bits used of an int64; the sign stays free so that words compare as numbers."""


@dataclass(frozen=True)
class Field:
    """Where a code lives: which plane of words, how far from the right, under which mask."""

    plane: int
    shift: int
    mask: int


def read_field(words: Ints, field: Field) -> Ints:
    """Give what some rows have in a field of their words."""
    return np.asarray((words[field.plane] >> field.shift) & field.mask)


def lay_out(sizes: list[int]) -> tuple[list[Field], int]:
    """Give every domain of so many codes its bits; also the number of planes.

    >>> lay_out([74, 2, 1_000_000])[0][1]
    Field(plane=0, shift=7, mask=1)
    """
    fields, plane, shift = [], 0, 0
    for size in sizes:
        bits = max(1, (size - 1).bit_length())
        if shift + bits > WORD:
            plane, shift = plane + 1, 0
        fields.append(Field(plane, shift, (1 << bits) - 1))
        shift += bits
    return fields, plane + 1


def pack_rows(
    data: Microdata, names: list[str], ranks: dict[str, Ints]
) -> tuple[Ints, list[Field]]:
    """Pack the named attributes, renumbered by their ranks, and the row number, in this order.

    The result has two buffers of the same shape; the second is scratch.
    """
    from discreet.kernels.packing import number, pack

    sizes = [data.domains[name].size for name in names]
    fields, planes = lay_out([*sizes, data.n])
    buffers = np.zeros((2, planes, data.n), dtype=np.int64)
    orders = [ranks.get(name, np.arange(size)) for name, size in zip(names, sizes, strict=True)]

    def fill(rows: slice) -> None:
        for name, rank, field in zip(names, orders, fields, strict=False):
            pack(buffers[0, field.plane, rows], data.codes[name][rows], field.shift, rank)
        number(buffers[0, fields[-1].plane, rows], rows.start, fields[-1].shift)

    cores = os.cpu_count() or 1
    ends = [data.n * core // cores for core in range(cores + 1)]
    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(fill, [slice(start, end) for start, end in pairwise(ends)]))
    return buffers, fields


@dataclass(frozen=True, eq=False)
class Layout:
    """Where in its words a row has the codes of each attribute, some renumbered by ranks."""

    names: list[str]
    fields: list[Field]
    planes: int
    ranks: dict[str, Ints]

    @staticmethod
    def of(names: list[str], domains: Mapping[str, Domain], ranks: dict[str, Ints]) -> Layout:
        """Lay attributes out in this order."""
        fields, planes = lay_out([domains[name].size for name in names])
        return Layout(names, fields, planes, ranks)

    def pack(self, codes: Mapping[str, NDArray[np.int32]]) -> Ints:
        """Give the words of some rows, one plane after the other."""
        from discreet.kernels.packing import pack

        rows = len(codes[self.names[0]])
        words = np.zeros((self.planes, rows), dtype=np.int64)
        for name, field in zip(self.names, self.fields, strict=True):
            ranks = self.ranks.get(name, np.arange(field.mask + 1))
            pack(words[field.plane], codes[name], field.shift, ranks)
        return words

    def find(self, name: str) -> Field:
        """Give the place of an attribute."""
        return self.fields[self.names.index(name)]

    def read(self, words: Ints, name: str) -> Ints:
        """Give the codes of an attribute, as they were before they were renumbered."""
        codes = read_field(words, self.find(name))
        ranks = self.ranks.get(name)
        return codes if ranks is None else np.argsort(ranks)[codes]

    def table(self, names: Iterable[str]) -> Ints:
        """Give plane, shift and mask of some attributes, a line each."""
        lines = [(f.plane, f.shift, f.mask) for f in map(self.find, names)]
        return np.array(lines, dtype=np.int64).reshape(-1, 3)


def rank_by_frequency(counts: Ints, domain: Domain) -> Ints:
    """Renumber categories so that frequent ones come first, keeping taxonomy subtrees together.

    One cut then separates the common values from the rare ones, and siblings stay neighbours.
    Ties go by code, so the ranks depend on the counts alone.

    >>> from discreet.principles.groups import Groups
    >>> domain = Groups.of([["a", "b", "c"]]).domain
    >>> rank_by_frequency(np.array([1, 2, 3]), domain).tolist()
    [2, 1, 0]
    """
    if domain.taxonomy is None:
        order = np.argsort(-counts, kind="stable")
    else:
        order = np.array(_walk_by_count(domain, counts), dtype=np.int64)
    ranks = np.empty(domain.size, dtype=np.int64)
    ranks[order] = np.arange(domain.size)
    return ranks


def _walk_by_count(domain: Domain, counts: Ints) -> list[int]:
    tree = domain.taxonomy
    assert tree is not None
    running = np.concatenate([[0], np.cumsum(counts)])
    leaves: list[int] = []
    stack = [0]
    while stack:
        number = stack.pop()
        children = tree.children[number]
        if not children:
            leaves.append(tree.nodes[number].low)
        rows = {c: running[tree.nodes[c].high] - running[tree.nodes[c].low] for c in children}
        stack += sorted(children, key=lambda c: (rows[c], -c))
    return leaves + [len(tree.leaves)] * domain.missing
