"""Adversaries: who reads a release, by what they know besides it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from discreet.principles.base import Principle


class Adversary(StrEnum):
    """Somebody who wants to know a person's sensitive value; each knows what the name says."""

    READER = "reads the release"
    """And knows the quasi-identifiers of the person who is sought."""
    POPULATION = "knows all quasi-identifiers"
    """Of everybody in the table, and who is in it."""
    METHOD = "knows the method"
    """And all quasi-identifiers: tries which tables it makes this very release of."""
    LEARNER = "learns across groups"
    """How values go with quasi-identifiers, from all groups, to tell people of one apart."""
    ACQUAINTANCE = "knows other people's values"
    COLLECTOR = "holds other releases"
    """About the same people."""
    ANYBODY = "knows anything at all"


Withstood = Mapping[Adversary, str]
"""Against whom what a release promises holds; with what that is limited to, or nothing."""

READ: Withstood = {Adversary.READER: ""}
KNOWN: Withstood = {**READ, Adversary.POPULATION: ""}
"""Where a promise bounds what a group of people holds, whoever knows who is in it."""
SIGNED: Withstood = {Adversary.COLLECTOR: "versions of its own series"}
"""Where everybody keeps a signature."""


def list_resisted(parameters: Mapping[str, object]) -> Withstood:
    """Give whom the publisher says that groups were found to withstand."""
    said = {
        "method": {Adversary.METHOD: ""},
        "learning": {Adversary.LEARNER: "by naive Bayes or a regression"},
    }
    return said.get(str(parameters.get("resist")), {})


def look_blindly(principle: Principle) -> Withstood:
    """Whom groups withstand that were found without a look at sensitive values.

    Where nothing is promised of values, which groups there are follows from quasi-identifiers:
    whoever knows these and the method knows the groups before the release is made.
    """
    return {} if any(p.reads_values for p in principle.parts) else {Adversary.METHOD: ""}


def word_withstood(withstood: Mapping[str, str]) -> str:
    """Say in half a sentence against whom a promise holds, and against whom it does not.

    >>> print(word_withstood({**KNOWN, Adversary.COLLECTOR: "earlier ones"}))
    who reads the release or knows all quasi-identifiers, and who holds other releases (earlier
    ones); not against who knows the method, learns across groups, knows other people's values or
    knows anything at all
    """
    alike: dict[str, list[str]] = {}
    for one in Adversary:
        if one in withstood:
            alike.setdefault(withstood[one], []).append(str(one))
    good = [f"who {_join(those)}{f' ({limit})' if limit else ''}" for limit, those in alike.items()]
    bad = [str(one) for one in Adversary if one not in withstood]
    held = ", and ".join(good) or "nobody"
    return held + (f"; not against who {_join(bad)}" if bad else "")


def _join(texts: list[str]) -> str:
    *first, last = texts
    return f"{', '.join(first)} or {last}" if first else last
