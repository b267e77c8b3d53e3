"""What a swapped release promises and leaves open, in words, and what its rows are."""

from __future__ import annotations

from discreet.principles.base import Principle
from discreet.release import Promise

ABOUT = {
    "swapped": (
        "One row per person, with exact quasi-identifiers. The sensitive number in a row is the "
        "person's own or, mostly, that of somebody near in rank with whom it was exchanged."
    ),
    "windows": (
        "One row per number shown: the person's own lies between `low` and `high`. It follows "
        "from the swapped table and (k,e) alone."
    ),
}
OPEN = (
    "Quasi-identifiers are exact: anyone can tell whether a person is in the table.",
    "How likely a number is. The windows bound which numbers are possible, not how likely each is: "
    "who is late finds few partners left and often keeps the own number, which is the likeliest.",
    "What someone learns who already knows the sensitive numbers of other people.",
    "What follows from joining this release with others about the same people.",
)


def word_swapped(principle: Principle) -> tuple[Promise, dict[str, str]]:
    """Put a promise of exchanged numbers into words; and say what one row of each table is."""
    return Promise(principle, principle.promise, OPEN), dict(ABOUT)
