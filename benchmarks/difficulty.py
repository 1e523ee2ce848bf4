"""Measure how difficult a set of videos is, by two probes of raw features.

    python benchmarks/difficulty.py DATASET TASK [--K 7]

reads the features and annotations that the workflow made, and prints the two probes as JSON.

K-means on pooled features measures how much appearance alone reveals (a fair set has low values); a supervised probe
measures how much of the answer the features contain (a fair set has high values).
"""

from __future__ import annotations

import argparse
import json
import logging
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rgwot.evaluation.metrics import contingency, f1, match, strict
from rgwot.paths import ANNOTATIONS, INDEX, MANIFEST, STORE, at
from rgwot.records import read_annotations, read_manifest
from rgwot.runtime.errors import RgwotError, first_line
from rgwot.runtime.progress import with_progress
from rgwot.timing import labels_at, parse_rate, truth_labels

log = logging.getLogger(__name__)

Array = NDArray[Any]

#: Limits of the supervised probe: number of fits, frames in one fit, and frames in all fits.
FOLDS = 10
PROBE_FRAMES = 3000
SCORED_FRAMES = 12_000
#: Number of starts of k-means, and of cells per side that the supervised probe sees.
RESTARTS, GRID = 4, 3


def measure(
    index_csv: str | os.PathLike[str],
    manifest_csv: str | os.PathLike[str],
    annotations_csv: str | os.PathLike[str],
    K: int,
) -> dict[str, float | int]:
    """Run both difficulty probes on the annotated videos of a task.

    The stores are next to the feature index; only videos with status ``ok`` are used. Returns ``kmeans_f1``,
    ``probe_accuracy``, ``largest_step_share``, ``K``, ``n_videos`` and ``n_frames``.

    Raises
    ------
    RgwotError
        If the videos show too few key steps for a probe.
    """
    from rgwot.features.store import open_store

    manifest, segments = read_manifest(Path(manifest_csv)), read_annotations(Path(annotations_csv))
    stores, labels = [], []
    for video in manifest.video[manifest.status == "ok"]:
        store = open_store(Path(index_csv).parent / f"{video}{STORE}")
        if len(store) == 0:
            continue
        own = segments[segments.video == video]
        # Sample i was taken i / fps after the first, so the sampling rate is used instead of the native rate.
        rate, first_s = parse_rate(store.attributes["fps"]), store.time_s[0]
        frames = np.arange(len(store), dtype=np.int64)
        stores.append(store)
        if "source_times" in store.attributes:
            # Times given by the source need not follow a rate.
            labels.append(labels_at(own, store.time_s))
            continue
        labels.append(truth_labels(own.start_s - first_s, own.end_s - first_s, own.key_step, frames, rate, "exact"))
    # The stores are read twice, one video at a time, because the maps of a whole task may not fit into memory.
    pooled = [store.read().astype(np.float32).mean(axis=(2, 3)) for store in stores]
    maps = (store.read() for store in stores)
    try:
        found: dict[str, float | int] = {
            "kmeans_f1": kmeans_probe(pooled, labels, K),
            "probe_accuracy": supervised_probe(maps, labels),
            "largest_step_share": largest_step_share(labels),
            "K": K,
            "n_videos": len(stores),
            "n_frames": sum(map(len, labels)),
        }
    except ValueError as error:
        raise RgwotError(f"{annotations_csv}: {first_line(error)}") from error
    return found


def kmeans_probe(pooled: Sequence[Array], labels: Sequence[Array], K: int) -> float:
    """Return strict F1 without background of one k-means clustering of all videos' pooled features.

    All frames are clustered, background included; then only frames of key steps are scored, pooled over the
    videos under one Hungarian matching. Frames of unmatched clusters stay in the denominators, so that
    precision, recall and F1 equal the share of key-step frames labelled right (methods 6.1, D). For every video
    ``pooled`` has features ``(T, C)`` averaged over space, and ``labels`` key steps ``(T,)``: 1 to K, 0 for background.

    Raises
    ------
    ValueError
        If no frame shows a key step.
    """
    from sklearn.cluster import KMeans

    truth = np.concatenate(list(labels))
    if not (truth > 0).any():
        raise ValueError("found background only; expected frames of at least one key step")
    clusters = KMeans(K, n_init=RESTARTS, random_state=0).fit_predict(
        np.concatenate([np.asarray(part, dtype=np.float32) for part in pooled])
    )
    shown = truth > 0
    overlap = contingency(truth[shown] - 1, clusters[shown], int(truth.max()), K)
    scores = strict(overlap, match(overlap))
    return f1(scores.precision, scores.recall)


