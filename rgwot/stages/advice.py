"""Advice on the settings of a training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rgwot.embedding.interface import VideoFeatures
from rgwot.embedding.loop import per_second
from rgwot.embedding.settings import TrainedEncoder
from rgwot.losses.settings import FusedGromovWasserstein
from rgwot.transport import structure_radius

LONG = 0.05
"""A training on vectors gives a warning if the window of C-IDM is a larger share of a video."""


def inactive_prior(settings: TrainedEncoder) -> str | None:
    """Return a sentence if the structural prior is requested but its radius is below one frame, otherwise None.

    The plan then depends on alpha only through its temperature (methods 3.4).
    """
    loss = settings.loss
    if not isinstance(loss, FusedGromovWasserstein):
        return None
    frames = settings.train.N + (loss.virtual == "cost")
    if loss.alpha == 0 or structure_radius(frames, loss.r) > 0:
        return None
    return (
        f"the structural prior does nothing: r = {loss.r} of {frames} frames is less than one frame; "
        f"it has an effect from r = {1 / frames:.4g}"
    )


def long_window(settings: TrainedEncoder, stores: Sequence[VideoFeatures]) -> str | None:
    """Return a sentence if features are vectors and C-IDM's window exceeds 5 % of a typical video, otherwise None."""
    cidm = settings.cidm
    if not (cidm.beta and cidm.gradient and all(store.vectors for store in stores)):
        return None
    lengths = [
        settings.train.N if cidm.unit == "positions" else per_second(store, cidm.unit) * store.duration_s
        for store in stores
    ]
    share = min(float(np.median([cidm.sigma / length for length in lengths])), 1.0)
    if share <= LONG:
        return None
    return (
        f"C-IDM attracts frames within {100 * share:.0f} % of a typical video, which merges shorter key steps; "
        "expected at most the length of a step: lower cidm.sigma or use the method rgwot-whitened"
    )
