"""Errors that a person can act on: what was found, what was asked for, what to do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that a terminal obeys instead of showing them."""
DAMAGED = "Give the folder that discreet wrote, unchanged, or get it again from its publisher."
"""What to do about a release that does not say what a release says."""


def visible(text: str) -> str:
    r"""Spell out characters by which a name or a value could command a terminal.

    >>> print(visible("red: \x1b[31m"))
    red: \u001b[31m
    """
    return UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class DiscreetError(Exception):
    """Root of all errors discreet raises on purpose.

    >>> print(DiscreetError("Column 'agee' is not in the table.", hint="Did you mean 'age'?"))
    Column 'agee' is not in the table.
    Hint: Did you mean 'age'?
    """

    exit_code = 2

    def __init__(self, message: str, *, hint: str | None = None, subject: object = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.subject = subject

    def __str__(self) -> str:
        return f"{self.message}\nHint: {self.hint}" if self.hint else self.message


class SchemaError(DiscreetError):
    """A column, role or type does not fit the table or the request."""


class TaxonomyError(DiscreetError):
    """A taxonomy is not a tree over the values it must cover."""


class MicrodataError(DiscreetError):
    """A cell, column or file cannot be read as what the schema says it is."""


class PlanError(DiscreetError):
    """A plan does not say what to do, or says it wrongly."""


class StoreError(DiscreetError):
    """A release cannot be written to, or read from, a folder."""


class QueryError(DiscreetError):
    """A question cannot be answered from a release."""


class ClusterError(DiscreetError):
    """A cluster cannot be reached, or does not run what it is asked to."""


class PromiseError(DiscreetError):
    """The data cannot keep the promise, or the release on disk does not."""

    exit_code = 1


def list_problems(problems: list[str], most: int = 5) -> str:
    """List problems one per line, the first few of them.

    >>> print(list_problems(["a", "b", "c"], most=2))
      - a
      - b
      … and 1 more
    """
    lines = [f"  - {problem}" for problem in problems[:most]]
    rest = len(problems) - most
    return "\n".join([*lines, f"  … and {rest} more"] if rest > 0 else lines)


def name_closest(name: str, known: list[str]) -> str:
    """Suggest the known name that was probably meant.

    >>> name_closest("educaton", ["age", "education"])
    "Did you mean 'education'? Known: 'age', 'education'."
    """
    from difflib import get_close_matches

    listed = "Known: " + ", ".join(repr(k) for k in known) + "."
    close = get_close_matches(name, known, n=1)
    return f"Did you mean {close[0]!r}? {listed}" if close else listed


@contextmanager
def explaining(say: Callable[[BaseException], DiscreetError]) -> Iterator[None]:
    """Take whatever fails, be it that native code panics, as the error that says so.

    What is one already, interrupts, exits and too little memory stay what they are.
    """
    try:
        yield
    except (DiscreetError, MemoryError):
        raise
    except BaseException as error:
        failed = isinstance(error, Exception) or type(error).__name__ == "PanicException"
        if not failed or is_interrupt(error):
            raise
        raise say(error) from error


def is_interrupt(error: BaseException) -> bool:
    """Whether somebody interrupted, be it that native code caught it and says so otherwise."""
    said = ("KeyboardInterrupt", "Query interrupted")  # a panic about it; DuckDB's RuntimeError
    return isinstance(error, KeyboardInterrupt) or any(text in str(error) for text in said)
