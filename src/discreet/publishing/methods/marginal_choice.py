"""Which marginals to publish: the tables by which a workload is expected to be answered best.

Whoever asks about some attributes asks the table that shows them and the fewest others. The fewer
it shows, the smaller are its boxes, and the nearer to the people is what is read from it: how near
is the divergence KL(D ‖ D*) of what is asked about, measured on boxes as they would be published.
Tables are added one by one: of what is asked about that which takes most off the sum, and to it,
one by one, the attributes that take off most again.

It looks at quasi-identifiers alone: who has which sensitive value changes nothing, and values are
mixed by the same batches whatever table is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
import polars as pl

from discreet.errors import SchemaError, name_closest
from discreet.principles import KAnonymity
from discreet.principles.base import Principle, require_whole
from discreet.principles.groups import Groups
from discreet.publishing.methods.boxes import measure
from discreet.publishing.partition import Partition
from discreet.publishing.partitioners.mondrian import Categories, mondrian
from discreet.release.selection import find_positions
from discreet.table.arrays import Floats, Ints
from discreet.table.microdata import Microdata

BUDGET = 4
"""So many tables are added, where nobody says how many."""
CELLS = 1024
"""A distribution is measured in no more cells: of many values, neighbours share one."""
MOST_ASKED = 6
"""Of more attributes at once the table of all is asked."""
AT_ONCE = 10_000
"""Boxes are added up so many at a time, to bound memory."""
LITTLE = 1e-9
"""What takes off no more than that adds nothing."""

Names = tuple[str, ...]


class ProposedMarginals(NamedTuple):
    """Marginals in the order of what they add, the table of all quasi-identifiers first."""

    marginals: list[list[str]]
    divergence: list[float]
    """With the first of them, the first two and so on: in nats, on average of what is asked."""


def propose_marginals(
    data: Microdata,
    k: int = 10,
    workload: Sequence[Sequence[str]] | None = None,
    *,
    budget: int = BUDGET,
    categories: Categories = "set",
) -> ProposedMarginals:
    """Propose marginals for questions about some lists of quasi-identifiers; by default, all pairs.

    What is asked twice as often is listed twice. Beside the table of all there are at most
    ``budget``, in which ``k`` people or more look the same, and none that adds nothing. It looks at
    nothing but quasi-identifiers: the choice tells nothing of who has which sensitive value.

    >>> import discreet as dc
    >>> known = ["age", "education", "sex"]
    >>> data = dc.datasets.adult(sensitive="occupation", quasi_identifiers=known).head(500)
    >>> found = propose_marginals(data, k=20, budget=1)
    >>> found.marginals[0], len(found.marginals), found.divergence[1] < found.divergence[0]
    (['age', 'education', 'sex'], 2, True)
    """
    return choose_marginals(data, KAnonymity(k), workload, budget, categories)


def choose_marginals(
    data: Microdata,
    alike: Principle,
    workload: Sequence[Sequence[str]] | None = None,
    budget: int = BUDGET,
    categories: Categories = "set",
) -> ProposedMarginals:
    """Do the same where so many people look the same as a principle says."""
    require_whole("budget", budget, 0)
    known = data.quasi_identifiers
    listed = list(combinations(known, 2)) if workload is None else require_lists(
        "workload", workload)  # fmt: skip
    asked = Counter(tuple(read_names("workload", [names], known)[0]) for names in listed or ())
    every = tuple(known)
    measured = _Measured(data, alike, categories, [n for n in asked if len(n) <= MOST_ASKED])
    chosen = [_Chosen(every, dict.fromkeys(measured.asked, every), measured, asked)]
    while len(chosen) <= budget:
        best = now = chosen[-1]
        tried = [names for names in measured.asked if names != every]
        while tried:
            found = min((now.add(names) for names in tried), key=lambda one: one.total)
            if found.total >= best.total - LITTLE:
                break
            best = found
            wider = [{*found.names, name} for name in known if name not in found.names]
            tried = [tuple(n for n in known if n in names) for names in wider]
        if best is now:
            break
        chosen.append(best)
    often = max(sum(asked[names] for names in measured.asked), 1)
    marginals = [list(one.names) for one in chosen]
    return ProposedMarginals(marginals, [one.total / often for one in chosen])


@dataclass(frozen=True, eq=False)
class _Chosen:
    """Tables that were chosen so far."""

    names: Names
    """What the last of them shows."""
    table: Mapping[Names, Names]
    """Per list of attributes the table that is asked about it."""
    measured: _Measured
    often: Counter[Names]

    @cached_property
    def total(self) -> float:
        """How far off answers are, all together."""
        asked = self.table.items()
        return sum(self.often[one] * self.measured.diverge(shown)[one] for one, shown in asked)

    def add(self, names: Names) -> _Chosen:
        """Choose one more; where it shows fewest of all that is asked, it is asked."""
        smaller = {one: names for one in self.measured.diverge(names)
                   if len(names) < len(self.table[one])}  # fmt: skip
        return replace(self, names=names, table={**self.table, **smaller})


@dataclass(frozen=True, eq=False)
class _Classes:
    """Classes of an attribute's values, so that there are few of them."""

    number: Ints
    """Per code its class; a missing value is one by itself, the last."""
    first: Ints
    last: Ints
    """Per class of what is ordered where it begins and ends, as exact numbers."""

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.number.max()) + 1


