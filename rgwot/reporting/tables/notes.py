"""What has to stand under a table so that no two numbers are compared that must not be."""

from __future__ import annotations

import pandas as pd

from rgwot.evaluation.protocols import PROTOCOLS
from rgwot.reporting.tables.gains import gain_lines
from rgwot.reporting.tables.models import UNKNOWN, Table


def notes(table: Table, frame: pd.DataFrame, short: bool = False) -> list[str]:
    """Return the notes of a table.

    Parameters
    ----------
    table, frame
        The table and its content.
    short
        Only what concerns what a caption stands above: the leading blocks and the reported rows.
    """
    names: list[str] = [block.protocol for block in table.blocks]
    if short:
        names += [name for name in _reported_protocols(frame) if name != UNKNOWN]
    protocols = "; ".join(f"{n}: {PROTOCOLS[n].description}" for n in PROTOCOLS if n in names or not short)
    runs = sorted({int(count) for count in frame["n_runs"].dropna()})
    found = [
        f"Percent. Protocols: {protocols}. Values of different protocols must not be compared.",
        f"Mean ± sample standard deviation over {' or '.join(map(str, runs))} runs: a run is one seed on all tasks, "
        "and a dataset is the unweighted mean over its tasks. Best bold, second underlined, among measured rows.",
    ]
    if runs == [1]:
        found[1] = (
            "One run (one seed on all tasks), so there is no deviation; a dataset is the unweighted mean over its "
            "tasks. Best bold, second underlined, among measured rows."
        )
    trivial = [row.label for row in table.rows if row.trivial]
    if trivial:
        found.append(f"Trivial answers, which look at no picture: {', '.join(trivial)}.")
    if "order_tau" in table.metrics:
        found.append("Order: Kendall distance to the true order, lower is better, 50 is no information.")
    found += row_notes(table, frame)
    found += reported_notes(table, frame)
    found += gain_lines(table, frame)
    if not short:
        found.append("Labels by the rule `exact`; the CSV also has the rule `cnc`, and precise values of everything.")
    return [*found, *table.notes]


def _reported_protocols(frame: pd.DataFrame) -> list[str]:
    return list(dict.fromkeys(frame[frame["kind"] == "reported"]["protocol"]))


def reported_notes(table: Table, frame: pd.DataFrame) -> list[str]:
    """Return what is said about reported rows: where they come from, and which protocol each was made with."""
    reported = frame[frame["kind"] == "reported"]
    if table.reported is None or reported.empty:
        return []
    found = [f"Reported rows: {table.reported.note}."] if table.reported.note else []
    names = {entry.id: entry.method for entry in table.reported.methods}
    by_protocol = {
        str(protocol): list(dict.fromkeys(names[str(method)] for method in rows["method"]))
        for protocol, rows in reported.groupby("protocol", sort=False)
    }
    listed = "; ".join(f"{protocol}: {', '.join(methods)}" for protocol, methods in by_protocol.items())
    found.append(f"Protocols of the reported rows, each stands under its own only: {listed}.")
    if len(by_protocol) > 1:
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
