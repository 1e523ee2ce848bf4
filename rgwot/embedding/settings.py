"""Settings of embeddings: the encoder, its training and training videos, and embeddings without an encoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, SerializeAsAny, model_validator

from rgwot.blocks import Block, Blocks, Count, Model, NonNegative, Positive
from rgwot.losses.settings import LOSSES, CidmSettings, GromovWasserstein, Loss
from rgwot.runtime.errors import RgwotError, nearest

#: Former methods and losses of the library, now files of `benchmarks/peers`.
MOVED: Mapping[str, str] = {"gtcc": "gtcc", "lav": "lav", "soft_dtw": "lav"}

MOST_CONTEXT = 1000
"""Most frames of a stack; a larger number takes memory, but no more context."""

Width = Annotated[int, Field(ge=1, le=16384)]
"""Number of channels or units; the weights of a layer grow by its square."""


class EncoderSettings(Block):
    """3-D convolutional embedder (methods 3.1)."""

    BLOCK: ClassVar[str] = "encoder"

    c: Annotated[int, Field(ge=1, le=MOST_CONTEXT)] = Field(
        2, description="frames stacked per sample, itself included; paper"
    )
    D: Width = Field(128, description="dimensions of the embedding; paper")
    channels: Width = Field(512, description="channels of both 3-D convolutions; public code")
    hidden: Width = Field(512, description="units of both fully connected layers; public code")
    dropout: Annotated[float, Field(ge=0, lt=1)] = Field(0.1, description="dropout before both layers; public code")
    batch_norm: Literal["joint", "per_video"] = Field(
        "joint", description="statistics over the pair, or per video as two GPUs under DataParallel give"
    )
    input_norm: Literal["auto", "channel", "whitened", "none"] = Field(
        "auto",
        description="channel: standardise features per channel; whitened: standardise them per video and project them "
        "onto at most 64 whitened channels (32 of vectors); auto: whitened for vectors, channel for maps of random "
        "weights, else none",
    )
    speed: bool = Field(False, description="every whitened feature is accompanied by its speed")
    unit_norm: bool = Field(True, description="embeddings of length 1 (false for TCC, CnC, VAVA and OPEL)")
    beside: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.0,
        description="share of whitened features in the squared length of an embedding; 0: the learned embedding alone",
    )


class TrainSettings(Block):
    """Optimisation (methods 3.2, 3.7)."""

    BLOCK: ClassVar[str] = "train"

    N: Annotated[int, Field(ge=2)] = Field(32, description="frames sampled per video and step; paper")
    iterations: Count = Field(10_000, description="iterations of one video pair; the paper's 'epochs'")
    accumulation: Count = Field(4, description="iterations per optimiser step; public code")
    lr: Positive = Field(1e-4, description="learning rate of Adam; paper")
    weight_decay: NonNegative = Field(1e-5, description="coupled L2 weight decay; paper")
    clip: Positive | None = Field(None, description="largest gradient norm of a step; null: no limit")
    precision: Literal["float32", "bfloat16", "auto"] = Field(
        "float32",
        description="arithmetic of convolutions (float32 on a GPU: TF32); auto: bfloat16 where the processor has it",
    )
    threads: Count = Field(4, description="CPU threads of one training; fixed, because they change rounding")
    memory_gb: Positive = Field(
        8.0, description="memory for features; if it is too small, they are read at every step (except whitened maps)"
    )
    save_every_s: NonNegative = Field(60.0, description="seconds between checkpoints of an unfinished training")


class SplitSettings(Block):
    """Which videos are scored, and which a clustering may see (methods 3.2)."""

    BLOCK: ClassVar[str] = "data"

    split: Literal["all", "holdout"] = Field(
        "all",
        description="all: every video trains and is scored, as prior work does; holdout: only videos that neither "
        "encoder nor clustering saw are scored",
    )
    holdout: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.35, description="share of videos held out under `split: holdout`; GTCC trains on 65 %"
    )
    split_by: Literal["subject", "video"] = Field(
        "subject", description="a subject's videos stay on one side; a video whose name has no subject counts as one"
    )
    split_seed: Annotated[int, Field(ge=0)] = Field(
        0, description="seed of the split; all `seeds` are scored on the same videos"
    )


class DrawnVideosSettings(SplitSettings):
    """Which videos are scored (`SplitSettings`), and how many videos are learned from."""

    n_train: Annotated[int, Field(ge=2)] | None = Field(
        None, description="train on n videos drawn from the seed, of the training part under `split: holdout`"
    )


class DataSettings(DrawnVideosSettings):
    """Which frames and videos are trained on (methods 3.2)."""

    context_s: Positive = Field(0.5, description="seconds between context frames; 15 frames at 30 fps")
    context_side: Literal["after", "before", "both"] = Field("after", description="side of the context frames")


class Embedding(Model):
    """A way to make embeddings (`rgwot.embedding.interface.Fit`).

    ``SEVERAL`` is true if it compares videos with each other, and therefore needs at least two.
    """

    SEVERAL: ClassVar[bool] = False

    data: SplitSettings = SplitSettings()


def moved(name: str) -> str:
    """Return how to get a method or loss that has left the library, or an empty text for any other name."""
    if name not in MOVED:
        return ""
    module = MOVED[name]
    return (
        f"an extension now: copy benchmarks/peers/{module}.py from the source repository and add extensions: "
        f"[{module}.py] to config.yaml (in Python: import {module}; rgwot.extend({module}.EXTENSION))"
    )


def loss_of(blocks: Blocks) -> type[Loss]:
    """Return the alignment loss that ``loss.alignment`` names; raise RgwotError if there is no such loss."""
    name = blocks.get("loss", {}).get("alignment", GromovWasserstein.NAME)
    if not isinstance(name, str) or name not in LOSSES:
        raise RgwotError(f"loss.alignment: found {name!r}; {moved(str(name)) or nearest(str(name), LOSSES)}")
    return LOSSES[name]


class TrainedEncoder(Embedding):
    """An encoder trained on pairs of videos by an alignment loss and C-IDM (methods 3)."""

    NAME = "rgwot"
    SOURCE = "RGWOT, WACV 2026"
    SEVERAL = True
    SYMBOLS: ClassVar[dict[str, str]] = {
        **{key: f"ot.{key}" for key in ("alpha", "epsilon", "rho", "r", "zeta")},
        "tau": "loss.tau",
        **{key: f"cidm.{key}" for key in ("beta", "lambda", "sigma")},
        "N": "train.N",
        "c": "encoder.c",
        "D": "encoder.D",
    }

    loss: SerializeAsAny[Loss] = GromovWasserstein()
    cidm: CidmSettings = CidmSettings()
    encoder: EncoderSettings = EncoderSettings()
    train: TrainSettings = TrainSettings()
    data: DataSettings = DataSettings()

    @classmethod
    def chosen(cls, blocks: Blocks) -> dict[str, object]:
        """Return the keys of ``blocks`` that training reads; ``loss.alignment`` names the loss."""
        loss = loss_of(blocks)
        return {**super().chosen(blocks), "loss": loss.of(blocks, "")}

    @model_validator(mode="after")
    def _something_trains(self) -> Self:
        if self.loss.NAME == "none" and not self.cidm.gradient:
            raise ValueError(
                "loss.alignment none and cidm.gradient false leave nothing to train; change one of the two"
            )
        return self


class Pooled(Embedding):
    """Features averaged over space, scaled to length 1; no training."""

    NAME = "raw"
    FUNCTION = "rgwot.embedding.interface:fit_pooled"
    RESTORE = "rgwot.embedding.interface:restore_pooled"


class Featureless(Embedding):
    """No features, for trivial baselines and annotations."""

    NAME = "none"


class Whitened(Embedding):
    """Features standardised per video, smoothed and whitened over the task; no training (methods 4.11)."""

    NAME = "whitened"
    BLOCK = "whiten"
    FUNCTION = "rgwot.embedding.whitened:fit_whitened"
    RESTORE = "rgwot.embedding.whitened:restore_whitened"
    SOURCE = "ours"

    smooth: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.02, description="moving average of the features, share of a video's length"
    )
    D: Count = Field(32, description="largest number of principal components")
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
