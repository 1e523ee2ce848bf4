"""The labels of `rgwot.discover`: key steps per feature, segments or marks, of some of the videos."""

from __future__ import annotations

import math
import os
from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, cast

import numpy as np
from numpy.typing import NDArray

from rgwot.datasets.annotation_files import read_annotation_file
from rgwot.datasets.annotation_tables import CODERS, ENDS, MOMENT, STARTS
from rgwot.datasets.annotations import BACKGROUND_NAMES, TOLERATED_S
from rgwot.datasets.names import id_of, name_of_recording
from rgwot.datasets.segment_rows import BACKGROUND_LABEL
from rgwot.keysteps.given import BETWEEN, SampleLabels, check_silence, labels_of_rows, lasting, taken_silences
from rgwot.keysteps.interface import Given
from rgwot.runtime.errors import RgwotError, first_line, nearest
from rgwot.runtime.text import look_alike, pairing_key, plain_name
from rgwot.timing import BACKGROUND, ends_early

if TYPE_CHECKING:
    import pandas as pd

    from rgwot.embedding.interface import VideoFeatures

Labels: TypeAlias = "Mapping[str, Any] | Sequence[Any] | pd.DataFrame"
"""Labels (T,), tables or paths of annotation files by the name of a video, in a sequence with None for a video without
labels, or one long table with the column ``video``."""

LARGEST = 9999
"""Largest number of a key step."""

LABEL_COLUMNS = ("label", "name", "step")

_OVERLAP_S = 1e-3
"""Segments of different key steps may overlap by this much, in seconds, because exports round to milliseconds."""


def read_labels(
    labels: Labels, names: Sequence[str], videos: Sequence[VideoFeatures], silence: str | None = None
) -> Given:
    """Read the labels of videos from key steps per feature, or from segments and marks.

    Parameters
    ----------
    labels
        For each video the key steps (T,) of its features, as whole numbers or floats from 1, with 0 for background and
        -1 or NaN for unlabelled features, or as names, with ``background`` for background and None, NaN or an empty
        text for unlabelled features; a single labelled feature between unlabelled ones is a mark. Or a table of
        segments with ``start_s``, ``end_s`` in seconds, and ``key_step``, a name (``label``, ``name`` or ``step``), or
        both; rows with ``time_s`` instead, or without an end, are marks, or questions without an answer if they have no
        label. Or the path of an annotation file (`rgwot.datasets.annotation_files`). Or one table of all videos with
        the column ``video``; if it has a column ``scope``, only rows with ``task`` are read. Names without numbers are
        numbered in the order of their first occurrence, after the largest number.
    names
        Names of all videos, in the order of ``labels`` if that is a sequence.
    videos
        The videos that have features.
    silence
        How time without a segment is read in tables (`rgwot.timing.SILENCES`), unless they have a column ``silence``.
        By default, time between the first and the last segment of a video is background, and other time is unlabelled;
        if only one key step occurs in all labels, all other time is not that step (``only``).

    Raises
    ------
    RgwotError
        For labels of an unknown video, or labels that do not fit the video or each other.
    """
    if silence is not None:
        check_silence("silence", silence)
    by_id, numbers = {video.video: video for video in videos}, _Numbers()
    arrays: dict[str, SampleLabels] = {}
    tables: dict[str, tuple[str, pd.DataFrame]] = {}
    words: dict[str, str | None] = {}
    # Tables without numbers are read last, so that their names get numbers that no other labels have.
    by_name = {name: _in_table(f"labels[{name!r}]", own, name) for name, own in _by_name(labels, names).items()}
    for name, of_video in sorted(by_name.items(), key=lambda item: _without_numbers(item[1])):
        where = f"labels[{name!r}]"
        if name not in names:
            raise RgwotError(f"{where}: no video of this name; {nearest(str(name), names)}")
        video = by_id.get(id_of(name))
        if of_video is None or video is None:
            continue
        if _is_table(of_video):
            table = _of_table(where, of_video, video, numbers)
            words[video.video] = _word(where, of_video) or silence
            tables[video.video] = where, table
            largest = int(table["key_step"].max()) if len(table) else 0
        else:
            arrays[video.video] = _of_array(where, of_video, len(video), numbers)
            largest = int(arrays[video.video].labels.max(initial=0))
        numbers.largest = max(numbers.largest, largest)
    steps = _steps(arrays, [table for _, table in tables.values()])
    spans = {
        name: (float(table["end_s"].max()), by_id[name].duration_s)
        for name, (_, table) in tables.items()
        if lasting(table).any() and words[name] != "until"
    }
    silences = taken_silences({video: table for video, (_, table) in tables.items()}, words, len(steps))
    for ident, (where, table) in tables.items():
        word, features = silences.get(ident, BETWEEN), by_id[ident]
        arrays[ident] = labels_of_rows(
            where, table, features.time_s, features.duration_s, None if word == BETWEEN else word
        )
    # A video with nothing but background teaches only if the background is marked.
    teaching = [
        name for name in by_id if name in arrays and ((made := arrays[name]).labels > 0).any() | made.marked.any()
    ]
    if not any((arrays[name].labels > 0).any() for name in teaching):
        raise RgwotError("labels: found no feature of a key step in any video, expected at least one")
    return Given(
        {name: arrays[name].labels for name in teaching},
        numbers.names,
        max(int(arrays[name].labels.max()) for name in teaching),
        {name: arrays[name].marked for name in teaching if arrays[name].marked.any()},
        {name: silences[name] for name in teaching if name in silences},
        (
            *(f"{tables[name][0]}: {line}" for name, line in ends_early(spans).items()),
            *_alike(numbers.names.values()),
            *_from_zero(
                [tables[name][1]["key_step"].to_numpy() if name in tables else arrays[name].labels for name in teaching]
            ),
        ),
    )


