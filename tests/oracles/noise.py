"""All worlds of tables with noise: numbers that were drawn, and numbers that were exchanged.

Nothing of the project is used but what it is asked: to publish a table and to audit it. The
adversary knows everybody's quasi-identifiers, the numbers of the whole table and the method, and
reads the whole release.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import permutations
from math import comb, factorial
from random import Random

import polars as pl

import discreet as dc

Belief = dict[int, Fraction]
Tally = dict[str, int | float]
ROUNDING = 1e-9
"""What floats of a report may lack, being floats."""


def run_perturbed(tables: int, seed: int) -> Tally:
    """Tables of 4 to 6 people; a promise is broken if any world's reader believes more than 1/m."""
    return _run(_perturb, tables, seed)


def run_swapped(tables: int, seed: int) -> Tally:
    """Tables of 4 or 5 people; a promise is broken if fewer numbers than k, or nearer than e, are
    possible for anybody."""
    return _run(_swap, tables, seed)


Case = tuple[dc.Release, dc.Microdata, list[Belief], list[int], int, bool]
"""A release, the table, beliefs per person by worlds, true numbers, ε, whether the promise holds.
"""


def _run(make: Callable[[Random], Case | None], tables: int, seed: int) -> Tally:
    rng = Random(seed)
    tally: Tally = {"tables": 0, "refused": 0, "under": 0, "over": 0, "broken": 0, "silent": 0}
    farthest = 0.0
    while tally["tables"] < tables:
        case = make(rng)
        if case is None:
            tally["refused"] += 1
            continue
        release, data, beliefs, pays, epsilon, kept = case
        report = dc.audit(release, data)
        gaps = list(_compare(report, beliefs, pays, epsilon))
        tally["tables"] += 1
        tally["under"] += int(min(gaps) < -ROUNDING)
        tally["over"] += int(max(gaps) > 1e-6)
        tally["broken"] += not kept
        tally["silent"] += not kept and report.kept
        farthest = max(farthest, *map(float, gaps))
    return {**tally, "farthest": farthest}


def _compare(
    report: dc.AuditReport, beliefs: list[Belief], pays: list[int], epsilon: int
) -> Iterator[float]:
    """By how much the report exceeds the worlds: any number, one's own, one near to one's own."""
    for person, belief in enumerate(beliefs):
        near = sum(share for v, share in belief.items() if abs(v - pays[person]) <= epsilon)
        yield report.beliefs["pay"][person] - float(max(belief.values()))
        yield report.truths["pay"][person] - float(belief.get(pays[person], 0))
        yield report.proximity["pay"].risks[person] - float(near)
    assert report.worst is not None
    yield float(report.worst - max(max(belief.values()) for belief in beliefs))


def _draw(rng: Random, least: int, most: int) -> tuple[list[int], list[int], dc.Microdata]:
    """Draw people, some of whom look alike, and their numbers."""
    n = rng.randint(least, most)
    ages = rng.sample(range(20, 40), n) if rng.random() < 0.7 else rng.choices(range(20, 24), k=n)
    highest = rng.choice([3, 6, 12, 30])
    pays = [rng.randint(1, highest) for _ in range(n)]
    frame = pl.DataFrame({"age": ages, "pay": pays})
    schema = dc.Schema.infer(frame, quasi_identifiers=["age"], sensitive=["pay"])
    return ages, pays, dc.read(frame, schema)


def _look_up(ages: list[int], rows: list[tuple[int, int]], believed: list[Belief]) -> list[Belief]:
    """Of people who look alike each of their records is as likely theirs."""
    found = []
    for age in ages:
        mine = [belief for (look, _), belief in zip(rows, believed, strict=True) if look == age]
        total: Belief = defaultdict(Fraction)
        for belief in mine:
            for value, share in belief.items():
                total[value] += share / len(mine)
        found.append(dict(total))
    return found


def _perturb(rng: Random) -> Case | None:
    ages, pays, data = _draw(rng, 4, 6)
    epsilon, m = rng.choice([0, 0, 1, 2]), rng.choice([2, 2, 3, 4])
    check = rng.choice(["safe", "safe", "paper"])
    method = dc.Perturbation(dc.Proximity(epsilon, m), check=check)  # type: ignore[arg-type]
    try:
        release = dc.publish(data, method, insecure_seed=rng.getrandbits(32))
    except dc.errors.PromiseError:
        return None
    rows: list[tuple[int, int]] = release.tables["perturbed"].select("age", "pay").rows()
    low, high = map(int, release.recodings["pay"].domain)
    size = (high - low) // int(str(release.parameters["step"])) + 1
    retention = Fraction(str(release.parameters["retention"]))
    by_record = believe_drawn([y for _, y in rows], pays, retention, size)
    beliefs = _look_up(ages, rows, by_record)
    near = [
        sum(share for v, share in belief.items() if abs(v - x) <= epsilon)
        for belief in beliefs
        for x in set(pays)
    ]
    kept = check == "paper" or max(near) * m <= 1
    return release, data, beliefs, pays, epsilon, kept


