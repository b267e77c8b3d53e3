"""How a sliced release answers many questions: in every bucket, the product of columns' shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.forms.estimates import Asked, Cover
from discreet.forms.workload import take_known
from discreet.table.arrays import Floats, Ints

if TYPE_CHECKING:
    from discreet.forms.sliced.view import SlicedView


def estimate_sliced(view: SlicedView, asked: Asked) -> Floats:
    """Per bucket of a sliced release the product of the columns' shares, times its size."""
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
    sizes, estimates = view.bucket_sizes, np.zeros(asked.count)
    for question in range(asked.count):
        expected = sizes.astype(float)
        for column in view.columns:
            named = [name for name in column if name in shares]
            if named:
                taken = np.prod([shares[name][codes[name], question] for name in named], axis=0)
                expected *= np.bincount(view.bucket, weights=taken, minlength=len(sizes)) / sizes
        estimates[question] = expected.sum()
    return estimates
