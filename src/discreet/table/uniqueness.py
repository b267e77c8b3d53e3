"""Uniqueness: who is alone with what is known of them, and who with one attribute more or less."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod

import numpy as np

from discreet.table.arrays import Ints
from discreet.table.microdata import Microdata, number_keys, pack_rows

MOST = 2**62
"""Keys are below it."""


class Uniqueness:
    """How many people are alone on some attributes, and on these with another one or without.

    A combination is one number whose digits are its codes: to leave an attribute out is to subtract
    its digit. Where they do not fit into a number, combinations are numbered anew.
    """

    def __init__(self, data: Microdata, known: Sequence[str]) -> None:
        self._data, self._known = data, list(known)
        self._sizes = [data.domains[name].size for name in known]

    @cached_property
    def _keys(self) -> Ints:
        return pack_rows([self._data.codes[name] for name in self._known], self._data.n)

    @cached_property
    def count(self) -> int:
        """Those who are alone on them."""
        return self._data.count_lone(self._keys) if self._known else 0

    def count_beside(self, name: str) -> int:
        """Those who are alone without one of the attributes, or with one more."""
        if name not in self._known:
            return self._count_with(name)
        if len(self._known) == 1:
            return 0
        if prod(self._sizes) >= MOST:
            return self._data.count_unique([other for other in self._known if other != name])
        place = prod(self._sizes[self._known.index(name) + 1 :])
        return self._data.count_lone(self._keys - self._data.codes[name].astype(np.int64) * place)

    def _count_with(self, name: str) -> int:
        size, keys = self._data.domains[name].size, self._keys
        if prod(self._sizes) * size >= MOST:
            keys = number_keys(keys)[1]
        return self._data.count_lone(keys * size + self._data.codes[name])
