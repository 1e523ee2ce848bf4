"""Settings of RGWOT's alignment loss and C-IDM, and bases for the losses of other papers."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from rgwot.blocks import Block, Count, FunctionOrPath, Model, NonNegative, Positive


class Loss(Model):
    """An alignment loss (`rgwot.losses.interface.Alignment`).

    ``LEARNED`` makes the module that the loss trains besides the encoder, if any.
    """

    BLOCK = "loss"
    LEARNED: ClassVar[FunctionOrPath] = ""

    def by_block(self) -> dict[str, dict[str, object]]:
        """Return all values by block and key, and the name of the loss as ``loss.alignment``."""
        found = super().by_block()
        return {**found, "loss": {"alignment": self.NAME, **found.get("loss", {})}}


class NoAlignment(Loss):
    """No alignment loss; C-IDM trains alone."""

    NAME = "none"
    FUNCTION = "rgwot.losses.interface:align_none"


class VirtualFrame(Loss):
    """The virtual frame (methods 3.5)."""

    BLOCK = "ot"

    zeta: NonNegative = Field(0.5, description="cost (or threshold) of the virtual frame; paper")


class PairPlan(VirtualFrame):
    """A plan between the frames of two videos (methods 3.3 to 3.5)."""

    alpha: Annotated[float, Field(ge=0, lt=1)] = Field(0.3, description="weight of the structural term; paper")
    epsilon: Positive = Field(0.07, description="weight of the entropy; paper")
    rho: NonNegative = Field(0.35, description="weight of the temporal prior; paper")
    virtual: Literal["cost", "threshold", "none"] = Field(
        "cost",
        description="virtual frame as a row and column of constant cost, as a threshold on the plan, or none",
    )
    max_iterations: Count = Field(100, description="largest number of outer iterations of the converged solver")
    tolerance: Positive = Field(1e-6, description="relative marginal error of the converged plan")
    prior_time: Literal["positions", "times"] = Field(
        "positions", description="temporal prior on sampled positions (paper) or on true relative times"
    )


class FusedGromovWasserstein(PairPlan):
    """Regularised fused Gromov-Wasserstein transport (methods 3.3 to 3.5)."""

    r: Annotated[float, Field(gt=0, le=1)] = Field(
        0.02, description="radius of the structural prior, share of N; paper"
    )
    solver: Literal["converged", "parity"] = Field(
        "converged",
        description="converged: log domain, 2 alpha gradient; parity: the public code's 25 x 1 passes",
    )


#: The keys of one transport problem: arguments of `rgwot.transport.align_frames`.
PROBLEM = frozenset(FusedGromovWasserstein.model_fields) - {"prior_time"}


class Softmax(Loss):
    """The softmax over the frames of the other video (methods 3.6)."""

    BLOCK = "loss"

    tau: Positive = Field(0.1, description="softmax temperature; public code")


class GromovWasserstein(FusedGromovWasserstein, Softmax):
    """Cross-entropy with a regularised fused Gromov-Wasserstein plan (methods 3.3 to 3.6)."""

    NAME = "gromov_wasserstein"
    BLOCK = "loss"
    FUNCTION = "rgwot.losses.cross_entropy:align_gromov_wasserstein"
    SOURCE = "RGWOT, WACV 2026"

    symmetric: bool = Field(False, description="average of X to Y and Y to X instead of X to Y alone")


#: Alignment losses by name; `rgwot.config.methods` and extensions add to them.
LOSSES: dict[str, type[Loss]] = {loss.NAME: loss for loss in (GromovWasserstein, NoAlignment)}


class CidmSettings(Block):
    """Contrastive inverse difference moment, C-IDM (methods 3.6)."""

    BLOCK: ClassVar[str] = "cidm"

    beta: NonNegative = Field(
        1 / 32,
        description="weight of C-IDM (a sum over frames) against the alignment loss (a mean); ours makes C-IDM a mean "
        "over 32 frames; paper (printed there as ξ) and public code: 1",
    )
    lambda_: Positive = Field(2.0, alias="lambda", description="margin; paper")
    sigma: Positive = Field(10.0, description="temporal window in `unit`; the paper's 300 frames at 30 fps")
    unit: Literal["seconds", "native_frames", "positions", "share"] = Field(
        "seconds",
        description="unit of time in C-IDM; positions: of the N sampled frames; share: of the video's length",
    )
    distance: Literal["squared", "euclidean"] = Field("squared", description="squared: as the public code")
    weight: Literal["relative_time", "time", "none"] = Field(
        "relative_time",
        description="weight of far pairs: ((t_i - t_j) / L)^2 + 1 (public code), (t_i - t_j)^2 + 1 in `unit` (paper), "
        "or 1",
    )
    positives: Literal["plain", "weighted"] = Field(
        "plain", description="near pairs: d (public code), or d divided by the weight (paper)"
    )
    over_n: bool = Field(False, description="divide the total loss by N if C-IDM is a part of it; public code")
    gradient: bool = Field(True, description="whether C-IDM trains the encoder (false in CnC's released code)")
