"""Telling: what one release leaves possible about each person, in a form all releases share.

Whatever its form, a release sorts people into candidate sets and shows, per set, values with a
weight: of records that may be a person's, or of a bag that the person's value is in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import DiscreetError, StoreError
from discreet.forms.batched.view import Boxes
from discreet.forms.matches import Candidates, find_candidates
from discreet.forms.perturbed.view import Perturbed
from discreet.forms.sliced.view import Slices, number_shown
from discreet.forms.verify import read_classes
from discreet.principles.groups import Groups
from discreet.release import Release
from discreet.release.extents import read_extents
from discreet.release.release import AUXILIARY
from discreet.table.domain import Domain, reduce_column
from discreet.table.microdata import Microdata, TableLike, number_rows, pick_each, read
from discreet.table.readers import read_table
from discreet.table.schema import Missing, Role, Schema

Ints = NDArray[np.int64]
FINE = 2**20
"""Parts that likelihoods of groups are rounded to."""


@dataclass(frozen=True, eq=False)
class Kind:
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
    kinds: dict[str, Kind]


@dataclass(frozen=True, eq=False)
class Told:
    """What one release tells about the people of a table."""

    of: Ints
    """Per person the candidate set; -1 if the release shows nobody like that."""
    records: Ints
    """Per set how many records may be a person's."""
    frames: list[pl.DataFrame]
    """Per ``set`` the values that are shown together, as codes, and their weight ``w``."""
    known: dict[str, Ints]
    """What is known of everyone and shown exactly beside what is not."""
    floor: Ints | None
    """Per set the weight of every value that is not listed, where any may be a person's."""


def learn(releases: Sequence[tuple[str, Release]], data: Microdata) -> Knowledge:
    """Say what an adversary knows: all quasi-identifiers that are sensitive in no release."""
    schemas = [held.schema for _, held in releases]
    sensitive = {name for schema in schemas for name in schema.sensitive}
    named = {name for schema in schemas for name in schema.quasi_identifiers}
    known = frozenset((named & set(data.codes)) - sensitive)
    kinds = {}
    for name in dict.fromkeys(n for schema in schemas for n in schema.names):
        if name in data.codes:
            counts = np.bincount(data.codes[name], minlength=data.domains[name].size)
            kinds[name] = Kind(data.domains[name], counts.astype(np.int64))
        else:
            kind = _read_kind([held for _, held in releases], name)
            if kind is not None:
                kinds[name] = kind
    return Knowledge(known, kinds)


def read_known(source: TableLike, schema: Schema, releases: Sequence[Release]) -> Microdata:
    """Read a table with everything that some releases show of it, whatever its schema publishes."""
    frame = read_table(source)
    shown = {a.name: a for held in releases for a in held.schema if a.role is not Role.OTHER}
    for name, attribute in shown.items():
        if name in frame.columns and name not in schema.published.names:
            others = [a for a in schema if a.name != name]
            wider = Schema((*others, replace(attribute, missing=Missing.VALUE)))
            try:
                read(frame.select(name), wider.only([name]))
            except DiscreetError:  # it reads otherwise by now, and is left out of account
                continue
            schema = wider
    return read(frame, schema)


def _read_kind(releases: list[Release], name: str) -> Kind | None:
    """Collect the values of an attribute that only releases have; none if they show no value."""
    shown, attribute = [], None
    for held in releases:
        if name not in held.schema.names or held.recodings[name].is_blurred:
            continue
        attribute = attribute or held.schema[name]
        if attribute.reads_like(held.schema[name]):
            shown += [t[name].unique() for t in held.tables.values() if name in t.columns]
    if attribute is None or not shown:
        return None
    return Kind(reduce_column(pl.concat(shown).unique(), attribute).encode(None)[1], None)


