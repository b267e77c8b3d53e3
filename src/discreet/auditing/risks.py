"""Risks: singling out, linkability and inference, the three that regulators name.

Article 29 Working Party, Opinion 05/2014 (WP 216), measured as Anonymeter does (Giomi et al.,
PoPETs 2023): an attacker guesses by the release; the same is tried on people whom it was not made
from (control), and without the release, at random (baseline). What being in the table adds is the
risk.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.auditing.attacker import SEED, Attacker, Nearest, ShownColumn, take_place
from discreet.auditing.rates import PrivacyRisk, SuccessRate
from discreet.errors import QueryError, SchemaError
from discreet.release import Release
from discreet.table.arrays import Bools
from discreet.table.microdata import Microdata
from discreet.table.schema import Type

MOST_GUESSES = 500
MOST_DISTANCES = 200_000_000
"""Distances between people and records that an attack may take, whatever the table's size."""
FEWEST_PEOPLE = 100
FEW_COLUMNS = 3
TOLERANCE = 20
"""A number is told if the guess is wrong by at most one of so many parts of it."""

Predicate = dict[str, Bools]
"""Per attribute, the codes that a person of whom it is true may have."""


def measure_risks(
    release: Release, data: Microdata, control: Microdata | None
) -> list[PrivacyRisk]:
    """Measure the three risks of a release; control people must not be in its table."""
    try:
        attacker = take_place(release, data, control)
    except QueryError as error:  # too many values to draw from
        nothing = SuccessRate(0, 0)
        name, how = "singling out, linkability and inference", f"not tried: {error.message}"
        return [PrivacyRisk(name, None, how, nothing, nothing, None, 0.0)]
    inferred = [_infer(attacker, name) for name in attacker.sensitive]
    found = (_single_out(attacker), _link(attacker), *inferred)
    return [risk for risk in found if risk is not None]


def refuse_members(data: Microdata, control: Microdata) -> None:
    """Refuse people who all are in the table: they can control nothing."""
    names = [name for name in data.codes if name in control.codes]
    others, people = control.to_polars().select(names), data.to_polars().select(names)
    if others.join(people.unique(), on=names, how="anti", nulls_equal=True).is_empty():
        raise SchemaError(
            "Everybody in the control group is in the table too.",
            hint="Give people like these whom the release was not made from.",
        )


def _single_out(attacker: Attacker) -> PrivacyRisk:
    """Guess that one person only is as some record; try few columns and many, and take the best.

    A guess is ventured where one record only may be so. It is right if just one person is.
    """
    names = list(attacker.columns)
    tries: dict[str, tuple[Sequence[str], int]] = {
        "by one attribute of a record": (names, 1),
        "by three attributes of a record": (names, FEW_COLUMNS),
        "by all quasi-identifiers of a record": (attacker.quasi_identifiers, len(names)),
        "by all attributes of a record": (names, len(names)),
    }
    tried = [_guess_alone(attacker, how, *chosen) for how, chosen in tries.items() if chosen[0]]
    return max(tried, key=lambda risk: (risk.main.guesses > 0, risk.main.low))


def _guess_alone(attacker: Attacker, how: str, among: Sequence[str], many: int) -> PrivacyRisk:
    rng = np.random.default_rng(SEED)
    records = rng.permutation(attacker.records)[:MOST_GUESSES]
    guesses: dict[tuple[tuple[str, int], ...], Predicate] = {}
    for record in records.tolist():
        chosen = rng.choice(len(among), min(many, len(among)), replace=False)
        names = [among[i] for i in sorted(chosen.tolist())]
        claims = {name: attacker.claim(name, record) for name in names}
        if attacker.lookup.count({name: met for name, (_, met) in claims.items()}) == 1:
            said = tuple((name, int(attacker.columns[name].label[record])) for name in names)
            guesses[said] = {name: codes for name, (codes, _) in claims.items()}
    people = attacker.look_up(attacker.people)
    counts = np.array([people.count(guess) for guess in guesses.values()], dtype=np.int64)
    alone = int((counts == 1).sum())
    random = sum(people.count(_claim_anything(guess, attacker, rng)) == 1
                 for guess in guesses.values())  # fmt: skip
    control = None
    if attacker.control is not None:
        others = attacker.look_up(attacker.control)
        hits = sum(others.count(guess) == 1 for guess in guesses.values())
        control = SuccessRate(hits, len(counts), _resize(counts, attacker))
    return PrivacyRisk(
        "singling out", None, how, SuccessRate(alone, len(counts)),
        SuccessRate(random, len(counts)), control, len(counts) / max(len(records), 1),
    )  # fmt: skip


