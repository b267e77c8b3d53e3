"""Draws: the randomness that methods of publishing protect with.

Who can guess what was drawn can undo it, so it comes from the operating system's generator, and
nothing else decides it. A seed is for tests and comparisons, whose releases do not go out.
"""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from discreet.table.arrays import Floats, Ints

Words = NDArray[np.uint64]


class Draws(ABC):
    """Random words of 64 bits, and what is made of them, exactly uniform."""

    @abstractmethod
    def words(self, count: int) -> Words:
        """Draw words, each independent of all others."""

    def permutation(self, n: int) -> Ints:
        """Draw an order of 0 to n - 1, all equally likely."""
        while True:
            keys = self.words(n)
            order = np.argsort(keys)
            ordered = keys[order]
            if not (ordered[1:] == ordered[:-1]).any():  # a tie would favour an order
                return order

    def integers(self, below: int, count: int) -> Ints:
        """Draw whole numbers from 0 to ``below`` - 1, all equally likely."""
        # words beyond the last whole multiple would favour the smallest numbers
        last = np.uint64(2**64 - 2**64 % below - 1)
        words = self.words(count)
        while (beyond := np.flatnonzero(words > last)).size:
            words[beyond] = self.words(len(beyond))
        return (words % np.uint64(below)).astype(np.int64)

    def shares(self, count: int) -> Floats:
        """Draw numbers from 0 up to 1, each of 53 bits."""
        return (self.words(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53


class SystemDraws(Draws):
    """Words of the operating system's generator, which nobody can make again."""

    def words(self, count: int) -> Words:
        """Draw words, each independent of all others."""
        return np.frombuffer(bytearray(os.urandom(8 * count)), dtype=np.uint64)


class KeyedDraws(Draws):
    """Words that follow from a secret of the operating system's and a number.

    Whoever works on a part of a table may be lost, and another begin anew: the key makes both draw
    the same. It is drawn once, is told to nobody but the workers, and goes with the work.
    """

    def __init__(self, key: bytes, number: int) -> None:
        self._key = key + number.to_bytes(8, "big")
        self._drawn = 0

    @staticmethod
    def draw_key() -> bytes:
        """Draw a secret that nobody can guess."""
        return os.urandom(32)

    def words(self, count: int) -> Words:
        """Draw words that follow from the key, and from what was drawn by it before."""
        stream = hashlib.shake_256(self._key + self._drawn.to_bytes(8, "big"))
        self._drawn += 1
        return np.frombuffer(bytearray(stream.digest(8 * count)), dtype=np.uint64)


class SeededDraws(Draws):
    """Words that everyone makes again who guesses the seed: they protect nothing."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def words(self, count: int) -> Words:
        """Draw words that follow from the seed."""
        return self._generator.integers(0, 2**64, count, dtype=np.uint64)
