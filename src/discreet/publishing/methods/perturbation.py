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
from discreet.principles.base import Number, Principle, require_choice, require_ratio
from discreet.principles.base import ratio as exactly
from discreet.principles.groups import Groups
from discreet.principles.proximity import Proximity
from discreet.publishing.draws import Draws
from discreet.publishing.method import Method, Strictness
from discreet.publishing.methods.exact import find_numbers, lay_out
from discreet.publishing.partitioners.histograms import histogram
from discreet.release import Recoding, Release
from discreet.table.arrays import Ints
from discreet.table.domain import REACH, Domain
from discreet.table.microdata import Microdata

TABLE, DIGITS = "perturbed", 6
MARGIN = 1e-6
"""What a risk is taken to be larger, in relation, than floating numbers say."""
PARTS = 32
"""A retention is found to so many parts of itself."""


@dataclass(frozen=True)
class Perturbation(Method):
    """Retention-replacement with a retention probability as large as (ε,m) allows.

    Li, Tao, Xiao, SIGMOD 2008, section 3.2. A replaced number is any ``within`` two bounds, by
    default the outermost of the table, rounded outwards, in steps as fine as the table's. With
    ``check="safe"`` nobody who reads the number shown, or the whole table, believes anything near
    the truth with more than 1/m; with ``"paper"`` that holds of one number, on average over those
    shown near the truth (Equation 3). It is here to be compared with: a generalization under the
    same promise answers far better.

    >>> import discreet as dc, polars as pl
    >>> frame = pl.DataFrame({"age": [*range(20, 30)], "pay": [*range(1, 11)]})
    >>> data = dc.read(frame, dc.Schema.infer(frame, quasi_identifiers=["age"], sensitive=["pay"]))
    >>> method = dc.Perturbation(dc.Proximity((0, 1), m=4), check="paper", within=(1, 10))
    >>> dc.publish(data, method).parameters["retention"]
    0.0625

    **Guarantee**: with ``check="safe"``, who knows all quasi-identifiers of a person believes the
    person's number to lie within ε of the truth with probability at most 1/m: whoever knows how
    the numbers of the whole table are distributed and reads the person's record, and whoever knows
    all of these numbers, not whose they are, and reads all records (:func:`draw_safely`). Several
    sensitive numbers are perturbed each by itself, and it holds of each
    (:mod:`discreet.forms.several`), but not against who knows how they go together. It does not
    hide who is in the table. What is drawn comes from the operating system's generator.
    """

    title: ClassVar[str] = "perturbation"
    form: ClassVar[str] = "perturbed"
    paper: ClassVar[str] = "Agrawal, Srikant, Thomas: Privacy Preserving OLAP, SIGMOD 2005"

    check: Strictness = "safe"
    within: tuple[Number, Number] | None = None

    @classmethod
    def nearest(cls, principle: Principle) -> Perturbation:
        """Promise what is asked about nearness alone."""
        near = [part for part in principle.parts if isinstance(part, Proximity)]
        return cls(near[0] if len(near) == 1 else principle)

    def __post_init__(self) -> None:
        if not all(isinstance(p, Proximity) and p.m >= 2 for p in self.principle.parts):
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

    def publish(self, data: Microdata, draws: Draws) -> Release:
        """Find the retention probability, and keep or replace every number."""
        wanted = find_numbers(data, "Perturbation", self.principle)
        if self.within is not None and len(wanted) > 1:
            raise SchemaError(
                f"within = {list(map(str, self.within))} is for one sensitive number: "
                f"{', '.join(wanted)} given.",
                hint="Leave it out.",
            )
        data = data.sorted()  # what is drawn then does not depend on the order of the input
        responses: dict[str, RandomizedResponse] = {}
        made = data
        for name, principle in wanted.items():
            assert isinstance(principle, Proximity)
            whole = histogram(data, name)
            drawn = _find_domain(whole.domain, self.within)
            drawn = replace(drawn, retention=find_retention(whole, principle, drawn, self.check))
            shown = whole.domain.numbers[data.codes[name]]
            if self.check == "safe":
                drawn, shown = draw_safely(whole, principle, drawn, shown, draws)
            else:
                shown = _perturb(shown, drawn, draws)
            made = _put_in_place(made, name, shown)
            responses[name] = drawn
        table, recodings = lay_out(made, {name: made.codes[name] for name in wanted}, {})
        for name, drawn in responses.items():
            ends = [data.domains[name].write(end) for end in (drawn.low, drawn.high)]
            recodings[name] = Recoding("perturbed", domain=ends)
        promise, about = word_perturbed(self.principle, self.check, list(wanted))
        given: dict[str, object] = {
            "check": self.check,
            "retention": {name: float(drawn.retention) for name, drawn in responses.items()},
            "step": {name: drawn.step for name, drawn in responses.items()},
        }
        if len(wanted) == 1:
            given |= {"retention": float(drawn.retention), "step": drawn.step}
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
    from discreet.kernels.near import largest_in_runs

    n, m = int(whole.sizes[0]), principle.m
    fullest = largest_in_runs(whole.whole, *principle.reach(whole.domain))[whole.codes]
    odds = [
        Fraction(n - m * k, (m - 1) * drawn.size * most)
        for k, most in set(zip(near, fullest.tolist(), strict=True))
    ]
    return [odd / (1 + odd) for odd in odds]


