"""Proposing: what would go together with all releases so far, each way tried for real."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError
from discreet.steward.ledger.people import sign

if TYPE_CHECKING:
    from discreet.auditing.composed import Composed
    from discreet.publishing.method import Method
    from discreet.publishing.methods.signing import SigningMethod
    from discreet.publishing.signatures import History
    from discreet.release import Release
    from discreet.table.facts import Progress
    from discreet.table.microdata import Microdata

MOST_LEFT_OUT = 3
"""A proposal leaves out no more attributes."""
LARGER = (2, 5, 20, 100)
"""So many times as many people who look the same are tried."""
PATIENCE = 120.0
"""Seconds after which nothing else is tried."""
Checking = Callable[["Release", "History | None"], "list[Composed]"]


@dataclass(frozen=True)
class Proposal:
    """Something that passes, and what is lost by it."""

    text: str
    loss: float
    without: tuple[str, ...] = ()
    """Attributes to leave out."""
    method: Method | None = None
    """Or how else to publish it."""


class Proposals:
    """Ways to publish a table, held against what is out."""

    def __init__(
        self, data: Microdata, method: Method, check: Checking, seed: int | None, progress: Progress
    ) -> None:
        self.data, self.method, self.check, self.seed = data, method, check, seed
        self.progress, self.tried = progress, 0
        self.until = monotonic() + PATIENCE

    @property
    def _most(self) -> int:
        """How many ways there are to try, at the most."""
        known = len(self.data.quasi_identifiers)
        fewer = sum(range(known, max(known - MOST_LEFT_OUT, 1), -1))
        return fewer + len(LARGER) + len(list_republishing())

    def find(
        self, broken: Sequence[Composed], remembering: Callable[[Method], Method]
    ) -> tuple[list[Proposal], str]:
        """List what passes, the least loss first; and say it, or how near leaving out comes."""
        most = max(found.people for found in broken)
        gone, failing, found = self._leave_out(most)
        found += [*self._enlarge(), *self._republish(remembering)]
        if found:
            found.sort(key=lambda one: one.loss)
            return found, found[0].text
        listed = " and ".join(gone)
        less = f"Without {listed} it would still fail for {failing:,} people of {most:,}. "
        return [], (
            (less if gone else "Leaving out one attribute does not help. ")
            + "Publish the sensitive attribute only once, or hand out the earlier release's folder "
            "once more as it is."
        )

    def _try(self, data: Microdata, method: Method) -> tuple[int, float] | None:
        """Make a release; say for how many people it would fail, and what is lost.

        ``None`` where it cannot be made, or there is no time left.
        """
        from discreet.evaluate.loss import measure_loss
        from discreet.publishing import publish

        self.progress("Refused; trying what would pass", self.tried, self._most)
        self.tried += 1
        if monotonic() > self.until:
            return None
        with suppress(DiscreetError):  # a method may not do without it, or not for these people
            release = publish(data, method, insecure_seed=self.seed)
            broken = self.check(release, sign(method, data))
            failing = max((b.people for b in broken), default=0)
            kept, every = len(data.quasi_identifiers), len(self.data.quasi_identifiers)
            return failing, (measure_loss(release, data).ncp * kept + every - kept) / every
        return None

    def _leave_out(self, most: int) -> tuple[list[str], int, list[Proposal]]:
        """Leave out the attribute that helps most, one after the other, until it passes."""
        data, failing, loss = self.data, most, 1.0
        gone: list[str] = []
        while failing and len(data.quasi_identifiers) > 1 and len(gone) < MOST_LEFT_OUT:
            made = {name: self._try(data.without(name), self.method)
                    for name in data.quasi_identifiers}  # fmt: skip
            tried = {name: found for name, found in made.items() if found is not None}
            best = min(tried, key=tried.__getitem__, default=None)
            if best is None or tried[best][0] >= failing:
                break
            gone.append(best)
            data, (failing, loss) = data.without(best), tried[best]
        listed = " and ".join(gone)
        text = f"Leave out {listed}: generalized that far, the release would pass."
        return gone, failing, [Proposal(text, loss, tuple(gone))] if gone and not failing else []

    def _enlarge(self) -> Iterator[Proposal]:
        """Ask for more people who look the same: coarser cuts, the finest of which that passes."""
        from discreet.principles import KAnonymity

        least = max(self.method.principle.look_alikes, self.method.principle.min_size)
        for k in (least * times for times in LARGER if least * times <= self.data.n):
            made = None
            with suppress(DiscreetError):  # a method may promise only what it is made for
                method = replace(self.method, principle=KAnonymity(k) & self.method.principle)
                made = self._try(self.data, method)
            if made is not None and not made[0]:
                yield Proposal(f"Promise k-anonymity with k = {k}, too: the release would pass.",
                               made[1], method=method)  # fmt: skip
                return

    def _republish(self, remembering: Callable[[Method], Method]) -> Iterator[Proposal]:
        """Try methods that are made for tables that change, where keys say who is who."""
        if self.data.keys is None:
            return
        for kind in list_republishing():
            with suppress(DiscreetError):
                nearest = kind.nearest(self.method.principle)
                made = self._try(self.data, remembering(nearest))
                if made is not None and not made[0]:
                    yield Proposal(f"Publish it by {kind.title}, with {nearest.principle}: the "
                                   "release would pass.", made[1], method=nearest)  # fmt: skip


def list_republishing() -> list[type[SigningMethod]]:
    """List the methods that are made for tables that change."""
    from discreet.publishing.methods.invariant_angelization import InvariantAngelization
    from discreet.publishing.methods.republication import Republication

    return [Republication, InvariantAngelization]
