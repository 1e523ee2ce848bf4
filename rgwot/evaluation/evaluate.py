"""Scores of key steps under every protocol, with and without background, by both label rules."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rgwot.columns import CELL, SCOPES, SCORE_COLUMNS
from rgwot.diagnostics import Diagnostics
from rgwot.evaluation.metrics import IntArray
from rgwot.evaluation.protocols import (
    ALSO,
    BACKGROUNDS,
    BY_NAME,
    PROTOCOLS,
    SEGMENTATION,
    background_detection,
    order_distance,
    score,
    score_fixed,
    score_named,
)
from rgwot.evaluation.segmental import score_segmentation
from rgwot.runtime.errors import RgwotError
from rgwot.timing import RULES, LabelRule, frame_times, parse_rate, predicted_labels, scoring_frames, truth_labels

log = logging.getLogger(__name__)


class LabelledVideo(NamedTuple):
    """A scored video: true labels by label rule and predicted labels by scope, all of shape (T,)."""

    name: str
    truth: Mapping[LabelRule, IntArray]
    prediction: Mapping[str, IntArray]


#: Columns of the scores of a run.
SCORED = (*CELL, "metric", "value")
ScoreMore = Callable[[Sequence[LabelledVideo], pd.DataFrame, pd.DataFrame, int, int], pd.DataFrame]
"""From scored videos, annotations, segments, K_gt, K (plus 1 if key step 0 means background) to rows of `SCORED`."""


def label_videos(
    manifest: pd.DataFrame,
    annotations: pd.DataFrame,
    segments: pd.DataFrame,
    stride: int,
    scopes: Sequence[str] = SCOPES,
) -> tuple[list[LabelledVideo], list[str], list[str]]:
    """Return the true and predicted labels of every video that can be scored.

    Parameters
    ----------
    manifest, annotations, segments
        The tables of `rgwot.records`.
    stride
        Every stride-th native frame is scored.
    scopes
        The scopes of ``segments`` to read.

    Returns
    -------
    The labelled videos in the order of the manifest; the names of the skipped videos (unusable, or left out
    between the manifest and the decoding); the names of the videos without annotation.
    """
    truth_of = dict(list(annotations.groupby("video", sort=False)))
    decoded = {
        (str(video), str(scope)): rows for (video, scope), rows in segments.groupby(["video", "scope"], sort=False)
    }
    labelled, skipped, unscored = [], [], []
    for row in manifest.to_dict("records"):
        video = str(row["video"])
        predicted = {scope: decoded.get((video, scope)) for scope in scopes}
        if row["status"] == "skipped":
            skipped.append(video)
        elif row["status"] == "unscored" or video not in truth_of:
            unscored.append(video)
        elif all(rows is None for rows in predicted.values()):
            skipped.append(video)
        else:
            labelled.append(_label(video, row, truth_of[video], predicted, stride))
    return labelled, skipped, unscored


def _label(
    video: str,
    row: Mapping[Any, Any],
    truth: pd.DataFrame,
    predicted: Mapping[str, pd.DataFrame | None],
    stride: int,
) -> LabelledVideo:
    try:
        fps = parse_rate(row["fps"])
        frames = scoring_frames(float(row["duration_s"]), fps, stride)
        times = frame_times(frames, fps)
        true = {
            rule: truth_labels(truth["start_s"], truth["end_s"], truth["key_step"], frames, fps, rule) for rule in RULES
        }
        labels = {}
        for scope, rows in predicted.items():
            if rows is None:
                raise ValueError(
                    f"segments: got none of scope {scope!r}, expected both scopes; make the segments again"
                )
            labels[scope] = predicted_labels(rows["start_s"], rows["end_s"], rows["key_step"], times)
    except RgwotError:
        raise
    except ValueError as error:
        raise RgwotError(f"video {video!r}: {error}") from None
    return LabelledVideo(video, true, labels)


def score_table(
    videos: Sequence[LabelledVideo],
    n_key_steps: int,
    n_clusters: int,
    says_background: bool = False,
    also: str = "none",
) -> pd.DataFrame:
    """Score labelled videos by every protocol, background and label rule, ``segmentation`` last.

    Parameters
    ----------
    videos
        True and predicted labels (`label_videos`).
    n_key_steps, n_clusters
        K_gt and K, both without background.
    says_background
        Whether key step 0 means background; it is then one more cluster for the protocols.
    also
        One of `ALSO`, which is scored too, or ``none``.

    Returns
    -------
    Tidy rows ``protocol,background,label_rule,metric,value``. With background every protocol also has
    ``background_precision``, ``background_recall`` and ``background_f1`` of key step 0. Only protocols of scope
    ``task`` have ``order_distance`` and, with background, ``precision_fixed``, ``recall_fixed``, ``f1_fixed`` and
    ``iou_fixed``, where key step 0 is background and nothing else (`rgwot.evaluation.protocols`). The metrics of
    ``segmentation`` are those of `rgwot.evaluation.segmental`.
    """
    columns = n_clusters + says_background
    rows: list[tuple[str, str, str, str, float]] = []
    for protocol in (*PROTOCOLS.values(), *(extra for extra in ALSO.values() if extra.name == also)):
        predictions = [video.prediction[protocol.scope] for video in videos]
        for background, rule in product(protocol.backgrounds, RULES):
            truths = [video.truth[rule] for video in videos]
            scores = score(protocol, truths, predictions, n_key_steps, columns, background)._asdict()
            if protocol.scope == "task":
                scores["order_distance"] = order_distance(truths, predictions, n_key_steps, columns, background)
            if background == "with":
                detected = background_detection(truths, predictions, says_background)
                scores |= {f"background_{name}": value for name, value in detected._asdict().items()}
                if protocol.scope == "task":
                    fixed = score_fixed(protocol, truths, predictions, n_key_steps, n_clusters, says_background)
                    scores |= {f"{name}_fixed": getattr(fixed, name) for name in ("precision", "recall", "f1", "iou")}
            rows += [(protocol.name, background, rule, metric, value) for metric, value in scores.items()]
    predictions = [video.prediction["task"] for video in videos]
    for background, rule in product(BACKGROUNDS, RULES):
        truths = [video.truth[rule] for video in videos]
        segmental = score_segmentation(truths, predictions, n_key_steps, columns, background)._asdict()
        rows += [(SEGMENTATION, background, rule, metric, value) for metric, value in segmental.items()]
    return pd.DataFrame(rows, columns=list(SCORED))


def named_table(videos: Sequence[LabelledVideo], n_key_steps: int, says_background: bool) -> pd.DataFrame:
    """Score labels that are numbers of annotated key steps, by the protocols `BY_NAME`; rows as in `score_table`."""
    rows: list[tuple[str, str, str, str, float]] = []
    predictions = [video.prediction["task"] for video in videos]
    for name, background, rule in product(BY_NAME, BACKGROUNDS, RULES):
        truths = [video.truth[rule] for video in videos]
        scores = score_named(PROTOCOLS[name], truths, predictions, n_key_steps, background)._asdict()
        if background == "with":
            detected = background_detection(truths, predictions, says_background)
            scores |= {f"background_{name}": value for name, value in detected._asdict().items()}
        rows += [(name, background, rule, metric, value) for metric, value in scores.items()]
    return pd.DataFrame(rows, columns=list(SCORED))


def score_task(
    manifest: pd.DataFrame,
    annotations: pd.DataFrame,
    segments: pd.DataFrame,
    diagnostics: Diagnostics,
    identity: Mapping[str, Any],
    n_key_steps: int | None,
    stride: int,
    more: ScoreMore | None = None,
    also: str = "none",
) -> pd.DataFrame:
    """Score the key steps of one task.

    Besides precision, recall, F1 and IoU every protocol gets ``n_videos`` (scored), ``n_skipped`` (unusable),
    ``n_unscored`` (without annotation) and ``degenerate`` (1 for a collapsed run), ``exact_cut`` if the graph cut was
    solved exactly because its library is missing, and the counts that `score_table` adds.

    Parameters
    ----------
    manifest, annotations, segments
        Tables of `rgwot.records`; segments in both scopes. Only videos with status ``ok`` are scored. If the
        diagnostics name a split, only held-out videos are scored and counted.
    diagnostics
        Diagnostics of the decoder: ``K``, ``background`` (true: key step 0 is one more cluster), and ``degenerate`` for
        the whole result and for ``task`` and ``video``; ``split`` lists the held-out videos (``test``). If the decoder
        learned from annotated videos (``labelled``), these are not scored, and the others only by `BY_NAME`.
    identity
        ``dataset``, ``task``, ``method``, ``decoder``, ``seed``: repeated in every row.
    n_key_steps
        K_gt, whether or not all steps occur; None for the largest annotated number.
    stride
        Every stride-th native frame is scored.
    more
        Function that scores a protocol beyond those of `score_table`; its rows come last.
    also
        Name of one of `rgwot.evaluation.protocols.ALSO`, or ``none``.

    Returns
    -------
    pandas.DataFrame
        Rows of `rgwot.columns.SCORE_COLUMNS`.

    Raises
    ------
    RgwotError
        If no video can be scored, or a table does not fit the others.
    """
    where = f"task {identity['dataset']}/{identity['task']}"
    if n_key_steps is None:
        n_key_steps = int(annotations["key_step"].max()) if len(annotations) else 1
    outside = annotations[(annotations["key_step"] < 1) | (annotations["key_step"] > n_key_steps)]
    if len(outside):
        row = outside.iloc[0]
        raise RgwotError(
            f"{where}: annotations: video {row['video']!r}: found key step {row['key_step']}, expected 1 to "
            f"{n_key_steps}; check the number of key steps of the task"
        )
    clusters, says_background = diagnostics.K, bool(diagnostics.background)
    if diagnostics.split is not None:
        manifest = manifest[manifest["video"].isin(diagnostics.split.test)]
    taught = diagnostics.labelled is not None
    scopes = ("task",) if taught else SCOPES
    if taught:
        manifest = manifest[~manifest["video"].isin(diagnostics.taught)]
    videos, skipped, unscored = label_videos(manifest, annotations, segments, stride, scopes)
    if skipped:
        names = ", ".join(skipped)
        log.warning("%s: %d of %d videos skipped: %s", identity["task"], len(skipped), len(manifest), names)
    if not videos:
        raise RgwotError(
            f"{where}: found no video to score among {len(manifest)} "
            f"{'held-out ' if diagnostics.split is not None else ''}"
            f"videos ({len(skipped)} skipped, {len(unscored)} without annotation); "
            "expected at least one with an annotation and decoded key steps"
        )
    for scope in scopes:
        units = [video.prediction[scope] for video in videos]
        labels = [np.unique(unit) for unit in ([np.concatenate(units)] if scope == "task" else units)]
        used = max(int((names != 0).sum() if says_background else len(names)) for names in labels)
        if used > clusters:
            raise RgwotError(
                f"{where}: segments: found {used} different key steps in scope {scope!r}, "
                f"expected at most K={clusters}{' besides background' if says_background else ''}"
            )
    if taught:
        tables = [named_table(videos, n_key_steps, says_background)]
    else:
        tables = [score_table(videos, n_key_steps, clusters, says_background, also)]
        if more is not None:
            tables.append(more(videos, annotations, segments, n_key_steps, clusters + says_background))
    scope_of = {protocol.name: protocol.scope for protocol in (*PROTOCOLS.values(), *ALSO.values())}
    parts = []
    for scores in tables:
        extra = []
        for protocol, background, rule in scores[list(CELL)].drop_duplicates().to_numpy():
            scope = scope_of.get(protocol, "task")
            facts = diagnostics.task if scope == "task" else diagnostics.video
            said = None if facts is None else facts.degenerate
            degenerate = diagnostics.degenerate if said is None else said
            counts = {"n_skipped": len(skipped), "n_unscored": len(unscored), "degenerate": degenerate}
            if diagnostics.task is not None and diagnostics.task.without_library:
                counts["exact_cut"] = True
            extra += [(protocol, background, rule, metric, float(value)) for metric, value in counts.items()]
        parts += [scores, pd.DataFrame(extra, columns=scores.columns)]
    return pd.concat(parts, ignore_index=True).assign(**identity)[list(SCORE_COLUMNS)]
