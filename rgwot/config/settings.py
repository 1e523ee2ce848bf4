"""Typed settings: one frozen block per stage, every key with its unit and its source.

The blocks of ``config.yaml``, the keys of experiment ids and the option tables of the documentation all follow from
these classes; a test fails when they drift apart. The default of every key is the family ``rgwot``: the paper, and
our reading where the paper is silent (methods 7).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeVar, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic_core import PydanticCustomError

from rgwot.config.extractors import extractor
from rgwot.config.methods import LEARNERS, LOSSES
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.timing import rate_text

if TYPE_CHECKING:
    Learner = str
else:  # known at run time
    Learner = Literal[tuple(LEARNERS)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Fraction01 = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]
Model = TypeVar("Model", bound=BaseModel)


def _known_loss(name: str) -> str:
    if name not in LOSSES:
        raise ValueError(f"not known; {nearest(name, LOSSES)}")
    return name


Alignment = Annotated[str, AfterValidator(_known_loss), Field(json_schema_extra={"enum": [*LOSSES]})]
# A number or a text, kept in its exact form.
Rate = Annotated[float | str, AfterValidator(rate_text)]


class Block(BaseModel):
    """Base of every block: immutable, and an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, allow_inf_nan=False)


class FeatureSettings(Block):
    """Frames and the frozen backbone (methods 2, 3.1)."""

    fps: Positive = Field(2.0, description="samples per second, by time stamp")
    size: Annotated[int, Field(ge=32)] = Field(168, description="side of the squashed frame, pixels; paper's code")
    backbone: str = Field(
        "resnet50",
        description="the frozen network: resnet50 (paper), efficientnet_lite0, torchvision:<model>/<layer>, "
        "timm:<model> or transformers:<name>",
    )
    weights: str = Field(
        "imagenet1k_v1",
        description="imagenet1k_v1 (fetched; installed for efficientnet_lite0), pretrained (timm, transformers), "
        "random (seeded) or a checkpoint",
    )
    seed: Annotated[int, Field(ge=0)] = Field(0, description="seed of random weights")
    precision: Literal["float32", "bfloat16"] = Field("float32", description="arithmetic of the network")
    fused: bool = Field(
        False, description="batch norm folded into the convolutions: a tenth faster, values differ by 1e-6, relative"
    )
    batch: Count = Field(8, description="frames per forward pass; does not change results beyond rounding")
    reader: Literal["auto", "decord", "pyav"] = Field(
        "auto", description="auto: decord, and PyAV where decord fails, hangs or is not installed"
    )
    timeout_s: Positive = Field(600.0, description="seconds without a new frame after which a reader is killed")
    codec: Literal["none", "lz4", "zstd"] = Field(
        "none", description="none: fastest to read; lz4: a sixth smaller; zstd: a quarter; the values are the same"
    )

    @field_validator("backbone")
    @classmethod
    def _known(cls, name: str) -> str:
        try:
            extractor(name)
        except RgwotError as error:
            raise PydanticCustomError("unknown", "{found}", {"found": str(error)}) from None
        return name


class TransportSettings(Block):
    """Fused Gromov-Wasserstein transport of one video pair (methods 3.3 to 3.5)."""

    alpha: Annotated[float, Field(ge=0, lt=1)] = Field(0.3, description="weight of the structural term; paper")
    epsilon: Positive = Field(0.07, description="weight of the entropy; paper")
    rho: NonNegative = Field(0.35, description="weight of the temporal prior; paper")
    r: Annotated[float, Field(gt=0, le=1)] = Field(
        0.02, description="radius of the structural prior, share of N; paper"
    )
    zeta: NonNegative = Field(0.5, description="cost (or threshold) of the virtual frame; paper")
    solver: Literal["converged", "parity"] = Field(
        "converged",
        description="converged: log domain, 2 alpha gradient; parity: the public code's 25 x 1 passes",
    )
    virtual: Literal["cost", "threshold", "none"] = Field(
        "cost",
        description="virtual frame as a row and column of constant cost, as a threshold on the plan, or none",
    )
    max_iterations: Count = Field(100, description="outer iterations of the converged solver at most")
    tolerance: Positive = Field(1e-6, description="marginal error of the converged plan, relative")
    prior_time: Literal["positions", "times"] = Field(
        "positions", description="temporal prior on sampled positions (paper) or on true relative times"
    )
    sinkhorn: Literal["pot", "batched"] = Field(
        "pot",
        description="kantorovich: the passes of the methods, by POT per pair; batched: as many as it takes to converge",
    )
    last: Literal["rows", "columns"] = Field(
        "rows",
        description="kantorovich: side scaled last, whose sums are exact: rows, 21 passes (VAVA), or columns, 20 and a "
        "half (OPEL)",
    )


