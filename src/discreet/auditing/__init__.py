"""Audit: what an adversary may believe about each person, from the published tables.

The auditor shares with the publisher only ``Groups`` and the principles. It reads the release,
matches it with the microdata, and asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.auditing.attacks import Attack, attack
from discreet.auditing.claims import find_false_claims
from discreet.auditing.composition import Composed, compose
from discreet.auditing.grounds import Grounds, explain_person, explain_worst
from discreet.auditing.identity import PRESETS, IdentityRisk, Preset, measure_identity
from discreet.auditing.joined import Check, find_alone, join_tables
from discreet.auditing.kept_columns import KeptColumns, count_kept
from discreet.auditing.links import list_x_groups
from discreet.auditing.members import Membership, measure_membership
from discreet.auditing.method_known import MethodKnown
from discreet.auditing.nearness import Nearness, measure_nearness
from discreet.auditing.presence import Presence, measure_presence
from discreet.auditing.rates import PrivacyRisk
from discreet.auditing.risks import measure_risks, refuse_members
from discreet.auditing.roles import Adversary, unite_roles
from discreet.errors import PromiseError, SchemaError, list_problems, name_closest
from discreet.files import write_text
from discreet.forms.consistency import check
from discreet.forms.exposure import JoinedCells
from discreet.forms.matches import Matches
from discreet.forms.posterior import Posterior
from discreet.principles.base import Principle, demands, part_joins
from discreet.principles.linking import Linking
from discreet.release import Promise, Release
from discreet.release.explanation import Explanation
from discreet.table.arrays import Bools, Floats, Ints
from discreet.table.coarsening import refuse_other_coarsening
from discreet.table.finer import refuse_means
from discreet.table.microdata import Microdata
from discreet.table.schema import Schema

if TYPE_CHECKING:
    from discreet.evaluate.loss import Loss


OWN = "this release"


@dataclass(frozen=True, eq=False)
class AuditReport:
    """The auditor's findings. The steward's and the reviewer's, never part of a release."""

    people: int
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
    rows: Ints
    findings: list[str]
    """What is wrong with the release itself, whoever is in it."""
    risks: list[PrivacyRisk] = field(default_factory=list)
    """Singling out, linkability and inference, where attacks were tried."""
    method_known: MethodKnown | None = None
    """What somebody learns who knows the method, where the steward measured it."""
    examined: tuple[Release, Microdata] | None = field(default=None, repr=False)
    """What it is about."""

    @property
    def max_belief(self) -> float | None:
        """Largest belief in any sensitive value of anyone; 1 means somebody's value is certain."""
        return None if self.worst is None else float(self.worst)

    @property
    def breaches(self) -> int:
        """Number of people for whom the promise does not hold."""
        return int(self.breached.sum())

    @property
    def uncovered(self) -> int:
        """People of the microdata whom no published group covers."""
        return int((self.candidates == 0).sum())

    @property
    def problems(self) -> list[str]:
        """Everything that keeps a reviewer from signing."""
        found = [
            f"{check.said} fails for {check.breaches} people"
            + (f" on {check.attribute}" if check.attribute else "")
            for check in self.checks
            if check.breaches
        ]
        if self.uncovered:
            found.append(
                f"{self.uncovered} people of the microdata are in no published group: "
                "is this the table the release was made from?"
            )
        if self.records != self.people:
            found.append(f"the release has {self.records} records for {self.people} people")
        found += [str(made) for made in self.composed]
        found += [f"the rule {name} is not kept" for name, good in self.presets.items() if not good]
        return found + self.findings

    @property
    def kept(self) -> bool:
        """Whether the release keeps its promise for everybody in the microdata."""
        return not self.problems

    def require_kept(self) -> None:
        """Raise unless the release keeps its promise for everybody in the microdata."""
        if self.problems:
            raise PromiseError(
                f"The audit found a breach:\n{list_problems(self.problems)}", subject=self
            )

    @cached_property
    def per_person(self) -> pl.DataFrame:
        """One row per person: number of the row in the source, candidates, beliefs, breach."""
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
        return explain_worst(self)

    def to_dict(self) -> dict[str, Any]:
        """Give the findings as plain values, for ``--json``."""
        from discreet.auditing.report import summarize

        return summarize(self)

    def to_html(self, path: str | Path, how: Explanation | None = None) -> Path:
        """Write a page that needs nothing but a browser; with how the release came about."""
        from discreet.auditing.report import render_html

        page = render_html(self, how)
        return write_text(Path(path), page)


