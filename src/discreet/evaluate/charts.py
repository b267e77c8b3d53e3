"""The library for charts, which is an extra."""

from __future__ import annotations

from typing import Any

from discreet.errors import SchemaError


def require_charts() -> Any:
    """Give altair, or say how to get it."""
    try:
        import altair
    except ImportError as error:
        raise SchemaError(
            "Charts need a library that is not installed.",
            hint="pip install 'discreet[charts]'",
        ) from error
    return altair
