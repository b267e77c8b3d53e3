"""Microdata: a table that fits its schema, every published attribute as codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.table.arrays import Bools, Ints, count_lone, number_by_sorting, order_rows
from discreet.table.coarsening import Coded, coarsen, encode_finer
from discreet.table.coded_table import (
    CodedTable,
    Intake,
    attempt_each,
    raise_all,
    refuse_all_dropped,
    refuse_identifiers,
    refuse_unknown,
    refuse_unpublished,
)
from discreet.table.databases import DatabaseTable
from discreet.table.domain import Domain, ReducedColumn, reduce_column
from discreet.table.guards import check_guards, read_guards
from discreet.table.people import Persons, count_repeats, read_keys, read_persons, settle_rows
from discreet.table.readers import TableFile, TableLike, read_table
from discreet.table.schema import Attribute, Missing, Role, Schema
from discreet.table.weights import Weights, check_weights, read_weights


@dataclass(frozen=True, eq=False)
class Microdata(CodedTable):
    """The steward's table: int32 codes into ordered domains, one array per attribute.

    Only attributes that a release may show are here; identifiers and dropped columns are not
    even read.

    >>> from discreet.table.schema import Type
    >>> data = read(pl.DataFrame({"sex": ["F", "M ", "F"], "pay": [1, 2, 2]}),
    ...             Schema((Attribute("sex", Role.QUASI_IDENTIFIER, Type.CATEGORY),
    ...                     Attribute("pay", Role.SENSITIVE, Type.INTEGER))))
    >>> data.codes["sex"].tolist(), data.domains["sex"].texts
    ([0, 1, 0], ['F', 'M'])
    """

    schema: Schema
    codes: dict[str, NDArray[np.int32]]
    domains: dict[str, Domain]
    intake: Intake
    rows: Ints | None = None
    """Numbers of the rows kept, if some were dropped."""
    persons: Persons | None = None
    """Whose rows are whose; ``None`` where every row is a person, found alone."""
    finer: dict[str, Coded] = field(default_factory=dict)
    """Columns whose numbers were made coarser, as they were. The steward's, never published."""
    weights: Weights | None = None
    """How many people of the population each row stands for, where a column says so."""
    guards: dict[str, Coded] = field(default_factory=dict)
    """Per sensitive attribute what people guard of it. The steward's, never published."""
    keys: Coded | None = None
    """Who each row is of, where a column says so. The steward's, never published."""
    whole: Mapping[str, Ints] | None = None
    """Of rows that are a part of a table: per attribute how often each code is in all of it."""

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(next(iter(self.codes.values())))

    def count(self, name: str) -> Ints:
        """Say how often each code of an attribute occurs."""
        from discreet.kernels.packing import tally

        counts: Ints = tally(self.codes[name], self.domains[name].size)
        return counts

    def count_whole(self, name: str) -> Ints:
        """Say how often each code occurs in the table that these rows are all of, or a part."""
        return self.count(name) if self.whole is None else self.whole[name]

    @property
    def people(self) -> int:
        """Number of people, who may have several rows."""
        return self.n if self.persons is None else self.persons.count

    def count_people(self, numbers: Ints, count: int) -> Ints:
        """Count the people who have rows of each of ``count`` numbers, -1 being none.

        People who would be found together count as one.
        """
        if self.persons is None:
            return np.bincount(numbers[numbers >= 0], minlength=count)
        return self.persons.count_units(numbers, count)

    def count_any(self, rows: Bools) -> int:
        """Count the people any of whose rows are some."""
        return int((rows if self.persons is None else self.persons.fold_any(rows)).sum())

    def to_polars(self) -> pl.DataFrame:
        """Give the values back as a polars frame; ``.to_pandas()`` and ``.to_arrow()`` follow."""
        return pl.DataFrame(
            {name: self.domains[name].series().gather(codes) for name, codes in self.codes.items()}
        )

    def to_own_values(self) -> pl.DataFrame:
        """Give people's own values as a frame: numbers as they were before they got coarser."""
        own = [domain.series().gather(c).alias(name) for name, (c, domain) in self.finer.items()]
        return self.to_polars().with_columns(own)

    def codes_in(self, name: str, domain: Domain) -> Ints:
        """Give everyone's value as a code of another domain; -1 where that does not have it."""
        return domain.find(self.domains[name].texts)[self.codes[name]]

    def without(self, name: str) -> Microdata:
        """Give the same people without one attribute."""
        schema = self.schema.only([n for n in self.schema.names if n != name])
        codes = {n: column for n, column in self.codes.items() if n != name}
        domains = {n: domain for n, domain in self.domains.items() if n != name}
        finer = {n: coded for n, coded in self.finer.items() if n != name}
        return replace(self, schema=schema, codes=codes, domains=domains, finer=finer)

    def sorted(self) -> Microdata:
        """Give the same people in the order of their values, whatever order they came in."""
        return self.taken(self.order(list(self.codes)))

    def taken(self, rows: Ints) -> Microdata:
        """Give the people of some rows, in this order."""
        codes = {name: column[rows] for name, column in self.codes.items()}
        finer = {name: (column[rows], domain) for name, (column, domain) in self.finer.items()}
        guards = {name: (column[rows], domain) for name, (column, domain) in self.guards.items()}
        persons = None if self.persons is None else self.persons.taken(rows)
        keys = None if self.keys is None else (self.keys[0][rows], self.keys[1])
        numbers = rows if self.rows is None else self.rows[rows]
        weights = None if self.weights is None else self.weights.taken(rows)
        return replace(
            self,
            codes=codes,
            rows=numbers,
            finer=finer,
            persons=persons,
            weights=weights,
            guards=guards,
            keys=keys,
        )

    def narrowed(self) -> Microdata:
        """Give the same with domains that hold no value which nobody here has, but public ones.

        What a release says of a domain must not tell of those who are not in it.
        """
        codes, domains = dict(self.codes), dict(self.domains)
        for name in codes:  # of others nothing is published
            domain = self.domains[name]
            used = np.bincount(self.codes[name], minlength=domain.size) > 0
            if domain.public or used.all():
                continue
            values = domain.values[used[: len(domain.values)]]
            left = Domain(domain.attribute, values, bool(domain.missing and used[-1]))
            tree = domain.taxonomy.restrict(left.texts[: len(values)]) if domain.taxonomy else None
            domains[name] = replace(left, taxonomy=tree if len(values) else None)
            codes[name] = (np.cumsum(used, dtype=np.int32) - 1)[self.codes[name]]
        return replace(self, codes=codes, domains=domains)

    def order(self, names: Sequence[str]) -> Ints:
        """Give the rows in the order of the first of some attributes, then the second, and so on.

        By all attributes it does not depend on the order in which people came in.
        """
        sizes = [self.domains[name].size for name in names]
        return order_rows((self.codes[name] for name in names), sizes, self.n)

    def head(self, n: int) -> Microdata:
        """Give the first ``n`` rows as a table of their own."""
        first = read(self.to_own_values().head(n), self.schema.published)
        if self.weights is not None:
            first = replace(first, weights=self.weights.taken(np.arange(first.n)))
        first = first.guarding(self, np.arange(first.n))
        if self.persons is None:
            return first
        persons = self.persons.taken(np.arange(first.n))
        return replace(first, schema=self.schema.only(first.schema.names), persons=persons)

    def guarding(self, other: Microdata, rows: Ints) -> Microdata:
        """Give the same table with what the people of some rows of another guard."""
        if not other.guards:
            return self
        columns = {domain.attribute.name for _, domain in other.guards.values()}
        told = tuple(a for a in other.schema if a.name in columns)
        schema = replace(self.schema, attributes=(*self.schema.attributes, *told))
        return replace(self, schema=schema, guards=other.taken(rows).guards)

    def count_unique(self, names: Sequence[str] | None = None) -> int:
        """Count the people whose values on the quasi-identifiers nobody else has."""
        names = self.quasi_identifiers if names is None else list(names)
        return self.count_lone(pack_rows([self.codes[n] for n in names], self.n)) if names else 0

    def count_lone(self, keys: Ints) -> int:
        """Count the people who have a row whose key is on nobody else's."""
        if self.persons is None:
            return count_lone(keys)
        number = number_keys(keys)[1]
        return self.count_any(self.count_people(number, int(number.max()) + 1)[number] == 1)

    def number(self, names: Sequence[str]) -> Ints:
        """Number the combinations of some attributes, from 0 on without gaps."""
        return row_ids([self.codes[name] for name in names], self.n)


