"""Top-down specialization: from everything the same, step by step as far as limits allow.

Wang and Fung, KDD 2006, Algorithm 1, corrected: the most general table is checked first, the winner
is the best of the *valid* steps, and its children join the cut. The result is maximal: no further
step of any attribute is valid.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.principles.exact import at_most
from discreet.publishing.partitioners.hierarchies import Gain, Hierarchies
from discreet.publishing.partitioners.kinds import Kinds
from discreet.table.arrays import Floats, Ints, add_up
from discreet.table.microdata import representatives, row_ids

PARALLEL = 100_000
"""From this many rows on, they are shared among the processor's cores."""
TableCheck = Callable[[Ints, Ints, Ints], tuple[bool, float]]
"""A limit on the whole table. Of the runs of codes, first and last, that people show: whether they
keep it, and a measure of privacy, of which more is better. The last argument is each kind's row."""


@dataclass(frozen=True, eq=False)
class Limit:
    """A limit on what goes with each partition of the table.

    With ``k``: at least so many people, or different ``values``, ``times`` what the partition's
    place in a join makes of each. Else: no value has more than ``above / below`` of its people.
    """

    values: Ints | None = None
    """Per kind of people what is counted; without, people are."""
    k: int | None = None
    times: Callable[[Ints, Ints], Ints] | None = None
    """The factor, of runs of codes: a row per partition, first and last code per attribute."""
    above: Ints | None = None
    below: Ints | None = None
    """Per value; 0 for one that does not matter."""
    weigh: Callable[[Ints, Ints], tuple[Ints, list[Ints]]] | None = None
    """Of runs of partitions: which of some tables each has. A table says how often a join repeats
    each value (columns), in each of the groups it makes of the partition (rows)."""


class Specialization(NamedTuple):
    """A value that was specialized, and what decided for it."""

    node: int
    score: float
    gain: float
    loss: float


@dataclass(frozen=True, eq=False)
class Specialized:
    """The cut that was reached, and how."""

    hierarchies: Hierarchies
    nodes: Ints
    """Per row of the table and attribute the node of the cut that covers it."""
    steps: list[Specialization]


def specialize(
    kinds: Kinds,
    names: Sequence[str],
    limits: Sequence[Limit],
    checks: Sequence[TableCheck] = (),
    *,
    target: str | None,
    gain: Gain,
) -> Specialized | None:
    """Specialize attributes as far as all limits allow; ``None`` if the start breaks one.

    Values of limits are those of kinds, to which checks are shown and nodes are given.
    """
    search = _Search(_plant(kinds, names, target, gain), *_collapse(kinds, names, limits))
    search.checks = list(checks)
    if not search.open():
        return None
    while search.step():
        pass
    return Specialized(search.hierarchies, search.nodes_of_rows()[search.row_of], search.steps)


def _plant(kinds: Kinds, names: Sequence[str], target: str | None, gain: Gain) -> Hierarchies:
    data = kinds.data
    values = data.domains[target].size if target else 1
    label = data.codes[target].astype(np.int64) if target else 0
    counts = [
        add_up(data.codes[name] * np.int64(values) + label, kinds.weights,
               data.domains[name].size * values)
        for name in names
    ]  # fmt: skip
    classes = [found.reshape(-1, values) for found in counts]
    return Hierarchies([data.domains[name] for name in names], classes, gain)


def _collapse(
    kinds: Kinds, names: Sequence[str], limits: Sequence[Limit]
) -> tuple[NDArray[np.int32], Ints, Ints, list[Limit]]:
    """Give distinct rows of codes and values, their weights, every kind's, and limits on rows."""
    data = kinds.data
    columns: list[NDArray[np.integer]] = [data.codes[name] for name in names]
    columns += [x.values for x in limits if x.values is not None]
    row_of = row_ids(columns, data.n)
    first = representatives(row_of)
    weights = add_up(row_of, kinds.weights, len(first))
    kept = [x if x.values is None else replace(x, values=x.values[first]) for x in limits]
    codes = np.stack([data.codes[name][first] for name in names], axis=1)
    return codes, weights, row_of, kept