def _steps(arrays: Mapping[str, SampleLabels], tables: Sequence[pd.DataFrame]) -> set[int]:
    """Return the key steps that occur in the labels of samples or in tables; raise RgwotError if there are none."""
    steps = {int(step) for own in arrays.values() for step in np.unique(own.labels) if step > 0}
    steps |= {step for table in tables for step in table["key_step"].tolist() if step > 0}
    if steps and max(steps) > LARGEST:
        raise RgwotError(f"labels: found key step {max(steps)}, expected at most {LARGEST}; number them from 1")
    if not steps:
        marks = any(not lasting(table).all() for table in tables) or any(own.marked.any() for own in arrays.values())
        found = "found marks of background alone" if marks else "found no key step in any video"
        raise RgwotError(f"labels: {found}, expected at least one key step")
    return steps


def _alike(names: Iterable[str]) -> list[str]:
    """Return a line for names of key steps that differ in spelling alone."""
    return [
        f"labels: key steps {', '.join(map(repr, alike))} count as different; if they are one step, spell them alike"
        for alike in look_alike(names)
    ]


def _from_zero(labels: Sequence[NDArray[np.int64]]) -> list[str]:
    """Return a line if labels of videos, (T,) or of rows (S,), seem to number key steps from 0, which is background.

    Real background mostly occurs last as well, or between most key steps. A key step numbered 0 mostly comes first, and
    only once; if 0 occurs again in a video, it cannot be distinguished from background.
    """
    runs = [own[np.flatnonzero(np.diff(own, prepend=-2))] for own in labels]
    counts = [np.count_nonzero(run == 0) for run in runs]
    if not runs or not all(counts) or any((run < 0).any() for run in runs):
        return []
    first = sum(run[0] == 0 for run in runs)
    if max(counts) > 1 or 2 * first < len(runs):
        return []
    return [
        f"labels: 0, which means background, occurs once in every labelled video, first in {first} of {len(runs)}; if "
        "key steps are numbered from 0, add 1 to every label"
    ]


def n_labelled(labels: Labels) -> int:
    """Return the number of videos with labels; an iterator, whose length is unknown, counts as one."""
    if _is_table(labels):
        return int(labels["video"].nunique()) if "video" in labels else 1
    return len(labels) if hasattr(labels, "__len__") else 1


