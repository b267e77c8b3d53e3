"""What a sliced release promises and leaves open, in words, and what its rows are."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.forms.sliced.tied import Tied, find_tied
from discreet.forms.wording import BLIND, REDRAWN, word_several
from discreet.principles.base import Principle
from discreet.release import Promise

ABOUT = (
    "As many rows per `{own}` as people. Values of the attributes of one column ({columns}) stand "
    "together as people have them{regions}; which values of different columns belong to one person "
    "is not told: within a bucket, each column is sorted by itself. {tied}A row is nobody's record."
)
TIED = "Those of {columns} belong together only if they show the same {names}. "
REGIONS = ", quasi-identifiers by regions that at least {frequency} people are in"
EXACTLY = (
    "That somebody in the table has certain values of one column: columns are published as they "
    "are. A column value that nobody else has may tell that its person is in the table."
)
BY_REGION = "That somebody in the table is in a certain region of one column."
OTHERS = "What someone learns who already knows the sensitive values of other people in the bucket."
CHOSEN = "What someone works out who compares buckets, or knows how they were chosen."
COMPARED = "What someone works out who compares buckets."
JOINED = "What follows from joining this release with others about the same people."
BLIND_BUCKETS = BLIND.format(groups="buckets", held="buckets hold")
APART = (
    "What is said of {names} holds also against somebody who knows {others} of everybody: they "
    "stand in different columns."
)
TOGETHER = (
    "What someone who knows one of {names} learns of the others: they stand together as people "
    "have them."
)
PRINTED = (
    "The paper's check was asked for. Somebody who knows the quasi-identifiers of everybody can "
    "rule out buckets, and may even be certain of a person's value; the audit says for whom."
)


def word_sliced(
    principle: Principle,
    columns: Sequence[Sequence[str]],
    sensitive: Sequence[str],
    frequency: object,
    check: object,
    own: str,
    *,
    blind: bool = False,
) -> tuple[Promise, dict[str, str]]:
    """Put a promise of buckets into words; and say what the rows are.

    ``own`` is the column of buckets, which are ``blind`` if it tells nothing how they were found.
    """
    said = [part.promise for part in principle.parts if part.reads_values]
    if principle.look_alikes > 1:  # people share a bucket, and look like nobody
        said.append(f"Every bucket holds at least {principle.look_alikes} people.")
    opened = principle.all_left_open
    if check == "paper":
        opened = (PRINTED, *opened)
        said.append("This is said of somebody who knows the quasi-identifiers of one person.")
    told = [[name for name in column if name in sensitive] for column in columns]
    apart, together = word_several(principle, [t for t in told if t], APART, TOGETHER)
    said += [*apart, *([BLIND_BUCKETS] if blind else [])]
    last = (OTHERS, *((COMPARED, REDRAWN) if blind else (CHOSEN,)), JOINED)
    regions, seen = "", EXACTLY
    if frequency != 1:
        regions, seen = REGIONS.format(frequency=frequency), BY_REGION
    words = "; ".join(", ".join(column) for column in columns)
    promise = Promise(principle, " ".join(said), (*opened, seen, *together, *last))
    shared, tied = find_tied(columns) or Tied(), ""
    if shared.names:
        sharing = " and ".join(f"({', '.join(columns[place])})" for place in shared.places)
        tied = TIED.format(columns=sharing, names=", ".join(shared.names))
    return promise, {"sliced": ABOUT.format(own=own, columns=words, regions=regions, tied=tied)}
