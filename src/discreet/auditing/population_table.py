"""Population risk of a release: counted in a table of the population, else estimated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil

import numpy as np

from discreet.auditing.people import Crowd
from discreet.auditing.population import PopulationRisk, estimate_population, report_risks
from discreet.auditing.presence import Presence, measure_presence
from discreet.errors import SchemaError
from discreet.forms.matches import Matches
from discreet.table.arrays import Floats, Ints
from discreet.table.microdata import Microdata
from discreet.table.weights import Weights

ASSUMED = (
    "that nothing but how people look tells which of several groups they are in, and whether they "
    "are in the table"
)


ROW_BY_ROW = "; and that rows of one person are not put together"


def see_population(
    views: Sequence[Matches],
    data: Microdata,
    candidates: Ints,
    size: int | None,
    population: Microdata | None,
) -> tuple[Presence | None, list[PopulationRisk]]:
    """Say who of a population is in the table, and how well records are put down to people of it.

    ``candidates`` are those of the table, row by row; ``size`` is how many the population has. Rows
    that have weights say that themselves.
    """
    if population is not None:
        presence = measure_presence(views, data, population)
        counted = count_population(views, data, population, presence, candidates)
        if size is not None and size != counted.population:
            raise SchemaError(
                f"The population is said to be {size:,} people, and its table has "
                f"{counted.population:,}.",
                hint="Give the table of everybody, and leave the number out.",
            )
        return presence, [counted]
    people = candidates if data.persons is None else data.persons.fold_least(candidates)
    covered = people > 0
    found = []
    if data.weights is not None:
        totals, count = _add_weights(views, data, data.weights, people, size)
        found = estimate_population(people[covered], count, totals[covered])
    elif size is not None:
        found = estimate_population(people[covered], size)
    if data.persons is not None:
        found = [replace(risk, assumes=f"{risk.assumes}{ROW_BY_ROW}") for risk in found]
    return None, found


def _add_weights(
    views: Sequence[Matches], data: Microdata, weights: Weights, people: Ints, size: int | None
) -> tuple[Floats, int]:
    """Give, for everybody, how many their look-alikes stand for by weights, and for how many all.

    Everybody's look-alikes are taken to weigh as much as those do, on average, who look the same in
    a table; by the table in which that is least. Weights are scaled to add up to ``size`` if that
    is said. Nobody stands for less than themselves.
    """
    averages = [weights.average(_find_place(found)) for found in views]
    average: Floats = np.asarray(np.minimum.reduce(averages), dtype=np.float64)
    total = weights.total
    if data.persons is not None:
        average = data.persons.fold_min(average)
        each = data.persons.fold_min(weights.units)
        total = Weights(each, weights.decimals).total
    scale = 1.0 if size is None else float(size / total)
    count = max(ceil(total), len(people)) if size is None else size
    return people * average * scale, count


def _find_place(found: Matches) -> Ints:
    """Number people who look the same: by the group they are in, if it can be only one."""
    if not found.pools_groups or not found.count:
        return found.set_of
    several = np.append(found.only < 0, False)[found.set_of]
    group = np.append(found.only, -1)[found.set_of]
    return np.where(several, found.view.count + found.set_of, group)


def count_population(
    views: Sequence[Matches],
    data: Microdata,
    population: Microdata,
    presence: Presence,
    candidates: Ints,
) -> PopulationRisk:
    """Count, for everybody in the table, the people of the population who look the same.

    The journalist believes that somebody is in
    the table with b, and that one of f records is theirs with b/f: that is 1/F of F who look the
    same, and up to 1/f where it is told who is in it (see ``presence``). Somebody of the population
    who may be in several groups is counted in none, so that F is never too large; and where tables
    are joined, or records are in pieces, nobody is taken to be hidden among more than f.
    """
    alone = np.min([Crowd(found, data.persons).count for found in views], axis=0)
    counted = [_count_alike(found, population) for found in views]
    people = np.min([np.maximum(p, alone) for p, _ in counted], axis=0)
    people = np.where(candidates < alone, candidates, people)
    covered = candidates > 0
    sizes = np.maximum(candidates, 1)
    risks = np.maximum(1 / np.maximum(people, 1), presence.believed / sizes)
    risks = np.minimum(risks, 1 / sizes)
    bounded = bool((risks[covered] == 1 / sizes[covered]).all())
    settled = presence.exact and all(clear for _, clear in counted)
    exact = data.persons is None and population.persons is None and (bounded or settled)
    if data.persons is not None:
        risks = -data.persons.fold_min(-risks)
        people = data.persons.fold_min(people)
        candidates = data.persons.fold_least(candidates)
        covered = candidates > 0
    return report_risks(
        "counted in a table of it",
        "" if exact else ASSUMED if data.persons is None else f"{ASSUMED}{ROW_BY_ROW}",
        population.people,
        candidates[covered],
        risks[covered],
        float(((candidates == 1) & (people == 1)).sum()),
        counted=True,
    )


def _count_alike(found: Matches, population: Microdata) -> tuple[Ints, bool]:
    """Count people of a population per row of the table, and say whether each is in one place."""
    theirs = found.view.match(population)
    if not found.pools_groups:
        place, own = np.append(theirs.first, -1)[theirs.set_of], found.first
        where = _count_people(place, found.view.table.height, population)[own]
    elif found.alike is not None:
        return np.zeros(len(found.set_of), dtype=np.int64), False
    else:
        place = np.append(theirs.only, -1)[theirs.set_of]
        lone = _count_people(place, found.view.count, population)[found.groups]
        where = np.minimum.reduceat(lone, found.offsets[:-1])
    clear = bool((np.append(theirs.sizes <= 1, True)[theirs.set_of]).all())
    return np.append(where, 0)[found.set_of], clear or not found.pools_groups


def _count_people(place: Ints, places: int, population: Microdata) -> Ints:
    if population.persons is not None:
        return population.persons.count_units(place, places)
    return np.bincount(place[place >= 0], minlength=places)
