"""Tables of training times, from the benchmark files that Snakemake writes, with the hardware named."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from rgwot.reporting.tables import flat
from rgwot.reporting.tables.make import summarise
from rgwot.reporting.tables.models import RuntimeTable, TimedRow
from rgwot.reporting.tables.reported import reported_values
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import write_csv, write_text

COLUMNS = (
    "method", "kind", "n_runs", "iterations", "minutes", "minutes_sd", "seconds_per_iteration", "memory_mb",
    "hardware", "note",
)  # fmt: skip
METRIC = "training_time_minutes"
SUFFIXES = {"benchmark": ".tsv", "history": "history.csv", "machine": "machine.json"}
# A benchmark also counts loading; one that is shorter than the training itself is of a resumed run.
RESUMED = "seed {seed}: the training was resumed, so its benchmark covers {benchmark:.1f} of {trained:.1f} minutes"


def make_row(
    table: RuntimeTable,
    row_id: str,
    inputs: Sequence[str | os.PathLike[str]],
    told: Mapping[str, Any],
    output: str | os.PathLike[str],
) -> None:
    """Write the training time of one method, and what is reported of it.

    Parameters
    ----------
    table, row_id
        The table and its row.
    inputs
        For every seed: the benchmark of its training (``seed0.tsv``), its ``seed0/history.csv`` with the iterations
        done, and its ``seed0/machine.json``.
    told
        Not read.

    Raises
    ------
    RgwotError
        When a file is missing or cannot be read, or seeds differ in their iterations.
    """
    row: TimedRow = table.row(row_id)
    runs = [_run(seed, paths) for seed, paths in sorted(_by_seed(inputs).items())]
    if not runs:
        raise RgwotError(f"table {table.id!r}, row {row.id!r}: found no benchmark, expected those of its trainings")
    iterations = sorted({run["iterations"] for run in runs})
    if len(iterations) > 1:
        raise RgwotError(
            f"table {table.id!r}, row {row.id!r}: found trainings of {' and '.join(map(str, iterations))} iterations, "
            "expected the same for every seed; train them again"
        )
    minutes, deviation = summarise([run["minutes"] for run in runs])
    line = {
        "method": row.id,
        "kind": "measured",
        "n_runs": len(runs),
        "iterations": iterations[0],
        "minutes": minutes,
        "minutes_sd": deviation,
        "seconds_per_iteration": 60 * minutes / iterations[0],
        "memory_mb": max(run["memory_mb"] for run in runs),
        "hardware": "; ".join(dict.fromkeys(run["hardware"] for run in runs)),
        "note": "; ".join(run["note"] for run in runs if run["note"]),
    }
    frame = pd.DataFrame([*_reported(table, row_id), line], columns=list(COLUMNS))
    # Whole numbers stay whole beside the empty cells of reported rows.
    write_csv(frame.astype({"n_runs": "Int64", "iterations": "Int64"}), output)


def join_rows(table: RuntimeTable, rows: Iterable[str | os.PathLike[str]], output: str | os.PathLike[str]) -> None:
    """Write the table from its rows, which all have to be trainings of equally many iterations.

    Raises
    ------
    RgwotError
        When a row is missing or the iterations differ.
    """
    frame = flat.joined(table, rows, COLUMNS, "method")
    measured = frame[frame["kind"] == "measured"]
    by_iterations = measured.groupby("iterations")["method"].agg(", ".join)
    if len(by_iterations) > 1:
        found = " and ".join(f"{count} ({methods})" for count, methods in by_iterations.items())
        raise RgwotError(
            f"table {table.id!r}: found trainings of {found} iterations, expected equally many; "
            "give all rows the same train.iterations"
        )
    write_csv(pd.concat([frame[frame["kind"] == "reported"], measured]), output)


def render_table(table: RuntimeTable, csv: str | os.PathLike[str]) -> None:
    """Write the Markdown and the LaTeX form beside the CSV."""
    frame = flat.read_flat(csv, COLUMNS)
    labels = {row.id: row.label for row in table.rows}
    heads = ["", "minutes", "runs", "iterations", "s per iteration", "MB", "hardware"]
    lines = []
    for row in frame.to_dict("records"):
        reported = row["kind"] == "reported"
        lines.append(
            [
                labels[row["method"]] + (" (reported)" if reported else ""),
                _number(row["minutes"], 1) + (f" ± {float(row['minutes_sd']):.1f}" if row["minutes_sd"] else ""),
                row["n_runs"] or "–",
                row["iterations"] or "–",
                _number(row["seconds_per_iteration"], 3),
                _number(row["memory_mb"], 0),
                row["hardware"] or "not told",
            ]
        )
    hardware = {row["hardware"] for row in frame.to_dict("records") if row["kind"] == "measured"}
    remarks = [f"{labels[row['method']]}: {row['note']}." for row in frame.to_dict("records") if row["note"]]
    notes = [
        "Wall time of a training, mean ± sample standard deviation over seeds, from Snakemake's benchmark files.",
        "Reported rows were trained on other hardware, with other features: compare within a kind only.",
        *(["The measured rows ran on different hardware: they are not comparable."] if len(hardware) > 1 else []),
        *remarks,
        *([f"Reported rows: {table.reported.note}."] if table.reported and table.reported.note else []),
        *table.notes,
    ]
    write_text(flat.markdown(table.title, heads, lines, notes), Path(csv).with_suffix(".md"))
    write_text(flat.latex(table.id, table.title, heads, lines, notes), Path(csv).with_suffix(".tex"))


def _number(text: str, digits: int) -> str:
    return f"{float(text):.{digits}f}" if text else "–"


def _by_seed(inputs: Sequence[str | os.PathLike[str]]) -> dict[int, dict[str, Path]]:
    """Sort files by the seed in their paths and by what they are."""
    seeds: dict[int, dict[str, Path]] = {}
    for path in map(Path, inputs):
        named = re.findall(r"seed(\d+)", str(path))
        kind = next((kind for kind, suffix in SUFFIXES.items() if path.name.endswith(suffix)), None)
        if not named or kind is None:
            raise RgwotError(f"{path}: expected a benchmark, history.csv or machine.json of a training with a seed")
        seeds.setdefault(int(named[-1]), {})[kind] = path
    for seed, files in seeds.items():
        missing = [kind for kind in SUFFIXES if kind not in files]
        if missing:
            raise RgwotError(f"seed {seed}: found no {missing[0]} of its training beside {next(iter(files.values()))}")
    return seeds


def _run(seed: int, paths: Mapping[str, Path]) -> dict[str, Any]:
    try:
        benchmark = pd.read_csv(paths["benchmark"], sep="\t", na_values=["-"])
        seconds, memory = float(benchmark["s"].iloc[-1]), float(benchmark["max_rss"].iloc[-1])
        history = pd.read_csv(paths["history"])
        iterations, trained = int(history["step"].iloc[-1]), float(history["seconds"].iloc[-1])
        machine = json.loads(paths["machine"].read_text(encoding="utf-8"))
        threads = int(machine["threads"])
        processor = f"{threads} thread{'' if threads == 1 else 's'} of {machine['processor']}"
        hardware = f"{machine['gpu']}, {processor}" if machine["gpu"] else processor
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        told = " ".join(str(error).split())
        raise RgwotError(f"{paths['benchmark']}: time of a training cannot be read ({told}); train it again") from None
    note = RESUMED.format(seed=seed, benchmark=seconds / 60, trained=trained / 60) if seconds < trained else ""
    return {
        "minutes": seconds / 60,
        "memory_mb": memory,
        "iterations": iterations,
        "hardware": hardware,
        "note": note,
    }


def _reported(table: RuntimeTable, row_id: str) -> list[dict[str, Any]]:
    if table.reported is None:
        return []
    rows = []
    for entry in table.reported.methods:
        if entry.row != row_id:
            continue
        own = reported_values(table, entry)
        own = own[own["metric"] == METRIC]
        if len(own) != 1:
            raise RgwotError(
                f"{table.reported.file}: found {len(own)} values of {entry.method!r} for {METRIC}, expected one"
            )
        note = str(own["note"].iloc[0])
        rows.append({"method": entry.row, "kind": "reported", "minutes": float(own["value"].iloc[0]), "note": note})
    return rows
