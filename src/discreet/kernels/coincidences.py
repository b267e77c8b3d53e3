"""How often people have the number they show, over all ways to give them the numbers there are.

There are n records and n numbers; c people have a number and r records show it. An arrangement that
gives h records the number they show counts γ^h times. Write γ = 1 + λ: then it is the sum, over all
choices of some of these h *coincidences*, of λ to their number. So all arrangements together count
``Σ_m λ^m (n-m)! R_m``, where R_m is in how many ways m records and m numbers can be paired that
agree: the coefficients of the product of ``Σ_j C(c,j) C(r,j) j! t^j`` over all numbers, polynomials
of rooks on a full board of c by r.

As ``(n-m)!`` is the integral of ``e^-z z^(n-m)``, this is the integral of ``e^-z z^n Π R(λ/z)``:
at a given z the numbers do not depend on each other. What is asked of arrangements is an integral
of the same kind, a polynomial without negative coefficients in place of the product, so that every
answer is an average over z, with the same weights.

The integrals are taken by the trapezoidal rule over s = ln z. Turned by an angle d < π/2, the
integrand is at most ``cos(d)^-(n+1)`` times as large in all, so that the rule is off by at most
``2 cos(d)^-(n+1) / (exp(2πd/step) - 1)`` of the integral (Trefethen, Weideman, SIAM Review 2014,
Theorem 5.1). The step is chosen to make that less than 1e-13. The polynomials have real roots only,
none above 0, so that the logarithm of the integrand is concave in z: it has one peak, and falls.
"""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled

HUGE = 1e200
FALL = 60.0
"""Beyond where the integrand has fallen by so many powers of e, nothing is left of it."""


@compiled
def _place(held, shown, odds):
    """Of one number: the logarithm of its polynomial, and how many coincidences are chosen."""
    term, total, moment, log = 1.0, 1.0, 0.0, 0.0
    for j in range(min(held, shown)):
        term *= odds * (held - j) * (shown - j) / (j + 1)
        total += term
        moment += term * (j + 1)
        if moment > HUGE:
            term, total, moment, log = term / HUGE, total / HUGE, moment / HUGE, log + np.log(HUGE)
    return log + np.log(total), moment / total


@compiled
def _weigh(n, held, shown, times, lift, s, chosen):
    """Give the logarithm of the integrand at s, and how many coincidences are chosen in all."""
    z = np.exp(s)
    log, total = (n + 1) * s - z, 0.0
    for i in range(held.shape[0]):
        one, chosen[i] = _place(held[i], shown[i], lift / z)
        log += times[i] * one
        total += times[i] * chosen[i]
    return log, total


@compiled
def count_coincidences(n, held, shown, times, lift):
    """Give places z, how much each counts, and there the coincidences chosen, on average, per kind.

    Of each kind there are ``times`` numbers that ``held`` people have and ``shown`` records show;
    ``lift`` is λ.
    """
    chosen = np.empty(held.shape[0])
    low, high = 0.0, np.log(n + 1.0)
    for _ in range(40):  # the one peak is where z + chosen = n + 1, and chosen <= n
        middle = (low + high) / 2
        _, total = _weigh(n, held, shown, times, lift, middle, chosen)
        if n + 1 - np.exp(middle) - total > 0:
            low = middle
        else:
            high = middle
    turn = min(1.0, np.sqrt(62.0 / (n + 1)))
    step = 2 * np.pi * turn / (31 - (n + 1) * np.log(np.cos(turn)))
    top, _ = _weigh(n, held, shown, times, lift, low, chosen)
    found = []
    for way in (-step, step):
        s = low if way < 0 else low + step
        while True:
            log, _ = _weigh(n, held, shown, times, lift, s, chosen)
            if log < top - FALL:
                break
            found.append((s, log, chosen.copy()))
            s += way
    places, counts = np.empty(len(found)), np.empty(len(found))
    per_kind = np.empty((len(found), held.shape[0]))
    for g in range(len(found)):
        s, log, per_kind[g] = found[g]
        places[g], counts[g] = np.exp(s), np.exp(log - top)
    return places, counts / counts.sum(), per_kind
