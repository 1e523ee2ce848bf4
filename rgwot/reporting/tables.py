"""Tables of comparison from scores: tasks are averaged within a seed, then seeds are summarised."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rgwot.errors import RgwotError
from rgwot.evaluation.evaluate import COLUMNS
from rgwot.files import write_csv
from rgwot.reporting.reported import reported_rows
from rgwot.reporting.spec import Row, Table

LEADING_COLUMNS = (
    "method", "kind", "protocol", "background", "label_rule", "n_runs", "n_videos", "degenerate", "note",
)  # fmt: skip
CELL = ["protocol", "background", "label_rule"]
SCORE_KEY = ["dataset", "task", "seed", *CELL, "metric"]


def table_columns(table: Table) -> list[str]:
    """Return the columns of a table: the leading ones, then value and deviation per dataset and metric."""
    cells = [f"{dataset}_{metric}" for dataset in table.datasets for metric in table.metrics]
    return [*LEADING_COLUMNS, *(column for cell in cells for column in (cell, f"{cell}_sd"))]


def read_scores(paths: Iterable[str | os.PathLike[str]]) -> pd.DataFrame:
    """Read tidy scores of any number of runs into one table.

    Raises
    ------
    RgwotError
        When there is none, one cannot be read or lacks a column, or two files hold the same run.
    """
    frames = []
    for path in paths:
        try:
            text = {column: str for column in COLUMNS if column not in ("seed", "value")}
            frame = pd.read_csv(path, dtype=text, keep_default_na=False, na_values={"value": [""]})
        except (OSError, ValueError) as error:
            raise RgwotError(f"{path}: cannot be read as scores: {' '.join(str(error).split())}") from None
        missing = [column for column in COLUMNS if column not in frame.columns]
        if missing:
            raise RgwotError(f"{path}: found columns {','.join(frame.columns)}, expected also {','.join(missing)}")
        frames.append(frame[list(COLUMNS)])
    if not frames:
        raise RgwotError("scores: found no file, expected at least one; run `rgwot evaluate` first")
    scores = pd.concat(frames, ignore_index=True)
    twice = scores[scores.duplicated(["method", "decoder", *SCORE_KEY])]
    if len(twice):
        first = twice.iloc[0]
        run = "/".join(str(first[column]) for column in ("method", "decoder", "dataset", "task"))
        raise RgwotError(f"scores: found {run} seed {first['seed']} twice, expected every run once")
    return scores


def summarise(per_seed: Sequence[float]) -> tuple[float, float]:
    """Return mean and sample standard deviation over seeds.

    NaN values are left out; a single value has no deviation (NaN).

    >>> summarise([0.25, 0.5, 0.75])
    (0.5, 0.25)
    """
    values = np.asarray([value for value in per_seed if not math.isnan(value)], dtype=np.float64)
    if not values.size:
        return float("nan"), float("nan")
    return float(values.mean()), float(values.std(ddof=1)) if values.size > 1 else float("nan")


def _own(table: Table, row: Row, scores: pd.DataFrame) -> pd.DataFrame:
    own = scores[
        (scores["method"] == row.method)
        & (scores["decoder"] == row.decoder)
        & scores["dataset"].isin(list(table.datasets))
    ]
    if own.empty:
        raise RgwotError(
            f"table {table.id!r}, row {row.id!r}: found no scores of {row.method}/{row.decoder} on "
            f"{', '.join(table.datasets)}; run `rgwot evaluate` for them first"
        )
    for name in own["dataset"].unique():
        part = own[own["dataset"] == name]
        tasks = {seed: sorted(runs["task"].unique()) for seed, runs in part.groupby("seed")}
        every = sorted(part["task"].unique())
        for seed, found in tasks.items():
            if found != every:
                raise RgwotError(
                    f"table {table.id!r}, row {row.id!r}: {name} seed {seed}: found tasks "
                    f"{', '.join(found)}, expected {', '.join(every)} as for the other seeds"
                )
    return own


def _total(part: pd.DataFrame, metric: str) -> int:
    """Add a count up over tasks; it is the same for every seed, the largest is taken should it not be."""
    counts = part[part["metric"] == metric].groupby(["dataset", "task"])["value"].max()
    return int(counts.sum())


def _note(table: Table, part: pd.DataFrame) -> str:
    notes = []
    for name, dataset in table.datasets.items():
        own = part[part["dataset"] == name]
        n_tasks = own["task"].nunique()
        if dataset.n_tasks is not None and 0 < n_tasks < dataset.n_tasks:
            notes.append(f"{name}: {n_tasks} of {dataset.n_tasks} tasks")
        skipped, unscored = _total(own, "n_skipped"), _total(own, "n_unscored")
        listed = _total(own, "n_videos") + skipped + unscored
        if skipped:
            notes.append(f"{name}: {skipped} of {listed} videos skipped")
        if unscored:
            notes.append(f"{name}: {unscored} of {listed} videos without annotation")
        for metric in table.metrics:
            empty = own[(own["metric"] == metric) & own["value"].isna()]["task"].nunique()
            if empty:
                notes.append(f"{name}: {metric} of {empty} of {n_tasks} tasks has no value and is left out")
    return "; ".join(notes)


def measured_rows(table: Table, row: Row, scores: pd.DataFrame) -> list[dict[str, Any]]:
    """Return one measured row of a table, for every protocol, background and label rule that was scored.

    A metric of a dataset is the unweighted mean over its tasks within a seed (methods 6.1), then mean and
    sample standard deviation over seeds. ``degenerate`` counts collapsed runs among ``n_runs`` = tasks x
    seeds; their values are part of the means all the same.
    """
    own = _own(table, row, scores)
    rows = []
    for cell, part in own.groupby(CELL, sort=False):
        flags = part[part["metric"] == "degenerate"]["value"]
        line: dict[str, Any] = {
            "method": row.id,
            "kind": "measured",
            **dict(zip(CELL, cell, strict=True)),
            "n_runs": len(part[["dataset", "task", "seed"]].drop_duplicates()),
            "n_videos": _total(part, "n_videos"),
            "degenerate": int((flags > 0).sum()),
            "note": _note(table, part),
        }
        for dataset in table.datasets:
            for metric in table.metrics:
                values = part[(part["dataset"] == dataset) & (part["metric"] == metric)]
                # A task without a value (no order to score) is left out of the mean; the note says so.
                mean, deviation = summarise(values.groupby("seed")["value"].mean().tolist())
                line[f"{dataset}_{metric}"], line[f"{dataset}_{metric}_sd"] = mean, deviation
        rows.append(line)
    return rows


def _frame(table: Table, rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=table_columns(table))
    # Whole numbers stay whole beside the empty cells of reported rows.
    for column in ("n_runs", "n_videos", "degenerate"):
        frame[column] = frame[column].astype("Int64")
    return frame


def make_row(
    table: Table, row_id: str, scores: Iterable[str | os.PathLike[str]], output: str | os.PathLike[str]
) -> pd.DataFrame:
    """Write one row of a table by itself: every protocol, background and label rule.

    Raises
    ------
    RgwotError
        When the table has no such row, or the scores lack a run of it.
    """
    frame = _frame(table, measured_rows(table, table.row(row_id), read_scores(scores)))
    write_csv(frame, output)
    return frame


def join_rows(table: Table, rows: Iterable[str | os.PathLike[str]], output: str | os.PathLike[str]) -> pd.DataFrame:
    """Write a table from its rows: the reported ones first, then the measured ones in the order of the table.

    Raises
    ------
    RgwotError
        When a row file cannot be read, belongs to another table, or a row is missing or given twice.
    """
    parts: dict[str, pd.DataFrame] = {}
    for path in rows:
        frame = read_table(table, path)
        ids = list(frame["method"].unique())
        if len(ids) != 1 or ids[0] not in [row.id for row in table.rows] or ids[0] in parts:
            raise RgwotError(
                f"{path}: found rows {', '.join(ids)}, expected one row of table {table.id!r}, each row once"
            )
        parts[ids[0]] = frame
    missing = [row.id for row in table.rows if row.id not in parts]
    if missing:
        raise RgwotError(f"table {table.id!r}: found no row {', '.join(missing)}; make it first with `rgwot table`")
    measured = pd.concat([parts[row.id] for row in table.rows], ignore_index=True)
    return _write(table, measured, output)


def make_table(table: Table, scores: Iterable[str | os.PathLike[str]], output: str | os.PathLike[str]) -> pd.DataFrame:
    """Write a whole table straight from scores; the same as its rows put together by `join_rows`."""
    read = read_scores(scores)
    measured = _frame(table, [line for row in table.rows for line in measured_rows(table, row, read)])
    return _write(table, measured, output)


def _write(table: Table, measured: pd.DataFrame, output: str | os.PathLike[str]) -> pd.DataFrame:
    reported = reported_rows(table)
    frame = pd.concat([_frame(table, reported), measured], ignore_index=True) if reported else measured
    write_csv(frame, output)
    return frame


def read_table(table: Table, path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a table or one of its rows as written here.

    Raises
    ------
    RgwotError
        When it cannot be read or has other columns than the table.
    """
    text = ("method", "kind", *CELL, "note")
    try:
        frame = pd.read_csv(
            Path(path), dtype=dict.fromkeys(text, str) | dict.fromkeys(("n_runs", "n_videos", "degenerate"),
            "Int64"), keep_default_na=False, na_values={column: [""] for column in table_columns(table) if
            column not in text},
        )  # fmt: skip
    except (OSError, ValueError) as error:
        raise RgwotError(f"{path}: cannot be read as a table: {' '.join(str(error).split())}") from None
    if list(frame.columns) != table_columns(table):
        other = sorted(set(frame.columns) ^ set(table_columns(table)))
        raise RgwotError(
            f"{path}: found other columns than table {table.id!r} has ({', '.join(other[:4])}); make it again"
        )
    return frame
