"""Notes under tables that keep readers from comparing incomparable numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from rgwot.evaluation.protocols import DESCRIPTIONS
from rgwot.reporting.tables.grid import METRIC_LABELS, block_title, rows_under
from rgwot.reporting.tables.models import OWN, UNKNOWN, Gain, Table


def notes(table: Table, frame: pd.DataFrame, short: bool = False) -> list[str]:
    """Return the notes of a table; ``short``: only on what a caption stands above, leading blocks and reported rows."""
    names: list[str] = [block.protocol for block in table.blocks]
    if short:
        names += [name for name in frame[frame["kind"] == "reported"]["protocol"] if name != UNKNOWN]
    shown = [n for n in DESCRIPTIONS if n in names or not (short or table.own or n in OWN)]
    protocols = "; ".join(f"{name}: {DESCRIPTIONS[name]}" for name in shown)
    runs = sorted({int(count) for count in frame["n_runs"].dropna()})
    over = "One run (one seed on all tasks), so there is no deviation;"
    if runs != [1]:
        counts = " or ".join(map(str, runs))
        over = f"Mean ± sample standard deviation over {counts} runs: a run is one seed on all tasks, and"
    found = [
        f"Percent. Protocols: {protocols}. Values of different protocols must not be compared.",
        f"{over} a dataset is the unweighted mean over its tasks. Best bold, second underlined, among measured rows.",
    ]
    trivial = [row.label for row in table.rows if row.trivial]
    if trivial:
        found.append(f"Trivial answers, which look at no picture: {', '.join(trivial)}.")
    if "order_distance" in table.metrics:
        found.append("Order: Kendall distance to the true order, lower is better, 50 is no information.")
    found += row_notes(table, frame)
    found += reported_notes(table, frame)
    found += [line for gain in table.gains for line in _gain_lines(table, frame, gain)]
    if not short:
        found.append("Labels by the rule `exact`; the CSV also has the rule `cnc`, and precise values of everything.")
    return [*found, *table.notes]


def reported_notes(table: Table, frame: pd.DataFrame) -> list[str]:
    """Return what is said about reported rows: where they come from, and which protocol each was made with."""
    reported = frame[frame["kind"] == "reported"]
    if table.reported is None or reported.empty:
        return []
    found = [f"Reported rows: {table.reported.note}."] if table.reported.note else []
    names = {entry.id: entry.method for entry in table.reported.methods}
    called = reported["method"].map(names).groupby(reported["protocol"], sort=False)
    listed = "; ".join(f"{protocol}: {', '.join(methods.unique())}" for protocol, methods in called)
    found.append(f"Protocols of the reported rows, each stands under its own only: {listed}.")
    if len(called) > 1:
        found.append(
            "The reported rows were made with different protocols, so their order in the papers says nothing: "
            "compare a reported row with the measured rows of the same protocol."
        )
    return found


def row_notes(table: Table, frame: pd.DataFrame) -> list[str]:
    """Return what is particular to measured rows: collapsed runs, skipped videos, missing tasks."""
    measured = frame[frame["kind"] == "measured"]
    labels = {row.id: row.label for row in table.rows}
    found = []
    counts = []
    for row, part in measured[measured["degenerate"] > 0].groupby("method", sort=False):
        where = [
            f"{place.label} {int(part[f'{name}_degenerate'].max())} of {int(part[f'{name}_task_runs'].max())}"
            for name, place in table.datasets.items()
            # A task that the configuration leaves out has no runs.
            if part[f"{name}_degenerate"].fillna(0).max() > 0
        ]
        counts.append(f"{labels[str(row)]}: {', '.join(where)}")
    if counts:
        found.append(
            "X: degenerate, as the papers mark it: runs of single tasks that collapsed (at most, under any protocol): "
            f"{'; '.join(counts)}. Their values are part of the mean; the CSV also has them alone."
        )
    remarks = measured.drop_duplicates(["method", "note"]).groupby("note", sort=False)["method"].agg(list)
    for note, rows in remarks.items():
        if note:
            who = "All measured rows" if len(set(rows)) == len(table.rows) else ", ".join(labels[row] for row in rows)
            found.append(f"{who}: {note}.")
    return found


def average_gain(of: Mapping[Any, Any], over: Mapping[Any, Any], columns: Sequence[str]) -> float | None:
    """Return the mean difference of two rows over some columns, in percent points; None where a value is missing.

    >>> average_gain({"a_f1": 0.5, "b_f1": 0.7}, {"a_f1": 0.4, "b_f1": 0.5}, ["a_f1", "b_f1"])
    15.0
    """
    differences = [float(of.get(column, math.nan)) - float(over.get(column, math.nan)) for column in columns]
    if any(map(math.isnan, differences)):
        return None
    return round(100 * sum(differences) / len(differences), 6)


def _gain_lines(table: Table, frame: pd.DataFrame, gain: Gain) -> Iterator[str]:
    """Say what one method gains over another: by reported numbers, as the paper prints it, and as measured.

    A gain is the unweighted mean over datasets of the difference, in percent points (methods 8).
    """
    assert table.reported is not None
    entries = {entry.id: entry for entry in table.reported.methods}
    of, over = entries[gain.of], entries[gain.over]
    datasets = gain.datasets or tuple(table.datasets)
    names = ", ".join(table.datasets[name].label for name in datasets)
    where = names if len(datasets) < len(table.datasets) else f"all {len(datasets)} datasets"
    between = f"gain of {gain.of} over {gain.over}, mean over {where}"

    def gains(rows: Mapping[Any, Mapping[Any, Any]], kind: str, of_row: str | None, over_row: str | None) -> str | None:
        if (kind, of_row) not in rows or (kind, over_row) not in rows:
            return None
        pair = rows[kind, of_row], rows[kind, over_row]
        values = {m: average_gain(*pair, [f"{name}_{m}" for name in datasets]) for m in table.metrics}
        return ", ".join(f"{value:+.1f} {METRIC_LABELS[m]}" for m, value in values.items() if value is not None)

    every = {(row["kind"], row["method"]): row for row in frame.to_dict("records")}
    found = gains(every, "reported", of.id, over.id)
    if found is not None:
        printed = ", ".join(f"{value:+.1f} {METRIC_LABELS[metric]}" for metric, value in gain.printed.items())
        of_paper = f"; the paper prints {printed}" if printed else ""
        caveat = "" if of.protocol == over.protocol else f" ({of.protocol} against {over.protocol}: not comparable)"
        yield f"Reported {between}: {found}{of_paper}{caveat}."
    measured = [
        f"{block_title(block)}: {values}"
        for block in table.blocks
        if (values := gains(rows_under(frame, block), "measured", of.row, over.row))
    ]
    if measured:
        yield f"Measured {between}: {'; '.join(measured)}."
