"""Held: what the batches of a release hold, of each sensitive attribute, or of several together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np
import polars as pl

from discreet.errors import QueryError, StoreError
from discreet.forms.reading import read_values
from discreet.principles.groups import Groups
from discreet.release import Release
from discreet.table.arrays import Ints
from discreet.table.domain import Domain
from discreet.table.microdata import Microdata, number_keys
from discreet.table.schema import Attribute, Role, Type

BATCHES, BATCH, COUNT = "batches", "batch", "count"


def list_told(release: Release) -> dict[str, list[str]]:
    """Give the sensitive attributes of every table of batches."""
    names = release.schema.sensitive
    titles = [BATCHES, *(f"{BATCHES}_{i + 2}" for i in range(len(names) - 1))]
    return {
        title: [name for name in names if name in release.tables[title].columns]
        for title in titles
        if title in release.tables
    }


def name_told(names: Sequence[str]) -> str:
    """Give the name under which batches hold what is told together; # is no column's."""
    return names[0] if len(names) == 1 else "#" + "#".join(names)


def find_told(release: Release, names: Sequence[str]) -> str | None:
    """Give the table of batches that tells some attributes together, if there is one."""
    return next((t for t, there in list_told(release).items() if set(names) <= set(there)), None)


def choose_batches(release: Release, names: Sequence[str]) -> str:
    """Give the table of batches that tells some attributes together; refuse if none does."""
    found = find_told(release, names)
    if found is None:
        raise QueryError(
            f"{', '.join(names)} are counted in tables of their own: which values belong to one "
            "person is not told.",
            hint="Ask about one of them.",
        )
    return found


def number_told(
    release: Release, data: Microdata, names: Sequence[str], held: Mapping[str, Groups]
) -> Ints:
    """Give everyone's own values as the code of what batches hold; -1 where they do not."""
    if len(names) == 1:
        return data.codes_in(names[0], held[names[0]].domain)
    codes = [data.codes_in(name, held[name].domain) for name in names]
    own = _pair(codes, [held[name].domain for name in names])
    kinds = np.unique(_number(release.tables[str(find_told(release, names))], release, names))
    at = np.minimum(np.searchsorted(kinds, own), len(kinds) - 1)
    known = np.all([code >= 0 for code in codes], axis=0)
    return np.where(known & (kinds[at] == own), at, -1)


def read_batches(release: Release) -> tuple[Ints, dict[str, Groups]]:
    """Read the numbers of the batches, and the bags that they hold."""
    told, held, numbers = list_told(release), dict[str, Groups](), np.zeros(0, dtype=np.int64)
    if sorted(name for names in told.values() for name in names) != sorted(
        release.schema.sensitive
    ):
        raise StoreError("The tables of batches do not tell every sensitive attribute once.")
    for title, names in told.items():
        found, bags = _read_table(release, title, names)
        if held and not np.array_equal(found, numbers):
            raise StoreError(f"The table {title!r} has other batches than {BATCHES!r}.")
        numbers = found
        held |= bags
    return numbers, held


def _read_table(release: Release, title: str, names: list[str]) -> tuple[Ints, dict[str, Groups]]:
    table, batch, count = release.tables[title], release.own(BATCH), release.own(COUNT)
    if not names or table.columns != [batch, *names, count]:
        raise StoreError(
            f"The table {title!r} has the columns {batch}, sensitive value and {count}."
        )
    whole = all(table[c].dtype.is_integer() and not table[c].null_count() for c in (batch, count))
    if not whole or table.height == 0 or int(table[count].min()) < 1:  # type: ignore[arg-type]
        raise StoreError(f"The table {title!r} has batches and counts that are not whole numbers.")
    numbers, owners = np.unique(table[batch].to_numpy(), return_inverse=True)
    owners = owners.astype(np.int64)
    counts = table[count].to_numpy().astype(np.int64)
    kinds = _number(table, release, names)
    values, kind = number_keys(kinds)
    if (np.diff(owners * len(values) + kind) <= 0).any():  # another order would be a message
        raise StoreError(
            f"The table {title!r} is not in the order of batches and values, each once."
        )
    held = {}
    for name in names:
        codes, domain, known = read_values(release, table, name)
        held[name] = _gather(owners, codes.astype(np.int64), counts, domain)
        if known is not None:
            held[name] = replace(held[name], whole=known)
    if len(names) > 1:
        attribute = Attribute("together", Role.SENSITIVE, Type.CATEGORY)
        joint = Domain(attribute, np.arange(len(values)).astype(str).astype(object))
        held[name_told(names)] = _gather(owners, kind, counts, joint)
    return numbers, held


def _gather(owners: Ints, codes: Ints, counts: Ints, domain: Domain) -> Groups:
    """Add up how often batches hold each code."""
    keys, inverse = np.unique(owners * domain.size + codes, return_inverse=True)
    weights = np.zeros(len(keys), dtype=np.int64)
    np.add.at(weights, inverse, counts)
    return Groups.from_entries(
        keys // domain.size, (keys % domain.size).astype(np.int32), weights, domain
    )


def _number(table: pl.DataFrame, release: Release, names: Sequence[str]) -> Ints:
    """Number what rows tell together, in the order of its attributes."""
    read = [read_values(release, table, name)[:2] for name in names]
    return _pair([codes.astype(np.int64) for codes, _ in read], [domain for _, domain in read])


def _pair(codes: Sequence[Ints], domains: Sequence[Domain]) -> Ints:
    if prod(domain.size for domain in domains) >= 2**62:
        raise StoreError("The sensitive attributes told together have too many values to number.")
    key = np.zeros(len(codes[0]), dtype=np.int64)
    for code, domain in zip(codes, domains, strict=True):
        key = key * domain.size + code
    return key