class _Measured:
    """Tables of some attributes, each measured when it is first asked for."""

    def __init__(
        self, data: Microdata, alike: Principle, categories: Categories, asked: Sequence[Names]
    ) -> None:
        self.data, self.alike, self.categories, self.asked = data, alike, categories, asked
        self.classes = {
            (name, size): _classify(data, name, size)
            for names in asked for name, size in _list_sizes(names)
        }  # fmt: skip
        self.people = {names: self._count(names) for names in asked}
        self.found: dict[Names, dict[Names, float]] = {}

    def _count(self, names: Names) -> Ints:
        """Count the people of each cell of what is asked about."""
        key = np.zeros(self.data.n, dtype=np.int64)
        for name, size in _list_sizes(names):
            classes = self.classes[name, size]
            key = key * classes.count + classes.number[self.data.codes[name]]
        counts = [self.classes[part].count for part in _list_sizes(names)]
        return np.bincount(key, minlength=int(np.prod(counts)))

    def diverge(self, shown: Names) -> dict[Names, float]:
        """Give the divergence of all that is asked about what a table shows."""
        if shown not in self.found:
            asked = [names for names in self.asked if set(names) <= set(shown)]
            rebuilt = self._rebuild(shown, asked) if asked else {}
            self.found[shown] = {n: _diverge(self.people[n], rebuilt[n]) for n in asked}
        return self.found[shown]

    def _rebuild(self, shown: Names, asked: Sequence[Names]) -> dict[Names, Floats]:
        """Spread the people of every box of a table over it, evenly."""
        parts = mondrian(self.data, self.alike, shown, categories=self.categories)
        needed = dict.fromkeys(part for names in asked for part in _list_sizes(names))
        shares = {part: self._share(parts, *part) for part in needed}
        rebuilt = {names: np.zeros(len(self.people[names])) for names in asked}
        for first in range(0, parts.count, AT_ONCE):
            boxes = slice(first, min(first + AT_ONCE, parts.count))
            held = {part: next(share) for part, share in shares.items()}
            for names in asked:
                rebuilt[names] += _spread(
                    [held[part] for part in _list_sizes(names)], parts.sizes[boxes]
                )
        return rebuilt

    def _share(self, parts: Partition, name: str, size: int) -> Iterator[Floats]:
        """Give, some boxes at a time, which share of a box is of each class of an attribute."""
        domain, classes = self.data.domains[name], self.classes[name, size]
        codes = self.data.codes[name][parts.order]
        extents = measure(domain, codes, parts, self.categories)
        sets = Groups.from_labels(parts.sorted_labels, codes, domain, count=parts.count)
        for first in range(0, parts.count, AT_ONCE):
            last = min(first + AT_ONCE, parts.count)
            some = extents[first:last]
            if "set" in some.columns:
                entries = slice(sets.offsets[first], sets.offsets[last])
                places = sets.owners[entries] - first, classes.number[sets.codes[entries]]
                covered = np.zeros((last - first, classes.count))
                np.add.at(covered, places, 1.0)
                covered /= np.diff(sets.offsets[first : last + 1])[:, None]
            elif "absent" in some.columns:
                covered = self._cover(some, name, classes)
            else:
                covered = self._climb(some, name, classes)
            yield covered

    def _cover(self, extents: pl.DataFrame, name: str, classes: _Classes) -> Floats:
        """Say which share of intervals is of each class; some of it may be nobody's values."""
        at = _find_places(self.data, name)
        low, high = (extents[end].to_numpy() for end in ("low", "high"))
        absent = extents["absent"].to_numpy()
        known = low < len(at)
        at = np.append(at, 0)  # there is some place even where nobody has a value
        low, high = (at[np.where(known, end, 0)] for end in (low, high))
        wide = np.where(known, high - low + 1, 0)
        both = np.minimum(high[:, None], classes.last) - np.maximum(low[:, None], classes.first) + 1
        covered = np.where(known[:, None], np.maximum(both, 0), 0)
        if classes.count > covered.shape[1]:
            covered = np.column_stack([covered, absent])
        return np.asarray(covered / (wide + absent)[:, None])

    def _climb(self, extents: pl.DataFrame, name: str, classes: _Classes) -> Floats:
        """Say which share of the nodes of a taxonomy is of each class."""
        domain = self.data.domains[name]
        tree = domain.taxonomy
        assert tree is not None
        ends = extents.unique(maintain_order=True).with_row_index("#")
        rows = []
        for _, low, high in ends.iter_rows():
            first, beyond = 0, domain.size
            if high < len(tree.leaves):
                node = tree.ancestor(low, high)
                first, beyond = node.low, node.high
            elif low == high:
                first, beyond = low, low + 1
            held = np.bincount(classes.number[first:beyond], minlength=classes.count)
            rows.append(held / (beyond - first))
        number = extents.join(ends, on=["low", "high"], how="left", maintain_order="left")["#"]
        return np.asarray(np.array(rows)[number.to_numpy()])


