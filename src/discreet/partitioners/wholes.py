"""The whole table as one bag: what a principle is asked whether it is feasible at all."""

from __future__ import annotations

import numpy as np

from discreet.groups import Groups
from discreet.microdata import Microdata


def whole_of(data: Microdata, name: str | None) -> Groups:
    """The table as one bag of a sensitive attribute; without a name, of people only."""
    from discreet.kernels.packing import tally

    if name is None:
        return Groups.of_people(np.array([data.n]))
    domain = data.domains[name]
    return Groups.from_counts(tally(data.codes[name], domain.size), domain)
