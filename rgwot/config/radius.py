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
        0, of either video of a pair, means that the structural prior does nothing: r is below 1/n. The matrix C^x is
        zero then, or C^y constant, and <C^x T C^y, T> the same number for every plan with the given marginals.

    Examples
    --------
    >>> structure_radius(33, 0.02), structure_radius(33, 0.04), structure_radius(100, 0.29)
    (0, 1, 29)
    """
    return math.floor(n * r + _ROUNDING)
