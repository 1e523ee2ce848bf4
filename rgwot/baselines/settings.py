"""Settings of the methods that the paper compares with."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rgwot.blocks import Count, NonNegative, Positive
from rgwot.embedding.settings import DrawnVideosSettings, Embedding
from rgwot.keysteps.settings import Clustering
from rgwot.losses.settings import Softmax, VirtualFrame


class Tcc(Softmax):
    """Temporal cycle consistency (methods 4.2)."""

    NAME = "tcc"
    BLOCK = "loss"
    FUNCTION = "rgwot.baselines.tcc:align_tcc"
    SOURCE = "TCC"

    lambda_v: NonNegative = Field(1e-3, description="weight of the log variance of tcc; TCC's code")
    distance: Literal["squared", "elementwise"] = Field(
        "squared",
        description="tcc: squared distance, or |u_j|^2 + |v_j|^2 - 2 u_i.v_j, at least 0 (CnC's released code)",
    )


class KantorovichTransport(VirtualFrame):
    """The transport of `kantorovich` (methods 4.5 to 4.7)."""

    BLOCK = "ot"

    sinkhorn: Literal["pot", "batched"] = Field(
        "pot",
        description="kantorovich: the passes of the methods, by POT per pair; batched: as many as it takes to converge",
    )
    last: Literal["rows", "columns"] = Field(
        "rows",
        description="kantorovich: side scaled last, whose sums are exact: rows, 21 passes (VAVA), or columns, 20 and a "
        "half (OPEL)",
    )


class Kantorovich(KantorovichTransport):
    """Transport with a prior on the matches, contrast within and between videos (methods 4.5 to 4.7)."""

    NAME = "kantorovich"
    BLOCK = "loss"
    FUNCTION = "rgwot.baselines.kantorovich:align_kantorovich"
    SOURCE = "VAVA, OPEL"

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


class Regression(Embedding):
    """A network that predicts relative time, continuous temporal embedding (methods 4.9)."""

    NAME = "cte"
    BLOCK = "regression"
    FUNCTION = "rgwot.baselines.regression:fit_regression"
    RESTORE = "rgwot.baselines.regression:restore_regression"
    SOURCE = "Kukleva et al., CVPR 2019"

    data: DrawnVideosSettings = DrawnVideosSettings()

    E: Count = Field(200, description="units of the second layer, the first has 2E; 200 for YouTube, 20 for Breakfast")
    epochs: Count = Field(90, description="passes over the frames; 90 for YouTube, 60 for Breakfast")
    lr: Positive = Field(1e-3, description="learning rate, a tenth of it after every 30 epochs; Breakfast: 1e-4")
    weight_decay: NonNegative = Field(1e-4, description="coupled L2 weight decay; public code")
    batch: Count = Field(256, description="frames per step; public code")
    standardise: bool = Field(False, description="features of mean 0 and deviation 1 in every video; Breakfast: true")


class Graph(Embedding):
    """The graph of a task's clips; our reading of the abstract (methods 4.8)."""

    NAME = "gpl"
    BLOCK = "graph"
    FUNCTION = "rgwot.baselines.graph:fit_graph"
    RESTORE = "rgwot.baselines.graph:restore_graph"
    SOURCE = "Bansal et al., WACV 2024; our reading of the abstract"
    SEVERAL = True

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


class Subset(Clustering):
    """K representatives among k-means centres (methods 5.3)."""

    NAME = "subset"
    FUNCTION = "rgwot.baselines.subset:decode_subset"
    RESTORE = "rgwot.baselines.subset:restore_subset"

    restarts: Count = Field(4, description="number of starts; the best one is kept; original: 50")

    centres: Count | None = Field(
        None, description="k-means centres, from which K are selected; null: K, as in k-means; original: 30"
    )


class Spectral(Clustering):
    """Spectral clustering with the affinity of HiERO."""

    NAME = "spectral"
    FUNCTION = "rgwot.baselines.spectral:decode_spectral"
    RESTORE = "rgwot.baselines.spectral:restore_spectral"
    SOURCE = "HiERO"
    SLOW = True


class Viterbi(Clustering):
    """Clusters in one order for all videos, as in CTE (methods 4.9)."""

    NAME = "viterbi"
    FUNCTION = "rgwot.baselines.viterbi:decode_viterbi"
    RESTORE = "rgwot.baselines.viterbi:restore_viterbi"
    SOURCE = "Kukleva et al., CVPR 2019"
    SLOW = True

    background: Annotated[float, Field(gt=0, lt=100)] | None = Field(
        None, description="percentile of likelihoods below which a frame is background; YouTube 75; null: none"
    )
    stride: Count = Field(2, description="with background: k-means uses every stride-th sample of a video; public code")
