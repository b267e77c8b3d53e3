"""What a permuted release promises and leaves open, in words, and what its rows are."""

from __future__ import annotations

from discreet.principles.base import Principle
from discreet.release import Promise

ABOUT = {
    "permuted": (
        "One row per person, with exact quasi-identifiers. The sensitive value in a row is that "
        "of some person of the same `group`, drawn at random."
    ),
    "help": (
        "One row per `group` and number of `hits`: bounds of the sum, the smallest and the largest "
        "value of so many people of the group, and the mean and variance of their sum. It follows "
        "from the permuted table alone."
    ),
}
OPEN = (
    "Quasi-identifiers are exact: anyone can tell whether a person is in the table.",
    "How likely a value is. The groups bound which values are possible; one of them may be far "
    "likelier than the rest. The audit measures it.",
    "What someone learns who already knows the sensitive values of other people in the group.",
    "What follows from joining this release with others about the same people.",
)


def word_permuted(principle: Principle) -> tuple[Promise, dict[str, str]]:
    """Put a promise of shuffled numbers into words; and say what one row of each table is."""
    return Promise(principle, principle.promise, OPEN), dict(ABOUT)
