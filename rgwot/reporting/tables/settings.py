"""Tables of hyper-parameters: what the configuration resolves to, next to what the paper prints."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from rgwot.reporting.tables.forms import write_flat
from rgwot.reporting.tables.scores import Paths
from rgwot.reporting.tables.spec import Setting, SettingsTable
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import read_csv, write_csv

REPORTED_COLUMNS = ("name", "value", "source", "note")


def columns(table: SettingsTable) -> list[str]:
    """Return the columns: the parameter, its resolved value for every method, the reported one and its source."""
    return ["parameter", "label", "symbol", "key", *table.methods, "reported", "source", "note"]


def make_row(table: SettingsTable, row_id: str, inputs: Paths, output: Path, facts: Mapping[str, str]) -> None:
    """Write one hyper-parameter; of the inputs nothing is read.

    ``facts`` has what every method that reads the setting resolves it to.
    """
    row: Setting = table.row(row_id)
    line = {"parameter": row.id, "label": row.label, "symbol": row.symbol, "key": row.key or ""}
    line |= {method: row.fixed.get(method, facts.get(method, "")) for method in table.methods}
    notes = [row.note]
    if row.reported is not None:
        found = _reported(table, row.reported)
        line |= {"reported": found["value"], "source": found["source"]}
        notes.append(found["note"] and f"reported: {found['note']}")
    line["note"] = "; ".join(filter(None, notes))
    write_csv(pd.DataFrame([{column: line.get(column, "") for column in columns(table)}]), output)


def render_table(table: SettingsTable, csv: Path) -> None:
    """Write the printed forms next to the CSV; notes become footnotes below the table."""
    frame = read_csv(csv, columns(table), {})
    rows = frame.to_dict("records")
    shown = frame[[*table.methods, "reported"]].replace("", "–")
    # Reported values that do not stand in the paper's table.
    by_source = frame[frame["source"] != ""].groupby("source", sort=False)["label"].agg(", ".join)
    notes = [
        "Resolved from the configuration of this run; the key of every value is in the CSV.",
        *(f"Reported in {source}: {labels}." for source, labels in list(by_source.items())[1:]),
        *(f"{row['label']}: {row['note']}." for row in rows if row["note"]),
    ]
    lines = pd.concat([frame[["label", "symbol"]], shown], axis="columns").to_numpy().tolist()
    write_flat(table, csv, ["", "symbol", *table.methods, "reported"], lines, notes)


def _reported(table: SettingsTable, name: str) -> Mapping[Any, str]:
    assert table.reported is not None
    path = table.reported.file
    frame = read_csv(path, REPORTED_COLUMNS, {})
    rows = frame[frame["name"] == name].to_dict("records")
    if len(rows) != 1:
        raise RgwotError(f"{path}: found {len(rows)} rows {name!r}, expected one for table {table.id!r}")
    return rows[0]
