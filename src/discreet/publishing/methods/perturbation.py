"""Perturbation: keep a number with some probability, else draw any. A baseline."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor
from typing import ClassVar

import numpy as np

from discreet.errors import PromiseError, SchemaError
from discreet.forms.perturbed.randomized_response import RandomizedResponse
from discreet.forms.perturbed.wording import word_perturbed
from discreet.principles.base import Number, require_choice, require_ratio
from discreet.principles.base import ratio as exactly
from discreet.principles.groups import Groups
from discreet.principles.proximity import Proximity
from discreet.publishing.method import Method, Strictness
from discreet.publishing.methods.exact import find_number, lay_out
from discreet.publishing.partitioners.histograms import histogram
from discreet.release import Recoding, Release
from discreet.table.arrays import Ints
from discreet.table.domain import REACH, Domain
from discreet.table.microdata import Microdata

TABLE, DIGITS = "perturbed", 6


@dataclass(frozen=True)
class Perturbation(Method):
    """Retention-replacement with the largest retention probability that keeps (ε,m).

    Li, Tao, Xiao, SIGMOD 2008, section 3.2. A replaced number is any ``within`` two bounds, by
    default the outermost of the table, rounded outwards, in steps as fine as the table's. With
    ``check="safe"`` nobody who reads the number shown believes anything near the truth with more
    than 1/m; with ``"paper"`` that holds on average over the numbers shown near it (Equation 3).
    It is here to be compared with: a generalization under the same promise answers far better.

    >>> import discreet as dc, polars as pl
    >>> frame = pl.DataFrame({"age": [*range(20, 30)], "pay": [*range(1, 11)]})
    >>> data = dc.read(frame, dc.Schema.infer(frame, quasi_identifiers=["age"], sensitive=["pay"]))
    >>> method = dc.Perturbation(dc.Proximity((0, 1), m=4), within=(1, 10))
    >>> dc.publish(data, method, insecure_seed=1).parameters["retention"]
    0.0625

    **Guarantee**: who knows all quasi-identifiers of a person, and how the numbers of the whole
    table are distributed, believes the person's number to lie within ε of the truth with
    probability at most 1/m. It does not hide who is in the table. What is drawn comes from the
    operating system's generator unless a seed is given; whoever learns the seed can undo it.
    """

    title: ClassVar[str] = "perturbation"
    form: ClassVar[str] = "perturbed"
    paper: ClassVar[str] = "Agrawal, Srikant, Thomas: Privacy Preserving OLAP, SIGMOD 2005"

    check: Strictness = "safe"
    within: tuple[Number, Number] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.principle, Proximity) or self.principle.m < 2:
            raise SchemaError(
                f"Perturbation promises one principle, proximity with m of at least 2, not "
                f"{self.principle}.",
                hint="Use generalization for other principles, and for several.",
            )
        require_choice("check", self.check, Strictness)
        if self.within is not None:
            if not isinstance(self.within, list | tuple) or len(self.within) != 2:
                raise SchemaError(f"within = {self.within}: give two numbers: [low, high].")
            object.__setattr__(self, "within", tuple(self.within))
            for end in self.within:
                require_ratio("within", end, -(2**62), 2**62)

    def publish(self, data: Microdata, rng: np.random.Generator) -> Release:
        """Find the retention probability, and keep or replace every number."""
        principle = self.principle
        assert isinstance(principle, Proximity)
        name = find_number(data, "Perturbation", principle)
        whole = histogram(data, name)
        drawn = _find_domain(whole.domain, self.within)
        drawn = replace(drawn, retention=find_retention(whole, principle, drawn, self.check))
        data = data.sorted()  # a seed then gives one release, whatever the order of the input
        made = _perturb(data, name, drawn, rng)
        table, recodings = lay_out(made, name, made.codes[name], {})
        ends = [whole.domain.write(end) for end in (drawn.low, drawn.high)]
        recodings[name] = Recoding("perturbed", domain=ends)
        promise, about = word_perturbed(principle, self.check)
        given = {"check": self.check, "retention": float(drawn.retention), "step": drawn.step}
        return self.release(data, {TABLE: table}, recodings, about, promise, parameters=given)


def find_retention(
    whole: Groups, principle: Proximity, drawn: RandomizedResponse, check: Strictness
) -> Fraction:
    """Give the largest retention probability that keeps (ε,m), rounded down; refuse if it is 0."""
    n, m = int(whole.sizes[0]), principle.m
    near = principle.neighbours(whole)
    crowd = int(near.max())
    reached = f"a generalization reaches m ≤ {n // int(principle.max_conflict(whole)[0])}."
    if m * crowd >= n:
        raise PromiseError(
            f"{principle} cannot be kept by perturbation: {crowd} of {n} people lie in one "
            f"neighbourhood, so that every retention probability above 0 makes it likelier than "
            f"1/{m}.",
            hint=f"Ask for m ≤ {max((n - 1) // crowd, 1)} or a smaller epsilon; {reached}",
            subject=principle,
        )
    bounds = _bound_safely if check == "safe" else _bound_on_average
    largest = min(bounds(whole, principle, drawn, near.tolist()))
    kept = Fraction(largest.numerator * 10**DIGITS // largest.denominator, 10**DIGITS)
    if kept == 0:
        raise PromiseError(
            f"{principle} cannot be kept by perturbation: with {drawn.size} numbers to draw from, "
            f"only a retention probability below {10**-DIGITS:g} would keep it.",
            hint=f"Round the numbers, or narrow their range; {reached}",
            subject=principle,
        )
    return min(kept, 1 - Fraction(1, 10**DIGITS))


def _bound_safely(
    whole: Groups, principle: Proximity, drawn: RandomizedResponse, near: list[int]
) -> list[Fraction]:
    """Bound p so that no number y shown makes the neighbourhood of an x likelier than 1/m.

    Seeing y, x's neighbourhood has ``(p f(y) + (1-p) P u) / (p f(y) + (1-p) u)`` if y is in it and
    less if not; u is the chance 1/size of any number. So ``p/(1-p) ≤ (1 - m P) u / ((m-1) f(y))``.
    """
    n, m = int(whole.sizes[0]), principle.m
    fullest = _largest_within(whole.whole, *principle.reach(whole.domain))[whole.codes]
    odds = [
        Fraction(n - m * k, (m - 1) * drawn.size * most)
        for k, most in zip(near, fullest.tolist(), strict=True)
    ]
    return [odd / (1 + odd) for odd in odds]


def _bound_on_average(
    whole: Groups, principle: Proximity, drawn: RandomizedResponse, near: list[int]
) -> list[Fraction]:
    """Solve Equation 3 for p, with P[I] = k/n and |I| = g/size."""
    n, m, size = int(whole.sizes[0]), principle.m, drawn.size
    lengths = drawn.count(*principle.ends(whole.domain))[whole.codes]
    bounds = []
    for g, k in zip(lengths.tolist(), near, strict=True):
        steep = m * k * (size - g) - k * size + g * n
        bounds.append(Fraction(g * (n - m * k), steep) if steep > 0 else Fraction(1))
    return bounds


def _largest_within(counts: Ints, first: Ints, beyond: Ints) -> Ints:
    """Give the largest count from ``first`` on and before ``beyond``.

    Two stretches of a power of two cover each; ``table`` has the largest of every such stretch.
    """
    logs = np.frexp(beyond - first)[1] - 1
    largest, table = np.zeros(len(first), dtype=np.int64), counts
    for log in range(int(logs.max()) + 1):
        if log:
            half = 1 << (log - 1)
            table = np.maximum(table[:-half], table[half:])
        here = logs == log
        largest[here] = np.maximum(table[first[here]], table[beyond[here] - (1 << log)])
    return largest


def _find_domain(domain: Domain, within: tuple[Number, Number] | None) -> RandomizedResponse:
    """Find the numbers to draw from, in steps as fine as those of the table.

    Finer ones would give themselves away as drawn.
    """
    lowest, highest = int(domain.numbers[0]), int(domain.numbers[-1])
    step = int(np.gcd.reduce(domain.numbers - lowest)) or 1
    if within is None:
        # a round number says nothing about the one person at the end
        round_to = 10 ** (len(str(max(highest - lowest, 1))) - 1)
        low, high = lowest // round_to * round_to, -(-highest // round_to) * round_to
    else:
        ends = [exactly(end) * 10**domain.decimals for end in within]
        if ends[0] > lowest or ends[1] < highest:
            raise SchemaError(
                f"within = {list(map(str, within))}: {domain.attribute.name!r} goes from "
                f"{domain.texts[0]} to {domain.texts[-1]}.",
                hint="Give bounds that hold all of it.",
            )
        low, high = ceil(ends[0]), floor(ends[1])
    least, most = REACH[domain.attribute.type]
    below, above = ((lowest - max(low, least)) // step, (min(high, most) - highest) // step)
    if within is None:  # nor does a number one step beyond it
        below += below == 0 and low < lowest and lowest - step >= least
        above += above == 0 and high > highest and highest + step <= most
    return RandomizedResponse(lowest - below * step, highest + above * step, step, Fraction(0))


def _perturb(
    data: Microdata, name: str, drawn: RandomizedResponse, rng: np.random.Generator
) -> Microdata:
    """Give everyone their own number with the retention probability, else any."""
    p, domain = drawn.retention, data.domains[name]
    kept = rng.integers(0, p.denominator, data.n) < p.numerator
    others = drawn.low + drawn.step * rng.integers(0, drawn.size, data.n)
    numbers = np.where(kept, domain.numbers[data.codes[name]], others)
    values, codes = np.unique(numbers, return_inverse=True)
    return replace(
        data,
        codes={**data.codes, name: codes.astype(np.int32)},
        domains={**data.domains, name: replace(domain, values=values)},
    )
