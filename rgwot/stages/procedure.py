"""``procedure.json`` and ``deviations.csv``: reading and writing of a procedure and its deviations."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from rgwot.columns import DEVIATION_COLUMNS, OCCURRENCE_COLUMNS
from rgwot.datasets.annotation_tables import records
from rgwot.paths import DEVIATIONS, PROCEDURE, name_of
from rgwot.procedure.expected import ExpectedStep, parse_expected
from rgwot.procedure.graphs import Edges, Step, restricted
from rgwot.procedure.interface import Deviation, Procedure, Recording
from rgwot.procedure.learning import recordings_from_segments
from rgwot.records import read_deviations, typed_occurrences
from rgwot.runtime.csv_files import read_csv, typed, write_csv
from rgwot.runtime.errors import RgwotError, errors_of
from rgwot.runtime.files import write_json
from rgwot.runtime.provenance import unedited
from rgwot.runtime.yaml_files import read_yaml


def read_expected(path: str | os.PathLike[str]) -> tuple[ExpectedStep, ...]:
    """Read a procedure that people should follow (`rgwot.procedure.expected.parse_expected`)."""
    if not Path(path).is_file():
        raise RgwotError(f"{path}: no such file, expected the procedure that `expected` of the dataset names")
    return parse_expected(read_yaml(path), os.fspath(path))


def write_procedure(folder: Path, procedure: Procedure, deviations: Sequence[Deviation]) -> None:
    """Write a procedure and its deviations into a folder."""
    write_json(procedure.to_json(), folder / name_of(PROCEDURE))
    write_csv(deviation_table(deviations), folder / name_of(DEVIATIONS))


def read_procedure(path: str | os.PathLike[str]) -> Procedure:
    """Read ``procedure.json``; raise RgwotError if it is missing or invalid."""
    content = read_yaml(unedited(path))
    if not isinstance(content, dict):
        raise RgwotError(f"{path}: found {type(content).__name__}, expected an object with nodes and edges")
    with errors_of(path):
        return Procedure.from_json(content)


def deviation_table(deviations: Sequence[Deviation]) -> pd.DataFrame:
    """Return deviations as the table of ``deviations.csv``, in the same order."""
    rows = [tuple(getattr(deviation, column) for column in DEVIATION_COLUMNS) for deviation in deviations]
    types = dict.fromkeys(("start_s", "end_s", "surprise", "sureness"), "float64")
    return pd.DataFrame(rows, columns=list(DEVIATION_COLUMNS)).astype(
        {"video": str, "kind": str, "key_step": "int64", **types}
    )


def read_deviation_list(path: str | os.PathLike[str]) -> list[Deviation]:
    """Read the deviations in ``deviations.csv``."""
    table = read_deviations(path).astype({"sureness": object})
    table["sureness"] = table["sureness"].where(table["sureness"].notna(), None)
    return [Deviation(*row) for row in table.itertuples(index=False, name=None)]


def read_recordings(path: str | os.PathLike[str]) -> tuple[list[Recording], dict[int, str]]:
    """Read a user's table of segments; return recordings, and the names of key steps, if any.

    It needs the columns ``video``, ``start_s``, ``end_s`` (seconds) and ``key_step`` (from 1, background 0). ``name``
    and ``scope`` are optional; with ``scope``, only rows with ``task`` are read. The first name of a key step is used.
    If there are ``shows`` and ``counts``, as in a result, they decide on the occurrences (`recordings_from_segments`).

    Raises
    ------
    RgwotError
        If a column is missing, a value is invalid, or no video has a key step.
    """
    columns = ("video", "start_s", "end_s", "key_step")
    if not (rows := [row for _, row in records(Path(path))]):
        raise RgwotError(f"{path}: found no row, expected at least one, with the columns {','.join(columns)}")
    frame = typed(pd.DataFrame(rows), path, columns, {"start_s": "float64", "end_s": "float64", "key_step": "int64"})
    if {*OCCURRENCE_COLUMNS} <= {*frame}:
        frame = typed_occurrences(frame, Path(path))
    if "scope" in frame:
        frame = frame[frame["scope"] == "task"]
        if frame.empty:
            raise RgwotError(f"{path}: found no row of scope task; expected one, or no column scope")
    for row, (video, start_s, end_s, key_step) in zip(frame.index, frame[list(columns)].to_numpy(), strict=True):
        wrong = (
            ("no video" if not video else "")
            or (f"start_s {start_s:g}, expected 0 or above" if start_s < 0 else "")
            or (f"end_s {end_s:g}, expected start_s {start_s:g} or above" if end_s < start_s else "")
            or (f"key_step {key_step}, expected 0 or above" if key_step < 0 else "")
        )
        if wrong:
            raise RgwotError(f"{path}: row {row + 2}: found {wrong}")
    if not (frame["key_step"] > 0).any():
        raise RgwotError(f"{path}: found no key step in {len(frame)} rows, expected some with key_step 1 or above")
    names: dict[int, str] = {}
    if "name" in frame:
        for key_step, name in zip(frame["key_step"].tolist(), frame["name"].str.strip(), strict=True):
            if key_step and name:
                names.setdefault(key_step, name)
    return recordings_from_segments(frame), names


def read_task_graph(path: str | os.PathLike[str]) -> Edges:
    """Read the edges of a true task graph, a CSV with the columns ``key_step`` and ``needs``; both may be START or END.

    Raises
    ------
    RgwotError
        For another table, a key step that is not a number, or a graph with a cycle.
    """
    frame = read_csv(path, ("key_step", "needs"), {})
    edges: set[tuple[Step, Step]] = set()
    for row, (after, before) in enumerate(frame[["key_step", "needs"]].to_numpy(), start=2):
        ends = {"START", "END"} & {before, after}
        if not ends and not (str(before).isdecimal() and str(after).isdecimal()):
            raise RgwotError(f"{path}: row {row}: found {after!r}, {before!r}, expected numbers, START or END")
        if not ends:
            edges.add((int(before), int(after)))
    try:
        return restricted(edges, {step for edge in edges for step in edge})
    except ValueError as error:
        raise RgwotError(f"{path}: {error}") from None
