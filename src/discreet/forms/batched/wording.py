"""What a batched release promises and leaves open, in words, and what its rows are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from discreet.forms.wording import BLIND, LEARNED, OTHER_MODELS, REDRAWN, UNSEEN, word_several
from discreet.principles import KAnonymity, MInvariance
from discreet.principles.base import All, Principle
from discreet.release import Promise

ABOUT_BATCHES = (
    "One row per `{batch}` and sensitive value in it: `{count}` people of the batch have the value."
)
ABOUT_SOME = "One row per `{batch}` and {names} in it: `{count}` people of the batch have {it}."
ABOUT_GENERALIZED = (
    "One row per person: a box that holds the person's values of {names}, and the `{batch}` that "
    "holds the person's sensitive value."
)
ABOUT_PROJECTION = (
    "One row per person: a box that holds the person's values of {names}. It refers to no "
    "`{batch}`, and its rows belong to none of other tables: it says nothing of sensitive values."
)
OTHERS = "What someone learns who already knows sensitive values of other people of the batch"
CHOSEN = f"{OTHERS}, or how the batches were chosen."
JOINED = "What follows from joining this release with others about the same people."
BLIND_BATCHES = BLIND.format(groups="batches", held="batches hold")
OPEN_JOINED = (
    "Looking the same in all tables at once. In each table alone {k} people or more look the same; "
    "joined on `{batch}`, their boxes intersect and may hold one person only. Sensitive values "
    "stay protected, as every batch keeps the promise. The audit counts the joined cells.",
)
OPEN_PROJECTED = (
    "Looking the same in all tables at once. In each table alone {k} people or more look the same; "
    "who is in one box here and in another there may be one person only. Sensitive values stay "
    "protected, as every batch keeps the promise. The audit counts who looks the same in all.",
)
APART = (
    "What is said of {names} holds also against somebody who knows {others} of everybody: each is "
    "counted by itself."
)
TOGETHER = (
    "What someone who knows one of {names} learns of the others: they are counted together, as "
    "people have them."
)
FAKED = (
    "One row per batch that has counterfeits, values of nobody, and how many: somebody's value was "
    "missing in the batch. Which values these are is not told."
)
OPEN_EXACT = ("Quasi-identifiers are exact: anyone can tell whether a person is in the table.",)


def word_batched(
    principle: Principle,
    shown: Mapping[str, Sequence[str]],
    told: Sequence[Sequence[str]],
    presence: Sequence[str],
    own: tuple[str, str],
    *,
    exact: bool,
    counterfeits: int = 0,
    apart: Mapping[str, Sequence[str]] = MappingProxyType({}),
    blind: bool = False,
    learning: bool = False,
) -> tuple[Promise, dict[str, str]]:
    """Put a promise of batches into words; and say what one row of each table is.

    ``shown`` gives the quasi-identifiers of every table, ``told`` the sensitive attributes of every
    table of batches, ``presence`` what boxes leave open about who is in it, ``own`` the columns of
    batches and of counts, ``counterfeits`` how many values are nobody's. Unless quasi-identifiers
    are ``exact``, the first thing promised is how many people look the same in each. Batches are
    ``blind`` if it tells nothing how they were found, and ``learning`` says whether they resist who
    learns across them.
    """
    opened_last = (f"{OTHERS}.", REDRAWN, JOINED) if blind else (CHOSEN, JOINED)
    batch, count = own
    about = {title: ABOUT_GENERALIZED.format(names=", ".join(names), batch=batch)
             for title, names in shown.items()}  # fmt: skip
    about = {**_word_batches(told, batch, count), **about}
    about |= {title: ABOUT_PROJECTION.format(names=", ".join(names), batch=batch)
              for title, names in apart.items()}  # fmt: skip
    if counterfeits:
        many = "1 value is" if counterfeits == 1 else f"{counterfeits:,} values are"
        about["batches"] += f" {many} nobody's: see `counterfeits`."
        about["counterfeits"] = FAKED
    each, together = word_several(principle, told, APART, TOGETHER)
    if learning:
        each, together = [*each, LEARNED], [*together, OTHER_MODELS]
    first, *rest = principle.parts
    if exact or not isinstance(first, KAnonymity):
        opened = (*principle.all_left_open, *OPEN_EXACT, *together, *opened_last)
        said = " ".join([principle.promise, *each, *([BLIND_BATCHES] if blind else [])])
        return Promise(principle, said, opened), about
    of_values = All(tuple(rest)) if rest else first
    joined = OPEN_JOINED if len(shown) > 1 else OPEN_PROJECTED if apart else ()
    said = " ".join([
        of_values.promise,
        *each,
        *([BLIND_BATCHES] if blind else []),
        f"In each generalized table, people look the same in groups of {first.k} or more.",
    ])  # fmt: skip
    signed = any(isinstance(part, MInvariance) for part in rest)
    hidden = [
        *([UNSEEN] if signed else []),
        *presence,
        *(text.format(k=first.k, batch=batch) for text in joined),
    ]
    opened = (*of_values.all_left_open, *hidden, *together, *opened_last)
    return Promise(principle, said, opened), about


def _word_batches(told: Sequence[Sequence[str]], batch: str, count: str) -> dict[str, str]:
    """Say what a row of each table of batches is."""
    if [len(names) for names in told] == [1]:
        return {"batches": ABOUT_BATCHES.format(batch=batch, count=count)}
    titles = ["batches", *(f"batches_{i + 2}" for i in range(len(told) - 1))]
    return {
        title: ABOUT_SOME.format(
            names=" and ".join(names),
            it="it" if len(names) == 1 else "them together",
            batch=batch,
            count=count,
        )
        for title, names in zip(titles, told, strict=True)
    }
