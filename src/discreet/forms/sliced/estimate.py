"""How a sliced release answers many questions: in every bucket, the product of columns' shares.

Columns that share attributes are multiplied in what of a bucket agrees on these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.forms.estimates import Asked, Cover
from discreet.forms.workload import take_known
from discreet.table.arrays import Floats, Ints

if TYPE_CHECKING:
    from discreet.forms.sliced.view import SlicedView


def estimate_sliced(view: SlicedView, asked: Asked) -> Floats:
    """Per part of a bucket that agrees the product of the columns' shares, times its size."""
    codes: dict[str, Ints] = {}
    shares: dict[str, Floats] = {}
    for name, takes in asked.known.items():
        if view.release.recodings[name].is_blurred:
            cover = Cover(asked, view.table, name)
            codes[name] = cover.number
            shares[name] = cover.share_labels(takes)
        else:
            codes |= asked.read_codes([name])
            shares[name] = take_known(takes).astype(np.float64)
    for name, takes in asked.also.items():
        codes |= asked.read_codes([name])
        shares[name] = take_known(takes).astype(np.float64)
    if asked.told is not None:
        codes |= asked.read_codes([asked.told])
        shares[asked.told] = asked.weigh(slice(0, asked.count))
    sizes, estimates = np.bincount(view.within), np.zeros(asked.count)
    bucket = np.empty(len(sizes), dtype=np.int64)
    bucket[view.within] = view.bucket
    columns = view.tied.find_own(view.columns)
    for question in range(asked.count):
        expected = sizes.astype(float)
        for place, column in enumerate(columns):
            named = [name for name in column if name in shares]
            if not named:
                continue
            taken = np.prod([shares[name][codes[name], question] for name in named], axis=0)
            if place in view.tied.places:
                expected *= np.bincount(view.within, weights=taken, minlength=len(sizes)) / sizes
            else:
                share = np.bincount(view.bucket, weights=taken) / view.bucket_sizes
                expected *= share[bucket]
        estimates[question] = expected.sum()
    return estimates
