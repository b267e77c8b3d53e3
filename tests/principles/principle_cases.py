"""For every registered principle: parameters worth trying, and a definition in plain Python.

The definitions use lists and Fractions and share nothing with the project. A principle that is
registered without a case here fails the contract tests.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import discreet as dc
from discreet.principles import Principle

Definition = Callable[[Principle, list[int], list[int]], bool]


@dataclass(frozen=True)
class Case:
    instances: tuple[Principle, ...]
    define: Definition


def _counts(bag: list[int]) -> list[int]:
    return sorted(Counter(bag).values(), reverse=True)


def _share(value: object) -> Fraction:
    return Fraction(str(value))


def _entropy(p: dc.EntropyDiversity, bag: list[int], whole: list[int]) -> bool:
    n, l = len(bag), _share(p.l)  # noqa: E741
    return Fraction(n) ** n >= l**n * math.prod(w**w for w in _counts(bag))


def _recursive(p: dc.RecursiveDiversity, bag: list[int], whole: list[int]) -> bool:
    r = _counts(bag)
    return r[0] < _share(p.c) * sum(r[p.l - 1 :])


def _closeness(p: dc.TCloseness, bag: list[int], whole: list[int]) -> bool:
    here, there = Counter(bag), Counter(whole)
    values = sorted(there)
    surplus = [Fraction(here[v], len(bag)) - Fraction(there[v], len(whole)) for v in values]
    if p.distance == "equal":
        return sum(map(abs, surplus)) / 2 <= _share(p.t)
    running, cost = Fraction(0), Fraction(0)
    for extra in surplus:
        running += extra
        cost += abs(running)
    return cost / max(len(values) - 1, 1) <= _share(p.t)


def _variance(p: dc.Variance, bag: list[int], whole: list[int]) -> bool:
    mean = Fraction(sum(bag), len(bag))
    return sum((x - mean) ** 2 for x in bag) / len(bag) >= _share(p.v)


def _proximity(p: dc.Proximity, bag: list[int], whole: list[int]) -> bool:
    below, above = p.epsilon if isinstance(p.epsilon, tuple) else (p.epsilon, p.epsilon)
    below, above = _share(below), _share(above)
    for x in bag:
        low = x * (1 - below) if p.relative else x - below
        high = x * (1 + above) if p.relative else x + above
        if p.m * sum(low <= y <= high for y in bag) > len(bag):
            return False
    return True


def _invariance(p: dc.MInvariance, bag: list[int], whole: list[int]) -> bool:
    values = sorted(set(bag))
    apart = all(b - a > 2 * _share(p.epsilon or 0) for a, b in pairwise(values))
    return len(values) >= p.m and len(set(_counts(bag))) == 1 and apart


def _stays_below(bag: list[int], common: Fraction, own: dict[str, Fraction]) -> bool:
    """Whether no value is more of a bag than its own share, or the common one."""
    return all(Fraction(bag.count(v), len(bag)) <= own.get(str(v), common) for v in bag)


def _frequency(p: dc.FrequencyDiversity, bag: list[int], whole: list[int]) -> bool:
    own = {v: 1 if l is None else 1 / _share(l) for v, l in (p.values or {}).items()}  # noqa: E741
    return _stays_below(bag, 1 / _share(p.l), own)


def _alpha_k(p: dc.AlphaK, bag: list[int], whole: list[int]) -> bool:
    own = {v: Fraction(1) if a is None else _share(a) for v, a in (p.values or {}).items()}
    return len(bag) >= p.k and _stays_below(bag, _share(p.alpha), own)


def _linkability(p: dc.XYLinkability, bag: list[int], whole: list[int]) -> bool:
    own = {v: _share(p.values[v] if isinstance(p.values, Mapping) else p.k) for v in p.values}
    return _stays_below(bag, Fraction(1) if own else _share(p.k), own)


def _rho(p: dc.RhoUncertainty, bag: list[int], whole: list[int]) -> bool:
    """Of bags of one item each: who knows one item infers no other."""
    secret = {v for v in bag if p.sensitive is None or str(v) in p.sensitive}
    return all(Fraction(bag.count(v), len(bag)) < _share(p.rho) for v in secret)


CASES: dict[str, Case] = {
    "k-anonymity": Case(
        (dc.KAnonymity(1), dc.KAnonymity(3)), lambda p, bag, whole: len(bag) >= p.k
    ),
    "distinct-diversity": Case(
        (dc.DistinctDiversity(2), dc.DistinctDiversity(3)),
        lambda p, bag, whole: len(set(bag)) >= p.l,
    ),
    "frequency-diversity": Case(
        (
            dc.FrequencyDiversity(2),
            dc.FrequencyDiversity("5/2"),
            dc.FrequencyDiversity(3),
            dc.FrequencyDiversity(2, values={"1": 4, "2": None}),
            dc.FrequencyDiversity("5/2", values={"3": None, "4": None, "5": "7/2"}),
        ),
        _frequency,
    ),
    "entropy-diversity": Case(
        (dc.EntropyDiversity(2), dc.EntropyDiversity(1.5), dc.EntropyDiversity(3)), _entropy
    ),
    "recursive-diversity": Case(
        (
            dc.RecursiveDiversity(1, 2),
            dc.RecursiveDiversity(2, 2),
            dc.RecursiveDiversity(0.5, 2),
            dc.RecursiveDiversity(3, 3),
        ),
        _recursive,
    ),
    "alpha-k": Case(
        (
            dc.AlphaK(0.5, 2),
            dc.AlphaK("1/3", 4),
            dc.AlphaK(0.5, 2, values={"1": "1/4", "2": None, "3": 0}),
        ),
        _alpha_k,
    ),
    "t-closeness": Case(
        (
            dc.TCloseness(0.3),
            dc.TCloseness("1/6"),
            dc.TCloseness(0.2, "ordered"),
            dc.TCloseness("1/7", "ordered"),
        ),
        _closeness,
    ),
    "k-e": Case(
        (dc.KE(2, 3), dc.KE(3, 5)),
        lambda p, bag, whole: len(set(bag)) >= p.k and max(bag) - min(bag) >= p.e,
    ),
    "xy-anonymity": Case(
        (dc.XYAnonymity(x=["a"], y=["b"], k=2), dc.XYAnonymity(x=["a", "b"], y=["c"], k=3)),
        lambda p, bag, whole: len(set(bag)) >= p.k,
    ),
    "xy-linkability": Case(
        (
            dc.XYLinkability(x=["a"], y=["b"], k="1/2"),
            dc.XYLinkability(x=["a"], y=["b"], k=0.4),
            dc.XYLinkability(x=["a"], y=["b"], k=0.4, values=["1", "2"]),
            dc.XYLinkability(x=["a"], y=["b"], k=0.4, values={"1": "1/4", "2": 0.5}),
        ),
        _linkability,
    ),
    "personal-privacy": Case(  # of values alone: whatever anybody guards
        (dc.PersonalPrivacy(2), dc.PersonalPrivacy("5/2"), dc.PersonalPrivacy(1)),
        lambda p, bag, whole: _stays_below(bag, 1 / _share(p.l), {}),
    ),
    "m-invariance": Case(
        (dc.MInvariance(2), dc.MInvariance(3), dc.MInvariance(2, 1), dc.MInvariance(3, "1/2")),
        _invariance,
    ),
    "km-anonymity": Case(  # of one item each; sets are tried in test_itemsets
        (dc.KMAnonymity(2, 1), dc.KMAnonymity(2, 3)),
        lambda p, bag, whole: len(bag) >= p.k and min(_counts(bag)) >= p.k,
    ),
    "rho-uncertainty": Case(
        (dc.RhoUncertainty("1/2"), dc.RhoUncertainty(0.7, sensitive=["1", "2"])), _rho
    ),
    "differential-privacy": Case(  # no group that is shown satisfies it
        (dc.DifferentialPrivacy(1), dc.DifferentialPrivacy("1/10")), lambda p, bag, whole: False
    ),
    "variance": Case((dc.Variance(2), dc.Variance("9/4")), _variance),
    "proximity": Case(
        (
            dc.Proximity(1, 2),
            dc.Proximity(2, 3),
            dc.Proximity((0, 2), 2),
            dc.Proximity("1/3", 2, relative=True),
        ),
        _proximity,
    ),
}
INSTANCES = [instance for case in CASES.values() for instance in case.instances]
