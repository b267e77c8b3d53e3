"""Members: can somebody who is in a table be told from somebody made up, by what matches?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.release import Release
from discreet.table.microdata import Microdata, row_ids


def tell_members(release: Release, data: Microdata, seed: int, count: int = 2000) -> float | None:
    """Say how often a member is told from somebody made up, by how many records may be theirs.

    People are made up of other people's values, attribute by attribute. A half is chance; where
    quasi-identifiers are exact, nobody made up is found, and membership is not hidden at all.
    """
    names, rng = data.quasi_identifiers, np.random.default_rng(seed)
    if not names:
        return None
    chosen = rng.integers(0, data.n, min(count, data.n))
    made = {name: data.codes[name][rng.integers(0, data.n, len(chosen))] for name in names}
    both = row_ids(
        [np.concatenate([data.codes[name], made[name]]) for name in names], data.n + len(chosen)
    )
    real = np.isin(both[data.n :], both[: data.n])
    if real.all():
        return None
    others = replace(data, codes={**data.taken(chosen).codes, **made}, rows=None)
    found = []
    for people in (data.taken(chosen), others.taken(np.flatnonzero(~real))):
        views = [view.match(people) for view in release.views]
        seen = [np.where(v.set_of >= 0, np.append(v.records, 0)[v.set_of], 0) for v in views]
        found.append(np.min(seen, axis=0))
    members, strangers = np.sort(found[0]), np.sort(found[1])
    below = np.searchsorted(strangers, members, side="left")
    upto = np.searchsorted(strangers, members, side="right")
    return float((below + upto).mean() / 2 / len(strangers))
