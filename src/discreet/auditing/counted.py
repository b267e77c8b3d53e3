"""Counted: how sure an adversary is of values that a principle protects, others left aside."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.auditing.wording import say_share
from discreet.forms.posterior import Posterior
from discreet.principles.base import Principle
from discreet.principles.thresholds import require_named
from discreet.table.people import Persons


@dataclass(frozen=True)
class Counted:
    """Values that nothing asked protects, and the largest belief in any other."""

    left_out: dict[str, tuple[str, ...]]
    """Per sensitive attribute its values that do not count."""
    beliefs: dict[str, Fraction]
    """Per sensitive attribute the largest belief of anyone in a value that does."""

    @property
    def worst(self) -> Fraction:
        """The largest of these."""
        return max(self.beliefs.values())

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain values."""
        beliefs = {name: float(belief) for name, belief in self.beliefs.items()}
        left_out = {name: list(values) for name, values in self.left_out.items()}
        return {"left_out": left_out, "max_belief": float(self.worst), "beliefs": beliefs}

    def __str__(self) -> str:
        named = "; ".join(f"{name}: {', '.join(vs)}" for name, vs in self.left_out.items())
        return (
            f"Of values that count as sensitive: {say_share(self.worst)}. Left out "
            f"of that, and protected by nothing: {named}."
        )


def find_counted(
    told: dict[str, list[Posterior]],
    asked: Principle,
    certain: Collection[str],
    persons: Persons | None,
) -> Counted | None:
    """Measure beliefs in values that count; nothing where all do.

    Of people with several rows they are bounded by as many times those of rows. Thresholds for
    values that the release does not hold are refused: they may be misspelt.
    """
    left_out, beliefs = {}, {}
    for name, views in told.items():
        parts = list_parts_about(asked, name)
        for part in (part for part in parts if part.named_values):
            require_named(part, {name: views[0].found.view.bags(name).domain}, [name])
        named = dict.fromkeys(value for part in parts for value in part.named_values)
        out = tuple(value for value in named if not any(part.counts(value) for part in parts))
        if out:
            left_out[name] = out
        most = Fraction(1) if name in certain else max(_ask(v, out) for v in views)
        beliefs[name] = min(Fraction(1), most * (1 if persons is None else persons.most_rows))
    return Counted(left_out, beliefs) if left_out else None


def list_parts_about(asked: Principle, name: str) -> list[Principle]:
    """List what is asked of the values of one sensitive attribute, in the release itself."""
    return [p for p in asked.parts if p.reads_values and not p.joins and p.on in (None, name)]


def _ask(view: Posterior, out: tuple[str, ...]) -> Fraction:
    if not out:
        return view.worst()
    texts = view.found.view.bags(view.name).domain.texts
    return view.worst_among(np.array([text not in out for text in texts]))