class LossSettings(Block):
    """Alignment loss (methods 3.6, 4.2 to 4.7)."""

    alignment: Alignment = Field("gromov_wasserstein", description="which alignment loss; none trains C-IDM alone")
    tau: Positive = Field(0.1, description="softmax temperature; public code")
    symmetric: bool = Field(False, description="average of X to Y and Y to X instead of X to Y alone")
    lambda_v: NonNegative = Field(1e-3, description="weight of the log variance of tcc; TCC's code")
    distance: Literal["squared", "elementwise"] = Field(
        "squared",
        description="tcc: squared, or CnC's released code's |u_j|^2 + |v_j|^2 - 2 u_i.v_j, at least 0",
    )
    gamma: Positive = Field(0.1, description="smoothing of soft_dtw; LAV")
    mixture: Count = Field(15, description="gtcc: Gaussians for the matches of a frame; EgoProceL 15, other datasets 5")
    delta: Annotated[float, Field(gt=0, le=1)] = Field(
        0.2, description="gtcc: window of the way back, share of N; EgoProceL 0.2, other datasets 0.5"
    )
    keep: Annotated[float, Field(gt=0, le=1)] = Field(
        0.95,
        description="gtcc: least share of a frame, to the power of the epoch; EgoProceL 0.95, other datasets 1",
    )
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
        False, description="kantorovich: far pairs of the contrast in a video count (i - j)^2 + 1 times (OPEL)"
    )
    lambda_c: NonNegative = Field(1e-4, description="kantorovich: weight of the contrast between the videos; VAVA")


class CidmSettings(Block):
    """Contrastive inverse difference moment, C-IDM (methods 3.6)."""

    beta: NonNegative = Field(1.0, description="weight of C-IDM; paper (printed there as ξ)")
    lambda_: Positive = Field(2.0, alias="lambda", description="margin; paper")
    sigma: Positive = Field(10.0, description="temporal window in `unit`; the paper's 300 frames at 30 fps")
    unit: Literal["seconds", "native_frames", "share"] = Field(
        "seconds", description="unit of sigma; share: of the video's length"
    )
    distance: Literal["squared", "euclidean"] = Field("squared", description="squared: as the public code")
    weight: Literal["relative_time", "none"] = Field(
        "relative_time", description="weight of far pairs: ((t_i - t_j) / L)^2 + 1, or 1"
    )
    positives: Literal["plain", "weighted"] = Field(
        "plain", description="near pairs: d (public code), or d divided by the weight (paper)"
    )
    reduction: Literal["mean", "sum", "video_mean"] = Field(
        "mean",
        description="mean over rows, as the alignment loss; sum, and the total over N (RGWOT's code); or video_mean: "
        "sum, averaged over the two videos (CnC)",
    )
    gradient: bool = Field(True, description="whether C-IDM trains the encoder; in CnC's released code it does not")


