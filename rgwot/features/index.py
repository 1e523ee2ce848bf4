"""The feature index of a task: a table with a row per video. Training and embedding depend on it."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rgwot.datasets.arrays import other_columns
from rgwot.features import read_index
from rgwot.features.store import FeatureStore, open_store
from rgwot.paths import STORE
from rgwot.runtime.csv_files import write_rows
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.progress import with_progress

log = logging.getLogger(__name__)

_SHARED = ("backbone", "layer", "weights", "weights_sha256", "transform", "size", "fps", "precision")
#: ``digest`` identifies the source of a store. Snakemake compares the content of an index; without digests it would not
#: notice another video with as many frames.
INDEX_COLUMNS = ("video", "status", "reason", "frames", "digest")
#: The column that only parts of an index have: the `size_of` a store.
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

    Raises RgwotError if a store is missing or incomplete, or the features of the stores differ in size.
    """
    rows: list[dict[str, Any]] = []
    for path in map(Path, listed):
        part = read_index(path) if path.suffix == ".csv" else [_row(path)]
        if any(SIZE not in row for row in part):
            raise RgwotError(f"{path}: no column {SIZE}; expected a part of an index that the workflow wrote")
        rows += part
    for store, fault in unlike([(Path(f"{row['video']}{STORE}"), row[SIZE], "") for row in rows if row["frames"]]):
        raise RgwotError(f"{Path(output).parent / store}: {fault}")
    write_rows(INDEX_COLUMNS, [[row[column] for column in INDEX_COLUMNS] for row in rows], output)


def _row(path: Path) -> dict[str, object]:
    store = open_store(path)
    facts = (store.video, store.status, store.reason, len(store), _digest(store), size_of(store))
    return dict(zip((*INDEX_COLUMNS, SIZE), facts, strict=True))


def _digest(store: FeatureStore) -> str:
    """Return a text that changes with the source, network or settings of a store, but not with file times."""
    made_from = {key: value for key, value in store.attributes.items() if key != "source_mtime_ns"}
    return hashlib.sha256(json.dumps(made_from, sort_keys=True).encode()).hexdigest()[:16]


def check_stores(stores: Iterable[FeatureStore]) -> None:
    """Raise RgwotError if the features of a task's videos with frames differ in size, columns or, if imported, rate."""
    for path, fault in unlike([(store.path, size_of(store), store.columns) for store in stores if len(store)]):
        raise RgwotError(f"{path}: {fault}")


def unlike(files: Sequence[tuple[Path, str, str]]) -> Iterator[tuple[Path, str]]:
    """Yield the files of a task whose columns or size differ from those of most others, with the fault.

    The arguments for each file are its name in faults, its size (`size_of`), and the names of its columns, if known.
    """
    named = [(path, columns) for path, _, columns in files if columns]
    usual, first = _usual(named)
    for path, columns in named:
        if fault := other_columns(columns, usual, first):
            yield path, fault
    sizes = [(path, size) for path, size, _ in files]
    usual, first = _usual(sizes)
    for path, size in sizes:
        if size != usual:
            again = "delete it and extract the video again"
            if size.endswith("per second"):
                again = "use one size and rate per task: check `axes` and `fps`, or thin a file by `rates`"
            yield path, f"{size}, expected {usual} as in {first}; {again}"


def _usual(values: Sequence[tuple[Path, str]]) -> tuple[str, str]:
    """Return the most common value, on a tie the first, and the first file with it."""
    usual = next((value for value, _ in Counter(value for _, value in values).most_common(1)), "")
    return usual, next((str(path) for path, value in values if value == usual), "")


def indexed_videos(index_csv: str | Path) -> dict[str, int]:
    """Return the number of frames of every video, in the order of a feature index; 0 for a skipped video."""
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


def common_attributes(store: FeatureStore) -> dict[str, object]:
    """Return the attributes that all videos of a task must share, so that one encoder can read them.

    The precision of imported features may differ.
    """
    shared = {key: store.attributes[key] for key in _SHARED if key in store.attributes}
    return {key: value for key, value in shared.items() if key != "precision" or not store.imported}


def size_of(store: FeatureStore) -> str:
    """Return the size of a feature as text and, for imported features, their rate."""
    return size_text(store.shape[1 : 2 if store.vectors else 4], store.fps if store.imported else None)


def size_text(shape: Sequence[int], fps: float | None) -> str:
    """Return the size of a feature, (C,) or (C, H, W), as text and, if given, the rate."""
    what = f"{'vectors' if len(shape) == 1 else 'maps'} of {' x '.join(map(str, shape))}"
    return what if fps is None else f"{what} at {fps:g} per second"