@dataclass(eq=False)
class _Search:
    """Partitions of the rows, the cut, and what every possible step would lead to.

    Privacy of a partition under a limit is its count, or the largest share of a value with a minus
    sign; ``-inf`` if that breaks the limit. So more is better, and the least of all counts.
    """

    hierarchies: Hierarchies
    codes: NDArray[np.int32]
    """A row per combination."""
    weights: Ints
    row_of: Ints
    limits: list[Limit]
    checks: list[TableCheck] = field(default_factory=list)
    steps: list[Specialization] = field(default_factory=list)

    def open(self) -> bool:
        """Put everybody into one partition; say whether that keeps every limit."""
        rows, d = self.codes.shape
        # one more attribute with one value for everybody: its only child is the partition itself
        self.codes = np.hstack([self.codes, np.zeros((rows, 1), dtype=np.int32)])
        self.order, self.scratch = np.arange(rows), np.empty(rows, dtype=np.int64)
        self.starts, self.ends = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.nodes, self.alive = np.zeros((0, d), np.int64), np.zeros(0, bool)
        self.ahead = [np.zeros((0, d + 1)) for _ in self.limits]
        """Per limit, partition and attribute: the least privacy of its children."""
        self.drops = np.zeros((0, d))
        """By how much the squares of sizes would fall, for discernibility."""
        self.in_cut, self.closed = np.zeros(0, dtype=bool), np.zeros(0, dtype=bool)
        self._sync()
        self.in_cut[self.hierarchies.roots] = True
        roots = np.array([self.hierarchies.roots], dtype=np.int64)
        self._add(np.zeros(1, np.int64), np.array([rows]), roots)
        self.checked = [check(*self._show(None)) for check in self.checks]
        self.monotone = not self.checks and not any(x.times or x.weigh for x in self.limits)
        kept = all(self._keeps(i, ahead[0, -1]) for i, ahead in enumerate(self.ahead))
        return kept and all(good for good, _ in self.checked)

    def _sync(self) -> None:
        """Hand the nodes to the kernels; the last one stands for everybody."""
        hierarchies, everybody = self.hierarchies, len(self.hierarchies.low)
        self.first = np.array([*hierarchies.first, everybody])
        self.count = np.array([*hierarchies.count, 1])
        self.low, self.high = np.array([*hierarchies.low, 0]), np.array([*hierarchies.high, 0])
        more = np.zeros(everybody - len(self.in_cut), dtype=bool)
        self.in_cut, self.closed = np.append(self.in_cut, more), np.append(self.closed, more)

    def _keeps(self, limit: int, privacy: float) -> bool:
        k = self.limits[limit].k
        return bool(privacy >= k if k is not None else privacy > -np.inf)

    def _add(self, starts: Ints, ends: Ints, nodes: Ints) -> None:
        """Add partitions, and look at what every step of theirs would lead to."""
        everybody = np.full((len(starts), 1), len(self.hierarchies.low))
        nodes = np.hstack([nodes, everybody])
        self.open_count = np.where(np.append(self.closed, False), 0, self.count)
        fans = self.open_count[nodes]
        places = (np.cumsum(fans) - fans.ravel()).reshape(fans.shape)
        total = int(fans.sum())
        tops = np.repeat(nodes.ravel(), fans.ravel())
        owner = np.repeat(np.arange(fans.size), fans.ravel())
        children = self.first[tops] + np.arange(total) - np.repeat(places.ravel(), fans.ravel())
        for i, limit in enumerate(self.limits):
            privacy = self._look(limit, starts, ends, nodes, places, total, owner, children)
            least = np.full(fans.size, np.inf)
            np.minimum.at(least, owner, privacy)
            self.ahead[i] = np.vstack([self.ahead[i], least.reshape(fans.shape)])
        if self.hierarchies.gain == "discernibility":
            people = Limit(k=1)
            sizes = self._look(people, starts, ends, nodes, places, total, owner, children)
            squares = np.where(np.isinf(sizes), 0, sizes) ** 2
            squares = np.bincount(owner, squares, minlength=fans.size).reshape(fans.shape)
            self.drops = np.vstack([self.drops, squares[:, -1:] - squares[:, :-1]])
        self.starts, self.ends = np.append(self.starts, starts), np.append(self.ends, ends)
        self.nodes = np.vstack([self.nodes, nodes[:, :-1]])
        self.alive = np.append(self.alive, np.ones(len(starts), dtype=bool))

    def _look(
        self, limit: Limit, starts: Ints, ends: Ints, nodes: Ints, places: Ints, total: int,
        owner: Ints, children: Ints,
    ) -> Floats:  # fmt: skip
        """Give the privacy of all children of some partitions; ``inf`` where nobody is."""
        from discreet.kernels.specialize import look_ahead, look_at_values, tally_values

        given = (self.order, starts, ends, nodes, self.codes, self.first, self.open_count,
                 self.high, total, self.weights, places)  # fmt: skip
        if limit.weigh is not None:
            assert limit.values is not None and limit.below is not None
            more = (limit.values, len(limit.below))
            found = self._share_out(tally_values, (*given, *more), starts, ends)
            return self._weigh_shares(limit, found, *self._list_runs(nodes, owner, children))
        if limit.k is None:
            assert limit.values is not None and limit.above is not None and limit.below is not None
            different, largest, broken = look_at_values(
                *given, limit.values, len(limit.below), limit.above, limit.below
            )
            privacy = np.where(broken, -np.inf, -largest)
            return np.where(different == 0, np.inf, privacy)
        if limit.values is None:
            found = self._share_out(look_ahead, given, starts, ends)
        else:
            kinds = int(limit.values.max()) + 1
            nothing = np.zeros(kinds, dtype=np.int64)
            found = look_at_values(*given, limit.values, kinds, nothing, nothing)[0]
        if limit.times is not None:
            there = found > 0
            low, high = self._list_runs(nodes, owner, children)
            found[there] *= limit.times(low[there], high[there])
        return np.where(found == 0, np.inf, found.astype(np.float64))

    def _list_runs(self, nodes: Ints, owner: Ints, children: Ints) -> tuple[Ints, Ints]:
        """Give the runs of codes that each child would show, first and last per attribute."""
        part, a = np.divmod(owner, nodes.shape[1])
        runs = nodes[part, :-1]
        real = a < nodes.shape[1] - 1
        runs[np.flatnonzero(real), a[real]] = children[real]
        return self.low[runs], self.high[runs]

    @staticmethod
    def _share_out(
        kernel: Callable[..., Ints], given: tuple[Any, ...], starts: Ints, ends: Ints
    ) -> Ints:
        """Let every core of the processor look at its part of the rows, and add up."""
        total, cores = int((ends - starts).sum()), os.cpu_count() or 1
        if total < PARALLEL or cores == 1:
            return kernel(*given)
        before = np.cumsum(ends - starts) - (ends - starts)

        def look(core: int) -> Ints:
            low, high = (total * c // cores - before for c in (core, core + 1))
            first = starts + np.clip(low, 0, ends - starts)
            last = starts + np.clip(high, 0, ends - starts)
            return kernel(given[0], first, last, *given[3:])

        with ThreadPoolExecutor(cores) as pool:
            return np.asarray(sum(pool.map(look, range(cores))))

    def _weigh_shares(self, limit: Limit, tallies: Ints, low: Ints, high: Ints) -> Floats:
        """Give the privacy of children whose values a join repeats unequally."""
        assert limit.weigh is not None and limit.above is not None and limit.below is not None
        privacy = np.full(len(tallies), np.inf)
        there = np.flatnonzero(tallies.any(axis=1))
        which, tables = limit.weigh(low[there], high[there])
        matter = np.flatnonzero(limit.below)
        for i, repeated in enumerate(tables):
            rows = there[which == i]
            held = tallies[rows][:, None, :] * repeated
            total = held.sum(axis=2, keepdims=True)
            held, total = held[:, :, matter], np.broadcast_to(total, held.shape)[:, :, matter]
            broken = np.zeros(len(rows), dtype=bool)
            for j, value in enumerate(matter):
                fine = at_most(held[:, :, j], int(limit.below[value]), total[:, :, j],
                               int(limit.above[value]))  # fmt: skip
                broken |= ~fine.all(axis=1)
            largest = (held / np.maximum(total, 1)).max(axis=(1, 2), initial=0)
            privacy[rows] = np.where(broken, -np.inf, -largest)
        return privacy

    def step(self) -> bool:
        """Take the valid step of the highest score; say whether there was one."""
        candidates = np.flatnonzero(self.in_cut & (self.count[:-1] > 0) & ~self.closed)
        owners = np.array(self.hierarchies.owner)[candidates]
        valid, loss = np.ones(len(candidates), dtype=bool), np.zeros(len(candidates))
        for i in range(len(self.limits)):
            now, after = self._foresee(i, candidates, owners)
            valid &= np.array([self._keeps(i, privacy) for privacy in after], dtype=bool)
            loss += np.maximum(now - np.where(np.isinf(after), now, after), 0)
        if self.monotone:  # a step that is not valid never will be
            self.closed[candidates[~valid]] = True
        loss /= max(len(self.limits) + len(self.checks), 1)
        gains = self._weigh_gains(candidates, owners)
        score = np.where(valid, gains / (loss + 1), -np.inf)
        if self.checks:
            score = self._ask_checks(candidates, gains, loss, score)
        if not len(score) or score.max() == -np.inf:
            return False
        best = int(score.argmax())
        node = int(candidates[best])
        self.steps.append(
            Specialization(node, float(score[best]), float(gains[best]), float(loss[best]))
        )
        self._specialize(node)
        self.checked = [check(*self._show(None)) for check in self.checks]
        return True

    def _ask_checks(self, candidates: Ints, gains: Floats, loss: Floats, score: Floats) -> Floats:
        """Ask the checks, best score first, until no other step can win; adds to ``loss``.

        A check only ever lowers a score, so steps that score less without one need not be shown.
        """
        found = np.full(len(score), -np.inf)
        for c in np.argsort(-score, kind="stable"):
            if score[c] == -np.inf or score[c] < found.max():
                break
            good = True
            for check, (_, now) in zip(self.checks, self.checked, strict=True):
                valid, privacy = check(*self._show(int(candidates[c])))
                loss[c] += max(now - privacy, 0) / (len(self.limits) + len(self.checks))
                good &= valid
                if not good:
                    break
            if good:
                found[c] = gains[c] / (loss[c] + 1)
        return found

    def _foresee(self, i: int, candidates: Ints, owners: Ints) -> tuple[float, Floats]:
        """The privacy of all partitions now, and after each step: of its children and the rest."""
        ahead, nodes = self.ahead[i][self.alive], self.nodes[self.alive]
        own = ahead[:, -1]
        after = np.empty(len(candidates))
        for a in np.unique(owners):
            here = np.flatnonzero(owners == a)
            stays, steps = (np.full(len(self.low), np.inf) for _ in range(2))
            np.minimum.at(stays, nodes[:, a], own)
            np.minimum.at(steps, nodes[:, a], ahead[:, a])
            least = np.sort(stays[np.isfinite(stays) | (stays == -np.inf)])[:2]
            others = np.where(
                stays[candidates[here]] > least[0], least[0], least[1] if len(least) > 1 else np.inf
            )
            after[here] = np.minimum(others, steps[candidates[here]])
        return float(own.min()), after

    def _weigh_gains(self, candidates: Ints, owners: Ints) -> Floats:
        if self.hierarchies.gain != "discernibility":
            return np.array(self.hierarchies.gains)[candidates]
        drops = np.zeros(len(self.low))
        for a in np.unique(owners):
            np.add.at(drops, self.nodes[self.alive, a], self.drops[self.alive, a])
        return drops[candidates]

    def _specialize(self, node: int) -> None:
        """Split all partitions with a node by its children, and put these into the cut."""
        from discreet.kernels.specialize import split_rows

        a, first, count = (
            self.hierarchies.owner[node],
            self.hierarchies.first[node],
            self.hierarchies.count[node],
        )
        if self.hierarchies.names[node] is None:
            for child in range(first, first + count):
                self.hierarchies.unfold(child)
            self._sync()
        self.in_cut[node] = False
        self.in_cut[first : first + count] = True
        split = np.flatnonzero(self.alive & (self.nodes[:, a] == node))
        ends = split_rows(self.order, self.starts[split], self.ends[split], self.codes, a, first,
                          count, self.high, self.scratch)  # fmt: skip
        starts = np.hstack([self.starts[split][:, None], ends[:, :-1]])
        part, place = np.nonzero(ends > starts)
        nodes = self.nodes[split][part]
        nodes[:, a] = first + place
        self.alive[split] = False
        self._add(starts[part, place], ends[part, place], nodes)

    def nodes_of_rows(self) -> Ints:
        """Give the nodes of every row."""
        found = np.empty((len(self.weights), self.nodes.shape[1]), dtype=np.int64)
        for p in np.flatnonzero(self.alive):
            found[self.order[self.starts[p] : self.ends[p]]] = self.nodes[p]
        return found

    def _show(self, step: int | None) -> tuple[Ints, Ints, Ints]:
        """Give the runs of codes that rows show, after a step if one is given."""
        nodes = self.nodes_of_rows()
        if step is not None:
            a, first = self.hierarchies.owner[step], self.hierarchies.first[step]
            highs = self.high[first : first + self.hierarchies.count[step]]
            rows = nodes[:, a] == step
            nodes[rows, a] = first + np.searchsorted(highs, self.codes[rows, a])
        return self.low[nodes], self.high[nodes], self.row_of
