"""Matching of frames with the constants of the settings, but for what a test changes."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from rgwot import transport
from rgwot.config.settings import LossSettings, TransportSettings
from rgwot.transport import FrameAlignment, TransportResult
from rgwot.transport.kantorovich import Matching
from rgwot.transport.kantorovich import kantorovich_match as match

OT, LOSS = TransportSettings(), LossSettings()
COMMON = {key: getattr(OT, key) for key in ("alpha", "epsilon", "max_iterations", "tolerance")}
BALANCED = COMMON | {"r": OT.r, "solver": OT.solver}
PRIORS = {"density": LOSS.prior, "zeta": OT.zeta, "lambda1": LOSS.lambda1, "lambda2": LOSS.lambda2}


def solve(cost: Tensor, **changes: Any) -> TransportResult:
    return transport.solve(cost, **BALANCED | changes)


def align_frames(
    x: Tensor, y: Tensor, positions: tuple[Tensor, Tensor] | None = None, **changes: Any
) -> FrameAlignment:
    return transport.align_frames(x, y, TransportSettings(**changes), positions)


def align_frames_partially(
    x: Tensor, y: Tensor, positions: tuple[Tensor, Tensor] | None = None, **changes: Any
) -> Tensor:
    return transport.align_frames_partially(x, y, TransportSettings(**changes), positions)


def kantorovich_match(x: Tensor, y: Tensor, phi: Tensor, **changes: Any) -> Matching:
    return match(x, y, phi, **PRIORS | {"solver": OT.sinkhorn, "last": OT.last} | changes)
