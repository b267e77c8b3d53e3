"""Guarded: is anybody believed to have what they guard?

The microdata says who guards what. It is held against what a release makes an adversary believe,
value by value, whoever made it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import SchemaError
from discreet.principles.base import Principle
from discreet.principles.exact import at_most
from discreet.principles.personal import PersonalPrivacy
from discreet.table.arrays import Bools
from discreet.table.guards import list_guarded

if TYPE_CHECKING:
    from discreet.forms.posterior import Posterior


def refuse_judging(part: Principle) -> SchemaError:
    """Say that it cannot be told: what several tables tell of a person together is not counted."""
    return SchemaError(
        f"{part} cannot be judged of a release whose tables have to be put together.",
        hint="Ask it of a generalized release.",
    )


def fail_guards(posterior: Posterior, part: Principle) -> Bools:
    """Say for whom the values that they guard are believed with more than is allowed.

    Of several groups that may be somebody's, what either adversary believes counts: who knows the
    quasi-identifiers of nobody else, and who knows everybody's. Where that was not counted, the
    most telling group does.
    """
    assert isinstance(part, PersonalPrivacy)
    found, share = posterior.found, part.share
    if not found.view.deals_values:
        raise refuse_judging(part)
    guard_of, guarded = list_guarded(posterior.data, posterior.name)
    texts = found.view.bags(posterior.name).domain.texts
    failing = np.zeros(posterior.n, dtype=bool)
    for number in np.unique(guard_of[guard_of >= 0]).tolist():
        meant = np.array([text in guarded[number] for text in texts])
        broken = np.zeros(found.count + 1, dtype=bool)  # the last is of nobody
        for owners, parts, wholes in posterior.list_told(meant):
            fine = at_most(parts, share.denominator, wholes, share.numerator)
            broken[owners[~fine]] = True
        failing |= (guard_of == number) & broken[found.set_of]
    return failing
