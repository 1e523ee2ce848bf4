"""Key steps from embeddings: both scopes, segments, orders, the procedure and diagnostics."""

from __future__ import annotations

import logging
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rgwot.columns import readable
from rgwot.diagnostics import (
    Choices,
    Diagnostics,
    LabelledFacts,
    ScopeFacts,
    Split,
    TimeChoice,
    plain,
)
from rgwot.embedding.arrays import scales_differ
from rgwot.embedding.interface import USUAL, EmbeddedTask, EmbeddedVideo
from rgwot.embedding.pace import at_usual_pace, nearest_of
from rgwot.embedding.values import NAMED, on_lengths, usual_length
from rgwot.keysteps import collapse
from rgwot.keysteps.evidence import appearance, usual_samples, without_lookalikes
from rgwot.keysteps.extended import (
    HINT,
    KEPT_SHARE,
    NEAR,
    NUMBERS,
    ONE_ORDER,
    SAME_ORDER,
    choose_share,
    explained_share,
    extended,
    renumbered,
    restored,
)
from rgwot.keysteps.fuzzy_cmeans import direction_eigenvalue
from rgwot.keysteps.graphcut import INSTEAD
from rgwot.keysteps.interface import (
    NO_CLUSTER,
    UNKNOWN,
    Decode,
    Decoded,
    Frames,
    Given,
    Learned,
    Predict,
    directions,
)
from rgwot.keysteps.ordering import KeySteps, Order, counted, generator_for, procedure_of, usual_of, video_order
from rgwot.keysteps.settings import Clustering, Decoder, Labelled, Meanfield, MeanfieldSettings, resolved_K, too_fine
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.progress import with_progress
from rgwot.timing import label_segments

FEW = 1 / 3
"""A video has few key steps if it has at most this share of them."""

MOST = 0.5
"""A warning is given if a larger share of the samples is background."""

SAME = 0.6
"""Two seeds disagree if the adjusted Rand index of their labels is below this."""

COMPETE = 0.1
"""Two answers compete if they differ in a larger share of the samples."""


