"""Key steps from embeddings: both scopes, segments, orders, the procedure and diagnostics."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from string import ascii_uppercase

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rgwot.columns import SEGMENT_COLUMNS
from rgwot.diagnostics import Choices, Diagnostics, LabelledFacts, ScopeFacts, Split, TimeChoice
from rgwot.embedding.interface import USUAL, EmbeddedTask
from rgwot.embedding.pace import at_usual_pace
from rgwot.embedding.values import on_lengths, usual_length
from rgwot.keysteps import collapse
from rgwot.keysteps.common_time import choose_share, explained_share
from rgwot.keysteps.evidence import appearance, usual_samples, without_lookalikes
from rgwot.keysteps.extended import NUMBERS, extended, renumbered, restored
from rgwot.keysteps.graphcut import INSTEAD
from rgwot.keysteps.interface import NO_CLUSTER, UNKNOWN, Decode, Given, Learned, Predict, differ, directions
from rgwot.keysteps.labelling import ByVideo, Labelling, extra_of, labelling_of, split_by_video, with_given
from rgwot.keysteps.ordering import (
    KeySteps,
    Order,
    counted,
    divided,
    generator_for,
    procedure_of,
    usual_of,
    video_order,
)
from rgwot.keysteps.settings import Clustering, Decoder, Labelled, Meanfield, MeanfieldSettings, resolved_K
from rgwot.keysteps.warnings import doubts, no_background
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.progress import with_progress
from rgwot.timing import label_borders

log = logging.getLogger(__name__)


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

    K must be a number. Unless the decoder is slow, it also runs with another seed, to test whether the two runs agree.

    With labels of some videos (``labels_given``), the decoder ``labelled`` learns from them. The key steps are then
    those of the labels, which keep their numbers, and ``decoder.extra`` new ones, and there is no scope ``video``.

    Raises
    ------
    RgwotError
        For a decoder that cannot label held-out videos, or a K below 2 or above the number of samples.
    """
    if isinstance(decoder, Labelled) and labels_given is not None:
        decoder = decoder.model_copy(update={"extra": extra_of(decoder, labels_given)})
    run_by, learner = decode or decoder, decoder.procedure.learner
    K, surplus, share = _asked(task, decoder, labels_given)
    if labels_given is not None:
        alone = False
        task = replace(
            task, videos={name: with_given(video, labels_given, name) for name, video in task.videos.items()}
        )
    from threadpoolctl import threadpool_limits

    # Sums depend on the number of threads; a single thread gives the same files everywhere.
    with threadpool_limits(limits=1):
        # Decoders without a mean field choose the weight of time by one with default settings.
        chain = decoder if isinstance(decoder, Meanfield) else getattr(decoder, "meanfield", MeanfieldSettings())
        lengths = [len(video.time_s) for video in task.part(held_out=False).values()]
        pace = usual_length(lengths) if decoder.AT_PACE else float("nan")
        time, common, choices = _time(task, K, share, chain, seed, pace)
        run, by_itself = extended(run_by, time, surplus, common), extended(run_by, time, surplus)
        # A seed that neither the task nor any video uses.
        other = np.random.default_rng([seed, 2]) if not decoder.SLOW and labels_given is None else None
        clusters = _cluster_task(task, run, K, generator_for(seed), other, pace)
        if task.held_out:
            clusters = _with_held_out(task, clusters, _restored(decoder, clusters, K, time, surplus), K, pace)
        evidence, others = _evidence(task, clusters, K) if labels_given is None else (clusters.labels, [])
        numbers = np.arange(K)
        if labels_given is None:
            numbers = consensus_numbers(task, clusters.labels, evidence, K, learner)
        single = _by_themselves(task, by_itself, decoder.NAME, K, seed) if alone else {}
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
        K=K, seed=seed, time=time, surplus=surplus, choices=choices, labels_given=labels_given,
    )  # fmt: skip
    orders = {
        name: order_of(key_steps["task"][name], video.time_s / video.duration_s) for name, video in task.videos.items()
    }
    # Borders around marks are decoded, so short segments in these videos are not annotations.
    marked_of = {} if labels_given is None else {name: name in labels_given.marks for name in labels_given.labels}
    annotated = tuple(name for name, marked in marked_of.items() if not marked)
    segments_of_evidence, *others_cleaned = (segments_of(task, part) for part in (evidence, *others))
    usual = usual_of(segments_of_evidence, task.held_out)
    segments["task"] = counted(segments["task"], usual, segments_of_evidence, annotated)
    alternatives = [counted(other, usual, annotated=annotated) for other in others_cleaned]
    procedure = procedure_of(segments["task"], learner, task.held_out, usual)
    learned = None
    if clusters.learned is not None:
        learned = {**clusters.learned, NUMBERS: numbers, **({USUAL: np.array(pace)} if decoder.AT_PACE else {})}
    probabilities = _numbered(clusters.probabilities, numbers)
    return KeySteps(segments, orders, procedure, diagnostics, learned, alternatives, probabilities, annotated)


def _asked(task: EmbeddedTask, decoder: Decoder, labels_given: Given | None) -> tuple[int, int, float | str]:
    """Return how many key steps and surplus clusters to look for, and the weight of time as set."""
    if isinstance(decoder, Clustering):
        K = resolved_K(decoder.K)
        check_number(K, decoder.surplus, sum(len(video.time_s) for video in task.part(held_out=False).values()))
        return K, decoder.surplus, decoder.time
    assert isinstance(decoder, Labelled)
    assert labels_given is not None
    return labels_given.K + extra_of(decoder, labels_given), 0, 0.0