def _bound_on_average(
    whole: Groups, principle: Proximity, drawn: RandomizedResponse, near: list[int]
) -> list[Fraction]:
    """Solve Equation 3 for p, with P[I] = k/n and |I| = g/size."""
    n, m, size = int(whole.sizes[0]), principle.m, drawn.size
    lengths = drawn.count(*principle.ends(whole.domain))[whole.codes]
    bounds = []
    for g, k in set(zip(lengths.tolist(), near, strict=True)):
        steep = m * k * (size - g) - k * size + g * n
        bounds.append(Fraction(g * (n - m * k), steep) if steep > 0 else Fraction(1))
    return bounds


def draw_safely(
    whole: Groups,
    principle: Proximity,
    drawn: RandomizedResponse,
    own: Ints,
    draws: Draws,
) -> tuple[RandomizedResponse, Ints]:
    """Draw tables, keeping as much as allowed, until one passes for who reads all of it.

    That reader knows how many people have each number, and takes every way to give these numbers
    to the people by how likely it makes the whole table. To be safe whatever is drawn, far less
    could be kept, as everybody may happen to show their own. So it is the table drawn that is
    judged, and retentions are tried by halving.

    Judging tells nothing. *Proof.* Whether a table passes follows from how many records show each
    number and how many people have it, whoever they are. The reader knows both, so that it tells
    nothing beside the table. The tables drawn in vain are drawn anew each time, and the chance that
    one fails is the same whoever has which number: so is that of all that went before. Hence the
    ways to give numbers to people are as likely, one beside the other, as if this table had been
    drawn at once. ∎
    """
    scale = 10**DIGITS
    low, high = 0, int(drawn.retention * scale) + 1
    tried, found = high - 1, None
    while tried:
        trial = replace(drawn, retention=Fraction(tried, scale))
        shown = _perturb(own, trial, draws)
        if find_joint_risk(whole, principle, trial, shown) * (1 + MARGIN) * principle.m <= 1:
            low, found = tried, (trial, shown)
        else:
            high = tried
        tried = (low + high) // 2 if high - low > 1 + low // PARTS else 0
    if found is None:
        raise PromiseError(
            f"{principle} cannot be kept by perturbation: whoever knows all numbers of the "
            f"{len(own)} people and reads the whole table would be too sure of one.",
            hint="Ask for a smaller m or a smaller epsilon, or use generalization.",
            subject=principle,
        )
    return found


def find_joint_risk(
    whole: Groups, principle: Proximity, drawn: RandomizedResponse, shown: Ints
) -> float:
    """Bound how likely any record's number is near to one of the table, to who reads all records.

    At a given z, ``chosen`` of the ``held`` people who have a number y are among the ``seen``
    records that show it, by choice; all that is left is dealt at random. A record that shows y
    then has y by choice or, λ times as rarely, by chance as well; any other number as often as it
    is left, unless the record was chosen. Averages over z are exact; to take the fullest
    neighbourhood at each z apart can only be too much.
    """
    from discreet.kernels.coincidences import count_coincidences
    from discreet.kernels.near import largest_in_runs

    held, numbers, p = whole.whole, whole.domain.numbers, drawn.retention
    at = np.minimum(np.searchsorted(numbers, shown), len(numbers) - 1)
    seen = np.bincount(at[numbers[at] == shown], minlength=len(numbers))
    kinds, kind_of, times = np.unique(
        np.stack([held, seen]), axis=1, return_inverse=True, return_counts=True
    )
    first, beyond = principle.reach(whole.domain)
    codes = np.arange(len(numbers))
    # the numbers in whose neighbourhood one lies are a run as well
    start, end = (np.searchsorted(ends, codes, side="right") for ends in (beyond, first))
    lift, records = float(p * drawn.size / (1 - p)), np.maximum(seen, 1)
    near, far = np.zeros(len(numbers)), 0.0
    for z, share, per_kind in zip(
        *count_coincidences(len(shown), *kinds, times, lift), strict=True
    ):
        chosen = per_kind[kind_of.ravel()]
        left = held - chosen
        running = np.concatenate([[0.0], np.cumsum(left)])
        nearby = np.where(held > 0, running[beyond] - running[first], 0)
        others = largest_in_runs(nearby, start, end) - left
        far += share * nearby.max() / z
        near += share * ((1 + 1 / lift) * chosen / records + (1 - chosen / records) * others / z)
    return max(far, float(near[seen > 0].max(initial=0)))


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


def _perturb(own: Ints, drawn: RandomizedResponse, draws: Draws) -> Ints:
    """Give everyone their own number with the retention probability, else any."""
    p = drawn.retention
    kept = draws.integers(p.denominator, len(own)) < p.numerator
    others = drawn.low + drawn.step * draws.integers(drawn.size, len(own))
    return np.where(kept, own, others)


def _put_in_place(data: Microdata, name: str, numbers: Ints) -> Microdata:
    """Show other numbers in place of people's own."""
    values, codes = np.unique(numbers, return_inverse=True)
    return replace(
        data,
        codes={**data.codes, name: codes.astype(np.int32)},
        domains={**data.domains, name: replace(data.domains[name], values=values)},
    )
