"""Forms: what anyone can do with a release. A folder per form, and one registry of them.

To add one: a folder here, or a package of your own that names it under the entry points
``discreet.forms``. Everything else asks the form.
"""

from __future__ import annotations

from functools import cache

from discreet.errors import StoreError
from discreet.forms.base import Form, View
from discreet.release.registry import find_kinds


@cache
def list_forms() -> dict[str, Form]:
    """Give every form by its name."""
    kinds = find_kinds(__name__, Form, folders=True)  # type: ignore[type-abstract]
    return {kind.name: kind() for kind in kinds}


def find_form(name: str) -> Form:
    """Give a form by the name that a manifest has for it."""
    if name not in list_forms():
        raise StoreError(
            f"There is no way to read a {name!r} release.",
            hint="Install the version of discreet, or the package, that wrote it.",
        )
    return list_forms()[name]


__all__ = ["Form", "View", "find_form", "list_forms"]
