"""Reported numbers as rows of a table, with the protocol that they were made with."""

from __future__ import annotations

import math
import os
from typing import Any

import pandas as pd

from rgwot.reporting.tables.models import UNKNOWN, AnyTable, ReportedMethod, Table
from rgwot.reporting.tables.rows import read_texts
from rgwot.runtime.errors import RgwotError

REPORTED_COLUMNS = ("method", "dataset", "task", "metric", "value", "mark", "source", "note")
# As the papers spell them; only these enter a table of scores.
METRIC_NAMES = {"f1": "F1", "iou": "IoU", "precision": "Precision", "recall": "Recall"}
# How the notes of a file begin where the paper prints an X instead of a number.
COLLAPSED = "degenerate"


def read_reported(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read reported numbers: one value per row, in percent, empty where the paper prints none.

    A file that cannot be read, lacks a column, or holds a value that is no percentage is an `RgwotError`.
    """
    frame = read_texts(path, "reported numbers", REPORTED_COLUMNS)
    values = pd.to_numeric(frame["value"], errors="coerce")
    scores = frame["metric"].isin(METRIC_NAMES.values())
    bad = frame[scores & (frame["value"] != "") & ~values.between(0, 100)]
    if len(bad):
        raise RgwotError(f"{path}: row {int(bad.index[0]) + 2}: found {bad['value'].iloc[0]!r}, expected a percentage")
    return frame.assign(value=values)


def reported_values(table: AnyTable, entry: ReportedMethod) -> pd.DataFrame:
    """Return the lines of the reported file, at least one, that belong to one reported row of a table."""
    assert table.reported is not None
    path, source = table.reported.file, table.reported.source
    own = read_reported(path)
    own = own[(own["method"] == entry.method) & ((source is None) | (own["source"] == source))]
    for column, value in entry.where.items():
        if column not in own.columns:
            raise RgwotError(f"{path}: found no column {column!r}, expected it for table {table.id!r}")
        own = own[[_same(found, value) for found in own[column]]]
    if own.empty:
        condition = "".join(f", {column} {value}" for column, value in entry.where.items())
        raise RgwotError(f"{path}: found no method {entry.method!r}{condition}, expected it for table {table.id!r}")
    return own


def _same(found: str, wanted: str) -> bool:
    """Compare as numbers where both are: ``1`` in a file is the value 1.0 of a sweep."""
    try:
        return float(found) == float(wanted)
    except ValueError:
        return found == wanted


def reported_rows(table: Table, row_id: str | None = None) -> list[dict[str, Any]]:
    """Return one row per reported method of a table, values in [0, 1]; with ``row_id`` those beside a measured row."""
    if table.reported is None:
        return []
    rows = []
    for entry in table.reported.methods:
        if row_id is not None and entry.row != row_id:
            continue
        comparable = f"made with {entry.protocol}: not comparable with rows of another protocol"
        if entry.protocol == UNKNOWN:
            comparable = (
                f"protocol {UNKNOWN}: comparable with no measured row, nor with reported rows of a known protocol"
            )
        made = entry.model_dump(include={"protocol", "background", "label_rule"})
        note = "; ".join(filter(None, (table.reported.note, comparable)))
        rows.append({"method": entry.id, "kind": "reported", **made, "note": note, **_cells(table, entry)})
    return rows


def _cells(table: Table, entry: ReportedMethod) -> dict[str, float]:
    assert table.reported is not None
    own = reported_values(table, entry)
    cells: dict[str, float] = {}
    for name, place in table.datasets.items():
        here = own[(own["dataset"] == place.reported) & own["task"].isin(place.reported_tasks)]
        for metric in table.metrics:
            found = here[here["metric"] == METRIC_NAMES.get(metric)]
            if len(found) > 1:
                raise RgwotError(
                    f"{table.reported.file}: found {len(found)} values of {entry.method!r} for "
                    f"{place.reported} {METRIC_NAMES[metric]}, expected one"
                )
            # Divided as a decimal would be: 54.4 becomes 0.544, not 0.5439999999999999.
            cells[f"{name}_{metric}"] = round(float(found["value"].iloc[0]) / 100, 6) if len(found) else math.nan
            if found["note"].str.startswith(COLLAPSED).any():
                # Printed as an X: there is a mark and no number.
                cells[f"{name}_degenerate"] = 1
    return cells
