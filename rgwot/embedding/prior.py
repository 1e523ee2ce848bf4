"""When a training asks for a structural prior that cannot act (methods 3.4)."""

from __future__ import annotations

from rgwot.config.radius import smallest_active_radius, structure_radius
from rgwot.config.settings import Settings


def inactive_prior(settings: Settings) -> str | None:
    """Return a sentence when the structural prior is asked for but its radius is below one frame, else None.

    The plan then depends on alpha only through the temperature epsilon / (1 - alpha) (methods 3.4).
    """
    ot, frames = settings.ot, settings.train.N + (settings.ot.virtual == "cost")
    if settings.loss.alignment != "gromov_wasserstein" or ot.alpha == 0 or structure_radius(frames, ot.r) > 0:
        return None
    return (
        f"the structural prior does nothing: r = {ot.r} of {frames} frames is less than one frame; "
        f"it acts from r = {smallest_active_radius(frames, frames):.4g}"
    )
