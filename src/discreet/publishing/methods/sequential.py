"""Sequential releases: a new table that stays safe when it is joined with all earlier ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field, replace
from functools import reduce
from operator import and_
from pathlib import Path
from typing import ClassVar

import numpy as np

from discreet.errors import PromiseError, SchemaError, name_closest
from discreet.principles.base import All, Principle, require_choice
from discreet.principles.groups import Groups
from discreet.principles.linking import PAIRS, Linking, XYLinkability
from discreet.principles.size import KAnonymity
from discreet.publishing.backends import Backend
from discreet.publishing.draws import Draws
from discreet.publishing.method import Method, PartedRelease
from discreet.publishing.methods.boxes import CodeCut, cut_codes, show_cuts, take_cuts
from discreet.publishing.methods.cuts_in_parts import Cutting
from discreet.publishing.methods.generalization import release_boxes
from discreet.publishing.methods.lossy_join import EarlierTables, Inconsistency, read_history
from discreet.publishing.methods.star_joins import find_unmatched
from discreet.publishing.methods.x_groups import Link
from discreet.publishing.partitioners.hierarchies import Gain
from discreet.publishing.partitioners.kinds import Kinds, collapse
from discreet.publishing.partitioners.specialization import Limit, Specialized, specialize
from discreet.release import Release
from discreet.release.explanation import Branch, Explanation, Step
from discreet.table.arrays import Ints
from discreet.table.coded_table import CodedTable
from discreet.table.microdata import Microdata, representatives


@dataclass(frozen=True)
class Sequential(Method):
    """Generalize a new table just enough that its join with earlier releases keeps (X,Y)-privacy.

    Wang and Fung, KDD 2006. ``principles`` are :class:`XYAnonymity`, :class:`XYLinkability` and
    :class:`KAnonymity`; the quasi-identifiers in their X are generalized, step by step from the
    most general table down. ``target`` names the attribute the table is released to predict;
    without it steps are chosen by what they undo (``gain="distortion"`` or ``"discernibility"``).
    ``inconsistent`` lists values that cannot be one person's: ``("sex", ["male"], "pregnant",
    ["yes"])`` of an attribute here and one there.

    >>> import discreet as dc
    >>> import polars as pl
    >>> frame = pl.DataFrame({"job": ["banker", "banker", "clerk", "driver", "engineer"],
    ...                       "disease": ["cancer", "cancer", "hiv", "cancer", "hiv"]})
    >>> schema = dc.Schema.infer(frame, quasi_identifiers=["job"], sensitive=["disease"])
    >>> old = dc.publish(dc.read(frame, schema), dc.Generalization(dc.KAnonymity(1)))
    >>> new = frame.select("job", name=pl.Series(["Alice", "Alice", "Bob", "Bob", "Cathy"]))
    >>> schema = dc.Schema.infer(new, quasi_identifiers=["job", "name"], sensitive=[])
    >>> promise = dc.XYAnonymity(x=["name", "job"], y="people", k=2)
    >>> method = dc.Sequential(principles=[promise], earlier=[old])
    >>> dc.publish(dc.read(new, schema), method).tables["generalized"]["job"].unique().to_list()
    ['*']

    **Guarantee**: whoever joins this table with the earlier ones by what they share, and knows X of
    a person, learns about Y what the principles say. Earlier releases stay as they are.
    """

    title: ClassVar[str] = "sequential"
    form: ClassVar[str] = "generalized"
    paper: ClassVar[str] = "Wang and Fung: Anonymizing Sequential Releases, KDD 2006"

    principle: Principle = field(default_factory=All)
    principles: InitVar[Sequence[Principle]] = ()
    earlier: Sequence[Release | str | Path] = ()
    target: str | None = None
    gain: Gain | None = None
    inconsistent: Sequence[tuple[str, Sequence[str], str, Sequence[str]]] = ()

    def __post_init__(self, principles: Sequence[Principle]) -> None:
        asked = [*self.principle.parts, *principles]
        if not asked:
            raise SchemaError("Sequential needs a principle.", hint="Give principles=[...].")
        for part in asked:
            if not isinstance(part, Linking | KAnonymity):
                raise SchemaError(
                    f"{part} is not about joins.",
                    hint="Give xy-anonymity, xy-linkability or k-anonymity, or use generalization.",
                )
        object.__setattr__(self, "principle", reduce(and_, asked))
        if isinstance(self.earlier, Release | str | Path):
            object.__setattr__(self, "earlier", (self.earlier,))
        if self._linkings() and not self.earlier:
            raise SchemaError(
                f"{self._linkings()[0]} is about joins: there is no earlier release.",
                hint="Give earlier=[...], or promise k-anonymity.",
            )
        if any(len(rule) != 4 for rule in self.inconsistent):
            raise SchemaError("inconsistent: give attribute and values here, and there.")
        if self.gain is not None:
            require_choice("gain", self.gain, Gain)
        if self.gain == "entropy" and self.target is None:
            raise SchemaError('gain = "entropy" needs a target.', hint="Name the attribute.")

    def parameters(self) -> dict[str, object]:
        """What was asked for besides the principle; earlier releases are not published again."""
        rules = [[here, [*values], there, [*others]] for here, values, there, others in
                 self.inconsistent]  # fmt: skip
        return {"gain": self._gain, "target": self.target, "inconsistent": rules}

    @property
    def _gain(self) -> Gain:
        return self.gain or ("entropy" if self.target else "distortion")

    @property
    def counts_people(self) -> bool:
        """By their key."""
        return True

    def require_parts(self) -> None:
        """Everything follows from counts, whoever has the rows."""

    def publish(self, data: Microdata, draws: Draws) -> Release:  # noqa: ARG002
        """Specialize as far as the join allows, and publish the cut."""
        found, names = self.specialize(data), self.generalized(data)
        cuts = _list_cuts(data, data, found, names)
        return release_boxes(self, data, show_cuts(data, take_cuts(data, cuts)))

    def publish_in_parts(self, backend: Backend) -> PartedRelease:
        """Do the same with kinds of rows that are elsewhere."""
        facts = backend.facts
        history = self._check(facts, None)
        cutting = Cutting.of(self, backend)
        kinds = cutting.collapse(self._list_needed(facts, history))
        found = self._specialize(kinds, history)
        cuts = _list_cuts(facts, kinds.data, found, self.generalized(facts))
        if self.earlier:
            shared = history.joined(facts.schema.published.names)
            cutting.require_examined(cuts, shared)
        return cutting.publish(cuts)

    def specialize(self, data: Microdata, history: EarlierTables | None = None) -> Specialized:
        """Find the cut, with the steps that led to it; ``history`` if it was read already."""
        history = self._check(data, history)
        kinds, kind_of = collapse(data, self._list_needed(data, history))
        found = self._specialize(kinds, history)
        return replace(found, nodes=found.nodes[kind_of])

    def _check(self, data: CodedTable, history: EarlierTables | None) -> EarlierTables:
        """Refuse what cannot be asked of these tables; give what earlier releases show."""
        history = history or self.read_earlier(data)
        self._check_names(data, history.names)
        self._check_rules(data, history)
        self._check_values(data, history)
        pairs = [part for part in self._linkings() if part.y == PAIRS]
        if pairs and not history.counted:
            raise SchemaError(
                f"{pairs[0]} counts rows of a join, and not all earlier releases have records of "
                "their own: some tell only how likely they are.",
                hint='Ask for people of this table: y = "people".',
            )
        if not self.generalized(data):
            raise SchemaError(
                "x: no quasi-identifier of this table is in it, so nothing can be generalized.",
                hint=f"Give some of {', '.join(data.quasi_identifiers)}.",
            )
        return history

    def _list_needed(self, data: CodedTable, history: EarlierTables) -> list[str]:
        """Give the attributes by which people differ in anything that is decided."""
        shown = data.schema.published.names
        needed = {*self.generalized(data), self.target}
        for part in self._linkings():
            needed |= {*history.joined(shown), *(() if isinstance(part.y, str) else part.y)}
        return [name for name in shown if name in needed]

    def _specialize(self, kinds: Kinds, history: EarlierTables) -> Specialized:
        """Find the cut of kinds of people."""
        data, names = kinds.data, self.generalized(kinds.data)
        links = [Link(part, data, history, tuple(names), kinds.weights)
                 for part in self._linkings()]  # fmt: skip
        if links:
            _require_population(kinds, history)
        units = None if data.persons is None else data.persons.units
        limits = [Limit(units, k=part.k)
                  for part in self.principle.parts if isinstance(part, KAnonymity)]  # fmt: skip
        checks = []
        for link in links:
            limit = link.limit()
            if limit is None:
                checks.append(link.check())
            else:
                limits.append(limit)
        found = specialize(kinds, names, limits, checks, target=self.target, gain=self._gain)
        if found is None:
            self._refuse(
                links, int(kinds.weights.sum()) if units is None else len(np.unique(units))
            )
        assert found is not None
        return found

    def explain(self, data: Microdata) -> Explanation:
        """Give the cut of every attribute, and the steps that led there."""
        found, names = self.specialize(data), self.generalized(data)
        tree = found.hierarchies

        def word(node: int) -> str:
            domain, low, high = (data.domains[names[tree.owner[node]]], tree.low[node],
                                 tree.high[node])  # fmt: skip
            if tree.names[node] is not None:
                return str(tree.names[node])
            ends = domain.texts[low], domain.texts[high]
            return ends[0] if low == high else f"[{ends[0]}, {ends[1]}]"

        def walk(node: int, depth: int, counts: Ints) -> list[Branch]:
            if counts[node]:
                return [Branch(depth, word(node), int(counts[node]), shown=True)]
            below = range(tree.first[node], tree.first[node] + tree.count[node])
            branches = [b for child in below for b in walk(child, depth + 1, counts)]
            people = sum(b.people for b in branches if b.shown)
            return [Branch(depth, word(node), people, shown=False), *branches]

        cuts = {
            name: walk(tree.roots[a], 0,
                       np.bincount(found.nodes[:, a], minlength=len(tree.low)))
            for a, name in enumerate(names)
        }  # fmt: skip
        steps = [
            Step(names[tree.owner[s.node]], word(s.node),
                 tuple(word(tree.first[s.node] + i) for i in range(tree.count[s.node])),
                 s.score, s.gain, s.loss)
            for s in found.steps
        ]  # fmt: skip
        return Explanation(cuts, steps)

    def _linkings(self) -> list[Linking]:
        return [part for part in self.principle.parts if isinstance(part, Linking)]

    def generalized(self, data: CodedTable) -> list[str]:
        """Give the attributes that are generalized: those in any X; for k-anonymity, all."""
        known = data.quasi_identifiers
        if any(isinstance(part, KAnonymity) for part in self.principle.parts):
            return known
        return [n for n in known if any(n in part.x for part in self._linkings())]

    def read_earlier(self, data: CodedTable) -> EarlierTables:
        """Read what the earlier releases show of what this is about."""
        from discreet.release.store import load

        if not self.earlier:
            return EarlierTables([])
        releases = [r if isinstance(r, Release) else load(r) for r in self.earlier]
        needed = [n for part in self._linkings() for n in (*part.x, *part.y)]
        rules = [Inconsistency(here, tuple(values), there, tuple(others))
                 for here, values, there, others in self.inconsistent]  # fmt: skip
        return read_history(releases, data, needed, rules)

    def _check_values(self, data: CodedTable, history: EarlierTables) -> None:
        """Refuse thresholds for values that Y does not have, or shows only among others."""
        for part in self._linkings():
            if not isinstance(part, XYLinkability) or not part.values:
                continue
            (name,) = part.y
            if name in data.domains:
                texts = list(data.domains[name].texts)
            else:
                column = next(c for c in history.columns if c.name == name)
                sets = column.labels.sets
                if sets is None or any(len(found) > 1 for found in sets):
                    raise SchemaError(
                        f"values: an earlier release shows {name!r} by sets or intervals.",
                        hint="Leave values out: k then holds for every label.",
                    )
                texts = list(column.labels.texts)
            for value in part.values:
                if value not in texts:
                    raise SchemaError(
                        f"values: {name!r} has no value {value!r}.", hint=name_closest(value, texts)
                    )

    def _check_rules(self, data: CodedTable, history: EarlierTables) -> None:
        """Refuse rules about values that nobody has: they would silently rule nothing out."""
        for here, values, there, others in self.inconsistent:
            shown = {text for column in history.columns if column.name == there
                     for found in column.labels.sets or [] for text in found}  # fmt: skip
            known = data.domains[here].texts if here in data.quasi_identifiers else []
            for name, there_is in ((here, known), (there, shown)):
                if not there_is:
                    raise SchemaError(
                        f"inconsistent: {name!r} is not shown by values or sets of them.",
                        hint="Name a quasi-identifier here, and an attribute of earlier releases.",
                    )
            if data.domains[here].taxonomy is None and data.schema[here].type.ordered:
                raise SchemaError(f"inconsistent: {here!r} is published by intervals.")
            for name, given, texts in ((here, values, known), (there, others, sorted(shown))):
                for value in given:
                    if value not in texts:
                        raise SchemaError(
                            f"inconsistent: {name!r} has no value {value!r}.",
                            hint=name_closest(value, list(texts)),
                        )

    def _check_names(self, data: CodedTable, there: list[str]) -> None:
        shown = data.schema.published.names
        known = [*shown, *(name for name in there if name not in shown)]
        named = [("target", self.target)] if self.target else []
        for part in self._linkings():
            named += [("x", name) for name in part.x]
            named += [("y", name) for name in part.y if not isinstance(part.y, str)]
        for where, name in named:
            if name not in known or (where == "target" and name not in shown):
                other = "" if where == "target" else " nor in an earlier one"
                raise SchemaError(
                    f"{where}: {name!r} is not in this table{other}.",
                    hint=name_closest(name, known),
                )
            if where == "x" and name in shown and name not in data.quasi_identifiers:
                raise SchemaError(
                    f"x: {name!r} is published unchanged here.",
                    hint='Set role = "quasi-identifier" for it.',
                )
            if where != "x" and name in self.generalized(data):
                raise SchemaError(
                    f"{where}: {name!r} is a quasi-identifier and may be generalized.",
                    hint='Set role = "sensitive" for it, or "other" with keep = true.',
                )

    def _refuse(self, links: list[Link], n: int) -> None:
        """Say by how much the most general table fails."""
        for link in links:
            zeros = np.zeros((link.data.n, len(link.names)), dtype=np.int64)
            sizes = [link.data.domains[name].size - 1 for name in link.names]
            most = zeros + np.array(sizes, dtype=np.int64)
            groups = link.judge_groups(zeros, most)
            good = link.principle.admits(groups)
            if not good.all():
                worst = int(np.flatnonzero(~good)[0])
                best = link.principle.feasible(groups.take(worst)).best
                raise PromiseError(
                    f"{link.principle} cannot be kept: even if all of X here is generalized away, "
                    f"{best}.",
                    hint="Ask for less, or leave attributes of earlier releases out of X or Y.",
                    subject=link.principle,
                )
        for part in self.principle.parts:
            if isinstance(part, KAnonymity):
                part.require(Groups.of_people(np.array([n])))


def _require_population(kinds: Kinds, history: EarlierTables) -> None:
    """Every row must match one of the other tables: else it drops out of what is counted."""
    data = kinds.data
    joined = history.joined(data.schema.published.names)
    number = data.number(joined)
    first = representatives(number)
    rows = np.array([data.codes[n][first] for n in joined], dtype=np.int64)
    rows = rows.reshape(len(joined), len(first)).T
    alone, unmet = find_unmatched(history, data, joined, rows)
    lonely = int(kinds.weights[alone[number]].sum())
    if lonely or unmet:
        raise PromiseError(
            f"By {', '.join(joined) or 'nothing'}, {lonely:,} people here match nobody in the "
            f"earlier releases, and {unmet:,} records there match nobody here.",
            hint="Give releases about the same people, or leave out those about others.",
        )


def _list_cuts(
    data: CodedTable, rows: Microdata, found: Specialized, names: list[str]
) -> dict[str, CodeCut]:
    """Give the cut of every quasi-identifier; of those that stay exact, all values.

    It was found of ``rows``, which have all values that somebody has.
    """
    cuts: dict[str, CodeCut] = {}
    for name in data.quasi_identifiers:
        domain, tree = data.domains[name], found.hierarchies
        if name in names:
            run_of = np.zeros(domain.size, dtype=np.int64)
            run_of[rows.codes[name]] = found.nodes[:, names.index(name)]
            runs = [*zip(tree.low, tree.high, tree.names, strict=True)]
        else:
            run_of = np.arange(domain.size)
            runs = [(code, code, domain.texts[code]) for code in range(domain.size)]
        cuts[name] = cut_codes(runs, run_of, data.count(name))
    return cuts
