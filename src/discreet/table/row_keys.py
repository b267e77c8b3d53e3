"""Row keys: combinations of values as numbers of 128 bits, to be compared wherever rows are.

They follow from the values alone, so that every process gives a combination the same key. That two
of a billion combinations share one has a chance below 10⁻²⁰; people are counted as if none did.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import blake2b
from typing import IO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.table.domain import reduce_column
from discreet.table.schema import Attribute

KeyWords = NDArray[np.uint64]
STARTS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)
STEPS = (0xD1342543DE82EF95, 0xAF251AF3B0F025B5)
"""Of each half of a key what it begins with, and the odd number by which it goes on."""
MISSING_WORDS = (0x243F6A8885A308D3, 0x13198A2E03707344)
"""What stands for missing: no number, whose words are both the same."""


def key_rows(frame: pl.DataFrame, attributes: Sequence[Attribute]) -> KeyWords:
    """Give the two halves of every row's key, by its values of some attributes.

    >>> from discreet.table.schema import Role, Type
    >>> size = Attribute("size", Role.QUASI_IDENTIFIER, Type.DECIMAL, decimals=1)
    >>> keys = key_rows(pl.DataFrame({"size": ["1.5", "1.50", "2"]}), [size])
    >>> (keys[:, 0] == keys[:, 1]).tolist(), (keys[:, 0] == keys[:, 2]).tolist()
    ([True, True], [False, False])
    """
    keys = np.repeat(np.array(STARTS, dtype=np.uint64)[:, None], frame.height, axis=1)
    for attribute in attributes:
        column = reduce_column(frame[attribute.name], attribute)
        words = _spell(column.canonical)
        words[:, column.missing] = np.array(MISSING_WORDS, dtype=np.uint64)[:, None]
        for half, step in enumerate(STEPS):
            keys[half] = _stir(keys[half] * np.uint64(step) + words[half][column.inverse])
    return keys


def _spell(values: np.ndarray) -> KeyWords:
    """Give two words for every value: of a number that number, of a text what it hashes to."""
    if values.dtype != object:
        return np.stack([values.view(np.uint64)] * 2)
    digests = b"".join(blake2b(text.encode(), digest_size=16).digest() for text in values)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64).reshape(-1, 2).T.copy()


def _stir(words: KeyWords) -> KeyWords:
    """Let every bit depend on all others; different words stay different (splitmix64)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


@dataclass(frozen=True)
class SharedKeys:
    """Keys on disk, in shares that fit into memory; the same key is always in the same share."""

    files: Sequence[IO[bytes]]

    def add(self, keys: KeyWords) -> None:
        """Add columns of words, of which the first two are the key."""
        share = keys[0] % np.uint64(len(self.files))
        order = np.argsort(share, kind="stable")
        ends = np.cumsum(np.bincount(share.astype(np.int64), minlength=len(self.files)))
        rows = np.ascontiguousarray(keys.T[order])
        for part, file in zip(np.split(rows, ends[:-1]), self.files, strict=True):
            part.tofile(file)

    def shares(self, words: int) -> Iterator[pl.DataFrame]:
        """Give the rows of each share, of so many words."""
        for file in self.files:
            file.seek(0)
            rows = np.fromfile(file, dtype=np.uint64).reshape(-1, words)
            yield pl.DataFrame({f"w{i}": rows[:, i] for i in range(words)})


def count_lone(rows: Iterator[KeyWords], shares: int, *, owned: bool) -> int:
    """Count the rows whose key no other row has.

    Where rows are ``owned``, two more words say whose each is, and people are counted who have a
    row with a key that nobody else's rows have.
    """
    with ExitStack() as stack:
        opened = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(2 * shares)]
        keys, owners = SharedKeys(opened[:shares]), SharedKeys(opened[shares:])
        for words in rows:
            keys.add(words)
        if not owned:
            return sum(
                share.group_by("w0", "w1").len().filter(pl.col("len") == 1).height
                for share in keys.shares(2)
            )
        alone = (pl.col("w2").n_unique() == 1) & (pl.col("w3").n_unique() == 1)
        for share in keys.shares(4):
            found = share.group_by("w0", "w1").agg(pl.col("w2", "w3").first(), alone=alone)
            owners.add(found.filter("alone").select("w2", "w3").unique().to_numpy().T)
        return sum(share.n_unique() for share in owners.shares(2))
