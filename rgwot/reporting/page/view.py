"""The stage ``view``: typical frames and the tree of key steps for the page, computed once and kept as JSON.

A page is rebuilt whenever a key step gets a name, but its views are not.
"""

from __future__ import annotations

import base64
import json
import logging
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rgwot.embedding.interface import EmbeddedVideo
from rgwot.keysteps.tree import grown
from rgwot.names import result_id
from rgwot.records import read_manifest, read_segments
from rgwot.reporting.page.pictures import FRAME_HEIGHT, FRAME_QUALITY, as_jpeg, has_pictures, read_pictures
from rgwot.reporting.show import suggested
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import write_text
from rgwot.runtime.progress import with_progress
from rgwot.stages.embed import read_embeddings
from rgwot.timing import label_segments, predicted_labels

#: Number of typical frames per key step.
TYPICAL = 6
#: Least distance in seconds of two typical frames of a video; nearer frames look the same.
APART_S = 2.0
log = logging.getLogger(__name__)


class Samples(NamedTuple):
    """Embeddings (T, D), times (T,) in seconds and key steps (T,) of a video."""

    embedding: NDArray[np.floating]
    time_s: NDArray[np.float64]
    key_step: NDArray[np.int64]


class _TypicalFrame(NamedTuple):
    """A sample of a video, and its Euclidean distance to the mean of its key step."""

    video: str
    time_s: float
    distance: float


def write_view(
    embeddings_zarr: str | Path,
    segments_csv: str | Path,
    manifest_csv: str | os.PathLike[str],
    root: str | os.PathLike[str],
    output_json: str | os.PathLike[str],
    seed: int,
    *,
    to_annotate: bool = False,
) -> None:
    """Write the view of a run: data on its embeddings for the page.

    The file has ``result`` (the id of the key steps), ``typical`` (frames) and ``tree`` (of key steps, methods 5.12).
    Only segments of scope ``task`` are used. ``seed`` sets the start of the tree, which does not depend on the result's
    key steps. With ``to_annotate``, and unless every video is annotated, ``next`` lists the videos to annotate next.
    Segments that do not fit the embeddings raise RgwotError.
    """
    stored = read_embeddings(embeddings_zarr)
    embedded = stored.videos
    segments = read_segments(segments_csv)
    task = segments[segments["scope"] == "task"]
    by_video = dict(list(task.groupby("video", sort=False)))
    videos: dict[str, Samples] = {}
    for name, video in embedded.items():
        segments_here = by_video.get(name, task[:0])
        try:
            # Segments that do not count as their key step are not examples of it.
            shown = segments_here["shows"].where(segments_here["counts"], 0)
            labels = predicted_labels(segments_here["start_s"], segments_here["end_s"], shown, video.time_s)
        except ValueError as error:
            raise RgwotError(f"{segments_csv}: video {name!r}: {error}; decode again") from None
        videos[name] = Samples(video.embedding, video.time_s, labels)

    manifest = read_manifest(Path(manifest_csv))
    # Another process decodes the typical frames while the rest is computed.
    with ThreadPoolExecutor(1) as reading:
        typical = reading.submit(_with_pictures, typical_frames(videos), manifest, Path(root))
        content: dict[str, object] = {
            "result": result_id(segments),
            "tree": tree_of(embedded, seed),
            "typical": typical.result(),
        }
        if to_annotate and (following := suggested(stored, manifest, segments, seed)):
            content["next"] = following
    write_text(json.dumps(content, allow_nan=False), output_json)


def typical_frames(videos: Mapping[str, Samples]) -> dict[int, list[_TypicalFrame]]:
    """Return for every key step the `TYPICAL` frames nearest to the mean of its samples, different videos first.

    The nearest sample of every video comes first, in the order of their distances. If these are too few, the second
    nearest sample of every video follows, at least `APART_S` from the first, and so on. Key step 0 (background) has no
    typical frames.
    """
    steps = sorted({int(step) for samples in videos.values() for step in np.unique(samples.key_step)} - {0})
    return {step: _typical(videos, step) for step in steps}


