"""From embeddings to key steps: both scopes, segments, orders, the procedure and diagnostics."""

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
from rgwot.evaluation.metrics import adjusted_rand_score
from rgwot.keysteps import collapse
from rgwot.keysteps.evident import evident, looks, usual_samples
from rgwot.keysteps.extended import (
    HINT,
    KEEPS,
    NUMBERS,
    SAME_ORDER,
    choose_share,
    explained_share,
    extended,
    largest_share,
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
"""A video keeps few key steps where it has no more than this share of them."""

MOST = 0.5
"""Share of background above which most of a task is background."""

SAME = 0.6
"""Two seeds disagree where the adjusted Rand index of their labels is below this."""

NEAR = 0.02
"""A share of time was a near thing where J or the concordance is within this share of its threshold."""

NAMED = 3
"""Videos that a warning names; of the others it gives the number."""


def doubts(
    K: int,
    kept: Mapping[str, int],
    background: float,
    same: float | None = None,
    time: Mapping[str, Any] | None = None,
    scales: float | None = None,
    samples: Collection[int] = (),
) -> list[str]:
    """Return why a result should be doubted, a line each; none where nothing speaks against it.

    Parameters
    ----------
    K
        Key steps that were asked for.
    kept
        Different key steps of every video, background not counted.
    background
        Share of all samples that are background, in [0, 1].
    same
        Adjusted Rand index of the labels and of those of another seed; None where it is not known.
    time
        How the share of time was chosen, as `rgwot.keysteps.extended.choose_share` tells it; None where it is set.
    scales
        Largest scale of a channel of the features divided by the smallest, where an embedding depends on it.
    samples
        Samples of every video.
    """
    said = [fine] if (fine := too_fine(K, samples)) else []
    # With one or two key steps a video of one is nothing to wonder at.
    few = {video: number for video, number in kept.items() if number <= FEW * K}
    if few:
        named = ", ".join(f"{readable(video)} {number}" for video, number in list(few.items())[:NAMED])
        more = f" and {len(few) - NAMED} more" if len(few) > NAMED else ""
        said.append(f"{len(few)} of {len(kept)} videos keep few of {K} key steps: {named}{more}")
    if background > MOST:
        said.append(f"{background:.0%} of the samples are background, which is most of them")
    if same is not None and same < SAME:
        said.append(f"{seeds_differ('two seeds', same)}; with seeds: [0, 1] in config.yaml both are on the page")
    return [one for one in (*said, _of_time(time or {}), scales_differ(scales or 1.0)) if one]


def seeds_differ(who: str, same: float) -> str:
    """Return the warning about two seeds, named by ``who``, whose labels have a small adjusted Rand index."""
    # 0.597 is not told to be 0.60.
    shown = min(same, SAME - 0.01)
    return (
        f"{who} disagree: their adjusted Rand index is {shown:.2f}, expected {SAME:g} or more (1 is the same answer, 0 "
        "is chance); trust what several seeds have in common"
    )


def _of_time(choice: Mapping[str, Any]) -> str:
    """Return what is doubtful about the share of time that was chosen, if anything."""
    if "agreement" not in choice:
        return ""
    found = {float(share): float(J) for share, J in choice["agreement"].items()}
    least, order = KEEPS * found[0.0], float(choice["concordance"])
    # A hint is given whatever its J is.
    close = [share for share, J in found.items() if share > HINT and least > 0 and abs(J - least) <= NEAR * least]
    if close and order >= SAME_ORDER:
        near = f"with {close[0]:g} J is {found[close[0]]:.3g}, and {least:.3g} is asked for"
    elif abs(order - SAME_ORDER) <= NEAR * SAME_ORDER and largest_share(found, SAME_ORDER) > HINT:
        near = f"the concordance of videos is {order:.3g}, and {SAME_ORDER:g} is asked for"
    else:
        return ""
    chosen = float(choice["chosen"])
    return f"decode.time: auto took {chosen:g}, a near thing: {near}; another seed may take another share"


log = logging.getLogger(__name__)

ByVideo = dict[str, NDArray[np.int64]]
"""Labels or key steps (T,) of the samples of every video."""

TWICE = ("graphcut", "kmeans", "meanfield", "subset")
"""Decoders cheap enough to be run with a second seed, to say whether two seeds agree."""

NO_BACKGROUND = "background is not looked for: every frame gets a key step, unless decode.surplus makes clusters for it"
"""Note on a result without key step 0 where nothing could have found it."""


def find_key_steps(
    task: EmbeddedTask,
    decoder: str,
    rule: Decode,
    settings: KeyStepSettings,
    chain: MeanfieldSettings,
    learner: str,
    seed: int,
    alone: bool = True,
    given: Given | None = None,
    extra: int = 0,
) -> KeySteps:
    """Find the key steps of a task by a ``rule``, that of the ``decoder`` of this name with its settings.

    Every video is labelled with the clusters of all videos of the task (scope ``task``) and, unless ``alone`` is false,
    with clusters of its own (scope ``video``), which only scores need. Those of the task are numbered from 1 in the
    consensus order of the procedure. Orders, the procedure and what deviates from it are those of scope ``task``. Where
    the embeddings name videos held out, the clusters of the task and the procedure are those of the other videos alone,
    and the ones held out are labelled and compared by them. Samples that the embeddings or the decoder call background
    have key step 0, which is in no order (that of a video without any other is ``0``). Where ``decode.time`` is
    ``auto``, the share of time is chosen once, on videos that may be learned from, and holds for both scopes.

    K is a number by now. ``chain`` are the settings of the mean field by which the share of time is chosen, ``learner``
    learns the procedure.

    Where people annotated some videos, ``given``, the ``rule`` is that of `rgwot.config.methods.LABELLED`. Key steps
    then are those of people, by their numbers, and ``extra`` more; time, surplus and K are not read, and there is no
    scope ``video``.

    Raises
    ------
    RgwotError
        For a decoder that cannot label videos held out, or a K that is not a number of 2 or more, or is above the
        number of samples.
    """
    samples = sum(len(video.time_s) for video in task.part(held_out=False).values())
    if given is None:
        K, surplus = resolved_K(settings.K), settings.surplus
        check_number(K, surplus, samples)
    else:
        K, surplus, alone = given.K + extra, 0, False
        task = replace(task, videos={name: _with_given(video, given, name) for name, video in task.videos.items()})
    from threadpoolctl import threadpool_limits

    # Sums over threads depend on their number; one thread gives the same files everywhere.
    with threadpool_limits(limits=1):
        time, choices = _time(task, K, settings.time, chain, seed) if given is None else (0.0, {})
        run = extended(rule, time, surplus)

        def decoding(video: str | None) -> Predict:
            return lambda frames: run(frames, K, generator_for(seed, video))

        # Neither that of the task nor that of a video, of any seed.
        other = np.random.default_rng([seed, 2])
        labels, joint, facts, made, members = _cluster_task(
            task, decoder, K, decoding(None), None if given else lambda frames: run(frames, K, other)
        )
        shown, others = _evidence(task, labels, members, K) if given is None else (labels, [])
        numbers = consensus_numbers(task, shown, K, learner) if given is None else np.arange(K)
        labels, shown, *others = (
            {name: renumbered(own, numbers) for name, own in part.items()} for part in (labels, shown, *others)
        )
        learned = None if made is None else lambda: {**made(), NUMBERS: numbers}
        each = with_progress(log, f"{decoder}: videos by themselves", task.videos.items(), "video") if alone else ()
        single = {name: labelling_of([video], task.features_fps, K, decoding(name)) for name, video in each}
    key_steps = {"task": {name: labels[name] + 1 for name in task.videos}}
    if alone:
        key_steps["video"] = {name: result.labels + 1 for name, result in single.items()}
    segments = {scope: _segments(task, own) for scope, own in key_steps.items()}
    evidence, *alternatives = (
        _segments(task, {name: own + 1 for name, own in part.items()}) for part in (shown, *others)
    )
    orders = {
        name: order_of(key_steps["task"][name], video.time_s / video.duration_s) for name, video in task.videos.items()
    }
    background = any(video.background is not None for video in task.videos.values()) or any(
        (steps == 0).any() for scope in key_steps.values() for steps in scope.values()
    )
    kept = {name: len(np.unique(steps[steps > 0])) for name, steps in key_steps["task"].items()}
    share = float(np.mean(np.concatenate(list(key_steps["task"].values())) == 0))
    if given is None:
        facts["equal_segments"] = _equal_segments(task, labels, K)
    lengths = [len(video.time_s) for video in task.part(held_out=False).values()] if given is None else []
    warnings = doubts(K, kept, share, facts["second_seed"], choices.get("time"), task.scales, lengths)
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
    if given is not None:
        diagnostics["labelled"] = {
            "videos": [name for name in task.videos if name in given.labels],
            "extra": extra,
            "names": {str(step): name for step, name in sorted(given.names.items())},
        }
    if task.held_out:
        diagnostics["split"] = {"train": list(task.part(held_out=False)), "test": list(task.held_out)}
    notes = [*task.notes, *(no_background(background, surplus) if given is None else [])]
    if notes:
        diagnostics["notes"] = notes
    annotated = () if given is None else tuple(given.labels)
    procedure = procedure_of(evidence, learner, task.held_out, annotated)
    if whole:
        log.warning("%s/%s/seed%d: degenerate, the %s collapsed", task.method, decoder, seed, whole)
    for warning in warnings:
        log.warning("%s/%s/seed%d: %s", task.method, decoder, seed, warning)
    return KeySteps(segments, orders, procedure, diagnostics, learned, evidence, alternatives, annotated)


@dataclass(frozen=True)
class Labelling:
    """Labels (T,) of all samples x (T, D), how the decoder arrived at those that are not background, what collapsed.

    ``members`` are the labels (T,) of its other labellings.
    """

    x: NDArray[np.float64]
    labels: NDArray[np.int64]
    decoded: Decoded
    cause: collapse.Cause | None
    members: tuple[NDArray[np.int64], ...] = ()

    def facts(self) -> dict[str, Any]:
        """Return what ``diagnostics.json`` says of it."""
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
    """Label the samples that are not background by a decoder, which sees no others.

    Raises
    ------
    RgwotError
        For labels that are not one per sample, or name no cluster.
    """
    x = np.concatenate([video.embedding for video in videos])
    kept = [
        np.ones(len(video.time_s), dtype=bool) if video.background is None else ~video.background for video in videos
    ]
    rows = np.concatenate(kept)
    labels = np.full(len(x), NO_CLUSTER, dtype=np.int64)
    decoded = Decoded(labels[rows])
    if rows.any():
        some = [(int(one.sum()), float(video.native_fps)) for video, one in zip(videos, kept, strict=True) if one.any()]
        lengths, rates = zip(*some, strict=True)
        given = None
        if any(video.given is not None for video in videos):
            said = [np.full(len(v.time_s), UNKNOWN) if v.given is None else v.given for v in videos]
            given = np.concatenate(said)[rows]
        decoded = decoder(Frames(x[rows], lengths, features_fps, rates, given=given))
        made, expected = np.asarray(decoded.labels), f"{rows.sum()} whole numbers from {NO_CLUSTER} to {K - 1}"
        if made.shape != (rows.sum(),) or made.dtype.kind not in "iu":
            raise RgwotError(f"decoder: found labels of shape {made.shape} and type {made.dtype}, expected {expected}")
        if made.min() < NO_CLUSTER or made.max() >= K:
            raise RgwotError(f"decoder: found labels from {made.min()} to {made.max()}, expected {expected}")
        labels[rows] = made
    members = np.full((len(decoded.members), len(x)), NO_CLUSTER, dtype=np.int64)
    members[:, rows] = decoded.members if len(members) else 0
    return Labelling(x, labels, decoded, collapse.diagnose(x, labels, K, decoded.memberships), tuple(members))


def _cluster_task(
    task: EmbeddedTask, name: str, K: int, decoder: Predict, second: Predict | None
) -> tuple[ByVideo, collapse.Cause | None, dict[str, Any], Callable[[], Learned] | None, list[ByVideo]]:
    """Cluster the training part, and label the videos held out by it.

    Returns labels, diagnosis, facts, what was learned, and what other labellings say of the videos that they have.

    The decoder is given nothing else until its clusters are made. ``second`` is the same decoder with another seed,
    None where labels leave nothing to chance.
    """
    seen = task.part(held_out=False)
    made = labelling_of(seen.values(), task.features_fps, K, decoder)
    labels, facts = split_by_video(seen, made.labels), made.facts()
    facts["second_seed"] = None
    if second is None:
        pass
    # Of a single video `consensus` has one pool, which is no second answer; to make another is quick.
    elif name in TWICE or (name == "consensus" and made.decoded.twice is None):
        again = labelling_of(seen.values(), task.features_fps, K, second).labels
        facts["second_seed"] = adjusted_rand_score(made.labels, again)
    elif made.decoded.twice is not None:
        facts["second_seed"] = adjusted_rand_score(*made.decoded.twice)
    members = [
        {name: own for name, own in split_by_video(seen, member).items() if (own != UNKNOWN).all()}
        for member in made.members
    ]
    if not task.held_out:
        return labels, made.cause, facts, made.decoded.learned, members
    if made.decoded.predict is None:
        raise RgwotError(f"decoder {name!r}: cannot label videos held out; take another decoder or data.split=all")
    new = task.part(held_out=True)
    applied = labelling_of(new.values(), task.features_fps, K, made.decoded.predict)
    whole = collapse.combine([made.cause, applied.cause])
    facts |= {**collapse.marks(whole), "held_out": applied.facts()}
    return labels | split_by_video(new, applied.labels), whole, facts, made.decoded.learned, members


def _evidence(task: EmbeddedTask, labels: ByVideo, members: Sequence[ByVideo], K: int) -> tuple[ByVideo, list[ByVideo]]:
    """Return labels without segments that look like their neighbours, and other labellings in the same way.

    Videos held out stay as they are: what is told of them does not depend on which others they came with.
    """
    seen = task.part(held_out=False)
    x = np.concatenate([video.embedding for video in seen.values()])
    own = [labels[name] for name in seen]
    said = split_by_video(seen, looks(x, np.concatenate(own), [len(one) for one in own], K))
    usual = usual_samples(own)
    shown, *others = (
        {name: evident(one, said[name], usual) if name in said else one for name, one in part.items()}
        for part in (labels, *members)
    )
    return shown, others


def _segments(task: EmbeddedTask, key_steps: ByVideo) -> dict[str, pd.DataFrame]:
    """Return the segments of videos from the key steps (T,) of their samples."""
    return {
        name: label_segments(video.time_s, key_steps[name], video.duration_s)
        for name, video in task.videos.items()
        if name in key_steps
    }


def _equal_segments(task: EmbeddedTask, labels: Mapping[str, NDArray[np.int64]], K: int) -> float:
    """Return the J of K equal segments relative to that of the labels; 0 where that is not positive."""
    seen = task.part(held_out=False)
    lengths = [len(video.time_s) for video in seen.values()]
    x = directions(np.concatenate([video.embedding for video in seen.values()]))
    equal = np.concatenate([np.arange(length) * K // length for length in lengths])
    explained = explained_share(x, np.concatenate([labels[name] for name in seen]), lengths)
    return explained_share(x, equal, lengths) / explained if explained > 0 else 0.0


def _with_given(video: EmbeddedVideo, given: Given, name: str) -> EmbeddedVideo:
    """Return a video with what people say of it; a sample with a key step is not background, whoever says so."""
    if name not in given.labels:
        return video
    # Key steps from 1, clusters from 0.
    clusters = given.labels[name] - 1
    if clusters.shape != video.time_s.shape:
        raise RgwotError(f"labels of {name}: found {len(clusters)}, expected {len(video.time_s)}, one per sample")
    background = None if video.background is None else video.background & (clusters == UNKNOWN)
    return replace(video, given=clusters, background=background)


def split_by_video(videos: Mapping[str, EmbeddedVideo], labels: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Divide the labels of videos one after the other, or anything else of their samples, into those of each."""
    borders = np.cumsum([len(video.time_s) for video in videos.values()])[:-1]
    return dict(zip(videos, np.split(labels, borders), strict=True))


def _time(
    task: EmbeddedTask, K: int, share: float | str, chain: MeanfieldSettings, seed: int
) -> tuple[float, dict[str, Any]]:
    """Return the share of time, and how it was chosen where it is left to the videos that may be learned from."""
    if not isinstance(share, str):
        return share, {}
    seen = task.part(held_out=False).values()
    x = np.concatenate([video.embedding for video in seen])
    chosen, facts = choose_share(x, [len(video.time_s) for video in seen], K, chain, seed)
    return chosen, {"time": facts}


def no_background(background: bool, surplus: int) -> list[str]:
    """Return the note that background is not looked for, unless there is some, or clusters beyond K."""
    return [] if background or surplus else [NO_BACKGROUND]


def consensus_numbers(
    task: EmbeddedTask, labels: Mapping[str, NDArray[np.int64]], K: int, learner: str
) -> NDArray[np.int64]:
    """Return the place (K,) of every cluster in the consensus order, from 0; clusters that do not occur come last.

    ``labels`` (T,) are those of every video, -1 for background; videos held out have no say.
    """
    seen = task.part(held_out=False).items()
    segments = {name: label_segments(video.time_s, labels[name] + 1, video.duration_s) for name, video in seen}
    order = [step - 1 for step in procedure_of(segments, learner).order]
    return np.argsort([*order, *(cluster for cluster in range(K) if cluster not in order)])


def check_number(K: int, surplus: int, samples: int) -> None:
    """Raise if so many key steps cannot be found: a single one is the whole video, and each needs a sample."""
    most = samples - surplus
    if not 2 <= K <= most:
        raise RgwotError(
            f"decode.K: found {K}, expected 2 to {most}: a single key step is the whole video, and there are "
            f"{samples} samples to cluster"
        )


def order_of(key_steps: NDArray[np.int64], positions: NDArray[np.float64]) -> Order:
    """Return the order of a video's key steps (T,) at relative times (T,); ``0`` where all is background."""
    steps = key_steps > 0
    return video_order(key_steps[steps], positions[steps]) if steps.any() else (0,)
