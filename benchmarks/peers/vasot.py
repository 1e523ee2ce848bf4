"""VASOT: ASOT with an additional loss that aligns pairs of videos (peers 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import torch
from asot import RELEASED, TEMPERATURE, Asot, counted_frames, labelled, learn
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from rgwot.blocks import NonNegative
from rgwot.config.extensions import Extension
from rgwot.keysteps.interface import Decoded, Frames
from rgwot.losses.cross_entropy import alignment_loss
from rgwot.runtime.limits import one_thread
from rgwot.transport.costs import cosine_cost, temporal_prior
from rgwot.transport.fused_gromov_wasserstein import solve

#: Published constants, the same for training and labels.
PUBLISHED: Mapping[str, Any] = {
    "asot.alpha": 0.5,
    "asot.alpha_test": 0.5,
    "asot.lambda_test": 0.1,
    "asot.epsilon_test": 0.07,
    "asot.epochs": 50,
}


class Vasot(Asot):
    """ASOT, with the alignment loss of pairs of videos added (peers 3)."""

    NAME = "vasot"
    FUNCTION = "vasot:decode_vasot"
    SOURCE = "VASOT, ICCV 2025"
    SETS = PUBLISHED

    beta: NonNegative = Field(1.0, description="weight of the alignment loss; VASOT")
    column: Literal["first", "last"] = Field(
        "first", description="place of the virtual column, of which the first is dropped; released code: last"
    )


ZETA = 0.5
"""Cost of the virtual frame; published."""


def align(x: Tensor, y: Tensor, block: Asot, column: str) -> Tensor:
    """Return the alignment loss of the frames (N, D) and (M, D) drawn of two videos, a scalar.

    A plan by the 25 x 1 solver (methods 3.4) with the constants of the segmentation, a virtual row in front, and the
    virtual column ``first`` or ``last``; the first row and the first column are dropped. With ``pad``, if a video has
    fewer than N frames, a copy of its last frame follows and replaces a virtual column that comes last.
    """
    counted, frames = [counted_frames(len(one), block) for one in (x, y)], y.detach()
    if column == "last" and len(y) < counted[1]:
        frames = torch.cat([frames, frames[-1:]])
    places = [torch.arange(n).double() / of for n, of in zip((len(x), len(frames)), counted, strict=True)]
    cost = cosine_cost(x.detach().double()[None], frames.double()[None]) + block.rho * temporal_prior(*places)
    beside = (1, 0) if column == "first" else (0, 1 + len(y) - len(frames))
    plan = solve(
        F.pad(cost, (*beside, 1, 0), value=ZETA),
        alpha=block.alpha,
        epsilon=block.epsilon,
        r=block.r,
        solver="parity",
        max_iterations=1,
        tolerance=1.0,
        parity_outer=block.iterations,
        length=block.N + 1 if block.pad else None,
    ).plan
    weights = (len(x) + 1) * plan[:, 1:, 1:]
    return alignment_loss(x[None], y[None], weights, TEMPERATURE, symmetric=False).sum() * (len(x) / counted[0])


def decode_vasot(frames: Frames, K: int, generator: np.random.Generator, settings: Vasot) -> Decoded:
    """Learn an embedding and centres from segmentation and alignment, and label as ASOT: the decoder ``vasot``.

    A single video cannot be aligned with another one, and is segmented as by ``asot``.
    """

    def alignment(x: Tensor, y: Tensor) -> Tensor:
        return settings.beta * align(x, y, settings, settings.column)

    with one_thread():
        learned, losses = learn(frames, K, settings, generator, alignment if settings.beta else None)
    return labelled(learned, losses, frames, K, "vasot")


class VasotReleased(Vasot):
    """VASOT with the preprocessing of its code, and with the mistake of its code that drops the wrong column."""

    NAME = "vasot-released"
    SETS = {**PUBLISHED, **RELEASED, "asot.start": "random", "vasot.column": "last"}


EXTENSION = Extension(decoders=[Vasot, VasotReleased])
