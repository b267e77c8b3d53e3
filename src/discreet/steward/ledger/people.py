"""People: who was in which release, by tokens that only the ledger's key makes.

With every token goes what the release leaves open about the person: their possible groups.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from discreet.errors import MicrodataError, StoreError
from discreet.files import open_plain, write_file
from discreet.steward.ledger.rows import RESTORE, PeopleNote
from discreet.steward.ledger.tokens import (
    TOKEN,
    name_loosely,
    name_people,
    name_values,
    spell_keys,
    split,
)
from discreet.table.arrays import Ints, number_lists

if TYPE_CHECKING:
    from discreet.auditing.together import Roll
    from discreet.forms.matches import Matches, Parts
    from discreet.principles.groups import Groups
    from discreet.publishing.method import Method
    from discreet.publishing.signatures import History
    from discreet.release import Release
    from discreet.table.microdata import Microdata

KEY_FILE, KEY_BYTES = "people.key", 32
ARRAYS = ("set_of", "offsets", "groups", "likelihood", "records")
KNOWN = "#known "
"""Begins the name of what people look like, all quasi-identifiers together; no attribute's does."""


@dataclass(frozen=True, eq=False)
class Attendance:
    """Who is in a release, by their tokens, and what the release leaves open about each."""

    tokens: np.ndarray
    """One per person, ascending."""
    loose: Ints
    """One more per person, which stays if the key is written otherwise."""
    values: dict[str, Ints]
    """Per sensitive attribute everybody's value, as a token."""
    matches: dict[str, np.ndarray] | None
    """Everybody's groups, as plain arrays; ``None`` where the form has none that hold values."""
    signature: Ints
    """Per person their signature, or -1."""
    signatures: tuple[tuple[str, ...], ...] = ()

    @property
    def people(self) -> int:
        """How many there are."""
        return len(self.tokens)

    def to_bytes(self) -> bytes:
        """Give all of it as it is kept."""
        about = {"values": [*self.values], "signatures": self.signatures,
                 "matched": self.matches is not None}  # fmt: skip
        arrays: dict[str, Any] = {
            "about": np.frombuffer(json.dumps(about).encode(), np.uint8),
            "tokens": self.tokens.view(">u8"),
            "loose": self.loose,
            "signature": self.signature,
        }
        arrays |= {f"value{i}": column for i, column in enumerate(self.values.values())}
        arrays |= {f"matches_{name}": a for name, a in (self.matches or {}).items()}
        file = io.BytesIO()
        np.savez(file, allow_pickle=False, **arrays)
        return file.getvalue()

    @staticmethod
    def from_bytes(kept: bytes) -> Attendance:
        """Read it back."""
        place = "Who was in a release"
        try:
            with np.load(io.BytesIO(kept), allow_pickle=False) as arrays:
                about = PeopleNote.read(json.loads(arrays["about"].tobytes()), place)
                values = {name: arrays[f"value{i}"] for i, name in enumerate(about.values)}
                matches = {name.removeprefix("matches_"): arrays[name] for name in arrays.files
                           if name.startswith("matches_")}  # fmt: skip
                held = Attendance(
                    arrays["tokens"].view(TOKEN), arrays["loose"], values,
                    matches if about.matched else None,
                    arrays["signature"], tuple(map(tuple, about.signatures)),
                )  # fmt: skip
            held.refuse_odd()
        except StoreError:
            raise
        except Exception as error:  # archives and arrays that were damaged raise anything
            raise StoreError(
                f"{place} cannot be read from the ledger ({error}).", hint=RESTORE
            ) from error
        return held

    def refuse_odd(self) -> None:
        """Refuse arrays that do not fit each other, which something else changed."""
        n, told = len(self.tokens), self.matches or {}
        arrays = [self.loose, self.signature, *self.values.values(), *told.values()]
        if any(array.dtype.kind not in "biu" for array in arrays):
            raise ValueError("what is said of people is not in whole numbers")
        columns = [self.signature, self.loose, *self.values.values()]
        columns += [told["set_of"]] if told else []
        a, b = split(self.tokens)
        rising = (a[1:] > a[:-1]) | ((a[1:] == a[:-1]) & (b[1:] > b[:-1]))
        if any(len(column) != n for column in columns) or not rising.all():
            raise ValueError("people and what is said of them do not fit")
        if (self.signature >= len(self.signatures)).any():
            raise ValueError("a signature is not there")
        if not told:
            return
        offsets, groups = told["offsets"], told["groups"]
        sets, options = len(offsets) - 1, len(groups)
        fit = offsets[0] == 0 and offsets[-1] == options and (np.diff(offsets) >= 0).all()
        fit &= told["set_of"].max(initial=-1) < sets and groups.min(initial=0) >= 0
        fit &= len(told["likelihood"]) == options and len(told["records"]) == sets
        if not fit or ("cells" in told and len(told["cells"]) != options):
            raise ValueError("candidate sets do not fit")


