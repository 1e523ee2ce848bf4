"""Features of all videos in one archive with a table of their segments, the form of pJEPA's published features.

The archive is a ``.pt`` with ``paths``, ``tokens``, ``times`` and ``offsets`` (`rgwot.datasets.arrays.packed_rows`),
the table is a ``*segments.csv``. Features have times, which need not be evenly spaced.
"""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from rgwot.datasets.annotation_tables import records
from rgwot.datasets.annotations import AnnotatedSegment, Annotation, Complaints, build_annotation
from rgwot.datasets.arrays import holding_file, packed_name
from rgwot.datasets.base import DatasetFiles, VideoEntry
from rgwot.datasets.egoprocel import files_by_task
from rgwot.datasets.pairing import pair, walk
from rgwot.datasets.registry import TaskFacts
from rgwot.datasets.settings import Options
from rgwot.datasets.text import DataFault, excerpt, judged
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.timing import VideoInfo

OPTIONS = frozenset({"view", "subset", "strict", "unannotated", "pattern", "split"})
EXPECTED = "one archive *.pt and its table *segments.csv, as downloaded"

_VIDEO, _SPLIT, _STEP, _START, _END = _COLUMNS = (
    "video_path", "official_split", "fact_step_id", "start_sec", "end_sec"
)  # fmt: skip
_NAME = "fact_step_name"

Rows = Mapping[str, Sequence[tuple[str, Mapping[str, str]]]]


def find(root: Path, dataset: str, options: Options) -> DatasetFiles:
    """Find the videos that the table lists; the archive is not opened."""
    archive, table = _files(root, dataset)
    splits = {video: rows[0][1][_SPLIT] for video, rows in read_rows(root / table).items()}
    if options.split not in (None, *splits.values()):
        hint = nearest(str(options.split), sorted(set(splits.values())))
        raise RgwotError(f"dataset {dataset!r}: split {options.split!r} is not in {table}; {hint}")
    videos = [f"{archive}/{video}" for video, split in splits.items() if options.split in (None, split)]
    placed, where = files_by_task(videos, dataset, options, str(root / archive))
    unassigned = placed.pop("", [])
    tasks = {task: pair(paths, paths, options) for task, paths in placed.items()}
    for task, entries in tasks.items():
        tasks[task] = replace(entries, videos=tuple(replace(video, annotation=table) for video in entries.videos))
    return DatasetFiles(dataset, where, tasks, tuple(unassigned))


def read_annotation(
    root: Path, entry: VideoEntry, facts: TaskFacts | None, clock: VideoInfo | None, options: Options
) -> Annotation:
    """Read the rows of a video; step 0 is background."""
    path, video = root / str(entry.annotation), root / entry.path
    notes = Complaints(path)
    segments = []
    for where, row in read_rows(path)[video.relative_to(holding_file(video)).as_posix()]:
        with judged():
            try:
                start, end, step = float(row[_START]), float(row[_END]), int(row[_STEP])
                fine = math.isfinite(start) and math.isfinite(end) and start >= 0 and step >= 0
            except ValueError:
                fine = False
            if not fine:
                fault = f"{_START} {row[_START]}, {_END} {row[_END]}, {_STEP} {row[_STEP]}"
                raise DataFault("time", path, where, f"{fault}; expected seconds and a whole number, 0 or above")
            if step:
                segments.append(AnnotatedSegment(where, start, end, step, row[_NAME]))
    return build_annotation(path, segments, notes, clock, overlap_is_normal=False)


def read_rows(path: Path) -> Rows:
    """Return the rows of every video in the table and their places, by the path of the video in the archive.

    Raises RgwotError if a column is missing or a path leaves the folder.
    """
    return _read(path, os.stat(path).st_mtime_ns)


@lru_cache(maxsize=2)
def _read(path: Path, modified_ns: int) -> Rows:
    rows = defaultdict(list)
    for where, row in records(path):
        if missing := [name for name in _COLUMNS if name not in row]:
            fault = f"{excerpt(','.join(row))} lacks {missing[0]}; expected the table of the release"
            raise DataFault("columns", path, "", fault)
        short = {name: row.get(name, "") for name in (*_COLUMNS, _NAME)}
        rows[packed_name(short[_VIDEO], path)].append((where, short))
    return dict(rows)


def _files(root: Path, dataset: str) -> tuple[str, str]:
    """Return the archive and the table below a root."""
    paths = walk(root, root, {".pt", ".csv"})
    archives = [path for path in paths if path.endswith(".pt")]
    tables = [path for path in paths if path.endswith("segments.csv")]
    if (len(archives), len(tables)) != (1, 1):
        existing = ", ".join((*archives, *tables)) or "no such file"
        raise RgwotError(
            f"dataset {dataset!r}: found {existing} in {root}; expected {EXPECTED}; "
            "put every download into a folder of its own"
        )
    return archives[0], tables[0]
