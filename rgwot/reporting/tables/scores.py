"""Tables of comparison from scores: tasks are averaged within a seed, then seeds are summarised."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from rgwot.columns import CELL
from rgwot.evaluation.metrics import f1
from rgwot.evaluation.protocols import ALSO
from rgwot.records import read_scores
from rgwot.reporting.tables.reported import OWN, reported_rows
from rgwot.reporting.tables.table import Place, Row, Table
from rgwot.runtime.csv_files import read_csv, write_csv
from rgwot.runtime.errors import RgwotError

Paths = Iterable[str | os.PathLike[str]]
LEADING_COLUMNS = (
    "method", "kind", "protocol", "background", "label_rule", "n_runs", "n_videos", "degenerate", "note",
)  # fmt: skip
#: The columns that identify the run of a task.
RUN = ("dataset", "task", "seed")


def table_columns(table: Table) -> list[str]:
    """Return the columns of a table: the leading ones, then value and deviation per dataset and metric.

    The last columns have, per dataset, the number of runs (tasks x seeds) behind its values, the number of collapsed
    runs, and the mean over collapsed runs alone.
    """
    values = [f"{place}_{metric}{end}" for place in table.places for metric in table.metrics for end in ("", "_sd")]
    behind = ["task_runs", "degenerate", *(f"{metric}_degenerate" for metric in table.metrics)]
    return [*LEADING_COLUMNS, *values, *(f"{place}_{what}" for place in table.places for what in behind)]


def counts_of(table: Table) -> dict[str, Literal["float64", "int64", "Int64"]]:
    """Return the columns of counts with their type, integers that may be missing in reported rows."""
    names = ["n_runs", "n_videos", "degenerate"]
    names += [f"{place}_{what}" for place in table.places for what in ("task_runs", "degenerate")]
    return dict.fromkeys(names, "Int64")


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
    defined = [value for value in values if not math.isnan(value)]
    return math.fsum(defined) / len(defined) if defined else math.nan


def _total(runs: pd.DataFrame, metric: str) -> int:
    """Return a count summed over tasks; if the seeds of a task differ, the largest count is taken."""
    return int(runs.groupby(["dataset", "task"])[metric].max().sum()) if metric in runs else 0


def _notes(table: Table, name: str, runs: pd.DataFrame, scored: Collection[str]) -> list[str]:
    """Return notes on what is missing at a place: tasks, videos, values of the protocol's metrics."""
    tasks, expected = runs.drop_duplicates(["dataset", "task"]), table.places[name].n_tasks
    if tasks.empty:
        return [f"{name}: no scores"]
    notes = [f"{name}: {len(tasks)} of {expected} tasks"] if expected is not None and len(tasks) < expected else []
    skipped, unscored = _total(runs, "n_skipped"), _total(runs, "n_unscored")
    listed = _total(runs, "n_videos") + skipped + unscored
    if skipped:
        notes.append(f"{name}: {skipped} of {listed} videos skipped")
    if unscored:
        notes.append(f"{name}: {unscored} of {listed} videos without annotation")
    if _total(runs, "exact_cut"):
        notes.append(f"{name}: graphcut.solver was exact, because gco-wrapper was not installed")
    for metric in (name for name in table.metrics if name in scored):
        n_empty = len(runs[runs[metric].isna()].drop_duplicates(["dataset", "task"]))
        if n_empty:
            notes.append(f"{name}: {metric} of {n_empty} of {len(tasks)} tasks has no value and is left out")
    return notes


def over_tasks(runs: pd.DataFrame, metric: str, protocol: str) -> pd.Series:
    """Return the mean of a metric over tasks by seed; some protocols take F1 of the mean precision and recall.

    ``runs`` has a row per run and a column per metric.
    """
    if metric == "f1" and protocol in ALSO and ALSO[protocol].f1_of_means:
        means = runs.groupby("seed")[["precision", "recall"]].mean()
        return pd.Series([f1(*pair) for pair in means.to_numpy()], means.index, dtype=float)
    return runs.get(metric, pd.Series(math.nan, runs.index)).groupby(runs["seed"]).agg(_mean)


def _at(frame: pd.DataFrame, place: Place) -> pd.DataFrame:
    """Return the lines that belong to a place."""
    return frame[(frame["dataset"] == place.dataset) & ((frame["task"] == place.task) | (place.task is None))]


