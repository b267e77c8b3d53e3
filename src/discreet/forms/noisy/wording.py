"""What a noisy release promises and leaves open, in words, and what its rows are."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.principles.base import Principle
from discreet.release import Promise, number_title

COUNTED = (
    "One row per combination of cells of {names}, whether anybody has it or not: `{count}` is how "
    "many people have it, plus noise; `{fitted}` is made of it to agree with the other tables, and "
    "never below 0."
)
LISTED = "One row per cell of an attribute: the first and the last value that it stands for."
OPEN = (
    "Who is in the table, and what somebody's values are, beyond that: taking out, or adding, one "
    "person changes how likely this release is by e^ε times at most, changing a person's values by "
    "e^2ε, and so a belief of somebody who knows all others.",
    "What follows from several releases of these people: their ε add up, and of releases that are "
    "drawn by no differential privacy nothing is said.",
    "What is true of people who belong together, such as a household: for so many of them ε counts "
    "as often.",
    "What values can be and which of them go into one cell, and which attributes are counted "
    "together: that was declared, without a look at the table, or it tells of people.",
    "How a table was chosen or cleaned: rows left out before, and publications that were refused.",
)


def word_noisy(
    principle: Principle, marginals: Sequence[Sequence[str]], count: str, fitted: str
) -> tuple[Promise, dict[str, str]]:
    """Put a promise of noisy counts into words; and say what one row is."""
    opened = (*principle.all_left_open, *OPEN)
    about = {
        number_title("marginal", place): COUNTED.format(
            names=", ".join(names), count=count, fitted=fitted
        )
        for place, names in enumerate(marginals)
    }
    return Promise(principle, principle.promise, opened), {**about, "public_cells": LISTED}
