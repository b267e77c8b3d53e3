"""Boxes: a view whose groups each show one box, in which all of their people are."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import polars as pl

from discreet.errors import SchemaError, StoreError
from discreet.forms.base import View
from discreet.forms.consistency import compare_kept, count_misplaced
from discreet.forms.crowds import NamedValues
from discreet.forms.disclosure import SET, WEIGHT, Disclosure, Observed, spell_labels
from discreet.forms.estimates import AT_ONCE, Asked, Cover
from discreet.forms.matches import Matches, Parts, gather_sets
from discreet.forms.matching import distinct_people, match_boxes
from discreet.principles.base import Principle
from discreet.release import Recoding, Release
from discreet.release.coarse_labels import spell_interval
from discreet.release.labels import Labels, read_codes, read_labels
from discreet.release.selection import find_positions
from discreet.table.arrays import Bools, Floats, Ints
from discreet.table.coarsening import is_coarse
from discreet.table.domain import MISSING, reduce_column
from discreet.table.microdata import Microdata, representatives
from discreet.table.schema import Attribute


@dataclass(frozen=True, eq=False)
class BoxView(View):
    """Groups that show a box; a person's record is in one of those that cover the person."""

    answers_jointly: ClassVar[bool] = True
    shows_whose: ClassVar[bool] = True

    boxes: pl.DataFrame
    """Per group one of its records."""

    @property
    def boxes_may_overlap(self) -> bool:
        """Whether a person may be covered by boxes of several groups."""
        return may_cover_twice(self.release)

    def match(self, data: Microdata) -> Matches:
        """Find the boxes that cover each person."""
        return self._match(data, None)

    def match_parts(self, data: Microdata, parts: Parts) -> Matches:
        """Find the boxes of their part that cover each person, without a look at others."""
        return self._match(data, parts)

    def _match(self, data: Microdata, parts: Parts | None) -> Matches:
        names = self.release.schema.quasi_identifiers
        people, person_of = distinct_people(data, names, None if parts is None else parts.people)
        pairs = match_boxes(
            self.release, data, self.boxes, names, people, None if parts is None else parts.groups
        )
        set_of, offsets, groups = gather_sets(pairs, len(people))
        del people, pairs  # there may be nearly as many as in the table
        records = _add_up(self.people[groups], offsets)
        return Matches(self, set_of[person_of], offsets, groups, np.ones_like(groups), records)

    def hides(self, part: Principle, matches: Matches) -> Bools:
        """Say of each candidate set whether it and every box of it hides enough people."""
        enough = super().hides(part, matches)
        if part.reads_values:
            return enough
        return enough & matches.admits_each(self.admits(part, None))

    def find_inconsistencies(self, matches: Matches, data: Microdata) -> list[str]:
        """Hold the records and values of each box against the people it covers."""
        several = int(matches.several.sum())
        if several and not self.boxes_may_overlap:
            found = [f"boxes overlap: {several} people are covered by more than one group"]
        else:
            covered = np.bincount(matches.group_of[matches.set_of >= 0], minlength=self.count)
            wrong = (
                int((covered != self.records_here - self.counterfeits).sum()) if not several else 0
            )
            found = [f"{wrong} groups have not as many records as people they cover"]
            found = found if wrong else self._compare_values(matches, data)
        return [*found, *compare_kept(self, data)]

    def _compare_values(self, matches: Matches, data: Microdata) -> list[str]:
        """Try to give every person a record of a group that covers them and holds their values.

        First each column that is published as it is by itself, then all of them together.
        """
        schema = self.release.schema
        names = [name for name in schema.names if name not in schema.quasi_identifiers]
        findings: list[str] = []
        for asked in [*([name] for name in names), *([names] if len(names) > 1 else [])]:
            missed = 0 if findings and len(asked) > 1 else count_misplaced(matches, data, asked)
            if missed > self.release.left_out:
                findings.append(
                    f"the published values of {', '.join(asked)} are not those of the people "
                    f"covered: {missed} find no record"
                )
        return list(dict.fromkeys(findings))

    def disclose(self, found: list[Matches], observed: Observed) -> Disclosure:
        """Give everything that the records which may be a person's show together."""
        matches = found[0]
        release, hidden = observed.release, observed.hidden
        rows = pl.DataFrame({"#group": self.labels})
        spelled = []
        table = release.views[0].table
        for name in hidden:
            domain = observed.targets[name].domain
            if release.recodings[name].is_blurred or is_coarse(release.schema[name]):
                labels, members = spell_labels(release, table, domain, name)
                rows = rows.with_columns(pl.Series(f"#label {name}", labels))
                spelled.append((f"#label {name}", members.rename({"value": name})))
            else:
                codes = read_codes(release, table, name, domain)
                rows = rows.with_columns(pl.Series(name, codes))
        counted = rows.group_by(rows.columns).len(WEIGHT).cast({WEIGHT: pl.Int64})
        for label, members in spelled:
            counted = counted.join(members, on=label).drop(label)
        counted = counted.filter(*(pl.col(name) >= 0 for name in hidden))
        sets, groups = matches.list_options(np.arange(matches.count))
        options = pl.DataFrame({SET: sets, "#group": groups})
        shown = options.join(counted, on="#group").group_by(SET, *hidden)
        frame = shown.agg(pl.col(WEIGHT).sum())
        records = _add_up(self.sizes[matches.groups], matches.offsets)
        return Disclosure(matches.set_of, records, [frame])

    @property
    def dealing(self) -> View | None:
        """All values of a box are of its people."""
        return self

    def estimate(self, asked: Asked) -> Floats:
        """Add up over boxes the share that a question covers times the values it takes."""
        covers = {name: Cover(asked, self.boxes, name) for name in asked.known}
        found = []
        for first in range(0, asked.count, AT_ONCE):
            part = slice(first, min(first + AT_ONCE, asked.count))
            share = np.repeat(self.people[:, None].astype(float), part.stop - part.start, axis=1)
            for name, takes in asked.known.items():
                share *= covers[name].share(takes[part])
            if asked.told is not None:
                share *= asked.hold(part)
            found.append(share.sum(axis=0))
        return np.concatenate(found)

    def list_shown(self) -> tuple[pl.DataFrame, Ints]:
        """List the boxes, and how many people are in each."""
        return self.boxes, self.people

    def place_people(self, matches: Matches) -> tuple[Ints, Ints]:
        """Records of a box show the same."""
        return self.labels, matches.group_of[matches.set_of >= 0]

    def list_named(self, matches: Matches, people: Microdata) -> list[NamedValues]:
        """List the ends of boxes and the members of sets; and those of the whole domain."""
        person, group = matches.list_options(matches.set_of)
        found = []
        for name in self.release.schema.quasi_identifiers:
            labels, number = read_labels(self.release, self.boxes, name)
            found.append(_list_named(labels, number, person, group, people))
            recoding = self.release.recodings[name]
            if not recoding.public:
                every = np.zeros(1, dtype=np.int64)
                whole = _read_domain(labels, recoding)
                found.append(_list_named(whole, every, person, group * 0, people, of_groups=False))
        return found

    def density(self, data: Microdata, sensitive: str) -> Floats | None:
        """By the box that covers each person, without listing its cells."""
        matches = self.match(data)
        if (matches.set_of < 0).any() or matches.several.any():
            raise SchemaError("The release does not cover this microdata with one box each.")
        cells = np.ones(self.count)
        for name in self.release.schema.quasi_identifiers:
            labels, number = read_labels(self.release, self.boxes, name)
            cells *= labels.sizes[number]
        bags = self.bags(sensitive)
        shares = np.zeros((bags.count, bags.domain.size))
        shares[bags.owners, bags.codes] = bags.weights / bags.sizes[bags.owners]
        box, own = matches.group_of, data.codes_in(sensitive, bags.domain)
        if (own < 0).any():
            return np.zeros(data.n)
        return np.asarray(self.people[box] / data.n / cells[box] * shares[box, own])


