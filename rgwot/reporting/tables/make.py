"""Tables of comparison from scores: tasks are averaged within a seed, then seeds are summarised."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rgwot.records import CELL, read_scores
from rgwot.reporting.tables.models import Row, Table
from rgwot.reporting.tables.reported import reported_rows
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import text_of, write_csv

LEADING_COLUMNS = (
    "method", "kind", "protocol", "background", "label_rule", "n_runs", "n_videos", "degenerate", "note",
)  # fmt: skip
COUNTS = ("n_runs", "n_videos", "degenerate")
Cell = tuple[str, str, str]
"""Protocol, background and label rule."""
Runs = dict[tuple[str, str, int], dict[str, float]]
"""Metrics of runs by dataset, task and seed."""


def count_columns(table: Table) -> list[str]:
    """Return the columns that count: those of a row, then those of every dataset."""
    return [*COUNTS, *(f"{place}_{what}" for place in table.datasets for what in ("task_runs", "degenerate"))]


def table_columns(table: Table) -> list[str]:
    """Return the columns of a table.

    After the leading ones come value and deviation per dataset and metric; then, per dataset, how many runs
    of single tasks (tasks x seeds) stand behind its values, how many of them collapsed, and the mean over those alone.
    """
    cells = [f"{place}_{metric}" for place in table.datasets for metric in table.metrics]
    told = [
        [f"{place}_task_runs", f"{place}_degenerate", *(f"{place}_{metric}_degenerate" for metric in table.metrics)]
        for place in table.datasets
    ]
    return [
        *LEADING_COLUMNS,
        *(column for cell in cells for column in (cell, f"{cell}_sd")),
        *(column for columns in told for column in columns),
    ]


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


def _own(table: Table, row: Row, scores: pd.DataFrame) -> dict[Cell, dict[str, Runs]]:
    """Return the scores of a row by cell and place; every seed has to have the same tasks, to be one run of the row."""
    mine = scores[(scores["method"] == row.method) & (scores["decoder"] == row.decoder)]
    where = f"table {table.id!r}, row {row.id!r}"
    own: dict[Cell, dict[str, Runs]] = {}
    columns = (mine[column].tolist() for column in ("dataset", "task", "seed", *CELL, "metric", "value"))
    places: dict[tuple[str, str], list[str]] = {}
    for dataset, task, seed, protocol, background, rule, metric, value in zip(*columns, strict=True):
        if (dataset, task) not in places:
            places[dataset, task] = [
                name for name, at in table.datasets.items() if at.dataset == dataset and at.task in (None, task)
            ]
        for name in places[dataset, task]:
            runs = own.setdefault((protocol, background, rule), {}).setdefault(name, {})
            runs.setdefault((dataset, task, seed), {})[metric] = value
    if not own:
        raise RgwotError(
            f"{where}: found no scores of {row.method}/{row.decoder} on {', '.join(table.datasets)}; "
            "run `rgwot evaluate` for them first"
        )
    found: dict[int, set[str]] = {}
    for dataset, task, seed in (run for at in own.values() for runs in at.values() for run in runs):
        found.setdefault(seed, set()).add(f"{dataset}/{task}")
    every = set().union(*found.values())
    for seed, tasks in sorted(found.items()):
        if tasks != every:
            raise RgwotError(
                f"{where}: seed {seed}: found no scores of {', '.join(sorted(every - tasks))}, expected them as for "
                "the other seeds"
            )
    return own


def _values(runs: Runs, metric: str) -> list[float]:
    return [metrics.get(metric, math.nan) for metrics in runs.values()]


def _mean(values: Iterable[float]) -> float:
    told = [value for value in values if not math.isnan(value)]
    return math.fsum(told) / len(told) if told else math.nan


def _total(runs: Runs, metric: str) -> int:
    """Add a count up over tasks; it is the same for every seed, the largest is taken should it not be."""
    by_task: dict[tuple[str, str], float] = {}
    for (dataset, task, _), metrics in runs.items():
        by_task[dataset, task] = max(by_task.get((dataset, task), 0), metrics.get(metric, 0))
    return int(sum(by_task.values()))


def _notes(table: Table, name: str, runs: Runs) -> list[str]:
    """Return what is missing at a place: tasks, videos, values."""
    place, n_tasks = table.datasets[name], len({task for _, task, _ in runs})
    if not n_tasks:
        return [f"{name}: no scores"]
    notes = []
    if place.n_tasks is not None and n_tasks < place.n_tasks:
        notes.append(f"{name}: {n_tasks} of {place.n_tasks} tasks")
    skipped, unscored = _total(runs, "n_skipped"), _total(runs, "n_unscored")
    listed = _total(runs, "n_videos") + skipped + unscored
    if skipped:
        notes.append(f"{name}: {skipped} of {listed} videos skipped")
    if unscored:
        notes.append(f"{name}: {unscored} of {listed} videos without annotation")
    for metric in table.metrics:
        empty = {task for (_, task, _), m in runs.items() if metric in m and math.isnan(m[metric])}
        if empty:
            notes.append(f"{name}: {metric} of {len(empty)} of {n_tasks} tasks has no value and is left out")
    return notes


def _cells(name: str, metrics: Sequence[str], runs: Runs) -> dict[str, Any]:
    """Return the values of one row at one place under one protocol."""
    collapsed = {run: values for run, values in runs.items() if values.get("degenerate", 0) > 0}
    seeds = dict.fromkeys(seed for _, _, seed in runs)
    line: dict[str, Any] = {f"{name}_task_runs": len(runs), f"{name}_degenerate": len(collapsed)}
    for metric in metrics:
        # A task without a value (no order to score) is left out of the mean; the note says so.
        per_seed = [
            _mean(_values({run: values for run, values in runs.items() if run[2] == seed}, metric)) for seed in seeds
        ]
        line[f"{name}_{metric}"], line[f"{name}_{metric}_sd"] = summarise(per_seed)
        line[f"{name}_{metric}_degenerate"] = _mean(_values(collapsed, metric))
    return line


def measured_rows(table: Table, row: Row, scores: pd.DataFrame) -> list[dict[str, Any]]:
    """Return one measured row of a table, for every protocol, background and label rule that was scored.

    A metric of a dataset is the unweighted mean over its tasks within a seed (methods 6.1), then mean and
    sample standard deviation over the ``n_runs`` seeds: one run of a row is all its tasks with one seed. A task's
    run that collapsed is part of the mean all the same; ``degenerate`` counts those among tasks x seeds, and
    columns behind the values tell them per dataset.
    """
    rows = []
    for cell, here in _own(table, row, scores).items():
        # A task that stands under several columns counts once.
        runs: Runs = {run: metrics for at in here.values() for run, metrics in at.items()}
        line: dict[str, Any] = {
            "method": row.id,
            "kind": "measured",
            **dict(zip(CELL, cell, strict=True)),
            "n_runs": len({seed for _, _, seed in runs}),
            "n_videos": _total(runs, "n_videos"),
            "degenerate": sum(metrics.get("degenerate", 0) > 0 for metrics in runs.values()),
            "note": "; ".join(note for name in table.datasets for note in _notes(table, name, here.get(name, {}))),
        }
        for name, at in here.items():
            line |= _cells(name, table.metrics, at)
        rows.append(line)
    return rows


def _frame(table: Table, rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=table_columns(table))
    # Whole numbers stay whole beside the empty cells of reported rows.
    for column in count_columns(table):
        frame[column] = frame[column].astype("Int64")
    return frame


def make_row(
    table: Table, row_id: str, scores: Iterable[str | os.PathLike[str]], output: str | os.PathLike[str]
) -> pd.DataFrame:
    """Write one row of a table by itself: what is reported of it, and every protocol, background and label rule.

    Raises
    ------
    RgwotError
        When the table has no such row, or the scores lack a run of it.
    """
    row = table.row(row_id)
    measured = _frame(table, measured_rows(table, row, read_scores(scores)))
    return _write(table, measured, reported_rows(table, row_id), output)


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
        frame = frame[frame["kind"] == "measured"]
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
    return _write(table, measured, reported_rows(table), output)


def make_table(table: Table, scores: Iterable[str | os.PathLike[str]], output: str | os.PathLike[str]) -> pd.DataFrame:
    """Write a whole table straight from scores; the same as its rows put together by `join_rows`."""
    read = read_scores(scores)
    measured = _frame(table, [line for row in table.rows for line in measured_rows(table, row, read)])
    return _write(table, measured, reported_rows(table), output)


def _write(
    table: Table, measured: pd.DataFrame, reported: Sequence[dict[str, Any]], output: str | os.PathLike[str]
) -> pd.DataFrame:
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
    numbers = [column for column in table_columns(table) if column not in text]
    try:
        frame = pd.read_csv(
            Path(path),
            dtype=dict.fromkeys(text, str) | dict.fromkeys(count_columns(table), "Int64"),
            keep_default_na=False,
            na_values={column: [""] for column in numbers},
        )
    except (OSError, ValueError) as error:
        raise RgwotError(f"{path}: cannot be read as a table: {' '.join(str(error).split())}") from None
    if list(frame.columns) != table_columns(table):
        other = sorted(set(frame.columns) ^ set(table_columns(table)))
        raise RgwotError(
            f"{path}: found other columns than table {table.id!r} has ({', '.join(other[:4])}); make it again"
        )
    frame[list(text)] = frame[list(text)].map(text_of)
    return frame
