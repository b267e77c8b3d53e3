"""People: whose rows are whose, and how many of somebody's rows are published.

A table may hold a person in several rows: visits, purchases, jobs. A key says which rows belong
together; it is read, and never leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from types import MappingProxyType
from typing import TYPE_CHECKING, get_args

import numpy as np
import polars as pl

from discreet.errors import MicrodataError, SchemaError, name_closest
from discreet.table.arrays import Bools, Ints
from discreet.table.coarsening import Coded
from discreet.table.domain import MISSING, Domain, reduce_column
from discreet.table.people_key import Fold, PeopleKey
from discreet.table.schema import Attribute, Role, Type
from discreet.table.spelling import find_numbers

if TYPE_CHECKING:
    from discreet.table.coded_table import CodedTable
    from discreet.table.microdata import Microdata

KEY = Attribute("key", Role.IDENTIFIER, Type.CATEGORY)
Folding = Callable[[Domain, np.ndarray, "Persons"], pl.Series]
MOST_IN_CLUSTER = 2
"""A cluster may hold one in so many people of a table."""


@dataclass(frozen=True, eq=False)
class Persons:
    """Who each row is of, and with whom they would be found; numbered from 0 without gaps."""

    of: Ints
    """Per row the person."""
    cluster_of: Ints
    """Per person the cluster; without clusters everybody is one of their own."""
    clustered: bool = False

    @property
    def count(self) -> int:
        """Number of people."""
        return len(self.cluster_of)

    @cached_property
    def rows(self) -> Ints:
        """Rows per person."""
        return np.bincount(self.of, minlength=self.count)

    @cached_property
    def first(self) -> Ints:
        """Per person the first of their rows."""
        first = np.empty(self.count, dtype=np.int64)
        first[self.of[::-1]] = np.arange(len(self.of))[::-1]
        return first

    @cached_property
    def units(self) -> Ints:
        """Per row what counts as one among those who look the same: a person, or a cluster."""
        return self.cluster_of[self.of]

    @property
    def most_rows(self) -> int:
        """The most rows that anybody has."""
        return int(self.rows.max())

    @property
    def most_together(self) -> int:
        """The most rows of people who count as one."""
        return int(np.bincount(self.units).max())

    @property
    def several(self) -> bool:
        """Whether somebody has several rows, or is found with others."""
        return self.most_together > 1

    def taken(self, rows: Ints) -> Persons:
        """Give those of some rows, numbered anew."""
        people, of = np.unique(self.of[rows], return_inverse=True)
        clusters = np.unique(self.cluster_of[people], return_inverse=True)[1]
        return Persons(of.astype(np.int64), clusters.astype(np.int64), self.clustered)

    def fold_any(self, per_row: Bools) -> Bools:
        """Say of everybody whether it is so of any of their rows."""
        return np.asarray(np.bincount(self.of[per_row], minlength=self.count) > 0)

    def fold_min(self, per_row: np.ndarray) -> np.ndarray:
        """Give everybody the least of their rows."""
        least = np.full(self.count, per_row.max(initial=0), dtype=per_row.dtype)
        np.minimum.at(least, self.of, per_row)
        return least

    def fold_least(self, per_row: Ints) -> Ints:
        """Give everybody the least of their rows that is not 0; 0 if all are."""
        beyond = int(per_row.max(initial=0)) + 1
        least = np.full(self.count, beyond, dtype=np.int64)
        np.minimum.at(least, self.of, np.where(per_row > 0, per_row, beyond))
        return np.where(least < beyond, least, 0)

    def fold_sum(self, per_row: np.ndarray) -> np.ndarray:
        """Give everybody the sum over their rows."""
        return np.bincount(self.of, weights=per_row, minlength=self.count)

    def count_units(self, groups: Ints, count: int) -> Ints:
        """Count the people, or clusters, that have rows in each of ``count`` groups; -1 is none."""
        here = groups >= 0
        pairs = np.unique(groups[here].astype(np.int64) * (len(self.of) + 1) + self.units[here])
        return np.bincount(pairs // (len(self.of) + 1), minlength=count)


def read_keys(
    frame: pl.DataFrame, key: PeopleKey, na: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> Coded | None:
    """Read the key of everybody, where a column has it.

    ``na`` says of columns which texts mean missing there.
    """
    if key.person is None:
        return None
    return _encode_key(frame, key.person, "person", (*key.missing, *na.get(key.person, ())))


def read_persons(
    frame: pl.DataFrame,
    key: PeopleKey,
    na: Mapping[str, Sequence[str]] = MappingProxyType({}),
    keys: Coded | None = None,
) -> Persons | None:
    """Read who each row is of, by their keys; ``None`` where rows are people, found one by one."""
    if keys is None and key.cluster is None:
        return None
    person = np.arange(frame.height) if keys is None else keys[0].astype(np.int64)
    cluster = person
    if key.cluster is not None:
        nobody = (*key.missing, *na.get(key.cluster, ()))
        cluster = _encode_key(frame, key.cluster, "cluster", nobody)[0].astype(np.int64)
    first = Persons(person, np.arange(int(person.max(initial=-1)) + 1)).first
    cluster_of = np.unique(cluster[first], return_inverse=True)[1].astype(np.int64)
    if key.cluster is not None and key.person is not None:
        torn = np.unique(person[cluster != cluster[first][person]])
        if len(torn):
            raise MicrodataError(
                f"cluster = {key.cluster!r}: {len(torn)} people are in several of them.",
                hint="Give every row of a person the same, or leave the rows out.",
            )
    persons = Persons(person, cluster_of, key.cluster is not None)
    if persons.clustered:
        _refuse_large(persons, str(key.cluster))
    return persons


def _encode_key(frame: pl.DataFrame, name: str, what: str, nobody: tuple[str, ...]) -> Coded:
    if name not in frame.columns:
        raise SchemaError(
            f"{what} = {name!r}: there is no such column.", hint=name_closest(name, frame.columns)
        )
    column = reduce_column(frame[name], replace(KEY, na=nobody))
    refuse_nameless(f"{what} = {name!r}", int(column.absent.sum()), frame.height)
    return column.encode(None)


def name_key(name: str) -> Attribute:
    """Say how the column that names people is read."""
    return replace(KEY, name=name)


def refuse_nameless(key: str, absent: int, height: int) -> None:
    """Refuse a table in which so many rows have no key."""
    if absent:
        raise MicrodataError(
            f"{key}: {absent:,} of {height:,} rows have none.",
            hint="Fill the cells, or leave these rows out: nobody can say whose they are.",
        )


def _refuse_large(persons: Persons, name: str) -> None:
    largest = int(np.bincount(persons.cluster_of).max())
    if persons.count > 1 and largest * MOST_IN_CLUSTER >= persons.count:
        raise MicrodataError(
            f"cluster = {name!r}: one of them holds {largest:,} of {persons.count:,} people, so "
            "that nobody could be hidden among others.",
            hint="Give a column of households or the like, or leave cluster out.",
        )


def count_repeats(frame: pl.DataFrame, identifiers: Sequence[Attribute]) -> dict[str, int]:
    """Count the distinct values of columns that name people, where some repeat."""
    found = {}
    for attribute in identifiers:
        cells = take_names(frame[attribute.name], attribute.na)
        distinct = cells.n_unique()
        if distinct < len(cells):
            found[attribute.name] = distinct
    return found


def take_names(cells: pl.Series, na: Sequence[str]) -> pl.Series:
    """Take cells that name people as they are compared: without empty ones, and such as ``na``."""
    if cells.dtype in (pl.Categorical, pl.Enum):
        cells = cells.cast(pl.String)
    if cells.dtype.is_float():
        cells = cells.fill_nan(None)
    cells = cells.drop_nulls()
    if cells.dtype == pl.String:
        cells = cells.str.strip_chars()
        return cells.filter(~cells.is_in(["", *na]))
    return cells.filter(~find_numbers(cells, na))


def refuse_repeats(data: CodedTable) -> None:
    """Refuse a table whose rows may be several of one person, until somebody says."""
    repeats = data.intake.repeats
    if not repeats or data.schema.people.person is not None or data.schema.people.rows_are_people:
        return
    name, distinct = min(repeats.items(), key=lambda found: found[1])
    raise SchemaError(
        f"Column {name!r} names people and has {distinct:,} values in {data.intake.read:,} rows: "
        "a promise about rows would be none about people.",
        hint=f'Say person = "{name}" (in a plan under [source]) if rows with the same value are '
        "of one person, or rows_are_people = true if they are not.",
    )


def settle_rows(data: Microdata, frame: pl.DataFrame) -> Microdata:
    """Publish of everybody what the schema says: all rows, so many at most, one, or one of all.

    Which rows are taken follows from what they say in all columns of the table, by a hash, so that
    it depends neither on their order nor on which columns are published: whoever reads the table
    again takes the same. That draw protects nobody. Who knows which row was taken is the adversary
    of every promise.
    """
    key, persons = data.schema.people, data.persons
    if persons is None:
        return data
    _refuse_means(data)
    if key.person is None:
        return data
    if key.rows == "fold":
        return _fold(data, persons)
    most = 1 if key.rows == "one" else key.most_rows
    if most is None or persons.most_rows <= most:
        return data
    told = _hash_rows(frame)
    order = np.lexsort((told if data.rows is None else told[data.rows], persons.of))
    starts = np.cumsum(persons.rows) - persons.rows
    place = np.arange(data.n) - np.repeat(starts, persons.rows)
    taken = data.taken(np.sort(order[place < most])).narrowed()
    return replace(taken, intake=replace(taken.intake, left_out=data.n - taken.n))


def _refuse_means(data: Microdata) -> None:
    """Refuse means of so many rows, which may be one person's; and folds of what is coarser."""
    for attribute in data.schema:
        if attribute.aggregate is not None:
            raise SchemaError(
                f"columns.{attribute.name}.aggregate counts rows, which may be of one person or "
                "cluster.",
                hint="Round the column instead, or fold rows before the table is read.",
            )
        coarse = attribute.name in data.finer and data.schema.people.rows == "fold"
        if coarse and attribute.fold not in (None, "first"):
            raise SchemaError(
                f"columns.{attribute.name}: a {attribute.fold} of numbers that were made coarser.",
                hint='Fold it by "first", or leave top, bottom and round out.',
            )