def _add_up(per_group: Ints, offsets: Ints) -> Ints:
    """Add up a number per group over candidate sets, which may have none."""
    running = np.concatenate([[0], np.cumsum(per_group)])
    return np.asarray(running[offsets[1:]] - running[offsets[:-1]], dtype=np.int64)


def _read_domain(labels: Labels, recoding: Recoding) -> Labels:
    """Give the domain of an attribute as one label for all of it."""
    if labels.sets is not None:
        whole = frozenset(recoding.domain)
        return replace(labels, sets=[whole], absent=np.array([MISSING in whole]))
    ends = find_positions(pl.Series(recoding.domain, dtype=pl.String), labels.attribute)
    return replace(labels, low=ends[:1], high=ends[1:], absent=np.array([recoding.missing]))


def _list_named(
    labels: Labels,
    number: Ints,
    person: Ints,
    group: Ints,
    people: Microdata,
    *,
    of_groups: bool = True,
) -> NamedValues:
    """List who of each group has what its label names; ``number`` says which label that is."""
    name = labels.attribute.name
    domain, own = people.domains[name], people.codes[name][person]
    if labels.sets is not None:
        total = int(labels.sizes[number].sum())
        return NamedValues(person, group * domain.size + own, total, of_groups)
    absent = own >= len(domain.values)
    places = find_positions(domain.series().head(len(domain.values)), domain.attribute)
    at, label = np.append(places, 0)[own], number[group]
    has = [~absent & (at == labels.low[label]), ~absent & (at == labels.high[label]), absent]
    some = (labels.low <= labels.high)[number]
    total = 2 * int(some.sum()) + int(labels.absent[number].sum())
    return NamedValues(
        np.concatenate([person[which] for which in has]),
        np.concatenate([group[which] * 3 + kind for kind, which in enumerate(has)]),
        total,
        of_groups,
    )


