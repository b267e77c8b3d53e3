"""Fields: what forms of pages say, read as what it must be."""

from __future__ import annotations

from starlette.datastructures import FormData

LONGEST_NUMBER = 15


def is_whole(text: str) -> bool:
    """Whether a text is a whole number of a size that anything is counted in.

    >>> is_whole("12"), is_whole("-1"), is_whole("1.5"), is_whole("9" * 5000)
    (True, False, False, False)
    """
    return text.isascii() and text.isdecimal() and len(text) < LONGEST_NUMBER


def read_place(form: FormData) -> int:
    """Read which one of a list is meant; what is no number is in no list."""
    text = str(form.get("number", ""))
    return int(text) if is_whole(text) else -1
