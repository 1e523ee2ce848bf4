"""When a training asks for a prior that cannot act (methods 3.4), or for a window that is too long (methods 4.14)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rgwot.config.radius import smallest_active_radius, structure_radius
from rgwot.config.settings import Settings
from rgwot.features.store import FeatureStore

LONG = 0.05
"""Share of a video that the window of C-IDM may have on vectors before a training says so."""


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


def per_second(store: FeatureStore, unit: str) -> float:
    """Return how many units of ``cidm.unit`` a second of a video has."""
    if unit == "share":
        return 1 / store.duration_s
    return float(store.native_fps) if unit == "native_frames" else 1.0


def long_window(settings: Settings, stores: Sequence[FeatureStore]) -> str | None:
    """Return a sentence when C-IDM pulls together more than 5 % of a typical video of vectors, else None."""
    cidm = settings.cidm
    if not (cidm.beta and cidm.gradient and all(store.vectors for store in stores)):
        return None
    share = float(np.median([cidm.sigma / (per_second(store, cidm.unit) * store.duration_s) for store in stores]))
    if share <= LONG:
        return None
    return (
        f"C-IDM pulls together what lies within {100 * share:.0f} % of a typical video, and shorter key steps with it; "
        "expected at most the length of a step: lower cidm.sigma or take the method rgwot-whitened"
    )
