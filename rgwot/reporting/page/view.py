"""The stage ``view``: data on a run's embeddings for the page, computed once and kept as JSON.

A page is rebuilt whenever a key step gets a name, but its views are not.
"""

from __future__ import annotations

import base64
import json
import logging
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rgwot.config.methods import TransportSettings
from rgwot.config.settings import Settings
from rgwot.embedding.interface import EmbeddedVideo
from rgwot.keysteps.tree import grow
from rgwot.losses.settings import PROBLEM
from rgwot.records import read_manifest, read_segments
from rgwot.reporting.figures.tsne import embed_2d
from rgwot.reporting.figures.videos import evenly
from rgwot.reporting.names import result_id
from rgwot.reporting.page.pictures import FRAME_HEIGHT, FRAME_QUALITY, as_jpeg, has_pictures, read_pictures, strip_times
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
#: Most points of the t-SNE plot; more would be slow and no clearer.
MAX_POINTS = 600
#: Iterations of t-SNE: half of scikit-learn's; on the demo the divergence is then within 3 % of its final value.
ITERATIONS = 500
FEWEST_POINTS = 10
#: The pairs of at most this many videos are aligned: 276 plans, about 400 kB.
MAX_VIDEOS = 24
_AT_ONCE = 64

log = logging.getLogger(__name__)


class Samples(NamedTuple):
    """Embeddings (T, D), times (T,) in seconds and key steps (T,) of a video."""

    embedding: NDArray[Any]
    time_s: NDArray[Any]
    key_step: NDArray[Any]


class TypicalFrame(NamedTuple):
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
    settings: Settings,
    seed: int,
    trained: bool,
    *,
    to_annotate: bool = False,
) -> None:
    """Write the view of a run: data on its embeddings for the page.

    The file has ``result`` (the id of the key steps), ``typical`` (frames), ``tree`` (of key steps, methods 5.12) and,
    if an encoder was ``trained``, ``points`` (embeddings in the plane) and ``alignments`` (transport plans). Only
    segments of scope ``task`` and the settings ``ot`` are used. ``seed`` sets the layout in the plane and the start of
    the tree, which does not depend on the result's key steps. With ``to_annotate``, and unless every video is
    annotated, ``next`` lists the videos to annotate next. Segments that do not fit the embeddings raise RgwotError.
    """
    stored = read_embeddings(embeddings_zarr)
    embedded = stored.videos
    segments = read_segments(segments_csv)
    task = segments[segments["scope"] == "task"]
    videos: dict[str, Samples] = {}
    for name, video in embedded.items():
        segments_here = task[task["video"] == name]
        try:
            labels = predicted_labels(
                segments_here["start_s"], segments_here["end_s"], segments_here["key_step"], video.time_s
            )
        except ValueError as error:
            raise RgwotError(f"{segments_csv}: video {name!r}: {error}; decode again") from None
        videos[name] = Samples(video.embedding, video.time_s, labels)

    manifest = read_manifest(Path(manifest_csv))
    # Another process decodes the typical frames while the rest is computed.
    with ThreadPoolExecutor(1) as reading:
        typical = reading.submit(_with_pictures, typical_frames(videos), manifest, Path(root))
        content: dict[str, Any] = {
            "result": result_id(segments),
            "points": _points(videos, seed) if trained else None,
            "alignments": align_pairs(embedded, settings.ot) if trained and len(embedded) > 1 else None,
            "tree": tree_of(embedded, seed),
            "typical": typical.result(),
        }
        if to_annotate and (following := suggested(stored, manifest, segments, seed)):
            content["next"] = following
    write_text(json.dumps(content, allow_nan=False), output_json)


def typical_frames(videos: Mapping[str, Samples]) -> dict[int, list[TypicalFrame]]:
    """Return for every key step the `TYPICAL` frames nearest to the mean of its samples, different videos first.

    The nearest sample of every video comes first, in the order of their distances. If these are too few, the second
    nearest sample of every video follows, at least `APART_S` from the first, and so on. Key step 0 (background) has no
    typical frames.
    """
    steps = sorted({int(step) for samples in videos.values() for step in np.unique(samples.key_step)} - {0})
    return {step: _typical(videos, step) for step in steps}


