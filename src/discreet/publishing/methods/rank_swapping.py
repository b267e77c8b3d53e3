"""Rank swapping: two people of near rank exchange their sensitive numbers. A baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.forms.swapped.rank_windows import RankWindows, build_windows
from discreet.forms.swapped.wording import word_swapped
from discreet.principles.base import Principle
from discreet.principles.spread import KE
from discreet.publishing.draws import Draws
from discreet.publishing.method import Method
from discreet.publishing.methods.exact import find_nearest_ke, find_numbers, lay_out, require_ke
from discreet.publishing.partitioners.histograms import histogram
from discreet.release import Recoding, Release, number_title
from discreet.table.arrays import Ints
from discreet.table.microdata import Microdata

SWAPPED, WINDOWS = "swapped", "windows"
SPARE = 64
"""Random words beyond one per person: of so many people, hardly one needs a second."""


@dataclass(frozen=True)
class RankSwapping(Method):
    """Exchange everyone's number with that of a random partner of near rank.

    Moore, 1996, as Zhang, Koudas, Srivastava, Yu, ICDE 2007, section 7.1 compare with it: partners
    are sought as many ranks below as above, the fewest that satisfy (k,e). It is here to be
    compared with: the answers of
    :class:`~discreet.publishing.methods.permutation.Permutation` are narrower.

    >>> import discreet as dc, polars as pl
    >>> frame = pl.DataFrame({"age": [40, 38, 35, 41, 43, 47], "pay": [56, 54, 55, 65, 75, 70]})
    >>> data = dc.read(frame, dc.Schema.infer(frame, quasi_identifiers=["age"], sensitive=["pay"]))
    >>> release = dc.publish(data, dc.RankSwapping(dc.KE(k=3, e=2)))
    >>> sorted(release.tables["swapped"]["pay"])
    [54, 55, 56, 65, 70, 75]

    **Guarantee**: whoever knows all quasi-identifiers of a person finds at least k different
    numbers possible, spread over at least e: everyone may have kept their number, or exchanged it
    with anybody of the window. Several sensitive numbers are exchanged each by itself, and this
    holds of each, even to who knows the others of everybody (:mod:`discreet.forms.several`). It
    does not bound how likely each is, which the audit says, and does not hide who is in the table.
    What is drawn comes from the operating system's generator.
    """

    title: ClassVar[str] = "rank-swapping"
    form: ClassVar[str] = "swapped"
    paper: ClassVar[str] = "Moore: Controlled Data-Swapping Techniques, US Bureau of Census, 1996"

    @classmethod
    def nearest(cls, principle: Principle) -> RankSwapping:
        """Promise as many different numbers as are asked for values."""
        return cls(find_nearest_ke(principle))

    def __post_init__(self) -> None:
        require_ke("Rank swapping", self.principle)

    def publish(self, data: Microdata, draws: Draws) -> Release:
        """Find the windows, exchange numbers within them, and tabulate the bounds."""
        wanted = find_numbers(data, "Rank swapping", self.principle)
        data = data.sorted()  # what is drawn then does not depend on the order of the input
        shown = {}
        for name, principle in wanted.items():
            assert isinstance(principle, KE)
            whole = histogram(data, name)
            principle.require(whole)
            windows = RankWindows.around(whole, principle)
            shown[name] = _swap(data.codes[name], whole.whole, windows, draws)
        table, recodings = lay_out(data, shown, {})
        tables = {SWAPPED: table}
        for place, (name, principle) in enumerate(wanted.items()):
            assert isinstance(principle, KE)
            recodings[name] = Recoding("swapped")
            bounds = build_windows(table[name], data.schema[name], principle)
            tables[number_title(WINDOWS, place)] = bounds
        promise, about = word_swapped(self.principle, list(wanted))
        return self.release(data, tables, recodings, about, promise)


def _swap(
    codes: NDArray[np.int32],
    counts: Ints,
    windows: RankWindows,
    draws: Draws,
) -> NDArray[np.int32]:
    """Give each person the number of a partner; equal numbers are ranked at random."""
    from discreet.kernels.swaps import pair_up

    shuffled = draws.permutation(len(codes))
    order = shuffled[np.argsort(codes[shuffled], kind="stable")]
    ends = np.cumsum(counts)
    low = (ends - counts)[windows.near_low][codes[order]]
    high = (ends - 1)[windows.near_high][codes[order]]
    words = draws.words(len(codes) + SPARE)
    partner = pair_up(draws.permutation(len(codes)), low, high, words)
    shown = np.empty_like(codes)
    shown[order] = codes[order[partner]]
    return shown
