"""Tables of comparison from scores: tasks are averaged within a seed, then seeds are summarised."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from rgwot.records import CELL, read_scores
from rgwot.reporting.tables.models import Row, Table, own_protocol
from rgwot.reporting.tables.reported import reported_rows
from rgwot.reporting.tables.rows import Paths, joined, read_texts
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import write_csv

LEADING_COLUMNS = (
    "method", "kind", "protocol", "background", "label_rule", "n_runs", "n_videos", "degenerate", "note",
)  # fmt: skip
COUNTS = ("n_runs", "n_videos", "degenerate")
RUN = ("dataset", "task", "seed")
Cell = tuple[str, str, str]
"""Protocol, background and label rule."""
Runs = dict[tuple[str, str, int], dict[str, float]]
"""Metrics of runs by dataset, task and seed."""


def count_columns(table: Table) -> list[str]:
    """Return the columns that count: those of a row, then those of every dataset."""
    return [*COUNTS, *(f"{place}_{what}" for place in table.datasets for what in ("task_runs", "degenerate"))]


def table_columns(table: Table) -> list[str]:
    """Return the columns of a table: the leading ones, then value and deviation per dataset and metric.

    Last, per dataset, how many runs of single tasks (tasks x seeds) stand behind its values, how many of them
    collapsed, and the mean over those alone.
    """
    values = [f"{place}_{metric}{end}" for place in table.datasets for metric in table.metrics for end in ("", "_sd")]
    behind = ["task_runs", "degenerate", *(f"{metric}_degenerate" for metric in table.metrics)]
    return [*LEADING_COLUMNS, *values, *(f"{place}_{what}" for place in table.datasets for what in behind)]


def summarise(per_seed: Iterable[float]) -> tuple[float, float]:
    """Return mean and sample standard deviation over seeds, without NaN; a single value has no deviation (NaN).

    >>> summarise([0.25, 0.5, 0.75])
    (0.5, 0.25)
    """
    values = np.asarray([value for value in per_seed if not math.isnan(value)], dtype=np.float64)
    if not values.size:
        return float("nan"), float("nan")
    return float(values.mean()), float(values.std(ddof=1)) if values.size > 1 else float("nan")


def _mean(values: Iterable[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return math.fsum(known) / len(known) if known else math.nan


def _own(table: Table, row: Row, scores: pd.DataFrame) -> dict[Cell, dict[str, Runs]]:
    """Return the scores of a row by cell and place; every seed has to have the same tasks, to be one run of the row."""
    mine = scores[(scores["method"] == row.method) & (scores["decoder"] == row.decoder)]
    where = f"table {table.id!r}, row {row.id!r}"
    own: dict[Cell, dict[str, Runs]] = {}
    found: dict[int, set[str]] = {}
    columns = (mine[column].tolist() for column in (*RUN, *CELL, "metric", "value"))
    for dataset, task, seed, protocol, background, rule, metric, value in zip(*columns, strict=True):
        for name, at in table.datasets.items():
            if at.dataset == dataset and at.task in (None, task):
                runs = own.setdefault((protocol, background, rule), {}).setdefault(name, {})
                runs.setdefault((dataset, task, seed), {})[metric] = value
                found.setdefault(seed, set()).add(f"{dataset}/{task}")
    if not own:
        raise RgwotError(
            f"{where}: found no scores of {row.method}/{row.decoder} on {', '.join(table.datasets)}; "
            "run `rgwot evaluate` for them first"
        )
    every = set().union(*found.values())
    for seed, tasks in sorted(found.items()):
        if tasks != every:
            gone = ", ".join(sorted(every - tasks))
            raise RgwotError(f"{where}: seed {seed}: found no scores of {gone}, expected them as for the other seeds")
    return own


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
        empty = {task for (_, task, _), metrics in runs.items() if math.isnan(metrics.get(metric, 0))}
        if empty:
            notes.append(f"{name}: {metric} of {len(empty)} of {n_tasks} tasks has no value and is left out")
    return notes


def _cells(name: str, metrics: Iterable[str], runs: Runs) -> dict[str, Any]:
    """Return the values of one row at one place under one protocol."""
    collapsed = [values for values in runs.values() if values.get("degenerate", 0) > 0]
    line: dict[str, Any] = {f"{name}_task_runs": len(runs), f"{name}_degenerate": len(collapsed)}
    for metric in metrics:
        # A task without a value (no order to score) is left out of the mean; the note says so.
        by_seed: dict[int, list[float]] = {}
        for (_, _, seed), values in runs.items():
            by_seed.setdefault(seed, []).append(values.get(metric, math.nan))
        line[f"{name}_{metric}"], line[f"{name}_{metric}_sd"] = summarise(map(_mean, by_seed.values()))
        line[f"{name}_{metric}_degenerate"] = _mean(values.get(metric, math.nan) for values in collapsed)
    return line


def measured_rows(table: Table, row: Row, scores: pd.DataFrame) -> list[dict[str, Any]]:
    """Return one measured row of a table, for every protocol, background and label rule that was scored.

    A metric of a dataset is the unweighted mean over its tasks within a seed (methods 6.1), then mean and
    sample standard deviation over the ``n_runs`` seeds: one run of a row is all its tasks with one seed. A task's
    run that collapsed is part of the mean all the same; ``degenerate`` counts those among tasks x seeds, and
    columns behind the values count them per dataset.
    """
    rows = []
    for cell, here in _own(table, row, scores).items():
        if own_protocol(cell[0]) != table.own:
            continue
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
    if not rows:
        raise RgwotError(
            f"table {table.id!r}, row {row.id!r}: found scores without the protocol {table.own}, made by an earlier "
            "version; make them again with `snakemake --forcerun evaluate`"
        )
    return rows


def make_row(
    table: Table, row_id: str, scores: Paths, output: str | os.PathLike[str], facts: Mapping[str, Any] | None = None
) -> pd.DataFrame:
    """Write one row of a table by itself: what is reported of it, and every protocol, background and label rule.

    ``facts`` may have ``method`` and ``decoder`` in the one spelling that scores use.
    """
    spelling = {key: value for key, value in (facts or {}).items() if key in ("method", "decoder") and value}
    row = table.row(row_id).model_copy(update=spelling)
    measured = measured_rows(table, row, read_scores(scores))
    return _write(table, [*reported_rows(table, row_id), *measured], output)


def join_rows(table: Table, rows: Paths, output: str | os.PathLike[str]) -> pd.DataFrame:
    """Write a table from its rows: the reported ones first, then the measured ones in the order of the table."""
    measured = joined(table, rows, lambda path: read_table(table, path).query("kind == 'measured'"))
    return _write(table, [*reported_rows(table), *measured.to_dict("records")], output)


def _write(table: Table, rows: Sequence[Mapping[Any, Any]], output: str | os.PathLike[str]) -> pd.DataFrame:
    # Whole numbers stay whole beside the empty cells of reported rows.
    frame = pd.DataFrame(rows, columns=table_columns(table)).astype(dict.fromkeys(count_columns(table), "Int64"))
    write_csv(frame, output)
    return frame


def read_table(table: Table, path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a table or one of its rows as written here."""
    columns = table_columns(table)
    frame = read_texts(path)
    if list(frame.columns) != columns:
        other = sorted(set(frame.columns) ^ set(columns))
        raise RgwotError(
            f"{path}: found other columns than table {table.id!r} has ({', '.join(other[:4])}); make it again"
        )
    numbers = [column for column in columns if column not in ("method", "kind", *CELL, "note")]
    try:
        frame[numbers] = frame[numbers].apply(pd.to_numeric)
        return frame.astype(dict.fromkeys(count_columns(table), "Int64"))
    except (TypeError, ValueError) as error:
        raise RgwotError(f"{path}: cannot be read as a table: {' '.join(str(error).split())}") from None
