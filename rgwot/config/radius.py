"""The radius of the structural prior in frames (methods 3.3, 3.4)."""

from __future__ import annotations

import math

# N r is formed in floating point: 100 * 0.29 is 28.999999999999996 and must count as 29 frames.
_ROUNDING = 1e-9


def structure_radius(n: int, r: float) -> int:
    """Return a = floor(n r), the number of neighbours on each side that the prior looks at (methods 3.3).

    Parameters
    ----------
    n : int
        Frames of the transport problem, the virtual frame included.
    r : float
        Radius as a fraction of the sequence, >= 0.

    Returns
    -------
    int
        0 means that the structural prior does nothing.

    Examples
    --------
    >>> structure_radius(33, 0.02), structure_radius(33, 0.04), structure_radius(100, 0.29)
    (0, 1, 29)
    """
    return math.floor(n * r + _ROUNDING)


def smallest_active_radius(n: int, m: int) -> float:
    """Smallest r at which the structural prior changes the plan of an (n, m) problem.

    Below 1/n the matrix C^x is zero. Below 1/m the matrix C^y is constant, and then <C^x T C^y, T> is the same number
    for every plan with the given marginals. Both have to be active, hence 1/min(n, m).

    Parameters
    ----------
    n, m : int
        Frames of the transport problem, the virtual frame included: 33 for 32 sampled frames.
    """
    return 1 / min(n, m)