def _by_name(labels: Labels, names: Sequence[str]) -> dict[str, Any]:
    """Return the labels by the name of a video."""
    if _is_table(labels):
        if "video" not in labels:
            raise RgwotError(
                f"labels: found one table with the columns {list(labels.columns)}, expected the column video beside "
                "these, or a table for each video by its name"
            )
        table = labels[labels["scope"] == "task"] if "scope" in labels else labels
        ids = {id_of(name): name for name in names}
        by_video = {str(video): rows for video, rows in table.groupby("video", sort=False)}
        return {video if video in names else ids.get(video, video): rows for video, rows in by_video.items()}
    if type(labels).__name__ == "Series" and type(index := getattr(labels, "index", None)).__name__ != "RangeIndex":
        labels = dict(zip(cast("Sequence[Any]", index), labels, strict=True))
    if isinstance(labels, ItemsView):
        labels = dict(labels)
    elif type(labels).__name__ == "DataFrameGroupBy":
        labels = dict(cast("Iterable[tuple[Any, Any]]", labels))
    if isinstance(labels, Mapping):
        return {name_of_recording(name): of_video for name, of_video in labels.items()}
    if isinstance(labels, Iterator):
        labels = list(labels)
    if isinstance(labels, str) or not hasattr(labels, "__len__"):
        raise RgwotError(
            f"labels: found {type(labels).__name__}, expected labels by the name of a video, or a table with the "
            "column video"
        )
    if len(labels) != len(names):
        raise RgwotError(f"labels: found {len(labels)}, expected {len(names)}, one per video (None for no labels)")
    return dict(zip(names, labels, strict=True))


def _in_table(where: str, of_video: Any, name: str) -> Any:
    """Return an annotation file, or rows in mappings, of the video ``name`` as a table; anything else is unchanged."""
    if isinstance(of_video, (str, os.PathLike)):
        try:
            return _of_file(Path(of_video), name)
        except (RgwotError, OSError) as error:
            raise RgwotError(f"{where}: {first_line(error)}") from None
    rows = isinstance(of_video, (list, tuple)) and len(of_video) > 0 and all(isinstance(r, Mapping) for r in of_video)
    if not rows and not isinstance(of_video, Mapping):
        return of_video
    import pandas as pd

    try:
        return pd.DataFrame(of_video)
    except ValueError as error:
        raise RgwotError(
            f"{where}: found a mapping that is not a table ({error}); expected equally long columns"
        ) from None


def _of_file(path: Path, name: str) -> pd.DataFrame:
    """Return the segments, marks and background of a video in an annotation file (`read_annotation_file`).

    If a file has a single video, it is read for this one, whatever its name. Labels that are all numbers are numbers of
    key steps.
    """
    table = read_annotation_file(path, marks=True)
    if table["video"].nunique() > 1:
        keys = {pairing_key(own) for own in (name, id_of(name))}
        rows = table[[pairing_key(video) in keys for video in table["video"]]]
        if rows.empty:
            raise RgwotError(f"{path}: found no row of this video; {nearest(name, table['video'].unique())}")
        table = rows
    steps = table["label"].where(table["label"] != BACKGROUND_LABEL, "0")
    if steps.str.isdecimal().all():
        return table.assign(key_step=steps.astype("int64")).drop(columns=["video", "label"])
    return table.drop(columns="video")


