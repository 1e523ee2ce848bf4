"""The feature index of a task: one row per video, the file that training and embedding depend on."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Literal

from rgwot.datasets.split import check_held_out
from rgwot.features import left_out, read_index
from rgwot.features.store import FeatureStore, open_store
from rgwot.paths import STORE
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import write_rows

# What all videos of a task must share for one encoder to read them.
SHARED = ("backbone", "layer", "weights", "weights_sha256", "transform", "size", "fps", "precision")
COLUMNS = ("video", "status", "reason", "frames")


def write_index(
    stores: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    on_bad_video: Literal["fail", "skip"] = "fail",
) -> None:
    """Check that every store of a task is complete and list them in a CSV with the columns `COLUMNS`.

    ``stores`` are feature stores, in the order of the rows, or such tables of some of them, which lie beside their
    stores. One that was made without all of its video, when bad videos were to be skipped, is listed with the reason
    where ``on_bad_video`` is ``skip``.

    Raises RgwotError when a store is missing or incomplete, made from part of a video and ``on_bad_video`` is ``fail``,
    or its features are of another size than those of the first.
    """
    paths: list[Path] = []
    for path in map(Path, stores):
        listed = path.suffix == ".csv"
        paths += [path.with_name(f"{video}{STORE}") for video in indexed_videos(path)] if listed else [path]
    opened = [open_store(path) for path in paths]
    check_stores(opened, on_bad_video)
    rows = [(store.video, store.status, store.reason, len(store)) for store in opened]
    write_rows(COLUMNS, rows, output)


def check_stores(stores: Sequence[FeatureStore], on_bad_video: Literal["fail", "skip"] = "fail") -> None:
    """Check that the open stores of a task go together.

    Raises RgwotError when one was made from part of its video and ``on_bad_video`` is ``fail``, or its features are of
    another size than those of the first.
    """
    for store in stores if on_bad_video == "fail" else ():
        if left_out(store.status, store.imported):
            raise RgwotError(
                f"{store.path}: video {store.video!r} was {store.status} by an earlier run ({store.reason}) and "
                "on_bad_video is fail; mend the video and delete this folder, or set on_bad_video: skip"
            )
    with_frames = [store for store in stores if len(store)]
    for store in with_frames:
        _check_size(store, with_frames[0])


def indexed_videos(index_csv: str | Path) -> dict[str, int]:
    """Return the frames of every video of a feature index, in the order of the index; 0 for a skipped one."""
    return {row["video"]: row["frames"] for row in read_index(index_csv)}


def open_stores(index_csv: str | Path, features_dir: str | Path, held_out: Collection[str] = ()) -> list[FeatureStore]:
    """Open the stores of all indexed videos that have frames, and check that one network made them.

    The stores of videos held out are not touched.

    Raises RgwotError when a store is missing, incomplete, empty or made differently from the first one, or a video held
    out is not in the index.
    """
    stores: list[FeatureStore] = []
    indexed = indexed_videos(index_csv)
    check_held_out(held_out, indexed, str(index_csv))
    for video in (video for video, frames in indexed.items() if frames > 0 and video not in held_out):
        path = Path(features_dir) / f"{video}{STORE}"
        first = stores[0].attributes if stores else {}
        expect = {key: first[key] for key in SHARED if key in first}
        store = open_store(path, expect)
        if len(store) == 0:
            raise RgwotError(f"{path}: no frames, but {index_csv} says there are; run rgwot index again")
        _check_size(store, stores[0] if stores else store)
        stores.append(store)
    return stores


def _check_size(store: FeatureStore, first: FeatureStore) -> None:
    """Raise where the features of a video are not of the size, or made elsewhere at the rate, of those of another."""
    rates = [one.attributes.get("fps") for one in (store, first)]
    if store.imported and rates[0] != rates[1]:
        raise RgwotError(
            f"{store.path}: {rates[0]:g} features per second, expected {rates[1]:g} as in {first.path.name}; one rate "
            "per task: make its features again or leave the video out"
        )
    if store.shape[1:] == first.shape[1:]:
        return
    vectors = store.vectors and first.vectors
    what = "vectors" if vectors else "maps"
    found, expected = (" x ".join(map(str, one.shape[1 : 2 if vectors else 4])) for one in (store, first))
    again = "delete it and extract the video again"
    if store.imported:
        again = "one size per task: make its features again or leave the video out; is the order of `axes` right?"
    raise RgwotError(f"{store.path}: {what} of {found}, expected {expected} as in {first.path.name}; {again}")