def _claim_anything(guess: Predicate, attacker: Attacker, rng: np.random.Generator) -> Predicate:
    """Claim a value of each attribute at random: it, all up to it, or all from it on."""
    made = {}
    for name in guess:
        domain = attacker.columns[name].domain
        every, code = np.arange(domain.size), int(rng.integers(domain.size))
        sides = [every == code]
        if domain.attribute.type.ordered:
            sides += [every >= code, every <= code]
        made[name] = sides[int(rng.integers(len(sides)))]
    return made


def _resize(counts: np.ndarray, attacker: Attacker) -> float:
    """Say how many more guesses would single somebody out among as many as are in the table.

    Few others make anybody more or less alone: so do as few of the table's own people, each of
    whom is among them as likely as any. Where there are more others, nothing is corrected.
    """
    assert attacker.control is not None
    share = attacker.control.n / attacker.people.n
    if share >= 1:
        return 1.0
    expected = float((counts * share * (1 - share) ** np.maximum(counts - 1, 0)).sum())
    alone = int((counts == 1).sum())
    return alone / expected if alone and expected > 0 else 1.0


def _choose_people(data: Microdata, *searches: Nearest) -> np.ndarray:
    """Draw the people to try, as many as can be held against all records."""
    affordable = MOST_DISTANCES // max(sum(search.work for search in searches), 1)
    many = min(MOST_GUESSES, max(affordable, FEWEST_PEOPLE), data.n)
    return np.random.default_rng(SEED).permutation(data.n)[:many]


def _link(attacker: Attacker) -> PrivacyRisk | None:
    """Link what two other tables know of a person, each one half of the attributes.

    Either half is put down to a nearest record, by chance where several are as near. They are
    linked if it is the same.
    """
    names = [*attacker.quasi_identifiers, *attacker.sensitive]
    if len(names) < 2:
        return None
    half = (len(names) + 1) // 2
    parts = [attacker.nearest(names[:half]), attacker.nearest(names[half:])]

    def attempt(data: Microdata) -> SuccessRate:
        rng = np.random.default_rng(SEED)
        people = _choose_people(data, *parts)
        linked = 0
        for person in people.tolist():
            one, other = (rng.choice(part.find(data, person)) for part in parts)
            linked += bool(one == other)
        return SuccessRate(linked, len(people))

    main = attempt(attacker.people)
    drawn = np.random.default_rng(SEED).integers(0, attacker.records, (main.guesses, 2))
    baseline = SuccessRate(int((drawn[:, 0] == drawn[:, 1]).sum()), main.guesses)
    control = None if attacker.control is None else attempt(attacker.control)
    how = f"{', '.join(names[:half])} with {', '.join(names[half:])}"
    return PrivacyRisk("linkability", None, how, main, baseline, control)


def _infer(attacker: Attacker, name: str) -> PrivacyRisk | None:
    """Guess a sensitive value: the commonest of the records nearest by all quasi-identifiers."""
    if not attacker.quasi_identifiers:
        return None
    search, shown = attacker.nearest(attacker.quasi_identifiers), attacker.columns[name]

    def attempt(data: Microdata, *, blind: bool) -> SuccessRate:
        rng = np.random.default_rng(SEED)
        people = _choose_people(data, search)
        told = 0
        for person in people.tolist():
            if blind:
                guess = int(shown.label[rng.integers(attacker.records)])
            else:
                often = np.bincount(shown.label[search.find(data, person)])
                guess = int(rng.choice(np.flatnonzero(often == often.max())))
            told += _is_told(shown, guess, int(data.codes[name][person]))
        return SuccessRate(told, len(people))

    control = None if attacker.control is None else attempt(attacker.control, blind=False)
    number = shown.domain.attribute.type in (Type.INTEGER, Type.DECIMAL)
    near = f", to within {1 / TOLERANCE:.0%}" if number else ""
    return PrivacyRisk(
        "inference", name, f"from the nearest records{near}",
        attempt(attacker.people, blind=False), attempt(attacker.people, blind=True), control,
    )  # fmt: skip


def _is_told(shown: ShownColumn, guess: int, own: int) -> bool:
    """Whether a guess is right; of a number, nearly."""
    domain = shown.domain
    numeric = domain.attribute.type in (Type.INTEGER, Type.DECIMAL)
    if guess == own or not numeric or max(guess, own) >= len(domain.values):
        return guess == own
    told, truth = int(domain.values[guess]), int(domain.values[own])
    return abs(told - truth) * TOLERANCE <= abs(told)
