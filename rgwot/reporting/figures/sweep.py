"""Scores over a parameter, one panel per swept table, with reported values and what the parameter comes to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rgwot import paths
from rgwot.config.experiments import SYMBOLS, family_of, split_id
from rgwot.config.radius import smallest_active_radius, structure_radius
from rgwot.evaluation.protocols import PROTOCOLS
from rgwot.reporting.entries import Beside, Part
from rgwot.reporting.figures.interface import Figure, Plan, PlannedRun, Run, Study, settings_of, tasks_of
from rgwot.reporting.figures.style import GREY, Axes, Drawn, line_style, sheet, tell
from rgwot.reporting.tables.printed import METRIC_LABELS
from rgwot.reporting.tables.scores import METRIC_NAMES, read_reported, read_texts
from rgwot.reporting.tables.spec import Background, Metric, ProtocolName
from rgwot.runtime.errors import RgwotError

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
#: Signs of collapse, as recorded per video; each in [0, 1] (methods 5.9).
COLLAPSE: Mapping[str, str] = {
    "mean_pairwise_cosine": "mean pairwise cosine",
    "lambda_1": "direction eigenvalue λ₁",
    "membership_entropy": "membership entropy",
    "distinct_labels": "distinct labels / K",
}
#: Said wherever measured and reported numbers are drawn together.
FINE_TUNED = "; reported numbers: of a fine-tuned backbone, ours is frozen"
#: Columns of a row without which nothing can be drawn.
NEEDED = ("method", "kind", "protocol", "background", "label_rule", "note")
#: Ticks nearer than this share of the axis would run into each other.
APART = 0.11
DOTTED = (0, (1, 1.5))
STAR: dict[str, Any] = {
    "marker": "*", "markersize": 9, "markeredgecolor": "#000000", "markeredgewidth": 0.5, "linestyle": "none",
}  # fmt: skip


class ReportedCurve(Part):
    """Reported numbers beside a curve.

    ``file`` is in the folder of the tables; of its rows those that match ``where`` (column to value) are taken. ``x``
    is the column that holds the parameter, or the value that all of them were made with. ``mark`` is written beside it.
    """

    file: Beside
    where: Mapping[str, str] = {}
    x: float | str
    mark: str = "reported"


class SweepPanel(Part):
    """One panel of curves: a table whose rows differ in one key, drawn over that key.

    ``above`` annotates the axis with what the key comes to: ``radius`` the active radius a = floor(n r) in frames,
    ``temperature`` epsilon / (1 - alpha). ``classes`` marks K_gt + 1, the number of classes with background.
    """

    table: str
    key: str
    label: str
    dataset: str
    scale: Literal["linear", "log"] = "linear"
    above: Literal["radius", "temperature"] | None = None
    classes: bool = False
    reported: ReportedCurve | None = None


@dataclass(frozen=True)
class PlannedRow:
    """A row of a swept table: the value of the swept key, its line, whether it is trained, and the runs behind it."""

    id: str
    line: str
    trained: bool
    value: float
    runs: tuple[PlannedRun, ...]


@dataclass(frozen=True)
class PlannedSweep:
    """A swept table: its rows, the columns that are drawn, and the facts the axis is annotated with.

    ``place`` is what the names of the columns begin with: a dataset, or one of its tasks.
    """

    table: str
    place: str
    dataset: str
    label: str
    reported: str | None
    reported_tasks: tuple[str, ...]
    rows: tuple[PlannedRow, ...]
    left_out: tuple[str, ...]
    frames: int
    epsilon: float
    classes: int | None

    @property
    def row_files(self) -> list[Path]:
        """Where its rows are; the table itself would wait for all of them."""
        return [paths.at(paths.ROW, table=self.table, row=row.id) for row in self.rows]

    @property
    def runs(self) -> list[PlannedRun]:
        """The runs behind all rows."""
        return [run for row in self.rows for run in row.runs]

    def lines(self, *, trained: bool = True) -> dict[str, list[PlannedRow]]:
        """Return the rows of each line, in the order of the parameter; of one value only the first row."""
        lines: dict[str, dict[float, PlannedRow]] = {}
        for row in self.rows:
            if row.trained == trained:
                lines.setdefault(row.line, {}).setdefault(row.value, row)
        return {line: list(rows.values()) for line, rows in lines.items()}


@dataclass(frozen=True)
class SweepsPlan(Plan):
    """The plan of a figure of swept tables; ``levels`` are answers that need no training."""

    sweeps: tuple[PlannedSweep, ...]
    levels: tuple[PlannedRun, ...] = ()


class Curve(NamedTuple):
    """A line: parameter x (n,), mean over seeds, least and largest seed (n,) in [0, 1], and whether runs collapsed."""

    x: Array
    mean: Array
    low: Array
    high: Array
    degenerate: NDArray[np.bool_]


class Scored(Figure):
    """A figure of scores over a parameter, and the protocol they are of."""

    #: Whether all trained methods are drawn, or the one with the most rows.
    SEVERAL: ClassVar[bool] = False

    protocol: ProtocolName = "micro_video"
    background: Background = "with"
    label_rule: Literal["exact", "cnc"] = "exact"

    @property
    def swept(self) -> tuple[SweepPanel, ...]:
        """The swept tables."""
        raise NotImplementedError

    @property
    def how(self) -> dict[str, str]:
        """How the scores are made."""
        return {"protocol": self.protocol, "background": self.background, "label_rule": self.label_rule}

    def plan(self, study: Study) -> SweepsPlan:
        """Return the rows of the swept tables and the runs behind them."""
        sweeps = tuple(_sweep(panel, study, several=self.SEVERAL) for panel in self.swept)
        kept = "background a class" if self.background == "with" else "without background"
        protocol = f"protocol {PROTOCOLS[self.protocol].letter} ({self.protocol})"
        datasets = {sweep.dataset: sweep.label for sweep in sweeps}
        said = [f"{protocol}, {kept}, {self.label_rule} labels"]
        return SweepsPlan(**self.shared(study, datasets, said, study.config.seeds, self.protocol), sweeps=sweeps)

    def files(self, plan: SweepsPlan) -> Iterable[Path]:
        """Return rows, scores of single seeds, and reported numbers."""
        yield from (run.at(paths.SCORES) for run in plan.levels)
        for sweep in plan.sweeps:
            yield from sweep.row_files
            yield from (run.at(paths.SCORES) for run in sweep.runs)
        yield from (panel.reported.file for panel in self.swept if panel.reported)


def _sweep(panel: SweepPanel, study: Study, several: bool) -> PlannedSweep:
    """Find the rows of a swept table and the value of each.

    Rows that differ in other keys are lines of their own: of trained methods the longest one is drawn, or all where
    several are wanted; of answers that need no training those to which the parameter means something.
    """
    table = study.table_with(panel.table, [panel.dataset])
    place = table.datasets[panel.dataset]
    tasks = tasks_of(place, study)
    # K_gt + 1 where it is known and the same for all tasks.
    numbers = {study.key_steps(place.dataset, task) for task in tasks}
    known = numbers.pop() if len(numbers) == 1 else None
    classes = None if known is None else known + 1
    key = SYMBOLS.get(panel.key, panel.key)
    lines: dict[tuple[bool, str, str], list[tuple[Any, float]]] = {}
    for row in table.rows:
        settings = settings_of(study, row.method, row.decoder, place.dataset)
        value = settings.pop(key)
        # What means all videos or the annotated steps is looked up.
        if key == "data.n_train" and value is None:
            value = max((len(study.videos(place.dataset, task)) for task in tasks), default=0)
        elif key == "decode.K" and isinstance(value, str) and classes is not None:
            value = classes - (value == "gt")
        if isinstance(value, (int, float)):
            line = family_of(row.method).trained, split_id(row.decoder)[0], json.dumps(settings, sort_keys=True)
            lines.setdefault(line, []).append((row, float(value)))
    longest = max((line for line in lines if line[0]), key=lambda line: len(lines[line]), default=None)
    rows: list[PlannedRow] = []
    for line, found in lines.items():
        trained, decoder, _ = line
        if line != longest and not (several if trained else len({value for _, value in found}) > 1):
            continue
        name = split_id(found[0][0].method)[0] if trained else decoder
        name = f"{name}: {found[0][0].label}" if name in {row.line for row in rows} else name
        for row, value in found:
            study.check_table(panel.table, row.id)
            run = Run(label=row.label, method=row.method, decoder=row.decoder)
            runs = tuple(run.planned(place.dataset, *one) for one in product(tasks, study.config.seeds))
            rows.append(PlannedRow(row.id, name, trained, value, runs))
    if longest is None:
        raise RgwotError(f"table {table.id!r}: no row is trained with a {panel.key}; a figure expects at least one")
    drawn = {row.id for row in rows}
    first = study.experiments.settings(lines[longest][0][0].method, None, place.dataset)
    return PlannedSweep(
        table.id, panel.dataset, place.dataset,
        place.label if place.task is None else f"{study.in_print(place.dataset)}: {place.label}",
        place.reported, place.reported_tasks, tuple(sorted(rows, key=lambda row: row.value)),
        tuple(row.id for line, found in lines.items() if line[0] for row, _ in found if row.id not in drawn),
        first.train.N + (first.ot.virtual == "cost"), first.ot.epsilon, classes,
    )  # fmt: skip


def read_rows(files: Iterable[Path]) -> pd.DataFrame:
    """Read rows of a table of comparison, every cell as its text."""
    import pandas as pd

    return pd.concat([read_texts(path, "a row of a table", NEEDED) for path in files], ignore_index=True)


def cell(table: pd.DataFrame, row: str, column: str, how: Mapping[str, str]) -> tuple[float, bool]:
    """Return a measured value of a table, NaN where it has none, and whether a run behind it is degenerate."""
    import pandas as pd

    wanted = {"method": row, "kind": "measured", **how}
    own = table[(table[list(wanted)] == list(wanted.values())).all(axis=1)]
    if own.empty or column not in table.columns:
        return float("nan"), False
    value, collapsed = own.reindex(columns=[column, "degenerate"]).apply(pd.to_numeric, errors="coerce").iloc[0]
    return float(value), bool(collapsed > 0)


def seed_values(scores: pd.DataFrame, runs: Sequence[PlannedRun], metric: str, how: Mapping[str, str]) -> Array:
    """Return a metric of every seed (S,): within a seed the mean over tasks, as in the tables (methods 6.1)."""
    columns = ["method", "decoder", "dataset", "task", "seed"]
    wanted = {tuple(getattr(run, column) for column in columns) for run in runs}
    own = scores[(scores[["metric", *how]] == [metric, *how.values()]).all(axis=1)]
    own = own[[run in wanted for run in own[columns].itertuples(index=False, name=None)]]
    return np.asarray(own.groupby("seed")["value"].mean().to_numpy(), dtype=np.float64)


def curve(
    sweep: PlannedSweep, rows: Sequence[PlannedRow], table: pd.DataFrame, scores: pd.DataFrame, metric: str,
    how: Mapping[str, str],
) -> Curve:  # fmt: skip
    """Put one line together: means as the table has them, the band from the scores of the single seeds."""
    points = []
    for row in rows:
        mean, collapsed = cell(table, row.id, f"{sweep.place}_{metric}", how)
        seeds = seed_values(scores, row.runs, metric, how)
        seeds = seeds[~np.isnan(seeds)]
        own = (seeds.mean(), seeds.min(), seeds.max()) if len(seeds) else (np.nan, np.nan, np.nan)
        # A table may leave a metric out that the scores have.
        points.append((row.value, own[0] if np.isnan(mean) else mean, *own[1:], collapsed))
    x, means, lows, highs, flags = np.array(points).T
    return Curve(x, means, lows, highs, flags > 0)


def sweep_scores(runs: Iterable[PlannedRun]) -> pd.DataFrame:
    """Read the scores of some runs."""
    from rgwot.records import read_scores

    return read_scores(dict.fromkeys(run.at(paths.SCORES) for run in runs))


def reported_points(
    curve: ReportedCurve, sweep: PlannedSweep, metrics: Iterable[str]
) -> Mapping[str, list[tuple[float, float]]]:
    """Return what a paper reports, per metric as (parameter, value in [0, 1]), sorted; nothing where it prints none."""
    frame = read_reported(curve.file)
    for column in (*curve.where, *([curve.x] if isinstance(curve.x, str) else [])):
        if column not in frame.columns:
            raise RgwotError(f"{curve.file}: found no column {column!r}, expected it for a figure")
    own = frame[
        (frame["dataset"] == sweep.reported) & frame["task"].isin(sweep.reported_tasks) & frame["value"].notna()
    ]
    own = own[(own[list(curve.where)] == list(curve.where.values())).all(axis=1)]
    points = {}
    for metric in metrics:
        rows = own[own["metric"] == METRIC_NAMES.get(metric)]
        if len(rows):
            x = rows[curve.x] if isinstance(curve.x, str) else [curve.x] * len(rows)
            points[metric] = sorted(zip(map(float, x), (rows["value"] / 100).tolist(), strict=True))
    return points


class Sweep(Scored):
    """Scores over a parameter, one panel per sweep; ``collapse`` adds a panel with the signs of collapse."""

    panels: Annotated[tuple[SweepPanel, ...], Field(min_length=1, max_length=4)]
    metrics: Annotated[tuple[Metric, ...], Field(min_length=1, max_length=4)] = ("precision", "recall", "f1", "iou")
    collapse: bool = False

    @property
    def swept(self) -> tuple[SweepPanel, ...]:
        """All panels."""
        return self.panels

    def files(self, plan: SweepsPlan) -> Iterable[Path]:
        """Return also the signs of collapse, where they are drawn."""
        yield from super().files(plan)
        if self.collapse:
            trained = [row for sweep in plan.sweeps for row in sweep.rows if row.trained]
            yield from (run.at(paths.DIAGNOSTICS) for row in trained for run in row.runs)

    def draw(self, plan: SweepsPlan) -> Drawn:
        """Draw every panel."""
        panels = len(self.panels) * (1 + self.collapse)
        columns = min(2, panels)
        rows = -(-panels // columns)
        drawn, axes = sheet(rows, columns, height=2.25 * rows + 0.95, sharey=not self.collapse)
        places = iter(axes.flat)
        seen: dict[str, dict[str, Any]] = {}
        for panel, sweep in zip(self.panels, plan.sweeps, strict=True):
            seen |= self._scores(next(places), panel, sweep)
            if self.collapse:
                seen |= _collapse(next(places), panel, sweep)
        for axis in axes[:, 0]:
            axis.set_ylabel("score, %")
            axis.set_ylim(bottom=0)
        _legend(drawn, seen)
        left_out = [f"{row} ({sweep.table})" for sweep in plan.sweeps for row in sweep.left_out]
        without = f"; rows that differ in more than the parameter are not drawn: {', '.join(left_out)}"
        band = "; line: mean over seeds, band: least to largest" if len(plan.seeds) > 1 else ""
        features = FINE_TUNED if any(panel.reported for panel in self.panels) else ""
        tell(drawn, self.title, f"{plan.about}{band}{features}{without if left_out else ''}")
        return drawn

    def _scores(self, axis: Axes, panel: SweepPanel, sweep: PlannedSweep) -> dict[str, dict[str, Any]]:
        """Draw the metrics of one sweep; return what the legend says, and how it looks."""
        table, scores = read_rows(sweep.row_files), sweep_scores(sweep.runs)
        rows = next(iter(sweep.lines().values()))
        seen: dict[str, dict[str, Any]] = {
            METRIC_LABELS[metric]: line_style(number) for number, metric in enumerate(self.metrics)
        }
        for number, metric in enumerate(self.metrics):
            found = curve(sweep, rows, table, scores, metric, self.how)
            draw_curve(axis, found, number)
            if found.degenerate.any():
                opened = {"marker": "o", "linestyle": "none", "color": "#000000", "markerfacecolor": "w"}
                seen["open: a run behind it is degenerate"] = opened
        for line, answers in sweep.lines(trained=False).items():
            found = curve(sweep, answers, table, scores, "f1", self.how)
            look: dict[str, Any] = {"color": GREY, "linewidth": 0.9, "linestyle": DOTTED}
            axis.plot(found.x, 100 * found.mean, zorder=1, **look)
            seen[f"{line} answer without training, F1"] = look
        if panel.reported is not None:
            for name, points in reported_points(panel.reported, sweep, self.metrics).items():
                colour = line_style(list[str](self.metrics).index(name))["color"]
                axis.plot([x for x, _ in points], [100 * y for _, y in points], **STAR, color=colour, zorder=5)
                seen[panel.reported.mark] = {"color": "#FFFFFF", **STAR}
        # Then every class and every cluster has a partner, and both ratios are of all frames (methods 6.1, A).
        balanced = self.protocol == "micro_video" and self.background == "with"
        _axis(axis, panel, sweep, np.array([row.value for row in rows]), balanced=balanced)
        if len({one.dataset for one in self.panels}) > 1:
            axis.set_title(sweep.label)
        return seen


def _legend(drawn: Drawn, seen: Mapping[str, Mapping[str, Any]]) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], label=label, **look) for label, look in seen.items()]
    # As many columns as fit into a page.
    longest = max(map(len, seen))
    drawn.legend(handles=handles, loc="outside lower center", ncols=max(1, min(len(handles), 105 // (longest + 6))))


def above(panel: SweepPanel, sweep: PlannedSweep, x: Array) -> list[str]:
    """Return what the axis is annotated with at every value of the parameter.

    The active radius, or the temperature epsilon / (1 - alpha) that alpha comes to where the structural prior is off
    (methods 3.4).
    """
    if panel.above == "radius":
        return [str(structure_radius(sweep.frames, float(value))) for value in x]
    return [f"{sweep.epsilon / (1 - float(value)):.2g}".removeprefix("0") for value in x]


def spaced(places: Array, apart: float = APART) -> list[int]:
    """Return which of the places (n,), increasing in [0, 1], can carry a label without touching the one before.

    >>> spaced(np.array([0.0, 0.05, 0.5, 1.0]))
    [0, 2, 3]
    """
    kept: list[int] = []
    for index, place in enumerate(places):
        if not kept or place - places[kept[-1]] >= apart:
            kept.append(index)
    return kept


def draw_curve(axis: Axes, found: Curve, number: int, label: str | None = None) -> None:
    """Draw a line in percent with its band; open markers where a run behind a point is degenerate."""
    style = line_style(number)
    axis.plot(found.x, 100 * found.mean, label=label, **style)
    axis.fill_between(found.x, 100 * found.low, 100 * found.high, color=style["color"], alpha=0.18, linewidth=0)
    bad = found.degenerate
    axis.plot(found.x[bad], 100 * found.mean[bad], style["marker"], color=style["color"], markerfacecolor="#FFFFFF")


def _axis(axis: Axes, panel: SweepPanel, sweep: PlannedSweep, x: Array, *, balanced: bool = False) -> None:
    """Scale and annotate the axis of the parameter; ``balanced``: with as many clusters as classes P equals R."""
    if panel.scale == "log":
        positive = x[x > 0]
        if len(positive) == len(x):
            axis.set_xscale("log")
        else:
            axis.set_xscale("symlog", linthresh=float(positive.min()) if len(positive) else 1.0)
    axis.set_xlabel(panel.label)
    axis.minorticks_off()
    low, high = axis.transData.transform([(x[0], 0), (x[-1], 0)])[:, 0]
    places = (axis.transData.transform(np.column_stack([x, np.zeros(len(x))]))[:, 0] - low) / max(high - low, 1)
    kept = spaced(places)
    axis.set_xticks(x[kept], [f"{value:g}" for value in x[kept]])
    axis.grid(axis="y", linewidth=0.3, color="#CCCCCC")
    if panel.above is not None:
        kept = kept if panel.above == "temperature" else spaced(places, 0.03)
        top = axis.secondary_xaxis("top")
        top.set_xticks(x[kept], [above(panel, sweep, x)[index] for index in kept])
        top.minorticks_off()
        top.spines[:].set_visible(False)
        top.tick_params(length=2)
        said = {"radius": "active radius a, frames", "temperature": "temperature ε/(1−α)"}[panel.above]
        top.set_xlabel(said, fontsize=7)
    if panel.above == "radius":
        left, right = axis.get_xlim()
        axis.set_xlim(left, right)
        axis.axvspan(left, smallest_active_radius(sweep.frames, sweep.frames), color="#EEEEEE", zorder=0)
        axis.text(0.02, 0.03, "prior off", transform=axis.transAxes, fontsize=7, color=GREY)
    if panel.classes and sweep.classes is not None:
        said = f"K_gt + 1 = {sweep.classes}{': P = R' if balanced else ''}"
        axis.axvline(sweep.classes, color=GREY, linewidth=0.8, linestyle=(0, (4, 2)))
        axis.annotate(
            said, (sweep.classes, 0), (3, 3), xycoords=("data", "axes fraction"), textcoords="offset points",
            fontsize=7, color=GREY,
        )  # fmt: skip


def _collapse(axis: Axes, panel: SweepPanel, sweep: PlannedSweep) -> dict[str, dict[str, Any]]:
    """Draw the signs of collapse, averaged over videos and runs; return what the legend says."""
    from rgwot.records import read_diagnostics

    rows = next(iter(sweep.lines().values()))
    read = [[read_diagnostics(run.at(paths.DIAGNOSTICS)) for run in row.runs] for row in rows]

    def sign(facts: Mapping[str, Any], key: str) -> float:
        values = np.array([video.get(key) for video in facts["video"]["videos"].values()], dtype=float)
        return float(values.mean()) / (facts["K"] if key == "distinct_labels" else 1)

    for number, key in enumerate(COLLAPSE, start=4):
        means = [np.mean([sign(one, key) for one in runs]) for runs in read]
        axis.plot([row.value for row in rows], means, **line_style(number))
    plain = panel.model_copy(update={"above": None, "classes": False})
    _axis(axis, plain, sweep, np.array([row.value for row in rows]))
    axis.set_ylim(-0.03, 1.03)
    axis.set_title("signs of collapse, mean over videos and runs")
    return {name: line_style(number) for number, name in enumerate(COLLAPSE.values(), start=4)}
