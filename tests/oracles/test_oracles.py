"""The audit says no less than all worlds do: tiny tables of every form, and the oracles themselves.

``make oracles`` runs the same over thousands of tables per form.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import permutations, product

import pytest

from discreet.publishing.methods import REGISTRY
from oracles.all_worlds import Worlds, count_worlds
from oracles.pieces import Group, Piece, Publication
from oracles.running import run_trials
from oracles.tables import SETUPS

TRIED = 36
"""Tables per form that are tried here; some publications are refused."""
ELSEWHERE = {
    "perturbation", "rank-swapping", "republication", "invariant-angelization", "apriori",
    "noisy-marginals",
}  # fmt: skip
"""Methods that draw values anew, have records of nobody, or publish sets or counts with noise: no
pieces, and oracles of their own."""
EVERYONE = frozenset(range(10))


@pytest.mark.parametrize("setup", SETUPS)
def test_the_audit_says_no_less_than_all_worlds(setup: str) -> None:
    trials = list(run_trials(setup, range(TRIED)))
    assert trials
    wrong = [trial for trial in trials if trial.under]
    kinds = Counter(figure.name for trial in wrong for figure in trial.under)
    assert not wrong, f"{dict(kinds)} in {len(wrong)} of {len(trials)} tables, as in\n{wrong[0]}"


def test_every_method_has_an_oracle() -> None:
    tried = {setup.split(",")[0] for setup in SETUPS}
    assert set(REGISTRY) - tried == ELSEWHERE


@pytest.mark.parametrize("setup", SETUPS)
def test_worlds_are_counted_as_if_listed_one_by_one(setup: str) -> None:
    trials = (t for t in run_trials(setup, range(60)) if len(t.drawn.people) == 4)
    trial = next(t for t in trials if all(len(p.groups[0].columns) <= 3 for p in t.published))
    found, listed = count_worlds(4, trial.published[:1]), _list_worlds(4, trial.published[0])
    assert found.count == len(listed)
    for name in trial.releases[0].schema.sensitive:
        for person, belief in enumerate(found.believe(name)):
            values = Counter(world[person][name] for world in listed)
            assert belief == {v: Fraction(c, len(listed)) for v, c in values.items()}


def _list_worlds(people: int, published: Publication) -> list[list[dict[str, object]]]:
    """Give every piece of every column to somebody, in every order, and keep what fits."""
    columns = [
        [(group, piece) for group in published.groups for piece in group.columns[c].elements()]
        for c in range(len(published.groups[0].columns))
    ]
    worlds = []
    for orders in product(*(permutations(column) for column in columns)):
        whole = [[order[person] for order in orders] for person in range(people)]
        if all(
            len({id(group) for group, _ in mine}) == 1
            and all(person in piece.fits for _, piece in mine)
            for person, mine in enumerate(whole)
        ):
            worlds.append([{n: v for _, p in mine for n, v in p.values} for mine in whole])
    return worlds


def _tell(*values: str) -> Counter[Piece]:
    return Counter(Piece((), (("ill", v),), EVERYONE) for v in values)


def _show(*whom: set[int]) -> Counter[Piece]:
    return Counter(Piece((tuple(sorted(who)),), (), frozenset(who)) for who in whom)


def _count(people: int, *groups: tuple[Counter[Piece], ...]) -> Worlds:
    made = tuple(Group(i, columns) for i, columns in enumerate(groups))
    return count_worlds(people, [Publication(made, knowable=True)])


def test_a_bucket_counts_by_its_size() -> None:
    """Identical people in buckets {a, a, a} and {b}: a with 3/4, not with 1/2."""
    all_four = {0, 1, 2, 3}
    worlds = _count(
        4, (_show(*[all_four] * 3), _tell("a", "a", "a")), (_show(all_four), _tell("b"))
    )
    assert worlds.believe("ill") == [{"a": Fraction(3, 4), "b": Fraction(1, 4)}] * 4
    assert worlds.smallest_crowd == 4
    assert max(worlds.rows[0].values()) == Fraction(1, 4)


def test_who_knows_everybody_rules_buckets_out() -> None:
    """Columns {A}, {B, S}: every p(t,s) is at most 1/2, yet two people's values are certain."""
    people = [(0, 2, "c"), (2, 1, "b"), (1, 1, "c"), (2, 0, "a"), (0, 0, "c"), (1, 2, "a")]

    def slice_two(rows: list[tuple[int, int, str]]) -> tuple[Counter[Piece], ...]:
        first = Counter(
            Piece((a,), (), frozenset(i for i, p in enumerate(people) if p[0] == a))
            for a, _, _ in rows
        )
        second = Counter(
            Piece((b,), (("ill", s),), frozenset(i for i, p in enumerate(people) if p[1] == b))
            for _, b, s in rows
        )
        return first, second

    worlds = _count(6, slice_two(people[:3]), slice_two(people[3:]))
    certain = [max(belief.values()) == 1 for belief in worlds.believe("ill")]
    assert sum(certain) == 2


def test_batches_joined_over_two_tables_isolate_people_but_not_their_values() -> None:
    """ANGEL, Table 7: a half for everyone, and four of six people are alone in their cell."""
    ill = ["pneumonia", "flu", "bronchitis", "pneumonia", "flu", "bronchitis"]
    first, second = [{0, 1}, {2, 3}, {4, 5}], {0: {0, 2}, 1: {1, 3}, 4: {4, 5}}
    second |= {2: second[0], 3: second[1], 5: second[4]}
    worlds = _count(
        6,
        *(
            (_show(first[b], first[b]), _show(second[2 * b], second[2 * b + 1]),
             _tell(ill[2 * b], ill[2 * b + 1]))
            for b in range(3)
        ),
    )  # fmt: skip
    assert [max(belief.values()) for belief in worlds.believe("ill")] == [Fraction(1, 2)] * 6
    assert worlds.smallest_joined_crowd == 1
    assert worlds.alone == 4


def test_two_releases_may_leave_one_value() -> None:
    """ANGEL, Tables 2b and 2c: each leaves everybody two values, together Alan has pneumonia."""
    ill = ["pneumonia", "flu", "bronchitis", "pneumonia", "flu", "bronchitis"]

    def generalize(groups: list[list[int]]) -> Publication:
        return Publication(tuple(
            Group(g, (Counter(Piece((g,), (("ill", ill[i]),), frozenset(rows)) for i in rows),))
            for g, rows in enumerate(groups)
        ), knowable=True)  # fmt: skip

    one = generalize([[0, 1], [2, 3], [4, 5]])
    other = generalize([[0, 2], [1, 3], [4, 5]])
    beliefs = count_worlds(6, [one, other]).believe("ill")
    assert beliefs[0] == {"pneumonia": 1}
    assert beliefs[4] == {"flu": Fraction(1, 2), "bronchitis": Fraction(1, 2)}