class EncoderSettings(Block):
    """3-D convolutional embedder (methods 3.1)."""

    c: Count = Field(2, description="frames stacked per sample, itself included; paper")
    D: Count = Field(128, description="dimensions of the embedding; paper")
    channels: Count = Field(512, description="channels of both 3-D convolutions; public code")
    hidden: Count = Field(512, description="units of both fully connected layers; public code")
    dropout: Annotated[float, Field(ge=0, lt=1)] = Field(0.1, description="dropout before both layers; public code")
    batch_norm: Literal["joint", "per_video"] = Field(
        "joint", description="statistics over the pair, or per video as two GPUs under DataParallel give"
    )
    input_norm: Literal["auto", "channel", "whitened", "none"] = Field(
        "auto",
        description="standardise features per channel; whitened: per video, then projected onto whitened ones, at most "
        "64 of maps and 32 of vectors; auto: whitened for vectors, channel for maps of random weights, else none",
    )
    speed: bool = Field(False, description="every whitened feature is accompanied by its speed")
    unit_norm: bool = Field(True, description="embeddings of length 1; TCC, CnC, VAVA and OPEL train without")
    beside: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.0,
        description="share of whitened features in the squared length of an embedding; 0: the learned one alone",
    )


class TrainSettings(Block):
    """Optimisation (methods 3.2, 3.7)."""

    N: Annotated[int, Field(ge=2)] = Field(32, description="frames sampled per video and step; paper")
    iterations: Count = Field(10_000, description="iterations of one video pair; the paper's 'epochs'")
    accumulation: Count = Field(4, description="iterations per optimiser step; public code")
    lr: Positive = Field(1e-4, description="learning rate of Adam; paper")
    weight_decay: NonNegative = Field(1e-5, description="coupled L2 weight decay; paper")
    clip: Positive | None = Field(None, description="norm of the gradient of a step at most; null: any (gtcc: 1)")
    precision: Literal["float32", "bfloat16", "auto"] = Field(
        "float32",
        description="arithmetic of convolutions (float32 on a GPU: TF32); auto: bfloat16 where the processor has it",
    )
    threads: Count = Field(4, description="CPU threads of one training; fixed, because they change rounding")
    memory_gb: Positive = Field(
        8.0, description="features held in memory when they fit, else read per step; whitened maps always are"
    )
    gpu_memory_gb: NonNegative | None = Field(
        None, description="features held on the GPU when they fit; null: half of what is free when training starts"
    )
    save_every_s: NonNegative = Field(60.0, description="seconds between side checkpoints, the most that a kill loses")


class DataSettings(Block):
    """Which frames and videos are trained on (methods 3.2)."""

    context_s: Positive = Field(0.5, description="seconds between context frames; 15 frames at 30 fps")
    context_side: Literal["after", "before", "both"] = Field("after", description="side of the context frames")
    split: Literal["all", "holdout"] = Field(
        "all",
        description="all: every video trains and is scored, as prior work does; holdout: only videos that neither "
        "encoder nor clustering saw are scored",
    )
    holdout: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.35, description="share of videos held out under `split: holdout`; GTCC trains on 65 %"
    )
    split_by: Literal["subject", "video"] = Field(
        "subject", description="a subject's videos stay on one side; a video whose name has no subject is its own"
    )
    split_seed: Annotated[int, Field(ge=0)] = Field(
        0, description="seed of the split; all `seeds` are scored on the same videos"
    )
    n_train: Annotated[int, Field(ge=2)] | None = Field(
        None, description="train on n videos drawn from the seed, of the training part under `split: holdout`"
    )


class RegressionSettings(Block):
    """Continuous temporal embedding, `cte`: regression on relative time (methods 4.10)."""

    E: Count = Field(200, description="units of the second layer, the first has 2E; 200 for YouTube, 20 for Breakfast")
    epochs: Count = Field(90, description="passes over the frames; 90 for YouTube, 60 for Breakfast")
    lr: Positive = Field(1e-3, description="learning rate, a tenth of it after every 30 epochs; Breakfast: 1e-4")
    weight_decay: NonNegative = Field(1e-4, description="coupled L2 weight decay; public code")
    batch: Count = Field(256, description="frames per step; public code")
    standardise: bool = Field(False, description="features of mean 0 and deviation 1 in every video; Breakfast: true")


