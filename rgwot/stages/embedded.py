"""The embeddings of a run: one Zarr store for all videos of a task.

``embedding`` (ΣT, D) float32 and ``time_s`` (ΣT,) float64 hold the samples of all videos one after the other; those of
the i-th video are rows ``offsets[i]`` to ``offsets[i + 1]``, with ``offsets`` (N + 1,) int64. The attribute ``videos``
has the N ids, ``duration_s`` and ``native_fps`` are as long. Methods that tell background apart also write
``background`` (ΣT,) bool. ``complete`` is written last.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from rgwot.embedding.interface import EmbeddedTask, EmbeddedVideo, check_finite, with_both_parts
from rgwot.runtime.errors import RgwotError, first_line
from rgwot.runtime.files import replacing
from rgwot.runtime.provenance import remake
from rgwot.runtime.stores import STORE_ERRORS, put, whole
from rgwot.timing import parse_rate

#: Bytes of a chunk, about.
CHUNK_BYTES = 2**24


def write_embedded(path: Path, videos: Mapping[str, EmbeddedVideo], facts: Mapping[str, Any]) -> None:
    """Write the embeddings of at least one video, and ``facts`` about the run as attributes: `EmbeddedTask`'s fields.

    An older store is replaced as a whole.
    """
    found = list(videos.values())
    arrays = {
        "embedding": np.concatenate([np.asarray(video.embedding, dtype=np.float32) for video in found]),
        "time_s": np.concatenate([video.time_s for video in found]),
        "offsets": np.cumsum([0, *(len(video.time_s) for video in found)], dtype=np.int64),
    }
    background = [video.background for video in found if video.background is not None]
    if background:
        arrays["background"] = np.concatenate(background)
    rates = [str(video.native_fps) for video in found]
    lengths = [video.duration_s for video in found]
    about: dict[str, Any] = {**facts, "videos": list(videos), "duration_s": lengths, "native_fps": rates}
    with replacing(path) as temporary:
        root = zarr.open_group(temporary, mode="w", zarr_format=3)
        for name, array in arrays.items():
            rows = CHUNK_BYTES // max(array[:1].nbytes, 1)
            put(root, name, array, chunk=max(1, min(len(array), rows)))
        root.update_attributes({**about, "complete": True})


def read_embeddings(path: str | Path) -> EmbeddedTask:
    """Read a store of embeddings, in float64.

    Raises
    ------
    RgwotError
        When it is missing, incomplete or damaged, has no video with a frame, or holds values that are not finite.
    """
    store = Path(path)
    if not store.is_dir():
        raise RgwotError(f"embeddings {store}: found nothing there; embed the task first")
    try:
        return _read(store)
    except STORE_ERRORS as error:
        raise RgwotError(f"embeddings {store}: damaged ({first_line(error)}); {remake(store)}") from None


def _read(store: Path) -> EmbeddedTask:
    root = zarr.open_group(store, mode="r", zarr_format=3)
    about: dict[str, Any] = dict(root.attrs)
    if about.get("complete") is not True:
        raise RgwotError(f"embeddings {store}: not complete; {remake(store)}")
    names, offsets = [str(name) for name in about["videos"]], whole(root, "offsets", store)
    arrays = {name: whole(root, name, store) for name in ("embedding", "time_s", "background") if name in root}
    if len(offsets) != len(names) + 1 or any(len(array) != offsets[-1] for array in arrays.values()):
        raise ValueError("offsets do not fit the arrays and videos")
    videos: dict[str, EmbeddedVideo] = {}
    for place in sorted(range(len(names)), key=names.__getitem__):
        rows = slice(offsets[place], offsets[place + 1])
        name, x = names[place], arrays["embedding"][rows].astype(np.float64)
        check_finite(x, f"embeddings {store}: video {name}")
        if len(x):
            videos[name] = EmbeddedVideo(
                x,
                arrays["time_s"][rows],
                float(about["duration_s"][place]),
                float(parse_rate(about["native_fps"][place])),
                arrays["background"][rows] if "background" in arrays else None,
            )
    if not videos:
        raise RgwotError(f"embeddings {store}: no video with a frame; expected at least one, see the feature index")
    task = EmbeddedTask(
        videos,
        tuple(sorted(set(names) - set(videos))),
        float(about["features_fps"]),
        str(about.get("method", "")),
        tuple(about.get("held_out", ())),
        tuple(about.get("notes", ())),
        about.get("scales"),
    )
    return with_both_parts(task, f"embeddings {store}")
