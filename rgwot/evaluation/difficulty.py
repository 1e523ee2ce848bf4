"""How hard a task is on its raw features: the stage behind ``rgwot yardsticks``."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import numpy as np

from rgwot.evaluation.yardsticks import kmeans_yardstick, largest_step_share, probe_yardstick
from rgwot.records import read_annotations, read_manifest
from rgwot.runtime.files import write_json
from rgwot.runtime.progress import counted
from rgwot.timing import parse_rate, truth_labels

log = logging.getLogger(__name__)


def measure(
    index_csv: str | os.PathLike[str],
    manifest_csv: str | os.PathLike[str],
    annotations_csv: str | os.PathLike[str],
    output_json: str | os.PathLike[str],
    K: int,
) -> dict[str, float | int]:
    """Measure both yardsticks on the annotated videos of a task and write them as JSON.

    Parameters
    ----------
    index_csv
        Feature index; the stores lie beside it.
    manifest_csv, annotations_csv
        The videos of the task and their segments; only videos with status ``ok`` are used.
    output_json
        ``kmeans_f1``, ``probe_accuracy``, ``largest_step_share``, ``K``, ``n_videos``, ``n_frames``.
    K
        Number of clusters of k-means.
    """
    from rgwot.features.store import open_store

    manifest, segments = read_manifest(Path(manifest_csv)), read_annotations(Path(annotations_csv))
    stores, labels = [], []
    for video in manifest.video[manifest.status == "ok"]:
        store = open_store(Path(index_csv).parent / f"{video}.zarr")
        if len(store) == 0:
            continue
        own = segments[segments.video == video]
        # Sample i was taken i / fps after the first, so the sampling rate plays the part of the native one.
        rate, first_s = parse_rate(store.attributes["fps"]), store.time_s[0]
        frames = np.arange(len(store), dtype=np.int64)
        stores.append(store)
        labels.append(truth_labels(own.start_s - first_s, own.end_s - first_s, own.key_step, frames, rate, "exact"))
    # Twice through the stores, a video at a time: all maps of a task may be more than fits into memory.
    pooled = [store.read().astype(np.float32).mean(axis=(2, 3)) for store in stores]
    found: dict[str, float | int] = {
        **kmeans_yardstick(pooled, labels, K),
        **probe_yardstick(
            (store.read() for store in stores), labels, watch=lambda folds: counted(log, "probe", folds, "fit")
        ),
        **largest_step_share(labels),
        "K": K,
        "n_videos": len(stores),
        "n_frames": sum(map(len, labels)),
    }
    write_json(found, output_json)
    return found
