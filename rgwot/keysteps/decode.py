"""Key steps from embeddings: both scopes, segments, orders, the procedure and diagnostics."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rgwot.columns import readable
from rgwot.embedding.arrays import scales_differ
from rgwot.embedding.interface import EmbeddedTask, EmbeddedVideo
from rgwot.keysteps import collapse
from rgwot.keysteps.evidence import appearance, usual_samples, without_lookalikes
from rgwot.keysteps.extended import (
    NUMBERS,
    SAME_ORDER,
    choose_share,
    explained_share,
    extended,
    renumbered,
)
from rgwot.keysteps.fuzzy_cmeans import direction_eigenvalue
from rgwot.keysteps.graphcut import INSTEAD
from rgwot.keysteps.interface import NO_CLUSTER, UNKNOWN, Decode, Decoded, Frames, Given, Learned, Predict, directions
from rgwot.keysteps.ordering import KeySteps, Order, generator_for, procedure_of, video_order
from rgwot.keysteps.settings import KeyStepSettings, MeanfieldSettings, resolved_K, too_fine
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.progress import with_progress
from rgwot.timing import label_segments

FEW = 1 / 3
"""A video has few key steps if it has at most this share of them."""

MOST = 0.5
"""A warning is given if a larger share of the samples is background."""

SAME = 0.6
"""Two seeds disagree if the adjusted Rand index of their labels is below this."""

NEAR = 0.02
"""The choice of the weight of time is doubtful if the concordance is within this share of its threshold."""

NAMED = 3
"""A warning names this many videos, and counts the others."""


def doubts(
    K: int,
    steps_per_video: Mapping[str, int],
    background: float,
    agreement: float | None = None,
    time: Mapping[str, Any] | None = None,
    scales: float | None = None,
    samples: Collection[int] = (),
) -> list[str]:
    """Return the reasons to doubt a result, a line each.

    Parameters
    ----------
    K
        Requested number of key steps.
    steps_per_video
        Number of different key steps in each video, without background.
    background
        Share of all samples that are background, in [0, 1].
    agreement
        Adjusted Rand index between the labels and those of another seed; None if unknown.
    time
        How the weight of time was chosen (`rgwot.keysteps.extended.choose_share`); None if it was set.
    scales
        Ratio of the largest to the smallest scale of the features' channels, if the embedding depends on it.
    samples
        Number of samples of each video.
    """
    warnings = [fine] if (fine := too_fine(K, samples)) else []
    # The limit is below 1 for one or two key steps, because a video with a single one is then nothing unusual.
    few = {video: number for video, number in steps_per_video.items() if number <= FEW * K}
    if few:
        named = ", ".join(f"{readable(video)} {number}" for video, number in list(few.items())[:NAMED])
        more = f" and {len(few) - NAMED} more" if len(few) > NAMED else ""
        warnings.append(f"{len(few)} of {len(steps_per_video)} videos have few of the {K} key steps: {named}{more}")
    if background > MOST:
        warnings.append(f"{background:.0%} of the samples, and thus most, are background")
    if agreement is not None and agreement < SAME:
        warnings.append(
            f"{seeds_differ('two seeds', agreement)}; compare them (seeds: [0, 1] in config.yaml, seed=1 in Python)"
        )
    return [text for text in (*warnings, _of_time(time or {}), scales_differ(scales or 1.0)) if text]


def seeds_differ(who: str, agreement: float) -> str:
    """Return the warning that two seeds, called ``who``, have a small adjusted Rand index."""
    # Round down, so that a value below the threshold never prints as the threshold.
    rounded_down = min(agreement, SAME - 0.01)
    return (
        f"{who} disagree: their adjusted Rand index is {rounded_down:.2f}, expected {SAME:g} or more (1: same result, "
        "0: chance); trust only what several seeds have in common"
    )


def _of_time(choice: Mapping[str, Any]) -> str:
    """Return a warning if the choice of the weight of time was doubtful, otherwise an empty text."""
    if "concordance" not in choice or abs(choice["concordance"] - SAME_ORDER) > NEAR * SAME_ORDER:
        return ""
    return (
        f"decode.time: auto chose {choice['chosen']:g}, but only just: the concordance of videos is "
        f"{choice['concordance']:.3g}, and the threshold is {SAME_ORDER:g}; another seed may choose another weight"
    )


log = logging.getLogger(__name__)

ByVideo = dict[str, NDArray[np.int64]]
"""Labels or key steps (T,) of the samples of every video."""

NO_BACKGROUND = "background was not looked for: every frame has a key step; decode.surplus adds clusters for background"
"""Note on a result of a method that cannot detect background."""


def find_key_steps(
    task: EmbeddedTask,
    decoder: str,
    rule: Decode,
    settings: KeyStepSettings,
    chain: MeanfieldSettings,
    learner: str,
    seed: int,
    alone: bool = True,
    labels_given: Given | None = None,
    extra: int = 0,
    second_seed: bool = True,
) -> KeySteps:
    """Find the key steps of a task by a ``rule``: the ``decoder`` of this name with its settings.

    Every video is labelled with the clusters of all videos of the task (scope ``task``) and, if ``alone``, with
    clusters of this video only (scope ``video``), which only scores need. The clusters of the task are numbered from 1
    in the consensus order of the procedure. Orders, the procedure and deviations belong to scope ``task``. If videos
    are held out, clusters and procedure are learned from the other videos alone, and the held-out videos are labelled
    and compared with them. Samples that the embeddings or the decoder call background have key step 0, which is left
    out of orders (the order of a video with nothing else is ``0``). If ``decode.time`` is ``auto``, the weight of time
    is chosen once, on the training videos, for both scopes.

    K must be a number. ``chain`` are the settings of the mean field that chooses the weight of time, and ``learner``
    learns the procedure. If ``second_seed``, the decoder also runs with another seed, to test whether they agree.

    With labels of some videos (``labels_given``), the ``rule`` is that of `rgwot.config.methods.LABELLED`. The key
    steps are then those of the labels, which keep their numbers, and ``extra`` new ones. Time, surplus and K are
    ignored, and there is no scope ``video``.

    Raises
    ------
    RgwotError
        For a decoder that cannot label held-out videos, or a K below 2 or above the number of samples.
    """
    samples = sum(len(video.time_s) for video in task.part(held_out=False).values())
    if labels_given is None:
        K, surplus = resolved_K(settings.K), settings.surplus
        check_number(K, surplus, samples)
    else:
        K, surplus, alone = labels_given.K + extra, 0, False
        task = replace(
            task, videos={name: _with_given(video, labels_given, name) for name, video in task.videos.items()}
        )
    from threadpoolctl import threadpool_limits

    # Sums depend on the number of threads; a single thread gives the same files everywhere.
    with threadpool_limits(limits=1):
        time, common, choices = _time(task, K, settings.time, chain, seed) if labels_given is None else (0.0, None, {})
        run, by_itself = extended(rule, time, surplus, common), extended(rule, time, surplus)

        def decoding(video: str | None) -> Predict:
            return lambda frames: (run if video is None else by_itself)(frames, K, generator_for(seed, video))

        # A seed that neither the task nor any video uses.
        other = np.random.default_rng([seed, 2])
        second = (lambda frames: run(frames, K, other)) if second_seed and labels_given is None else None
        labels, joint, facts, learned_by_decoder, members = _cluster_task(task, decoder, K, decoding(None), second)
        cleaned, others = _evidence(task, labels, members, K) if labels_given is None else (labels, [])
        numbers = consensus_numbers(task, cleaned, K, learner) if labels_given is None else np.arange(K)
        labels, cleaned, *others = (
            {name: renumbered(row, numbers) for name, row in part.items()} for part in (labels, cleaned, *others)
        )
        learned = None if learned_by_decoder is None else lambda: {**learned_by_decoder(), NUMBERS: numbers}
        each = with_progress(log, f"{decoder}: videos by themselves", task.videos.items(), "video") if alone else ()
        single = {name: labelling_of([video], task.features_fps, K, decoding(name)) for name, video in each}
    key_steps = {"task": {name: labels[name] + 1 for name in task.videos}}
    if alone:
        key_steps["video"] = {name: result.labels + 1 for name, result in single.items()}
    segments = {scope: _segments(task, steps) for scope, steps in key_steps.items()}
    evidence, *alternatives = (
        _segments(task, {name: row + 1 for name, row in part.items()}) for part in (cleaned, *others)
    )
    orders = {
        name: order_of(key_steps["task"][name], video.time_s / video.duration_s) for name, video in task.videos.items()
    }
    background = any(video.background is not None for video in task.videos.values()) or any(
        (steps == 0).any() for scope in key_steps.values() for steps in scope.values()
    )
    steps_per_video = {name: len(np.unique(steps[steps > 0])) for name, steps in key_steps["task"].items()}
    share = float(np.mean(np.concatenate(list(key_steps["task"].values())) == 0))
    if labels_given is None:
        facts["equal_segments"] = _equal_segments(task, labels, K)
    lengths = [len(video.time_s) for video in task.part(held_out=False).values()] if labels_given is None else []
    warnings = doubts(K, steps_per_video, share, facts["second_seed"], choices.get("time"), task.scales, lengths)
    if "instead_of" in facts.get("graph_cut", {}):
        warnings.append(INSTEAD)
    scored = [name for name in single if not task.held_out or name in task.held_out]
    videos = collapse.combine([single[name].cause for name in scored])
    whole = collapse.combine([joint, videos])
    diagnostics: dict[str, Any] = {
        "method": task.method,
        "decoder": decoder,
        "K": K,
        "background": background,
        "seed": seed,
        "time": time,
        "surplus": surplus,
        "choices": choices,
        "features_fps": task.features_fps,
        "n_videos": len(task.videos),
        "videos_without_frames": list(task.empty),
        **collapse.marks(whole),
        "warnings": warnings,
        "task": {
            **facts,
            "distinct_labels_per_video": {name: len(np.unique(labels)) for name, labels in key_steps["task"].items()},
            "segments_per_video": {name: len(frame) for name, frame in segments["task"].items()},
        },
    }
    if alone:
        diagnostics["video"] = {
            **collapse.marks(videos),
            "degenerate_videos": [name for name, result in single.items() if result.cause],
            "videos": {
                name: {**result.facts(), "segments": len(segments["video"][name])} for name, result in single.items()
            },
        }
    if labels_given is not None:
        diagnostics["labelled"] = {
            "videos": [name for name in task.videos if name in labels_given.labels],
            "extra": extra,
            "names": {str(step): name for step, name in sorted(labels_given.names.items())},
        }
    if task.held_out:
        diagnostics["split"] = {"train": list(task.part(held_out=False)), "test": list(task.held_out)}
    notes = [*task.notes, *(no_background(background, surplus) if labels_given is None else [])]
    if notes:
        diagnostics["notes"] = notes
    annotated = () if labels_given is None else tuple(labels_given.labels)
    procedure = procedure_of(evidence, learner, task.held_out, annotated)
    if whole:
        log.warning("%s/%s/seed%d: degenerate: the %s collapsed", task.method, decoder, seed, whole)
    for warning in warnings:
        log.warning("%s/%s/seed%d: %s", task.method, decoder, seed, warning)
    return KeySteps(segments, orders, procedure, diagnostics, learned, evidence, alternatives, annotated)


@dataclass(frozen=True)
class Labelling:
    """Labels (T,) of all samples x (T, D), the decoder's result without background, and the cause of a collapse.

    ``members`` are the labels (T,) of other labellings by the decoder.
    """

    x: NDArray[np.float64]
    labels: NDArray[np.int64]
    decoded: Decoded
    cause: collapse.Cause | None
    members: tuple[NDArray[np.int64], ...] = ()

    def facts(self) -> dict[str, Any]:
        """Return its part of ``diagnostics.json``."""
        cosine = collapse.mean_pairwise_cosine(self.x)
        u = self.decoded.memberships
        facts: dict[str, Any] = {
            **collapse.marks(self.cause),
            "samples": len(self.x),
            "mean_pairwise_cosine": None if math.isnan(cosine) else cosine,
            "relative_variance": collapse.relative_variance(self.x),
            "lambda_1": direction_eigenvalue(self.x),
            "distinct_labels": len(np.unique(self.labels)),
            "dominant_label_share": collapse.dominant_share(self.labels),
            "background_share": float(np.mean(self.labels == NO_CLUSTER)),
        }
        if u is not None:
            facts["membership_entropy"] = collapse.membership_entropy(u)
            facts["mean_max_membership"] = collapse.mean_max_membership(u)
        return facts | self.decoded.facts


def labelling_of(videos: Collection[EmbeddedVideo], features_fps: float, K: int, decoder: Predict) -> Labelling:
    """Label samples by a decoder, which sees only those that are not background.

    Raises
    ------
    RgwotError
        If there is not one label per sample, or a label is not a cluster.
    """
    x = np.concatenate([video.embedding for video in videos])
    sampled = [
        np.ones(len(video.time_s), dtype=bool) if video.background is None else ~video.background for video in videos
    ]
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
            labels_given = np.concatenate(labels_of_videos)[rows]
        decoded = decoder(Frames(x[rows], lengths, features_fps, rates, given=labels_given))
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
    return Labelling(x, labels, decoded, collapse.diagnose(x, labels, K, decoded.memberships), tuple(members))


def _cluster_task(
    task: EmbeddedTask, name: str, K: int, decoder: Predict, second: Predict | None
) -> tuple[ByVideo, collapse.Cause | None, dict[str, Any], Callable[[], Learned] | None, list[ByVideo]]:
    """Cluster the training part, and label the held-out videos.

    Returns labels, diagnosis, facts, the learned parameters, and other labellings of the videos.

    The decoder sees only the training part until its clusters are complete. ``second`` is the same decoder with another
    seed, or None if seeds are not compared. It is not run if the decoder returns two labellings to compare
    (`Decoded.twice`).
    """
    training = task.part(held_out=False)
    labelling = labelling_of(training.values(), task.features_fps, K, decoder)
    labels, facts = split_by_video(training, labelling.labels), labelling.facts()
    facts["second_seed"] = None
    twice = labelling.decoded.twice
    if twice is None and second is not None:
        twice = labelling.labels, labelling_of(training.values(), task.features_fps, K, second).labels
    if twice is not None:
        from sklearn.metrics import adjusted_rand_score

        facts["second_seed"] = float(adjusted_rand_score(*twice))
    members = [
        {name: row for name, row in split_by_video(training, member).items() if (row != UNKNOWN).all()}
        for member in labelling.members
    ]
    if not task.held_out:
        return labels, labelling.cause, facts, labelling.decoded.learned, members
    if labelling.decoded.predict is None:
        raise RgwotError(f"decoder {name!r}: cannot label held-out videos; choose another decoder or data.split=all")
    new = task.part(held_out=True)
    applied = labelling_of(new.values(), task.features_fps, K, labelling.decoded.predict)
    whole = collapse.combine([labelling.cause, applied.cause])
    facts |= {**collapse.marks(whole), "held_out": applied.facts()}
    return labels | split_by_video(new, applied.labels), whole, facts, labelling.decoded.learned, members


def _evidence(task: EmbeddedTask, labels: ByVideo, members: Sequence[ByVideo], K: int) -> tuple[ByVideo, list[ByVideo]]:
    """Return labels without segments that look like their neighbours, and other labellings cleaned in the same way.

    Held-out videos do not change, so that their deviations do not depend on other held-out videos.
    """
    training = task.part(held_out=False)
    x = np.concatenate([video.embedding for video in training.values()])
    trained = [labels[name] for name in training]
    log_p = split_by_video(training, appearance(x, np.concatenate(trained), [len(steps) for steps in trained], K))
    usual = usual_samples(trained)
    evidence, *others = (
        {
            name: without_lookalikes(steps, log_p[name], usual) if name in log_p else steps
            for name, steps in part.items()
        }
        for part in (labels, *members)
    )
    return evidence, others


def _segments(task: EmbeddedTask, key_steps: ByVideo) -> dict[str, pd.DataFrame]:
    """Return the segments of videos from the key steps (T,) of their samples."""
    return {
        name: label_segments(video.time_s, key_steps[name], video.duration_s)
        for name, video in task.videos.items()
        if name in key_steps
    }


def _equal_segments(task: EmbeddedTask, labels: Mapping[str, NDArray[np.int64]], K: int) -> float:
    """Return `explained_share` of K equal segments divided by that of the labels, 0 if the latter is not positive."""
    training = task.part(held_out=False)
    lengths = [len(video.time_s) for video in training.values()]
    x = directions(np.concatenate([video.embedding for video in training.values()]))
    equal = np.concatenate([np.arange(length) * K // length for length in lengths])
    explained = explained_share(x, np.concatenate([labels[name] for name in training]), lengths)
    return explained_share(x, equal, lengths) / explained if explained > 0 else 0.0


def _with_given(video: EmbeddedVideo, labelled: Given, name: str) -> EmbeddedVideo:
    """Return a video with its labels; a sample labelled with a key step is no longer background."""
    if name not in labelled.labels:
        return video
    # Key steps are numbered from 1, clusters from 0.
    clusters = labelled.labels[name] - 1
    if clusters.shape != video.time_s.shape:
        raise RgwotError(f"labels of {name}: found {len(clusters)}, expected {len(video.time_s)}, one per sample")
    background = None if video.background is None else video.background & (clusters == UNKNOWN)
    return replace(video, given=clusters, background=background)


def split_by_video(videos: Mapping[str, EmbeddedVideo], labels: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Split the concatenated labels (or other values) of the videos' samples by video."""
    borders = np.cumsum([len(video.time_s) for video in videos.values()])[:-1]
    return dict(zip(videos, np.split(labels, borders), strict=True))


