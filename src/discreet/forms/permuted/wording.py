"""What a permuted release promises and leaves open, in words, and what its rows are."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.forms.wording import LEARNED, OTHER_MODELS, word_several
from discreet.principles import KE
from discreet.principles.base import Principle
from discreet.release import Promise, number_title

ABOUT = {
    "permuted": (
        "One row per person, with exact quasi-identifiers. The sensitive value in a row is that "
        "of some person of the same `{own}`, drawn at random."
    ),
    "help": (
        "One row per `{own}` and number of `hits`: bounds of the sum, the smallest and the largest "
        "value of so many people of the group, and the mean and variance of their sum. It follows "
        "from the permuted table alone."
    ),
}
SEVERAL = (
    "One row per person, with exact quasi-identifiers. Each sensitive value in a row is that of "
    "some person of the same group, drawn at random and independently: {groups}."
)
APART = (
    "What is said of {names} holds also against somebody who knows {others} of everybody: each is "
    "shuffled by itself."
)
OPEN_SEVERAL = (
    "Which group a person is in for one sensitive number and which for another: a row shows both.",
)
PRESENCE = "Quasi-identifiers are exact: anyone can tell whether a person is in the table."
UNLIKELY = (
    "How likely a value is. The groups bound which values are possible; one of them may be far "
    "likelier than the rest. The audit measures it."
)
OPEN = (
    "What someone learns who already knows the sensitive values of other people in the group.",
    "What follows from joining this release with others about the same people.",
)


def word_permuted(
    principle: Principle, sensitive: Sequence[str], groups: Sequence[str], *, learning: bool = False
) -> tuple[Promise, dict[str, str]]:
    """Put a promise of shuffled numbers into words; and say what one row of each table is.

    ``groups`` are the columns of groups, one for each number; ``learning`` is whether they resist
    who learns across them.
    """
    apart, besides = word_several(principle, [[name] for name in sensitive], APART, "")
    said = " ".join([principle.promise, *apart, *([LEARNED] if learning else [])])
    bounding = [part.leaves_open for part in principle.parts if not isinstance(part, KE)]
    likely = dict.fromkeys(bounding or [UNLIKELY])
    models = (OTHER_MODELS,) if learning else ()
    opened = (PRESENCE, *likely, *models, *OPEN, *(OPEN_SEVERAL if apart else ()), *besides)
    if len(sensitive) < 2:
        about = {title: text.format(own=groups[0]) for title, text in ABOUT.items()}
        return Promise(principle, said, opened), about
    named = ", ".join(f"`{g}` for {name}" for g, name in zip(groups, sensitive, strict=True))
    about = {"permuted": SEVERAL.format(groups=named)}
    for i, name in enumerate(sensitive):
        about[number_title("help", i)] = f"{name}: {ABOUT['help'].format(own=groups[0])}"
    return Promise(principle, said, opened), about
