"""Reading recoded releases: everybody's set of items, shown by labels, in one group."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import polars as pl

from discreet.errors import QueryError, SchemaError, StoreError
from discreet.forms.base import View
from discreet.forms.disclosure import Disclosure, Observed
from discreet.forms.estimates import Asked
from discreet.forms.matches import Matches
from discreet.forms.posterior import Posterior
from discreet.forms.reading import take_table
from discreet.principles.base import Principle
from discreet.principles.itemsets import Transactions
from discreet.release import Release
from discreet.table.arrays import Bools, Floats
from discreet.table.domain import reduce_column
from discreet.table.item_sets import split_items, write_items
from discreet.table.microdata import Microdata
from discreet.table.schema import Attribute, Role, Type

TRANSACTIONS, ITEMS = "transactions", "items_of_labels"
LABEL, ITEM = "label", "item"


@dataclass(frozen=True, eq=False)
class SetView(View):
    """All people as one group, in which some items of somebody are known.

    What is believed of a set is said of who knows none of the items; who knows some, finds fewer
    people, whom the principles count.
    """

    max_own_value_lift: ClassVar[int | None] = None

    @property
    def attribute(self) -> Attribute:
        """The only one."""
        return next(iter(self.release.schema))

    @cached_property
    def stands_for(self) -> dict[str, frozenset[str]]:
        """Per label that stands for several items, these."""
        return read_labels(self.release)

    def admits(self, part: Principle, name: str | None) -> Bools:
        """Say it of the sets as they are shown, with labels for several items."""
        return part.admits_labels(self.bags(name), self.stands_for)

    @property
    def most_known(self) -> int | None:
        """How many items of a person are known to whom the promise is about; ``None`` for all."""
        parts = self.release.promise.principle.parts
        known = [part.most_known for part in parts]
        return None if None in known else max(n for n in known if n is not None)

    def match(self, data: Microdata) -> Matches:
        """Find the records that fit what is known of a person's items, at worst: the fewest."""
        name = self.attribute.name
        people = self.recode(data)
        domain, seen = people.domains[name], Transactions.take(self.bags(name), 0)
        fitting = [seen.count_fitting(items, self.most_known) for items in domain.item_sets]
        # who is among as many people is told the same: all are of one group
        records, number = np.unique(np.array(fitting, dtype=np.int64), return_inverse=True)
        nobody = np.zeros(len(records), dtype=np.int64)
        return Matches(
            self,
            number[people.codes[name]].astype(np.int64),
            np.arange(len(records) + 1),
            nobody,
            np.maximum(records, 1),
            records,
            pools_groups=False,
            first=nobody,
        )

    def describe_crowd(self, people: int) -> str:
        """Say how many fit, at least, to somebody who knows as much as is promised against."""
        known = "all" if self.most_known is None else f"up to {self.most_known}"
        return f"whoever knows {known} items of a person finds at least {people} who have them"

    def recode(self, data: Microdata) -> Microdata:
        """Give people with the sets that they show here."""
        name, sign = self.attribute.name, self.attribute.separator
        label_of = {item: label for label, items in self.stands_for.items() for item in items}
        shown = {label for text in self.table[name].unique() for label in split_items(text, sign)}
        texts = []
        for items in data.domains[name].item_sets:
            labels = {label_of.get(item, item) for item in items}
            texts.append(write_items(labels & shown, sign))
        column = pl.Series(name, texts, dtype=pl.String).gather(data.codes[name])
        codes, domain = reduce_column(column, self.attribute).encode(None)
        return replace(
            data, codes={**data.codes, name: codes}, domains={**data.domains, name: domain}
        )

    def posterior(self, matches: Matches, data: Microdata, name: str) -> Posterior:
        """What is believed of everybody's set as it is shown."""
        return Posterior(matches, self.recode(data), name)

    def find_inconsistencies(self, matches: Matches, data: Microdata) -> list[str]:  # noqa: ARG002
        """Hold the sets shown, as a multiset, against those of the microdata in their labels."""
        name = self.attribute.name
        people = self.recode(data)
        own = Counter(people.domains[name].texts[code] for code in people.codes[name].tolist())
        if own == Counter(self.table[name].to_list()):
            return []
        return [f"the published sets of {name} are not those of the people, recoded as it says"]

    def count_left_out(self, data: Microdata) -> int:
        """Count the items that somebody has and no label stands for."""
        name, sign = self.attribute.name, self.attribute.separator
        shown = {label for text in self.table[name].unique() for label in split_items(text, sign)}
        told = shown.union(*self.stands_for.values())
        return len({item for items in data.domains[name].item_sets for item in items} - told)

    def disclose(self, found: list[Matches], observed: Observed) -> Disclosure:  # noqa: ARG002
        """What sets tell beside other releases nobody says yet, so they are not put together."""
        raise SchemaError(
            "A release of sets of items is not held against other releases yet.",
            hint="Publish either the sets or other columns of these people, and not both.",
        )

    def estimate(self, asked: Asked) -> Floats:  # noqa: ARG002
        """Workloads are about single values."""
        raise QueryError(
            "A release of sets of items answers no workload of single values.",
            hint="Ask it in SQL: SELECT COUNT(*) FROM release WHERE contains(items, 'x').",
        )


def read_recoded(release: Release) -> list[View]:
    """Take everybody's set, and refuse cells and labels that are none."""
    attributes = list(release.schema)
    if len(attributes) != 1 or attributes[0].type is not Type.SET:
        raise StoreError("A recoded release has one column, a set of items.")
    if attributes[0].role is not Role.SENSITIVE:
        raise StoreError("The set of a recoded release is sensitive.")
    name, sign = attributes[0].name, attributes[0].separator
    titles = {TRANSACTIONS, *({ITEMS} & set(release.tables))}
    table = take_table(release, titles, TRANSACTIONS, {name})
    if not table.height:
        raise StoreError("A recoded release has no row.")
    cells = table[name].unique()
    if cells.null_count():
        raise StoreError("A set of a recoded release is missing.")
    for text in cells:
        if write_items(split_items(text, sign), sign) != text:
            raise StoreError(f"{text!r} is not how a set of items is written.")
    shown = {label for text in cells for label in split_items(text, sign)}
    labels = read_labels(release)
    _refuse_ambiguous(labels, shown)
    return [SetView(release, table, np.zeros(table.height, dtype=np.int64))]


def read_labels(release: Release) -> dict[str, frozenset[str]]:
    """Read which items the labels stand for that stand for several, if any do."""
    if ITEMS not in release.tables:
        return {}
    table = release.tables[ITEMS]
    if table.schema != {LABEL: pl.String, ITEM: pl.String} or any(table.null_count().row(0)):
        raise StoreError(f"The table {ITEMS!r} does not list an item of a label in each row.")
    found: dict[str, set[str]] = {}
    for label, item in table.rows():
        found.setdefault(label, set()).add(item)
    return {label: frozenset(items) for label, items in found.items()}


def _refuse_ambiguous(labels: dict[str, frozenset[str]], shown: set[str]) -> None:
    """Refuse labels that overlap, or that sets show beside an item of theirs."""
    owners = Counter(item for items in labels.values() for item in items)
    twice = [item for item, count in owners.items() if count > 1]
    both = [item for item in owners if item in labels or item in shown]
    unused = sorted(set(labels) - set(shown))
    for bad, what in ((twice, "below several labels"), (both, "shown beside its label"),
                      (unused, "a label that no set shows")):  # fmt: skip
        if bad:
            raise StoreError(f"The table {ITEMS!r}: {min(bad)!r} is {what}.")