class _Numbers:
    """The names of key steps by number; a new name without a number gets the number after the ``largest`` so far."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.largest = 0

    def of(self, where: str, number: int | None, name: str) -> int:
        """Return the number of a key step by number or name; raise RgwotError if a number gets a second name."""
        if number is None:
            number = next((step for step, other in self.names.items() if other == name), self.largest + 1)
        self.largest = max(self.largest, number)
        if name and self.names.setdefault(number, name) != name:
            raise RgwotError(
                f"{where}: key step {number} is called {name!r}, and {self.names[number]!r} elsewhere; expected one "
                "name per number"
            )
        return number


def _of_array(where: str, values: object, length: int, numbers: _Numbers) -> SampleLabels:
    """Return the labels of features; a single labelled feature between unlabelled ones is a mark."""
    array = _array(values)
    if array.ndim == 1 and len(array) == length and array.dtype.kind == "O":
        labels = np.array([_of_value(where, value, numbers) for value in array.tolist()], dtype=np.int64)
    else:
        labels = array
        if array.dtype.kind == "f" and (np.isnan(array) | (np.isfinite(array) & (array == np.trunc(array)))).all():
            labels = np.nan_to_num(array, nan=-1).astype(np.int64)
        whole = labels.dtype.kind in "iu" and labels.ndim == 1
        if not whole or len(labels) != length or labels.min(initial=0) < -1:
            least = f"{len(labels)} labels from {labels.min(initial=0)}" if whole else ""
            what = least or f"shape {labels.shape} of {labels.dtype}"
            raise RgwotError(
                f"{where}: found {what}, expected {length} whole numbers or names, one per feature: key steps from 1, "
                "0 for background, -1 (or NaN) for unlabelled features"
                + ("" if labels.ndim == 1 else "; segments are a table with start_s, end_s and label")
            )
        labels = labels.astype(np.int64)
    unlabelled = np.concatenate([[True], labels < 0, [True]])
    alone = (labels >= 0) & unlabelled[:-2] & unlabelled[2:]
    return SampleLabels(labels, alone if length > 1 else np.zeros(length, dtype=bool))


def _of_value(where: str, value: object, numbers: _Numbers) -> int:
    """Return the key step of a feature from a name or number: 0 for background, -1 for a missing value."""
    if isinstance(value, str):
        name = plain_name(value)
        if name.isdecimal():
            return numbers.of(where, int(name), "") if int(name) else BACKGROUND
        return -1 if name in ("", "-1") else 0 if _is_background(name) else numbers.of(where, None, name)
    if _empty(value) or value == -1:
        return -1
    return _whole(where, value, "label")


def _of_table(where: str, of_video: pd.DataFrame, video: VideoFeatures, numbers: _Numbers) -> pd.DataFrame:
    """Return the rows of a video as ``start_s,end_s,key_step``, by start; marks have equal start and end."""
    start, end, name = (
        next((value for value in some if value in of_video), None) for some in (STARTS, ENDS, LABEL_COLUMNS)
    )
    names = list(of_video.columns)
    if twice := next((one for one in names if names.count(one) > 1), None):
        raise RgwotError(f"{where}: found two columns {twice!r}, expected every column once; rename or drop one")
    coder = next((column for column in names if str(column).lower() in CODERS), None)
    if coder is not None and of_video[coder].nunique() > 1:
        raise RgwotError(
            f"{where}: found rows by {of_video[coder].nunique()} in the column {coder!r}, expected one annotator per "
            "video; give the rows of one"
        )
    numbered = "key_step" in of_video
    if not ((start and end) or MOMENT in of_video) or (name is None and not numbered):
        raise RgwotError(
            f"{where}: found columns {list(of_video.columns)}, expected start_s, end_s (or time_s, for marks) and "
            "key_step or label; for a label of every feature give the column alone, as table['label']"
        )
    read = []
    for row in of_video.to_dict("records"):
        start_s, end_s = _times(where, row, start, end)
        text = "" if name is None or _empty(row[name]) else plain_name(str(row[name]))
        if start_s == end_s and not text and (not numbered or _empty(row["key_step"]) or row["key_step"] == ""):
            continue  # a suggested moment that nobody has answered
        number = _whole(where, row["key_step"], "key_step") if numbered else None
        background = number == 0 or (number is None and (not text or _is_background(text)))
        read.append((start_s, end_s, number, "" if background else text, background))
    read.sort(key=lambda row: row[0])
    table = of_video.iloc[:0].reindex(columns=["start_s", "end_s", "key_step"])
    rows = [(*row[:2], 0 if row[4] else numbers.of(where, row[2], row[3])) for row in read]
    table = type(table)(rows, columns=table.columns).astype({"start_s": float, "end_s": float, "key_step": "int64"})
    segments = table[lasting(table)]
    last = float(segments["end_s"].max()) if len(segments) else 0.0
    if last > video.duration_s + TOLERATED_S:
        raise RgwotError(
            f"{where}: a segment ends at {last:g} s, and the video at {video.duration_s:g} s; expected no "
            "segment to end after the video; check video, rate and unit"
        )
    reached_s, of_reached = -math.inf, BACKGROUND
    for start_s, end_s, step in segments.itertuples(index=False):
        if step != of_reached and start_s < reached_s - _OVERLAP_S:
            raise RgwotError(
                f"{where}: segments of key steps {of_reached} and {step} overlap from {start_s:g} to "
                f"{min(reached_s, end_s):g} s; expected one key step at a time; correct the times"
            )
        if end_s > reached_s:
            reached_s, of_reached = end_s, step
    return table


def _times(where: str, row: Mapping[Any, Any], start: str | None, end: str | None) -> tuple[float, float]:
    """Return the start and end of a row in seconds, which are equal for a mark."""
    starts_s, ends_s, moment = (
        "" if column is None or _empty(row.get(column)) else row[column] for column in (start, end, MOMENT)
    )
    if moment != "" and (starts_s != "" or ends_s != ""):
        raise RgwotError(
            f"{where}: found a row with time_s {moment} and {start or end} {starts_s if starts_s != '' else ends_s}, "
            "expected time_s for a mark, or start and end for a segment"
        )
    starts_s, ends_s, moment = (
        time.total_seconds() if hasattr(time, "total_seconds") else time for time in (starts_s, ends_s, moment)
    )
    try:
        start_s = float(starts_s if moment == "" else moment)
        end_s = start_s if ends_s == "" else float(ends_s)
    except (TypeError, ValueError):
        start_s = end_s = math.nan
        if (first := starts_s if moment == "" else moment) != "":
            raise RgwotError(
                f"{where}: found the time {str(first)!r}, expected seconds from the beginning of the video"
            ) from None
    if not (math.isfinite(start_s) and math.isfinite(end_s)):
        columns = f"{start} and {end}" if start and end else MOMENT
        raise RgwotError(f"{where}: found a row without times, expected {columns} in seconds in every row")
    if not 0 <= start_s <= end_s:
        raise RgwotError(
            f"{where}: found a segment from {start_s:g} to {end_s:g} s, expected 0 <= start <= end; correct it"
        )
    return start_s, end_s


def _word(where: str, of_video: pd.DataFrame) -> str | None:
    """Return how time without a segment is read, from the column ``silence`` of a video; None if it is empty."""
    if "silence" not in of_video:
        return None
    words = list(dict.fromkeys(str(word) for word in of_video["silence"].tolist() if not _empty(word) and word != ""))
    for word in words:
        check_silence(f"{where}: silence", word)
    if len(words) > 1:
        raise RgwotError(f"{where}: silence: found {' and '.join(words)}, expected one word per video")
    return words[0] if words else None


def _without_numbers(of_video: object) -> bool:
    """Return whether the labels of a video are names without numbers, in a table or one per feature."""
    if _is_table(of_video):
        return "key_step" not in of_video
    return of_video is not None and _array(of_video).dtype.kind == "O"


def _array(values: object) -> NDArray[Any]:
    """Return an array of labels, of objects if they are texts or of several kinds."""
    try:
        array = np.asarray(values)
    except ValueError:  # sequences among the values
        return np.asarray(values, dtype=object)
    # NumPy would turn a missing value beside texts into a text.
    return np.asarray(values, dtype=object) if array.dtype.kind in "UT" else array


def _is_table(value: object) -> TypeGuard[pd.DataFrame]:
    return hasattr(value, "columns")


def _is_background(text: str) -> bool:
    return text.lower() in BACKGROUND_NAMES or text == "0"


def _empty(value: object) -> bool:
    """Return whether a cell is empty: None, NaN as pandas reads it from a CSV, or pandas' NA."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def _whole(where: str, value: Any, column: str) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        number = -1
    if number < 0 or number != float(value):
        raise RgwotError(
            f"{where}: {column}: found {value!r}, expected whole numbers: key steps from 1, 0 for background"
        )
    return number
