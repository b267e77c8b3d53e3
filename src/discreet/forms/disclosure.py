"""Disclosure: what one release leaves possible about each person, in a form all releases share.

Whatever its form, a release sorts people into candidate sets and shows, per set, values with a
weight: of records that may be a person's, or of a bag that the person's value is in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from discreet.errors import DiscreetError, StoreError
from discreet.forms.matches import Matches
from discreet.principles.groups import Groups
from discreet.release import Release
from discreet.release.labels import read_codes, read_labels
from discreet.table.arrays import Bools, Floats, Ints
from discreet.table.coarsening import Coarsening, is_coarse
from discreet.table.domain import Domain, reduce_column
from discreet.table.finer import show_as
from discreet.table.microdata import Microdata, TableLike, read, row_ids
from discreet.table.readers import read_table
from discreet.table.schema import Attribute, Missing, Role, Schema

SET, WEIGHT, NUMBER = "#set", "#weight", "#number"
"""Columns beside those of attributes, none of which can be called so."""
FINE = 2**20
"""Parts that likelihoods of groups are rounded to."""


@dataclass(frozen=True, eq=False)
class Target:
    """The values of an attribute that releases tell about, and how many people have which."""

    domain: Domain
    whole: Ints | None

    def weigh(self, bags: Groups) -> Groups:
        """Compare bags with the microdata's table, where it has the attribute."""
        return bags if self.whole is None else replace(bags, whole=self.whole)


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What the adversary knows about everybody, and what there is to learn."""

    known: frozenset[str]
    targets: dict[str, Target]

    def describe(self, release: Release, data: Microdata) -> list[tuple[str, ...]]:
        """Give the values of what a release shows that come from releases, not from the table."""
        return [
            (name, *self.targets[name].domain.texts)
            for name in release.schema.names
            if name in self.targets and name not in data.codes
        ]


@dataclass(frozen=True, eq=False)
class Observed:
    """A release before somebody who knows some attributes and learns about others."""

    release: Release
    data: Microdata
    targets: dict[str, Target]
    hidden: list[str]
    """What is not known of everybody, or shown beside what is."""


@dataclass(frozen=True, eq=False)
class Disclosure:
    """What one release tells about the people of a table."""

    set_of: Ints
    """Per person the candidate set; -1 if the release shows nobody like that."""
    records: Ints
    """Per set how many records may be a person's."""
    frames: list[pl.DataFrame]
    """Per ``set`` the values that are shown together, as codes, and their weight ``w``."""
    default_weight: Ints | None = None
    """Per set the weight of every value that is not listed, where any may be a person's."""
    known: dict[str, Ints] = field(default_factory=dict)
    """What is known of everyone and shown exactly beside what is not."""


def background_knowledge(releases: Sequence[tuple[str, Release]], data: Microdata) -> Knowledge:
    """Say what an adversary knows: all quasi-identifiers that are sensitive in no release."""
    schemas = [held.schema for _, held in releases]
    sensitive = {name for schema in schemas for name in schema.sensitive}
    named = {name for schema in schemas for name in schema.quasi_identifiers}
    known = frozenset((named & set(data.codes)) - sensitive)
    targets = {}
    for name in dict.fromkeys(n for schema in schemas for n in schema.names):
        if name in data.codes:
            targets[name] = Target(data.domains[name], data.count_whole(name))
        else:
            target = _read_target([held for _, held in releases], name)
            if target is not None:
                targets[name] = target
    return Knowledge(known, targets)


def read_known(source: TableLike, schema: Schema, releases: Sequence[Release]) -> Microdata:
    """Read a table with everything that some releases show of it, whatever its schema publishes."""
    frame = read_table(source)
    return read(frame, add_known(schema, releases, frame.columns, lambda s: read(frame, s)))


def add_known(
    schema: Schema,
    releases: Sequence[Release],
    columns: Sequence[str],
    attempt: Callable[[Schema], object],
) -> Schema:
    """Add what some releases show of a table with these columns, if an attempt to read it works."""
    shown = {a.name: a for held in releases for a in held.schema if a.role is not Role.OTHER}
    for name, attribute in shown.items():
        if name in columns and name not in schema.published.names:
            others = [a for a in schema if a.name != name]
            planned = next((a.fold for a in schema if a.name == name), None)
            known = replace(attribute, missing=Missing.VALUE, fold=planned)
            wider = replace(schema, attributes=(*others, known))
            try:
                attempt(wider.only([name]))
            except DiscreetError:  # it reads otherwise by now, and is left out of account
                continue
            schema = wider
    return schema


