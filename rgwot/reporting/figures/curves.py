"""Scores over a swept parameter: what the tables and scores say, as lines with bands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rgwot import paths
from rgwot.reporting.figures.interface import PlannedRun
from rgwot.reporting.figures.parameters import PlannedRow, PlannedSweep, ReportedCurve, Scored
from rgwot.runtime.errors import RgwotError

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
#: What stands between measured and reported numbers, wherever both are drawn.
FINE_TUNED = "; reported numbers: of a fine-tuned backbone, ours is frozen"
#: Begins the name of what is not printed but follows from what is.
IMPLIED = "implied "
#: Columns of a row without which nothing can be drawn.
NEEDED = ("method", "kind", "protocol", "background", "label_rule", "note")
#: How metrics are called in figures.
PRINTED = {"precision": "precision", "recall": "recall", "f1": "F1", "iou": "IoU", "order_distance": "order distance"}


class Curve(NamedTuple):
    """A line: parameter x (n,), mean over seeds, least and largest seed (n,) in [0, 1], and whether runs collapsed."""

    x: Array
    mean: Array
    low: Array
    high: Array
    degenerate: NDArray[np.bool_]


def read_rows(files: Iterable[Path]) -> pd.DataFrame:
    """Read rows of a table of comparison as written by `rgwot.reporting.tables.scores`, every cell as its text."""
    import pandas as pd

    from rgwot.reporting.tables.scores import read_texts

    return pd.concat([read_texts(path, "a row of a table", NEEDED) for path in files], ignore_index=True)


def _having(frame: pd.DataFrame, **wanted: str) -> pd.DataFrame:
    for column, value in wanted.items():
        frame = frame[frame[column] == value]
    return frame


def cell(table: pd.DataFrame, row: str, column: str, how: Mapping[str, str]) -> tuple[float, bool]:
    """Return a measured value of a table, NaN where it has none, and whether a run behind it is degenerate."""
    import pandas as pd

    own = _having(table, method=row, kind="measured", **how)
    if own.empty or column not in table.columns:
        return float("nan"), False
    value, collapsed = own.reindex(columns=[column, "degenerate"]).apply(pd.to_numeric, errors="coerce").iloc[0]
    return float(value), bool(collapsed > 0)


def seed_values(scores: pd.DataFrame, runs: Sequence[PlannedRun], metric: str, figure: Scored) -> Array:
    """Return a metric of every seed (S,): within a seed the mean over tasks, as in the tables (methods 6.1)."""
    wanted = {(run.method, run.decoder, run.dataset, run.task, run.seed) for run in runs}
    own = _having(scores, metric=metric, **figure.how)
    found = own[["method", "decoder", "dataset", "task", "seed"]].itertuples(index=False, name=None)
    own = own[[run in wanted for run in found]]
    return np.asarray(own.groupby("seed")["value"].mean().to_numpy(), dtype=np.float64)


def curve(
    sweep: PlannedSweep, rows: Sequence[PlannedRow], table: pd.DataFrame, scores: pd.DataFrame, metric: str,
    figure: Scored,
) -> Curve:  # fmt: skip
    """Put one line together: means as the table has them, the band from the scores of the single seeds."""
    points = []
    for row in rows:
        mean, collapsed = cell(table, row.id, f"{sweep.place}_{metric}", figure.how)
        seeds = seed_values(scores, row.runs, metric, figure)
        seeds = seeds[~np.isnan(seeds)]
        own = (seeds.mean(), seeds.min(), seeds.max()) if len(seeds) else (np.nan, np.nan, np.nan)
        # A table may leave a metric out that the scores have.
        points.append((row.value, own[0] if np.isnan(mean) else mean, *own[1:], collapsed))
    x, means, lows, highs, flags = np.array(points).T
    return Curve(x, means, lows, highs, flags > 0)


def sweep_scores(sweep: PlannedSweep) -> pd.DataFrame:
    """Read the scores behind a sweep."""
    from rgwot.records import read_scores

    return read_scores(dict.fromkeys(run.at(paths.SCORES) for run in sweep.runs))


def lines_of(sweep: PlannedSweep, *, trained: bool = True) -> dict[str, list[PlannedRow]]:
    """Return the rows of each line of a sweep, in the order of the parameter; of one value only the first row."""
    lines: dict[str, dict[float, PlannedRow]] = {}
    for row in sweep.rows:
        if row.trained == trained:
            lines.setdefault(row.line, {}).setdefault(row.value, row)
    return {line: list(rows.values()) for line, rows in lines.items()}


def reported_points(
    curve: ReportedCurve, sweep: PlannedSweep, metrics: Iterable[str]
) -> Mapping[str, list[tuple[float, float]]]:
    """Return what a paper reports, per metric as (parameter, value in [0, 1]), sorted; nothing where it prints none.

    A precision that is not printed follows from F1 and recall, P = F1 R / (2R - F1), and is returned as
    ``implied precision``.
    """
    import pandas as pd

    from rgwot.reporting.tables.scores import METRIC_NAMES, read_reported

    frame = read_reported(curve.file)
    for column in (*curve.where, *([curve.x] if isinstance(curve.x, str) else [])):
        if column not in frame.columns:
            raise RgwotError(f"{curve.file}: found no column {column!r}, expected it for a figure")
    own = _having(frame[(frame["dataset"] == sweep.reported) & frame["task"].isin(sweep.reported_tasks)], **curve.where)
    found: dict[str, dict[float, float]] = {}
    for metric, printed in METRIC_NAMES.items():
        rows = own[(own["metric"] == printed) & own["value"].notna()]
        places = pd.to_numeric(rows[curve.x]) if isinstance(curve.x, str) else [curve.x] * len(rows)
        found[metric] = {float(x): float(value) / 100 for x, value in zip(places, rows["value"], strict=True)}
    points = {metric: sorted(found[metric].items()) for metric in metrics if found.get(metric)}
    if "precision" in metrics and not found["precision"]:
        both = sorted(found["f1"].keys() & found["recall"].keys())
        implied = [(x, found["f1"][x] * found["recall"][x] / (2 * found["recall"][x] - found["f1"][x])) for x in both]
        if implied:
            points[f"{IMPLIED}precision"] = implied
    return points
