"""The audit as plain values and as a page for people."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.auditing.grounds import Grounds
from discreet.auditing.identity import PRESETS
from discreet.pages import render_page
from discreet.release.explanation import Explanation
from discreet.release.store import digest_release
from discreet.table.arrays import Floats, Ints

if TYPE_CHECKING:
    from discreet.auditing import AuditReport

ROUNDING = 1e-12
"""A belief so little above a bound is one that was rounded."""


def summarize(report: AuditReport) -> dict[str, Any]:
    """Give all findings as values that JSON can hold."""
    identity = report.identity
    return {
        "kept": report.kept,
        "problems": report.problems,
        "reach": report.reach,
        "people": report.people,
        "rows": None if report.several is None else report.several.to_dict(),
        "records": report.records,
        "left_out": report.left_out,
        "groups": report.groups,
        "breaches": report.breaches,
        "max_belief": report.max_belief,
        "counted": None if report.counted is None else report.counted.to_dict(),
        "beliefs_found": report.how,
        "mean_belief": {n: _average(b, report.times) for n, b in report.beliefs.items()},
        "mean_belief_in_truth": {n: _average(t, report.times) for n, t in report.truths.items()},
        "checks": [
            {
                "principle": check.said,
                "attribute": check.attribute,
                "breaches": check.breaches,
            }
            for check in report.checks
        ],
        "identity": {
            "smallest_group": identity.smallest,
            "prosecutor": float(identity.prosecutor),
            "marketer": float(identity.marketer),
            "population": report.population[0].population if report.population else None,
            "journalist": report.population[0].largest if report.population else None,
            "seen_from_population": [risk.to_dict() for risk in report.population],
        },
        "presets": report.presets,
        "joined": None
        if report.joined is None
        else {
            "smallest_cell": report.joined.smallest,
            "people_alone": report.joined.alone,
            "max_belief": report.joined.max_belief,
            "found": report.joined.how,
        },
        "membership": None if report.membership is None else report.membership.to_dict(),
        "presence": None if report.presence is None else report.presence.to_dict(),
        "kept_columns": None if report.kept_columns is None else report.kept_columns.to_dict(),
        "with_earlier": [made.to_dict() for made in report.composed],
        "notes": report.notes,
        "attacks": [vars(attack) for attack in report.attacks],
        "risks": [risk.to_dict() for risk in report.risks],
        "method_known": None if report.method_known is None else report.method_known.to_dict(),
        "cautions": report.cautions,
        "worst_explained": [grounds.to_dict() for grounds in report.worst_explained],
        "proximity": {name: near.to_dict() for name, near in report.proximity.items()},
        "loss": {
            "ncp": report.loss.ncp,
            "per_attribute": report.loss.per_attribute,
            "discernibility": report.loss.discernibility,
            "average_class_size": report.loss.average_class_size,
            "sensitive": {name: loss.to_dict() for name, loss in report.sensitive_loss.items()},
        },
        "not_protected": list(report.promise.leaves_open),
        "withstands": report.withstands,
    }


@dataclass(frozen=True)
class Subject:
    """Which release was audited, against which table."""

    release: str
    digest: str
    """Of all its files."""
    source: str

    @staticmethod
    def of(folder: Path, source: Path, name: str | None = None) -> Subject:
        """Name a folder, or the place that it is a draft for, and a file."""
        return Subject(name or folder.name, digest_release(folder), source.name)


def render_html(
    report: AuditReport,
    how: Explanation | None,
    *,
    subject: Subject | None = None,
    rows: int = 0,
) -> str:
    """Make the page; it loads nothing from anywhere."""
    sampled = sample_rows(report, rows)
    return render_page("report.html", how=how, sampled=sampled, **_tell(report, subject))


def render_findings(report: AuditReport, *, subject: Subject | None = None) -> str:
    """Make the part of the page that says what was found, to be shown on another one."""
    return render_page("report_findings.html", whole=False, **_tell(report, subject))


def _tell(report: AuditReport, subject: Subject | None) -> dict[str, Any]:
    """Give what the page shows of an audit."""
    from discreet import __version__

    losses = sorted(report.loss.per_attribute.items(), key=lambda item: -item[1])
    return {
        "report": report,
        "subject": subject,
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "version": __version__,
        "release": None if report.examined is None else report.examined[0],
        "found": summarize(report),
        "presets": {name: PRESETS[name].meaning for name in report.presets},
        "beliefs": {
            name: _belief_bars(belief, report.times) for name, belief in report.beliefs.items()
        },
        "sizes": _size_bars(report.candidates, report.times),
        "losses": [
            {"label": name, "share": share, "text": f"{share:.1%}"} for name, share in losses
        ],
    }


def sample_rows(report: AuditReport, count: int) -> list[tuple[dict[str, str], Grounds]]:
    """Draw people: what the microdata says of each, and what may be theirs in the release."""
    if report.examined is None or not count:
        return []
    release, data = report.examined
    numbers = SystemRandom().sample(range(report.people), min(count, report.people))
    rows = report.rows[numbers]
    places = numbers if data.persons is None else data.persons.first[numbers].tolist()
    names = [name for name in release.schema.names if name in data.codes]
    return [
        ({name: data.domains[name].texts[data.codes[name][place]] for name in names},
         report.explain(int(row)))
        for place, row in zip(places, rows, strict=True)
    ]  # fmt: skip


def _average(belief: Floats, times: Ints | None) -> float:
    return float(np.average(belief, weights=times))


def _belief_bars(belief: Floats, times: Ints | None) -> list[dict[str, Any]]:
    """Count people by belief, in tenths with their upper ends, as promises say at most; and 1."""
    tenths = np.array([i / 10 for i in range(1, 10)])  # as exactly as 3/10 is itself
    place = np.where(belief >= 1, 10, np.searchsorted(tenths, belief - ROUNDING))
    counts = np.bincount(place, weights=times, minlength=11).astype(np.int64)
    names = ["up to 10 %", *(f"{10 * i} to {10 * i + 10} %" for i in range(1, 9)), "above 90 %"]
    return _bars([*names, "certain"], counts)


def _size_bars(candidates: Ints, times: Ints | None) -> list[dict[str, Any]]:
    """Count people by the size of their candidate set, in steps that double."""
    edges = [1, 2, 3, 5, 10, 20, 50, 100, 1000]
    names = [f"{low}" if high == low + 1 else f"{low}–{high - 1}" for low, high in pairwise(edges)]
    edges_to_last = [*edges, max(edges[-1], int(candidates.max())) + 1]
    counts = np.histogram(candidates, edges_to_last, weights=times)[0]
    return _bars([*names, f"{edges[-1]} or more"], counts)


def _bars(labels: list[str], counts: NDArray[np.integer]) -> list[dict[str, Any]]:
    most, total = max(int(counts.max()), 1), max(int(counts.sum()), 1)
    return [
        {"label": label, "share": int(count) / most, "text": f"{count:,} ({count / total:.1%})"}
        for label, count in zip(labels, counts, strict=True)
    ]
