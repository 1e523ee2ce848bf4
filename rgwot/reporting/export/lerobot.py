"""Export of key steps as subtasks of the LeRobot dataset from which `rgwot import-lerobot` cut the episodes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from rgwot.datasets.lerobot import (
    EPISODES,
    INFO,
    ORIGIN,
    PERSISTENT,
    SUBTASK_INDEX,
    LeRobotDataset,
    MissingFile,
    open_dataset,
    read_episode_lines,
)
from rgwot.reporting.export import ExportedVideo, LabelledSegment
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import write_json, write_text

#: A subtask lasts until the next one begins, so background has to be a subtask, too.
BACKGROUND_SUBTASK = "background"

Columns: TypeAlias = dict[str, list[Any]]
"""The subtasks of an episode in the columns that SARM reads: names, times and frames."""


def export_lerobot(videos: Sequence[ExportedVideo], folder: Path) -> None:
    """Write ``data`` and ``meta`` with key steps as subtasks, to be copied over the dataset.

    Every frame gets the column ``language_persistent`` with the list of the episode's subtasks and their start times,
    which are times of frames. Existing subtasks of any form are replaced; rows of other styles stay. Every episode gets
    the columns that LeRobot's SARM reads (``sparse_subtask_names`` with times and frames), without background.
    """
    dataset, episodes = _episodes(videos)

    def column(frames: Any) -> list[Any]:
        segments = episodes.get(int(frames["episode_index"].iloc[0]))
        before = frames[PERSISTENT].iloc[0] if PERSISTENT in frames else None
        rows = [dict(row) for row in ([] if before is None else before)]
        if segments is not None:
            times = frames["timestamp"].to_numpy()
            labels = _labels(times, segments)
            starts = np.flatnonzero([at == 0 or labels[at] != labels[at - 1] for at in range(len(labels))])
            rows = [row for row in rows if row["style"] != "subtask"]
            rows += [
                {
                    "role": "assistant", "content": labels[at], "style": "subtask", "timestamp": float(times[at]),
                    "camera": None, "tool_calls": None,
                }
                for at in starts
            ]  # fmt: skip
            rows.sort(key=lambda row: float(row["timestamp"]))
        return [rows] * len(frames)

    _write_frames(dataset, episodes, folder, column)
    lengths = dict(zip(dataset.episodes["episode_index"], dataset.episodes["length"], strict=True))
    sparse = {number: _sparse(segments, dataset.fps, int(lengths[number])) for number, segments in episodes.items()}
    (_write_tables if dataset.shared else _write_lines)(dataset, sparse, folder)
    write_json(_proportions(sparse), folder / "meta/temporal_proportions_sparse.json")


def _sparse(segments: Sequence[LabelledSegment], fps: Fraction, length: int) -> Columns:
    """Return the subtasks of an episode of ``length`` frames in SARM's columns; end frames are exclusive."""
    frames = [
        (_frame(segment.start_s, fps), min(_frame(segment.end_s, fps), length), segment.label) for segment in segments
    ]
    frames = [span for span in frames if span[1] > span[0]]
    return {
        "sparse_subtask_names": [label for _, _, label in frames],
        "sparse_subtask_start_times": [float(start / fps) for start, _, _ in frames],
        "sparse_subtask_end_times": [float(end / fps) for _, end, _ in frames],
        "sparse_subtask_start_frames": [start for start, _, _ in frames],
        "sparse_subtask_end_frames": [end for _, end, _ in frames],
    }


def _frame(time_s: float, fps: Fraction) -> int:
    """Return the first frame at or after a time, with a tolerance of half a millisecond for rounding."""
    return math.ceil((time_s - 5e-4) * float(fps))


def _proportions(sparse: Mapping[int, Columns]) -> dict[str, float]:
    """Return the mean share of each subtask in the labelled time of the episodes that have it."""
    shares: dict[str, list[float]] = {}
    for columns in sparse.values():
        spans = list(zip(*(columns[f"sparse_subtask_{what}"] for what in ("names", "start_frames", "end_frames")),
                         strict=True))  # fmt: skip
        total = sum(end - start for _, start, end in spans)
        for name in dict.fromkeys(name for name, _, _ in spans):
            seconds = sum(end - start for other, start, end in spans if other == name)
            shares.setdefault(name, []).append(seconds / total)
    means = {name: float(np.mean(values)) for name, values in shares.items()}
    return {name: mean / sum(means.values()) for name, mean in means.items()}


def _write_lines(dataset: LeRobotDataset, sparse: Mapping[int, Columns], folder: Path) -> None:
    """Write the episodes of a version 2 dataset with their subtasks."""
    rows = read_episode_lines(dataset.root)
    lines = [json.dumps({**row, **sparse.get(int(row["episode_index"]), {})}, ensure_ascii=False) for row in rows]
    write_text("\n".join([*lines, ""]), folder / EPISODES)


