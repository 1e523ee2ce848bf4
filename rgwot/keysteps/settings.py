"""Settings of the decoders, of what all decoders have in common, and of the procedure."""

from __future__ import annotations

from collections.abc import Collection
from statistics import median
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from rgwot.blocks import Block, Count, NonNegative, Positive
from rgwot.columns import LEARNER_NAMES
from rgwot.runtime.errors import RgwotError

#: The decoder that writes the annotations.
ANNOTATED = "annotated"
#: The decoder that learns from annotated videos.
LABELLED = "labelled"
if TYPE_CHECKING:
    Learner = str
else:  # known at run time
    Learner = Literal[tuple(LEARNER_NAMES)]


class NumberSettings(Block):
    """The number of key steps."""

    BLOCK: ClassVar[str] = "decode"

    K: Annotated[int, Field(ge=1)] | Literal["gt", "gt+1"] = Field(
        7, description="key steps; a number, gt (as annotated) or gt+1; paper"
    )


class KeyStepSettings(NumberSettings):
    """Settings that every decoder of embeddings gets (methods 5)."""

    time: Annotated[float, Field(ge=0, lt=1)] | Literal["auto"] = Field(
        0.0, description="share of relative time in the squared length of an embedding; auto: chosen by the data"
    )
    surplus: Annotated[int, Field(ge=0)] = Field(
        0, description="clusters beyond K, of which those least like key steps are background"
    )


class LabelledSettings(Block):
    """Annotated videos that teach the others, the decoder `labelled` (methods 5.10)."""

    BLOCK: ClassVar[str] = LABELLED

    n: Count | Literal["all"] = Field("all", description="annotated videos that teach; the others are scored")
    draw: Literal["random", "suggested"] = Field(
        "random", description="how they are chosen: by the seed, or as `rgwot suggest` does"
    )
    extra: Annotated[int, Field(ge=0)] = Field(0, description="new key steps beyond the annotated ones")

    def teachers(self, annotated: int) -> int:
        """Return how many of the ``annotated`` videos teach the others.

        >>> LabelledSettings().teachers(5), LabelledSettings(n=2).teachers(5)
        (5, 2)

        Raises RgwotError if no video is annotated, or fewer than ``n``.
        """
        if not annotated:
            raise RgwotError(
                f"decoder {LABELLED!r}: found no annotated video to learn from, expected one or more; annotate some "
                "(in Python: the argument `labels`)"
            )
        if self.n == "all":
            return annotated
        if self.n > annotated:
            raise RgwotError(f"labelled.n: found {self.n}, expected all or 1 to {annotated}, the annotated videos")
        return self.n


class RestartSettings(Block):
    """Starts of a clustering."""

    BLOCK: ClassVar[str] = "decode"

    restarts: Count = Field(
        4, description="starts of fuzzy C-means and of subset, of which the best is kept; public code: 1, subset 50"
    )


class FuzzySettings(RestartSettings):
    """Fuzzy C-means (methods 5.1)."""

    m: Annotated[float, Field(gt=1)] | Literal["auto"] = Field(
        "auto", description="fuzzifier; auto: 2, or less if the leading eigenvalue of the directions requires it"
    )
    start: Literal["far_apart", "random"] = Field(
        "far_apart", description="fuzzy C-means starts from samples far apart, or from random memberships (public code)"
    )
    max_iterations: Count = Field(150, description="largest number of iterations of fuzzy C-means; public code")
    tolerance: Positive = Field(1e-5, description="change of the memberships that ends fuzzy C-means; public code")


