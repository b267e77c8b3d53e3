"""What a model tells of the people of groups, and who of them can be exchanged."""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled

LOWEST = -60.0
"""Scores so far below the best of a person count as that."""
TIMES = 6
"""So often the values of a group are shared out among its people."""
ROUNDED = 1e-9
"""A belief so little above the share of a value is that share."""


@compiled
def judge_people(
    offsets, order, firsts, codes, counts, shown, scores, fold, kind, weight, limit, row_of, rows
):  # fmt: skip
    """Share out the values of each group among its people, by what a model scores them with.

    Group ``g`` has the people ``order[offsets[g]:offsets[g + 1]]``, and so many ``counts`` of the
    values ``codes[firsts[g]:firsts[g + 1]]``. What a person shows adds up scores, by the kind of a
    value and times its weight; which ones, the fold of the group says. Values are shared out so
    that everybody has one and all of them are somebody's (Sinkhorn); from there, how likely each is
    follows where all others of the group take the rest: of p of a value that is there c times,
    p / (1 - p/c).

    Gives how often each kind goes with all that is shown, by fold; per person the largest belief,
    as a multiple of the limit of the value, of those that are more than the share of the value, the
    likeliest value, the mean of its weight and of its square; per value of a group how much it
    pulls; and how often each value is believed of so many rows together, into which some people
    are counted (``row_of``, below 0 for others).
    """
    folds, total, kinds = scores.shape
    n, width = shown.shape
    seen = np.zeros((folds, total, kinds))
    worst, mean, square = np.zeros(n), np.zeros(n), np.zeros(n)
    likeliest, expected = np.empty(n, np.int32), np.zeros((rows, len(limit)))
    pull = np.empty(len(codes))
    added = np.empty(kinds)
    for g in range(len(offsets) - 1):
        start, first = offsets[g], firsts[g]
        m, d, of = offsets[g + 1] - start, firsts[g + 1] - first, fold[g]
        p, held = np.empty((m, d)), np.empty(d)
        for i in range(m):
            _score(p[i], order[start + i], shown, scores[of], codes, first, kind, weight, added)
        x = pull[first : first + d]
        for v in range(d):
            x[v] = counts[first + v]
        for _ in range(TIMES):
            held[:] = 0
            for i in range(m):
                all_of = 0.0
                for v in range(d):
                    all_of += p[i, v] * x[v]
                for v in range(d):
                    held[v] += p[i, v] * x[v] / all_of
            for v in range(d):
                x[v] *= counts[first + v] / held[v]
        held[:] = 0
        for i in range(m):
            row = order[start + i]
            _leave_rest(p[i], x, counts, first)
            likeliest[row] = codes[first + np.argmax(p[i])]
            for v in range(d):
                held[v] += p[i, v]
                if p[i, v] > counts[first + v] / m + ROUNDED:
                    worst[row] = max(worst[row], p[i, v] / limit[codes[first + v]])
        for i in range(m):
            row, all_of = order[start + i], 0.0
            for v in range(d):
                p[i, v] *= counts[first + v] / held[v]
                all_of += p[i, v]
            for v in range(d):
                q, code = p[i, v] / all_of, codes[first + v]
                mean[row] += q * weight[code]
                square[row] += q * weight[code] * weight[code]
                if row_of[row] >= 0:
                    expected[row_of[row], code] += q
                for j in range(width):
                    seen[of, shown[row, j], kind[code]] += q
    return seen, worst, likeliest, mean, square, pull, expected


@compiled
def _score(p, row, shown, scores, codes, first, kind, weight, added):
    """Say how likely each value of a group is by what somebody shows, the likeliest being 1."""
    added[:] = 0
    for j in range(shown.shape[1]):
        at = shown[row, j]
        for k in range(len(added)):
            added[k] += scores[at, k]
    most = -np.inf
    for v in range(len(p)):
        code = codes[first + v]
        p[v] = added[kind[code]] * weight[code]
        most = max(most, p[v])
    for v in range(len(p)):
        p[v] = np.exp(max(p[v] - most, LOWEST))