def _hash_rows(frame: pl.DataFrame) -> Ints:
    """Give every row a number that follows from what it says, and from nothing else."""
    mixed = np.zeros(frame.height, dtype=np.uint64)
    for name in sorted(frame.columns):
        if frame[name].dtype.is_nested() or frame[name].dtype in (pl.Binary, pl.Object):
            continue
        cells = frame[name].cast(pl.String).fill_null("").str.strip_chars()
        texts = cells.unique().sort()
        digests = [blake2b(f"{name}\0{t}".encode(), digest_size=8).digest() for t in texts]
        words = np.frombuffer(b"".join(digests), dtype="<u8")
        mixed ^= words[texts.search_sorted(cells).to_numpy()]
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed.view(np.int64)


def _fold(data: Microdata, persons: Persons) -> Microdata:
    """Make one row of everybody's, column by column as the schema says."""
    first = persons.first
    codes, domains, attributes = {}, {}, {}
    problems = []
    for name, column in data.codes.items():
        attribute, domain = data.schema[name], data.domains[name]
        if not attribute.fold:
            differ = persons.fold_any(column != column[first][persons.of])
            if differ.any():
                problems.append(f"column {name!r} differs between rows of {int(differ.sum()):,} "
                                "people")  # fmt: skip
        folded = _FOLDS[attribute.fold or "first"](domain, column, persons)
        attributes[name] = attribute.folded
        codes[name], domains[name] = reduce_column(folded, attributes[name]).encode(None)
    if problems:
        raise MicrodataError(
            "Rows cannot be folded into one:\n" + "\n".join(f"  - {text}" for text in problems),
            hint=f"Say for each how: fold = one of {', '.join(get_args(Fold))}.",
        )
    return replace(
        data,
        schema=data.schema.changed(*attributes.values()),
        codes=codes,
        domains=domains,
        finer={name: (column[first], domain) for name, (column, domain) in data.finer.items()},
        guards={name: (column[first], domain) for name, (column, domain) in data.guards.items()},
        persons=persons.taken(first) if persons.clustered else None,
        keys=None if data.keys is None else (data.keys[0][first], data.keys[1]),
        rows=first if data.rows is None else data.rows[first],
    )


