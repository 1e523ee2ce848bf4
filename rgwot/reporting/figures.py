"""Figures: each function takes tables and returns a matplotlib figure; `save` writes it as vector and as picture."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from rgwot.evaluation.labels import frame_times, predicted_labels, scoring_frames, truth_labels
from rgwot.evaluation.metrics import contingency, match
from rgwot.files import replacing
from rgwot.rates import parse_rate

#: Okabe and Ito's colours, told apart by readers with any colour vision; further steps repeat them, hatched.
STEP_COLOURS = ("#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#000000")
BACKGROUND = "#D9D9D9"
UNMATCHED = "#FFFFFF"


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as PDF and as PNG beside it (``path`` may carry either suffix)."""
    target = Path(path)
    # Without a date the same figure is the same bytes.
    for suffix, metadata in ((".pdf", {"CreationDate": None}), (".png", {"Software": None})):
        with replacing(target.with_suffix(suffix)) as temporary:
            figure.savefig(temporary, dpi=200, bbox_inches="tight", metadata=metadata)
    plt.close(figure)


def segment_bars(
    manifest: pd.DataFrame,
    annotations: pd.DataFrame,
    predictions: Mapping[str, pd.DataFrame],
    title: str,
    max_videos: int = 4,
) -> Figure:
    """Draw ground truth and predictions of a task as bars over time, one group per video.

    Clusters carry the colour of the annotated step that they are matched to over all videos of the task (protocol
    ``macro_task``, background as a class), so one colour means one step in every bar.

    Parameters
    ----------
    manifest
        Videos of the task: ``video, name, duration_s, fps, status``; only those with status ``ok`` are drawn.
    annotations
        Annotated segments: ``video, start_s, end_s, key_step``.
    predictions
        Label of the row to the predicted segments of scope ``task``: ``video, scope, start_s, end_s, key_step``.
    title
        What the picture says of itself: dataset, task, seed, settings.
    max_videos
        The first so many videos are drawn; the matching always uses all.
    """
    videos = manifest[manifest.status == "ok"].reset_index(drop=True)
    rows = {"ground truth": annotations} | {
        label: _matched(videos, annotations, table[table["scope"] == "task"]) for label, table in predictions.items()
    }
    shown = videos.head(max_videos)
    height = 0.28 * len(rows) * len(shown) + 0.35 * len(shown) + 1.0
    figure, axes = plt.subplots(len(shown), 1, figsize=(8.0, height), squeeze=False, layout="constrained")
    for axis, (_, video) in zip(axes[:, 0], shown.iterrows(), strict=True):
        for position, table in enumerate(rows.values()):
            axis.broken_barh([(0, video.duration_s)], (position - 0.4, 0.8), facecolor=BACKGROUND)
            for segment in table[table.video == video.video].itertuples():
                axis.broken_barh(
                    [(segment.start_s, segment.end_s - segment.start_s)],
                    (position - 0.4, 0.8),
                    **_style(segment.key_step),
                )
        axis.set_yticks(range(len(rows)), rows)
        axis.invert_yaxis()
        axis.set_xlim(0, video.duration_s)
        axis.set_title(str(video["name"]), loc="left", fontsize="small")
        axis.tick_params(labelsize="small", length=2)
        axis.spines[["top", "right", "left"]].set_visible(False)
    axes[-1, 0].set_xlabel("seconds", fontsize="small")
    figure.suptitle(title, fontsize="medium", x=0.01, ha="left")
    steps = sorted(set(annotations.key_step))
    figure.legend(
        handles=[
            *(Patch(label=f"step {step}", **_style(step)) for step in steps),
            Patch(label="background", facecolor=BACKGROUND),
            Patch(label="matched to no step", **_style(-1)),
        ],
        loc="outside lower center",
        ncols=min(5, len(steps) + 2),
        fontsize="small",
        frameon=False,
    )
    return figure


def _style(step: int) -> dict[str, Any]:
    """Colour and hatch of a step; 0 is background, negative steps are clusters without a partner."""
    if step == 0:
        return {"facecolor": BACKGROUND}
    if step < 0:
        return {"facecolor": UNMATCHED, "edgecolor": "#999999", "hatch": "////", "linewidth": 0.0}
    colour = STEP_COLOURS[(step - 1) % len(STEP_COLOURS)]
    hatch = ("", "////", "....")[min(2, (step - 1) // len(STEP_COLOURS))]
    return {
        "facecolor": colour,
        "edgecolor": "#FFFFFF" if hatch else colour,
        "hatch": hatch,
        "linewidth": 0.0,
    }


def _matched(videos: pd.DataFrame, annotations: pd.DataFrame, predicted: pd.DataFrame) -> pd.DataFrame:
    """Rename predicted key steps to the annotated step each is matched to; -1 where there is none."""
    truths, guesses = [], []
    for _, video in videos.iterrows():
        fps: Fraction = parse_rate(video.fps)
        frames = scoring_frames(float(video.duration_s), fps)
        own = annotations[annotations.video == video.video]
        mine = predicted[predicted.video == video.video]
        truths.append(truth_labels(own.start_s, own.end_s, own.key_step, frames, fps, "exact"))
        guesses.append(predicted_labels(mine.start_s, mine.end_s, mine.key_step, frame_times(frames, fps)))
    truth, guess = np.concatenate(truths), np.concatenate(guesses)
    classes, clusters = match(contingency(truth, guess, int(truth.max()) + 1, int(guess.max()) + 1))
    names = dict(zip(clusters.tolist(), classes.tolist(), strict=True))
    return predicted.assign(key_step=[names.get(int(step), -1) for step in predicted.key_step])


def labels_and_paths(pairs: Sequence[str]) -> dict[str, Path]:
    """Split ``label=path`` pairs of the command line."""
    return {label: Path(path) for label, _, path in (pair.partition("=") for pair in pairs)}
