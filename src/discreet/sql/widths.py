"""Widths: how far the truth may credibly lie from an estimate over boxes.

Of every record it is known around which middle, and how far away from it, the probability to be
meant credibly lies (``sql.evenness``). A sum lies around that of the middles, as far as all of
these together and twice the standard error of chance. An average lies around that of the middles,
as far as twice its standard error and half of what it would be moved by if probabilities went with
the numbers as much as they can (Cauchy-Schwarz). The width is measured from the estimate, and
reaches no farther than the farther of the hard bounds.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from discreet.sql.trees import add_up, case, column, double, number

MIDDLE, REACH = "#middle", "#reach"


def weigh_ends(least: exp.Expr, most: exp.Expr) -> list[tuple[exp.Expr, str]]:
    """Say around what, and how far away, a probability credibly lies; each with its name."""
    middle = exp.paren(least + most) / number(2)
    return [(middle, MIDDLE), (exp.paren(most - least) / number(2), REACH)]


def reach_sum(x: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
    """Say around what, and how far away, a sum of x credibly lies but for chance."""
    return add_up(column(MIDDLE) * x), add_up(column(REACH) * exp.Abs(this=x.copy()))


def widen_sum(
    parts: Sequence[exp.Expr], middle: exp.Expr, reach: exp.Expr, error: exp.Expr
) -> exp.Expr:
    """Give the width of a sum, by its estimate and bounds, where it lies, and its error."""
    away = exp.Abs(this=exp.paren(parts[0].copy()) - middle)
    return _clip(away + reach + number(2) * error, parts)


def widen_average(parts: Sequence[exp.Expr], x: exp.Expr) -> exp.Expr:
    """Give the width of an average of x, by its estimate and bounds."""
    middle, reach = column(MIDDLE), column(REACH)
    people = exp.Nullif(this=add_there(x, middle), expression=number(0))
    mean = exp.paren(add_up(middle * double(x)) / people)
    chance = exp.Sqrt(this=add_squares(x, middle * exp.paren(1 - middle), mean))
    moved = exp.Sqrt(this=add_squares(x, reach, mean) * add_there(x, reach))
    away = exp.Abs(this=exp.paren(parts[0].copy()) - mean)
    return _clip(away + exp.paren(number(2) * chance + moved / number(2)) / people, parts)


def add_squares(x: exp.Expr, weight: exp.Expr, centre: exp.Expr) -> exp.Expr:
    """Add up the squares of what x differs from a centre, by weight; never less than nothing."""
    once = add_up(weight * double(x))
    twice = add_up(weight * double(x) * double(x))
    total = twice - number(2) * centre * once + centre * centre * add_there(x, weight)
    return exp.Greatest(this=total, expressions=[double(number(0))], ignore_nulls=True)


def add_there(x: exp.Expr, weight: exp.Expr) -> exp.Expr:
    """Add weights up where there is a number."""
    return add_up(case(x.copy().is_(exp.null()), exp.null(), weight.copy()))


def _clip(width: exp.Expr, parts: Sequence[exp.Expr]) -> exp.Expr:
    """Let a width reach no farther than the farther bound."""
    estimate, low, high = (exp.Paren(this=part.copy()) for part in parts)
    above = high - estimate
    farthest = exp.Greatest(this=estimate - low, expressions=[above], ignore_nulls=True)
    return exp.Least(this=width, expressions=[farthest], ignore_nulls=True)
