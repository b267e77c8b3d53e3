"""Item recoding: which label every item is shown by, so that a promise about sets is kept.

The apriori-based anonymization of Terrovitis, Mamoulis and Kalnis (VLDB 2008, section 4.3) looks at
the combinations of one item first, then of two, and so on. Where too few have one, an item of it is
generalized: it and all items below the same node of the taxonomy show that node, for everybody.
Unlike there the root, which says nothing, is no label: an item that would show it is suppressed,
also where that loses less. So it works without a taxonomy, too. For ρ-uncertainty labels are
suppressed as Cao, Karras, Raïssi and Tan do (VLDB 2010, section 4): the one by which most sensitive
rules are broken for the fewest occurrences lost.

A sensitive item is shown by itself or not at all: who knows that a person has another item of a
label would see the label in any case, and nothing would bound the sensitive one.

Whatever is chosen, the loop ends when no combination, or rule, breaks the promise; and it ends, as
every step takes some items one node up, or from a label to none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations

import numpy as np

from discreet.errors import PromiseError, SchemaError
from discreet.table.item_sets import EMPTY
from discreet.table.taxonomy import ROOT, Node, Taxonomy

Combination = tuple[int, ...]
Rule = tuple[frozenset[int], int]
"""Numbers of the nodes that are known, and of the one that is inferred."""
MOST_RULES = 1000
"""So many rules are looked at before a label is suppressed for them."""
MOST_HELD = 2**33
"""So many bits are held in memory: of combinations of labels, or choices of people, one each."""


def grow_taxonomy(items: Sequence[str], given: Taxonomy | None, name: str, sign: str) -> Taxonomy:
    """Give the taxonomy of items, flat if there is none; refuse names that would mean two things.

    ``sign`` separates items, so that no label may hold it.
    """
    if given is None:
        return Taxonomy.from_paths([[item, ROOT] for item in items] or [[EMPTY, ROOT]])
    if problems := given.lint(items):
        raise SchemaError(
            f"Column {name!r}: {problems[0]}; {len(problems)} such items in all.",
            hint="Add them to the taxonomy, or correct the cells.",
        )
    meant: dict[str, tuple[int, int]] = {}
    for node in given.nodes[1:]:
        run = (node.low, node.high)
        label = _name(given, node)
        if meant.setdefault(label, run) != run or label == EMPTY or sign in label:
            raise SchemaError(
                f"Column {name!r}: the taxonomy's {label!r} cannot be a label: it stands for "
                f"different items, holds the separator {sign!r}, or is {EMPTY!r}.",
                hint="Rename it in the taxonomy.",
            )
    return given


def _name(tree: Taxonomy, node: Node) -> str:
    return node.name if node.high - node.low > 1 else tree.leaves[node.low]


@dataclass
class ItemRecoding:
    """Which node of a taxonomy every item is at, and whether it is shown there."""

    tree: Taxonomy
    rows: Sequence[Sequence[str]]
    """Per person the items."""
    alone: Collection[str] | None = ()
    """Items that no label may stand for together with others; ``None`` for all."""
    at: list[int] = field(init=False)
    """Per leaf its node."""
    hidden: set[int] = field(init=False, default_factory=set)
    """Nodes whose items are suppressed."""
    has: dict[int, int] = field(init=False, default_factory=dict)
    """Per node who has an item below it: a bit for each person."""

    def __post_init__(self) -> None:
        self.at = [self.tree.path(leaf)[-1] for leaf in range(len(self.tree.leaves))]
        place = {item: leaf for leaf, item in enumerate(self.tree.leaves)}
        marks = np.zeros((len(self.tree.leaves), -(-len(self.rows) // 8)), dtype=np.uint8)
        for row, items in enumerate(self.rows):
            for item in items:
                marks[place[item], row // 8] |= 1 << row % 8
        own = [int.from_bytes(line.tobytes(), "little") for line in marks]
        for number, node in enumerate(self.tree.nodes):
            bits = 0
            for one in own[node.low : node.high]:
                bits |= one
            self.has[number] = bits

    @property
    def shown(self) -> list[int]:
        """The nodes that somebody shows, left to right."""
        numbers = dict.fromkeys(self.at)
        return [n for n in numbers if n not in self.hidden and self.has[n]]

    def list_labels(self) -> dict[str, tuple[str, ...]]:
        """Give every label that is shown, and the items that it stands for."""
        nodes = self.tree.nodes
        return {
            _name(self.tree, nodes[n]): self.tree.leaves[nodes[n].low : nodes[n].high]
            for n in self.shown
        }

    @property
    def suppressed(self) -> list[str]:
        """The items that somebody has, and no label stands for."""
        there = set(self.shown)
        had = {item for items in self.rows for item in items}
        pairs = zip(self.tree.leaves, self.at, strict=True)
        return [item for item, number in pairs if number not in there and item in had]

    def keep_km(self, asked: Sequence[tuple[int, int]]) -> None:
        """Generalize and suppress until any m labels or fewer are of k people or of nobody.

        For several k and m: what is generalized for one may be rare for another.
        """
        people, most = len(self.rows), max((k for k, _ in asked), default=0)
        if people < most:
            raise PromiseError(
                f"k = {most} cannot be kept: the table has {people} rows.",
                hint=f"Ask for what this table allows: k ≤ {people}.",
            )
        while found := [(rare, k) for k, m in asked if (rare := self._find_rare(k, m))]:
            for rare, k in found:
                for combination in rare:
                    self._mend(combination, k)

    def _find_rare(self, k: int, m: int) -> list[Combination]:
        """List the combinations of fewest labels that some people have, but fewer than k."""
        shown = self.shown
        rare: list[Combination] = [(n,) for n in shown if self.has[n].bit_count() < k]
        held: dict[Combination, int] = {(n,): self.has[n] for n in shown}
        for size in range(2, m + 1):
            if rare or not held:
                break
            longer: dict[Combination, int] = {}
            for first, second in _pair_up(held):
                both = held[first] & self.has[second[-1]]
                if 0 < both.bit_count() < k:
                    rare.append((*first, second[-1]))
                elif both and size < m:
                    longer[(*first, second[-1])] = both
                    self._refuse_many(len(longer))
            held = longer
        return sorted(rare)

    def _refuse_many(self, held: int) -> None:
        if held * len(self.rows) > MOST_HELD:
            raise PromiseError(
                "Items go together in more ways than can be looked at.",
                hint="Publish fewer items, group them by a taxonomy, or promise a smaller m.",
            )

    def _mend(self, combination: Combination, k: int) -> None:
        """Change labels of a combination until k people show all that is left of it, or nobody."""
        leaves = [self.tree.nodes[n].low for n in combination]
        while True:
            now = sorted({self.at[leaf] for leaf in leaves})
            if any(n in self.hidden for n in now):
                return
            people = -1
            for n in now:
                people &= self.has[n]
            if not people or people.bit_count() >= k:
                return
            moves = [m for n in now for m in (self._weigh_hiding(n), *self._weigh_rise(n))]
            _, number, up = min(moves)
            if up:
                self._raise(number)
            else:
                self.hidden.add(number)

    def _find_parent(self, number: int) -> int:
        """Give the next node that stands for more items; 0 is the root."""
        nodes = self.tree.nodes
        run, above = (nodes[number].low, nodes[number].high), nodes[number].parent
        while above > 0 and (nodes[above].low, nodes[above].high) == run:
            above = nodes[above].parent
        return max(above, 0)

    def _cost(self, number: int) -> int:
        """What is lost: per person, for how many items more than the own one a label stands."""
        if number in self.hidden:
            others = len(self.tree.leaves)
        else:
            others = self.tree.nodes[number].high - self.tree.nodes[number].low - 1
        return others * self.has[number].bit_count()

    def _weigh_hiding(self, number: int) -> tuple[int, int, bool]:
        people = self.has[number].bit_count()
        return people * len(self.tree.leaves) - self._cost(number), number, False

    def _weigh_rise(self, number: int) -> Iterator[tuple[int, int, bool]]:
        above = self._find_parent(number)
        node = self.tree.nodes[above]
        leaves = self.tree.leaves[node.low : node.high]
        mixed = self.alone is None or not set(leaves).isdisjoint(self.alone)
        if above and len(leaves) < len(self.tree.leaves) and not mixed:
            below = dict.fromkeys(self.at[node.low : node.high])
            yield self._cost(above) - sum(map(self._cost, below)), above, True

    def _raise(self, above: int) -> None:
        node = self.tree.nodes[above]
        for leaf in range(node.low, node.high):
            self.at[leaf] = above

    def keep_rho(self, rho: Fraction, sensitive: Collection[str] | None) -> None:
        """Suppress labels until no sensitive item is inferred with ρ."""
        while rules := self._find_rules(rho, self._find_secret(sensitive)):
            while rules:
                often: dict[int, int] = {}
                for known, inferred in rules:
                    for n in (*known, inferred):
                        often[n] = often.get(n, 0) + 1
                # most rules per occurrence lost
                best = min(often, key=lambda n: (Fraction(-often[n], self.has[n].bit_count()), n))
                self.hidden.add(best)
                rules = [one for one in rules if best not in one[0] and best != one[1]]

    def _find_secret(self, sensitive: Collection[str] | None) -> list[int]:
        if sensitive is None:
            return self.shown
        wanted = set(sensitive)
        nodes, leaves = self.tree.nodes, self.tree.leaves
        return [n for n in self.shown if wanted & set(leaves[nodes[n].low : nodes[n].high])]

    def _find_rules(self, rho: Fraction, secret: Collection[int]) -> list[Rule]:
        """List rules by which a label is inferred with ρ or more, those of fewest labels first.

        Of choices of labels that the same people have one is followed up.
        """
        everybody, found = (1 << len(self.rows)) - 1, list[Rule]()
        for inferred in secret:
            others = [n for n in self.shown if n != inferred and self.has[n] & self.has[inferred]]
            level: dict[int, frozenset[int]] = {everybody: frozenset()}
            seen = {everybody}
            while level:
                rules = [
                    (known, inferred)
                    for people, known in level.items()
                    if (people & self.has[inferred]).bit_count() >= rho * people.bit_count()
                ]
                found += rules[: max(MOST_RULES - len(found), 0)]
                if rules:
                    break
                longer: dict[int, frozenset[int]] = {}
                for people, known in level.items():
                    for n in others:
                        both = people & self.has[n]
                        if both & self.has[inferred] and both not in seen:
                            seen.add(both)
                            longer[both] = known | {n}
                self._refuse_many(len(seen))
                level = longer
        return found


def _pair_up(held: Collection[Combination]) -> Iterator[tuple[Combination, Combination]]:
    """Pair combinations that differ in their last label only, as apriori does."""
    alike: dict[Combination, list[Combination]] = {}
    for one in sorted(held):
        alike.setdefault(one[:-1], []).append(one)
    for group in alike.values():
        yield from combinations(group, 2)
