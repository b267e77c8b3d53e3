"""Signatures: the set of values that all groups of a person have, in every release.

Xiao, Tao, SIGMOD 2007, section 5: people who have a signature go to its bucket (*division*), every
bucket is filled up until it holds each of its values equally often (*balancing*), and who is left
joins buckets, one person of each value at a time, or makes new ones (*assignment*). Where nobody
is left who has the value that a bucket lacks, a counterfeit has it: a record of nobody.

All of it is decided by counts of (signature, value); who of the newcomers goes where follows from
the order of quasi-identifiers. So the order of rows does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from discreet.errors import MicrodataError, PromiseError, SchemaError
from discreet.principles import MInvariance
from discreet.publishing.signature_counts import Counts
from discreet.table.arrays import Ints
from discreet.table.domain import MISSING, reduce_column
from discreet.table.microdata import Microdata

KEY, SIGNATURE = "key", "signature"


@dataclass(frozen=True, eq=False)
class History:
    """Everybody's signature so far. The steward's, never published.

    >>> first = History(pl.DataFrame({"key": ["ann"], "signature": [0]}), (("flu", "gout"),))
    >>> later = History(pl.DataFrame({"key": ["ann", "bob"], "signature": [0, 0]}),
    ...                 (("flu", "ulcer"),))
    >>> first.followed(later).of("ann"), first.followed(later).of("bob")
    (('flu', 'ulcer'), ('flu', 'ulcer'))
    """

    people: pl.DataFrame
    """One row per person: their ``key``, and the number of their ``signature``."""
    signatures: tuple[tuple[str, ...], ...]
    """The signatures by their numbers: values as texts, sorted."""

    @cached_property
    def _number_of(self) -> dict[str, int]:
        return dict(self.people.select(KEY, SIGNATURE).iter_rows())

    def of(self, key: str) -> tuple[str, ...] | None:
        """Give the signature of a person; ``None`` if they have none."""
        number = self._number_of.get(key)
        return None if number is None else self.signatures[number]

    def followed(self, later: History) -> History:
        """Give everybody's signature after a later release: that of the release, or the old one."""
        number = {signature: i for i, signature in enumerate(self.signatures)}
        for signature in later.signatures:
            number.setdefault(signature, len(number))
        moved = np.array([number[s] for s in later.signatures], dtype=np.int32)
        shown = later.people.select(KEY, SIGNATURE)
        new = shown.with_columns(pl.Series(SIGNATURE, moved[shown[SIGNATURE].to_numpy()]))
        old = self.people.select(KEY, pl.col(SIGNATURE).cast(pl.Int32))
        return History(pl.concat([old.join(new, on=KEY, how="anti"), new]).sort(KEY), (*number,))


@dataclass(frozen=True, eq=False)
class Signed:
    """The people of a table, each with a signature, and what buckets lack."""

    data: Microdata
    """The table; its sensitive attribute has the values of all signatures."""
    of: Ints
    """Per row the signature."""
    counts: Counts
    """The signatures, and how many counterfeits have which value of each."""

    def remembered(self, name: str) -> History:
        """Give the signatures of these people."""
        assert self.data.keys is not None
        codes, domain = self.data.keys
        keys = pl.Series(KEY, domain.texts, dtype=pl.String).gather(codes)
        texts = np.array(self.data.domains[name].texts, dtype=object)
        used, number = np.unique(self.of, return_inverse=True)
        signatures = [tuple(sorted(texts[self.counts.list_values(s)])) for s in used.tolist()]
        people = pl.DataFrame([keys, pl.Series(SIGNATURE, number.astype(np.int32))])
        return History(people.sort(KEY), tuple(signatures))


def sign_people(data: Microdata, name: str, wanted: MInvariance, history: History | None) -> Signed:
    """Give everybody of a table a signature of values of an attribute, as is promised."""
    stood = _find_standing(data, history)
    data, listed = _widen(data, name, history, stood)
    own = data.codes[name].astype(np.int64)
    counts = Counts(wanted.nearest(data.domains[name]), wanted.m, listed)
    standing = np.where(counts.holds(stood, own), stood, -1)
    _refuse_stricter(counts, standing, wanted)
    # who comes first decides who goes where: by what people are, then by their keys
    names = [*dict.fromkeys([*data.quasi_identifiers, *data.codes])]
    rows = data.order(names)
    if data.keys is not None:
        keyed = np.argsort(data.keys[0], kind="stable")
        rows = keyed[data.taken(keyed).order(names)]
    newcomers = rows[standing[rows] < 0]
    slots = counts.assign(standing, own, np.bincount(own[newcomers], minlength=counts.size))
    of = standing.copy()
    of[newcomers] = _give_out(counts, slots, own[newcomers], stood[newcomers])
    return Signed(data, of, counts)