def _read_target(releases: list[Release], name: str) -> Target | None:
    """Collect the values of an attribute that only releases have; none if they show no value."""
    shown = []
    exact = [r for r in releases if name in r.schema.names and not r.recodings[name].is_blurred]
    listed = [held.schema[name] for held in exact]
    # of numbers that some releases show coarser, those that are not
    attribute = next((a for a in listed if not is_coarse(a)), listed[0] if listed else None)
    for held, other in zip(exact, listed, strict=True):
        if attribute is None or not attribute.reads_like(other):
            continue
        if Coarsening.of(attribute) == Coarsening.of(other):
            shown += [t[name].unique() for t in held.carriers.values() if name in t.columns]
    if attribute is None or not shown:
        return None
    return Target(reduce_column(pl.concat(shown).unique(), attribute).encode(None)[1], None)


def disclose(
    release: Release, data: Microdata, knowledge: Knowledge
) -> tuple[Disclosure, list[str]]:
    """Read what a release tells about everybody, and say what of it could not be examined."""
    from discreet.forms import find_form

    notes: list[str] = []
    seen: list[str] = []
    hidden: list[str] = []
    for attribute in release.schema:
        name, target = attribute.name, knowledge.targets.get(attribute.name)
        blurred = release.recodings[name].is_blurred
        if target is None or (blurred and name not in data.codes):
            notes.append(f"shows {name}, which this table lacks; it was left out of account")
        elif not target.domain.attribute.reads_like(attribute):
            notes.append(f"shows {name}, which is of another type here; it was left out of account")
        elif _hides_otherwise(release, attribute, target, knowledge):
            notes.append(f"shows {name} coarser or finer than others; it was left out of account")
        elif name in knowledge.known and attribute.role is not Role.SENSITIVE:
            (seen if attribute.role is Role.QUASI_IDENTIFIER else hidden).append(name)
        else:
            hidden.append(name)
    form, found = find_form(release.form), []
    people = show_as(data, release.schema)
    gone = [
        name
        for name in form.matched_by(release)
        if name not in seen
        and (release.schema[name].role is not Role.OTHER or name not in data.codes)
    ]
    try:
        if seen:
            views = form.views(form.leave_out(release, gone)) if gone else release.views
            found = [view.match(people) for view in views]
    except StoreError:  # what is left of it is no release of its form: regions overlap
        notes.append("people cannot be told apart in it by what is known here")
    means = [name for name in seen if release.schema[name].aggregate is not None]
    lost = int((np.min([m.set_of for m in found], axis=0) < 0).sum()) if found and means else 0
    if lost:
        notes.append(
            f"{lost:,} people are not found by {', '.join(means)}, whose means are those of other "
            "people there; what it tells of them was left out of account"
        )
    if not found:
        view = release.views[0]
        nobody = np.zeros(data.n, dtype=np.int64)
        found = [Matches(view, nobody, np.array([0, view.count]), np.arange(view.count), view.sizes,
                         np.array([view.table.height]), pools_groups=False,
                         first=nobody[:1])]  # fmt: skip
    observed = Observed(release, data, knowledge.targets, hidden)
    made = found[0].view.disclose(found, observed)
    shown = {column for frame in made.frames for column in frame.columns}
    unseen = sorted(set(hidden) - shown)
    notes += [f"what it tells by {name} was left out of account" for name in unseen]
    beside = {name: data.codes[name].astype(np.int64)
              for name in knowledge.known if name in shown}  # fmt: skip
    return replace(made, known=beside), notes


def _hides_otherwise(
    release: Release, attribute: Attribute, target: Target, knowledge: Knowledge
) -> bool:
    """Whether something is shown that is not known, as numbers that cannot be compared."""
    name, role = attribute.name, attribute.role
    mine, theirs = (Coarsening.of(a) for a in (attribute, target.domain.attribute))
    if mine == theirs or (name in knowledge.known and role is Role.QUASI_IDENTIFIER):
        return False
    means = any(c is not None and c.aggregate is not None for c in (mine, theirs))
    return means or not release.views[0].shows_whose