def believe_drawn(
    shown: list[int], pays: list[int], retention: Fraction, size: int
) -> list[Belief]:
    """Weigh every way in which the people of the records may have the numbers of the table.

    Pairs of a record and a number that agree count as often as it is likelier to show one's own.
    """
    other = (1 - retention) / size
    tallies: list[Belief] = [defaultdict(Fraction) for _ in shown]
    total = Fraction(0)
    for world in set(permutations(pays)):
        own = sum(x == y for x, y in zip(world, shown, strict=True))
        weight = (other + retention) ** own * other ** (len(shown) - own)
        total += weight
        for tally, x in zip(tallies, world, strict=True):
            tally[x] += weight
    return [{v: weight / total for v, weight in tally.items()} for tally in tallies]


def believe_by_rooks(
    shown: list[int], pays: list[int], retention: Fraction, size: int
) -> list[Belief]:
    """Give the same of longer tables, by counting how rooks can be placed.

    All ways together are a permanent, of a matrix that is constant but where a record shows the
    number; it is expanded by which of these are taken.
    """
    other = (1 - retention) / size
    held, seen = Counter(pays), Counter(shown)
    whole = _count_ways(held, seen, retention, other)
    chances = {
        (y, x): (other + (retention if x == y else 0))
        * held[x]
        * _count_ways(held - Counter([x]), seen - Counter([y]), retention, other)
        / whole
        for y in seen
        for x in held
    }
    return [{x: chances[y, x] for x in held} for y in shown]


def _count_ways(
    held: Counter[int], seen: Counter[int], retention: Fraction, other: Fraction
) -> Fraction:
    product = [1]
    for x in held:
        c, r = held[x], seen[x]
        rooks = [comb(c, j) * comb(r, j) * factorial(j) for j in range(min(c, r) + 1)]
        longer = [0] * (len(product) + len(rooks) - 1)
        for i, a in enumerate(product):
            for j, b in enumerate(rooks):
                longer[i + j] += a * b
        product = longer
    n = held.total()
    terms = (
        ways * retention**m * other ** (n - m) * factorial(n - m) for m, ways in enumerate(product)
    )
    return sum(terms, Fraction(0))


def _swap(rng: Random) -> Case | None:
    ages, pays, data = _draw(rng, 4, 5)
    k, e = rng.choice([1, 2, 2, 3]), rng.choice([0, 1, 2, 5])
    try:
        swapping = dc.RankSwapping(dc.KE(k, e))
        release = dc.publish(data, swapping, insecure_seed=rng.getrandbits(32))
    except dc.errors.PromiseError:
        return None
    rows: list[tuple[int, int]] = release.tables["swapped"].select("age", "pay").rows()
    beliefs = _look_up(ages, rows, believe_swapped([y for _, y in rows], k, e))
    kept = all(len(belief) >= k and max(belief) - min(belief) >= e for belief in beliefs)
    return release, data, beliefs, pays, 0, kept


def believe_swapped(shown: list[int], k: int, e: int) -> list[Belief]:
    """Weigh every way in which people may have had ranks, and have exchanged their numbers."""
    numbers = sorted(shown)
    n = len(numbers)
    ways = pair_up(tuple(seek_windows(numbers, k, e)))
    tallies: list[Belief] = [defaultdict(Fraction) for _ in shown]
    total = Fraction(0)
    for ranks in permutations(range(n)):
        for partner, weight in ways:
            if all(numbers[partner[r]] == y for r, y in zip(ranks, shown, strict=True)):
                total += weight
                for tally, r in zip(tallies, ranks, strict=True):
                    tally[numbers[r]] += weight
    return [{v: weight / total for v, weight in tally.items()} for tally in tallies]


def seek_windows(numbers: list[int], k: int, e: int) -> Iterator[frozenset[int]]:
    """Give, per rank, the ranks among which a partner is sought.

    As many below the people of the same number as above, the fewest that have k numbers over e; and
    with a rank all that have its number.
    """
    n = len(numbers)
    for x in numbers:
        first, last = numbers.index(x), n - 1 - numbers[::-1].index(x)
        for reach in range(n):
            near = numbers[max(first - reach, 0) : last + reach + 1]
            if len(set(near)) >= k and near[-1] - near[0] >= e:
                break
        yield frozenset(r for r in range(n) if near[0] <= numbers[r] <= near[-1])


@cache
def pair_up(
    windows: tuple[frozenset[int], ...],
) -> list[tuple[tuple[int, ...], Fraction]]:
    """Give every way to pair ranks, with its probability.

    Whoever is next, of those without a partner all equally likely, takes one of the others without
    in the window, or stays alone, all equally likely.
    """
    ways: Counter[tuple[int, ...]] = Counter()

    def go_on(partner: tuple[int, ...], weight: Fraction) -> None:
        free = [r for r, p in enumerate(partner) if p < 0]
        if not free:
            ways[partner] += weight  # type: ignore[assignment]
            return
        for here in free:
            there = [r for r in free if r in windows[here]]
            for other in there:
                made = list(partner)
                made[here], made[other] = other, here
                go_on(tuple(made), weight / len(free) / len(there))

    go_on((-1,) * len(windows), Fraction(1))
    return list(ways.items())  # type: ignore[arg-type]


def run(tables: int, seed: int) -> dict[str, Tally]:
    """Hold audits of random tables against all worlds, and count where they say less, and more."""
    return {form: try_tables(tables, seed) for form, try_tables in NOISE.items()}


NOISE = {"perturbation": run_perturbed, "rank-swapping": run_swapped}