def may_cover_twice(release: Release) -> bool:
    """Whether boxes may overlap, as people were dealt, or blanked who are in others as well."""
    return bool(release.parameters.get("blanked")) or release.promise.principle.dealt


def box_columns(release: Release) -> list[str]:
    """Give the columns that show the boxes of a release."""
    return [
        column
        for name in release.schema.quasi_identifiers
        for column in release.recodings[name].columns(name)
    ]


def number_boxes(release: Release, rows: pl.DataFrame) -> tuple[Ints, pl.DataFrame]:
    """Number the distinct boxes among rows; give each row's number and one row per box."""
    refuse_finer_labels(release, rows)
    columns = box_columns(release)
    number = rows.select(pl.struct(columns).rank("dense")).to_series().to_numpy().astype(np.int64)
    number -= 1
    return number, rows[representatives(number)]


def refuse_finer_labels(release: Release, boxes: pl.DataFrame) -> None:
    """A label that told more than its ends would not have been examined; refuse it."""
    for name in release.schema.quasi_identifiers:
        ends = release.recodings[name].columns(name)[1:]
        if ends:
            labels = boxes.select(name, *ends).unique()
            if labels[name].n_unique() < labels.height:
                raise StoreError(f"A label of {name!r} stands for different intervals.")
            _compare_labels(release.schema[name], labels, release.recodings[name])


def _compare_labels(attribute: Attribute, labels: pl.DataFrame, recoding: Recoding) -> None:
    if not attribute.type.ordered:
        raise StoreError(f"Column {attribute.name!r} is a {attribute.type} and has no intervals.")
    low, high = (_write_cells(cells, attribute) for cells in labels.get_columns()[1:3])
    absent = labels.get_columns()[3].to_list() if labels.width > 3 else [False] * labels.height
    for label, first, last, missing in zip(
        labels[attribute.name].cast(pl.String), low, high, absent, strict=True
    ):
        text = MISSING
        if first is not None and last is not None:
            text = spell_interval(attribute, first, last)
            text = f"{text} or {MISSING}" if missing else text
        if label == "*" and [first, last, missing] == [*recoding.domain, recoding.missing]:
            continue
        if re.sub(r" \(\d+\)$", "", label) != text:
            raise StoreError(
                f"The label {label!r} of {attribute.name!r} does not say what its ends say: {text}."
            )


def _write_cells(cells: pl.Series, attribute: Attribute) -> list[str | None]:
    codes, domain = reduce_column(cells, attribute).encode(None)
    texts: list[str | None] = [*domain.texts[: len(domain.values)], None]
    return [texts[code] for code in codes]
