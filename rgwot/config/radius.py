"""The radius of the structural prior in frames, and when the prior cannot act (methods 3.3, 3.4)."""

from __future__ import annotations

import math

from rgwot.config.settings import Settings

# N r is formed in floating point: 100 * 0.29 is 28.999999999999996 and must count as 29 frames.
_ROUNDING = 1e-9


def structure_radius(n: int, r: float) -> int:
    """Return a = floor(n r), the number of neighbours on each side that the prior looks at (methods 3.3).

    Of n frames of the transport problem, the virtual frame included, and r >= 0, a fraction of the sequence. With 0 the
    structural prior does nothing.

    >>> structure_radius(33, 0.02), structure_radius(33, 0.04), structure_radius(100, 0.29)
    (0, 1, 29)
    """
    return math.floor(n * r + _ROUNDING)


def smallest_active_radius(n: int, m: int) -> float:
    """Smallest r at which the structural prior changes the plan of an (n, m) problem.

    Below 1/n the matrix C^x is zero. Below 1/m the matrix C^y is constant, and then <C^x T C^y, T> is the same number
    for every plan with the given marginals. Both have to be active, hence 1/min(n, m); n and m include the virtual
    frame: 33 for 32 sampled frames.
    """
    return 1 / min(n, m)


def inactive_prior(settings: Settings) -> str | None:
    """Return a sentence when a training asks for the structural prior but its radius is below one frame, else None.

    The plan then depends on alpha only through the temperature epsilon / (1 - alpha) (methods 3.4).
    """
    ot, frames = settings.ot, settings.train.N + (settings.ot.virtual == "cost")
    if settings.loss.alignment != "gromov_wasserstein" or ot.alpha == 0 or structure_radius(frames, ot.r) > 0:
        return None
    return (
        f"the structural prior does nothing: r = {ot.r} of {frames} frames is less than one frame; "
        f"it acts from r = {smallest_active_radius(frames, frames):.4g}"
    )
