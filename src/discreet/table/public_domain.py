"""Public domains: what the values of an attribute can be, whoever is in the table.

A table's own values name the oldest of its people, and the only one from a country. Under a public
domain they are values among others that somebody may or may not have.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.errors import MicrodataError, SchemaError
from discreet.table.arrays import Ints
from discreet.table.coarsening import Coarsening
from discreet.table.domain import Domain, order_values, read_unit
from discreet.table.microdata import Microdata
from discreet.table.schema import Attribute, Missing, Type
from discreet.table.taxonomy import Taxonomy

MOST_LISTED = 100_000
"""Numbers below a taxonomy are listed one by one, up to so many."""


def widen(data: Microdata, *, trees: bool) -> Microdata:
    """Give the same people, their quasi-identifiers as codes of public domains.

    Of numbers and dates that means the ends; every value between them only if ``trees``, for then
    labels are nodes of their taxonomies. Attributes without a public domain keep the table's own.
    """
    codes, domains = dict(data.codes), dict(data.domains)
    for name in data.quasi_identifiers:
        domains[name] = _widen_domain(data.domains[name], trees)
        found = data.codes_in(name, domains[name])
        if (found < 0).any():
            strange = data.domains[name].texts[int(data.codes[name][found < 0][0])]
            raise MicrodataError(
                f"Column {name!r} has the value {strange!r}, which is not in its public domain.",
                hint="Correct low and high, or values, of the column; or the cell.",
                subject=data.schema[name],
            )
        codes[name] = found.astype(np.int32)
    return replace(data, codes=codes, domains=domains)


def _widen_domain(domain: Domain, trees: bool) -> Domain:
    attribute = domain.attribute
    # whether anybody's value is missing is not told either, where that is a value
    missing = domain.missing or attribute.missing is Missing.VALUE
    if not attribute.has_public_domain:
        return replace(domain, missing=missing)
    values: np.ndarray
    match attribute.type:
        case Type.ORDINAL:
            values = np.array(attribute.order, dtype=object)
        case Type.BOOLEAN:
            values = np.array([0, 1], dtype=np.int64)
        case Type.CATEGORY:
            values = np.array(sorted(set(attribute.values)), dtype=object)
        case _:
            low, high = _read_ends(attribute)
            if attribute.taxonomy is None or not trees:
                attribute = replace(attribute, taxonomy=None)
                values = np.union1d(np.asarray(domain.values, dtype=np.int64), [low, high])
                values = values[(low <= values) & (values <= high)]
            else:
                values = _list_units(attribute, low, high)
    values, taxonomy = order_values(attribute, values)
    return Domain(domain.attribute, values, missing, taxonomy, public=True)


def _read_ends(attribute: Attribute) -> tuple[int, int]:
    ends = [read_unit(end, attribute.type, attribute.decimals or 0)
            for end in (attribute.low, attribute.high)]  # fmt: skip
    if ends[0] is None or ends[1] is None or ends[0] > ends[1]:
        raise SchemaError(
            f"Column {attribute.name!r}: low = {attribute.low}, high = {attribute.high} are not "
            f"the ends of a domain of type {attribute.type}.",
            hint="Give its lowest and its highest possible value.",
            subject=attribute,
        )
    coarse = Coarsening.of(attribute)
    if coarse is not None and coarse.aggregate is None:  # what its ends are shown as
        shown = coarse.show(np.array(ends, dtype=np.int64))
        return int(shown[0]), int(shown[1])
    return ends[0], ends[1]


def _list_units(attribute: Attribute, low: int, high: int) -> Ints:
    """List the values below a taxonomy, one by one."""
    if isinstance(attribute.taxonomy, Taxonomy):
        units = [read_unit(leaf, attribute.type, attribute.decimals or 0)
                 for leaf in attribute.taxonomy.leaves]  # fmt: skip
        known = np.array(sorted({u for u in units if u is not None}), dtype=np.int64)
        return known[(low <= known) & (known <= high)]
    if high - low >= MOST_LISTED:
        raise SchemaError(
            f"Column {attribute.name!r} can have {high - low + 1:,} values, too many to list below "
            "its taxonomy.",
            hint=f"Give fewer decimals, or nearer ends: at most {MOST_LISTED:,} values.",
            subject=attribute,
        )
    every = np.arange(low, high + 1, dtype=np.int64)
    coarse = Coarsening.of(attribute)
    return every if coarse is None else np.unique(coarse.show(every))
