"""What a generalized release promises and leaves open, in words, and what its rows are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from discreet.forms.wording import BLIND, REDRAWN, UNSEEN
from discreet.principles import KAnonymity, MInvariance
from discreet.principles.base import Principle
from discreet.principles.linking import Linking
from discreet.release import Promise

ABOUT = (
    "One row per person. Rows with the same `{own}` show the same values on all "
    "quasi-identifiers; `*` means any value."
)
OTHERS = "What someone learns who already knows the sensitive values of other people in the group."
CHOSEN = (
    "What someone works out who knows how the groups were chosen: that finer ones were refused "
    "can make a value a little likelier than promised (minimality attack)."
)
JOINED = "What follows from joining this release with others about the same people."
BLIND_GROUPS = BLIND.format(groups="groups", held="each group holds")
MIXED = (
    "Boxes of different groups may overlap. The promise is about somebody who knows which group a "
    "person is in; who does not mixes several groups, and may find a neighbourhood up to twice as "
    "likely as promised. Ask for twice the m where that matters."
)
EXACT = (
    "Who somebody is, to whom knows more than X: {names} are published as they are, because no "
    "promise here is about them."
)
LEFT_OUT = (
    "That somebody stands apart: {count} rows of the microdata are left out. Who knows that a "
    "person is in the microdata and finds no box for them knows that they are one of these; of "
    "their values it tells nothing."
)
BLANKED = (
    "That somebody stands apart: {count} rows show * where their group differs. Who knows all "
    "people knows whose these are; what is promised holds for them as for all others."
)
LOSSY = (
    "Who can tell by more than the attributes that tables share which of their rows are one "
    "person's: the join is lossy only as long as nobody does.",
    "What follows from releases that were not given as earlier ones.",
)


FAKED = (
    "One row per class that has counterfeits, records of nobody, and how many: somebody's value "
    "was missing in the class. Which records these are is not told."
)
SIGNED = (
    "Boxes of different groups may overlap. Whichever of them is a person's, it has at least as "
    "many values as promised, each as likely as the others."
)


def word_suppressed(parameters: Mapping[str, object]) -> list[str]:
    """Say what it tells that people were suppressed, where some were."""
    said = []
    if parameters.get("left_out"):
        said.append(LEFT_OUT.format(count=parameters["left_out"]))
    if parameters.get("blanked"):
        said.append(BLANKED.format(count=parameters["blanked"]))
    return said


def word_generalized(
    principle: Principle,
    known: Sequence[str],
    presence: Sequence[str],
    own: str,
    counterfeits: int = 0,
    *,
    blind: bool = False,
) -> tuple[Promise, dict[str, str]]:
    """Put a promise of people in boxes into words; and say what one row is.

    ``presence`` is what boxes leave open about who is in the table, ``own`` the column of classes,
    ``counterfeits`` how many records are nobody's; ``blind`` are groups that were found without
    regard to whose values are whose.
    """
    links = [part for part in principle.parts if isinstance(part, Linking)]
    first, then, said = [], LOSSY if links else (), ""
    if any(isinstance(part, MInvariance) for part in principle.parts):
        first = [SIGNED, UNSEEN]
    elif blind:
        said = f" {BLIND_GROUPS}"
    elif principle.dealt:
        first, said = [MIXED], " This is said of every group by itself."
    if links and not any(isinstance(part, KAnonymity) for part in principle.parts):
        exposed = [name for name in known if not any(name in part.x for part in links)]
        first += [EXACT.format(names=", ".join(exposed))] if exposed else []
    last = (OTHERS, REDRAWN if blind else CHOSEN, JOINED)
    opened = (*first, *principle.all_left_open, *then, *presence, *last)
    about = {"generalized": ABOUT.format(own=own)}
    if counterfeits:
        many = "1 record is" if counterfeits == 1 else f"{counterfeits:,} records are"
        about["generalized"] += f" {many} nobody's: see `counterfeits`."
        about["counterfeits"] = FAKED
    return Promise(principle, principle.promise + said, opened), about