def draw_key() -> bytes:
    """Draw a key."""
    return os.urandom(KEY_BYTES)


def make_key(folder: Path) -> None:
    """Draw the key of a ledger, which only its owner can read."""
    key = draw_key()
    write_file(folder / KEY_FILE, lambda draft: draft.write_bytes(key))


def read_key(folder: Path) -> bytes:
    """Read the key of a ledger, without which nobody is recognised."""
    path = folder / KEY_FILE
    try:
        with open_plain(path) as file:
            key = file.read(KEY_BYTES + 1)
    except OSError as error:
        raise StoreError(
            f"{path}: the key of the ledger is not there ({error.strerror or error}), without "
            "which nobody is recognised.",
            hint="Restore it from a backup. Another key would take everybody for a newcomer.",
        ) from error
    if len(key) != KEY_BYTES:
        raise StoreError(f"{path}: is not the key of a ledger.", hint="Restore it from a backup.")
    return key


def note_people(
    release: Release, data: Microdata, key: bytes, signed: History | None
) -> Attendance:
    """Note who is in a release, and what it leaves open about each."""
    from discreet.auditing.together import call_roll

    tokens = name_people(data, key)
    order = np.lexsort(split(tokens)[::-1])
    data, tokens = data.taken(order), tokens[order]
    signature: Ints = np.full(len(tokens), -1)
    signatures: tuple[tuple[str, ...], ...] = ()
    parts = None
    if signed is not None:
        signature, signatures = _find_signatures(data, signed), signed.signatures
        parts = _part_view(release, signature, signatures)
    found = call_roll(release, data, parts).matches
    told = [name for name in release.schema.sensitive if name in data.codes]
    values = {name: name_values(data, [name], name, tokens, key) for name in told}
    known = [name for name in data.quasi_identifiers if name in data.codes]
    title = KNOWN + "\0".join(sorted(known))
    values[title] = name_values(data, sorted(known), title, tokens, key)
    return Attendance(tokens, name_loosely(data, key), values,
                      None if found is None else _flatten(found), signature,
                      signatures)  # fmt: skip


def _find_signatures(data: Microdata, signed: History) -> Ints:
    """Give everybody's signature, or -1."""
    frame = pl.DataFrame({"key": spell_keys(data)})
    found = frame.join(signed.people, on="key", how="left", maintain_order="left")
    return found["signature"].fill_null(-1).to_numpy().astype(np.int64)


def _flatten(found: Matches) -> dict[str, np.ndarray]:
    """Give candidate sets as plain arrays."""
    arrays = {name: getattr(found, name) for name in ARRAYS}
    arrays["pools_groups"] = np.array([found.pools_groups])
    if found.cells is not None and found.room is not None:
        arrays |= {"cells": found.cells, "room": found.room}
    return arrays


def open_roll(held: Attendance, release: Release, people: Ints) -> Roll:
    """Give the roll of a release from what was noted of its people, who have these numbers."""
    from discreet.auditing.together import Roll
    from discreet.forms.matches import Matches

    view = release.views[0].dealing
    if held.matches is None or view is None:
        return Roll(None, people, held.values)
    told = held.matches
    if told["groups"].max(initial=-1) >= view.count:
        raise StoreError("Who was in a release is not of that release.", hint=RESTORE)
    found = Matches(
        view, told["set_of"], told["offsets"], told["groups"], told["likelihood"],
        told["records"], pools_groups=bool(told["pools_groups"][0]),
        cells=told.get("cells"), room=told.get("room"),
    )  # fmt: skip
    return Roll(found, people, held.values)


@dataclass(frozen=True, eq=False)
class Attendances:
    """Who was in some releases, the latest last; everybody has one number in all of them."""

    held: Sequence[Attendance]

    @cached_property
    def numbers(self) -> list[Ints]:
        """Per release the numbers of its people."""
        a, b = split(np.concatenate([one.tokens for one in self.held]))
        # those of each release ascend, and runs that do are merged faster than others are sorted
        order = np.argsort(a, kind="stable")
        if ((a[order][1:] == a[order][:-1]) & (b[order][1:] != b[order][:-1])).any():
            order = np.lexsort((b, a))
        new = np.append(True, (np.diff(a[order]) != 0) | (np.diff(b[order]) != 0))
        number = np.empty(len(order), dtype=np.int64)
        number[order] = np.cumsum(new) - 1
        return np.split(number, np.cumsum([one.people for one in self.held])[:-1])

    def is_same(self, one: int, other: int) -> bool:
        """Whether two releases are about the same people, with the same values and looks."""
        a, b = self.held[one], self.held[other]
        if not np.array_equal(self.numbers[one], self.numbers[other]):
            return False
        known = [name for name in a.values if name.startswith(KNOWN)]
        alike = all(np.array_equal(a.values[n], b.values[n]) for n in a.values if n in b.values)
        return alike and all(name in b.values for name in known)

    def count_moves(self, one: int, other: int) -> tuple[int, int, int]:
        """Count who joined, left and changed from one release to another."""
        a, b = self.numbers[one], self.numbers[other]
        both, here, there = np.intersect1d(a, b, return_indices=True)
        changed = np.zeros(len(both), dtype=bool)
        for name, values in self.held[one].values.items():
            if name in self.held[other].values:
                changed |= values[here] != self.held[other].values[name][there]
        return len(b) - len(both), len(a) - len(both), int(changed.sum())