def _typical(videos: Mapping[str, Samples], step: int) -> list[_TypicalFrame]:
    samples_of = {
        name: Samples(*(part[samples.key_step == step] for part in samples)) for name, samples in videos.items()
    }
    mean = np.concatenate([samples.embedding for samples in samples_of.values()]).mean(axis=0)
    # With enough videos, only the nearest sample of each can be among the chosen ones.
    most = 1 if sum(len(samples.time_s) > 0 for samples in samples_of.values()) >= TYPICAL else TYPICAL
    frames: list[tuple[int, float, str, float]] = []
    for name, samples in samples_of.items():
        distances = np.linalg.norm(samples.embedding - mean, axis=1)
        chosen: list[float] = []
        # The sort is stable: the earlier of two frames at the same distance comes first.
        for place in np.argsort(distances, kind="stable"):
            time_s = float(samples.time_s[place])
            if len(chosen) == most:
                break
            if all(abs(time_s - other) >= APART_S for other in chosen):
                frames.append((len(chosen), float(distances[place]), name, time_s))
                chosen.append(time_s)
    return [_TypicalFrame(name, time_s, distance) for _, distance, name, time_s in sorted(frames)[:TYPICAL]]


def _with_pictures(
    typical: Mapping[int, Sequence[_TypicalFrame]], manifest: pd.DataFrame, root: Path
) -> list[dict[str, object]]:
    """Add the picture of every typical frame; each video is opened once."""
    rows = {str(row["video"]): row for row in manifest.to_dict("records")}
    times: dict[str, set[float]] = {}
    for frame in chain.from_iterable(typical.values()):
        times.setdefault(frame.video, set()).add(frame.time_s)
    pictures: dict[tuple[str, float], str] = {}
    for video, frame_times in with_progress(log, "typical frames", times.items(), unit="video"):
        row = rows.get(video)
        if row is None or row["status"] == "skipped" or not has_pictures(row["width"]):
            continue
        try:
            read = read_pictures(row, root, sorted(frame_times), FRAME_HEIGHT)
        except RgwotError as error:
            log.warning("%s; its typical frames are shown without pictures", error)
            continue
        # If the end of a video is damaged, there are fewer pictures than times: the last times have none.
        for time_s, picture in zip(sorted(frame_times), read, strict=False):
            pictures[video, time_s] = base64.b64encode(as_jpeg(picture, FRAME_QUALITY)).decode()

    def shown(frame: _TypicalFrame) -> dict[str, object]:
        numbers = {"time_s": round(frame.time_s, 3), "distance": round(frame.distance, 5)}
        return {"video": frame.video, **numbers, "picture": pictures.get((frame.video, frame.time_s))}

    return [{"key_step": step, "frames": [shown(frame) for frame in frames]} for step, frames in typical.items()]


def tree_of(videos: Mapping[str, EmbeddedVideo], seed: int) -> dict[str, object]:
    """Grow the tree of a task, for the page.

    Returns
    -------
    dict
        ``merges`` are those of `rgwot.keysteps.tree.StepTree`, from the first to the last. ``leaves`` has the share of
        each leaf in all samples, and the sample nearest to its mean (``video``, ``time_s``). ``videos`` contains, for
        each id, the ``ends`` of its segments in milliseconds, and ``leaves``, the leaf of each segment.
    """
    tree = grown(videos, seed)
    owners = [(name, float(time_s)) for name, video in videos.items() for time_s in video.time_s]
    leaves = []
    for leaf in range(len(tree.merges) + 1):
        members = np.flatnonzero(tree.leaves == leaf)
        away = np.square(tree.places[members] - tree.places[members].mean(axis=0)).sum(axis=1)
        name, time_s = owners[members[away.argmin()]]
        leaves.append({"share": round(len(members) / len(owners), 4), "video": name, "time_s": round(time_s, 3)})
    borders = np.cumsum([len(video.time_s) for video in videos.values()])[:-1]
    segments = {}
    for (name, video), members in zip(videos.items(), np.split(tree.leaves, borders), strict=True):
        frame = label_segments(video.time_s, members, video.duration_s)
        ends = np.rint(frame["end_s"].to_numpy(np.float64) * 1000).astype(np.int64)
        segments[name] = {"ends": ends.tolist(), "leaves": frame["key_step"].tolist()}
    merges = [[a, b, round(lost, 5)] for a, b, lost in tree.merges]
    return {"merges": merges, "leaves": leaves, "videos": segments}
