"""Key steps as subtasks of a dataset of LeRobot whose episodes were cut by `rgwot import-lerobot`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rgwot.datasets.lerobot import INFO, ORIGIN, PERSISTENT, SUBTASK_INDEX, SUBTASKS, Dataset, open_dataset
from rgwot.reporting.export.interface import Segment, Video, key_steps_of
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import write_json

#: Subtasks last until the next, so that background is one, too.
BACKGROUND = "background"


def export_lerobot(videos: Sequence[Video], folder: Path) -> None:
    """Write ``data`` and ``meta/info.json`` with the column ``language_persistent``, to copy over the dataset.

    Every frame has the list of the whole episode: when which subtask starts, at times of frames. Subtasks that were
    there are replaced, in whichever form; other styles stay.
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

    _write(dataset, episodes, folder, PERSISTENT, column)


def export_lerobot_index(videos: Sequence[Video], folder: Path) -> None:
    """Write the form before version 0.6: the column ``subtask_index``, and ``meta/subtasks.parquet``."""
    dataset, episodes = _episodes(videos)
    names = list(dict.fromkeys([BACKGROUND, *key_steps_of(videos).values()]))

    def column(frames: Any) -> list[Any]:
        segments = episodes.get(int(frames["episode_index"].iloc[0]), ())
        return [names.index(label) for label in _labels(frames["timestamp"].to_numpy(), segments)]

    _write(dataset, episodes, folder, SUBTASK_INDEX, column)
    numbers = pd.DataFrame({SUBTASK_INDEX: range(len(names))}, index=pd.Index(names, name="subtask"))
    numbers.to_parquet(folder / SUBTASKS)


def _episodes(videos: Sequence[Video]) -> tuple[Dataset, dict[int, tuple[Segment, ...]]]:
    """Return the dataset that the videos were cut from, and the segments by episode."""
    origin = videos[0].path.parent.parent / ORIGIN
    if not origin.is_file():
        raise RgwotError(f"{origin}: no such file; expected --root FOLDER of episodes cut by rgwot import-lerobot")
    episodes = {}
    for video in videos:
        match = re.fullmatch(r"episode_(\d+)", video.stem)
        if match is None:
            raise RgwotError(f"{video.path}: no episode by its name; expected one like episode_000000")
        episodes[int(match[1])] = video.segments
    return open_dataset(Path(json.loads(origin.read_text(encoding="utf-8"))["root"])), episodes


def _labels(times: Any, segments: Sequence[Segment]) -> list[str]:
    """Return the label of every frame; times are rounded to single precision, so half a millisecond is none."""
    labels = np.full(len(times), BACKGROUND, dtype=object)
    for start_s, end_s, _, label in segments:
        labels[(times >= start_s - 5e-4) & (times < end_s - 5e-4)] = label
    return [str(label) for label in labels]


def _write(dataset: Dataset, episodes: Any, folder: Path, name: str, column: Any) -> None:
    """Write all files of frames, with a column instead of those of subtasks that were there, and what it is.

    A row group is an episode.
    """
    import pyarrow as pa
    from pyarrow import parquet

    text = pa.string()
    fields = [("role", text), ("content", text), ("style", text), ("timestamp", pa.float32()), ("camera", text)]
    standard = pa.list_(pa.struct([*fields, ("tool_calls", pa.list_(text))])) if name == PERSISTENT else pa.int64()
    rows = dataset.episodes.to_dict("records")
    unknown = set(episodes) - {int(row["episode_index"]) for row in rows}
    if unknown:
        raise RgwotError(f"{dataset.root}: has no episode {min(unknown)}; expected the dataset that it was cut from")
    for source in dict.fromkeys(dataset.data(row) for row in rows):
        plain = parquet.read_table(source)
        frames = plain.to_pandas(ignore_metadata=True)
        kind = standard
        if PERSISTENT == name in plain.column_names:
            # Rows of other styles keep their form, unless there is none.
            there = plain.schema.field(name).type
            kind = there if pa.types.is_struct(there.value_type) else standard
        plain = plain.drop_columns([one for one in (PERSISTENT, SUBTASK_INDEX) if one in plain.column_names])
        place = folder / source.relative_to(dataset.root)
        place.parent.mkdir(parents=True, exist_ok=True)
        schema = pa.schema([*plain.schema.remove_metadata(), pa.field(name, kind)])
        with parquet.ParquetWriter(place, schema, compression="snappy") as writer:
            for _, own in frames.groupby("episode_index", sort=False):
                first = own.index[0]
                values = pa.array(column(own), type=kind)
                part = plain.slice(first, len(own)).replace_schema_metadata(None)
                writer.write_table(part.append_column(pa.field(name, kind), values), row_group_size=len(own))
    other = SUBTASK_INDEX if name == PERSISTENT else PERSISTENT
    features = {key: value for key, value in dataset.info["features"].items() if key != other}
    features[name] = {"dtype": "language" if name == PERSISTENT else "int64", "shape": [1], "names": None}
    write_json({**dataset.info, "features": features}, folder / INFO)
