"""Noise: what counts with noise do to releases about the same people.

How likely noisy counts make a person's values changes by a factor that their ε bounds. What they do
to a belief that another release leaves is not counted: that promise may fail, and is told to.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from discreet.auditing.composed import Composed
from discreet.forms import find_form
from discreet.principles.base import demands, part_joins, ratio
from discreet.principles.differential import DifferentialPrivacy
from discreet.release import Release

Titled = tuple[str, Release]
WHY = "what noisy counts make likelier is bounded by their ε, and no belief is"


def set_apart(
    new: Titled, earlier: Sequence[Titled], people: int
) -> tuple[list[Titled], list[Composed], list[str]]:
    """Give the releases that a new one can be put together with, what may fail, and notes.

    Counts with noise are put together with nothing: what other releases promise of values that are
    counted, of so many ``people``, nobody can say to hold beside them. Their own ε add up.
    """
    noisy = [one for one in (new, *earlier) if not find_form(one[1].form).shows_people]
    if not noisy:
        return list(earlier), [], []
    total = float(add_epsilons([held for _, held in noisy]))
    titles = " and ".join(title for title, _ in noisy)
    notes = [f"{titles}: their ε add up to {total:g}"] if len(noisy) > 1 else []
    others = [one for one in earlier if find_form(one[1].form).shows_people]
    if not find_form(new[1].form).shows_people:
        pairs, left = [(other, new) for other in others], []
    else:
        pairs, left = [(new, one) for one in noisy], others
    doubts = [
        Composed(
            (new[0], title if counted[0] == new[0] else counted[0]), title, part, attribute,
            people, people, None, possible=True, why=WHY,
        )
        for (title, held), counted in pairs
        for alone in [part_joins(held.promise.over_rows)[0]]
        for part, attribute in (demands(alone, held.schema.sensitive) if alone else ())
        if attribute is not None and attribute in counted[1].schema.names
    ]  # fmt: skip
    return left, doubts, notes


def add_epsilons(releases: Sequence[Release]) -> Fraction:
    """Add up what releases spend that promise differential privacy, whoever is in which.

    Nobody's presence changes how likely all of them are by more than e to this power.
    """
    parts = [part for held in releases for part in held.promise.asked.parts]
    return sum((ratio(p.epsilon) for p in parts if isinstance(p, DifferentialPrivacy)), Fraction(0))
