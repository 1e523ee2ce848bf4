"""References for the detection of background: all frames as background, and the best threshold on raw similarity."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rgwot.embedding.interface import spatial_means, unit_rows
from rgwot.evaluation.protocols import Detection, detection
from rgwot.features.store import open_store
from rgwot.records import read_annotations, read_manifest
from rgwot.timing import parse_rate, truth_labels


def best_threshold(similarity: NDArray[Any], background: NDArray[np.bool_]) -> Detection:
    """Return the detection with the best F1 among those that call all frames below a threshold background.

    Parameters
    ----------
    similarity
        (T,); frames of equal similarity are on the same side of every threshold.
    background
        (T,) true background; the threshold is chosen with it, so no threshold can do better.
    """
    order = np.argsort(similarity, kind="stable")
    ascending, found = similarity[order], np.cumsum(background[order])
    last_of_equals = np.r_[ascending[1:] > ascending[:-1], True]
    f1 = 2 * found / (np.arange(1, len(order) + 1) + background.sum())
    chosen = int(np.argmax(np.where(last_of_equals, f1, -1.0)))
    return detection(background, similarity <= ascending[chosen])


def cross_similarity(videos: Sequence[NDArray[Any]]) -> list[NDArray[np.float32]]:
    """Return, for every frame, its largest cosine with the frames of another video, averaged over all other videos.

    Parameters
    ----------
    videos
        One array (T_v, D) of rows of length 1 per video, at least two.

    Returns
    -------
    One array (T_v,) per video, in [-1, 1].
    """
    found = []
    for own in videos:
        nearest = [(own @ other.T).max(axis=1) for other in videos if other is not own]
        found.append(np.mean(nearest, axis=0))
    return found


def background_yardsticks(of: tuple[str, str], root: Path) -> dict[str, Detection]:
    """Score two detections on a dataset and task: every frame as background, and the best threshold on raw similarity.

    Both are scored at the samples of the features, with the labels of the exact rule.
    """
    dataset, task = of
    manifest = read_manifest(root / f"results/manifest/{dataset}/{task}.csv")
    segments = read_annotations(root / f"results/annotations/{dataset}/{task}.csv")
    videos, labels = [], []
    for video in manifest.video[manifest.status == "ok"]:
        store = open_store(root / f"results/features/{dataset}/{task}/{video}.zarr")
        if not len(store):
            continue
        own = segments[segments.video == video]
        rate, frames = parse_rate(store.attributes["fps"]), np.arange(len(store), dtype=np.int64)
        videos.append(unit_rows(spatial_means(store)))
        first_s = store.time_s[0]
        labels.append(truth_labels(own.start_s - first_s, own.end_s - first_s, own.key_step, frames, rate, "exact"))
    background = np.concatenate(labels) == 0
    return {
        "always": detection(background, np.ones_like(background)),
        "threshold": best_threshold(np.concatenate(cross_similarity(videos)), background),
    }
