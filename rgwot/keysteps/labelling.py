"""Labels of samples by a decoder, which does not see background, and of very long recordings sees only some samples."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rgwot.diagnostics import ScopeFacts, plain
from rgwot.embedding.interface import EmbeddedVideo
from rgwot.embedding.pace import at_usual_pace, nearest_of
from rgwot.keysteps import collapse
from rgwot.keysteps.interface import NO_CLUSTER, UNKNOWN, Decoded, Frames, Given, Predict, Scalar
from rgwot.keysteps.labelled import FEW_MARKS, MOSTLY
from rgwot.keysteps.settings import Decoder, Labelled, resolved_K
from rgwot.runtime.errors import RgwotError

ByVideo = dict[str, NDArray[np.int64]]
"""Labels or key steps (T,) of the samples of every video."""


@dataclass(frozen=True)
class Labelling:
    """Labels (T,) of all samples x (T, D), the decoder's result without background, and the cause of a collapse.

    ``members`` are the labels (T,) of other labellings by the decoder. ``probabilities`` (T, K + 1) are the memberships
    of all samples, with those of background first; None if the decoder has none for K key steps.
    """

    x: NDArray[np.float64]
    labels: NDArray[np.int64]
    decoded: Decoded
    cause: collapse.Cause | None
    members: tuple[NDArray[np.int64], ...] = ()
    probabilities: NDArray[np.float64] | None = None

    def facts(self) -> ScopeFacts:
        """Return the facts of this labelling for ``diagnostics.json``."""
        u = self.decoded.memberships
        return ScopeFacts(
            **collapse.marks(self.cause),
            samples=len(self.x),
            mean_pairwise_cosine=collapse.mean_pairwise_cosine(self.x),
            relative_variance=collapse.relative_variance(self.x),
            lambda_1=collapse.direction_eigenvalue(self.x),
            distinct_labels=len(np.unique(self.labels)),
            dominant_label_share=collapse.dominant_share(self.labels),
            background_share=float(np.mean(self.labels == NO_CLUSTER)),
            membership_entropy=None if u is None else collapse.membership_entropy(u),
            mean_max_membership=None if u is None else collapse.mean_max_membership(u),
            decoder=plain(self.decoded.facts),
        )


def _seen(video: EmbeddedVideo, usual: float) -> NDArray[np.bool_]:
    """Return which samples (T,) of a video a decoder sees: no background, and fewer if it is far longer than usual."""
    seen = np.ones(len(video.time_s), dtype=bool) if video.background is None else ~video.background
    chosen = at_usual_pace(video.embedding, usual)
    if chosen is None or not seen[chosen].any():
        return seen
    paced = np.zeros(len(seen), dtype=bool) if video.marked is None else video.marked.copy()
    paced[chosen] = True
    return seen & paced


def _followed(video: EmbeddedVideo, seen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return, for each sample, the one whose label it gets: the nearest ``seen`` one, or itself if it is background."""
    rows, T = np.flatnonzero(seen), len(seen)
    if not len(rows):
        return np.arange(T)
    nearest = rows[nearest_of(rows, T)]
    return nearest if video.background is None else np.where(video.background, np.arange(T), nearest)