def _refuse_stricter(counts: Counts, standing: Ints, wanted: MInvariance) -> None:
    """Refuse to promise more than the signatures that people have allow."""
    used, people = np.unique(standing[standing >= 0], return_counts=True)
    short = sum(int(n) for s, n in zip(used.tolist(), people, strict=True) if not counts.allows(s))
    if short:
        raise PromiseError(
            f"{wanted} cannot be kept: the sets of values that {short:,} people had in earlier "
            "releases have fewer values than that, or nearer ones.",
            hint="Promise what was promised before: whoever stays keeps the set of values.",
            subject=wanted,
        )


def _find_standing(data: Microdata, history: History | None) -> Ints:
    """Give the number of everybody's signature so far; -1 where they have none."""
    if history is None or not history.people.height:
        return np.full(data.n, -1, dtype=np.int64)
    if data.keys is None:
        raise SchemaError(
            "There are signatures of earlier releases, but no column says whose rows are whose.",
            hint='Name the column with the key of people: [source] person = "…", or '
            'dc.read(table, schema, person="…").',
        )
    codes, domain = data.keys
    keys = pl.DataFrame({KEY: pl.Series(domain.texts, dtype=pl.String)})
    known = history.people.select(KEY, SIGNATURE)
    found = keys.join(known, on=KEY, how="left", maintain_order="left")[SIGNATURE]
    number = found.fill_null(-1).cast(pl.Int64).to_numpy()[codes]
    if (number < 0).all():
        raise SchemaError(
            f"None of the {len(domain.texts):,} people is among the {known.height:,} of earlier "
            f"releases: a key is {domain.texts[0]!r} here, and was {known[KEY][0]!r} there.",
            hint="Write keys as they were written before. If these are other people altogether, "
            "publish them as a table of its own, without the history.",
        )
    return number


def _widen(
    data: Microdata, name: str, history: History | None, stood: Ints
) -> tuple[Microdata, list[Ints]]:
    """Add the values of signatures that nobody has now; give these as codes."""
    if history is None or not (stood >= 0).any():
        return data, []
    domain, used = data.domains[name], np.unique(stood[stood >= 0]).tolist()
    known = set(domain.texts)
    lacking = sorted({v for s in used for v in history.signatures[s]} - known)
    if lacking:
        texts = [*domain.texts, *lacking]
        cells = pl.Series([None if text == MISSING else text for text in texts], dtype=pl.String)
        try:
            codes, wider = reduce_column(cells, domain.attribute).encode(None)
        except MicrodataError as error:
            raise _refuse_spelling(name, lacking[0]) from error
        codes = codes.astype(np.int32)
        data = replace(
            data,
            codes={**data.codes, name: codes[: domain.size][data.codes[name]]},
            domains={**data.domains, name: replace(wider, public=domain.public)},
        )
        domain = data.domains[name]
    place = {text: code for code, text in enumerate(domain.texts)}
    otherwise = sorted({v for s in used for v in history.signatures[s]} - set(place))
    if otherwise:
        raise _refuse_spelling(name, otherwise[0])
    listed: list[Ints] = [np.zeros(0, dtype=np.int64)] * len(history.signatures)
    for s in used:
        listed[s] = np.array(sorted(place[v] for v in history.signatures[s]), dtype=np.int64)
    return data, listed


def _refuse_spelling(name: str, value: str) -> SchemaError:
    return SchemaError(
        f"{name!r} is written otherwise than before: {value!r} of an earlier release is no value "
        "of it now.",
        hint="Read it by the type, and with the rounding, that it had.",
    )


def _give_out(counts: Counts, slots: tuple[Ints, Ints, Ints], own: Ints, stood: Ints) -> Ints:
    """Give newcomers, in their order, the slots of their value.

    Slots of a signature are spread over the order, so that its people are near each other whatever
    their values. Whoever changed their value takes one whose signature has no value of the old one,
    if there is any.
    """
    signature, value, many = slots
    which = np.repeat(np.arange(len(many)), many)
    nth = np.arange(len(which)) - np.repeat(np.cumsum(many) - many, many)
    order = np.lexsort((which, (2 * nth + 1) / (2 * many[which]), value[which]))
    signature, value = signature[which][order], value[which][order]
    of = np.full(len(own), -1, dtype=np.int64)
    free = np.ones(len(signature), dtype=bool)
    changed = np.flatnonzero(stood >= 0)
    pairs, kind = np.unique(np.stack([stood, own], axis=1)[changed], axis=0, return_inverse=True)
    for number, (before, code) in enumerate(pairs.tolist()):
        people = changed[kind.ravel() == number]
        first, end = np.searchsorted(value, [code, code + 1])
        there = first + np.flatnonzero(free[first:end])
        old, kinds = counts.list_values(before), np.unique(signature[there]).tolist()
        apart = [s for s in kinds if not np.isin(counts.list_values(s), old).any()]
        good = there[np.isin(signature[there], apart)][: len(people)]
        of[people[: len(good)]], free[good] = signature[good], False
    left = np.flatnonzero(of < 0)
    of[left[np.argsort(own[left], kind="stable")]] = signature[free]
    return of