class GraphSettings(Block):
    """The graph of a task's clips, `unitygraph` and `gpl`; our reading of the abstract (methods 4.9)."""

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


class WhitenSettings(Block):
    """Whitened features, `whitened` (methods 4.12)."""

    smooth: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.02, description="moving average of the features, share of a video's length"
    )
    D: Count = Field(32, description="principal components kept at most")
    floor: Annotated[float, Field(gt=0, lt=1)] = Field(
        1e-4, description="components below this share of the largest variance are dropped"
    )
    grid: Count = Field(1, description="cells per side that maps are averaged over; 1: the whole map, as raw")
    speed: bool = Field(False, description="add the logarithm of every channel's speed")
    variability: bool | Literal["apart"] = Field(
        False,
        description="add the logarithm of every channel's standard deviation over the window of smooth; apart: "
        "in a second block of the embedding, with D components of its own",
    )


class DecodeSettings(Block):
    """Clustering of embeddings (methods 5)."""

    K: Annotated[int, Field(ge=1)] | Literal["gt", "gt+1"] = Field(
        7, description="key steps; a number, gt (as annotated) or gt+1; paper"
    )
    time: Annotated[float, Field(ge=0, lt=1)] | Literal["auto"] = Field(
        0.0, description="share of relative time in the squared length of an embedding; auto: chosen by the data"
    )
    surplus: Annotated[int, Field(ge=0)] = Field(
        0, description="clusters beyond K, of which those least like key steps are background"
    )
    m: Annotated[float, Field(gt=1)] | Literal["auto"] = Field(
        "auto", description="fuzzifier; auto: 2 where the leading direction eigenvalue allows it, else less"
    )
    start: Literal["far_apart", "random"] = Field(
        "far_apart", description="fuzzy C-means starts from samples far apart, or from random memberships (public code)"
    )
    restarts: Count = Field(
        4, description="starts of fuzzy C-means and of subset, of which the best is kept; public code: 1, subset 50"
    )
    max_iterations: Count = Field(150, description="fuzzy C-means iterations at most; public code")
    tolerance: Positive = Field(1e-5, description="change of the memberships that ends fuzzy C-means; public code")
    centres: Count | None = Field(
        None, description="subset: k-means centres of which K are selected; null: K, which is k-means; original: 30"
    )
    background: Annotated[float, Field(gt=0, lt=100)] | None = Field(
        None, description="viterbi: percentile of likelihoods below which a frame is background; YouTube 75; null: none"
    )
    stride: Count = Field(
        2, description="viterbi with background: of every video, k-means sees each stride-th sample; public code"
    )


def resolved_K(K: int | str, annotated: int | None = None) -> int:
    """Resolve ``decode.K`` to a number.

    >>> resolved_K("gt+1", 7), resolved_K(5)
    (8, 5)

    Raises RgwotError for ``gt`` and ``gt+1`` where the number of ``annotated`` key steps is unknown.
    """
    if isinstance(K, int):
        return K
    if annotated is None:
        raise RgwotError(
            f"K={K} is the number of annotated steps, and no video of the task is annotated; give K as a number"
        )
    return annotated + (K == "gt+1")


class ProcedureSettings(Block):
    """The procedure: the task graph that is learned from the key steps of all videos (methods 10)."""

    learner: Learner = Field("robust", description="; ".join(f"{name}: {what}" for name, what in LEARNERS.items()))


class GraphcutSettings(Block):
    """Temporal smoothing by graph cut (methods 5.1)."""

    unary: NonNegative = Field(3.0, description="weight of 1 - membership per `unary_per`; 0.2 x 15 samples")
    unary_per: Literal["second", "sample", "frame_pair"] = Field(
        "second", description="second, or two frames of the video (public code): independent of features.fps"
    )
    pairwise: NonNegative = Field(5.0, description="cost of a switch times K; public code")
    metric: Literal["potts", "linear"] = Field("potts", description="label distance: equal, or |a - b| (public code)")
    solver: Literal["expansion", "exact"] = Field("expansion", description="alpha-expansion, or the chain minimum")
    joined: bool = Field(False, description="an edge from the end of one video to the start of the next (public code)")


