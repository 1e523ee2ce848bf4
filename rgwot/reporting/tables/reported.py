"""Numbers reported in papers: their files, and the rows of a table for them."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rgwot.evaluation.protocols import GRAPH, SEGMENTATION
from rgwot.runtime.csv_files import read_csv
from rgwot.runtime.errors import RgwotError

if TYPE_CHECKING:
    import pandas as pd

    from rgwot.reporting.tables.table import Place


@dataclass(frozen=True)
class _MetricLabel:
    """The display of a metric, in percent: its label, and whether lower is better.

    ``protocol`` is the only protocol with this metric. If it is None, all protocols without special metrics have the
    metric; but the distance of orders exists only where clusters are matched once for all videos.
    ``reported`` is its name in the files of reported numbers.
    """

    label: str
    protocol: str | None = None
    lower_is_better: bool = False
    reported: str | None = None

    @property
    def head(self) -> str:
        """The label, with an arrow if lower is better."""
        return f"{self.label} ↓" if self.lower_is_better else self.label


METRICS: Mapping[str, _MetricLabel] = {
    "f1": _MetricLabel("F1", reported="F1"),
    "iou": _MetricLabel("IoU", reported="IoU"),
    "precision": _MetricLabel("Precision", reported="Precision"),
    "recall": _MetricLabel("Recall", reported="Recall"),
    "order_distance": _MetricLabel("Order", lower_is_better=True),
    "mof": _MetricLabel("MoF", SEGMENTATION),
    "miou": _MetricLabel("mIoU", SEGMENTATION),
    "precision_sampled": _MetricLabel("Precision of segments", SEGMENTATION),
    "recall_sampled": _MetricLabel("Recall of segments", SEGMENTATION),
    "f1_sampled": _MetricLabel("F1 of segments", SEGMENTATION),
    "f1_10": _MetricLabel("F1@10", SEGMENTATION),
    "f1_25": _MetricLabel("F1@25", SEGMENTATION),
    "f1_50": _MetricLabel("F1@50", SEGMENTATION),
    "edit": _MetricLabel("Edit", SEGMENTATION),
    "edge_precision": _MetricLabel("Precision of edges", GRAPH),
    "edge_recall": _MetricLabel("Recall of edges", GRAPH),
    "edge_f1": _MetricLabel("F1 of edges", GRAPH),
    "consensus_distance": _MetricLabel("One order", GRAPH, lower_is_better=True),
    "order_f1": _MetricLabel("F1 of order errors", GRAPH),
    "missing_f1": _MetricLabel("F1 of steps left out", GRAPH),
}
#: Protocols that have metrics of their own.
OWN = frozenset(metric.protocol for metric in METRICS.values() if metric.protocol)


def metrics_of(protocol: str) -> tuple[str, ...]:
    """Return the metrics that a protocol has."""
    protocol_with_own = protocol if protocol in OWN else None
    return tuple(name for name, metric in METRICS.items() if metric.protocol == protocol_with_own)


UNKNOWN = "unknown"
REPORTED_COLUMNS = ("method", "dataset", "task", "metric", "value", "mark", "source", "note")
#: The beginning of a note in a file if the paper prints an X instead of a number.
COLLAPSED = "degenerate"


@dataclass(frozen=True)
class ReportedRow:
    """A reported row: the method, the corresponding measured row, and the protocol of its numbers, if known from code.

    ``where`` chooses among several rows of a method by the columns of a condition, such as ``{"K": "7"}``; then
    ``row`` is also its id.
    """

    method: str
    row: str | None = None
    protocol: str = UNKNOWN
    background: str = UNKNOWN
    label_rule: str = UNKNOWN
    where: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The row's value in the column ``method`` of the table."""
        return self.row if self.where and self.row else self.method


@dataclass(frozen=True)
class Reported:
    """The reported numbers of a table: their file, their rows in order, and notes on all of them.

    ``source`` keeps only the lines of the file that name this source.
    """

    file: Path = field(repr=False)
    rows: Sequence[ReportedRow] = ()
    note: str = ""
    source: str | None = None