def tell(release: Release, data: Microdata, knowledge: Knowledge) -> tuple[Told, list[str]]:
    """Read what a release tells about everybody, and say what of it could not be examined."""
    notes: list[str] = []
    seen: list[str] = []
    hidden: list[str] = []
    for attribute in release.schema:
        name, kind = attribute.name, knowledge.kinds.get(attribute.name)
        blurred = release.recodings[name].is_blurred
        if kind is None or (blurred and name not in data.codes):
            notes.append(f"shows {name}, which this table lacks; it was left out of account")
        elif not kind.domain.attribute.reads_like(attribute):
            notes.append(f"shows {name}, which is of another type here; it was left out of account")
        elif name in knowledge.known and attribute.role is not Role.SENSITIVE:
            (seen if attribute.role is Role.QUASI_IDENTIFIER else hidden).append(name)
        else:
            hidden.append(name)
    try:
        views = read_classes(_restrict(release, seen, data)) if seen else []
        found = [find_candidates(view, data) for view in views]
    except StoreError:  # what is left of it is no release of its form: regions overlap
        found = []
        notes.append("people cannot be told apart in it by what is known here")
    if not found:
        view = read_classes(release)[0]
        everyone = tuple(range(view.count))
        nobody = np.zeros(data.n, dtype=np.int64)
        found = [Candidates(nobody, [everyone], np.array([view.table.height]), view,
                            first=nobody[:1], per_group=view.sizes)]  # fmt: skip
    first = found[0].classes
    if isinstance(first, Boxes):
        of, frames, records = _tell_batches(found, knowledge, hidden)
    elif isinstance(first, Slices | Perturbed) or first.boxes is None:
        of, frames, records = _tell_bags(found[0], knowledge, hidden)
    else:
        of, frames, records = _tell_rows(found[0], release, data, knowledge, hidden)
    shown = {column for frame in frames for column in frame.columns}
    unseen = sorted(set(hidden) - shown)
    notes += [f"what it tells by {name} was left out of account" for name in unseen]
    beside = {name: data.codes[name].astype(np.int64)
              for name in knowledge.known if name in shown}  # fmt: skip
    floor = _find_floor(found[0], first) if isinstance(first, Perturbed) else None
    return Told(of, records, frames, beside, floor), notes


def _restrict(release: Release, seen: list[str], data: Microdata) -> Release:
    """Leave out of a release the quasi-identifiers that are not among these."""
    sliced = isinstance(release.parameters.get("columns"), list)
    gone = [
        a.name
        for a in release.schema
        if (a.role is Role.QUASI_IDENTIFIER and a.name not in seen)
        or (sliced and a.role is Role.OTHER and a.name not in data.codes)
    ]
    if not gone:
        return release
    lost = [column for name in gone for column in release.recodings[name].columns(name)]
    tables: dict[str, pl.DataFrame] = {}
    titles = iter(release.shown)  # tables that are left out leave no gap in the numbers
    for title, table in release.tables.items():
        kept = [c for c in table.columns if c not in lost]
        if kept == ["batch"]:
            continue
        shown = table.select(kept)
        if "batch" in kept and len(kept) < table.width:  # rows that look alike stand together
            shown = shown.sort([*(c for c in kept if c != "batch"), "batch"])
        tables[title if title in AUXILIARY else next(titles)] = shown
    parameters = dict(release.parameters)
    if sliced:
        columns = [[n for n in part if n not in gone] for part in parameters["columns"]]  # type: ignore[attr-defined]
        parameters["columns"] = [part for part in columns if part]
    names = [name for name in release.schema.names if name not in gone]
    return replace(release, tables=tables, schema=release.schema.only(names), parameters=parameters)


def _tell_rows(
    found: Candidates, release: Release, data: Microdata, knowledge: Knowledge, hidden: list[str]
) -> tuple[Ints, list[pl.DataFrame], Ints]:
    """Of a generalized table: everything its records show together."""
    table = release.tables["generalized"]
    rows = pl.DataFrame({"group": found.classes.labels})
    spelled = []
    for name in hidden:
        if release.recodings[name].is_blurred:
            labels, members = _spell(release, table, data, name)
            rows = rows.with_columns(pl.Series(f"label {name}", labels))
            spelled.append((f"label {name}", members.rename({"value": name})))
        else:
            codes = _encode(table[name], release, knowledge.kinds[name].domain, name)
            rows = rows.with_columns(pl.Series(name, codes))
    counted = rows.group_by(rows.columns).len("w").with_columns(pl.col("w").cast(pl.Int64))
    for label, members in spelled:
        counted = counted.join(members, on=label).drop(label)
    counted = counted.filter(*(pl.col(name) >= 0 for name in hidden))
    options = pl.DataFrame(dict(zip(
        ("set", "group"), found.list_options(np.arange(len(found.sets))), strict=True
    )))  # fmt: skip
    frame = options.join(counted, on="group").group_by("set", *hidden).agg(pl.col("w").sum())
    return found.of, [frame], found.records