class MeanfieldSettings(Block):
    """Mean-field segmentation with re-estimated centres, the decoder `meanfield` (methods 5.4)."""

    alpha: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.2, description="weight of agreement with neighbours in time, relative to that with the centre"
    )
    epsilon: Positive = Field(0.07, description="weight of the entropy of the memberships; RGWOT's transport")
    lambda_: NonNegative = Field(0.05, alias="lambda", description="pull of the task towards equal shares of key steps")
    lambda_video: NonNegative = Field(0.05, description="the same within every video")
    window: Annotated[float, Field(ge=0, le=1)] = Field(
        0.02, description="samples on either side that are neighbours in time, share of a video's length"
    )
    inner: Count = Field(5, description="updates of the memberships per update of the centres")
    max_iterations: Count = Field(100, description="updates of the centres at most")
    tolerance: NonNegative = Field(1e-5, description="decrease of the energy per sample and round that ends it")
    restarts: Count = Field(10, description="starts of k-means, of which the best is the initial partition")


class ConsensusSettings(Block):
    """Segmentation of many mean-field segmentations, the decoder `consensus` (methods 5.8)."""

    partitions: Count = Field(48, description="mean-field segmentations of each of seven pools")
    starts: Count = Field(30, description="segmentations of what the pools agree on; the best is kept")
    order: NonNegative = Field(
        0.1, description="weight of a regular order in the choice of the best; the energy per sample has 1"
    )
    blocks: Count = Field(1, description="equal parts of the embedding that the segmentations take in turn")
    epsilon: Positive = Field(0.1, description="weight of the entropy in each of them, in place of meanfield.epsilon")
    rounds: Count = Field(8, description="updates of the centres at most, in each of them")
    D: Count = Field(24, description="whitened components of their memberships, at most")
    refinements: Annotated[int, Field(ge=0)] = Field(
        3, description="rounds of classifiers trained on the other videos; 0: none"
    )


class EvaluationSettings(Block):
    """Scoring (methods 2, 6)."""

    stride: Count = Field(2, description="every stride-th native frame is scored; public code")
    also: Literal["none", "hiero"] = Field(
        "none", description="one more protocol in score files: HiERO's (methods 6.1)"
    )


#: Blocks that extensions bring (`rgwot.config.extensions`), by name.
ADDED_BLOCKS: dict[str, type[Block]] = {}


class Settings(Block):
    """All settings of one experiment on one dataset: the blocks below, and `ADDED_BLOCKS`."""

    # Blocks of extensions are no fields; `_added` lets no other key pass.
    model_config = ConfigDict(extra="allow")

    features: FeatureSettings = FeatureSettings()
    ot: TransportSettings = TransportSettings()
    loss: LossSettings = LossSettings()
    cidm: CidmSettings = CidmSettings()
    encoder: EncoderSettings = EncoderSettings()
    train: TrainSettings = TrainSettings()
    data: DataSettings = DataSettings()
    regression: RegressionSettings = RegressionSettings()
    graph: GraphSettings = GraphSettings()
    whiten: WhitenSettings = WhitenSettings()
    decode: DecodeSettings = DecodeSettings()
    procedure: ProcedureSettings = ProcedureSettings()
    graphcut: GraphcutSettings = GraphcutSettings()
    meanfield: MeanfieldSettings = MeanfieldSettings()
    consensus: ConsensusSettings = ConsensusSettings()
    evaluation: EvaluationSettings = EvaluationSettings()

    @model_validator(mode="before")
    @classmethod
    def _added(cls, content: Any) -> Any:
        """Make the blocks of extensions, with their defaults where they are left out."""
        if not isinstance(content, Mapping):
            return content
        fields = keys_at([], cls)
        for name in content:
            if name not in fields and name not in ADDED_BLOCKS:
                found = f"unknown key {name!r}; {nearest(str(name), [*fields, *ADDED_BLOCKS])}"
                raise PydanticCustomError("unknown", "{found}", {"found": found})
        try:
            added = {name: validated(block, content.get(name, {}), name) for name, block in ADDED_BLOCKS.items()}
        except RgwotError as error:
            raise PydanticCustomError("unknown", "{found}", {"found": str(error)}) from None
        return {**content, **added}

    @model_validator(mode="after")
    def _something_trains(self) -> Self:
        if self.loss.alignment == "none" and not self.cidm.gradient:
            raise ValueError(
                "loss.alignment none and cidm.gradient false leave nothing to train; expected another alignment or true"
            )
        return self