def _cells(name: str, metrics: Iterable[str], places: Sequence[pd.DataFrame], protocol: str) -> dict[str, object]:
    """Return the values of a row under a protocol at a place, or the mean over several places.

    There is no mean if a place has no value, and no mean of the collapsed runs over several places.
    """
    runs = pd.concat(places)
    collapsed = runs[runs["degenerate"] > 0]
    cells: dict[str, object] = {f"{name}_task_runs": len(runs), f"{name}_degenerate": len(collapsed)}
    for metric in metrics:
        # A task without a value (no order to score) is left out of the mean, with a note.
        by_seed = pd.concat([over_tasks(part, metric, protocol) for part in places], axis=1).mean(axis=1, skipna=False)
        cells[f"{name}_{metric}"], cells[f"{name}_{metric}_sd"] = summarise(by_seed)
        if len(places) == 1:
            cells[f"{name}_{metric}_degenerate"] = _mean(collapsed.get(metric, []))
    return cells


def measured_rows(table: Table, row: Row, scores: pd.DataFrame) -> list[dict[str, object]]:
    """Return the lines of a measured row, for every protocol, background and label rule that was scored.

    A metric of a dataset is the unweighted mean over its tasks within a seed (methods 6.1); then mean and sample
    standard deviation are taken over the ``n_runs`` seeds. Collapsed runs are part of the mean: ``degenerate`` counts
    them over all tasks and seeds, and the columns after the values count them per dataset.
    """
    where = f"table {table.id!r}, row {row.id!r}"
    chosen = scores[(scores["method"] == row.method) & (scores["decoder"] == row.decoder)]
    chosen = chosen[chosen.index.isin(pd.concat([_at(chosen, place) for place in table.datasets]).index)]
    if chosen.empty:
        raise RgwotError(
            f"{where}: found no scores of {row.method}/{row.decoder} on {', '.join(table.places)}; evaluate them first"
        )
    tasks = {int(str(seed)): set(part["dataset"] + "/" + part["task"]) for seed, part in chosen.groupby("seed")}
    for seed, values_here in tasks.items():
        if missing := sorted(set().union(*tasks.values()) - values_here):
            raise RgwotError(
                f"{where}: seed {seed}: found no scores of {', '.join(missing)}, expected them as for the other seeds"
            )
    chosen = chosen[chosen["protocol"].isin([table.own]) if table.own else ~chosen["protocol"].isin(OWN)]
    if chosen.empty:
        raise RgwotError(f"{where}: found scores without the protocol {table.own}; evaluate them again")
    if absent := sorted({*table.metrics} - {*chosen["metric"]}):
        raise RgwotError(
            f"{where}: found scores without {', '.join(absent)}; evaluate them again (rgwot run --forcerun evaluate)"
        )
    wide = chosen.pivot(index=[*CELL, *RUN], columns="metric", values="value").reset_index()
    wide["degenerate"] = wide.get("degenerate", 0.0)
    rows = []
    for cell in chosen[list(CELL)].drop_duplicates().itertuples(index=False, name=None):
        # A task in several columns counts once.
        runs = wide[(wide[list(CELL)] == list(cell)).all(axis=1)]
        places = {name: _at(runs, place) for name, place in table.places.items() if not place.mean}
        # Only metrics of this protocol, because other protocols of the table may have more.
        scored = set(chosen.loc[chosen["protocol"] == cell[0], "metric"])
        notes = [note for name, covered in places.items() for note in _notes(table, name, covered, scored)]
        line = {
            "method": row.id,
            "kind": "measured",
            **dict(zip(CELL, cell, strict=True)),
            "n_runs": runs["seed"].nunique(),
            "n_videos": _total(runs, "n_videos"),
            "degenerate": int((runs["degenerate"] > 0).sum()),
            "note": "; ".join(filter(None, [row.source, *notes])),
        }
        for name, place in table.places.items():
            if place.mean or len(places[name]):
                averaged = list(places.values()) if place.mean else [places[name]]
                line |= _cells(name, table.metrics, averaged, cell[0])
        rows.append(line)
    return rows


def write_table(table: Table, scores: Paths, output: Path, row: str | None = None) -> pd.DataFrame:
    """Write the CSV of a table, or of one row, from files of scores: reported rows first, then measured ones.

    A measured row has a line for every protocol, background and label rule.
    """
    chosen = table.alone(row)
    tidy = read_scores(dict.fromkeys(map(str, scores)))
    reported = reported_rows(chosen.reported, chosen.places, chosen.metrics) if chosen.reported else []
    rows = [*reported, *(line for measured in chosen.rows for line in measured_rows(chosen, measured, tidy))]
    frame = pd.DataFrame(rows, columns=table_columns(table)).astype(counts_of(table))
    write_csv(frame, output)
    return frame


def read_table(table: Table, path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a table, or one of its rows, that `write_table` wrote."""
    columns, texts, counts = table_columns(table), ("method", "kind", *CELL, "note"), counts_of(table)
    numbers = {column: counts.get(column, "float64") for column in columns if column not in texts}
    return read_csv(path, columns, numbers, optional=numbers)[columns]
