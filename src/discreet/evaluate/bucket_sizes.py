"""Bucket sizes: how large random buckets must be for a wanted number of fakes per original.

Li, Li, Zhang, Molloy, TKDE 2012, section 5: whoever has chosen a least fake-original ratio chooses
bucket size and columns by it. The paper's k^(c-1) - 1 holds where all values of a column differ; in
a table, values come again, and of the combinations that match several buckets one is counted. So
they are counted, in buckets drawn as they would be published.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from discreet.errors import PromiseError, SchemaError
from discreet.forms.exposure import Fakes
from discreet.principles.base import Number, require_ratio
from discreet.principles.base import ratio as exactly
from discreet.publishing import publish
from discreet.publishing.methods.slicing import Slicing
from discreet.table.microdata import Microdata

MOST_DRAWN, ENOUGH = 5, 20_000
"""Buckets are drawn so many times, or fewer where so many people are in them all together."""


class ProposedBuckets(NamedTuple):
    """The smallest random buckets that do."""

    method: Slicing
    """How to publish: with columns as they were found, and this size of buckets."""
    ratio: float
    """Fakes per original that are to be expected."""
    exact: bool
    """Whether the fakes of what was drawn were counted, or estimated from a sample."""


def propose_buckets(data: Microdata, method: Slicing, ratio: Number) -> ProposedBuckets:
    """Propose the smallest random buckets with so many fakes per original, or more.

    It is the mean over buckets drawn with seeds of their own, which keep the method's promise; in
    buckets of one person fewer it falls short, or some break the promise. What is published is
    drawn anew, and may have some more or fewer: the audit counts them. Larger buckets hold the
    combinations of the smaller that are put into them, so that one bucket of everybody has most: if
    that has too few, more columns are needed. The size is published, and sensitive values had a
    part in it.

    >>> import discreet as dc
    >>> known = ["age", "education"]
    >>> data = dc.datasets.adult(sensitive="occupation", quasi_identifiers=known).head(300)
    >>> method = dc.Slicing(dc.KAnonymity(2), columns=[["age"], ["education", "occupation"]])
    >>> found = propose_buckets(data, method, ratio=5)
    >>> release = dc.publish(data, found.method)
    >>> found.ratio >= 5, release.parameters["buckets"] == found.method.buckets
    (True, True)
    """
    require_ratio("ratio", ratio, 0)
    wanted = exactly(ratio)
    whole = replace(method, buckets=max(data.n, 2))
    most, columns = _count(data, whole, 1)
    if isinstance(method.columns, int):  # found once, they are found in no other way again
        whole = replace(whole, columns=columns, alpha=None, together=False)
    if (reached := _average(most)) < wanted:
        raise SchemaError(
            f"ratio = {ratio}: with everybody in one bucket there are {float(reached):.3g} "
            "combinations that nobody has, per one that somebody has.",
            hint="Ask for fewer, or for more columns.",
        )
    times = max(1, min(MOST_DRAWN, ENOUGH // max(data.n, 1)))
    best = whole, most
    low, high = 1, max(data.n, 2)  # what is low does not do, what is high does
    while high - low > 1:
        size = (low + high) // 2
        tried = replace(whole, buckets=size)
        try:
            found, _ = _count(data, tried, times)
        except PromiseError:
            low = size
            continue
        if _average(found) < wanted:
            low = size
        else:
            high, best = size, (tried, found)
    chosen, found = best
    return ProposedBuckets(chosen, float(_average(found)), all(one.exact for one in found))


def _count(data: Microdata, method: Slicing, times: int) -> tuple[list[Fakes], list[list[str]]]:
    """Draw buckets, and count the fakes of each draw; give the columns, too."""
    found: list[Fakes] = []
    columns: list[list[str]] = []
    for seed in range(times):
        release = publish(data, method, insecure_seed=seed)
        listed = release.parameters["columns"]
        assert isinstance(listed, list)
        columns = listed
        fakes = release.views[0].count_fakes(data)
        assert fakes is not None
        found.append(fakes)
    return found, columns


def _average(found: list[Fakes]) -> Fraction:
    """Give fakes per original; everybody's combinations are the same in every draw."""
    fakes = sum((Fraction(one.fakes) for one in found), Fraction(0))
    return fakes / sum(one.originals for one in found)
