"""Words that forms share: several rows, several sensitive attributes, who is in a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from discreet.principles.base import Principle
from discreet.principles.parts import PartBound
from discreet.release import OfPeople, Promise, Release

ENDS = (None, "tight", "cuts")
"""Where boxes end: at values of their people, which need not be said, or at cuts."""
TIGHT = (
    "Whether a person is in the table: the ends of intervals and the values of sets are "
    "somebody's. Who knows everybody that it can be about is certain of whoever alone has one, and "
    "of all people of a box that covers no others."
)
CUTS = (
    "Whether a person is in the table: of all people that a box covers, as many are in it as it "
    "has records; where it covers no others, all of them are known to be in it."
)
OUTERMOST = (
    "Which values of {names} are in the table, or the lowest and the highest of them: no public "
    "domain was given."
)

UNSEEN = (
    "That somebody's value changed: whoever changed it is in groups with other values than before, "
    "and both values are open to whoever takes them for one."
)
"""Where everybody keeps a signature."""
ESTIMATED = (
    "What this release tells together with earlier ones of the same people was estimated, not "
    "counted: a value may be likelier than promised to who has all of them."
)
"""Whatever the form, where a steward accepted that."""


LEARNED = (
    "Nor was it told with more by naive Bayes or by a regression that learned across groups: that "
    "is the publisher's word."
)
OTHER_MODELS = (
    "What another model learns across groups than those two: these were tried, nothing is proved "
    "of all. And groups were changed for who has what, which tells something to who knows how."
)


REDRAWN = (
    "What somebody works out who knows the method and has another release of these people that was "
    "made so: chance decides anew which groups there are, and what two of them show tells more "
    "than one."
)
BLIND = (
    "That holds against who knows how the {groups} were found, too: it follows from the "
    "quasi-identifiers, from what {held}, and from chance. That they were found so is the "
    "publisher's word."
)
RESISTED = (None, "method")
"""What may be published of whom groups were found to resist."""


def resists_method(parameters: Mapping[str, object]) -> bool:
    """Whether it is said that to know the method tells nothing more."""
    return parameters.get("resist") == "method"


def find_unresisting(principle: Principle) -> list[str]:
    """Say of which parts of a promise no groups are known that resist who knows the method."""
    return [
        f"no groups are known to tell nothing by how they were found under {part}"
        for part in principle.parts
        if part.reads_values and not isinstance(part, PartBound)
    ]


def resists_learning(parameters: Mapping[str, object]) -> bool:
    """Whether it is said that groups were held against who learns across them."""
    return parameters.get("resist") == "learning"


def word_presence(ends: object, own: Sequence[str]) -> list[str]:
    """Say it of boxes that end so; ``own`` are attributes of no public domain."""
    if ends != "cuts":
        return [TIGHT]
    return [CUTS, *([OUTERMOST.format(names=", ".join(own))] if own else [])]


PAIRS = (
    "What someone learns who knows which values of {names} go together: what each of them tells "
    "then tells of the others."
)


def word_several(
    principle: Principle, told: Sequence[Sequence[str]], apart: str, together: str
) -> tuple[list[str], list[str]]:
    """Say of several sensitive attributes what is promised besides, and what is left open.

    ``told`` lists those that are told together, each time.
    """
    names = [name for part in told for name in part]
    if any(len(part) > 1 for part in told):
        return [], [together.format(names=", ".join(part)) for part in told if len(part) > 1]
    about = [part.on for part in principle.parts if part.reads_values]
    said_of = names if None in about else [name for name in names if name in about]
    if len(names) < 2 or not said_of:
        return [], []
    others = [name for name in names if name not in said_of]
    others = ["the others"] if len(said_of) > 1 else others
    said = apart.format(names=", ".join(said_of), others=", ".join(others))
    return [said], [PAIRS.format(names=", ".join(names))]


def read_presence(release: Release) -> list[str]:
    """Say it of a published release."""
    names = release.schema.quasi_identifiers
    own = [name for name in names if not release.recodings[name].public]
    return word_presence(release.parameters.get("ends", "tight"), own)


ROWS = (
    "What follows from how the rows of a person go together: who knows that all of them have the "
    "same value, or which values come together, learns more.",
    "Which values somebody with many rows has, as a matter of course: the more rows, the likelier "
    "any value is among them. What is promised is said of whoever has most.",
)
CLUSTERS = (
    "What is true of all people of a cluster: they count as one among those who look the same, and "
    "what is told of one of them may be told of all."
)
ONE_ROW = "One row per person"


def word_people(
    promise: Promise, about: dict[str, str], people: OfPeople
) -> tuple[Promise, dict[str, str]]:
    """Say of people what a promise about rows means, and that rows are not people."""
    each = f"who have up to {people.rows:,} rows each" if people.rows > 1 else "one row each"
    if people.together > people.rows:
        each += f" and count as one with those of their cluster, up to {people.together:,} rows"
    said = f"Of people, {each}: {promise.guarantee}"
    if promise.principle != people.principle:
        said = f"Of people, {each}: {people.principle.promise} Of single rows: {promise.guarantee}"
    more = (*(ROWS if people.rows > 1 else ()),
            *([CLUSTERS] if people.together > people.rows else ()))  # fmt: skip
    row = "One row per row of the microdata" if people.rows > 1 else ONE_ROW
    rows = {title: text.replace(ONE_ROW, row) for title, text in about.items()}
    worded = Promise(promise.principle, said, (*promise.leaves_open, *more), people)
    return worded, rows
