"""What a perturbed release promises and leaves open, in words, and what its rows are."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.forms.wording import word_several
from discreet.principles.base import Principle
from discreet.release import Promise

ABOUT = {
    "perturbed": (
        "One row per person, with exact quasi-identifiers. The sensitive number in a row is the "
        "person's own with probability `retention`, else any number of the domain, all equally "
        "likely."
    )
}
SEVERAL = (
    "One row per person, with exact quasi-identifiers. Each sensitive number in a row is the "
    "person's own with its probability `retention`, else any number of its domain, all equally "
    "likely; every number is drawn by itself."
)
APART = (
    "What is said of {names} holds also against somebody who knows {others} of everybody: each is "
    "perturbed by itself."
)
OPEN = (
    "Quasi-identifiers are exact: anyone can tell whether a person is in the table.",
    "The promise is about somebody who knows how the numbers of the whole table are distributed, "
    "or all of these numbers, but not whose they are. Who knows how they are among people like the "
    "one sought, or the numbers of other people, may believe more.",
    "What follows from joining this release with others about the same people: a number that was "
    "perturbed twice and comes out the same is the person's own.",
)
AVERAGE = (
    "Equation 3 bounds the chance on average over the numbers shown near the truth. Who reads the "
    "very number shown, or the whole table, may believe more; the audit says how much."
)


def word_perturbed(
    principle: Principle, check: object, sensitive: Sequence[str]
) -> tuple[Promise, dict[str, str]]:
    """Put a promise of perturbed numbers into words; and say what one row is."""
    apart, opened = word_several(principle, [[name] for name in sensitive], APART, "")
    opened = [*([] if check == "safe" else [AVERAGE]), *OPEN, *opened]
    said = " ".join([principle.promise, *apart])
    promise = Promise(principle, said, (*principle.all_left_open, *opened))
    return promise, {"perturbed": SEVERAL} if len(sensitive) > 1 else dict(ABOUT)