def _numbered(
    probabilities: dict[str, NDArray[np.float64]] | None, numbers: NDArray[np.int64]
) -> dict[str, NDArray[np.float64]] | None:
    """Return the probabilities (T, K + 1) of videos with their columns in the order of the new numbers (K,)."""
    if probabilities is None:
        return None
    columns = np.argsort([0, *(1 + numbers)])
    return {name: rows[:, columns] for name, rows in probabilities.items()}


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
    warnings = _warnings(task, facts, steps, K, choices.time, labels_given)
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
        labelled=None if labels_given is None else _labelled(task, labels_given, K),
        split=Split(train=list(task.part(held_out=False)), test=list(task.held_out)) if task.held_out else None,
        notes=notes or None,
    )


def _warnings(
    task: EmbeddedTask,
    facts: ScopeFacts,
    steps: ByVideo,
    K: int,
    time: TimeChoice | None,
    labels_given: Given | None,
) -> list[str]:
    """Return the reasons to doubt the key steps (T,) of the videos, a line each."""
    rows = np.concatenate(list(steps.values()))
    # If only some behaviours were looked for, most of the time may well belong to none of them.
    only_some = labels_given is not None and "only" in labels_given.silence.values()
    warnings = doubts(
        K,
        {name: len(np.unique(row[row > 0])) for name, row in steps.items()},
        background=0.0 if only_some else float(np.mean(rows == 0)),
        seeds_differ=facts.seeds_differ,
        time=time,
        scales=task.scales,
        samples=[len(video.time_s) for video in task.part(held_out=False).values()] if labels_given is None else (),
        present=len({*rows.tolist()} - {0}) if labels_given is None else None,
    )
    warnings += on_lengths({name: video.duration_s for name, video in task.videos.items()})
    return [*warnings, INSTEAD] if facts.without_library else warnings


def _labelled(task: EmbeddedTask, given: Given, K: int) -> LabelledFacts:
    """Return the facts about the labels from which a result of K key steps was learned, in the order of the task."""
    marks = {name: int(given.marks[name].sum()) for name in task.videos if name in given.marks}
    silence = {name: given.silence[name] for name in task.videos if name in given.silence}
    letters = (name for letter in ascii_uppercase if (name := f"unlabelled {letter}") not in given.names.values())
    beyond = dict(zip(range(given.K + 1, K + 1), letters, strict=False)) if given.names else {}
    return LabelledFacts(
        videos=[name for name in task.videos if name in given.labels],
        extra=K - given.K,
        names=dict(sorted({**given.names, **beyond}.items())),
        marks=marks if given.marks else None,
        silence=silence if given.silence else None,
    )


@dataclass(frozen=True)
class _Clusters:
    """The clusters of a task.

    ``labels`` (T,) of videos are in 0..K-1 or `NO_CLUSTER`; ``members`` are other labellings of some videos. ``facts``
    are their part of ``diagnostics.json``. ``probabilities`` are those of `Labelling`, by video.
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
    apart = math.nan
    if twice is not None:
        # Background counts as one more cluster, and there may be clusters beyond K.
        first, second = (own - NO_CLUSTER for own in twice)
        apart = differ(first, second, 2 + int(np.max(twice)))
    members = [
        {name: row for name, row in split_by_video(training, member).items() if (row != UNKNOWN).all()}
        for member in labelling.members
    ]
    shares = None if labelling.probabilities is None else split_by_video(training, labelling.probabilities)
    return _Clusters(
        labels, members, labelling.cause, replace(facts, seeds_differ=apart), labelling.decoded.learned, shares
    )


def _restored(decoder: Decoder, clusters: _Clusters, K: int, time: float, surplus: int) -> Predict:
    """Return the rule that a decoder learned; raise RgwotError if it cannot label other videos."""
    if not decoder.RESTORE or clusters.learned is None:
        raise RgwotError(
            f"decoder {decoder.NAME!r}: cannot label held-out videos; choose another decoder or data.split=all"
        )
    return restored(decoder.restored, clusters.learned, K, time, surplus)


def _by_themselves(task: EmbeddedTask, decode: Decode, name: str, K: int, seed: int) -> dict[str, Labelling]:
    """Label every video with clusters of its own, by the decoder called ``name``."""
    return {
        video: labelling_of([embedded], task.features_fps, K, _seeded(decode, K, generator_for(seed, video)))
        for video, embedded in with_progress(log, f"{name}: videos by themselves", task.videos.items(), "video")
    }


def _with_held_out(task: EmbeddedTask, clusters: _Clusters, predict: Predict, K: int, usual: float) -> _Clusters:
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
    found = {
        name: label_borders(video.time_s, key_steps[name], video.duration_s)
        for name, video in task.videos.items()
        if name in key_steps
    }
    columns = [(edges[:-1], edges[1:], steps) for edges, steps in found.values()]
    arrays = map(np.concatenate, zip(*columns, strict=True))
    # Without a video there is no column.
    table = pd.DataFrame(dict(zip(SEGMENT_COLUMNS[2:], arrays, strict=False)))
    return divided(table, {name: len(steps) for name, (_, steps) in found.items()})


def _equal_segments(task: EmbeddedTask, labels: Mapping[str, NDArray[np.int64]], K: int) -> float:
    """Return `explained_share` of K equal segments divided by that of the labels, 0 if the latter is not positive."""
    training = task.part(held_out=False)
    lengths = [len(video.time_s) for video in training.values()]
    x = directions(np.concatenate([video.embedding for video in training.values()]))
    equal = np.concatenate([np.arange(length) * K // length for length in lengths])
    explained = explained_share(x, np.concatenate([labels[name] for name in training]), lengths)
    return explained_share(x, equal, lengths) / explained if explained > 0 else 0.0


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
