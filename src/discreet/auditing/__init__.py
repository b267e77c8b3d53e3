"""Audit: what an adversary may believe about each person, from the published tables.

The auditor shares with the publisher only ``Groups`` and the principles. It reads the release,
matches it with the microdata, and asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from pathlib import Path

import numpy as np

from discreet.auditing.attacks import Attack, attack
from discreet.auditing.checks import check_links, check_parts
from discreet.auditing.claims import find_false_claims
from discreet.auditing.composition import compose, note_possible
from discreet.auditing.counted import find_counted
from discreet.auditing.findings import AuditReport
from discreet.auditing.identity import PRESETS, IdentityRisk, Preset, measure_identity
from discreet.auditing.joined import Check, find_alone, join_tables
from discreet.auditing.kept_columns import count_kept
from discreet.auditing.members import measure_membership
from discreet.auditing.nearness import measure_nearness
from discreet.auditing.people import (
    Beliefs,
    Crowd,
    believe_people,
    count_several,
    find_miscounted,
    near_people,
)
from discreet.auditing.population_table import see_population
from discreet.auditing.risks import measure_risks, refuse_members
from discreet.auditing.roles import unite_roles
from discreet.auditing.turnover import note_turnover
from discreet.errors import SchemaError, name_closest
from discreet.forms import View, find_form
from discreet.forms.adversaries import Adversary
from discreet.forms.consistency import check
from discreet.forms.matches import Matches
from discreet.forms.posterior import Posterior
from discreet.forms.wording import resists_method
from discreet.principles.base import Principle, part_joins
from discreet.release import Release
from discreet.table.coarsening import refuse_other_coarsening
from discreet.table.coded_table import CodedTable
from discreet.table.finer import refuse_means
from discreet.table.microdata import Microdata
from discreet.table.schema import Schema

OWN = "this release"


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

    It is about people: where the microdata says by a key whose rows are whose, what is found of
    rows is said of those who have them. ``release`` is a loaded release or its folder. The promise
    examined is the release's own, or the given ``principle``. ``population`` is the number of
    people the table is a sample of, from which it is estimated what is told to who knows only them;
    ``population_data`` is a table of them, by which that and who must be in it are counted;
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

    release, findings = _load(release)
    refuse_other_table(release, data)
    if control is not None:
        refuse_other_table(release, control)
        refuse_means(control)
        refuse_members(data, control)
    wanted = [_find_preset(name) for name in presets or []]
    adversary = unite_roles(release, data, schema)
    views = [view.match(data) for view in adversary.release.views]
    covered = np.logical_and.reduce([found.set_of >= 0 for found in views])
    false, unchecked = find_false_claims(release, data, covered)
    findings += [*adversary.conflicts, *false]
    if not covered.any():
        raise SchemaError(
            "No published group covers anybody in this microdata.",
            hint="Give the table the release was made from.",
        )
    before = open_earlier(earlier)
    # what takes most memory comes first, and what is kept of everybody last
    inconsistent = list(dict.fromkeys(f for found in views for f in check(found, data)))
    membership, loss = measure_membership(views, data), weigh_loss(data, *release.views)
    persons = data.persons
    crowds = [Crowd(found, persons) for found in views]
    candidates = adversary.limit_candidates([crowd.count for crowd in crowds], data)
    told = {
        name: [found.view.posterior(found, data, name) for found in views if found.tells(name)]
        for name in adversary.told
    }
    judged = principle or release.promise.asked
    alone, linkings = part_joins(judged)
    checks, breached = check_parts(crowds, told, alone, adversary, data)
    findings += find_miscounted(release, checks, crowds, persons)
    if linkings:
        linked, broken, lost = check_links(
            adversary.release, views[0], linkings, [r for _, r in before], data
        )
        checks, breached = [*checks, *linked], breached | broken
        findings += lost
    composed, notes = note_possible(*compose(adversary.release, data, before, OWN))
    joined = join_tables(views, told, data)
    if joined is not None:
        candidates = np.minimum(candidates, joined.people)
        breached |= find_alone(checks, joined, release.promise.asked)
    presence, seen = see_population(views, data, candidates, population, population_data)
    beliefs, truths, worst, how = by_row = _believe(told)
    proximity = measure_nearness(told, data, alone)
    several = None
    if persons is not None:
        several = count_several(persons, crowds)
        beliefs, truths, worst, how = believe_people(told, persons)
        proximity = near_people(proximity, persons)
        candidates, breached = persons.fold_least(candidates), persons.fold_any(breached)
    identity = measure_identity(candidates, None if several is None else several.dominant)
    for name in adversary.certain:
        beliefs[name] = truths[name] = np.ones(data.people)
        worst, how[name] = Fraction(1), "as an upper bound: it is taken for told"
    kept_columns = count_kept(release, data)
    crowd = views[0].view.describe_crowd(identity.smallest)
    return AuditReport(
        people=data.people,
        rows_read=data.n,
        records=_count_records(views[0].view, data),
        groups=release.views[0].count,
        promise=release.promise,
        judged=judged,
        checks=checks,
        identity=identity,
        crowd=crowd if kept_columns is None else f"{crowd}, by quasi-identifiers alone",
        presets={
            preset.name: preset.admits(identity.fewest, views[0].view.smallest_count)
            for preset in wanted
        },
        beliefs=beliefs,
        truths=truths,
        how=how,
        candidates=candidates,
        breached=breached,
        worst=worst,
        loss=loss,
        proximity=proximity,
        joined=joined,
        membership=membership,
        presence=presence,
        population=seen,
        kept_columns=kept_columns,
        composed=composed,
        notes=[
            *filter(None, [find_form(release.form).beliefs]),
            *(note for found in views for note in found.view.list_notes(data)),
            *adversary.notes,
            *unchecked,
            *notes,
            *note_turnover(release, before),
        ],
        attacks=attack(_widest(views), data, by_row[0]) if attacks else [],
        findings=[*findings, *inconsistent],
        several=several,
        left_out=release.left_out,
        uncovered=int((~covered).sum()),
        risks=measure_risks(release, data, control) if attacks else [],
        counted=find_counted(told, judged, adversary.certain, persons),
        withstands=_list_withstood(release, [held for _, held in before]),
        examined=(release, data),
    )


def _list_withstood(release: Release, before: Sequence[Release]) -> dict[str, str]:
    """Say against whom a promise holds; who knows the method knows it of earlier releases, too."""
    told = dict(find_form(release.form).list_withstood(release))
    if any(resists_method(held.parameters) for held in before):
        told.pop(Adversary.METHOD, None)
    return {str(one): limit for one, limit in told.items()}


def _load(release: Release | str | Path) -> tuple[Release, list[str]]:
    """Give a release, and what is wrong with its folder, if it lies in one."""
    from discreet.release.store import find_rewritten, find_strangers, load

    if isinstance(release, Release):
        return release, []
    folder, loaded = Path(release), load(release)
    findings = [
        f"the folder holds {name}, which the manifest does not list"
        for name in find_strangers(folder)
    ]
    return loaded, [*findings, *find_rewritten(folder, loaded)]


def open_earlier(earlier: Sequence[Release | str | Path]) -> list[tuple[str, Release]]:
    """Give earlier releases, each with a name for it."""
    from discreet.release.store import load

    return [
        (f"earlier release {number + 1}", held)
        if isinstance(held, Release)
        else (str(held), load(held))
        for number, held in enumerate(earlier)
    ]


def _count_records(view: View, data: Microdata) -> int:
    """Count the records that are somebody's; of a table of counts all people."""
    if not find_form(view.release.form).shows_people:
        return data.n
    return view.table.height - int(view.counterfeits.sum())


def _widest(views: list[Matches]) -> Matches:
    """The table that tells of most sensitive values, and of these that shows most."""
    return max(views, key=lambda found: found.view.width)


def _believe(told: dict[str, list[Posterior]]) -> Beliefs:
    """Measure the largest belief in any value, and in the true one, from the most telling table."""
    beliefs, truths, worst = {}, {}, None
    how = {name: max((view.how for view in views), key=len) for name, views in told.items()}
    for name, views in told.items():
        truths[name] = reduce(np.maximum, (view.truths() for view in views))
        beliefs[name] = reduce(np.maximum, (view.largest() for view in views))
        worst = max(worst or Fraction(0), *(view.worst() for view in views))
    return beliefs, truths, worst, how


def refuse_other_table(release: Release, data: CodedTable) -> None:
    """Refuse microdata that lacks what a release shows, or was read otherwise."""
    for attribute in release.schema:
        if attribute.name not in data.domains:
            raise SchemaError(
                f"The release publishes {attribute.name!r}, which this microdata does not have.",
                hint=name_closest(attribute.name, list(data.domains)),
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


__all__ = ["PRESETS", "Attack", "AuditReport", "Check", "IdentityRisk", "Preset", "audit"]
