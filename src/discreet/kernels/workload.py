"""Counting the rows that a workload of conditions on codes selects."""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled


@compiled
def count_rows(codes, passes, starts):
    """Count, per query, the rows all of whose codes pass.

    ``passes[q, starts[a] + code]`` says whether a code of attribute a passes query q.
    """
    counts = np.zeros(passes.shape[0], np.int64)
    for q in range(passes.shape[0]):
        hits = 0
        for row in range(codes.shape[1]):
            good = True
            for a in range(codes.shape[0]):
                if not passes[q, starts[a] + codes[a, row]]:
                    good = False
                    break
            hits += good
        counts[q] = hits
    return counts