def sign(method: Method, data: Microdata) -> History | None:
    """Give the signatures that a method gives people by their keys, if it does."""
    return None if data.keys is None else method.sign(data)


def refuse_strangers(attended: Attendances, column: str | None) -> None:
    """Refuse a table of which nobody was in any release so far: keys are written otherwise.

    Or those of some: who comes is somebody who left, but for the way the key is written.
    """
    *earlier, new = attended.numbers
    *before, now = attended.held
    for number, one in zip(earlier, before, strict=True):
        joined = now.loose[~np.isin(new, number, kind="table")]
        same = np.intersect1d(joined, one.loose[~np.isin(number, new, kind="table")])
        # where keys differ only in how they are written, that is what tells people apart
        if len(same) and all(len(np.unique(a.loose)) == a.people for a in (one, now)):
            raise MicrodataError(
                f"{len(same):,} people of this table, by {column!r}, are in an earlier release of "
                "this ledger under a key that is written otherwise: by case, blanks, signs or "
                "zeros in front.",
                hint="Write keys as they were. If these are other people, give them other keys.",
            )
    if earlier and not np.isin(new, np.concatenate(earlier), kind="table").any():
        raise MicrodataError(
            f"None of the {len(new):,} people of this table, by {column!r}, is in an earlier "
            "release of this ledger: the key is written otherwise, or the table is another one.",
            hint="Write keys as they were, or keep another ledger for another table.",
        )


def recall_signatures(data: Microdata, key: bytes, held: Sequence[Attendance]) -> History:
    """Give the signatures that people of a table have had last, or when they had their value."""
    from discreet.publishing.signatures import History

    tokens = name_people(data, key)
    numbers: dict[tuple[str, ...], int] = {}
    own = np.full(len(tokens), -1, dtype=np.int64)
    fits = np.zeros(len(tokens), dtype=bool)
    name = data.sensitive[0]
    texts, codes = data.domains[name].texts, data.codes[name]
    for one in held:
        if one.signatures:
            moved = np.array([numbers.setdefault(s, len(numbers)) for s in one.signatures])
            holds = np.array([np.isin(texts, signature) for signature in one.signatures])
            at = np.minimum(np.searchsorted(one.tokens, tokens), one.people - 1)
            here = (one.tokens[at] == tokens) & (one.signature[at] >= 0)
            fitting = holds[one.signature[at], codes]
            # whoever has an older value again has its signature again
            here &= fitting | ~fits
            own[here], fits[here] = moved[one.signature[at][here]], fitting[here]
    known = pl.Series(own >= 0)
    frame = pl.DataFrame({"key": spell_keys(data), "signature": own.astype(np.int32)})
    return History(frame.filter(known), (*numbers,))


def restrict(roll: Roll, name: str, held: Attendance) -> Roll:
    """Give the roll as it is to who knows everybody's signature: only groups that have it."""
    found = roll.matches
    if found is None or not held.signatures:
        return roll
    parts = find_parts(found.view.bags(name), held.signature, held.signatures)
    return replace(roll, matches=found.parted(parts))


def find_parts(bags: Groups, signature: Ints, signatures: Sequence[tuple[str, ...]]) -> Parts:
    """Part people by their signatures, and groups by the values that they hold."""
    from discreet.forms.matches import Parts

    number, firsts = number_lists(bags.offsets, bags.codes)
    texts, known = bags.domain.texts, {signature: i for i, signature in enumerate(signatures)}
    held = [bags.codes[bags.offsets[g] : bags.offsets[g + 1]].tolist() for g in firsts.tolist()]
    shown = [known.get(tuple(sorted(texts[code] for code in codes)), -1) for codes in held]
    return Parts(signature, np.array(shown)[number])


def _part_view(
    release: Release, signature: Ints, signatures: Sequence[tuple[str, ...]]
) -> Parts | None:
    """Part a release whose own groups hold the values of one attribute, as signatures do."""
    view = release.views[0]
    if len(release.views) > 1 or view.dealing is not view or len(release.schema.sensitive) > 1:
        return None
    return find_parts(view.bags(release.schema.sensitive[0]), signature, signatures)