def audit(
    release: Release | str | Path,
    data: Microdata,
    *,
    principle: Principle | None = None,
    population: int | None = None,
    population_data: Microdata | None = None,
    presets: list[str] | None = None,
    attacks: bool = False,
    control: Microdata | None = None,
    earlier: Sequence[Release | str | Path] = (),
    schema: Schema | None = None,
) -> AuditReport:
    """Examine a release against the microdata it was made from.

    ``release`` is a loaded release or its folder. The promise examined is the release's own, or
    the given ``principle``. ``population`` is the number of people the table is a sample of,
    ``population_data`` a table of them, by which it is found who must be in the release;
    ``presets`` names published rules that must hold as well. With ``attacks`` it also tries
    what goes beyond the promise, which takes longer, and the three risks that regulators name;
    ``control`` are people like these who are not in the table. ``earlier`` are releases about the
    same people that the release must go together with, as a promise about joins says or any other.

    The adversary knows what release, microdata or plan call a quasi-identifier, and must not learn
    what any of them calls sensitive; where they differ is a finding. ``schema`` is the plan's,
    where the microdata was read under another.

    >>> import discreet as dc
    >>> data = dc.datasets.adult(sensitive="occupation").head(200)
    >>> original = dc.publish(data, dc.Generalization(dc.KAnonymity(1)))
    >>> dc.audit(original, data).max_belief
    1.0
    """
    from discreet.evaluate.loss import weigh_loss

    findings = []
    if not isinstance(release, Release):
        from discreet.release.store import find_rewritten, find_strangers, load

        findings += [
            f"the folder holds {name}, which the manifest does not list"
            for name in find_strangers(Path(release))
        ]
        folder, release = Path(release), load(release)
        release.views  # noqa: B018  what is not of its form is refused before it is weighed
        findings += find_rewritten(folder, release)
    _refuse_other_table(release, data)
    if control is not None:
        _refuse_other_table(release, control)
        refuse_means(control)
        refuse_members(data, control)
    wanted = [_find_preset(name) for name in presets or []]
    adversary = unite_roles(release, data, schema)
    views = [view.match(data) for view in adversary.release.views]
    false, unchecked = find_false_claims(release, data)
    findings += [*adversary.conflicts, *false]
    if not any((found.set_of >= 0).any() for found in views):
        raise SchemaError(
            "No published group covers anybody in this microdata.",
            hint="Give the table the release was made from.",
        )
    candidates = np.min([_spread(found, found.crowds) for found in views], axis=0)
    alike = adversary.count_alike(data)
    candidates = candidates if alike is None else np.minimum(candidates, alike)
    judged = principle or release.promise.principle
    told = {
        name: [found.view.posterior(found, data, name) for found in views]
        for name in adversary.told
    }
    before = [_open(held, i) for i, held in enumerate(earlier)]
    alone, linkings = part_joins(judged)
    checks, breached = _check(views, told, alone, data.n, adversary)
    if linkings:
        linked, broken, lost = _check_links(
            adversary.release, views[0], linkings, [r for _, r in before]
        )
        checks, breached = [*checks, *linked], breached | broken
        findings += lost
    composed, notes = compose(adversary.release, data, before, OWN) if before else ([], [])
    joined = join_tables(views, told, data)
    if joined is not None:
        candidates = np.minimum(candidates, joined.people)
        breached |= find_alone(checks, joined, release.promise.principle)
    if population is None and population_data is not None:
        population = population_data.n
    beliefs, truths, worst = _believe(told)
    identity = measure_identity(candidates[candidates > 0], population)
    counts = views[0].view.smallest_count
    how = {name: max((view.how for view in views), key=len) for name, views in told.items()}
    for name in adversary.certain:
        beliefs[name] = truths[name] = np.ones(data.n)
        worst, how[name] = Fraction(1), "as an upper bound: it is taken for told"
    kept_columns = count_kept(release, data)
    crowd = views[0].view.describe_crowd(identity.smallest)
    return AuditReport(
        people=data.n,
        records=views[0].view.table.height,
        groups=release.views[0].count,
        promise=release.promise,
        judged=judged,
        checks=checks,
        identity=identity,
        crowd=crowd if kept_columns is None else f"{crowd}, by quasi-identifiers alone",
        presets={preset.name: preset.admits(identity.smallest, counts) for preset in wanted},
        beliefs=beliefs,
        truths=truths,
        how=how,
        candidates=candidates,
        breached=breached,
        worst=worst,
        loss=weigh_loss(data, *release.views),
        proximity=measure_nearness(told, data, alone),
        joined=joined,
        membership=measure_membership(views, data),
        presence=None
        if population_data is None
        else measure_presence(views, data, population_data),
        kept_columns=kept_columns,
        composed=composed,
        notes=[*adversary.notes, *unchecked, *notes],
        attacks=attack(_widest(views), data, beliefs) if attacks else [],
        findings=[*findings, *dict.fromkeys(f for found in views for f in check(found, data))],
        rows=np.arange(data.n) if data.rows is None else data.rows,
        risks=measure_risks(release, data, control) if attacks else [],
        examined=(release, data),
    )


