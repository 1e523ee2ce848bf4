"""Decoders with their settings, and the procedure."""

from __future__ import annotations

from collections.abc import Collection
from statistics import median
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from rgwot.blocks import Block, Count, Model, NonNegative, Positive
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


class ProcedureSettings(Block):
    """The procedure: the task graph that is learned from the key steps of all videos (methods 9)."""

    BLOCK: ClassVar[str] = "procedure"

    learner: Learner = Field("robust", description="; ".join(f"{name}: {what}" for name, what in LEARNER_NAMES.items()))


class Decoder(Model):
    """A way to make key steps: from embeddings (`rgwot.keysteps.interface.Decode`), or without them if ``TRIVIAL``.

    A decoder runs with a second seed to test whether two seeds agree, unless it is ``SLOW`` or returns two labellings.
    With ``LABELS``, it learns from annotated videos (`rgwot.keysteps.interface.Frames`) and finds their key steps.
    With ``AT_PACE``, it sees recordings that are far longer than the others at their pace (`rgwot.embedding.pace`).
    """

    TRIVIAL: ClassVar[bool] = False
    SLOW: ClassVar[bool] = False
    LABELS: ClassVar[bool] = False
    AT_PACE: ClassVar[bool] = False

    procedure: ProcedureSettings = ProcedureSettings()


class Numbered(Decoder):
    """A decoder that finds K key steps."""

    BLOCK = "decode"

    K: Annotated[int, Field(ge=1)] | Literal["gt", "gt+1"] = Field(
        7, description="key steps; a number, gt (as annotated) or gt+1; paper"
    )


class Clustering(Numbered):
    """A decoder of embeddings that clusters (methods 5)."""

    BLOCK = "decode"

    time: Annotated[float, Field(ge=0, lt=1)] | Literal["auto"] = Field(
        0.0, description="share of relative time in the squared length of an embedding; auto: chosen by the data"
    )
    surplus: Annotated[int, Field(ge=0)] = Field(
        0, description="clusters beyond K, of which those least like key steps are background"
    )


class OneLabel(Numbered):
    """One key step everywhere; with `none`."""

    NAME = "one_label"
    TRIVIAL = True


class Uniform(Numbered):
    """K equal segments; with `none`."""

    NAME = "uniform"
    TRIVIAL = True


class Random(Numbered):
    """An independent uniform label per scored frame; with `none`."""

    NAME = "random"
    TRIVIAL = True


class Annotations(Decoder):
    """The annotations as an answer; with `none`."""

    # Not a prediction: it writes the annotations to the files of a prediction, so that they can be compared.
    NAME = ANNOTATED
    TRIVIAL = True


class Kmeans(Clustering):
    """K-means without smoothing."""

    NAME = "kmeans"
    FUNCTION = "rgwot.keysteps.kmeans:decode_kmeans"
    RESTORE = "rgwot.keysteps.kmeans:restore_kmeans"


class Graphcut(Clustering):
    """Fuzzy C-means, then a graph cut on the temporal chain (methods 5.1)."""

    NAME = "graphcut"
    FUNCTION = "rgwot.keysteps.graphcut:decode_graphcut"
    RESTORE = "rgwot.keysteps.graphcut:restore_graphcut"
    SOURCE = "RGWOT, WACV 2026"

    m: Annotated[float, Field(gt=1)] | Literal["auto"] = Field(
        "auto", description="fuzzifier; auto: 2, or less if the leading eigenvalue of the directions requires it"
    )
    start: Literal["far_apart", "random"] = Field(
        "far_apart", description="fuzzy C-means starts from samples far apart, or from random memberships (public code)"
    )
    max_iterations: Count = Field(150, description="largest number of iterations of fuzzy C-means; public code")
    tolerance: Positive = Field(1e-5, description="change of the memberships that ends fuzzy C-means; public code")
    restarts: Count = Field(4, description="starts of fuzzy C-means, of which the best is kept; public code: 1")
    unary: NonNegative = Field(3.0, description="weight of 1 - membership per `unary_per`; 0.2 x 15 samples")
    unary_per: Literal["second", "sample", "frame_pair"] = Field(
        "second", description="second, or two frames of the video (public code): independent of features.fps"
    )
    pairwise: NonNegative = Field(5.0, description="cost of a change of labels, times K; public code")
    metric: Literal["potts", "linear"] = Field("potts", description="label distance: equal, or |a - b| (public code)")
    solver: Literal["expansion", "exact"] = Field("expansion", description="alpha-expansion, or the chain minimum")
    joined: bool = Field(False, description="an edge from the end of one video to the start of the next (public code)")


class MeanfieldSettings(Block):
    """Mean-field segmentation with re-estimated centres (methods 5.4)."""

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
    inner: Annotated[int, Field(ge=1, le=1000)] = Field(
        5, description="updates of the memberships per update of the centres"
    )
    max_iterations: Count = Field(100, description="largest number of updates of the centres")
    tolerance: NonNegative = Field(1e-5, description="decrease of the energy per sample and round below which it stops")
    restarts: Count = Field(10, description="starts of k-means, of which the best is the initial partition")


class Meanfield(Clustering, MeanfieldSettings):
    """Soft memberships, smooth in time, with re-estimated centres and even shares of key steps (methods 5.4)."""

    NAME = "meanfield"
    FUNCTION = "rgwot.keysteps.meanfield:decode_meanfield"
    RESTORE = "rgwot.keysteps.meanfield:restore_meanfield"
    AT_PACE = True
    SOURCE = "ours; after ASOT (Xu and Gould, CVPR 2024)"


class Consensus(Clustering):
    """The consensus of many mean-field segmentations, refined by classifiers across videos (methods 5.8)."""

    NAME = "consensus"
    FUNCTION = "rgwot.keysteps.consensus:decode_consensus"
    RESTORE = "rgwot.keysteps.consensus:restore_consensus"
    AT_PACE = True
    SOURCE = "ours"

    meanfield: MeanfieldSettings = MeanfieldSettings()

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


class Labelled(Numbered):
    """Classifiers of annotated videos that learn from the others (methods 5.10)."""

    NAME = LABELLED
    FUNCTION = "rgwot.keysteps.labelled:decode_labelled"
    RESTORE = "rgwot.keysteps.labelled:restore_labelled"
    AT_PACE = True
    SOURCE = "ours"
    LABELS = True

    meanfield: MeanfieldSettings = MeanfieldSettings()

    n: Count | Literal["all"] = Field("all", description="annotated videos that teach; the others are scored")
    draw: Literal["random", "suggested"] = Field(
        "random", description="how they are chosen: by the seed, or as `rgwot suggest` does"
    )
    extra: Annotated[int, Field(ge=0)] | Literal["auto"] = Field(
        "auto",
        description="new key steps beyond the annotated ones; auto: as many as are missing to K while only few moments "
        "are labelled, otherwise none",
    )

    def teachers(self, annotated: int) -> int:
        """Return how many of the ``annotated`` videos teach the others.

        >>> Labelled().teachers(5), Labelled(n=2).teachers(5)
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