def row_ids(columns: Iterable[NDArray[np.integer]], n: int) -> Ints:
    """Number the rows of some columns of codes by their order, from 0 on without gaps.

    >>> row_ids([np.array([1, 0, 1]), np.array([5, 5, 5])], 3).tolist()
    [1, 0, 1]
    """
    return number_keys(pack_rows(columns, n))[1]


def pack_rows(columns: Iterable[NDArray[np.integer]], n: int) -> Ints:
    """Give each row of some columns of codes a number of its own combination, in their order."""
    key, reach = np.zeros(n, dtype=np.int64), 1
    for column in columns:
        size = int(column.max(initial=0)) + 1
        if reach * size >= 2**62:
            key = number_keys(key)[1]
            reach = int(key.max(initial=0)) + 1
        key *= size
        key += column
        reach *= size
    return key


def representatives(numbers: Ints) -> Ints:
    """Give a row of each number, of numbers from 0 on without gaps."""
    picked = np.empty(int(numbers.max(initial=-1)) + 1, dtype=np.int64)
    picked[numbers] = np.arange(len(numbers))
    return picked


def number_keys(keys: Ints) -> tuple[Ints, Ints]:
    """Give the different keys in their order, and each key's place among them.

    >>> [part.tolist() for part in number_keys(np.array([7, 3, 7]))]
    [[3, 7], [1, 0, 1]]
    """
    reach = int(keys.max(initial=0)) + 1
    if reach > 8 * len(keys) + 1024:
        return number_by_sorting(keys)
    # few possible keys: counting them is far faster than sorting
    present = np.bincount(keys, minlength=reach) > 0
    return np.flatnonzero(present), (np.cumsum(present) - 1)[keys]


