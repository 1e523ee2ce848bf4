"""Readers of the tables and records between stages.

Each stage writes its files itself; other stages read them by these functions. All times are seconds. Every reader
raises `RgwotError` if a file is missing or invalid.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Literal

import pandas as pd

from rgwot.columns import (
    ANNOTATION_COLUMNS,
    CELL,
    COUNTS,
    DEVIATION_COLUMNS,
    IDENTITY,
    MANIFEST_COLUMNS,
    OCCURRENCE_COLUMNS,
    ORDER_COLUMNS,
    PROCEDURE_COLUMNS,
    SCORE_COLUMNS,
    SEGMENT_COLUMNS,
    SHOWS,
    TERMS,
)
from rgwot.diagnostics import Diagnostics, diagnostics_of
from rgwot.runtime.csv_files import read_csv, typed
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import remake
from rgwot.runtime.provenance import unedited
from rgwot.runtime.yaml_files import read_yaml
from rgwot.timing import parse_rate


def read_manifest(path: Path) -> pd.DataFrame:
    """Read a manifest.

    Texts are str (empty where there is none), ``duration_s`` float64 in seconds (NaN for a skipped video), ``fps``
    `fractions.Fraction` (None for a skipped video), ``width`` and ``height`` Int64. A video that is not skipped must
    have a duration and a rate above 0. ``start_s`` (float64) is the time at which a player shows the first frame; it is
    0 in manifests of earlier versions, which lack the column.

    Parameters
    ----------
    path
        The table of the workflow, ``results/manifests/DATASET/TASK.csv``.
    """
    numbers: Mapping[str, Literal["float64", "Int64"]] = {"duration_s": "float64", "width": "Int64", "height": "Int64"}
    *columns, start = MANIFEST_COLUMNS
    frame = read_csv(path, columns, numbers, optional=numbers)
    frame[start] = pd.to_numeric(frame.get(start, pd.Series(0.0, index=frame.index)), errors="coerce").fillna(0.0)
    rates: list[Fraction | None] = []
    for video, status, duration_s, fps in frame[["video", "status", "duration_s", "fps"]].to_numpy():
        try:
            rates.append(parse_rate(fps) if fps else None)
        except ValueError as error:
            raise RgwotError(f"{path}: video {video!r}: {error}; make the manifest again") from None
        if status != "skipped" and not (duration_s > 0 and fps):
            raise RgwotError(
                f"{path}: video {video!r}: found duration_s {duration_s:g} and fps {fps!r}, "
                "expected numbers above 0; make the manifest again"
            )
    frame["fps"] = pd.Series(rates, index=frame.index, dtype=object)
    return frame


def read_annotations(path: Path, background: bool = False) -> pd.DataFrame:
    """Read the annotated segments of a task: texts as str, times as float64 in seconds, ``key_step`` as int64 from 1.

    Parameters
    ----------
    path
        The table of the workflow, ``results/annotations/DATASET/TASK.csv``.
    background
        Whether segments annotated as background (key step 0) are included.
    """
    table = read_csv(path, ANNOTATION_COLUMNS, {"start_s": "float64", "end_s": "float64", "key_step": "int64"})
    return table if background else table[table["key_step"] > 0].reset_index(drop=True)


def read_segments(segments_csv: str | os.PathLike[str]) -> pd.DataFrame:
    """Read ``segments.csv`` of a decoding: ``video``, ``scope`` as str, times float64, ``key_step`` int64.

    ``counts`` (bool) says whether a segment is an occurrence of the key step that it ``shows`` (int64); without these
    columns, every segment of scope ``task`` that is not background is an occurrence of its own key step.

    Parameters
    ----------
    segments_csv
        The file; RgwotError is raised if it was edited (`rgwot.runtime.provenance.unedited`). The other readers of key
        steps do the same.
    """
    path = unedited(segments_csv)
    frame = read_csv(path, SEGMENT_COLUMNS, {"start_s": "float64", "end_s": "float64", "key_step": "int64"})
    if not {*OCCURRENCE_COLUMNS} <= {*frame}:
        counting = (frame["scope"] == "task") & (frame["key_step"] > 0)
        return frame.assign(shows=frame["key_step"], counts=counting)
    return typed_occurrences(frame, path)


def typed_occurrences(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return a table of segments with the types of its columns ``shows`` and ``counts``, which were read as text."""
    frame, words = typed(frame, path, OCCURRENCE_COLUMNS, {SHOWS: "int64"}), frame[COUNTS].str.casefold()
    if (wrong := ~words.isin(["true", "false"])).any():
        row = int(wrong.argmax())
        raise RgwotError(
            f"{path}: row {row + 2}: found {COUNTS} {frame[COUNTS][row]!r}, expected True or False; {remake(path)}"
        )
    return frame.assign(counts=words == "true")


