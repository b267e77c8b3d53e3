"""Columns: which attributes belong together, because they tell about each other.

Li, Li, Zhang, Molloy, TKDE 2012, section 4.1: correlation of two attributes by their mean-square
contingency coefficient φ², and k-medoids (PAM) on the distances 1 - φ². For ratings, section 7:
items are the nearer the more people gave both the same rating.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np

from discreet.errors import SchemaError
from discreet.publishing.partitioners.medoids import cluster
from discreet.table.arrays import Floats, Ints
from discreet.table.domain import Domain
from discreet.table.microdata import Microdata

BINS = 10
"""Numbers and dates with more values are cut into so many intervals of equal width."""
Similarity = Literal["contingency", "agreement"]


@dataclass(frozen=True, eq=False)
class Correlations:
    """How much every pair of attributes tells about each other, 0 to 1; 1 on the diagonal."""

    names: tuple[str, ...]
    values: Floats

    def between(self, one: str, other: str) -> float:
        """Give the correlation of two attributes."""
        return float(self.values[self.names.index(one), self.names.index(other)])

    def restrict(self, names: Sequence[str]) -> Correlations:
        """Give the part about some attributes."""
        at = [self.names.index(name) for name in names]
        return Correlations(tuple(names), self.values[np.ix_(at, at)])

    def merge(self, names: Sequence[str]) -> Correlations:
        """Take some attributes for one, called like the first, as near to others as any of them."""
        at = [self.names.index(name) for name in names]
        values = self.values.copy()
        values[at[0]] = values[:, at[0]] = self.values[at].max(axis=0)
        values[at[0], at[0]] = 1
        kept = [name for name in self.names if name not in names[1:]]
        return Correlations(self.names, values).restrict(kept)


def correlate(
    data: Microdata, names: Sequence[str] | None = None, similarity: Similarity = "contingency"
) -> Correlations:
    """Measure every pair of attributes: φ², or how often people give both the same rating.

    φ² is 0 where one of them has a single value.

    >>> import discreet as dc
    >>> found = correlate(dc.datasets.adult(sensitive="occupation"))
    >>> round(found.between("sex", "occupation"), 3)
    0.19
    """
    chosen = list(names or [*data.quasi_identifiers, *data.sensitive])
    if similarity == "agreement":
        return Correlations(tuple(chosen), _agree(data, chosen))
    coarse = [coarsen_codes(data.domains[name]) for name in chosen]

    def count(i: int, j: int) -> Ints:
        one, other = (coarse[a].of[data.codes[chosen[a]]] for a in (i, j))
        size = coarse[i].size * coarse[j].size
        return np.bincount(one * coarse[j].size + other, minlength=size)

    return correlate_counts(chosen, coarse, count)


def correlate_counts(
    names: Sequence[str], coarse: Sequence[CoarseCodes], count: Callable[[int, int], Ints]
) -> Correlations:
    """Measure φ² of every pair of attributes, by how often their coarse codes occur together."""
    phi = np.eye(len(names))
    for i, j in combinations(range(len(names)), 2):
        counts = count(i, j).reshape(coarse[i].size, coarse[j].size)
        phi[i, j] = phi[j, i] = _contingency(counts)
    return Correlations(tuple(names), phi)


def _agree(data: Microdata, names: list[str]) -> Floats:
    """The share of people who gave both items the same rating, of those who rated any of them.

    Missing cells are no ratings, so nothing must be filled in before this is measured.
    """
    from discreet.kernels.agreement import count_agreements

    ratings = np.empty((data.n, len(names)), dtype=np.int32)
    number: dict[str, int] = {}
    for place, name in enumerate(names):
        domain = data.domains[name]
        known = [number.setdefault(text, len(number)) for text in domain.texts]
        known[len(domain.values) :] = [-1] * domain.missing
        ratings[:, place] = np.array(known)[data.codes[name]]
    both, same = (np.triu(counts) + np.triu(counts, 1).T for counts in count_agreements(ratings))
    raters = np.diagonal(both)
    shares: Floats = same / np.maximum(raters[:, None] + raters - both, 1)
    np.fill_diagonal(shares, 1)
    return shares


class CoarseCodes(NamedTuple):
    """Which of so many coarse codes each code of an attribute is."""

    of: Ints
    size: int


def coarsen_codes(domain: Domain) -> CoarseCodes:
    """Cut the range of a number or date into intervals of equal width; missing stays apart."""
    known = len(domain.values)
    if not domain.attribute.type.numeric or known <= BINS:
        return CoarseCodes(np.arange(domain.size), domain.size)
    values = np.asarray(domain.values, dtype=np.float64)
    width = (values[-1] - values[0]) / BINS
    intervals = np.minimum((values - values[0]) // width, BINS - 1).astype(np.int64)
    return CoarseCodes(np.append(intervals, BINS), BINS + domain.missing)


def _contingency(counts: Ints) -> float:
    shares = counts / counts.sum()
    shares = shares[shares.sum(1) > 0][:, shares.sum(0) > 0]  # values nobody has
    degrees = min(shares.shape) - 1
    if degrees == 0:
        return 0.0
    expected = np.outer(shares.sum(1), shares.sum(0))
    return float(((shares - expected) ** 2 / expected).sum() / degrees)


def choose_columns(
    found: Correlations, c: int, *, sensitive: str | None, alpha: int | None
) -> list[list[str]]:
    """Part attributes into ``c`` columns; the one with the sensitive attribute comes last.

    With ``alpha`` (section 4.1.3) that one is the sensitive attribute and the ``alpha - 1`` others
    most correlated with it, and the rest is clustered into ``c - 1``.
    """
    names = list(found.names)
    if alpha is None or sensitive is None:
        parts = cluster(1 - found.values, c)
        columns = [[names[i] for i in part] for part in parts]
        return sorted(columns, key=lambda column: sensitive in column)
    others = [name for name in names if name != sensitive]
    if not 1 <= alpha <= len(others) + 1 or not 1 <= c - 1 <= len(others) - alpha + 1:
        raise SchemaError(
            f"columns = {c}, alpha = {alpha}: there are {len(others)} attributes besides "
            f"{sensitive!r}.",
            hint="Give at least two columns, and leave an attribute for each.",
        )
    ranked = sorted(others, key=lambda name: (-found.between(name, sensitive), name))
    chosen = {sensitive, *ranked[: alpha - 1]}
    rest = found.restrict([name for name in names if name not in chosen])
    columns = choose_columns(rest, c - 1, sensitive=None, alpha=None)
    return [*columns, [name for name in names if name in chosen]]


def choose_apart(
    found: Correlations, c: int, *, sensitive: Sequence[str], alpha: int | None
) -> list[list[str]]:
    """Part attributes into columns of at most one sensitive attribute, those that have one last.

    There are ``c`` as with one of them; each further one may take a column of its own.
    """
    if alpha is not None:
        left, told = found, []
        for name in sensitive:
            others = [n for n in left.names if n == name or n not in sensitive]
            *_, beside = choose_columns(left.restrict(others), 2, sensitive=name, alpha=alpha)
            told.append(beside)
            left = left.restrict([n for n in left.names if n not in beside])
        return [*choose_columns(left, c - 1, sensitive=None, alpha=None), *told]
    columns: list[list[str]] = []
    for column in choose_columns(found, c, sensitive=None, alpha=None):
        here = [name for name in column if name in sensitive]
        rest = [name for name in column if name not in sensitive]

        def reach(name: str, rest: list[str] = rest) -> float:
            return max((found.between(name, other) for other in rest), default=0)

        nearest = max(here, key=reach, default=None)
        columns += [[name] for name in here if name != nearest]
        columns.append(column if nearest is None else [*rest, nearest])
    return sorted(columns, key=lambda column: _rank(column, sensitive))


def _rank(column: list[str], sensitive: Sequence[str]) -> int:
    """Columns of what is sensitive come last, in its order."""
    return min((i for i, name in enumerate(sensitive) if name in column), default=-1)


def move_out(
    found: Correlations, columns: list[list[str]], column: int, sensitive: Sequence[str]
) -> list[list[str]]:
    """Take what is least correlated with what is sensitive out of a column.

    It goes to the column that it is most correlated with on average, of those that have nothing
    sensitive; without such, to one of its own.
    """
    here = [name for name in columns[column] if name in sensitive]
    loose = min(
        (name for name in columns[column] if name not in sensitive),
        key=lambda name: (max(found.between(name, told) for told in here), name),
    )
    moved = [[name for name in part if name != loose] for part in columns]
    means = {
        i: np.mean([found.between(loose, name) for name in part])
        for i, part in enumerate(columns)
        if not set(part) & set(sensitive)
    }
    if not means:
        return [[loose], *moved]
    moved[max(means, key=lambda i: (means[i], -i))].append(loose)
    return moved