class GraphcutSettings(Block):
    """Temporal smoothing by graph cut (methods 5.1)."""

    BLOCK: ClassVar[str] = "graphcut"

    unary: NonNegative = Field(3.0, description="weight of 1 - membership per `unary_per`; 0.2 x 15 samples")
    unary_per: Literal["second", "sample", "frame_pair"] = Field(
        "second", description="second, or two frames of the video (public code): independent of features.fps"
    )
    pairwise: NonNegative = Field(5.0, description="cost of a change of labels, times K; public code")
    metric: Literal["potts", "linear"] = Field("potts", description="label distance: equal, or |a - b| (public code)")
    solver: Literal["expansion", "exact"] = Field("expansion", description="alpha-expansion, or the chain minimum")
    joined: bool = Field(False, description="an edge from the end of one video to the start of the next (public code)")


class MeanfieldSettings(Block):
    """Mean-field segmentation with re-estimated centres, the decoder `meanfield` (methods 5.4)."""

    BLOCK: ClassVar[str] = "meanfield"

    alpha: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.2, description="weight of agreement with neighbours in time, relative to that with the centre"
    )
    epsilon: Positive = Field(0.07, description="weight of the entropy of the memberships; RGWOT's transport")
    lambda_: NonNegative = Field(0.05, alias="lambda", description="weight of equal shares of key steps in the task")
    lambda_video: NonNegative = Field(0.05, description="the same within every video")
    window: Annotated[float, Field(ge=0, le=1)] = Field(
        0.02, description="samples on either side that are neighbours in time, share of a video's length"
    )
    inner: Count = Field(5, description="updates of the memberships per update of the centres")
    max_iterations: Count = Field(100, description="largest number of updates of the centres")
    tolerance: NonNegative = Field(1e-5, description="decrease of the energy per sample and round below which it stops")
    restarts: Count = Field(10, description="starts of k-means, of which the best is the initial partition")


class ConsensusSettings(Block):
    """Segmentation of the agreement of many mean fields, the decoder `consensus` (methods 5.8)."""

    BLOCK: ClassVar[str] = "consensus"

    partitions: Count = Field(48, description="mean-field segmentations of each of seven pools")
    starts: Count = Field(30, description="segmentations of what the pools agree on; the best is kept")
    order: NonNegative = Field(
        0.1, description="weight of a regular order in the choice of the best; the energy per sample has 1"
    )
    blocks: Count = Field(1, description="equal parts of the embedding that the segmentations use in turn")
    epsilon: Positive = Field(0.1, description="weight of the entropy in the partitions, instead of meanfield.epsilon")
    rounds: Count = Field(8, description="largest number of updates of the centres in each of the partitions")
    D: Count = Field(24, description="largest number of whitened components of the memberships")
    refinements: Annotated[int, Field(ge=0)] = Field(
        3, description="rounds of classifiers trained on the other videos; 0: none"
    )


class ProcedureSettings(Block):
    """The procedure: the task graph that is learned from the key steps of all videos (methods 9)."""

    BLOCK: ClassVar[str] = "procedure"

    learner: Learner = Field("robust", description="; ".join(f"{name}: {what}" for name, what in LEARNER_NAMES.items()))


def resolved_K(K: int | str, annotated: int | None = None) -> int:
    """Resolve ``decode.K`` to a number.

    >>> resolved_K("gt+1", 7), resolved_K(5)
    (8, 5)

    Raises RgwotError for ``gt`` and ``gt+1`` if the number of ``annotated`` key steps is unknown.
    """
    if isinstance(K, int):
        return K
    if annotated is None:
        raise RgwotError(
            f"K={K} depends on the number of annotated steps, but no video of the task is annotated; give K as a number"
        )
    return annotated + (K == "gt+1")


def too_fine(K: int, samples: Collection[int]) -> str:
    """Return a warning if K is large for videos with these numbers of samples, or an empty text.

    >>> too_fine(7, [20, 30]), too_fine(500, [361, 361])[:45]
    ('', 'K = 500: a video has 361 samples (median), le')
    """
    usual = median(samples) if samples else 2 * K
    if usual >= 2 * K:
        return ""
    return (
        f"K = {K}: a video has {usual:g} samples (median), less than two for each key step, expected K of "
        f"{max(2, int(usual / 2))} or less; give a smaller decode.K or a larger features.fps"
    )
