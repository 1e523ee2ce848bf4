"""The feature index of a task: a table with a row per video. Training and embedding depend on it."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rgwot.datasets.arrays import check_columns
from rgwot.embedding.interface import VideoFeatures
from rgwot.features import read_index
from rgwot.features.store import FeatureStore, open_store
from rgwot.paths import STORE
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import write_rows
from rgwot.runtime.progress import with_progress

log = logging.getLogger(__name__)

_SHARED = ("backbone", "layer", "weights", "weights_sha256", "transform", "size", "fps", "precision")
#: ``digest`` identifies the source of a store. Snakemake compares the content of an index; without digests it would not
#: notice another video with as many frames.
INDEX_COLUMNS = ("video", "status", "reason", "frames", "digest")
#: The column that only parts of an index have: the `_size` of a store.
SIZE = "size"


def write_part(makers: Mapping[str, Callable[[Path], None]], output: Path) -> list[Path]:
    """Make the stores of a batch of videos in the folder of ``output``, and list them in ``output``, part of an index.

    ``makers`` maps the id of a video to a function that makes its store at a path, or keeps a current one. If a video
    fails, the others continue. The part has the columns of an index and the column `SIZE`, which `write_index`
    requires to be the same for all videos. Returns the stores.

    Raises RgwotError at the end if any video failed.
    """
    failed: list[RgwotError] = []
    for video, make in with_progress(log, str(output), list(makers.items()), "video"):
        try:
            make(output.with_name(f"{video}{STORE}"))
        except RgwotError as error:
            log.error("%s", error)
            failed.append(error)
    if failed:
        more = f" (and {len(failed) - 1} more of {len(makers)} videos)" if len(failed) > 1 else ""
        raise RgwotError(f"{failed[0]}{more}") from failed[0]
    stores = [output.with_name(f"{video}{STORE}") for video in makers]
    write_rows((*INDEX_COLUMNS, SIZE), [list(_row(store).values()) for store in stores], output)
    return stores


def write_index(listed: Sequence[str | os.PathLike[str]], output: str | os.PathLike[str]) -> None:
    """Check that every store of a task is complete and list them in a CSV with the columns `INDEX_COLUMNS`.

    ``listed`` are feature stores, or parts of an index (`write_part`), in the order of the rows.

    Raises RgwotError if a store is missing or incomplete, or its features differ in size from those of the first store.
    """
    rows: list[dict[str, Any]] = []
    for path in map(Path, listed):
        part = read_index(path) if path.suffix == ".csv" else [_row(path)]
        if any(SIZE not in row for row in part):
            raise RgwotError(f"{path}: no column {SIZE}; expected a part of an index that the workflow wrote")
        rows += part
    with_frames = [row for row in rows if row["frames"]]
    for row in with_frames:
        if row[SIZE] != (first := with_frames[0])[SIZE]:
            place = Path(output).with_name(f"{row['video']}{STORE}")
            raise RgwotError(_other_size(place, row[SIZE], f"{first['video']}{STORE}", first[SIZE]))
    # Parts that an earlier version wrote have no digest, so it may be empty.
    write_rows(INDEX_COLUMNS, [[row.get(column, "") for column in INDEX_COLUMNS] for row in rows], output)


def _row(path: Path) -> dict[str, Any]:
    store = open_store(path)
    facts = (store.video, store.status, store.reason, len(store), _digest(store), _size(store, store.imported))
    return dict(zip((*INDEX_COLUMNS, SIZE), facts, strict=True))


def _digest(store: FeatureStore) -> str:
    """Return a text that changes with the source, network or settings of a store, but not with file times."""
    made_from = {key: value for key, value in store.attributes.items() if key != "source_mtime_ns"}
    return hashlib.sha256(json.dumps(made_from, sort_keys=True).encode()).hexdigest()[:16]


def check_stores(stores: Iterable[FeatureStore]) -> None:
    """Raise RgwotError if features differ from the task's first in size, columns or, if imported, rate."""
    check_alike([(store.path, store, store.columns, store.imported) for store in stores])


def check_alike(videos: Iterable[tuple[Path, VideoFeatures, str, bool]]) -> None:
    """Raise RgwotError if features differ in size, columns or rate from those of the first video with frames.

    The arguments for each video are its name in errors, its features, the names of its columns, and whether the
    features are imported: only then the rates must be equal.
    """
    with_frames = [video for video in videos if len(video[1])]
    named = [(path, columns) for path, _, columns, _ in with_frames if columns]
    for path, columns in named:
        check_columns(path, columns, *named[0])
    for path, video, _, imported in with_frames:
        first, other, _, rated = with_frames[0]
        if (size := _size(video, imported)) != (expected := _size(other, rated)):
            raise RgwotError(_other_size(path, size, str(first), expected))


def indexed_videos(index_csv: str | Path) -> dict[str, int]:
    """Return the number of frames of every video in a feature index, in its order; 0 for a skipped video."""
    return {row["video"]: row["frames"] for row in read_index(index_csv)}


def open_stores(index_csv: str | Path, features_dir: str | Path, held_out: Collection[str] = ()) -> list[FeatureStore]:
    """Open the stores of all indexed videos that have frames, and check that the same network made them.

    The stores of held-out videos are not opened.

    Raises RgwotError if a store is missing, incomplete, empty or made differently from the first.
    """
    stores: list[FeatureStore] = []
    indexed = indexed_videos(index_csv)
    for video in (video for video, frames in indexed.items() if frames > 0 and video not in held_out):
        path = Path(features_dir) / f"{video}{STORE}"
        store = open_store(path, common_attributes(stores[0]) if stores else {})
        if len(store) == 0:
            raise RgwotError(f"{path}: found no frames, expected those listed in {index_csv}; make the index again")
        stores.append(store)
    check_stores(stores)
    return stores


def common_attributes(store: FeatureStore) -> dict[str, Any]:
    """Return the attributes that all videos of a task must share, so that one encoder can read them.

    The precision of imported features may differ.
    """
    shared = {key: store.attributes[key] for key in _SHARED if key in store.attributes}
    return {key: value for key, value in shared.items() if key != "precision" or not store.imported}


def _size(store: VideoFeatures, imported: bool) -> str:
    """Return the size of a feature as text and, for imported features, their rate."""
    shape = " x ".join(map(str, store.shape[1 : 2 if store.vectors else 4]))
    what = f"{'vectors' if store.vectors else 'maps'} of {shape}"
    return f"{what} at {store.fps:g} per second" if imported else what


def _other_size(path: Path, size: str, first: str, expected: str) -> str:
    again = "delete it and extract the video again"
    if size.endswith("per second"):
        again = "use one size and rate per task: check the order of axes, or take fewer features of a file by `rates`"
    return f"{path}: {size}, expected {expected} as in {first}; {again}"
