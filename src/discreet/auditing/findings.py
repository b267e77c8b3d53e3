"""Findings: what an audit found of everybody, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from discreet.auditing.attacks import Attack
from discreet.auditing.before import Before, measure_before
from discreet.auditing.composed import Composed
from discreet.auditing.counted import Counted, list_parts_about
from discreet.auditing.grounds import Grounds, explain_person, explain_worst
from discreet.auditing.identity import IdentityRisk
from discreet.auditing.joined import Check
from discreet.auditing.kept_columns import KeptColumns
from discreet.auditing.members import Membership
from discreet.auditing.method_known import MethodKnown
from discreet.auditing.nearness import Nearness
from discreet.auditing.people import SeveralRows
from discreet.auditing.population import PopulationRisk
from discreet.auditing.presence import Presence
from discreet.auditing.rates import PrivacyRisk
from discreet.auditing.wording import AS_FAR
from discreet.errors import PromiseError, SchemaError, list_problems
from discreet.files import write_text
from discreet.forms import find_form
from discreet.forms.adversaries import word_withstood
from discreet.forms.exposure import JoinedCells
from discreet.principles.base import Principle
from discreet.release import Promise, Release
from discreet.release.explanation import Explanation
from discreet.table.arrays import Bools, Floats, Ints
from discreet.table.microdata import Microdata

if TYPE_CHECKING:
    from discreet.auditing.report import Subject
    from discreet.evaluate.distributions import Distribution, SensitiveLoss
    from discreet.evaluate.loss import Loss

HALF = Fraction(1, 2)


@dataclass(frozen=True, eq=False)
class AuditReport:
    """The auditor's findings. The steward's and the reviewer's, never part of a release."""

    people: int
    rows_read: int
    """Rows of the microdata: as many as people, or more where some have several."""
    records: int
    groups: int
    promise: Promise
    judged: Principle
    """What was asked of it: what it promises, or something else that was given."""
    checks: list[Check]
    identity: IdentityRisk
    crowd: str
    """Like how many others everybody looks, in words."""
    presets: dict[str, bool]
    beliefs: dict[str, Floats]
    """Per sensitive attribute and person the largest belief in any value."""
    truths: dict[str, Floats]
    """Per sensitive attribute and person the belief in the person's own value."""
    how: dict[str, str]
    """Per sensitive attribute how beliefs were found: exactly, or for some as a bound."""
    candidates: Ints
    """Per person how many people could be behind a record or piece of one that may be theirs, all
    tables put together; 0 if no group covers the person."""
    breached: Bools
    worst: Fraction | None
    """The largest belief in any value of anyone, exactly; of mixtures of batches whose common
    denominator does not fit 64 bits, to 12 digits."""
    loss: Loss
    proximity: dict[str, Nearness]
    """Per sensitive number, how likely anybody's is told to within ε."""
    joined: JoinedCells | None
    """What several tables give away together; ``None`` where there is one."""
    membership: Membership | None
    """How well it hides who is in the table, where that can be told."""
    presence: Presence | None
    """Who of a population is in the table, where one was given."""
    kept_columns: KeptColumns | None
    """Whom columns tell apart that are published as they are, where there are any."""
    composed: list[Composed]
    """What does not survive the earlier releases, where there are any."""
    attacks: list[Attack]
    """What goes beyond the promise, where it was tried."""
    notes: list[str]
    """What of the earlier releases was left out of account."""
    findings: list[str]
    """What is wrong with the release itself, whoever is in it."""
    risks: list[PrivacyRisk] = field(default_factory=list)
    """Singling out, linkability and inference, where attacks were tried."""
    uncovered: int = 0
    """Rows of the microdata that no published group covers."""
    left_out: int = 0
    """Rows that the release says it leaves out: of these people it tells that, and nothing else."""
    population: list[PopulationRisk] = field(default_factory=list)
    """What is found by who knows only the population, where one was given; the largest first."""
    several: SeveralRows | None = None
    """How rows are spread over people, where these are not the same."""
    method_known: MethodKnown | None = None
    """What somebody learns who knows the method, where the steward measured it."""
    counted: Counted | None = None
    """What is believed of values that count, where some are called not sensitive."""
    withstands: dict[str, str] = field(default_factory=dict)
    """Against whom what the release promises holds, each with what that is limited to."""
    examined: tuple[Release, Microdata] | None = field(default=None, repr=False)
    """What it is about."""
    times: Ints | None = None
    """How many people each entry about people stands for, where those who are alike in all of them
    were put together; ``None`` where everybody has one."""
    explained: list[Grounds] | None = None
    """Why the people who are worst off are so, where it was found out already."""

    @cached_property
    def rows(self) -> Ints:
        """Per person the number of the row in the source, the first of several."""
        assert self.examined is not None
        _, data = self.examined
        rows = np.arange(data.n) if data.rows is None else data.rows
        return rows if data.persons is None else rows[data.persons.first]

    @property
    def max_belief(self) -> float | None:
        """Largest belief in any sensitive value of anyone; 1 means somebody's value is certain."""
        return None if self.worst is None else float(self.worst)

    @property
    def breaches(self) -> int:
        """Number of people for whom the promise does not hold."""
        return self._count(self.breached)

    def _count(self, chosen: Bools) -> int:
        """Count the people whom some entries stand for."""
        return int(chosen.sum() if self.times is None else self.times[chosen].sum())

    @property
    def problems(self) -> list[str]:
        """Everything that keeps a reviewer from signing."""
        found = [
            f"{check.said} fails for {check.breaches} people"
            + (f" on {check.attribute}" if check.attribute else "")
            for check in self.checks
            if check.breaches
        ]
        if self.uncovered > self.left_out:
            found.append(
                f"{self.uncovered} {self._rows} of the microdata are in no published group: "
                "is this the table the release was made from?"
            )
        if self.records + self.left_out != self.rows_read:
            said = f"the release has {self.records} records for {self.rows_read} {self._rows}"
            found.append(said)
        found += [str(made) for made in self.composed]
        found += [f"the rule {name} is not kept" for name, good in self.presets.items() if not good]
        return found + self.findings

    @property
    def _rows(self) -> str:
        return "people" if self.several is None else "rows"

    @property
    def kept(self) -> bool:
        """Whether the release keeps its promise for everybody in the microdata."""
        return not self.problems

    @property
    def reach(self) -> str | None:
        """How far it goes that nothing is wrong; ``None`` where something is."""
        return AS_FAR if self.kept else None

    @property
    def withstood(self) -> list[str]:
        """Say against whom the promise holds, where it holds at all."""
        if not self.kept or not self.withstands:
            return []
        return [f"What is promised holds against {word_withstood(self.withstands)}."]

    def require_kept(self) -> None:
        """Raise unless the release keeps its promise for everybody in the microdata."""
        if self.problems:
            raise PromiseError(
                f"The audit found a breach:\n{list_problems(self.problems)}", subject=self
            )

    @property
    def cautions(self) -> list[str]:
        """What is told of people although the promise holds, as it does not bound that."""
        found = []
        for name, belief in self.beliefs.items():
            parts = list_parts_about(self.judged, name)
            counts = self.counted is None or name not in self.counted.left_out
            worst = float(belief.max(initial=0)) if counts else (
                float(self.counted.beliefs[name]) if self.counted else 0.0)  # fmt: skip
            if self.examined is not None and not find_form(self.examined[0].form).shows_people:
                found.append(f"the {name} of anybody may be certain: the promise bounds no belief")
            elif worst >= 1:
                whose = f"{self._count(belief >= 1):,} people" if counts else "somebody"
                found.append(f"the {name} of {whose} is certain: the promise does not bound that")
            elif worst > HALF and all(part.max_share == 1 for part in parts):
                found.append(f"some {name} is believed with {worst:.0%}: the promise does not "
                             "bound that")  # fmt: skip
        return found

    @cached_property
    def before(self) -> Before | None:
        """The same risks of the table with names removed; nothing where it was read in parts."""
        return None if self.examined is None else measure_before(self.examined[1], self.counted)

    @cached_property
    def sensitive_loss(self) -> dict[str, SensitiveLoss]:
        """What is lost of each sensitive attribute; nothing where it was audited in parts."""
        from discreet.evaluate.distributions import measure_sensitive_loss

        return {} if self.examined is None else measure_sensitive_loss(*self.examined)

    @cached_property
    def distributions(self) -> dict[str, Distribution]:
        """Every attribute's distribution, and the one to be expected from the release."""
        from discreet.evaluate.distributions import compare_distributions

        return {} if self.examined is None else compare_distributions(*self.examined)

    @cached_property
    def per_person(self) -> pl.DataFrame:
        """One row per person: number of the row in the source, candidates, beliefs, breach."""
        if self.times is not None:
            raise SchemaError(
                "Of a table that was audited in parts nothing is kept person by person.",
                hint="Audit it on a machine whose memory holds it, or a part of it.",
            )
        columns: dict[str, Any] = {"row": self.rows, "candidates": self.candidates}
        for name, belief in self.beliefs.items():
            columns[f"belief: {name}"] = belief
            columns[f"belief in truth: {name}"] = self.truths[name]
            if name in self.proximity:
                columns[f"breach risk: {name}"] = self.proximity[name].risks
        return pl.DataFrame({**columns, "breach": self.breached})

    def explain(self, person: int) -> Grounds:
        """Say why a person, by the number of the row in the source, is at these beliefs."""
        return explain_person(self, person)

    @cached_property
    def worst_explained(self) -> list[Grounds]:
        """Why the ten people who are worst off are so, masked."""
        return explain_worst(self) if self.explained is None else self.explained

    def to_dict(self) -> dict[str, Any]:
        """Give the findings as plain values, for ``--json``."""
        from discreet.auditing.report import summarize

        return summarize(self)

    def to_html(
        self,
        path: str | Path,
        how: Explanation | None = None,
        *,
        subject: Subject | None = None,
        rows: int = 0,
    ) -> Path:
        """Write a page that needs nothing but a browser.

        With how the release came about, of which release it is, and so many rows of the microdata
        as they are, beside what the release shows of them.
        """
        from discreet.auditing.report import render_html

        page = render_html(self, how, subject=subject, rows=rows)
        return write_text(Path(path), page)