def spell_labels(
    release: Release, table: pl.DataFrame, domain: Domain, name: str
) -> tuple[Ints, pl.DataFrame]:
    """Number the labels that rows show of an attribute; and list the values that each may be."""
    labels, number = read_labels(release, table, name)
    label, value = np.nonzero(labels.cover(domain).matrix(domain))
    return number, pl.DataFrame({f"#label {name}": label, "value": value})


def disclose_bags(matches: Matches, observed: Observed) -> Disclosure:
    """Of exact records: the bags of the groups that may be a person's, and what is beside."""
    hidden, release = observed.hidden, matches.release
    exact = [n for n in hidden
             if n in matches.view.table.columns and n not in release.schema.sensitive]  # fmt: skip
    if exact:
        sets = np.arange(matches.count)
        beside = [list_beside(matches, observed, exact)]
        made = Disclosure(matches.set_of, matches.records, beside)
    else:
        sets, set_of, records = merge_sets(matches.set_of, matches.records, matches.only)
        made = Disclosure(set_of, records, [])
    frames = [
        list_values(mix_options(matches, name, sets), observed.targets[name].domain, name)
        for name in release.schema.sensitive
        if name in hidden
    ]
    return replace(made, frames=[*frames, *made.frames])


def list_values(bags: Groups, domain: Domain, name: str) -> pl.DataFrame:
    """List what bags hold, set by set, as codes of another domain; what it lacks is left out."""
    codes = domain.find(bags.domain.texts)[bags.codes]
    frame = pl.DataFrame({SET: bags.owners, name: codes, WEIGHT: bags.weights})
    return frame.filter(pl.col(name) >= 0)


def merge_sets(set_of: Ints, records: Ints, only: Ints) -> tuple[Ints, Ints, Ints]:
    """Make one set of those that have one group, the same: their people are told the same.

    ``only`` is that group, or -1. Gives one of the old sets per new one, and the rest anew.
    """
    apart = int(only.max(initial=0)) + 1 + np.arange(len(only))
    _, first, same = np.unique(np.where(only >= 0, only, apart),
                               return_index=True, return_inverse=True)  # fmt: skip
    fewest = np.full(len(first), np.iinfo(np.int64).max)
    np.minimum.at(fewest, same, records)
    return first, np.append(same, -1)[set_of], fewest


def mix_options(matches: Matches, name: str, sets: Ints) -> Groups:
    """Mix the bags of the groups of some sets, each as likely as it is theirs."""
    bags = matches.view.bags(name)
    if not len(sets):
        return bags.mix(sets, sets, sets, 0)
    owner, group, times, among = matches.weigh_options(bags, sets)
    alone = np.bincount(owner, minlength=len(sets))[owner] == 1
    return bags.mix(group, owner, round_weights(times / among, alone), len(sets))


def round_weights(likely: Floats, alone: Bools) -> Ints:
    """Give whole numbers for how likely groups are; one that is alone is taken as it is."""
    times = np.maximum(np.round(likely / likely.max() * FINE), 1).astype(np.int64)
    return np.where(alone, 1, times)


def list_beside(matches: Matches, observed: Observed, names: list[str]) -> pl.DataFrame:
    """What exact records show beside the quasi-identifiers by which a person is found."""
    release, table = matches.release, matches.view.table
    shown = [n for n in release.schema.quasi_identifiers if n not in names]
    number = row_ids(
        [reduce_column(table[n], release.schema[n]).encode(None)[0] for n in shown], table.height
    )
    codes = {n: read_codes(release, table, n, observed.targets[n].domain) for n in names}
    rows = pl.DataFrame({NUMBER: number, **codes}).group_by(NUMBER, *names).len(WEIGHT)
    sets = pl.DataFrame({SET: np.arange(matches.count), NUMBER: number[matches.first]})
    frame = sets.join(rows, on=NUMBER).select(SET, *names, pl.col(WEIGHT).cast(pl.Int64))
    return frame.filter(*(pl.col(n) >= 0 for n in names))