def _spell(
    release: Release, table: pl.DataFrame, data: Microdata, name: str
) -> tuple[Ints, pl.DataFrame]:
    """Number the labels that rows show of an attribute; and list the values that each may be."""
    number = number_shown(release, table, [name], np.zeros(table.height, dtype=np.int64))
    extents = read_extents(release, data, table[pick_each(number)], [name])
    label, value = np.nonzero(extents[name].matrix(data.domains[name]))
    return number, pl.DataFrame({f"label {name}": label, "value": value})


def _encode(cells: pl.Series, release: Release, domain: Domain, name: str) -> Ints:
    codes, own = reduce_column(cells, release.schema[name]).encode(None)
    return domain.find(own.texts)[codes]


def _tell_bags(
    found: Candidates, knowledge: Knowledge, hidden: list[str]
) -> tuple[Ints, list[pl.DataFrame], Ints]:
    """Of exact or sliced records: the bag of the groups that may be a person's."""
    classes, release = found.classes, found.release
    of, records, sets = found.of, found.records, np.arange(len(found.sets))
    beside = []
    exact = [n for n in hidden if n in classes.table.columns and n not in release.schema.sensitive]
    if exact and not isinstance(classes, Slices):
        beside = [_tell_beside(found, knowledge, exact)]
    elif not isinstance(classes, Perturbed):
        only = np.array([groups[0] if len(groups) == 1 else -1 for groups in found.sets], np.int64)
        sets, of, records = _merge(of, records, only)
    frames = []
    for name in release.schema.sensitive:
        if name in hidden:
            kind = knowledge.kinds[name]
            if isinstance(classes, Perturbed):
                frames.append(_tell_perturbed(found, classes, sets, kind.domain, name))
                continue
            frames.append(_list_values(_pour(found, name, sets), kind.domain, name))
    return of, [*frames, *beside], records


def _list_values(bags: Groups, domain: Domain, name: str) -> pl.DataFrame:
    """List what bags hold, set by set, as codes of another domain; what it lacks is left out."""
    codes = domain.find(bags.domain.texts)[bags.codes]
    frame = pl.DataFrame({"set": bags.owners, name: codes, "w": bags.weights})
    return frame.filter(pl.col(name) >= 0)


def _merge(of: Ints, records: Ints, only: Ints) -> tuple[Ints, Ints, Ints]:
    """Make one set of those that have one group, the same: their people are told the same.

    ``only`` is that group, or -1. Gives one of the old sets per new one, and the rest anew.
    """
    apart = int(only.max(initial=0)) + 1 + np.arange(len(only))
    _, first, same = np.unique(np.where(only >= 0, only, apart),
                               return_index=True, return_inverse=True)  # fmt: skip
    fewest = np.full(len(first), np.iinfo(np.int64).max)
    np.minimum.at(fewest, same, records)
    return first, np.append(same, -1)[of], fewest


def _pour(found: Candidates, name: str, sets: Ints) -> Groups:
    """Mix the bags of the groups of some sets, each as likely as it is theirs."""
    bags = found.classes.bags(name)
    if not len(sets):
        return bags.pour(sets, sets, sets, 0)
    owner, group, times, among = found.weigh_options(bags, sets)
    alone = np.bincount(owner, minlength=len(sets))[owner] == 1
    return bags.pour(group, owner, _weigh(times / among, alone), len(sets))


def _weigh(likely: NDArray[np.float64], alone: NDArray[np.bool_]) -> Ints:
    """Give whole numbers for how likely groups are; one that is alone is taken as it is."""
    times = np.maximum(np.round(likely / likely.max() * FINE), 1).astype(np.int64)
    return np.where(alone, 1, times)


