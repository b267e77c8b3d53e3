"""Republication: a table that is published again and again, while people join, leave and return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.errors import PromiseError
from discreet.forms.generalized.wording import word_generalized
from discreet.principles import KAnonymity
from discreet.principles.base import Principle, require_choice, require_whole
from discreet.publishing.draws import Draws
from discreet.publishing.methods.boxes import blur, open_presence
from discreet.publishing.methods.exact import part_alike, recode_exactly
from discreet.publishing.methods.generalization import TABLE, assemble, name_class
from discreet.publishing.methods.signing import SigningMethod, find_invariance
from discreet.publishing.partition import Partition, number_groups
from discreet.publishing.partitioners.balanced import (
    COUNTERFEITS,
    BalancedGroups,
    group_balanced,
    tabulate_counterfeits,
)
from discreet.publishing.partitioners.histograms import require_names
from discreet.publishing.partitioners.mondrian import Categories
from discreet.publishing.signatures import Signed
from discreet.release import Release
from discreet.release.labels import rank_cells
from discreet.table.microdata import Microdata, row_ids


@dataclass(frozen=True)
class Republication(SigningMethod):
    """Groups that hold each of their values equally often, and always the same for whoever stays.

    Xiao, Tao, SIGMOD 2007. Everybody has a *signature*, a set of at least m sensitive values, their
    own among them, and is only ever in groups that hold just these. Signatures are found by
    counts (:mod:`discreet.publishing.signatures`), and groups by halving the people of a signature,
    value by value, as far as each side has one of every value and ``k`` people. Where a value is
    lacking a *counterfeit* has it, a record of nobody; how many a class has is published.

    >>> import polars as pl
    >>> import discreet as dc
    >>> frame = pl.DataFrame({"age": [21, 23, 38, 40], "disease": ["flu", "gout", "flu", "gout"]})
    >>> data = dc.read(frame, dc.Schema.infer(frame, quasi_identifiers=["age"],
    ...                                       sensitive=["disease"]))
    >>> release = dc.publish(data, dc.Republication(dc.MInvariance(2)))
    >>> release.tables["generalized"].select("class", "age", "disease").rows()[:2]
    [(0, '[21, 23]', 'flu'), (0, '[21, 23]', 'gout')]

    **Guarantee**: whoever knows all quasi-identifiers of everybody, who was in the table when, and
    even the groups, believes no value of a person with more than 1/m, from all releases together,
    if each was published after the history of those before. The proof stands in
    :class:`MInvariance`. Who changed their value is a new person: that they did is not hidden.
    """

    title: ClassVar[str] = "republication"
    form: ClassVar[str] = "generalized"
    paper: ClassVar[str] = "Xiao, Tao: m-Invariance, SIGMOD 2007"

    k: int | None = None
    categories: Categories = "set"

    @classmethod
    def nearest(cls, principle: Principle) -> Republication:
        """Let groups have as many values as make none likelier than is promised, and k people."""
        alike, _ = part_alike(principle)
        return cls(find_invariance(principle), k=alike or None)

    def __post_init__(self) -> None:
        require_choice("categories", self.categories, Categories)
        if self.k is not None:
            require_whole("k", self.k)
        if self.k == 1:  # every group has as many; a release says that in one way
            object.__setattr__(self, "k", None)

    @property
    def _least(self) -> int:
        """How many people a group has, at least."""
        return max(self.k or 1, self.principle.look_alikes)

    def publish(self, data: Microdata, draws: Draws) -> Release:  # noqa: ARG002
        """Sign everybody, group the people of each signature, and show their boxes."""
        signed = self.sign_people(data)
        (name,) = data.sensitive
        require_names(data.quasi_identifiers)
        least = self._least
        # groups with counterfeits are as large as others, if there are as many people
        groups = group_balanced(signed, name, max(least, signed.counts.m))
        smallest = int(np.bincount(groups.of, minlength=groups.count).min())
        if smallest < least:
            raise PromiseError(
                f"k = {least} cannot be kept: of a signature, there are only {smallest} people.",
                hint=f"Ask for k ≤ {smallest}, or leave it out: groups have about m people then.",
                subject=self.principle,
            )
        return self._show(signed, name, groups)

    def _show(self, signed: Signed, name: str, groups: BalancedGroups) -> Release:
        """Write people and counterfeits down, in the order of what is shown."""
        data, known = signed.data, signed.data.quasi_identifiers
        boxes, recodings = blur(data, Partition.from_labels(groups.of), known, self.categories)
        # a counterfeit shows what somebody of its class does, but for the value
        first = np.full(groups.count, data.n)
        np.minimum.at(first, groups.of, np.arange(data.n))
        shown = groups.fakes.added(data, name, first[groups.fakes.group])
        label = np.concatenate([groups.of, groups.fakes.group])
        exact = [a.name for a in data.schema.published if a.name not in known]
        rank = row_ids([rank_cells(boxes, n, recodings[n]) for n in known], groups.count)
        kept = [rank[label], *(shown.codes[n] for n in exact)]
        number = number_groups(Partition.from_labels(label), kept)
        of = np.empty(groups.count, dtype=np.int64)
        of[number] = label  # per number its group
        tables = {TABLE: assemble(shown, Partition.from_labels(number), boxes[of], exact)}
        own = name_class(data)
        if shown.n > data.n:
            names = data.schema.published.names
            tables[COUNTERFEITS] = tabulate_counterfeits(number[data.n :], own, names)
        wanted: Principle = self.read_principle()
        if self._least > 1:
            wanted = KAnonymity(self._least) & wanted
        promise, about = word_generalized(
            wanted, known, open_presence(data, "tight"), own, shown.n - data.n
        )
        return self.release(data, tables, recodings | recode_exactly(data, exact), about, promise)