def read_reported(path: str | os.PathLike[str], conditions: Iterable[str] = ()) -> pd.DataFrame:
    """Read reported numbers: a value per row, in percent, empty if the paper prints none.

    ``conditions`` are additional columns. Raises RgwotError if the file cannot be read, lacks a column, or has a value
    that is not a percentage.
    """
    import pandas as pd

    frame = read_csv(path, (*REPORTED_COLUMNS, *conditions), {})
    values = pd.to_numeric(frame["value"], errors="coerce")
    scores = frame["metric"].isin([metric.reported for metric in METRICS.values() if metric.reported])
    bad = frame[scores & (frame["value"] != "") & ~values.between(0, 100)]
    if len(bad):
        raise RgwotError(f"{path}: row {int(bad.index[0]) + 2}: found {bad['value'].iloc[0]!r}, expected a percentage")
    return frame.assign(value=values)


def reported_values(reported: Reported, entry: ReportedRow) -> list[dict[str, Any]]:
    """Return the lines (at least one) of the reported file for a reported row of a table."""
    path, source = reported.file, reported.source
    lines = [
        line
        for line in _lines_of(path, path.stat().st_mtime_ns if path.exists() else 0, tuple(entry.where))
        if line["method"] == entry.method
        and source in (None, line["source"])
        and all(same_value(line[column], value) for column, value in entry.where.items())
    ]
    if not lines:
        condition = "".join(f", {column} {value}" for column, value in entry.where.items())
        raise RgwotError(f"{path}: found no line of {entry.method!r}{condition}, expected one for a reported row")
    return lines


@lru_cache
def _lines_of(path: Path, modified: int, conditions: tuple[str, ...]) -> list[dict[str, Any]]:
    return read_reported(path, conditions).to_dict("records")  # type: ignore[return-value]


def same_value(first: object, other: object) -> bool:
    """Return whether two values of a sweep are equal as texts or as numbers.

    >>> same_value("1", 1.0), same_value("gt", "gt"), same_value("gt", 7)
    (True, True, False)
    """
    try:
        return float(str(first)) == float(str(other))
    except ValueError:
        return str(first) == str(other)


def reported_rows(reported: Reported, places: Mapping[str, Place], metrics: Sequence[str]) -> list[dict[str, Any]]:
    """Return a row per reported method, with values in [0, 1] by place and metric; its note begins with the source."""
    rows: list[dict[str, Any]] = []
    for entry in reported.rows:
        comparable = f"made with {entry.protocol}: not comparable with rows of another protocol"
        if entry.protocol == UNKNOWN:
            comparable = (
                f"protocol {UNKNOWN}: comparable with no measured row, nor with reported rows of a known protocol"
            )
        values = reported_values(reported, entry)
        rows.append(
            {
                "method": entry.id,
                "kind": "reported",
                "protocol": entry.protocol,
                "background": entry.background,
                "label_rule": entry.label_rule,
                "note": "; ".join(filter(None, (sources(values), reported.note, comparable))),
                **_cells(reported.file, entry.method, values, places, metrics),
            }
        )
    return rows


def sources(lines: Iterable[Mapping[str, Any]]) -> str:
    """Return the sources of some lines."""
    return " and ".join(filter(None, dict.fromkeys(line["source"] for line in lines)))


def _cells(
    path: Path, method: str, lines: Iterable[Mapping[str, Any]], places: Mapping[str, Place], metrics: Sequence[str]
) -> dict[str, float]:
    cells: dict[str, float] = {}
    has_value = False
    for name, place in places.items():
        of_place = [
            line for line in lines if line["dataset"] == place.reported and line["task"] in place.reported_tasks
        ]
        for metric in metrics:
            matching = [line for line in of_place if line["metric"] == METRICS[metric].reported]
            if len(matching) > 1:
                where = f"{place.reported} {METRICS[metric].reported}"
                raise RgwotError(f"{path}: found {len(matching)} values of {method!r} for {where}, expected one")
            # Rounded like a quotient of decimal numbers: 54.4 becomes 0.544, not 0.5439999999999999.
            cells[f"{name}_{metric}"] = round(float(matching[0]["value"]) / 100, 6) if matching else math.nan
            if any(line["note"].startswith(COLLAPSED) for line in matching):
                # The paper prints an X instead of a number.
                cells[f"{name}_degenerate"] = 1
            has_value |= bool(matching)
    if not has_value:
        datasets = ", ".join(str(place.reported) for place in places.values())
        names = ", ".join(filter(None, (METRICS[metric].reported for metric in metrics)))
        raise RgwotError(
            f"{path}: found no number of {method!r} for any column, expected one of dataset {datasets} and metric "
            f"{names or 'that papers report'}"
        )
    return cells