def _list_values(domain: Domain, column: np.ndarray, persons: Persons) -> pl.DataFrame:
    values = domain.series().gather(column)
    if domain.attribute.type is Type.DECIMAL:  # whole units: sums of them are exact
        units = pl.Series([*domain.values.tolist(), *[None] * domain.missing], dtype=pl.Int64)
        values = units.gather(column)
    return pl.DataFrame({"person": persons.of, "value": values})


def _fold_by(expression: pl.Expr, *, rounded: bool = False) -> Folding:
    """Make a fold of a number per person, of those that are not missing."""

    def fold(domain: Domain, column: np.ndarray, persons: Persons) -> pl.Series:
        frame = _list_values(domain, column, persons)
        made = frame.group_by("person").agg(expression).sort("person")["value"]
        if rounded:
            made = made.round(mode="half_to_even").cast(pl.Int64)
        scale = 10**domain.decimals
        return made if domain.attribute.type is not Type.DECIMAL else pl.Series(made / scale)

    return fold


def _fold_set(domain: Domain, column: np.ndarray, persons: Persons) -> pl.Series:
    """Give everybody's different values in the order of the domain, as one text."""
    pairs = np.unique(persons.of * domain.size + column)
    only = np.bincount(pairs // domain.size, minlength=persons.count) == 1
    if domain.missing:  # nothing to be told beside what there is
        pairs = pairs[(pairs % domain.size < domain.size - 1) | only[pairs // domain.size]]
    texts = pl.Series(domain.texts).gather(pairs % domain.size)
    listed = pl.DataFrame({"person": pairs // domain.size, "value": texts})
    if domain.missing:
        listed = listed.with_columns(value=pl.col("value").replace(MISSING, None))
    joined = pl.col("value").str.join(", ", ignore_nulls=False)
    return listed.group_by("person", maintain_order=True).agg(joined).sort("person")["value"]


def _fold_count(domain: Domain, column: np.ndarray, persons: Persons) -> pl.Series:  # noqa: ARG001
    return pl.Series(persons.rows)


VALUE = pl.col("value")
_FOLDS: dict[str, Folding] = {
    "first": _fold_by(VALUE.first()),
    "last": _fold_by(VALUE.last()),
    "sum": _fold_by(pl.when(VALUE.count() > 0).then(VALUE.sum())),
    "mean": _fold_by(VALUE.mean(), rounded=True),
    "min": _fold_by(VALUE.min()),
    "max": _fold_by(VALUE.max()),
    "set": _fold_set,
    "count": _fold_count,
}
"""How the rows of a person become one value."""