def _open(earlier: Release | str | Path, number: int) -> tuple[str, Release]:
    """Give an earlier release and a name for it."""
    from discreet.release.store import load

    if isinstance(earlier, Release):
        return f"earlier release {number + 1}", earlier
    return str(earlier), load(earlier)


def _widest(views: list[Matches]) -> Matches:
    """The table that shows most."""
    return max(views, key=lambda found: len(found.release.schema.quasi_identifiers))


def _check(
    views: list[Matches],
    told: dict[str, list[Posterior]],
    principle: Principle | None,
    n: int,
    adversary: Adversary,
) -> tuple[list[Check], Bools]:
    """Count the people for whom each part of a principle fails, in any table."""
    checks, breached = [], np.zeros(n, dtype=bool)
    for part, name in demands(principle, adversary.sensitive) if principle else ():
        failing = np.full(n, name in adversary.certain)
        for view in told.get(name, []) if name is not None else []:
            try:
                failing |= view.fails(part)
            except SchemaError:  # it was never promised of this one, and does not hold for it
                if name not in adversary.added:
                    raise
                failing[:] = True
        for found in views if name is None or part.look_alikes > 1 else []:
            good = found.view.hides(part, found)
            failing |= (found.set_of >= 0) & ~good[found.set_of]
        said = views[0].view.word_check(part)
        checks.append(Check(part, name, int(failing.sum()), said))
        breached |= failing
    return checks, breached


def _check_links(
    release: Release,
    found: Matches,
    parts: tuple[Principle, ...],
    tables: Sequence[Release],
) -> tuple[list[Check], Bools, list[str]]:
    """Count the people in classes of which some X-group of the join breaks a principle."""
    if not tables:
        raise SchemaError(
            f"{parts[0]} is about joins: the earlier releases are needed to examine it.",
            hint="Give them: earlier=[...], on the command line --earlier FOLDER.",
        )
    checks, breached = [], np.zeros(len(found.set_of), dtype=bool)
    findings: dict[str, None] = {}
    for part in parts:
        assert isinstance(part, Linking)
        groups, owners, lost = list_x_groups(
            release, found.view.table, found.view.labels, tables, part
        )
        if any(lost):
            findings[
                f"{lost[0]} records match nobody in the earlier releases given, and "
                f"{sum(lost[1:])} of theirs nobody here: these are not releases of the same people"
            ] = None
        if groups is None:
            continue
        bad = np.flatnonzero(~part.admits(groups))
        broken = np.isin(found.group_of, owners[np.isin(owners[:, 0], bad), 1])
        checks.append(Check(part, None, int(broken.sum()), str(part)))
        breached |= broken
    return checks, breached, list(findings)


def _believe(
    told: dict[str, list[Posterior]],
) -> tuple[dict[str, Floats], dict[str, Floats], Fraction | None]:
    """Measure the largest belief in any value, and in the true one, from the most telling table."""
    beliefs, truths, worst = {}, {}, None
    for name, views in told.items():
        beliefs[name] = np.maximum.reduce([view.largest() for view in views])
        truths[name] = np.maximum.reduce([view.truths() for view in views])
        worst = max(worst or Fraction(0), *(view.worst() for view in views))
    return beliefs, truths, worst


def _refuse_other_table(release: Release, data: Microdata) -> None:
    for attribute in release.schema:
        if attribute.name not in data.codes:
            raise SchemaError(
                f"The release publishes {attribute.name!r}, which this microdata does not have.",
                hint=name_closest(attribute.name, list(data.codes)),
            )
        ours = data.schema[attribute.name]
        if not ours.reads_like(attribute):
            raise SchemaError(
                f"Column {attribute.name!r} is {ours.type} here and {attribute.type} in the "
                "release, or differs in its decimals or order.",
                hint="Read the microdata under the release's own schema: "
                "dc.read(file, release.schema).",
            )
        refuse_other_coarsening(ours, attribute, "this microdata")


def _find_preset(name: str) -> Preset:
    if name not in PRESETS:
        raise SchemaError(f"There is no preset {name!r}.", hint=name_closest(name, list(PRESETS)))
    return PRESETS[name]


def _spread(found: Matches, per_set: NDArray[Any]) -> NDArray[Any]:
    """Give everybody what their candidate set has; 0 to those without."""
    return np.where(found.set_of >= 0, per_set[found.set_of], 0)


__all__ = ["PRESETS", "Attack", "AuditReport", "Check", "IdentityRisk", "Preset", "audit"]