def labelling_of(
    videos: Collection[EmbeddedVideo], features_fps: float, K: int, decoder: Predict, usual: float = float("nan")
) -> Labelling:
    """Label samples by a decoder, which sees only those that are not background.

    Of a video far longer than the ``usual`` number of samples, it sees only some samples, and each other sample gets
    the label of the nearest of these (`rgwot.embedding.pace`).

    Raises
    ------
    RgwotError
        If there is not one label per sample, or a label is not a cluster.
    """
    x = np.concatenate([video.embedding for video in videos])
    sampled = [_seen(video, usual) for video in videos]
    rows = np.concatenate(sampled)
    labels = np.full(len(x), NO_CLUSTER, dtype=np.int64)
    decoded = Decoded(labels[rows])
    if rows.any():
        some = [
            (int(mask.sum()), float(video.native_fps)) for video, mask in zip(videos, sampled, strict=True) if any(mask)
        ]
        lengths, rates = zip(*some, strict=True)
        labels_given = None
        if any(video.given is not None for video in videos):
            labels_of_videos = [np.full(len(v.time_s), UNKNOWN) if v.given is None else v.given for v in videos]
            every_given = np.concatenate(labels_of_videos)
            labels_given = every_given[rows]
        marked = None
        if any(video.marked is not None for video in videos):
            marks = [np.zeros(len(v.time_s), dtype=bool) if v.marked is None else v.marked for v in videos]
            marked = np.concatenate(marks)[rows]
        decoded = decoder(Frames(x[rows], lengths, features_fps, rates, given=labels_given, marked=marked))
        if not isinstance(decoded, Decoded):
            raise RgwotError(f"decoder: found {type(decoded).__name__}, expected rgwot.keysteps.interface.Decoded")
        cluster_labels, expected = (
            np.asarray(decoded.labels),
            f"{rows.sum()} whole numbers from {NO_CLUSTER} to {K - 1}",
        )
        if cluster_labels.shape != (rows.sum(),) or cluster_labels.dtype.kind not in "iu":
            raise RgwotError(
                f"decoder: found labels of shape {cluster_labels.shape} and type {cluster_labels.dtype}, "
                f"expected {expected}"
            )
        if cluster_labels.min() < NO_CLUSTER or cluster_labels.max() >= K:
            raise RgwotError(
                f"decoder: found labels from {cluster_labels.min()} to {cluster_labels.max()}, expected {expected}"
            )
        labels[rows] = cluster_labels
    members = np.full((len(decoded.members), len(x)), NO_CLUSTER, dtype=np.int64)
    members[:, rows] = decoded.members if len(members) else 0
    probabilities = _probabilities(decoded.memberships, rows, K)
    if not rows.all():
        borders = np.cumsum([0, *(len(seen) for seen in sampled)])
        each = zip(videos, sampled, borders, strict=False)
        follows = np.concatenate([first + _followed(video, seen) for video, seen, first in each])
        labels, members = labels[follows], members[:, follows]
        probabilities = None if probabilities is None else probabilities[follows]
        if labels_given is not None:
            labels = np.where(rows | (every_given == UNKNOWN), labels, every_given)
    cause = collapse.diagnose(x, labels, K, decoded.memberships)
    return Labelling(x, labels, decoded, cause, tuple(members), probabilities)


def _probabilities(
    memberships: NDArray[np.float64] | None, rows: NDArray[np.bool_], K: int
) -> NDArray[np.float64] | None:
    """Return memberships (T, K + 1) with background first, from those of the samples ``rows`` (T,) that have any."""
    if memberships is None or memberships.shape[1] != K:
        return None
    full = np.zeros((len(rows), K + 1))
    full[rows, 1:] = memberships
    full[:, 0] = np.clip(1 - full.sum(axis=1), 0, 1)
    return full


def extra_of(decoder: Decoder, given: Given) -> int:
    """Return the number of key steps beyond the labelled ones.

    With ``extra: auto``, there are as many as are missing to K if only a few moments are labelled (`few_moments`), and
    otherwise none.
    """
    if not isinstance(decoder, Labelled):
        return 0
    if decoder.extra != "auto":
        return decoder.extra
    K = resolved_K(decoder.K, given.K)
    return max(K - given.K, 0) if few_moments(given, K) else 0


def few_moments(given: Given, K: int) -> bool:
    """Return whether only a few single moments are labelled, which do not rule out other key steps.

    That is, only marks are given, and most labelled videos have fewer of them than `FEW_MARKS` times the key steps.
    """
    known = {video: labels >= 0 for video, labels in given.labels.items()}
    alone = all(video in given.marks and (given.marks[video] == rows).all() for video, rows in known.items())
    few = [rows.sum() < FEW_MARKS * max(K, given.K) for rows in known.values()]
    return alone and bool(few) and float(np.mean(few)) > MOSTLY


def with_given(video: EmbeddedVideo, labelled: Given, name: str) -> EmbeddedVideo:
    """Return a video with its labels; a sample labelled with a key step is no longer background."""
    if name not in labelled.labels:
        return video
    # Key steps are numbered from 1, clusters from 0.
    clusters = labelled.labels[name] - 1
    if clusters.shape != video.time_s.shape:
        raise RgwotError(f"labels of {name}: found {len(clusters)}, expected {len(video.time_s)}, one per sample")
    background = None if video.background is None else video.background & (clusters == UNKNOWN)
    return replace(video, given=clusters, background=background, marked=labelled.marks.get(name))


def split_by_video(videos: Mapping[str, EmbeddedVideo], labels: NDArray[Scalar]) -> dict[str, NDArray[Scalar]]:
    """Split the concatenated labels (or other values) of the videos' samples by video."""
    borders = np.cumsum([len(video.time_s) for video in videos.values()])[:-1]
    return dict(zip(videos, np.split(labels, borders), strict=True))
