"""Tables of training times, from the benchmark files that jobs leave, with the hardware named."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from rgwot.paths import HISTORY, MACHINE, name_of
from rgwot.reporting.tables.forms import write_flat
from rgwot.reporting.tables.scores import Paths, reported_values, summarise
from rgwot.reporting.tables.spec import RuntimeTable, TimedRow
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import read_csv, write_csv

COLUMNS = (
    "method", "kind", "n_runs", "iterations", "minutes", "minutes_sd", "seconds_per_iteration", "memory_mb",
    "hardware", "note",
)  # fmt: skip
METRIC = "training_time_minutes"
SUFFIXES = {"benchmark": ".tsv", "history": name_of(HISTORY), "machine": name_of(MACHINE)}
RESUMED = "seed {seed}: the training was resumed, so its benchmark covers {benchmark:.1f} of {trained:.1f} minutes"


def make_row(table: RuntimeTable, row_id: str, inputs: Paths, output: Path, facts: Mapping[str, str]) -> None:
    """Write the training time of one method, and what is reported of it; of the facts nothing is read.

    ``inputs`` are for every seed the benchmark of its training (``seed0.tsv``), its ``seed0/history.csv`` with the
    iterations done, and its ``seed0/machine.json``. Where one is missing or cannot be read, or seeds differ in their
    iterations, an `RgwotError` says so.
    """
    row: TimedRow = table.row(row_id)
    where = f"table {table.id!r}, row {row.id!r}"
    files: dict[int, dict[str, Path]] = {}
    for path in map(Path, inputs):
        seed = int(re.findall(r"seed(\d+)", str(path))[-1])
        files.setdefault(seed, {})[next(kind for kind, end in SUFFIXES.items() if path.name.endswith(end))] = path
    runs = pd.DataFrame([_run(seed, own) for seed, own in sorted(files.items())])
    if runs.empty:
        raise RgwotError(f"{where}: found no benchmark, expected those of its trainings")
    iterations, *others = runs["iterations"].unique()
    if others:
        found = " and ".join(map(str, sorted([iterations, *others])))
        raise RgwotError(f"{where}: found trainings of {found} iterations, expected one number; train them again")
    minutes, deviation = summarise(runs["minutes"])
    line = {
        "method": row.id,
        "kind": "measured",
        "n_runs": len(runs),
        "iterations": iterations,
        "minutes": minutes,
        "minutes_sd": deviation,
        "seconds_per_iteration": 60 * minutes / iterations,
        "memory_mb": runs["memory_mb"].max(),
        "hardware": "; ".join(runs["hardware"].unique()),
        "note": "; ".join(filter(None, runs["note"])),
    }
    frame = pd.DataFrame([*_reported(table, row_id), line], columns=list(COLUMNS))
    # Whole numbers stay whole next to the empty cells of reported rows.
    write_csv(frame.astype({"n_runs": "Int64", "iterations": "Int64"}), output)


def render_table(table: RuntimeTable, csv: Path) -> None:
    """Write the printed forms next to the CSV."""
    rows = read_csv(csv, COLUMNS, {}).to_dict("records")
    labels = {row.id: row.label for row in table.rows}
    lines = [
        [
            labels[row["method"]] + (" (reported)" if row["kind"] == "reported" else ""),
            _number(row["minutes"], 1) + (f" ± {float(row['minutes_sd']):.1f}" if row["minutes_sd"] else ""),
            row["n_runs"] or "–",
            row["iterations"] or "–",
            _number(row["seconds_per_iteration"], 3),
            _number(row["memory_mb"], 0),
            row["hardware"] or "not told",
        ]
        for row in rows
    ]
    hardware, iterations = (
        {row[key] for row in rows if row["kind"] == "measured"} for key in ("hardware", "iterations")
    )
    notes = [
        "Wall time of a training, mean ± sample standard deviation over seeds, from the files in results/benchmarks.",
        "Reported rows were trained on other hardware, with other features: compare within a kind only.",
        *(["The measured rows ran on different hardware: they are not comparable."] if len(hardware) > 1 else []),
        *(["The measured rows trained for different numbers of iterations."] if len(iterations) > 1 else []),
        *(f"{labels[row['method']]}: {row['note']}." for row in rows if row["note"]),
        *([f"Reported rows: {table.reported.note}."] if table.reported and table.reported.note else []),
    ]
    write_flat(table, csv, ["", "minutes", "runs", "iterations", "s per iteration", "MB", "hardware"], lines, notes)


def _number(text: str, digits: int) -> str:
    return f"{float(text):.{digits}f}" if text else "–"


def _run(seed: int, files: Mapping[str, Path]) -> dict[str, Any]:
    """Read the time, the memory and the hardware of one training."""
    try:
        benchmark = pd.read_csv(files["benchmark"], sep="\t", na_values=["-"]).iloc[-1]
        last = pd.read_csv(files["history"]).iloc[-1]
        machine = json.loads(files["machine"].read_text(encoding="utf-8"))
        seconds, trained = float(benchmark["s"]), float(last["seconds"])
        plural = "" if machine["threads"] == 1 else "s"
        processor = f"{machine['threads']} thread{plural} of {machine['processor']}"
        return {
            "minutes": seconds / 60,
            "memory_mb": float(benchmark["max_rss"]),
            "iterations": int(last["step"]),
            "hardware": f"{machine['gpu']}, {processor}" if machine["gpu"] else processor,
            # A benchmark also counts loading; one that is shorter than the training itself is of a resumed run.
            "note": RESUMED.format(seed=seed, benchmark=seconds / 60, trained=trained / 60)
            if seconds < trained
            else "",
        }
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        why = " ".join(str(error).split())
        raise RgwotError(f"seed {seed}: time of a training cannot be read ({why}); train it again") from None


def _reported(table: RuntimeTable, row_id: str) -> list[dict[str, Any]]:
    if table.reported is None:
        return []
    rows = []
    for entry in table.reported.methods:
        if entry.row == row_id:
            own = reported_values(table.reported, entry)
            own = own[own["metric"] == METRIC]
            if len(own) != 1:
                raise RgwotError(
                    f"{table.reported.file}: found {len(own)} values of {entry.method!r} for {METRIC}, expected one"
                )
            found = own.iloc[0]
            rows.append({"method": row_id, "kind": "reported", "minutes": found["value"], "note": found["note"]})
    return rows
