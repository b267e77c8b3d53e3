"""What a swapped release promises and leaves open, in words, and what its rows are."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.forms.wording import word_several
from discreet.principles.base import Principle
from discreet.release import Promise, number_title

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
SEVERAL = (
    "One row per person, with exact quasi-identifiers. Each sensitive number in a row is the "
    "person's own or, mostly, that of somebody near in rank with whom it was exchanged, every "
    "number with another."
)
APART = (
    "What is said of {names} holds also against somebody who knows {others} of everybody: each is "
    "exchanged by itself."
)
OPEN = (
    "Quasi-identifiers are exact: anyone can tell whether a person is in the table.",
    "How likely a number is. The windows bound which numbers are possible, not how likely each is: "
    "who is late finds few partners left and often keeps the own number, which is the likeliest.",
    "What someone learns who already knows the sensitive numbers of other people.",
    "What follows from joining this release with others about the same people.",
)


def word_swapped(principle: Principle, sensitive: Sequence[str]) -> tuple[Promise, dict[str, str]]:
    """Put a promise of exchanged numbers into words; and say what one row of each table is."""
    apart, opened = word_several(principle, [[name] for name in sensitive], APART, "")
    promise = Promise(principle, " ".join([principle.promise, *apart]), (*OPEN, *opened))
    if len(sensitive) < 2:
        return promise, dict(ABOUT)
    about = {"swapped": SEVERAL}
    for i, name in enumerate(sensitive):
        about[number_title("windows", i)] = f"{name}: {ABOUT['windows']}"
    return promise, about