def _list_sizes(names: Names) -> list[tuple[str, int]]:
    """Give attributes with the number of classes that each may have."""
    size = round(CELLS ** (1 / max(len(names), 2)))
    return [(name, size) for name in names]


def _find_places(data: Microdata, name: str) -> Ints:
    """Give where the values of an ordered attribute stand, as exact numbers."""
    domain = data.domains[name]
    return find_positions(domain.series().head(len(domain.values)), domain.attribute)


def _classify(data: Microdata, name: str, size: int) -> _Classes:
    """Put neighbours into a class until there are few: of what is ordered, about as many people.

    Of what is not, those that are not among the commonest.
    """
    domain, counts = data.domains[name], data.count(name)
    many = len(domain.values)
    if many <= size:
        number = np.arange(many)
    elif domain.attribute.type.ordered:
        upto = np.cumsum(counts[:many])
        part = (upto - counts[:many]) * size // max(int(upto[-1]), 1)
        number = np.unique(part, return_inverse=True)[1]
    else:
        rank = np.argsort(np.argsort(-counts[:many], kind="stable"))
        number = np.minimum(rank, size - 1)
    first = last = np.zeros(0, dtype=np.int64)
    if domain.attribute.type.ordered and many:
        at, ends = _find_places(data, name), np.flatnonzero(np.diff(number))
        first, last = at[np.append(0, ends + 1)], at[np.append(ends, many - 1)]
    absent = [int(number.max(initial=-1)) + 1] if domain.missing else []
    return _Classes(np.concatenate([number, absent]).astype(np.int64), first, last)


def _spread(shares: Sequence[Floats], people: Ints) -> Floats:
    """Add up over boxes how many people of each are in every cell."""
    half = (len(shares) + 1) // 2
    left, right = (_combine(part, len(people)) for part in (shares[:half], shares[half:]))
    return np.asarray((left * people[:, None]).T @ right).ravel()


def _combine(shares: Sequence[Floats], boxes: int) -> Floats:
    found = np.ones((boxes, 1))
    for share in shares:
        found = (found[:, :, None] * share[:, None, :]).reshape(boxes, -1)
    return found


def _diverge(people: Ints, rebuilt: Floats) -> float:
    """Σ D·ln(D/D*), where anybody is."""
    there = people > 0
    own = people[there] / people.sum()
    return max(float((own * np.log(people[there] / rebuilt[there])).sum()), 0.0)


def require_lists(name: str, value: object) -> tuple[tuple[str, ...], ...] | None:
    """Give lists of names as tuples; refuse a parameter that is something else."""
    if value is None:
        return None
    listed = isinstance(value, list | tuple) and all(
        isinstance(names, list | tuple) and all(isinstance(one, str) for one in names)
        for names in value
    )
    if not listed:
        raise SchemaError(f"{name} = {value!r}: give a list of lists of column names.")
    return tuple(tuple(names) for names in value)  # type: ignore[attr-defined]


def read_names(
    parameter: str,
    listed: Sequence[Sequence[str]],
    known: list[str],
    what: str = "quasi-identifier",
) -> list[list[str]]:
    """Give lists of quasi-identifiers in the schema's order; refuse what is no such, or twice."""
    found: list[list[str]] = []
    for names in listed:
        for name in names:
            if name not in known:
                raise SchemaError(
                    f"{name!r} in {parameter} is not a {what}.",
                    hint=name_closest(name, known),
                )
        chosen = [name for name in known if name in names]
        if not chosen or len(chosen) < len(names) or chosen in found:
            raise SchemaError(
                f"{parameter}: {list(names)} is empty, or names something twice.",
                hint=f"Give each table once, as a list of {what}s.",
            )
        found.append(chosen)
    return found
