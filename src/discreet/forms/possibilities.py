"""Possibilities: what each record may have, one line per value, for attacks that compare groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.forms.matches import Matches
from discreet.forms.matching import number_shown
from discreet.principles.groups import Groups
from discreet.table.arrays import Floats, Ints
from discreet.table.microdata import Microdata

if TYPE_CHECKING:
    from discreet.forms.base import View


@dataclass(frozen=True, eq=False)
class Possibilities:
    """What each record, or person where records are nobody's, may have: one line per value."""

    bags: Groups
    record: Ints
    entry: Ints
    """Per line the entry of the bag that the value would be taken from."""
    prior: Floats
    shown: list[Ints]
    """Per quasi-identifier the number of what each record shows."""
    place: Ints
    """Per record what it shows in all: records that show the same are one to the attacker."""
    wanted: Ints
    """Per person who has records, the place of these."""


def list_records(view: View, matches: Matches, name: str) -> Possibilities:
    """Rows are people's records: each has a value of the bag it refers to."""
    group, bags = view.source_bags(name)
    record, entry = bags.entries_of(group)
    place, wanted = view.place_people(matches)
    prior = bags.weights[entry] / bags.sizes[group][record]
    names = view.release.schema.quasi_identifiers
    shown = [number_shown(view.release, view.table, [column]) for column in names]
    return Possibilities(bags, record, entry, prior, shown, place, wanted)


def list_people(matches: Matches, data: Microdata, name: str) -> Possibilities:
    """Rows are nobody's: each person has a value of one of the bags that may be theirs."""
    seen = np.flatnonzero(matches.set_of >= 0)
    bags = matches.view.bags(name)
    person, group, times, among = matches.weigh_options(bags, matches.set_of[seen])
    option, entry = bags.entries_of(group)
    prior = (times / among)[option] * bags.weights[entry]
    prior /= np.bincount(person[option], weights=prior)[person[option]]
    names = matches.release.schema.quasi_identifiers
    shown = [data.codes[n][seen].astype(np.int64) for n in names]
    everyone = np.arange(len(seen))
    return Possibilities(bags, person[option], entry, prior, shown, everyone, everyone)
