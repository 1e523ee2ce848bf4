"""Frame rates as exact fractions."""

from __future__ import annotations

from fractions import Fraction


def parse_rate(text: str | float | Fraction) -> Fraction:
    """Return a frame rate as an exact fraction.

    A rate written as a fraction is taken as it stands. A decimal one becomes the fraction with a denominator
    up to 1001 that it stands for, where there is one: 29.97002997 is 30000/1001, not a long decimal.

    Raises
    ------
    ValueError
        When the text is not a positive rate.

    Examples
    --------
    >>> parse_rate("30000/1001"), parse_rate(29.97002997002997), parse_rate("25.0")
    (Fraction(30000, 1001), Fraction(30000, 1001), Fraction(25, 1))
    """
    try:
        rate = Fraction(str(text).strip())
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"fps: got {text!r}, expected a rate like 30 or 30000/1001") from None
    if rate <= 0:
        raise ValueError(f"fps: got {text!r}, expected a positive rate")
    simple = rate.limit_denominator(1001)
    return simple if abs(simple - rate) <= rate / 10**8 else rate


def rate_text(value: str | float) -> str:
    """Return a rate of the settings in its exact form, like ``30000/1001``.

    Raises
    ------
    ValueError
        When it is not a positive rate.
    """
    try:
        return str(parse_rate(value))
    except ValueError:
        raise ValueError("expected a positive rate like 30 or 30000/1001") from None
