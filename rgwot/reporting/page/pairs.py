"""Transport plans between pairs of videos, as the alignment loss sees them."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rgwot.config.settings import TransportSettings
from rgwot.reporting.page.pictures import strip_times

#: Videos of a task whose pairs are aligned: 276 plans, about 400 kB.
MAX_VIDEOS = 24
_AT_ONCE = 64


def nearest_samples(time_s: NDArray[Any], duration_s: float) -> NDArray[np.int64]:
    """Return which sample (32,) is nearest to each of the strip's 32 times; times (T,) in seconds, T >= 1."""
    wanted = strip_times(duration_s)
    nearest: NDArray[np.int64] = np.abs(np.asarray(time_s)[None, :] - wanted[:, None]).argmin(axis=1)
    return nearest


def align_pairs(
    videos: Mapping[str, tuple[NDArray[Any], NDArray[Any], float]], settings: TransportSettings
) -> dict[str, Any]:
    """Align every pair among the first `MAX_VIDEOS` videos, 32 evenly spaced frames each.

    Parameters
    ----------
    videos
        Embeddings (T, D), times (T,) and duration in seconds by video.
    settings
        The block ``ot`` of the method.

    Returns
    -------
    dict
        ``videos``: ids; ``virtual``: how frames without partner are treated; ``pairs``: for every pair ``x``
        before ``y`` (positions in ``videos``) the plan of matching probabilities T* (32, 32), ``plan``: uint8 in
        base64, row by row, in units of ``unit``; ``x_virtual``, ``y_virtual`` (32,): the share of each frame's mass
        that goes to the virtual frame; ``virtual_mass``: the mean of both.
    """
    import torch

    from rgwot.transport import align_frames

    names = list(videos)[:MAX_VIDEOS]
    chosen = {name: nearest_samples(videos[name][1], videos[name][2]) for name in names}
    x = torch.from_numpy(np.stack([np.asarray(videos[name][0])[chosen[name]] for name in names]))
    positions = torch.from_numpy(
        np.stack([np.asarray(videos[name][1])[chosen[name]] / videos[name][2] for name in names])
    )
    in_time = settings.prior_time == "times"
    pairs: list[dict[str, Any]] = []
    every = list(combinations(range(len(names)), 2))
    for start in range(0, len(every), _AT_ONCE):
        first, second = (list(side) for side in zip(*every[start : start + _AT_ONCE], strict=True))
        found = align_frames(
            x[first],
            x[second],
            alpha=settings.alpha,
            epsilon=settings.epsilon,
            rho=settings.rho,
            r=settings.r,
            zeta=settings.zeta,
            solver=settings.solver,
            virtual=settings.virtual,
            max_iterations=settings.max_iterations,
            tolerance=settings.tolerance,
            x_positions=positions[first] if in_time else None,
            y_positions=positions[second] if in_time else None,
        )
        for at, pair in enumerate(every[start : start + _AT_ONCE]):
            mass = found.transport.plan[at].numpy()
            matched = found.x_matched[at].numpy(), found.y_matched[at].numpy()
            pairs.append(_pair(pair, found.weights[at].numpy(), mass, matched, settings.virtual))
    return {"videos": names, "virtual": settings.virtual, "pairs": pairs}


def _pair(
    pair: tuple[int, int],
    weights: NDArray[Any],
    mass: NDArray[Any],
    matched: Sequence[NDArray[Any]],
    virtual: str,
) -> dict[str, Any]:
    """Put one plan into a small form: every value to 1/255 of the largest."""
    if virtual == "cost":
        shares = mass[1:, 0] / mass[1:].sum(axis=1), mass[0, 1:] / mass[:, 1:].sum(axis=0)
    else:
        shares = (~matched[0]).astype(np.float64), (~matched[1]).astype(np.float64)
    unit = float(weights.max()) / 255
    levels = np.rint(weights / unit if unit > 0 else weights).astype(np.uint8)
    return {
        "x": pair[0],
        "y": pair[1],
        "unit": unit,
        "plan": base64.b64encode(levels.tobytes()).decode(),
        "x_virtual": np.round(shares[0], 3).tolist(),
        "y_virtual": np.round(shares[1], 3).tolist(),
        "virtual_mass": round(float(np.concatenate(shares).mean()), 4),
    }
