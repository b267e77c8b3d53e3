"""Wording: how numbers are said to people, who would rather not divide by 64352828563."""

from __future__ import annotations

from fractions import Fraction

SIMPLE = 1000
"""Fractions of smaller denominators are said as such."""
AS_FAR = (
    "That holds as far as the bytes can tell: a cell that was changed to what some table of these "
    "people gives is not noticed. Whether a release is the one that was signed off, discreet "
    "verify tells by its evidence."
)
"""How far it goes that an audit finds nothing wrong."""


def say_share(share: Fraction) -> str:
    """Say a share as a percentage, and as a fraction where that is simple.

    >>> say_share(Fraction(1, 8)), say_share(Fraction(5061000000, 64352828563))
    ('1/8 = 12.5%', '7.9%')
    """
    briefly = say_briefly(share)
    return briefly if briefly.endswith("%") else f"{briefly} = {float(share):.1%}"


def say_briefly(share: Fraction) -> str:
    """Say a share as a fraction where that is simple, else as a percentage.

    >>> say_briefly(Fraction(1, 8)), say_briefly(Fraction(5061000000, 64352828563))
    ('1/8', '7.9%')
    """
    return str(share) if share.denominator < SIMPLE else f"{float(share):.1%}"


def say_number(number: Fraction) -> str:
    """Say a number as people write it, large ones to one decimal.

    >>> say_number(Fraction("14041.125")), say_number(Fraction(79768)), say_number(Fraction(3, 8))
    ('14,041.1', '79,768', '0.375')
    """
    if number.denominator == 1:
        return f"{int(number):,}"
    return f"{float(number):,.1f}" if abs(number) >= SIMPLE else f"{float(number):g}"
