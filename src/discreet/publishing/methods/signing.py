"""Signing: what methods share that give everybody a signature, and go by those of before."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil
from typing import Self

from discreet.errors import PromiseError, SchemaError
from discreet.principles import KAnonymity, MInvariance, Proximity
from discreet.principles.base import Number, Principle, ratio
from discreet.publishing.method import Method
from discreet.publishing.partitioners.histograms import require_feasible
from discreet.publishing.signatures import History, Signed, sign_people
from discreet.table.microdata import Microdata


@dataclass(frozen=True)
class SigningMethod(Method):
    """A method that keeps m-invariance.

    ``history`` has the signatures of earlier releases of the table, by people's keys; a ledger
    keeps it. Without it everybody is new.
    """

    history: History | None = field(default=None, kw_only=True)

    def read_principle(self) -> MInvariance:
        """Give what is promised of values, or refuse."""
        others = [p for p in self.principle.parts if not isinstance(p, KAnonymity)]
        if len(others) == 1 and isinstance(others[0], MInvariance):
            return others[0]
        raise PromiseError(
            f"{self.principle}: {self.title} keeps m-invariance, and k-anonymity beside it.",
            hint="Promise m-invariance, with m = 2 or more; for others use generalization.",
            subject=self.principle,
        )

    def parameters(self) -> dict[str, object]:
        """The parameters besides the principle; what is remembered is nobody's business."""
        given = super().parameters()
        del given["history"]
        return given

    def remember(self, history: History) -> Self:
        """Go by the signatures of earlier releases."""
        return replace(self, history=history)

    def sign(self, data: Microdata) -> History:
        """Give the signatures of the people of a table, as it would be published."""
        if data.keys is None:
            raise SchemaError(
                "Signatures are remembered of people, but no column says whose rows are whose.",
                hint='Name the column with the key of people: [source] person = "…", or '
                'dc.read(table, schema, person="…").',
            )
        return self.sign_people(data).remembered(data.sensitive[0])

    def sign_people(self, data: Microdata) -> Signed:
        """Give the people of a table signatures, or refuse."""
        if len(data.sensitive) != 1:
            listed = ", ".join(map(repr, data.sensitive)) or "none"
            raise SchemaError(
                f"{self.title.capitalize()} is about one sensitive attribute; sensitive are: "
                f"{listed}.",
                hint='Give the others role = "other", or make a plan for each.',
            )
        (name,) = data.sensitive
        wanted = self.read_principle()
        require_feasible(data, wanted)
        return sign_people(data, name, wanted, self.history)


def find_invariance(principle: Principle) -> MInvariance:
    """Give the m-invariance that makes no value likelier than a principle does."""
    m = ceil(1 / min(part.max_share for part in principle.parts))
    near = [p.epsilon for p in principle.parts if isinstance(p, Proximity) and not p.relative]
    epsilon = max(map(_reach, near), key=ratio, default=None)
    return MInvariance(max(m, 2), epsilon)


def _reach(epsilon: Number | tuple[Number, Number]) -> Number:
    """Give how far a neighbourhood reaches, to the side on which it does so farther."""
    return max(epsilon, key=ratio) if isinstance(epsilon, tuple) else epsilon