def doubts(
    K: int,
    steps_per_video: Mapping[str, int],
    background: float,
    agreement: float | None = None,
    time: TimeChoice | None = None,
    scales: float | None = None,
    samples: Collection[int] = (),
    present: int | None = None,
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
    present
        Number of key steps that occur in any video; None if it may be smaller than K.
    """
    warnings = [fine] if (fine := too_fine(K, samples)) else []
    if present is not None and present < K:
        warnings.append(f"{K - present} of {K} key steps are empty: no video has them; give a smaller K")
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
    return [text for text in (*warnings, _of_time(time), scales_differ(scales or 1.0)) if text]


def seeds_differ(who: str, agreement: float) -> str:
    """Return the warning that two seeds, called ``who``, have a small adjusted Rand index."""
    # Round down, so that a value below the threshold never prints as the threshold.
    rounded_down = min(agreement, SAME - 0.01)
    return (
        f"{who} disagree: their adjusted Rand index is {rounded_down:.2f}, expected {SAME:g} or more (1: same result, "
        "0: chance); trust only what several seeds have in common"
    )


def _of_time(choice: TimeChoice | None) -> str:
    """Return a warning if another weight of time was nearly chosen and gives another answer, or an empty text."""
    if choice is None or choice.differ is None or choice.differ <= COMPETE:
        return ""
    measured = ("concordance", choice.concordance, SAME_ORDER), ("kept", choice.kept, KEPT_SHARE)
    near = [
        f"{name} {value:.3g}, limit {limit:g}"
        for name, value, limit in measured
        if value is not None and abs(value - limit) <= NEAR * limit
    ]
    if not near:
        return ""
    other = HINT if choice.chosen == ONE_ORDER else ONE_ORDER
    return (
        f"two answers compete: decode.time: auto chose {choice.chosen:g}, {other:g} is supported almost equally "
        f"({', '.join(near)}) and gives {choice.differ:.0%} of the samples another key step; compare "
        f"decode.time={other:g}"
    )


log = logging.getLogger(__name__)

ByVideo = dict[str, NDArray[np.int64]]
"""Labels or key steps (T,) of the samples of every video."""

NO_BACKGROUND = "background was not looked for: every frame has a key step; decode.surplus adds clusters for background"
"""Note on a result of a method that cannot detect background."""


def find_key_steps(
    task: EmbeddedTask,
    decoder: Decoder,
    *,
    seed: int,
    decode: Decode | None = None,
    alone: bool = True,
    labels_given: Given | None = None,
) -> KeySteps:
    """Find the key steps of a task by a decoder; ``decode`` is another function to call in its place.

    Every video is labelled with the clusters of all videos of the task (scope ``task``) and, if ``alone``, with
    clusters of this video only (scope ``video``), which only scores need. The clusters of the task are numbered from 1
    in the consensus order of the procedure. Orders, the procedure and deviations belong to scope ``task``. If videos
    are held out, clusters and procedure are learned from the other videos alone, and the held-out videos are labelled
    and compared with them. Samples that the embeddings or the decoder call background have key step 0, which is left
    out of orders (the order of a video with nothing else is ``0``). If ``decoder.time`` is ``auto``, the weight of time
    is chosen once, on the training videos, for both scopes.

    K must be a number. Unless the decoder is slow, it also runs with another seed, to test whether they agree.

    With labels of some videos (``labels_given``), the decoder ``labelled`` learns from them. The key steps are then
    those of the labels, which keep their numbers, and ``decoder.extra`` new ones, and there is no scope ``video``.

    Raises
    ------
    RgwotError
        For a decoder that cannot label held-out videos, or a K below 2 or above the number of samples.
    """
    run_by, learner = decode or decoder, decoder.procedure.learner
    extra = 0
    share: float | str = 0.0
    if isinstance(decoder, Clustering):
        K, surplus, share = resolved_K(decoder.K), decoder.surplus, decoder.time
        check_number(K, surplus, sum(len(video.time_s) for video in task.part(held_out=False).values()))
    else:
        assert isinstance(decoder, Labelled)
        assert labels_given is not None
        extra = decoder.extra
        K, surplus, alone = labels_given.K + extra, 0, False
        task = replace(
            task, videos={name: with_given(video, labels_given, name) for name, video in task.videos.items()}
        )
    from threadpoolctl import threadpool_limits

    # Sums depend on the number of threads; a single thread gives the same files everywhere.
    with threadpool_limits(limits=1):
        # Decoders without a mean field choose the weight of time by the usual one.
        chain = decoder if isinstance(decoder, Meanfield) else getattr(decoder, "meanfield", MeanfieldSettings())
        lengths = [len(video.time_s) for video in task.part(held_out=False).values()]
        pace = usual_length(lengths) if decoder.AT_PACE else float("nan")
        time, common, choices = _time(task, K, share, chain, seed, pace)
        run, by_itself = extended(run_by, time, surplus, common), extended(run_by, time, surplus)
        # A seed that neither the task nor any video uses.
        other = np.random.default_rng([seed, 2]) if not decoder.SLOW and labels_given is None else None
        clusters = _cluster_task(task, run, K, generator_for(seed), other, pace)
        if task.held_out:
            if not decoder.RESTORE or clusters.learned is None:
                raise RgwotError(
                    f"decoder {decoder.NAME!r}: cannot label held-out videos; choose another decoder or data.split=all"
                )
            predict = restored(decoder.restored, clusters.learned, K, time, surplus)
            clusters = _with_held_out(task, clusters, K, predict, pace)
        evidence, others = _evidence(task, clusters, K) if labels_given is None else (clusters.labels, [])
        numbers = np.arange(K)
        if labels_given is None:
            numbers = consensus_numbers(task, clusters.labels, evidence, K, learner)
        each = (
            with_progress(log, f"{decoder.NAME}: videos by themselves", task.videos.items(), "video") if alone else ()
        )
        single = {
            name: labelling_of([video], task.features_fps, K, _seeded(by_itself, K, generator_for(seed, name)))
            for name, video in each
        }
    labels, evidence, *others = (
        {name: renumbered(row, numbers) + 1 for name, row in part.items()}
        for part in (clusters.labels, evidence, *others)
    )
    key_steps = {"task": {name: labels[name] for name in task.videos}}
    if alone:
        key_steps["video"] = {name: result.labels + 1 for name, result in single.items()}
    segments = {scope: segments_of(task, steps) for scope, steps in key_steps.items()}
    diagnostics = _diagnostics(
        task, decoder.NAME, key_steps, segments, clusters, single,
        K=K, seed=seed, time=time, surplus=surplus, choices=choices, labels_given=labels_given, extra=extra,
    )  # fmt: skip
    orders = {
        name: order_of(key_steps["task"][name], video.time_s / video.duration_s) for name, video in task.videos.items()
    }
    # Borders around marks are decoded, so slivers of these videos are no annotation.
    taught = {} if labels_given is None else {name: name in labels_given.marks for name in labels_given.labels}
    annotated = tuple(name for name, marked in taught.items() if not marked)
    segments_of_evidence, *others_cleaned = (segments_of(task, part) for part in (evidence, *others))
    usual = usual_of(segments_of_evidence, task.held_out)
    segments["task"] = counted(segments["task"], usual, segments_of_evidence, annotated)
    alternatives = [counted(other, usual, annotated=annotated) for other in others_cleaned]
    procedure = procedure_of(segments["task"], learner, task.held_out, usual)
    learned = None
    if clusters.learned is not None:
        learned = {**clusters.learned, NUMBERS: numbers, **({USUAL: np.array(pace)} if decoder.AT_PACE else {})}
    probabilities = None
    if clusters.probabilities is not None:
        columns = np.argsort([0, *(1 + numbers)])
        probabilities = {name: clusters.probabilities[name][:, columns] for name in task.videos}
    return KeySteps(segments, orders, procedure, diagnostics, learned, alternatives, probabilities, annotated)


def _diagnostics(
    task: EmbeddedTask,
    decoder: str,
    key_steps: Mapping[str, ByVideo],
    segments: Mapping[str, Mapping[str, pd.DataFrame]],
    clusters: _Clusters,
    single: Mapping[str, Labelling],
    *,
    K: int,
    seed: int,
    time: float,
    surplus: int,
    choices: Choices,
    labels_given: Given | None,
    extra: int,
) -> Diagnostics:
    """Return the content of ``diagnostics.json``, and log its warnings.

    ``key_steps`` (T,) and ``segments`` are those of each scope, ``single`` the labels of scope ``video``.
    """
    steps, facts = key_steps["task"], clusters.facts
    background = any(video.background is not None for video in task.videos.values()) or any(
        (row == 0).any() for scope in key_steps.values() for row in scope.values()
    )
    if labels_given is None:
        facts = replace(facts, equal_segments=_equal_segments(task, steps, K))
    lengths = [len(video.time_s) for video in task.part(held_out=False).values()] if labels_given is None else []
    # If only some behaviours were looked for, most of the time may well be none of them.
    only_some = labels_given is not None and "only" in labels_given.silence.values()
    warnings = doubts(
        K,
        {name: len(np.unique(row[row > 0])) for name, row in steps.items()},
        0.0 if only_some else float(np.mean(np.concatenate(list(steps.values())) == 0)),
        facts.second_seed,
        choices.time,
        task.scales,
        lengths,
        len(set(np.concatenate(list(steps.values())).tolist()) - {0}) if labels_given is None else None,
    )
    warnings += on_lengths({name: video.duration_s for name, video in task.videos.items()})
    if facts.without_library:
        warnings.append(INSTEAD)
    videos = collapse.combine([one.cause for name, one in single.items() if not task.held_out or name in task.held_out])
    whole = collapse.combine([clusters.cause, videos])
    if whole:
        log.warning("%s/%s/seed%d: degenerate: the %s collapsed", task.method, decoder, seed, whole)
    for warning in warnings:
        log.warning("%s/%s/seed%d: %s", task.method, decoder, seed, warning)
    notes = [*task.notes, *(no_background(background, surplus) if labels_given is None else [])]
    return Diagnostics(
        method=task.method,
        decoder=decoder,
        K=K,
        background=background,
        seed=seed,
        time=time,
        surplus=surplus,
        choices=choices,
        features_fps=task.features_fps,
        n_videos=len(task.videos),
        videos_without_frames=list(task.empty),
        **collapse.marks(whole),
        warnings=warnings,
        task=replace(
            facts,
            distinct_labels_per_video={name: len(np.unique(row)) for name, row in steps.items()},
            segments_per_video={name: len(frame) for name, frame in segments["task"].items()},
        ),
        video=ScopeFacts(
            **collapse.marks(videos),
            degenerate_videos=[name for name, result in single.items() if result.cause],
            videos={
                name: replace(result.facts(), segments=len(segments["video"][name])) for name, result in single.items()
            },
        )
        if "video" in key_steps
        else None,
        labelled=None if labels_given is None else _labelled(task, labels_given, extra),
        split=Split(train=list(task.part(held_out=False)), test=list(task.held_out)) if task.held_out else None,
        notes=notes or None,
    )


def _labelled(task: EmbeddedTask, given: Given, extra: int) -> LabelledFacts:
    """Return the facts about the labels that taught a result, by video in the order of the task."""
    marks = {name: int(given.marks[name].sum()) for name in task.videos if name in given.marks}
    silence = {name: given.silence[name] for name in task.videos if name in given.silence}
    return LabelledFacts(
        videos=[name for name in task.videos if name in given.labels],
        extra=extra,
        names=dict(sorted(given.names.items())),
        marks=marks if given.marks else None,
        silence=silence if given.silence else None,
    )


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
        """Return its part of ``diagnostics.json``."""
        u = self.decoded.memberships
        return ScopeFacts(
            **collapse.marks(self.cause),
            samples=len(self.x),
            mean_pairwise_cosine=collapse.mean_pairwise_cosine(self.x),
            relative_variance=collapse.relative_variance(self.x),
            lambda_1=direction_eigenvalue(self.x),
            distinct_labels=len(np.unique(self.labels)),
            dominant_label_share=collapse.dominant_share(self.labels),
            background_share=float(np.mean(self.labels == NO_CLUSTER)),
            membership_entropy=None if u is None else collapse.membership_entropy(u),
            mean_max_membership=None if u is None else collapse.mean_max_membership(u),
            decoder=plain(self.decoded.facts),
        )


def _seen(video: EmbeddedVideo, usual: float) -> NDArray[np.bool_]:
    """Return the samples (T,) of a video that a decoder sees: those that are not background, at the usual pace."""
    seen = np.ones(len(video.time_s), dtype=bool) if video.background is None else ~video.background
    chosen = at_usual_pace(video.embedding, usual)
    if chosen is None or not seen[chosen].any():
        return seen
    paced = np.zeros(len(seen), dtype=bool) if video.marked is None else video.marked.copy()
    paced[chosen] = True
    return seen & paced


def _followed(video: EmbeddedVideo, seen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return for each sample of a video the one whose label it gets: the nearest seen one, or itself if background."""
    rows, T = np.flatnonzero(seen), len(seen)
    if not len(rows):
        return np.arange(T)
    nearest = rows[nearest_of(rows, T)]
    return nearest if video.background is None else np.where(video.background, np.arange(T), nearest)


def labelling_of(
    videos: Collection[EmbeddedVideo], features_fps: float, K: int, decoder: Predict, usual: float = float("nan")
) -> Labelling:
    """Label samples by a decoder, which sees only those that are not background.

    Of videos that are far longer than the ``usual`` number of samples it sees some, and labels of others follow from
    the nearest of these (`rgwot.embedding.pace`).

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


@dataclass(frozen=True)
class _Clusters:
    """The clusters of a task.

    ``labels`` (T,) of videos are in 0..K-1 or `NO_CLUSTER`; ``members`` are other labellings of some videos. ``facts``
    are its part of ``diagnostics.json``. ``probabilities`` are those of `Labelling`, by video.
    """

    labels: ByVideo
    members: list[ByVideo]
    cause: collapse.Cause | None
    facts: ScopeFacts
    learned: Learned | None
    probabilities: dict[str, NDArray[np.float64]] | None = None


def _seeded(decode: Decode, K: int, generator: np.random.Generator) -> Predict:
    """Return the decoder as a function of samples alone."""
    return lambda frames: decode(frames, K, generator)


def _cluster_task(
    task: EmbeddedTask,
    decode: Decode,
    K: int,
    generator: np.random.Generator,
    other: np.random.Generator | None,
    usual: float,
) -> _Clusters:
    """Cluster the videos that are not held out.

    ``other`` is the generator of a second run, or None if seeds are not compared. There is no second run if the decoder
    returns two labellings to compare (`Decoded.twice`).
    """
    training = task.part(held_out=False)
    labelling = labelling_of(training.values(), task.features_fps, K, _seeded(decode, K, generator), usual)
    labels, facts = split_by_video(training, labelling.labels), labelling.facts()
    twice = labelling.decoded.twice
    if twice is None and other is not None:
        again = labelling_of(training.values(), task.features_fps, K, _seeded(decode, K, other), usual)
        twice = labelling.labels, again.labels
    agreement = math.nan
    if twice is not None:
        from sklearn.metrics import adjusted_rand_score

        agreement = float(adjusted_rand_score(*twice))
    members = [
        {name: row for name, row in split_by_video(training, member).items() if (row != UNKNOWN).all()}
        for member in labelling.members
    ]
    shares = None if labelling.probabilities is None else split_by_video(training, labelling.probabilities)
    return _Clusters(
        labels, members, labelling.cause, replace(facts, second_seed=agreement), labelling.decoded.learned, shares
    )


def _with_held_out(task: EmbeddedTask, clusters: _Clusters, K: int, predict: Predict, usual: float) -> _Clusters:
    """Label the held-out videos by the rule that was learned from the others."""
    new = task.part(held_out=True)
    applied = labelling_of(new.values(), task.features_fps, K, predict, usual)
    whole = collapse.combine([clusters.cause, applied.cause])
    return replace(
        clusters,
        labels=clusters.labels | split_by_video(new, applied.labels),
        cause=whole,
        facts=replace(clusters.facts, **collapse.marks(whole), held_out=applied.facts()),
        probabilities=None
        if clusters.probabilities is None or applied.probabilities is None
        else clusters.probabilities | split_by_video(new, applied.probabilities),
    )


def _evidence(task: EmbeddedTask, clusters: _Clusters, K: int) -> tuple[ByVideo, list[ByVideo]]:
    """Return labels without segments that look like their neighbours, and other labellings cleaned in the same way.

    Held-out videos do not change, so that their deviations do not depend on other held-out videos.
    """
    training = task.part(held_out=False)
    x = np.concatenate([video.embedding for video in training.values()])
    trained = [clusters.labels[name] for name in training]
    log_p = split_by_video(training, appearance(x, np.concatenate(trained), [len(steps) for steps in trained], K))
    usual = usual_samples(trained)
    evidence, *others = (
        {
            name: without_lookalikes(steps, log_p[name], usual) if name in log_p else steps
            for name, steps in part.items()
        }
        for part in (clusters.labels, *clusters.members)
    )
    return evidence, others


def segments_of(task: EmbeddedTask, key_steps: ByVideo) -> dict[str, pd.DataFrame]:
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


def split_by_video(videos: Mapping[str, EmbeddedVideo], labels: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Split the concatenated labels (or other values) of the videos' samples by video."""
    borders = np.cumsum([len(video.time_s) for video in videos.values()])[:-1]
    return dict(zip(videos, np.split(labels, borders), strict=True))


def _time(
    task: EmbeddedTask, K: int, share: float | str, chain: MeanfieldSettings, seed: int, usual: float
) -> tuple[float, NDArray[np.float32] | None, Choices]:
    """Return the weight of time, the references of common time, and, for ``auto``, how both were chosen."""
    if not isinstance(share, str):
        return share, None, Choices()
    every = task.part(held_out=False).values()
    paced = [(video.embedding, at_usual_pace(video.embedding, usual)) for video in every]
    training = [x if chosen is None else x[chosen] for x, chosen in paced]
    chosen, common, choice = choose_share(np.concatenate(training), [len(x) for x in training], K, chain, seed)
    return chosen, common, Choices(time=choice)


def no_background(background: bool, surplus: int) -> list[str]:
    """Return the note that background was not looked for, unless there is background, or clusters beyond K."""
    return [] if background or surplus else [NO_BACKGROUND]


def consensus_numbers(
    task: EmbeddedTask,
    labels: Mapping[str, NDArray[np.int64]],
    evidence: Mapping[str, NDArray[np.int64]],
    K: int,
    learner: str,
) -> NDArray[np.int64]:
    """Return the position (K,) of every cluster in the consensus order, from 0; absent clusters come last.

    ``labels`` (T,) are given for every video, -1 for background, and so are those without lookalikes (``evidence``);
    held-out videos are not used.
    """
    training = task.part(held_out=False)
    segments, cleaned = (segments_of(task, {name: part[name] + 1 for name in training}) for part in (labels, evidence))
    order = [step - 1 for step in procedure_of(counted(segments, usual_of(cleaned), cleaned), learner).order]
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
