"""Merging: what was found of the parts of a release, as one report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from discreet.auditing import AuditReport, Check
from discreet.auditing.counted import Counted
from discreet.auditing.earlier_in_parts import DisclosedPart
from discreet.auditing.grounds import WORST, Grounds
from discreet.auditing.identity import measure_identity
from discreet.auditing.kept_columns import KeptColumns
from discreet.auditing.nearness import Nearness, Reach
from discreet.errors import SchemaError
from discreet.evaluate.loss import Loss
from discreet.forms.consistency import OwnValues, UsedValues
from discreet.forms.exposure import JoinedCells
from discreet.forms.posterior import add_bounded
from discreet.table.arrays import Floats, Ints

NOTE = "it was audited in parts: how well membership is hidden was not measured"


@dataclass(frozen=True, eq=False)
class ScatteredValues:
    """What people have of groups whose records are in several parts."""

    own: OwnValues
    used: UsedValues | None


@dataclass(frozen=True, eq=False)
class PartFindings:
    """What the audit of a part found."""

    report: AuditReport | None
    """``None`` where it covers nobody."""
    records: int
    groups: int
    rows: Ints
    """The rows of the people whom it covers."""
    scattered: ScatteredValues | None = None
    """What of it has to be added up over all parts, where groups are in several."""
    disclosed: DisclosedPart | None = None
    """What it discloses, to be held against earlier releases."""


def rank_explained(people: Sequence[Grounds]) -> list[Grounds]:
    """Give those who are worst off, and number them anew."""
    ranked = sorted(people, key=lambda one: (-_find_worst(one), one.candidates))
    return [replace(one, person=f"Person {i + 1}") for i, one in enumerate(ranked[:WORST])]


def _find_worst(one: Grounds) -> float:
    return max(one.beliefs.values(), default=0.0)


def put_together(report: AuditReport, known: Sequence[Grounds]) -> AuditReport:
    """Put people together who are alike in all that was found of them.

    Why those are at risk who are worst off is asked unless all of some others are as badly off.
    """
    least = _find_worst(known[-1]) if len(known) == WORST else -1.0
    explained = report.worst_explained if float(report.worst or 0) > least else []
    columns: dict[str, Any] = {"candidates": report.candidates, "breached": report.breached}
    columns |= {} if report.joined is None else {"joined": report.joined.people}
    columns |= {f"belief {name}": belief for name, belief in report.beliefs.items()}
    columns |= {f"truth {name}": truth for name, truth in report.truths.items()}
    kinds = pl.DataFrame(columns)
    kinds = kinds.group_by(kinds.columns).len("times")
    joined = report.joined
    if joined is not None:
        joined = replace(joined, people=kinds["joined"].to_numpy())
    return replace(
        report,
        candidates=kinds["candidates"].to_numpy(),
        breached=kinds["breached"].to_numpy(),
        beliefs={name: kinds[f"belief {name}"].to_numpy() for name in report.beliefs},
        truths={name: kinds[f"truth {name}"].to_numpy() for name in report.truths},
        times=kinds["times"].to_numpy().astype(np.int64),
        joined=joined,
        explained=explained,
        proximity={
            name: replace(near, risks=np.zeros(0)) for name, near in report.proximity.items()
        },
        examined=None,
    )


def merge(found: Sequence[PartFindings], n: int, uncovered: int, twice: int) -> AuditReport:
    """Put what was found of all parts of a table of ``n`` people into one report.

    So many of them no part covers, and so many are covered twice.
    """
    reports = [part.report for part in found if part.report is not None]
    if not reports:
        raise SchemaError(
            "No published group covers anybody in this microdata.",
            hint="Give the table the release was made from.",
        )
    first = reports[0]
    times = np.concatenate([_times(report) for report in reports])
    candidates = np.concatenate([report.candidates for report in reports])
    identity = measure_identity(candidates[candidates > 0], None, times[candidates > 0])
    overlap = f"boxes overlap: {twice} people are covered by more than one group"
    findings = [overlap] if twice else []
    findings += dict.fromkeys(finding for report in reports for finding in report.findings)
    worst = max((r.worst for r in reports if r.worst is not None), default=None)
    empty = [part for part in found if part.report is None]
    if empty:
        findings.append(f"{sum(part.groups for part in empty)} groups cover nobody")
    return replace(
        first,
        people=n,
        rows_read=n,
        records=sum(part.records for part in found),
        groups=sum(part.groups for part in found),
        checks=_merge_checks([report.checks for report in reports]),
        identity=identity,
        crowd=min(reports, key=lambda r: r.identity.smallest).crowd,
        presets={name: all(r.presets[name] for r in reports) for name in first.presets},
        beliefs=_join([report.beliefs for report in reports]),
        truths=_join([report.truths for report in reports]),
        how={name: add_bounded([r.how[name] for r in reports]) for name in first.how},
        candidates=candidates,
        breached=np.concatenate([report.breached for report in reports]),
        worst=worst,
        loss=_merge_losses([report.loss for report in reports], [r.records for r in reports]),
        proximity=_merge_nearness([report.proximity for report in reports],
                                  [r.people for r in reports]),
        kept_columns=_merge_kept([report.kept_columns for report in reports], n),
        notes=[*dict.fromkeys(note for report in reports for note in report.notes), NOTE],
        findings=findings,
        uncovered=uncovered,
        joined=_merge_joined([report.joined for report in reports], times),
        counted=_merge_counted([report.counted for report in reports]),
        times=times,
        explained=rank_explained([one for r in reports for one in r.explained or []]),
    )  # fmt: skip


def _times(report: AuditReport) -> Ints:
    assert report.times is not None
    return report.times


def _join(parts: Sequence[dict[str, Floats]]) -> dict[str, Floats]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _merge_checks(parts: Sequence[list[Check]]) -> list[Check]:
    return [
        replace(checks[0], breaches=sum(check.breaches for check in checks))
        for checks in zip(*parts, strict=True)
    ]


def _merge_losses(losses: Sequence[Loss], records: Sequence[int]) -> Loss:
    per_attribute = {
        name: float(np.average([loss.per_attribute[name] for loss in losses], weights=records))
        for name in losses[0].per_attribute
    }
    groups = sum(n / loss.average_class_size for n, loss in zip(records, losses, strict=True))
    return Loss(
        ncp=float(np.mean(list(per_attribute.values()))),
        per_attribute=per_attribute,
        discernibility=sum(loss.discernibility for loss in losses),
        average_class_size=sum(records) / round(groups),
    )


def _merge_nearness(
    parts: Sequence[dict[str, Nearness]], people: Sequence[int]
) -> dict[str, Nearness]:
    def merge_reach(reaches: Sequence[Reach]) -> Reach:
        return replace(
            reaches[0],
            worst=max(reach.worst for reach in reaches),
            mean=float(np.average([reach.mean for reach in reaches], weights=people)),
            mixed=max(reach.mixed for reach in reaches),
        )

    found = {}
    for name, near in parts[0].items():
        others = [part[name] for part in parts]
        curve = tuple(merge_reach(r) for r in zip(*(o.curve for o in others), strict=True))
        promised = [o.promised for o in others if o.promised is not None]
        found[name] = replace(
            near, curve=curve, promised=merge_reach(promised) if promised else None
        )
    return found


def _merge_kept(parts: Sequence[KeptColumns | None], n: int) -> KeptColumns | None:
    kept = [part for part in parts if part is not None]
    if not kept:
        return None
    unique = {name: sum(part.unique[name] for part in kept) for name in kept[0].unique}
    return KeptColumns(n, unique, sum(part.with_known for part in kept))


def _merge_joined(parts: Sequence[JoinedCells | None], times: Ints) -> JoinedCells | None:
    joined = [part for part in parts if part is not None]
    if not joined:
        return None
    return JoinedCells(
        np.concatenate([part.people for part in joined]),
        max(part.worst for part in joined),
        add_bounded([part.how for part in joined]),
        times,
    )


def _merge_counted(parts: Sequence[Counted | None]) -> Counted | None:
    counted = [part for part in parts if part is not None]
    if not counted:
        return None
    names = counted[0].beliefs
    most: dict[str, Fraction] = {n: max(part.beliefs[n] for part in counted) for n in names}
    return Counted(counted[0].left_out, most)
