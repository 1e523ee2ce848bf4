"""Reported numbers as rows of a table, with the protocol that they were made with."""

from __future__ import annotations

import os
from typing import Any

import pandas as pd

from rgwot.errors import RgwotError
from rgwot.reporting.spec import Table

REPORTED_COLUMNS = ("method", "dataset", "task", "metric", "value", "mark", "source", "note")
# As the papers spell them; only these enter a table.
METRIC_NAMES = {"f1": "F1", "iou": "IoU", "precision": "Precision", "recall": "Recall"}


def read_reported(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read reported numbers: one value per row, in percent, empty where the paper prints none.

    Raises
    ------
    RgwotError
        When the file cannot be read, lacks a column, or holds a value that is not a percentage.
    """
    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise RgwotError(f"{path}: cannot be read as reported numbers: {' '.join(str(error).split())}") from None
    missing = [column for column in REPORTED_COLUMNS if column not in frame.columns]
    if missing:
        raise RgwotError(f"{path}: found columns {','.join(frame.columns)}, expected also {','.join(missing)}")
    values = pd.to_numeric(frame["value"], errors="coerce")
    scores = frame["metric"].isin(METRIC_NAMES.values())
    bad = frame[scores & (frame["value"] != "") & ~values.between(0, 100)]
    if len(bad):
        raise RgwotError(f"{path}: row {int(bad.index[0]) + 2}: found {bad['value'].iloc[0]!r}, expected a percentage")
    frame["value"] = values
    return frame


def reported_rows(table: Table) -> list[dict[str, Any]]:
    """Return one row per reported method of a table, values in [0, 1].

    Raises
    ------
    RgwotError
        When the file has no number of a method that the table names, or two of one.
    """
    if table.reported is None:
        return []
    frame = read_reported(table.reported.file)
    whole = frame[frame["task"] == "all"]
    rows = []
    for entry in table.reported.methods:
        own = whole[whole["method"] == entry.method]
        if own.empty:
            raise RgwotError(
                f"{table.reported.file}: found no method {entry.method!r}, expected it for table {table.id!r}"
            )
        row: dict[str, Any] = {
            "method": entry.method,
            "kind": "reported",
            "protocol": entry.protocol,
            "background": entry.background,
            "label_rule": entry.label_rule,
            "note": table.reported.note,
        }
        for name, dataset in table.datasets.items():
            for metric in table.metrics:
                cell = own[(own["dataset"] == dataset.reported) & (own["metric"] == METRIC_NAMES.get(metric))]
                if len(cell) > 1:
                    raise RgwotError(
                        f"{table.reported.file}: found {len(cell)} values of {entry.method!r} for "
                        f"{dataset.reported} {METRIC_NAMES[metric]}, expected one"
                    )
                # Divided as a decimal would be: 54.4 becomes 0.544, not 0.5439999999999999.
                row[f"{name}_{metric}"] = round(float(cell["value"].iloc[0]) / 100, 6) if len(cell) else float("nan")
        rows.append(row)
    return rows
