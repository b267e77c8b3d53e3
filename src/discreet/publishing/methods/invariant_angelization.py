"""Invariant angelization: batches of signatures, and boxes that look at no value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from discreet.errors import SchemaError
from discreet.principles import KAnonymity
from discreet.principles.base import Principle
from discreet.publishing.draws import Draws
from discreet.publishing.methods.angelization import AUTO, Angelization, refuse_roles
from discreet.publishing.methods.exact import part_alike
from discreet.publishing.methods.signing import SigningMethod, find_invariance
from discreet.publishing.partition import Partition
from discreet.publishing.partitioners.balanced import group_balanced
from discreet.publishing.partitioners.mondrian import Categories, mondrian
from discreet.release import Release
from discreet.table.microdata import Microdata


@dataclass(frozen=True)
class InvariantAngelization(SigningMethod):
    """An angelization that can be published again: batches hold the values of a signature.

    Signatures as in :class:`Republication`, tables as in :class:`Angelization`. Every batch holds
    each of its values equally often, and whoever stays is always in batches with the same set of
    values. Boxes hold ``k`` people near each other, whatever their batches; ``marginals`` lists
    quasi-identifiers, a table each, by default one of all. Where a value is lacking, a batch holds
    a *counterfeit*, a value of nobody; no record is anybody's but a person's. How many a batch has
    is published.

    >>> import polars as pl, discreet as dc
    >>> frame = pl.DataFrame({"age": [21, 23, 38, 40], "disease": ["flu", "gout", "flu", "gout"]})
    >>> data = dc.read(frame, dc.Schema.infer(frame, quasi_identifiers=["age"],
    ...                                       sensitive=["disease"]))
    >>> release = dc.publish(data, dc.InvariantAngelization(dc.MInvariance(2), k=2))
    >>> release.tables["generalized"].rows()[:2]
    [('[21, 23]', 21, 23, 0), ('[21, 23]', 21, 23, 0)]
    >>> release.tables["batches"].rows()[:2]
    [(0, 'flu', 1), (0, 'gout', 1)]

    **Guarantee**: that of :class:`Republication`. Its proof takes no more than that everybody is in
    some batch, and boxes were made without looking at values: who has which of them is exchanged
    within signatures, and the tables stay what they are. In each generalized table a person looks
    the same as at least ``k - 1`` others, **not** in all tables together.
    """

    title: ClassVar[str] = "invariant-angelization"
    form: ClassVar[str] = "batched"
    paper: ClassVar[str] = "Xiao, Tao: m-Invariance, SIGMOD 2007, with ANGEL, IEEE TKDE 2009"

    k: int = 10
    marginals: Sequence[Sequence[str]] | None = None
    categories: Categories = "set"

    @classmethod
    def nearest(cls, principle: Principle) -> InvariantAngelization:
        """Let batches have as many values as make none likelier than is promised."""
        alike, _ = part_alike(principle)
        found = find_invariance(principle)
        return cls(found, k=alike) if alike > 1 else cls(found)

    def __post_init__(self) -> None:
        if self.marginals == AUTO:
            raise SchemaError(
                'marginals = "auto": every version is to have the same tables.',
                hint="List them; propose_marginals says which are good for a table.",
            )
        object.__setattr__(self, "marginals", self._angelization().marginals)

    def _angelization(self) -> Angelization:
        return Angelization(
            self.principle, k=self.k, marginals=self.marginals, categories=self.categories
        )

    def parameters(self) -> dict[str, object]:
        """The parameters besides the principle, as plain values."""
        return {**super().parameters(), "marginals": self._angelization().parameters()["marginals"]}

    @property
    def weight(self) -> int:
        """More where several marginals are put together."""
        return self._angelization().weight

    def publish(self, data: Microdata, draws: Draws) -> Release:  # noqa: ARG002
        """Sign everybody, make batches of each signature, and buckets per marginal."""
        refuse_roles(data)
        wanted = self.read_principle()
        # what is said of look-alikes is the tables', what is said of values the batches'
        k = max(self.k, self.principle.look_alikes)
        tables = replace(self._angelization(), principle=wanted, k=k)
        marginals = tables.read_marginals(data)
        signed = self.sign_people(data.sorted())
        batches = group_balanced(signed, data.sensitive[0], signed.counts.m)
        buckets = [
            mondrian(signed.data, KAnonymity(k), names, categories=self.categories)
            for names in marginals
        ]
        made = tables.angelize(
            signed.data, marginals, buckets, Partition.from_labels(batches.of), fakes=batches.fakes
        )
        return replace(made, method=self.title, parameters=self.parameters())
