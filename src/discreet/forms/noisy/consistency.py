"""Is what a noisy release counts what these very people are, but for noise as it says?

Whether noise was drawn as it is said to be nobody sees in what came out. But some deviations are so
unlikely that they were not drawn so, or not added to the counts of this table. The thresholds are
rational numbers, and err on the side of whoever published: a release that is what it says is
called something else less than once in 2^40 times.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import hypot, log, log1p, tanh
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from discreet.errors import SchemaError
from discreet.forms.noisy.layout import NoisyCounts
from discreet.release import Release
from discreet.table.arrays import Ints
from discreet.table.microdata import Microdata
from discreet.table.public_cells import list_cells

BITS = 40
"""What happens less than once in 2 to this power times does not happen."""
EACH = BITS + 3
"""The same for each of three ways to be unlikely: all together stay below, and floats have room."""
LOG2_E = Fraction(14_426_950, 10_000_000)
"""No more than the logarithm of e to the base 2."""


def compare_cells(release: Release, noisy: NoisyCounts, data: Microdata) -> list[str]:
    """Hold cells against the public domains that the steward declared, where these are known."""
    most: object = release.parameters.get("bins")
    if not isinstance(most, Integral) or isinstance(most, bool) or most < 1:
        return [
            f"bins = {most!r} is no whole number of at least 1, so that no cells follow from it"
        ]
    findings = []
    for name, cells in noisy.cells.items():
        attribute = data.schema[name]
        declared = attribute.has_public_domain or attribute.taxonomy is not None
        if not declared:
            continue
        try:
            ours = list_cells(attribute, int(most))
        except SchemaError:  # a taxonomy that was made from a rule declares nothing
            continue
        if (ours.first, ours.last) != (cells.first, cells.last):
            findings.append(f"the cells of {name} are not those of its public domain")
    return findings


def compare_noise(noisy: NoisyCounts, data: Microdata) -> list[str]:
    """Say where counts are off by more than noise can be, or by less."""
    findings = []
    off: list[NDArray[np.uint64]] = []
    for title, names, deviations in _list_deviations(noisy, data):
        if deviations is None:
            findings.append(f"{title}: somebody's value is in no cell of {names}")
        else:
            # the least whole number of 64 bits has its absolute value among those without a sign
            off.append(np.abs(deviations).ravel().view(np.uint64))
    if findings or not off:
        return findings
    every = np.concatenate(off)
    worst, cells, none = int(every.max()), len(every), int((every == 0).sum())
    # a draw is k or more off with probability 2 q^k / (1 + q) at most, q = e^(-1/scale)
    if worst / noisy.scale * LOG2_E > EACH + cells.bit_length():
        findings.append(
            f"a count is {worst:,} off that of these people, which noise of scale "
            f"{float(noisy.scale):g} is not: it was made of another table"
        )
    # it is 0 with probability 1 / (2 scale) at most; Hoeffding's inequality for so many draws
    beyond = none - cells / (2 * noisy.scale)
    if beyond > 0 and 2 * beyond**2 / cells * LOG2_E > EACH:
        findings.append(
            f"{none:,} of {cells:,} counts have no noise, which is too many for its scale"
        )
    total = float(every.sum(dtype=np.float64))
    if bound_little(total, cells, float(noisy.scale)) > EACH:
        findings.append(
            f"counts are off by {total:,.0f} in all, which is too little for noise of scale "
            f"{float(noisy.scale):g}"
        )
    return findings


def bound_little(total: float, cells: int, scale: float) -> float:
    """Give b such that so many draws are off by so little in all less than once in 2^b times.

    With q = e^(-1/scale) a draw is x with probability t·q^|x|, t = (1 - q) / (1 + q). For any λ > 0
    the sum is S or less with probability e^(λS) (E e^(-λ|x|))^m at most (Chernoff), and with
    r = q·e^(-λ) that is (q/r)^S (t (1 + r) / (1 - r))^m. It is least where 2r / (1 - r²) = S/m.
    That r follows from S does no harm: what is found is what is no more than some S, and the bound
    holds for that one. Floats are off by far less than 1 in b, for which who asks leaves room.
    """
    each = total / cells
    root = hypot(1, each)
    beyond = 1 + 1 / (root + each)  # root + 1 - each, exactly enough where each is large
    apart = 0.0
    if each:
        apart = log1p(beyond / each) - 1 / scale  # ln(q/r)
        if apart <= 0:  # it is no less than is expected
            return 0.0
    nats = cells * (log(beyond / (root + 1 + each)) - log(tanh(0.5 / scale))) - total * apart
    return nats / log(2)


def find_worst(noisy: NoisyCounts, data: Microdata) -> list[str]:
    """Say how far the count is off that is off most, in standard deviations of the noise."""
    found = [d for _, _, d in _list_deviations(noisy, data) if d is not None]
    if not found:
        return []
    worst = max(int(np.abs(d).max()) for d in found)
    cells = sum(d.size for d in found)
    return [
        f"Of {cells:,} counts the one that is off most is off by {worst:,}, "
        f"{worst / noisy.variance**0.5:.1f} standard deviations of the noise"
    ]


def _list_deviations(noisy: NoisyCounts, data: Microdata) -> Iterator[tuple[str, str, Ints | None]]:
    """Give per table how far counts are off those of people; nothing where one is in no cell."""
    placed = {name: cells.place(data.domains[name]) for name, cells in noisy.cells.items()}
    for one in noisy.marginals:
        shape, names = noisy.shape(one.names), ", ".join(one.names)
        people = [placed[name][data.codes[name]] for name in one.names]
        if any((own < 0).any() for own in people):
            yield f"the table of {names}", names, None
            continue
        number = np.ravel_multi_index(people, shape)
        own = np.bincount(number, minlength=one.counts.size).reshape(shape)
        yield f"the table of {names}", names, one.counts - own