BLOCKS: tuple[str, ...] = tuple(Settings.model_fields)
"""Blocks of the library."""


def known_blocks() -> tuple[str, ...]:
    """Return the names of all blocks, those of extensions last."""
    return (*BLOCKS, *ADDED_BLOCKS)


#: Keys that say how a job runs and not what it makes: no result depends on them.
EXECUTION: tuple[str, ...] = (
    "features.timeout_s",
    "features.codec",
    "train.memory_gb",
    "train.gpu_memory_gb",
    "train.save_every_s",
)


def flatten(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Turn nested blocks into dotted keys: ``{"ot": {"alpha": 0.5}}`` becomes ``{"ot.alpha": 0.5}``."""
    return {f"{block}.{key}": value for block, keys in settings.items() for key, value in keys.items()}


def defaults() -> dict[str, Any]:
    """Return the default of every dotted key (the family ``rgwot``)."""
    return flatten(Settings().model_dump(by_alias=True))


def build(values: Mapping[str, Any], where: str) -> Settings:
    """Make settings from dotted keys on top of the defaults.

    Parameters
    ----------
    values
        Dotted keys and their values.
    where
        What to name in an error, such as ``config.yaml`` or an experiment id.
    """
    nested: dict[str, dict[str, Any]] = {}
    for dotted, value in values.items():
        block, key = dotted.split(".", 1)
        nested.setdefault(block, {})[key] = value
    return validated(Settings, nested, where)


def validated(model: type[Model], content: Any, where: str, context: Mapping[str, Any] | None = None) -> Model:
    """Return a model with this content; RgwotError, one line with ``where`` and the first wrong key, if it is none.

    ``context`` is what validators of the model are told besides.
    """
    try:
        return model.model_validate(content, context=context)
    except RgwotError as error:
        raise RgwotError(f"{where}: {error}") from None
    except ValidationError as error:
        raise RgwotError(f"{where}: {describe(error, model)}") from None


def describe(error: ValidationError, model: type[BaseModel]) -> str:
    """Put a validation error of a model into one line: key, what was found, what was expected."""
    first = error.errors()[0]
    # Union members add their own names to the location; only keys help the reader.
    parts = [str(part) for part in first["loc"]]
    key = ".".join(part for part in parts if not part.startswith(("constrained", "literal[", "function-")))
    if first["type"] == "extra_forbidden":
        *parents, name = first["loc"]
        return f"unknown key {key!r}; {nearest(str(name), keys_at(parents, model))}"
    message = first["msg"].removeprefix("Value error, ")
    if not key:
        return message
    # A fault of a whole block names its key by itself.
    whole = first["type"] == "value_error" and isinstance(first["input"], Mapping)
    found = "" if whole or first["type"] in ("missing", "unknown") else f", found {first['input']!r}"
    return f"{key}: {message}{found}"


def keys_at(parents: list[Any], model: type[BaseModel]) -> list[str]:
    """Return the keys that may stand under a location: blocks, optional ones, and tuples or dictionaries of them."""
    for part in parents:
        named = {field.alias or name: field.annotation for name, field in model.model_fields.items()}
        # What is no field of the block is a name the user gave to one, and the block stays.
        model = next(iter(_models_in(named.get(part))), model)
    return [field.alias or name for name, field in model.model_fields.items()]


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return [annotation] if issubclass(annotation, BaseModel) else []
    return [model for one in get_args(annotation) for model in _models_in(one)]
