"""What a recoded release promises and leaves open, in words, and what its rows are."""

from __future__ import annotations

from discreet.principles.base import Principle
from discreet.release import Promise
from discreet.table.item_sets import EMPTY
from discreet.table.schema import Attribute

ABOUT = {
    "transactions": (
        "One row per person, with the person's set of items in `{name}`, separated by `{sign}`; "
        "`{empty}` is a set that shows none."
    ),
    "items_of_labels": (
        "One row per item that a label of `transactions` stands for: whoever has any of these "
        "shows the label. Whether anybody has a certain one is not told."
    ),
}
LABELLED = " An item that `items_of_labels` lists shows its label."
SUPPRESSED = (
    "That there are items which too few people have, or which tell too much: {count} are left out "
    "of all sets. Which ones is not told, nor who has them."
)
OPEN = (
    "Which items people have that no one knows, as far as sets show them: they are published, "
    "and of rows that fit what somebody knows all others are seen.",
    "What someone learns who already knows the items of other people.",
    "What someone works out who knows how labels were chosen: that finer ones were refused tells "
    "that some combination of items is rare.",
    "What follows from joining this release with others about the same people.",
)


def word_recoded(
    principle: Principle, attribute: Attribute, suppressed: int, *, labels: bool
) -> tuple[Promise, dict[str, str]]:
    """Put a promise about sets of items into words; and say what one row is."""
    left_out = [SUPPRESSED.format(count=suppressed)] if suppressed else []
    opened = (*principle.all_left_open, *left_out, *OPEN)
    told = {"name": attribute.name, "sign": attribute.separator, "empty": EMPTY}
    about = {title: text.format(**told) for title, text in ABOUT.items()}
    if labels:
        about["transactions"] += LABELLED
    else:
        del about["items_of_labels"]
    return Promise(principle, principle.promise, opened), about
