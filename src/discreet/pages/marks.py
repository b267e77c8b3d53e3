"""Marks: every method has one colour and one shape, on all pages and charts."""

from __future__ import annotations

import hashlib
from typing import NamedTuple


class Mark(NamedTuple):
    """How a method is drawn: told apart by colour-blind people, and in print by its shape."""

    colour: str
    shape: str
    """As Vega calls it."""


MARKS = {
    "generalization": Mark("#0072B2", "circle"),
    "full-domain": Mark("#56B4E9", "square"),
    "sequential": Mark("#8B6FD0", "diamond"),
    "republication": Mark("#117733", "square"),
    "angelization": Mark("#D55E00", "triangle-up"),
    "invariant-angelization": Mark("#882255", "triangle-up"),
    "anatomy": Mark("#E69F00", "triangle-down"),
    "slicing": Mark("#009E73", "cross"),
    "permutation": Mark("#CC79A7", "triangle-right"),
    "rank-swapping": Mark("#A6761D", "triangle-left"),
    "perturbation": Mark("#7A7A7A", "circle"),
    "apriori": Mark("#332288", "diamond"),
    "noisy-marginals": Mark("#999933", "triangle-up"),
}
"""Seven colours are Okabe and Ito's (2008), four Tol's (2021); all are seen on white and dark."""
OTHERS = (Mark("#1B9E77", "square"), Mark("#E7298A", "diamond"), Mark("#66A61E", "cross"))
"""For methods that come from elsewhere."""
GLYPHS = {"circle": "●", "square": "■", "diamond": "◆", "cross": "✚", "triangle-up": "▲",
          "triangle-down": "▼", "triangle-right": "▶", "triangle-left": "◀"}  # fmt: skip
"""The shapes as characters, for tables and sentences."""


def find_mark(method: str) -> Mark:
    """Give the mark of a method, always the same one.

    >>> find_mark("slicing").shape
    'cross'
    """
    number = int.from_bytes(hashlib.sha256(method.encode()).digest()[:4], "big")
    return MARKS.get(method, OTHERS[number % len(OTHERS)])