def _typical(videos: Mapping[str, Samples], step: int) -> list[TypicalFrame]:
    samples_of = {
        name: Samples(*(part[samples.key_step == step] for part in samples)) for name, samples in videos.items()
    }
    mean = np.concatenate([samples.embedding for samples in samples_of.values()]).mean(axis=0)
    frames: list[tuple[int, float, str, float]] = []
    for name, samples in samples_of.items():
        distances = np.linalg.norm(samples.embedding - mean, axis=1)
        chosen: list[float] = []
        # The sort is stable: the earlier of two frames at the same distance comes first.
        for place in np.argsort(distances, kind="stable"):
            time_s = float(samples.time_s[place])
            if len(chosen) < TYPICAL and all(abs(time_s - other) >= APART_S for other in chosen):
                frames.append((len(chosen), float(distances[place]), name, time_s))
                chosen.append(time_s)
    return [TypicalFrame(name, time_s, distance) for _, distance, name, time_s in sorted(frames)[:TYPICAL]]


def _with_pictures(
    typical: Mapping[int, Sequence[TypicalFrame]], manifest: pd.DataFrame, root: Path
) -> list[dict[str, Any]]:
    """Add the picture of every typical frame; each video is opened once."""
    rows = {str(row["video"]): row for row in manifest.to_dict("records")}
    times: dict[str, set[float]] = {}
    for frame in chain.from_iterable(typical.values()):
        times.setdefault(frame.video, set()).add(frame.time_s)
    pictures: dict[tuple[str, float], str] = {}
    for video, frame_times in with_progress(log, "view: typical frames", times.items(), unit="video"):
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

    def shown(frame: TypicalFrame) -> dict[str, Any]:
        numbers = {"time_s": round(frame.time_s, 3), "distance": round(frame.distance, 5)}
        return {"video": frame.video, **numbers, "picture": pictures.get((frame.video, frame.time_s))}

    return [{"key_step": step, "frames": [shown(frame) for frame in frames]} for step, frames in typical.items()]


def _points(videos: Mapping[str, Samples], seed: int) -> dict[str, Any]:
    chosen = spread([len(samples.time_s) for samples in videos.values()])
    parts = [Samples(*(part[places] for part in video)) for video, places in zip(videos.values(), chosen, strict=True)]
    laid = tsne(np.concatenate([part.embedding for part in parts]), seed)
    if isinstance(laid, str):
        return {"why": laid}
    return {
        "videos": list(videos),
        "video": [at for at, part in enumerate(parts) for _ in part.time_s],
        "time_s": [round(float(time_s), 3) for part in parts for time_s in part.time_s],
        "key_step": [int(step) for part in parts for step in part.key_step],
        "x": np.round(laid[:, 0], 4).tolist(),
        "y": np.round(laid[:, 1], 4).tolist(),
    }


def spread(lengths: Sequence[int]) -> list[NDArray[np.int64]]:
    """Choose samples evenly over time, at most about `MAX_POINTS` in all, in proportion to the videos' lengths.

    ``lengths`` are the numbers of samples of the videos; every video keeps at least one sample.
    """
    share = min(1.0, MAX_POINTS / max(1, sum(lengths)))
    return [evenly(length, max(1, round(share * length)) if length else 0) for length in lengths]


def tsne(x: NDArray[Any], seed: int) -> NDArray[np.float64] | str:
    """Return the t-SNE points (n, 2) of embeddings x (n, D), scaled to [0, 1], or the reason why there are none.

    The same seed gives the same picture on the same machine.
    """
    if len(x) < FEWEST_POINTS:
        return f"only {len(x)} frames; t-SNE needs {FEWEST_POINTS} or more"
    values = np.asarray(x, dtype=np.float64)
    offsets = values - values.mean(axis=0)
    if np.square(offsets).sum(axis=1).mean() <= 1e-12 * np.square(values).sum(axis=1).mean():
        return "all embeddings are equal, so there is nothing to lay out"
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        points, _ = embed_2d(values, seed=seed, iterations=ITERATIONS)
    low, high = points.min(axis=0), points.max(axis=0)
    return np.asarray((points - low) / max(float((high - low).max()), 1e-12), dtype=np.float64)


