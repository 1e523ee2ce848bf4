"""Trivial baselines for comparison: one label, uniform, random (methods 4.1); and the annotations.

Trivial baselines read only the manifest, neither features nor a model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np
import pandas as pd

from rgwot.columns import SCOPES
from rgwot.diagnostics import Diagnostics, ScopeFacts, Split
from rgwot.keysteps.ordering import KeySteps, counted, generator_for, order_of_segments, procedure_of, usual_of
from rgwot.keysteps.settings import ANNOTATED
from rgwot.procedure.learning import LEARNER
from rgwot.runtime.errors import RgwotError
from rgwot.timing import frame_times, label_segments, scoring_frames, truth_labels

Trivial = Callable[[float, Fraction, int, int, np.random.Generator], pd.DataFrame]
"""duration in seconds, native rate, stride, K, generator -> segments of one video."""


def one_label(duration_s: float, fps: Fraction, stride: int, K: int, generator: np.random.Generator) -> pd.DataFrame:
    """Return a single segment of key step 1."""
    return pd.DataFrame({"start_s": [0.0], "end_s": [float(duration_s)], "key_step": [1]})


def uniform(duration_s: float, fps: Fraction, stride: int, K: int, generator: np.random.Generator) -> pd.DataFrame:
    """Return K equal segments of the duration, key steps 1..K in turn."""
    edges = np.linspace(0.0, duration_s, K + 1)
    return pd.DataFrame({"start_s": edges[:-1], "end_s": edges[1:], "key_step": np.arange(1, K + 1)})


def random(duration_s: float, fps: Fraction, stride: int, K: int, generator: np.random.Generator) -> pd.DataFrame:
    """Return an independent, uniformly drawn key step at every scoring time stride i / fps."""
    times = frame_times(scoring_frames(duration_s, fps, stride), fps)
    return label_segments(times, generator.integers(1, K + 1, size=len(times)), duration_s)


TRIVIAL_LABELS: Mapping[str, Trivial] = {"one_label": one_label, "uniform": uniform, "random": random}


def trivial_segments(
    videos: Iterable[tuple[str, float, Fraction]], decoder: str, K: int | str, seed: int, stride: int
) -> dict[str, pd.DataFrame]:
    """Return the segments of videos, each given by its id, duration in seconds and native frame rate.

    Raises RgwotError if K is not a number from 1, or for ``annotated``, which needs annotations.
    """
    if decoder not in TRIVIAL_LABELS:
        raise RgwotError(
            f"decoder {decoder!r}: found no annotations to copy; expected another decoder: {', '.join(TRIVIAL_LABELS)}"
        )
    if not isinstance(K, int) or K < 1:
        raise RgwotError(f"decoder {decoder!r}: found K = {K!r}, expected a whole number, 1 or above")
    return {
        video: TRIVIAL_LABELS[decoder](duration_s, fps, stride, K, generator_for(seed, video))
        for video, duration_s, fps in videos
    }


def trivial_key_steps(
    segments: Mapping[str, pd.DataFrame],
    decoder: str,
    K: int,
    seed: int,
    held_out: Sequence[str] = (),
    learner: str = LEARNER,
    skipped: Sequence[str] = (),
) -> KeySteps:
    """Return the segments of a trivial decoder as key steps, the same for the scopes ``task`` and ``video``."""
    orders = {video: order_of_segments(frame[frame["key_step"] > 0]) for video, frame in segments.items()}
    per_video = {video: frame.key_step.nunique() for video, frame in segments.items()}
    every = np.concatenate([frame.key_step.to_numpy() for frame in segments.values()])
    facts = ScopeFacts(
        degenerate=False,
        distinct_labels=len(np.unique(every)),
        distinct_labels_per_video=per_video,
        segments_per_video={video: len(frame) for video, frame in segments.items()},
    )
    training = [video for video in segments if video not in held_out]
    diagnostics = Diagnostics(
        decoder=decoder,
        K=K,
        background=True if decoder == ANNOTATED else None,
        seed=seed,
        n_videos=len(segments),
        videos_without_frames=list(skipped),
        task=facts,
        video=facts,
        split=Split(train=training, test=sorted(held_out)) if held_out else None,
    )
    annotated = tuple(segments) if decoder == ANNOTATED else ()
    usual = usual_of(segments, held_out)
    segments = counted(segments, usual, annotated=annotated)
    procedure = procedure_of(segments, learner, held_out, usual)
    return KeySteps(dict.fromkeys(SCOPES, segments), orders, procedure, diagnostics)


def annotated_segments(
    videos: pd.DataFrame, annotations: pd.DataFrame, stride: int
) -> tuple[dict[str, pd.DataFrame], int]:
    """Return the annotated segments of videos, with background in the gaps, and the largest number of a key step.

    They are rasterised at every ``stride``-th native frame by the rule ``exact``. Raises RgwotError if no video is
    annotated.
    """
    lasts = annotations["end_s"] > annotations["start_s"]
    usable = annotations[annotations["video"].isin(videos["video"]) & lasts]
    if usable.empty:
        raise RgwotError("annotations: no usable video is annotated; expected at least one")
    segments = {}
    for video, duration_s, fps in videos.to_numpy():
        frames, rows = scoring_frames(duration_s, fps, stride), usable[usable["video"] == video]
        labels = truth_labels(rows["start_s"], rows["end_s"], rows["key_step"], frames, fps, "exact")
        segments[video] = label_segments(frame_times(frames, fps), labels, duration_s)
    return segments, int(usable["key_step"].max())