def _time(
    task: EmbeddedTask, K: int, share: float | str, chain: MeanfieldSettings, seed: int
) -> tuple[float, NDArray[Any] | None, dict[str, Any]]:
    """Return the weight of time, the references of common time, and, for ``auto``, how both were chosen."""
    if not isinstance(share, str):
        return share, None, {}
    training = task.part(held_out=False).values()
    x = np.concatenate([video.embedding for video in training])
    chosen, common, facts = choose_share(x, [len(video.time_s) for video in training], K, chain, seed)
    return chosen, common, {"time": facts}


def no_background(background: bool, surplus: int) -> list[str]:
    """Return the note that background was not looked for, unless there is background, or clusters beyond K."""
    return [] if background or surplus else [NO_BACKGROUND]


def consensus_numbers(
    task: EmbeddedTask, labels: Mapping[str, NDArray[np.int64]], K: int, learner: str
) -> NDArray[np.int64]:
    """Return the position (K,) of every cluster in the consensus order, from 0; absent clusters come last.

    ``labels`` (T,) are given for every video, -1 for background; held-out videos are not used.
    """
    training = task.part(held_out=False).items()
    segments = {name: label_segments(video.time_s, labels[name] + 1, video.duration_s) for name, video in training}
    order = [step - 1 for step in procedure_of(segments, learner).order]
    return np.argsort([*order, *(cluster for cluster in range(K) if cluster not in order)])


def check_number(K: int, surplus: int, samples: int) -> None:
    """Raise RgwotError for an impossible number of key steps: there must be two, and each needs a sample."""
    most = samples - surplus
    if not 2 <= K <= most:
        raise RgwotError(
            f"decode.K: found {K}, expected 2 to {most}: a single key step would be the whole video, and "
            f"each of the K + {surplus} clusters (decode.surplus: {surplus}) needs one of {samples} samples"
        )


def order_of(key_steps: NDArray[np.int64], positions: NDArray[np.float64]) -> Order:
    """Return the order of a video's key steps (T,) at relative times (T,), or ``0`` if everything is background."""
    steps = key_steps > 0
    return video_order(key_steps[steps], positions[steps]) if steps.any() else (0,)
