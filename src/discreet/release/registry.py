"""Registry: forms and methods are found by the names that stand in plans and manifests.

Whatever lies in its room is found by itself; so is what another package names as an entry point.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from inspect import isabstract
from pkgutil import iter_modules
from typing import TypeVar

Part = TypeVar("Part")


def find_kinds(room: str, base: type[Part], *, folders: bool = False) -> list[type[Part]]:
    """List the classes of a kind that are defined in the parts of a room, and in other packages.

    Other packages name theirs under entry points that are called like the room. Where every kind
    has a folder, nothing else of the room is imported.
    """
    found: list[type[Part]] = []
    for part in iter_modules(import_module(room).__path__):
        if folders and not part.ispkg:
            continue
        module = import_module(f"{room}.{part.name}")
        found += [
            kind for kind in vars(module).values() if _is_made_in(module.__name__, kind, base)
        ]
    found += [point.load() for point in entry_points(group=room)]
    return found


def _is_made_in(module: str, kind: object, base: type) -> bool:
    if not isinstance(kind, type) or not issubclass(kind, base) or isabstract(kind):
        return False
    return f"{kind.__module__}.".startswith(f"{module}.")