def _write_tables(dataset: LeRobotDataset, sparse: Mapping[int, Columns], folder: Path) -> None:
    """Write the episode tables of a version 3 dataset with their subtasks."""
    import pyarrow as pa
    from pyarrow import parquet

    kinds = {"names": pa.string(), "times": pa.float64(), "frames": pa.int64()}
    for source in sorted((dataset.root / "meta/episodes").rglob("*.parquet")):
        table = parquet.read_table(source)
        numbers = table.column("episode_index").to_pylist()
        for name in _sparse((), dataset.fps, 0):
            values = [sparse[number][name] if number in sparse else None for number in numbers]
            column = pa.array(values, type=pa.list_(kinds[name.rpartition("_")[2]]))
            if name in table.column_names:
                table = table.drop_columns([name])
            table = table.append_column(name, column)
        place = folder / source.relative_to(dataset.root)
        place.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(table.replace_schema_metadata(None), place, compression="snappy")


def _episodes(videos: Sequence[ExportedVideo]) -> tuple[LeRobotDataset, dict[int, tuple[LabelledSegment, ...]]]:
    """Return the dataset from which the videos were cut, and the segments by episode."""
    origin = videos[0].path.parent.parent / ORIGIN
    if not origin.is_file():
        raise RgwotError(f"{origin}: no such file; set --root to the folder that rgwot import-lerobot wrote")
    episodes = {}
    for video in videos:
        match = re.fullmatch(r"episode_(\d+)", video.stem)
        if match is None:
            raise RgwotError(
                f"{video.path}: found no episode number in its name, expected a name such as episode_000000"
            )
        episodes[int(match[1])] = video.segments
    return open_dataset(Path(json.loads(origin.read_text(encoding="utf-8"))["root"])), episodes


def _labels(times: Any, segments: Sequence[LabelledSegment]) -> list[str]:
    """Return the label of every frame, with a tolerance of half a millisecond for times in single precision."""
    labels = np.full(len(times), BACKGROUND_SUBTASK, dtype=object)
    for start_s, end_s, _, label, *_ in segments:
        labels[(times >= start_s - 5e-4) & (times < end_s - 5e-4)] = label
    return [str(label) for label in labels]


def _write_frames(dataset: LeRobotDataset, episodes: Any, folder: Path, column: Any) -> None:
    """Write all frame files and the info with the column `PERSISTENT`, without columns of earlier subtasks.

    A row group is an episode.
    """
    import pyarrow as pa
    from pyarrow import parquet

    text = pa.string()
    fields = [("role", text), ("content", text), ("style", text), ("timestamp", pa.float32()), ("camera", text)]
    standard = pa.list_(pa.struct([*fields, ("tool_calls", pa.list_(text))]))
    rows = dataset.episodes.to_dict("records")
    unknown = set(episodes) - {int(row["episode_index"]) for row in rows}
    if unknown:
        raise RgwotError(
            f"{dataset.root}: has no episode {min(unknown)}; expected the dataset from which the episodes were cut"
        )
    sources: dict[Path, None] = {}
    for row in rows:
        try:
            sources[dataset.data(row)] = None
            if int(row["episode_index"]) in episodes:
                dataset.frames(row)
        except MissingFile:
            # Episodes that the import left out may lack their file of frames here.
            if int(row["episode_index"]) in episodes:
                raise
    for source in sources:
        plain = parquet.read_table(source)
        frames = plain.to_pandas(ignore_metadata=True)
        kind = standard
        if PERSISTENT in plain.column_names:
            # Keep the type of an existing column, which has rows of other styles.
            existing = plain.schema.field(PERSISTENT).type
            kind = existing if pa.types.is_struct(existing.value_type) else standard
        plain = plain.drop_columns([name for name in (PERSISTENT, SUBTASK_INDEX) if name in plain.column_names])
        place = folder / source.relative_to(dataset.root)
        place.parent.mkdir(parents=True, exist_ok=True)
        schema = pa.schema([*plain.schema.remove_metadata(), pa.field(PERSISTENT, kind)])
        with parquet.ParquetWriter(place, schema, compression="snappy") as writer:
            for _, episode in frames.groupby("episode_index", sort=False):
                values = pa.array(column(episode), type=kind)
                part = plain.slice(episode.index[0], len(episode)).replace_schema_metadata(None)
                writer.write_table(part.append_column(pa.field(PERSISTENT, kind), values), row_group_size=len(episode))
    features = {key: value for key, value in dataset.info["features"].items() if key != SUBTASK_INDEX}
    features[PERSISTENT] = {"dtype": "language", "shape": [1], "names": None}
    write_json({**dataset.info, "features": features}, folder / INFO)
