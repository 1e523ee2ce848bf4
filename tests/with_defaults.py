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
ENDS = {key: getattr(OT, key) for key in ("rho", "zeta", "virtual")}
BALANCED = COMMON | {"r": OT.r, "solver": OT.solver}
PARTIAL = COMMON | {"tau_m": OT.tau_m, "lambda_s": OT.lambda_s, "b": OT.b}
PRIORS = {"density": LOSS.prior, "zeta": OT.zeta, "lambda1": LOSS.lambda1, "lambda2": LOSS.lambda2}


def solve(cost: Tensor, **changes: Any) -> TransportResult:
    return transport.solve(cost, **BALANCED | changes)


def align_frames(x: Tensor, y: Tensor, **changes: Any) -> FrameAlignment:
    return transport.align_frames(x, y, **ENDS | BALANCED | changes)


def align_frames_partially(x: Tensor, y: Tensor, **changes: Any) -> Tensor:
    return transport.align_frames_partially(x, y, **ENDS | PARTIAL | changes)


def kantorovich_match(x: Tensor, y: Tensor, phi: Tensor, **changes: Any) -> Matching:
    return match(x, y, phi, **PRIORS | {"solver": OT.sinkhorn, "last": OT.last} | changes)
