"""Anatomy: exact quasi-identifiers, and sensitive values in batches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from discreet.principles.base import Principle
from discreet.publishing.backends import Backend
from discreet.publishing.draws import Draws
from discreet.publishing.method import Method, PartedRelease
from discreet.publishing.methods.angelization import Angelization
from discreet.publishing.methods.exact import part_alike
from discreet.publishing.partitioners.batches import Batching
from discreet.publishing.partitioners.simulatable import Resisted, drop_plain
from discreet.release import Release
from discreet.table.microdata import Microdata


@dataclass(frozen=True)
class Anatomy(Method):
    """Publish exact quasi-identifiers with a batch, and the sensitive values of each batch.

    Xiao, Tao, VLDB 2006; the case ``k = 1`` of :class:`Angelization`, by the same code.

    >>> import discreet as dc, polars as pl
    >>> frame = pl.DataFrame({"age": [21, 23, 38, 40], "disease": ["flu", "flu", "gout", "gout"]})
    >>> data = dc.read(frame, dc.Schema.infer(frame, quasi_identifiers=["age"],
    ...                                       sensitive=["disease"]))
    >>> release = dc.publish(data, dc.Anatomy(dc.FrequencyDiversity(2)))
    >>> release.tables["generalized"]["age"].to_list()
    [21, 23, 38, 40]

    **Guarantee**: whoever knows all quasi-identifiers of a person believes in sensitive values as
    the person's batch holds them, and the batch satisfies the principle, for each sensitive
    attribute. It does not hide who is in the table. With ``resist="method"`` that holds against
    who knows this method, too; with ``resist="learning"`` it is held against two who learn across
    batches as well; see :class:`Angelization`.
    """

    title: ClassVar[str] = "anatomy"
    form: ClassVar[str] = "batched"
    paper: ClassVar[str] = "Xiao, Tao: Anatomy, VLDB 2006"

    batches: Batching | None = None
    together: bool = False
    resist: Resisted = "reader"

    @classmethod
    def nearest(cls, principle: Principle) -> Anatomy:
        """Leave out how many look alike: exact quasi-identifiers tell people apart."""
        _, others = part_alike(principle)
        return cls(principle if others is None else others)

    @classmethod
    def variants(cls, principle: Principle) -> list[Method]:
        """As ever, and against who knows the method."""
        made = cls.nearest(principle)
        return [made, replace(made, resist="method")]

    def __post_init__(self) -> None:
        self._angelization()

    def _angelization(self) -> Angelization:
        return Angelization(
            self.principle, k=1, batches=self.batches, exact=True, together=self.together,
            resist=self.resist,
        )  # fmt: skip

    def parameters(self) -> dict[str, object]:
        """The parameters besides the principle; whom it resists only where it does."""
        return drop_plain(super().parameters())

    def publish(self, data: Microdata, draws: Draws) -> Release:
        """Angelize with k = 1."""
        release = self._angelization().publish(data, draws)
        return replace(release, method=self.title, parameters=self.parameters())

    @property
    def draws_groups(self) -> bool:
        """Where who is batched with whom is drawn."""
        return self.resist == "method"

    def require_parts(self) -> None:
        """As for any angelization."""
        self._angelization().require_parts()

    def publish_in_parts(self, backend: Backend) -> PartedRelease:
        """Angelize rows that are elsewhere with k = 1."""
        made = self._angelization().publish_in_parts(backend)
        release = replace(made.release, method=self.title, parameters=self.parameters())
        return replace(made, release=release)
