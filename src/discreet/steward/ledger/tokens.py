"""Tokens: people and their values by names that only the ledger's key makes.

A token is the keyed BLAKE2b (RFC 7693) of a person's key, of 128 bits; a value's is that of the
token and the value, of 64. Without the ledger's key nobody's token can be made, nor two people's
values compared. It is a MAC as HMAC-SHA256 is, and takes a third of its time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from discreet.errors import MicrodataError
from discreet.table.arrays import Ints
from discreet.table.microdata import representatives

if TYPE_CHECKING:
    from discreet.table.microdata import Microdata

TOKEN = np.dtype([("a", ">u8"), ("b", ">u8")])
"""128 bits, which sort as their bytes do."""


def name_people(data: Microdata, key: bytes) -> np.ndarray:
    """Give everybody's token, row by row."""
    assert data.keys is not None
    again = data.n - np.count_nonzero(np.bincount(data.keys[0]))
    if again:
        raise MicrodataError(
            f"{again:,} rows are of people who have another one.",
            hint='Say what is published of a person: rows = "one" or "fold".',
        )
    mac = blake2b(key=key, digest_size=TOKEN.itemsize, person=b"person")
    return np.frombuffer(_digest(mac, map(str.encode, spell_keys(data))), TOKEN)


def split(tokens: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Give the two halves of tokens as numbers of this machine, which it compares far faster."""
    return tokens["a"].astype(np.uint64), tokens["b"].astype(np.uint64)


def spell_keys(data: Microdata) -> pl.Series:
    """Give everybody's key as it is written, row by row."""
    assert data.keys is not None
    codes, domain = data.keys
    return pl.Series(domain.texts, dtype=pl.String).gather(codes)


def name_loosely(data: Microdata, key: bytes) -> Ints:
    """Give everybody a token of their key as somebody might write it otherwise.

    That is without case, blanks and signs, and without zeros in front.
    """
    plain = spell_keys(data).str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]", "")
    told = map(str.encode, plain.str.strip_chars_start("0"))
    return _read_numbers(_digest(blake2b(key=key, digest_size=8, person=b"loosely"), told))


def name_values(
    data: Microdata, names: Sequence[str], title: str, tokens: np.ndarray, key: bytes
) -> Ints:
    """Give everybody a token of their values of some attributes together."""
    number = data.number(names)
    first = representatives(number)
    start = title.encode()
    # with their lengths, or what one text ends with another might begin with
    texts = [b"".join(len(part).to_bytes(8, "big") + part for part in (
                 start, *(data.domains[n].texts[data.codes[n][row]].encode() for n in names)))
             for row in first.tolist()]  # fmt: skip
    packed, size = tokens.tobytes(), TOKEN.itemsize
    told = (packed[size * i : size * (i + 1)] + texts[of] for i, of in enumerate(number.tolist()))
    mac = blake2b(key=key, digest_size=8, person=b"value")
    return _read_numbers(_digest(mac, told))


def _read_numbers(digests: bytes) -> Ints:
    return np.frombuffer(digests, ">i8").astype(np.int64) & np.int64(2**63 - 1)


def _digest(mac: Any, messages: Iterable[bytes]) -> bytes:
    """Give the digests of messages, one behind the other.

    A MAC that was begun is copied in half the time that it takes to begin another.
    """

    def digest(message: bytes) -> bytes:
        made = mac.copy()
        made.update(message)
        return bytes(made.digest())

    return b"".join(map(digest, messages))
