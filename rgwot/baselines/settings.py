"""Settings of the methods that the paper compares with."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from rgwot.blocks import Block, Count, NonNegative, Positive
from rgwot.keysteps.settings import RestartSettings
from rgwot.losses.settings import SoftmaxSettings, VirtualFrameSettings


class TccSettings(SoftmaxSettings):
    """Temporal cycle consistency, `tcc` (methods 4.2)."""

    lambda_v: NonNegative = Field(1e-3, description="weight of the log variance of tcc; TCC's code")
    distance: Literal["squared", "elementwise"] = Field(
        "squared",
        description="tcc: squared, or CnC's released code's |u_j|^2 + |v_j|^2 - 2 u_i.v_j, at least 0",
    )


class KantorovichLossSettings(Block):
    """Transport with a prior on the matches, `kantorovich` (methods 4.5 to 4.7)."""

    BLOCK: ClassVar[str] = "loss"

    prior: Literal["gaussian", "laplace"] = Field(
        "gaussian", description="kantorovich: density of the prior on the matches; VAVA, or laplace (OPEL)"
    )
    phi_rate: Positive = Field(
        1.0, description="kantorovich: how fast the temporal prior gives way to the nearest frame; VAVA 1, OPEL 100"
    )
    count_from: Annotated[int, Field(ge=0)] = Field(
        0, description="kantorovich: number of the first iteration for the temporal prior; VAVA 0, OPEL 1"
    )
    lambda1: NonNegative = Field(1.0, description="kantorovich: weight of the moment term, in units of N + M; VAVA")
    lambda2: Positive = Field(0.1, description="kantorovich: divergence from the prior, in units of N M / 4; VAVA")
    window: NonNegative = Field(15.0, description="kantorovich: window of the contrast in a video, in samples; VAVA")
    weighted_negatives: bool = Field(
        False, description="kantorovich: far pairs of the contrast in a video have the weight (i - j)^2 + 1 (OPEL)"
    )
    lambda_c: NonNegative = Field(1e-4, description="kantorovich: weight of the contrast between the videos; VAVA")


class KantorovichTransportSettings(VirtualFrameSettings):
    """The transport of `kantorovich` (methods 4.5 to 4.7)."""

    sinkhorn: Literal["pot", "batched"] = Field(
        "pot",
        description="kantorovich: the passes of the methods, by POT per pair; batched: as many as it takes to converge",
    )
    last: Literal["rows", "columns"] = Field(
        "rows",
        description="kantorovich: side scaled last, whose sums are exact: rows, 21 passes (VAVA), or columns, 20 and a "
        "half (OPEL)",
    )


class RegressionSettings(Block):
    """Continuous temporal embedding, `cte`: regression on relative time (methods 4.9)."""

    BLOCK: ClassVar[str] = "regression"

    E: Count = Field(200, description="units of the second layer, the first has 2E; 200 for YouTube, 20 for Breakfast")
    epochs: Count = Field(90, description="passes over the frames; 90 for YouTube, 60 for Breakfast")
    lr: Positive = Field(1e-3, description="learning rate, a tenth of it after every 30 epochs; Breakfast: 1e-4")
    weight_decay: NonNegative = Field(1e-4, description="coupled L2 weight decay; public code")
    batch: Count = Field(256, description="frames per step; public code")
    standardise: bool = Field(False, description="features of mean 0 and deviation 1 in every video; Breakfast: true")


class GraphSettings(Block):
    """The graph of a task's clips, `unitygraph` and `gpl`; our reading of the abstract (methods 4.8)."""

    BLOCK: ClassVar[str] = "graph"

    clip_s: Positive = Field(1.0, description="length of a clip, a node, in seconds; about 32 frames at 30 fps")
    neighbours: Count = Field(5, description="spatial edges of a clip: to the most similar clips of other videos")
    update: Literal["node2vec", "mean"] = Field(
        "node2vec", description="embedding of a node: Node2Vec (gpl), or the mean of it and its neighbours (unitygraph)"
    )
    D: Count = Field(128, description="dimensions of the Node2Vec embedding")
    walks: Count = Field(10, description="random walks from every node")
    walk_length: Annotated[int, Field(ge=2)] = Field(40, description="nodes of a walk")
    window: Count = Field(5, description="nodes on either side that predict each other")
    epochs: Count = Field(1, description="passes over the walks; reference code of Node2Vec")
    background: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.0, description="share of the clips, least similar to other videos, that are background (gpl-nobg: 0.5)"
    )


class SubsetSettings(RestartSettings):
    """Representatives among k-means centres, `subset` (methods 5.3)."""

    centres: Count | None = Field(
        None, description="subset: k-means centres of which K are selected; null: K, which is k-means; original: 30"
    )


class ViterbiSettings(Block):
    """Clusters in one order for all videos, `viterbi` (methods 4.9)."""

    BLOCK: ClassVar[str] = "decode"

    background: Annotated[float, Field(gt=0, lt=100)] | None = Field(
        None, description="viterbi: percentile of likelihoods below which a frame is background; YouTube 75; null: none"
    )
    stride: Count = Field(
        2, description="viterbi with background: of every video, k-means sees each stride-th sample; public code"
    )
