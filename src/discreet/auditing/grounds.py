"""Grounds: why a person is believed to have a value: what groups may be theirs, and hold.

The steward's and the reviewer's. In reports people have no row number, and of quasi-identifiers
only labels are shown that stand for several values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.auditing.wording import say_briefly
from discreet.errors import SchemaError
from discreet.forms import find_form
from discreet.forms.base import View
from discreet.forms.matches import Matches
from discreet.release import Release
from discreet.release.labels import Labels, read_labels
from discreet.table.arrays import Ints
from discreet.table.microdata import Microdata

if TYPE_CHECKING:
    from discreet.auditing import AuditReport

MASK = "•"
MOST_GROUPS = MOST_VALUES = 5
WORST = 10

Shares = list[tuple[str, Fraction]]
"""Values with how much of a group, or of a belief, they are; the largest first."""


@dataclass(frozen=True)
class PossibleGroup:
    """A published group that may be a person's."""

    shows: dict[str, str]
    """What its records show of the quasi-identifiers; nothing where not all are at hand."""
    records: int
    weight: Fraction
    """How likely it is the person's, beside the others."""
    holds: dict[str, Shares]
    """Per sensitive attribute the commonest values of its records."""

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain values."""
        holds = {name: _list_shares(shares) for name, shares in self.holds.items()}
        return {**vars(self), "weight": str(self.weight), "holds": holds}

    def __str__(self) -> str:
        shown = ", ".join(f"{name} {label}" for name, label in self.shows.items())
        held = "; ".join(f"{name}: {_say(shares)}" for name, shares in self.holds.items())
        likely = "" if self.weight == 1 else f", theirs with {float(self.weight):.1%}"
        many = "1 record" if self.records == 1 else f"{self.records:,} records"
        if shown:
            many += f" that {'shows' if self.records == 1 else 'show'} {shown}"
        return f"{many}{likely}. {held}".rstrip()


@dataclass(frozen=True)
class Grounds:
    """Why one person is at the beliefs that the audit found."""

    person: str
    candidates: int
    """Records that may be the person's."""
    beliefs: dict[str, float]
    """Per sensitive attribute the largest belief in any value, as the audit found it."""
    truths: dict[str, float]
    """The belief in the person's own value; nothing where people are masked."""
    groups: dict[str, list[PossibleGroup]]
    """Per table the groups that may be the person's, the likeliest first."""
    others: dict[str, int] = field(default_factory=dict)
    """Per table how many more there are."""
    reasons: tuple[str, ...] = ()
    rows: int = 1
    """How many rows the person has; then candidates are people."""

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain values."""
        groups = {table: [g.to_dict() for g in found] for table, found in self.groups.items()}
        return {**vars(self), "groups": groups, "reasons": list(self.reasons)}

    def __str__(self) -> str:
        many = "1 record" if self.candidates == 1 else f"{self.candidates:,} records"
        lines = [f"{self.person}: {many} may be theirs."]
        if self.rows > 1:
            lines = [f"{self.person}: {self.candidates:,} may be behind their {self.rows:,} rows."]
        for name, belief in self.beliefs.items():
            truth = f", in their own with {self.truths[name]:.1%}" if name in self.truths else ""
            lines.append(f"  {name}: some value is believed with {belief:.1%}{truth}.")
        for table, found in self.groups.items():
            count = len(found) + self.others.get(table, 0)
            lines.append(
                f"  In {table!r}, {count:,} group{'s' if count > 1 else ''} may be theirs:"
            )
            lines += [f"    {group}" for group in found]
            if self.others.get(table):
                lines.append(f"    and {self.others[table]:,} more, less likely")
        return "\n".join([*lines, *(f"  {reason}" for reason in self.reasons)])


def _list_shares(shares: Shares) -> list[dict[str, str]]:
    return [{"value": value, "share": str(share)} for value, share in shares]


def _say(shares: Shares) -> str:
    return ", ".join(f"{value} {say_briefly(share)}" for value, share in shares)


def explain_person(report: AuditReport, row: int) -> Grounds:
    """Say why the person of one row of the source is at the beliefs that the audit found."""
    assert report.examined is not None
    _, data = report.examined
    rows = np.arange(data.n) if data.rows is None else data.rows
    place = np.flatnonzero(rows == row)
    if not len(place):
        raise SchemaError(
            f"Row {row} is not one that was audited.",
            hint=f"Rows are counted from 0, of the table that was read: {rows.min()} to "
            f"{rows.max()}.",
        )
    if data.persons is not None:
        place = data.persons.of[place]
    (found,) = _explain(report, place, masked=False)
    return found


def explain_worst(report: AuditReport) -> list[Grounds]:
    """Say why of the people who are worst off, masked; those that fewest records may be first."""
    beliefs = list(report.beliefs.values())
    worst = reduce(np.maximum, beliefs) if beliefs else np.zeros(report.people)
    low = np.partition(worst, -WORST)[-WORST] if len(worst) > WORST else 0
    people = np.flatnonzero(worst >= low)
    order = np.lexsort((report.candidates[people], -worst[people]))
    return _explain(report, people[order[:WORST]], masked=True)


def _explain(report: AuditReport, people: Ints, *, masked: bool) -> list[Grounds]:
    assert report.examined is not None
    release, data = report.examined
    chosen = data.taken(people if data.persons is None else data.persons.first[people])
    views = release.views if find_form(release.form).shows_people else []
    titles = list(release.shown) if views else []
    readers = [_GroupReader(view.match(chosen), chosen, masked=masked) for view in views]
    found = []
    persons = data.persons
    rows = [1] * len(people) if persons is None else persons.rows[people].tolist()
    for i, person in enumerate(people.tolist()):
        beliefs = {name: float(b[person]) for name, b in report.beliefs.items()}
        truths = {name: float(t[person]) for name, t in report.truths.items()}
        groups, others, told = {}, {}, dict.fromkeys(beliefs, 0.0)
        for title, reader in zip(titles, readers, strict=True):
            groups[title], others[title] = reader.list_groups(i)
            for name in reader.names:
                told[name] = max(told[name], reader.largest(i, name))
        found.append(
            Grounds(
                f"Person {i + 1}" if masked else f"Row {report.rows[person]}",
                int(report.candidates[person]),
                beliefs,
                {} if masked else truths,
                groups,
                {title: count for title, count in others.items() if count},
                tuple(_give_reasons(report, release, beliefs, told, rows[i])),
                rows[i],
            )
        )
    return found


def _give_reasons(
    report: AuditReport,
    release: Release,
    beliefs: dict[str, float],
    told: dict[str, float],
    rows: int,
) -> list[str]:
    """Say what else a belief rests on, where groups by themselves do not tell it."""
    reasons = []
    if not find_form(release.form).shows_people:
        reasons.append("No record shows anybody: nothing bounds what noisy counts of others tell.")
    elif not all(view.holds_values for view in release.views):
        reasons.append("Numbers shown are drawn: beliefs follow from how many people have which.")
    if rows > 1:
        reasons.append(f"They have {rows:,} rows, any of which may have a value; shown is the "
                       "first.")  # fmt: skip
        return reasons
    for name, belief in beliefs.items():
        if told[name] and belief > told[name] + 1e-9:
            who = "who knows everybody's quasi-identifiers"
            if report.joined is not None:
                who = "who puts the tables together"
            reasons.append(
                f"{name}: {who} may believe {belief:.1%}, by these groups alone {told[name]:.1%}."
            )
    return reasons


class _GroupReader:
    """Reads the groups of one table that may be some people's."""

    def __init__(self, found: Matches, data: Microdata, *, masked: bool) -> None:
        self.found, self.data, self.masked = found, data, masked
        self.view: View = found.view
        schema = self.view.release.schema
        self.names = schema.sensitive if self.view.holds_values else []
        self.known = schema.quasi_identifiers
        self.weighed: dict[tuple[int, str | None], list[tuple[int, Fraction]]] = {}

    def list_groups(self, person: int) -> tuple[list[PossibleGroup], int]:
        """Give the likeliest groups that may be a person's, and how many more there are."""
        weighed = self._weigh_all(person)
        return [self._read(g, w) for g, w in weighed[:MOST_GROUPS]], max(
            len(weighed) - MOST_GROUPS, 0
        )

    @cached_property
    def listed(self) -> tuple[Ints, dict[str, tuple[Labels, Ints]]]:
        """Whose records those of all groups are that are listed and whole, and what they show.

        Read at once: to read labels costs the same for few records as for many.
        """
        groups = {g for i in range(self.data.n) for g, _ in self._weigh_all(i)[:MOST_GROUPS]}
        whole = [g for g in groups if self.view.records_here[g] == self.view.sizes[g]]
        rows = np.flatnonzero(np.isin(self.view.labels, whole))
        records, release = self.view.table[rows], self.view.release
        return self.view.labels[rows], {
            name: read_labels(release, records, name) for name in self.known if len(rows)
        }

    def _weigh_all(self, person: int) -> list[tuple[int, Fraction]]:
        return self._weigh(person, self.names[0] if self.names else None)

    def _weigh(self, person: int, name: str | None) -> list[tuple[int, Fraction]]:
        """Give each group that may be a person's with how likely it is theirs."""
        if (person, name) not in self.weighed:
            bags = self.view.bags(name)
            own = self.found.set_of[[person]]
            _, groups, times, among = self.found.weigh_options(bags, own)
            shares = [
                Fraction(int(t) * int(bags.sizes[g]), int(a))
                for g, t, a in zip(groups.tolist(), times, among, strict=True)
            ]
            total = sum(shares, Fraction(0))
            found = [(g, s / total) for g, s in zip(groups.tolist(), shares, strict=True)]
            self.weighed[person, name] = sorted(found, key=lambda item: -item[1])
        return self.weighed[person, name]

    def largest(self, person: int, name: str) -> float:
        """Give the largest belief in any value that the groups of this table tell."""
        weighed, bags = self._weigh(person, name), self.view.bags(name)
        if not weighed:
            return 0.0
        if not self.found.pools_groups:
            return float(max(bags.largest[g] / bags.sizes[g] for g, _ in weighed))
        total = np.zeros(bags.domain.size)
        for g, weight in weighed:
            entries = slice(bags.offsets[g], bags.offsets[g + 1])
            total[bags.codes[entries]] += float(weight) * bags.weights[entries] / bags.sizes[g]
        return float(total.max())

    def _read(self, group: int, weight: Fraction) -> PossibleGroup:
        records = np.flatnonzero(self.listed[0] == group)
        names = self.known if len(records) else []
        shows = {name: self._read_label(name, records) for name in names}
        holds = {name: self._hold(group, name) for name in self.names}
        return PossibleGroup(shows, int(self.view.sizes[group]), weight, holds)

    def _read_label(self, name: str, records: Ints) -> str:
        """Give what the records of a group show of an attribute, if all show the same."""
        labels, number = self.listed[1][name]
        seen = np.unique(number[records])
        if len(seen) > 1:
            return f"{len(seen):,} different"
        return MASK if self.masked and labels.sizes[seen[0]] <= 1 else labels.texts[seen[0]]

    def _hold(self, group: int, name: str) -> Shares:
        bags = self.view.bags(name)
        entries = range(int(bags.offsets[group]), int(bags.offsets[group + 1]))
        common = sorted(entries, key=lambda e: (-int(bags.weights[e]), int(bags.codes[e])))
        size = int(bags.sizes[group])
        return [
            (bags.domain.texts[bags.codes[e]], Fraction(int(bags.weights[e]), size))
            for e in common[:MOST_VALUES]
        ]
