"""The stage ``view``: what the page shows of a run's embeddings, worked out once and kept as JSON.

A page is made anew whenever a key step gets a name; nothing here has to be.
"""

from __future__ import annotations

import base64
import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rgwot.records import read_manifest, read_segments
from rgwot.reporting.names import result_id
from rgwot.reporting.page.pictures import FRAME_HEIGHT, FRAME_QUALITY, as_jpeg, read_pictures, shown_aspect
from rgwot.reporting.page.projection import spread, tsne
from rgwot.reporting.page.typical import Samples, TypicalFrame, typical_frames
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import write_text
from rgwot.runtime.progress import Progress
from rgwot.timing import predicted_labels

if TYPE_CHECKING:
    from rgwot.config.settings import Settings

log = logging.getLogger(__name__)


def write_view(
    embeddings_zarr: str | Path,
    segments_csv: str | Path,
    manifest_csv: str | os.PathLike[str],
    root: str | os.PathLike[str],
    output_json: str | os.PathLike[str],
    settings: Settings,
    seed: int,
) -> dict[str, Any]:
    """Write typical frames, embeddings in the plane and transport plans of one run.

    Parameters
    ----------
    embeddings_zarr
        Embeddings of the task.
    segments_csv
        Key steps found from them; scope ``task`` counts.
    manifest_csv, root
        The videos of the task, and the folder that their paths start from.
    output_json
        ``result`` (which key steps it belongs to), ``typical``, ``points`` and ``alignments``.
    settings
        The block ``ot`` is read.
    seed
        Of the layout in the plane.

    Returns
    -------
    dict
        The content of the file.

    Raises
    ------
    RgwotError
        When the segments do not belong to the embeddings.
    """
    from rgwot.keysteps.decode import read_embeddings
    from rgwot.reporting.page.pairs import align_pairs

    embedded = read_embeddings(embeddings_zarr).videos
    segments = read_segments(segments_csv)
    videos: dict[str, Samples] = {}
    of_video = dict(list(segments[segments["scope"] == "task"].groupby("video", sort=False)))
    for name, video in embedded.items():
        if name not in of_video:
            raise RgwotError(f"{segments_csv}: no segments of video {name!r}, which has embeddings; decode again")
        own = of_video[name]
        try:
            labels = predicted_labels(own["start_s"], own["end_s"], own["key_step"], video.time_s)
        except ValueError as error:
            raise RgwotError(f"{segments_csv}: video {name!r}: {error}; decode again") from None
        videos[name] = Samples(video.embedding, video.time_s, labels)

    pairs = {name: (video.embedding, video.time_s, video.duration_s) for name, video in embedded.items()}
    alignments = align_pairs(pairs, settings.ot) if len(pairs) > 1 else None
    points = _points(videos, seed)
    typical = _with_pictures(typical_frames(videos), read_manifest(Path(manifest_csv)), Path(root))
    content = {"result": result_id(segments), "typical": typical, "points": points, "alignments": alignments}
    write_text(json.dumps(content, allow_nan=False), output_json)
    return content


def _points(videos: Mapping[str, Samples], seed: int) -> dict[str, Any]:
    chosen = spread([len(samples.time_s) for samples in videos.values()])
    parts = list(zip(videos.items(), chosen, strict=True))
    x = np.concatenate([samples.embedding[places] for (_, samples), places in parts])
    laid = tsne(x, seed)
    if isinstance(laid, str):
        return {"why": laid}
    return {
        "videos": list(videos),
        "video": [at for at, (_, places) in enumerate(parts) for _ in places],
        "time_s": [round(float(samples.time_s[place]), 3) for (_, samples), places in parts for place in places],
        "key_step": [int(samples.key_step[place]) for (_, samples), places in parts for place in places],
        "x": np.round(laid[:, 0], 4).tolist(),
        "y": np.round(laid[:, 1], 4).tolist(),
    }


def _with_pictures(
    typical: Mapping[int, list[TypicalFrame]], manifest: pd.DataFrame, root: Path
) -> list[dict[str, Any]]:
    """Add the picture of every typical frame; each video is opened once."""
    rows = {str(row["video"]): row for row in manifest.to_dict("records")}
    times: dict[str, set[float]] = {}
    for frames in typical.values():
        for frame in frames:
            times.setdefault(frame.video, set()).add(frame.time_s)
    pictures: dict[tuple[str, float], str] = {}
    with Progress(log, "view: typical frames", len(times), unit="video") as progress:
        for video, wanted in times.items():
            for time_s, picture in _pictures(rows.get(video), root, sorted(wanted)).items():
                pictures[video, time_s] = picture
            progress.advance(1)
    return [
        {
            "key_step": step,
            "frames": [
                {
                    "video": frame.video,
                    "time_s": round(frame.time_s, 3),
                    "distance": round(frame.distance, 5),
                    "picture": pictures.get((frame.video, frame.time_s)),
                }
                for frame in frames
            ],
        }
        for step, frames in typical.items()
    ]


def _pictures(row: Mapping[Any, Any] | None, root: Path, times: list[float]) -> dict[float, str]:
    if row is None or row["status"] == "skipped":
        return {}
    aspect = shown_aspect(float(row["width"]), float(row["height"]))
    try:
        read = read_pictures(root / str(row["path"]), times, aspect, FRAME_HEIGHT, row["fps"])
    except RgwotError as error:
        log.warning("%s; typical frames without pictures", error)
        return {}
    # A damaged end leaves the last times without a picture.
    return {
        time_s: base64.b64encode(as_jpeg(picture, FRAME_QUALITY)).decode()
        for time_s, picture in zip(times, read, strict=False)
    }