def supervised_probe(maps: Iterable[Array], labels: Sequence[Array]) -> float:
    """Return the accuracy of a supervised probe on key-step frames of videos that it was not fitted to.

    Logistic regression (L2, C = 1) on feature maps max-pooled to `GRID` x `GRID` and standardised per
    dimension with the mean and deviation of the training videos. One video is left out at a time, or every
    `FOLDS`-th if there are more than `FOLDS` videos. Each fit sees at most `PROBE_FRAMES` frames, evenly spaced, as its
    cost grows with their square. Of all key-step frames, at most about `SCORED_FRAMES` are used, evenly spaced.

    For every video there are feature ``maps`` ``(T, C, h, w)``, taken one by one, so that a generator keeps one in
    memory, and key steps ``(T,)``: 1 to K, 0 for background, which is left out.

    Raises
    ------
    ValueError
        If fewer than two videos show key steps, or all show one step.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    chosen = [np.flatnonzero(np.asarray(label) > 0) for label in labels]
    every = -(-sum(map(len, chosen)) // SCORED_FRAMES)
    chosen = [frames[::every] for frames in chosen]
    features = []
    for video, frames in zip(maps, chosen, strict=True):
        features.append(max_pool(video[frames], GRID).reshape(len(frames), -1))
    truth = [np.asarray(label)[frames] for label, frames in zip(labels, chosen, strict=True)]
    used = [index for index, label in enumerate(truth) if label.size]
    if len(used) < 2:
        raise ValueError(f"found {len(used)} videos with key steps; expected at least 2 to leave one out")
    right = total = 0
    folds = min(len(used), FOLDS)
    for fold in with_progress(log, "probe", range(folds), "fit"):
        held = used[fold::folds]
        rest = [index for index in used if index not in held]
        train = np.concatenate([truth[index] for index in rest])
        taken = slice(None, None, -(-len(train) // PROBE_FRAMES))
        train, known = train[taken], np.concatenate([features[index] for index in rest])[taken]
        if np.unique(train).size < 2:
            raise ValueError("found one key step in the training videos; expected at least 2 different ones")
        scaler = StandardScaler().fit(known)
        probe = LogisticRegression(C=1.0, max_iter=200, tol=1e-3)
        inner = scaler.transform(known)
        # With more dimensions than frames, the solution lies in the span of the frames, where fitting is faster.
        basis = np.linalg.qr(inner.T)[0] if inner.shape[0] < inner.shape[1] else None
        probe.fit(inner if basis is None else inner @ basis, train)
        for index in held:
            unknown = scaler.transform(features[index])
            guess = probe.predict(unknown if basis is None else unknown @ basis)
            right += int((guess == truth[index]).sum())
            total += truth[index].size
    return right / total


def largest_step_share(labels: Sequence[Array]) -> float:
    """Return the strict score, without background, of an answer with the same label everywhere.

    ``labels`` are the key steps ``(T,)`` of each video: 1 to K, or 0 for background, but not background only.
    """
    counts = np.bincount(np.concatenate(list(labels)).astype(np.int64))[1:]
    return float(counts.max() / counts.sum())


def max_pool(maps: Array, grid: int) -> NDArray[np.float32]:
    """Max-pool feature maps ``(T, C, h, w)`` to ``(T, C, grid, grid)`` float32; sides below ``grid`` stay.

    Cells are those of adaptive pooling: cell ``i`` covers rows floor(i h / grid) to ceil((i + 1) h / grid).
    """
    rows, columns = (
        [slice(i * side // cells, -(-(i + 1) * side // cells)) for i in range(cells)]
        for side, cells in ((side, min(side, grid)) for side in maps.shape[-2:])
    )
    pooled = [[maps[:, :, row, column].max(axis=(2, 3)) for column in columns] for row in rows]
    return np.ascontiguousarray(np.moveaxis(np.array(pooled, dtype=np.float32), (0, 1), (2, 3)))


def main() -> None:
    """Print the probes of a task."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("task")
    parser.add_argument("--K", type=int, default=7, help="clusters of k-means")
    options = parser.parse_args()
    files = [at(path, dataset=options.dataset, task=options.task) for path in (INDEX, MANIFEST, ANNOTATIONS)]
    print(json.dumps(measure(*files, options.K), indent=2))


if __name__ == "__main__":
    main()
