"""The average gain of one method over another, worked out again from the numbers of a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from rgwot.reporting.tables.grid import METRIC_LABELS, PRINTED_RULE, block_title
from rgwot.reporting.tables.models import Gain, ReportedMethod, Table


def gain_lines(table: Table, frame: pd.DataFrame) -> list[str]:
    """Return one line per gain of a table: what the reported numbers give, what the paper prints, what we measure.

    The gain is the unweighted mean over datasets of the difference between two methods, in percent points (methods 8).

    Parameters
    ----------
    table, frame
        The table and its content; a gain is told as far as the content has both of its rows.
    """
    return [line for gain in table.gains for line in _lines(table, frame, gain)]


def average_gain(of: Mapping[Any, Any], over: Mapping[Any, Any], columns: Sequence[str]) -> float | None:
    """Return the mean difference of two rows over some columns, in percent points; None where a value is missing.

    >>> average_gain({"a_f1": 0.5, "b_f1": 0.7}, {"a_f1": 0.4, "b_f1": 0.5}, ["a_f1", "b_f1"])
    15.0
    """
    values = [float(row.get(column, math.nan)) for row in (of, over) for column in columns]
    if any(map(math.isnan, values)):
        return None
    differences = [mine - theirs for mine, theirs in zip(values, values[len(columns) :], strict=False)]
    return round(100 * sum(differences) / len(differences), 6)


def _lines(table: Table, frame: pd.DataFrame, gain: Gain) -> Iterator[str]:
    assert table.reported is not None
    entries = {entry.id: entry for entry in table.reported.methods}
    of, over = entries[gain.of], entries[gain.over]
    datasets = gain.datasets or tuple(table.datasets)
    names = ", ".join(table.datasets[name].label for name in datasets)
    where = names if len(datasets) < len(table.datasets) else f"all {len(datasets)} datasets"
    reported = {row["method"]: row for row in frame[frame["kind"] == "reported"].to_dict("records")}
    if of.id in reported and over.id in reported:
        found = _values(table, datasets, reported[of.id], reported[over.id])
        printed = ", ".join(f"{value:+.1f} {METRIC_LABELS[metric]}" for metric, value in gain.printed.items())
        told = f"; the paper prints {printed}" if printed else ""
        caveat = "" if of.protocol == over.protocol else f" ({of.protocol} against {over.protocol}: not comparable)"
        yield f"Reported gain of {gain.of} over {gain.over}, mean over {where}: {found}{told}{caveat}."
    measured = [
        f"{block_title(block)}: {values}"
        for block in table.blocks
        if (values := _measured(table, datasets, frame, (of, over), block.protocol, block.background))
    ]
    if measured:
        yield f"Measured gain of {gain.of} over {gain.over}, mean over {where}: {'; '.join(measured)}."


def _measured(
    table: Table,
    datasets: Sequence[str],
    frame: pd.DataFrame,
    pair: tuple[ReportedMethod, ReportedMethod],
    protocol: str,
    background: str,
) -> str:
    here = frame[
        (frame["kind"] == "measured")
        & (frame["label_rule"] == PRINTED_RULE)
        & (frame["protocol"] == protocol)
        & (frame["background"] == background)
    ]
    rows = {row["method"]: row for row in here.to_dict("records")}
    of, over = (rows.get(entry.row) for entry in pair)
    return "" if of is None or over is None else _values(table, datasets, of, over)


def _values(table: Table, datasets: Sequence[str], of: Mapping[Any, Any], over: Mapping[Any, Any]) -> str:
    gains = {metric: average_gain(of, over, [f"{name}_{metric}" for name in datasets]) for metric in table.metrics}
    return ", ".join(f"{gain:+.1f} {METRIC_LABELS[metric]}" for metric, gain in gains.items() if gain is not None)