@compiled
def _leave_rest(p, x, counts, first):
    """Turn how likely values are, and pull, into what is believed if others take the rest."""
    all_of, again = 0.0, 0.0
    for v in range(len(p)):
        p[v] *= x[v]
        all_of += p[v]
    for v in range(len(p)):
        p[v] /= all_of
        p[v] /= max(1 - p[v] / counts[first + v], ROUNDED)
        again += p[v]
    for v in range(len(p)):
        p[v] /= again


@compiled
def compare_expected(shown, rows, expected, scores, always):
    """Say how far values are from what scores of all that is shown make of them (softmax).

    Of each of some ``rows`` it is ``expected`` how often it has each value. Gives the sum of
    logarithms of how likely that is, and its slope by the scores, and by what ``always`` adds.
    """
    kinds = len(always)
    slopes, added, here = np.zeros(scores.shape), np.zeros(kinds), np.empty(kinds)
    likely = 0.0
    for r in rows:
        here[:] = always
        for j in range(shown.shape[1]):
            at = shown[r, j]
            for k in range(kinds):
                here[k] += scores[at, k]
        most, often = here.max(), 0.0
        for k in range(kinds):
            likely += expected[r, k] * here[k]
            often += expected[r, k]
            here[k] = np.exp(here[k] - most)
        all_of = here.sum()
        likely -= often * (np.log(all_of) + most)
        for k in range(kinds):
            here[k] = expected[r, k] - often * here[k] / all_of
            added[k] += here[k]
        for j in range(shown.shape[1]):
            at = shown[r, j]
            for k in range(kinds):
                slopes[at, k] += here[k]
    return likely, slopes, added


@compiled
def exchange_people(
    telling, labels, own, by_own, starts, tried, firsts, codes, counts, pull, sizes, shown, scores,
    kind, weight, limit, most, room,
):  # fmt: skip
    """Exchange people of whom too much is told with others who have the same value.

    The groups keep their values. Of others by ``own`` value (``by_own``, from ``starts``) those are
    ``tried`` who come first after a place; the one is taken of whom, and with whom, least is told
    in the other's group, if that is below ``most``. Of a group no more than one of so many people
    (``room``) are exchanged, as it is another one then. Changes the labels of people; flags those
    for whom nobody was found.
    """
    left = np.zeros(len(telling), np.bool_)
    moved = np.zeros(len(sizes), np.int64)
    widest = 0
    for g in range(len(sizes)):
        widest = max(widest, firsts[g + 1] - firsts[g])
    p, added = np.empty(widest), np.empty(scores.shape[1])
    for b in range(len(telling)):
        row = telling[b]
        g, low = labels[row], starts[own[row]]
        among = starts[own[row] + 1] - low
        best, found = most, -1
        if moved[g] * room < sizes[g]:
            for t in range(min(tried.shape[1], among)):
                other = by_own[low + tried[b, t] % among]
                h = labels[other]
                if h == g or moved[h] * room >= sizes[h]:
                    continue
                told = _tell(p, row, h, sizes, firsts, codes, counts, pull, shown, scores, kind,
                             weight, limit, added)  # fmt: skip
                if told < best:
                    told = max(told, _tell(p, other, g, sizes, firsts, codes, counts, pull, shown,
                                           scores, kind, weight, limit, added))  # fmt: skip
                    if told < best:
                        best, found = told, other
        if found < 0:
            left[b] = True
            continue
        h = labels[found]
        labels[row], labels[found] = h, g
        moved[g] += 1
        moved[h] += 1
    return left


@compiled
def _tell(
    p, row, g, sizes, firsts, codes, counts, pull, shown, scores, kind, weight, limit, added
):  # fmt: skip
    """Give the largest belief in a value of somebody in a group, as a multiple of its limit."""
    first, d = firsts[g], firsts[g + 1] - firsts[g]
    here = p[:d]
    _score(here, row, shown, scores, codes, first, kind, weight, added)
    _leave_rest(here, pull[first : first + d], counts, first)
    most = 0.0
    for v in range(d):
        if here[v] > counts[first + v] / sizes[g] + ROUNDED:
            most = max(most, here[v] / limit[codes[first + v]])
    return most