def read_orders(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read ``order.csv`` of a decoding: ``video`` and ``order`` as str, such as ``3>1>2``.

    Parameters
    ----------
    path
        The file.
    """
    return read_csv(unedited(path), ORDER_COLUMNS, {})


def read_procedures(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read ``procedures.csv`` of a decoding: ``order`` as str, ``rank`` and ``n_videos`` int64, ``share`` float64.

    Parameters
    ----------
    path
        The file.
    """
    return read_csv(unedited(path), PROCEDURE_COLUMNS, {"rank": "int64", "n_videos": "int64", "share": "float64"})


def read_deviations(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read ``deviations.csv`` of a decoding: ``video``, ``kind`` and ``against`` as str, others as numbers.

    ``key_step`` is int64, the other numbers are float64. Without a column ``against``, it is ``others``.

    Parameters
    ----------
    path
        The file.
    """
    numbers: Mapping[str, Literal["float64", "int64"]] = {
        "key_step": "int64", "start_s": "float64", "end_s": "float64", "surprise": "float64", "sureness": "float64",
    }  # fmt: skip
    *columns, against = DEVIATION_COLUMNS
    table = read_csv(unedited(path), columns, numbers, optional=("sureness",))
    return (table if against in table else table.assign(against="others"))[list(DEVIATION_COLUMNS)]


def read_diagnostics(path: str | os.PathLike[str]) -> Diagnostics:
    """Read ``diagnostics.json`` of a decoding.

    Parameters
    ----------
    path
        The file.
    """
    return diagnostics_of(path, read_yaml(path))


def read_history(path: Path) -> pd.DataFrame:
    """Read ``history.csv`` of a training run: ``step, loss, align, cidm, seconds``.

    Parameters
    ----------
    path
        The file.
    """
    numbers: Mapping[str, Literal["float64", "int64"]] = {
        "step": "int64",
        **dict.fromkeys((*TERMS, "seconds"), "float64"),
    }
    history = read_csv(path, tuple(numbers), numbers)
    if history.empty:
        raise RgwotError(f"{path}: found no row, expected one per iteration; {remake(path)}")
    return history


def read_scores(paths: Iterable[str | os.PathLike[str]]) -> pd.DataFrame:
    """Read the tidy scores of one or more different runs into one table.

    Parameters
    ----------
    paths
        Files of scores, each of a different run.
    """
    numbers: Mapping[str, Literal["float64", "int64"]] = {"seed": "int64", "value": "float64"}
    frames = [read_csv(path, SCORE_COLUMNS, numbers, optional=("value",))[list(SCORE_COLUMNS)] for path in paths]
    if not frames:
        raise RgwotError("scores: found no file, expected at least one")
    scores = pd.concat(frames, ignore_index=True)
    twice = scores[scores.duplicated([*IDENTITY, *CELL, "metric"])]
    if len(twice):
        first = twice.iloc[0]
        run = "/".join(str(first[column]) for column in ("method", "decoder", "dataset", "task"))
        raise RgwotError(f"scores: found {run} seed {first['seed']} twice, expected every run once")
    return scores