def read(
    source: TableLike,
    schema: Schema | str | Path | None = None,
    *,
    person: str | None = None,
    cluster: str | None = None,
) -> Microdata:
    """Read a table under a schema.

    ``source`` is a path (CSV, Parquet, Excel, SPSS, Stata) or a polars, pandas or Arrow table.
    ``schema`` is a :class:`Schema`, the path of a plan, or ``None`` to infer everything.
    ``person`` and ``cluster`` name the columns that say whose rows are whose and who would be found
    together, where the schema does not.

    All problems of all columns are collected into one error; nothing is read halfway.
    """
    if isinstance(schema, str | Path):
        from discreet.steward.plan import Plan

        plan = Plan.read(schema)
        frame = read_table(source)
        schema = plan.fit(frame.columns)
    else:
        frame = read_table(source)
    if schema is None:
        schema = Schema.infer(frame, person=person, cluster=cluster)
    elif person is not None or cluster is not None:
        told = schema.people
        key = replace(told, person=person or told.person, cluster=cluster or told.cluster)
        schema = replace(schema, people=key)
    where = "the table"
    if isinstance(source, str | Path | TableFile | DatabaseTable):
        where = Path(source).name if isinstance(source, str | Path) else source.name
    refuse_unknown(schema, frame.columns, where)
    published = refuse_unpublished(schema)
    weights = check_weights(frame, schema)
    names = [a.name for a in published]
    raw = {name: frame[name] for name in names}
    height = frame.height
    if schema.people.person is None:  # each column is let go once it is coded
        frame = frame.drop(name for name in names if name != schema.people.cluster)
    columns = attempt_each(published, lambda a: reduce_column(raw.pop(a.name), a), height)
    keep, intake = settle_missing(columns, height)
    finer = encode_finer(columns, keep)
    reduced = dict(zip(names, columns, strict=True))
    del columns
    coded = attempt_each(names, lambda name: coarsen(reduced.pop(name), keep).encode(keep), height)
    codes = {name: part for name, (part, _) in zip(names, coded, strict=True)}
    domains = {name: part for name, (_, part) in zip(names, coded, strict=True)}
    rows = None if keep is None else np.flatnonzero(keep)
    na = {a.name: a.na for a in schema}
    keys = read_keys(frame, schema.people, na)
    persons = read_persons(frame, schema.people, na, keys)
    if rows is not None:
        persons = None if persons is None else persons.taken(rows)
        keys = None if keys is None else (keys[0][rows], keys[1])
    named = [a for a in schema.having(Role.IDENTIFIER) if a.name != schema.people.cluster]
    intake = replace(intake, repeats=count_repeats(frame, named))
    guards = read_guards(frame, schema, keep)
    data = Microdata(schema, codes, domains, intake, rows, persons, finer, guards=guards, keys=keys)
    check_guards(data)
    data = settle_rows(data, frame)
    if data.persons is not None and not data.persons.several:
        data = replace(data, persons=None)
    data = replace(data, weights=read_weights(data, weights))
    refuse_identifiers(data)
    return data


def settle_missing(columns: list[ReducedColumn], height: int) -> tuple[Bools | None, Intake]:
    """Count missing cells and say which rows are kept, if not all; refuse where none may miss."""
    keep = np.ones(height, dtype=bool)
    missing: dict[str, int] = {}
    problems: list[str] = []
    for column in columns:
        if not column.missing[:-1].any() and column.inverse.max() < len(column.missing) - 1:
            continue
        absent = column.absent
        count = int(absent.sum())
        name = column.attribute.name
        if not count:
            continue
        missing[name] = count
        if column.attribute.missing is Missing.REJECT:
            problems.append(f"column {name!r}: {count} of {height} cells are missing")
        elif column.attribute.missing is Missing.DROP:
            keep &= ~absent
    raise_all(problems, hint='Set missing = "value" or "drop" for the column, or fill the cells.')
    dropped = int(height - keep.sum())
    if dropped == height:
        refuse_all_dropped(missing)
    return (keep if dropped else None), Intake(height, dropped, missing)


__all__ = ["Attribute", "Intake", "Microdata", "TableLike", "read"]
