"""Full-domain generalization: one level of its hierarchy per quasi-identifier, for everybody."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from discreet.errors import SchemaError
from discreet.principles.base import Number, ratio, require_choice
from discreet.publishing.backends import Backend
from discreet.publishing.draws import Draws
from discreet.publishing.method import Method, PartedRelease
from discreet.publishing.methods.boxes import (
    CodeCut,
    Cut,
    Ends,
    cut_codes,
    show_cuts,
    take_cuts,
)
from discreet.publishing.methods.cuts_in_parts import Cutting
from discreet.publishing.methods.generalization import (
    release_boxes,
    require_scalable,
    require_suppressible,
)
from discreet.publishing.partition import Partition
from discreet.publishing.partitioners.hierarchies import ANY
from discreet.publishing.partitioners.histograms import require_feasible, require_names
from discreet.publishing.partitioners.kinds import collapse, count_kinds
from discreet.publishing.partitioners.lattice import (
    KindJudge,
    Lattice,
    Levels,
    Point,
    SliceJudge,
    list_levels,
    list_read,
    number_runs,
)
from discreet.publishing.partitioners.suppression import Suppressed, allow, suppress
from discreet.publishing.partitioners.units import count_units
from discreet.release import Release
from discreet.table.coded_table import CodedTable
from discreet.table.microdata import Microdata, number_keys, row_ids
from discreet.table.public_domain import widen


@dataclass(frozen=True)
class FullDomain(Method):
    """Generalize each quasi-identifier to one level of its hierarchy, the same for all people.

    Samarati, TKDE 2001; LeFevre, DeWitt, Ramakrishnan, SIGMOD 2005. Level 0 shows values as they
    are, the highest shows ``*``, and between them lie the levels of the taxonomy; the rules
    :class:`Intervals`, :class:`Prefixes` and :class:`Dates` make some for numbers, codes and dates.
    Without a taxonomy there is nothing between. A missing value stays by itself below ``*``. Of all
    combinations of levels that keep the promise, the one that loses least is found exactly: of the
    other values of an attribute, the share that is shown with a person's own, on average. With
    ``suppress`` up to that share of people may be in classes that break it, if all others gain more
    by that: they show ``*`` wherever they differ among each other, or are left out. Nodes
    stand for those of their values that somebody has; with ``ends="cuts"`` for all that lie below
    them in the public domain.

    >>> import discreet as dc
    >>> import polars as pl
    >>> frame = pl.DataFrame({"age": [21, 23, 38, 40, 41, 43, 58, 60], "sex": list("MMFFMMFF")})
    >>> schema = dc.Schema((
    ...     dc.Attribute("age", dc.Role.QUASI_IDENTIFIER, dc.Type.INTEGER,
    ...                  taxonomy=dc.Intervals((10, 20), origin=1)),
    ...     dc.Attribute("sex", dc.Role.QUASI_IDENTIFIER, dc.Type.CATEGORY)))
    >>> release = dc.publish(dc.read(frame, schema), dc.FullDomain(dc.KAnonymity(2)))
    >>> release.tables["generalized"].select("age", "sex").unique(maintain_order=True).rows()
    [('[21, 31)', 'M'), ('[31, 41)', 'F'), ('[41, 51)', 'M'), ('[51, 61)', 'F')]

    **Guarantee**: the principle holds for the group of every person, against an adversary who
    knows all quasi-identifiers of everyone. Kept columns are published unchanged and are
    protected by nothing.
    """

    title: ClassVar[str] = "full-domain"
    form: ClassVar[str] = "generalized"
    paper: ClassVar[str] = "LeFevre, DeWitt, Ramakrishnan: Incognito, SIGMOD 2005"

    ends: Ends = "tight"
    suppress: Number = 0

    def __post_init__(self) -> None:
        require_choice("ends", self.ends, Ends)
        require_suppressible(self.suppress, self.principle, self.ends)
        for part in self.principle.parts:
            if not part.monotone:
                raise SchemaError(
                    f"{part} is not monotone: a table may keep it, and break it one level higher.",
                    hint="Use generalization for it, or another principle here.",
                    subject=part,
                )

    @property
    def counts_people(self) -> bool:
        """By their key."""
        return True

    def publish(self, data: Microdata, draws: Draws) -> Release:  # noqa: ARG002
        """Find the levels that lose least, and show everybody their nodes."""
        require_names(data.quasi_identifiers)
        if self.ends == "cuts":
            data = widen(data, trees=True)
        keyed, principle = count_units(data, self.principle)
        require_feasible(keyed, principle)
        levels = [list_levels(data.domains[name]) for name in data.quasi_identifiers]
        kinds, kind_of = collapse(keyed, [*data.quasi_identifiers, *list_read(keyed, principle)])
        judge = KindJudge(keyed, principle, kinds, levels)
        lattice = Lattice.over(data, levels, judge.keeps)
        chosen = lattice.find_least()
        budget = allow(data, self.suppress)
        if budget:
            finer = replace(judge, budget=budget)
            lower = Lattice.over(data, levels, finer.keeps).find_least()
            apart = finer.find_failing(lower)[kind_of]
            # only k-anonymity loses nobody more on the way up: count again, and weigh
            gained = lattice.weigh(chosen) - lattice.weigh(lower)
            if apart.any() and int(apart.sum()) <= budget and gained > int(apart.sum()):
                cuts = take_cuts(data, _cut(data, levels, lower))
                number = row_ids([of for _, of in cuts.values()], data.n)
                found = suppress(keyed, principle, Partition.from_labels(number), apart)
                if found is not None:
                    return self._release_suppressed(data, cuts, found)
        cuts = take_cuts(data, _cut(data, levels, chosen))
        return release_boxes(self, data, show_cuts(data, cuts), self.ends)

    def require_parts(self) -> None:
        """People who are suppressed, and regions, need all rows at hand."""
        require_scalable("Full-domain generalization", self.principle, self.suppress, self.ends)

    def publish_in_parts(self, backend: Backend) -> PartedRelease:
        """Do the same with rows that are elsewhere: of kinds, or a slice of groups at a time."""
        facts = backend.facts
        require_names(facts.quasi_identifiers)
        require_feasible(facts, self.principle)
        levels = [list_levels(facts.domains[name]) for name in facts.quasi_identifiers]
        cutting = Cutting.of(self, backend)
        needed = [*facts.quasi_identifiers, *list_read(facts, self.principle)]
        keys, found = cutting.estimate(needed)
        if found <= backend.capacity:
            kinds = count_kinds(cutting.rows, keys, facts)
            keeps = KindJudge(facts, self.principle, kinds, levels).keeps
        else:
            keeps = SliceJudge(facts, self.principle, cutting.rows, cutting.layout, levels,
                               backend.capacity).keeps  # fmt: skip
        chosen = Lattice.over(facts, levels, keeps).find_least()
        return cutting.publish(_cut(facts, levels, chosen))

    def parameters(self) -> dict[str, object]:
        """The parameters besides the principle; the share only where people may be suppressed."""
        given = super().parameters()
        if not ratio(self.suppress):
            del given["suppress"]
        return given

    def _release_suppressed(
        self, data: Microdata, cuts: dict[str, Cut], found: Suppressed
    ) -> Release:
        """Show people whose classes break the promise among each other, or leave them out."""
        taken = data.taken(found.rows)
        blank = found.blank[found.partition.labels]
        shown: dict[str, Cut] = {}
        for name, (runs, number) in cuts.items():
            of = number[found.rows]
            first = of[found.partition.order[found.partition.offsets[:-1]]]
            differ = blank & (of != first[found.partition.labels])
            group = np.zeros(found.partition.count, dtype=bool)
            group[found.partition.labels[differ]] = True
            of = np.where(group[found.partition.labels], len(runs), of)
            there, of = number_keys(of)
            every = [*runs, (0, data.domains[name].size - 1, ANY)]
            # codes that somebody has who is shown, counted up to each
            upto = np.concatenate([[0], np.cumsum(np.bincount(
                taken.codes[name], minlength=data.domains[name].size) > 0)])  # fmt: skip
            shown[name] = [(int(upto[low]), int(upto[high + 1]) - 1, label)
                           for low, high, label in (every[i] for i in there)], of  # fmt: skip
        taken = taken.narrowed()
        return release_boxes(self, taken, show_cuts(taken, shown), self.ends, found)


def _cut(data: CodedTable, levels: Levels, point: Point) -> dict[str, CodeCut]:
    """Give the runs of every quasi-identifier at a point."""
    return {
        name: cut_codes(runs[level], number_runs(runs[level]), data.count(name))
        for name, runs, level in zip(data.quasi_identifiers, levels, point, strict=True)
    }
