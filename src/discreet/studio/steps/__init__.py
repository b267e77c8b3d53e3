"""The steps of the journey, listed here and nowhere else.

A step NAME is ``steps/NAME.py`` with its ``routes``, the first of them its page at ``/NAME``;
``work/NAME.py`` with what workers do for it; and the folder ``templates/NAME``.
"""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

from starlette.routing import Route


class JourneyStep(NamedTuple):
    """One step of the journey."""

    name: str
    """Its module, its folder of templates, and its address."""
    title: str
    said: str
    """What one does there, in a few words."""
    needs_plan: bool = True
    """Whether a table must be open."""


STEPS = (
    JourneyStep("open", "Open", "a table, and say what its columns are", needs_plan=False),
    JourneyStep("hierarchies", "Hierarchies", "name groups of values"),
    JourneyStep("promise", "Promise", "what nobody will learn"),
    JourneyStep("choose", "Choose", "try methods side by side"),
    JourneyStep("publish", "Publish", "look at a release, then write it"),
    JourneyStep("audit", "Audit", "who is at risk, and evidence to sign", needs_plan=False),
    JourneyStep("ask", "Ask", "a release, as an analyst does", needs_plan=False),
    JourneyStep("history", "History", "what was published, and what it tells", needs_plan=False),
)


def list_routes() -> list[Route]:
    """Give the pages of all steps."""
    found: list[Route] = []
    for step in STEPS:
        found += import_module(f"{__name__}.{step.name}").routes
    return found
