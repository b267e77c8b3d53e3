"""Reading perturbed releases: a group is the people who show one number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.errors import StoreError
from discreet.forms.base import Classes, take_table
from discreet.forms.perturbed.randomized_response import Replacement
from discreet.principles.groups import Groups
from discreet.principles.proximity import Proximity
from discreet.release import Release
from discreet.table.domain import Domain, reduce_column


@dataclass(frozen=True, eq=False)
class Perturbed(Classes):
    """People by the number they show, which is any or their own."""

    tells: ClassVar[bool] = False

    replacement: Replacement
    domain: Domain
    """The numbers shown, one per group."""

    def _read_bags(self, name: str) -> Groups:
        raise StoreError(f"A perturbed release does not say which values of {name!r} a group has.")


def read_perturbed(release: Release) -> list[Classes]:
    """Group people by the number shown, and refuse numbers that nobody can have drawn.

    What follows from a number depends on how many people have which, which the release does not
    say; only an audit against the microdata can judge the promise.
    """
    table = take_table(release, {"perturbed"}, "perturbed", set(release.schema.names))
    if len(release.schema.sensitive) != 1 or not isinstance(release.promise.principle, Proximity):
        raise StoreError("A perturbed release has one sensitive number and promises (ε,m).")
    (sensitive,) = release.schema.sensitive
    if table[sensitive].null_count():
        raise StoreError(f"The table 'perturbed' has empty cells in {sensitive!r}.")
    replacement = Replacement.read(release)
    codes, domain = reduce_column(table[sensitive], release.schema[sensitive]).encode(None)
    numbers = domain.numbers
    if not replacement.count(numbers, numbers).all():
        raise StoreError(f"The table 'perturbed' shows {sensitive!r} outside of its domain.")
    return [Perturbed(release, table, codes.astype(np.int64), None, replacement, domain)]