def align_pairs(videos: Mapping[str, EmbeddedVideo], settings: TransportSettings) -> dict[str, Any]:
    """Align every pair of the first `MAX_VIDEOS` videos by 32 evenly spaced frames of each.

    Returns
    -------
    dict
        ``videos`` are the ids, ``virtual`` says how frames without a partner are treated. ``pairs`` contains, for every
        pair ``x`` before ``y`` (positions in ``videos``): ``plan``, the matching probabilities T* (32, 32) as base64
        uint8, row by row, in units of ``unit``; ``x_virtual`` and ``y_virtual`` (32,), the share of each frame's mass
        that goes to the virtual frame; ``virtual_mass``, the mean of both.
    """
    import torch

    from rgwot.transport import align_frames

    names = list(videos)[:MAX_VIDEOS]
    sampled, shares = [], []
    for video in (videos[name] for name in names):
        # The sample nearest to every picture of the strip.
        chosen = np.abs(video.time_s - strip_times(video.duration_s)[:, None]).argmin(axis=1)
        sampled.append(video.embedding[chosen])
        shares.append(video.time_s[chosen] / video.duration_s)
    x, positions = torch.from_numpy(np.stack(sampled)), torch.from_numpy(np.stack(shares))
    problem = {key: getattr(settings, key) for key in PROBLEM}
    pairs: list[dict[str, Any]] = []
    every = list(combinations(range(len(names)), 2))
    for start in range(0, len(every), _AT_ONCE):
        first, second = (list(side) for side in zip(*every[start : start + _AT_ONCE], strict=True))
        if settings.prior_time == "times":
            problem |= {"x_positions": positions[first], "y_positions": positions[second]}
        alignment = align_frames(x[first], x[second], **problem)
        for at, (first_video, other) in enumerate(zip(first, second, strict=True)):
            mass = alignment.transport.plan[at].numpy()
            if settings.virtual == "cost":
                virtual = mass[1:, 0] / mass[1:].sum(axis=1), mass[0, 1:] / mass[:, 1:].sum(axis=0)
            else:
                virtual = 1.0 - alignment.x_matched[at].numpy(), 1.0 - alignment.y_matched[at].numpy()
            # Values are rounded to 1/255 of the largest.
            weights = alignment.weights[at].numpy()
            unit = float(weights.max()) / 255
            levels = np.rint(weights / unit if unit > 0 else weights).astype(np.uint8)
            pair = {"x": first_video, "y": other, "unit": unit, "plan": base64.b64encode(levels.tobytes()).decode()}
            pair |= {f"{side}_virtual": np.round(part, 3).tolist() for side, part in zip("xy", virtual, strict=True)}
            pairs.append({**pair, "virtual_mass": round(float(np.concatenate(virtual).mean()), 4)})
    return {"videos": names, "virtual": settings.virtual, "pairs": pairs}


def tree_of(videos: Mapping[str, EmbeddedVideo], seed: int) -> dict[str, Any]:
    """Grow the tree of a task, for the page.

    Returns
    -------
    dict
        ``merges`` are those of `rgwot.keysteps.tree.StepTree`, from the first to the last. ``leaves`` has the share of
        each leaf in all samples, and the sample nearest to its mean (``video``, ``time_s``). ``videos`` contains, for
        each id, the ``ends`` of its segments in milliseconds, and ``leaves``, the leaf of each segment.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        # A separate generator, so that the tree does not depend on other random draws for the page.
        tree = grow(
            np.concatenate([video.embedding for video in videos.values()]),
            [len(video.time_s) for video in videos.values()],
            np.random.default_rng([seed, 3]),
        )
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