def _tell_beside(found: Candidates, knowledge: Knowledge, names: list[str]) -> pl.DataFrame:
    """What exact records show beside the quasi-identifiers by which a person is found."""
    release, table = found.release, found.classes.table
    assert found.first is not None
    shown = [n for n in release.schema.quasi_identifiers if n not in names]
    number = number_rows(
        [reduce_column(table[n], release.schema[n]).encode(None)[0] for n in shown], table.height
    )
    codes = {n: _encode(table[n], release, knowledge.kinds[n].domain, n) for n in names}
    rows = pl.DataFrame({"number": number, **codes}).group_by("number", *names).len("w")
    sets = pl.DataFrame({"set": np.arange(len(found.sets)), "number": number[found.first]})
    frame = sets.join(rows, on="number").select("set", *names, pl.col("w").cast(pl.Int64))
    return frame.filter(*(pl.col(n) >= 0 for n in names))


def _tell_perturbed(
    found: Candidates, classes: Perturbed, sets: Ints, domain: Domain, name: str
) -> pl.DataFrame:
    """How likely the numbers shown would be, were a person's one of them."""
    owner, group = found.list_options(sets)
    codes = domain.find(classes.domain.texts)[group]
    drawn = classes.replacement
    spike = drawn.retention.numerator * drawn.size
    weights = _find_floor(found, classes)[sets][owner] + spike * found.list_records(sets)
    frame = pl.DataFrame({"set": owner, name: codes, "w": weights})
    return frame.filter(pl.col(name) >= 0)


def _find_floor(found: Candidates, classes: Perturbed) -> Ints:
    """How likely the numbers shown to each set would be, were a person's another one."""
    every = np.arange(len(found.sets))
    records = np.zeros(len(every), dtype=np.int64)
    np.add.at(records, found.list_options(every)[0], found.list_records(every))
    retention = classes.replacement.retention
    return (retention.denominator - retention.numerator) * records


def _tell_batches(
    found: list[Candidates], knowledge: Knowledge, hidden: list[str]
) -> tuple[Ints, list[pl.DataFrame], Ints]:
    """Of angelized tables: the batches that all of them leave possible."""
    of = np.stack([view.of for view in found], axis=1)
    covered = (of >= 0).all(axis=1)
    number = number_rows(list(of[covered].T), int(covered.sum()))
    cells = of[covered][pick_each(number)] if covered.any() else of[:0]
    place = np.full(len(of), -1, dtype=np.int64)
    place[covered] = number
    rows: list[pl.DataFrame] = []
    for c, view in enumerate(found):
        assert isinstance(view.classes, Boxes)
        box, batch, records = view.classes.references
        cell, group = view.list_options(cells[:, c])
        options = pl.DataFrame({"set": cell, "box": group})
        refers = pl.DataFrame({"box": box, "batch": batch, f"w{c}": records})
        rows.append(
            options.join(refers, on="box").group_by("set", "batch").agg(pl.col(f"w{c}").sum())
        )
    joined = reduce(lambda one, other: one.join(other, on=["set", "batch"]), rows)
    weight = reduce(lambda one, other: one * other, (pl.col(f"w{c}") for c in range(len(found))))
    joined = joined.select("set", "batch", weight.alias("w")).sort("set", "batch")
    records = np.min([view.records[cells[:, c]] for c, view in enumerate(found)], axis=0)
    (name,) = found[0].release.schema.sensitive
    if name not in hidden or not joined.height:
        return place, [], records
    first = found[0].classes
    assert isinstance(first, Boxes)
    held, batch, owner = first.held, joined["batch"].to_numpy(), joined["set"].to_numpy()
    several = np.bincount(owner, minlength=len(cells)) > 1
    only = np.full(len(cells), -1, dtype=np.int64)
    only[owner] = np.where(several[owner], -1, batch)
    sets, place, records = _merge(place, records, only)
    chosen = np.isin(owner, sets)
    batch, alone = batch[chosen], ~several[owner[chosen]]
    owner = np.argsort(sets)[np.searchsorted(sets, owner[chosen], sorter=np.argsort(sets))]
    likely = joined["w"].to_numpy()[chosen] / held.sizes[batch]
    bags = held.pour(batch, owner, _weigh(likely, alone), len(sets))
    return place, [_list_values(bags, knowledge.kinds[name].domain, name)], records
