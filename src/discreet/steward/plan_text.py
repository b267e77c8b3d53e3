"""Plan text: the file of a plan and the TOML in it, refused where reading on would take for ever.

What comes out of here is plain values, nested as deeply as plans are and no deeper.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from discreet.errors import PlanError
from discreet.files import read_text

LONGEST, MOST_BITS, DEEPEST = 2**22, 256, 100
"""Characters of a plan, bits of a whole number in it, and how far values may be nested."""
TOKEN = re.compile(
    r"""(?P<part>[A-Za-z0-9_-]++|"{3}(?:[^\\]|\\.)*?"{3}|'{3}.*?'{3}|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')
    |(?P<dot>[ \t]*+\.[ \t]*+) | (?P<open>["']) | \#[^\n]*+ | .""",
    re.VERBOSE | re.DOTALL,
)
"""A part of a key, or a text; what joins parts; a text without an end; and anything else."""


def read_plan_text(path: Path) -> str:
    """Read the text of a plan from its file."""
    try:
        return read_text(path)
    except OSError as error:
        raise PlanError(
            f"{path}: cannot be read ({error.strerror}).",
            hint="Write one with: discreet inspect FILE.",
        ) from error
    except ValueError as error:
        raise _refuse(path, error) from error


def parse_plan(text: str, path: Path) -> dict[str, Any]:
    """Read what the text of a plan says that lies, or is to lie, at a place."""
    if len(text) > LONGEST:
        raise PlanError(
            f"{path.name}: has {len(text):,} characters.",
            hint=f"Give a plan of at most {LONGEST:,}; taxonomies may lie in files of their own.",
        )
    if _has_long_key(text):
        raise _nested(path)
    try:
        written = tomllib.loads(text)
    except RecursionError as error:
        raise _nested(path) from error
    except ValueError as error:
        raise _refuse(path, error) from error
    _refuse_extremes(written, path)
    return written


def _has_long_key(text: str) -> bool:
    """Whether a key has so many parts; reading one takes the square of their number."""
    if all(line.count(".") <= DEEPEST for line in text.split("\n")):
        return False
    parts = 0
    for token in TOKEN.finditer(text):
        if token.lastgroup == "open":  # nothing behind it will be read
            return False
        parts = 0 if token.lastgroup is None else parts + (token.lastgroup == "dot")
        if parts > DEEPEST:
            return True
    return False


def _refuse(path: Path, error: Exception) -> PlanError:
    return PlanError(
        f"{path.name}: not TOML ({error}).", hint="Quote texts and separate lists by commas."
    )


def _nested(path: Path) -> PlanError:
    return PlanError(
        f"{path.name}: its values are nested more than {DEEPEST} deep.",
        hint="Compare with a plan written by: discreet inspect FILE.",
    )


def _refuse_extremes(written: Any, path: Path, depth: int = 0) -> None:
    """Refuse whole numbers that nothing can count and that are too long to be shown, and depths."""
    if depth > DEEPEST:
        raise _nested(path)
    if isinstance(written, int) and written.bit_length() > MOST_BITS:
        raise PlanError(
            f"{path.name}: a whole number has {written.bit_length():,} bits.",
            hint=f"Give numbers of at most {MOST_BITS} bits.",
        )
    if isinstance(written, dict | list):
        for part in written.values() if isinstance(written, dict) else written:
            _refuse_extremes(part, path, depth + 1)
