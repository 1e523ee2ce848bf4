"""Scores over a parameter: one panel per sweep, or a line per method over the number of training videos."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rgwot import paths
from rgwot.evaluation.protocols import PROTOCOLS
from rgwot.reporting.figures.figure import Figure, Plan, PlannedRun, planned_runs
from rgwot.reporting.figures.style import DASHES, GREY, Axes, Drawn, line_style, sheet, tell
from rgwot.reporting.tables.reported import METRICS, read_reported
from rgwot.reporting.tables.scores import over_tasks
from rgwot.reporting.tables.table import Place, Row, check_known, tasks_behind
from rgwot.study.datasets import known_K, videos
from rgwot.study.jobs import check_task
from rgwot.study.study import Study

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
#: Added to captions of figures with measured and reported numbers.
FINE_TUNED = "; reported numbers: of a fine-tuned backbone, ours is frozen"
#: Ticks nearer than this share of the axis would run into each other.
APART = 0.11
STAR: dict[str, Any] = {
    "marker": "*", "markersize": 9, "markeredgecolor": "#000000", "markeredgewidth": 0.5, "linestyle": "none",
}  # fmt: skip
#: Labels of a second axis above a panel.
ABOVE = {"radius": "active radius a, frames", "temperature": "temperature ε/(1−α)"}
Sweepable = Mapping[float | str, Row]
"""Rows by the value of a parameter; ``gt`` and ``gt+1`` are numbers of key steps, ``all`` is the number of videos."""
Curve = Mapping[float, tuple[PlannedRun, ...]]
"""Runs by the value of a parameter, ascending."""


@dataclass(frozen=True, kw_only=True)
class ReportedCurve:
    """Reported numbers beside a curve.

    They are the rows of ``file`` that match ``where`` (column to value). ``x`` is the column that holds the parameter,
    or the value with which all of them were obtained. ``mark`` is written beside it.
    """

    file: Path = field(repr=False)
    x: float | str
    where: Mapping[str, str] = field(default_factory=dict)
    mark: str = "reported"


@dataclass(frozen=True, kw_only=True)
class SweepPanel:
    """A panel of curves: rows over a parameter, called ``label``.

    ``untrained`` are lines of methods without training. ``above`` annotates the axis with a derived value: ``radius``,
    the active radius a = floor(n r) in frames, or ``temperature``, epsilon / (1 - alpha). ``classes`` marks
    K_gt + 1, the number of classes with background.
    """

    dataset: Place
    label: str
    rows: Sweepable
    untrained: Mapping[str, Sweepable] = field(default_factory=dict)
    log: bool = False
    above: str | None = None
    classes: bool = False
    reported: ReportedCurve | None = None

    def __post_init__(self) -> None:
        check_known("annotation", filter(None, [self.above]), ABOVE)


@dataclass(frozen=True)
class PlannedSweep:
    """Trained and untrained curves by name at one place, and the facts of their axis."""

    place: Place
    lines: Mapping[str, Curve]
    untrained: Mapping[str, Curve]
    frames: int
    epsilon: float
    classes: int | None

    @property
    def runs(self) -> list[PlannedRun]:
        """The runs behind all curves."""
        curves = [*self.lines.values(), *self.untrained.values()]
        return [run for curve in curves for runs in curve.values() for run in runs]


Sweeps = Plan[tuple[PlannedSweep, ...]]
"""The plan of a figure of sweeps."""


@dataclass(frozen=True, kw_only=True)
class Scored(Figure):
    """A figure of scores over a parameter, under one protocol with background and exact labels."""

    protocol: str = "micro_video"

    def __post_init__(self) -> None:
        check_known("protocol", [self.protocol], PROTOCOLS)

    def read(self, line: Curve) -> dict[float, pd.DataFrame]:
        """Read the scores behind a curve, by the value of the parameter: a row per run, a column per metric."""
        how = {"protocol": self.protocol, "background": "with", "label_rule": "exact"}
        return {value: read_runs(runs, how) for value, runs in line.items()}

    def sweeps(self, study: Study, scores: Sequence[PlannedSweep], reported: Iterable[ReportedCurve | None]) -> Sweeps:
        """Return the plan of some sweeps."""
        files = [run.at(paths.SCORES) for sweep in scores for run in sweep.runs]
        files += [point.file for point in reported if point is not None]
        note = f"protocol {PROTOCOLS[self.protocol].letter} ({self.protocol}), background a class, exact labels"
        places = [sweep.place for sweep in scores]
        return self.planned(study, tuple(scores), files, places, [note], study.config.seeds, self.protocol)


def planned_sweep(
    study: Study,
    place: Place,
    lines: Mapping[str, Sweepable],
    untrained: Mapping[str, Sweepable],
) -> PlannedSweep:
    """Return the runs behind rows that are drawn over a parameter."""
    behind, seeds = tasks_behind(study, [place]), study.config.seeds
    # K_gt, if it is known and the same for all tasks.
    numbers = {known_K(study, *task) for task in behind}
    steps = numbers.pop() if len(numbers) == 1 else None
    words = {"all": float(max(len(videos(study, *task)) for task in behind))}
    if steps is not None:
        words |= {"gt": float(steps), "gt+1": float(steps + 1)}

    def planned(rows: Sweepable) -> Curve:
        at: dict[float, Row] = {}
        for value, row in rows.items():
            if value in words or not isinstance(value, str):
                at.setdefault(words[value] if isinstance(value, str) else float(value), row)
        for row in at.values():
            for dataset, task in behind:
                check_task(study, dataset, task, row.method)
        return {value: planned_runs(row, behind, seeds) for value, row in sorted(at.items())}

    first = next(iter(next(iter(lines.values())).values()))
    used = study.experiments.settings(first.method, None, place.dataset)
    return PlannedSweep(
        place,
        {name: planned(rows) for name, rows in lines.items()},
        {name: planned(rows) for name, rows in untrained.items()},
        used.train.N + (used.ot.virtual == "cost"),
        used.ot.epsilon,
        None if steps is None else steps + 1,
    )


def read_runs(runs: Iterable[PlannedRun], how: Mapping[str, str]) -> pd.DataFrame:
    """Read the scores of runs that match ``how`` (column to value): a row per run, a column per metric."""
    from rgwot.columns import IDENTITY
    from rgwot.records import read_scores

    scores = read_scores(dict.fromkeys(run.at(paths.SCORES) for run in runs))
    chosen = scores[(scores[list(how)] == list(how.values())).all(axis=1)]
    return chosen.pivot(index=list(IDENTITY), columns="metric", values="value").reset_index()


def curve(scores: Mapping[float, pd.DataFrame], metric: str, protocol: str) -> pd.DataFrame:
    """Return the points of one line from the scores at every value, averaged as in the tables (methods 6.1).

    A row is a point: the parameter ``x``; ``mean``, ``low`` and ``high`` over seeds, in [0, 1]; and whether a run
    behind it is ``degenerate``.
    """
    import pandas as pd

    points = []
    for value, by_seed in scores.items():
        seeds = over_tasks(by_seed, metric, protocol)
        points.append((value, seeds.mean(), seeds.min(), seeds.max(), bool((by_seed["degenerate"] > 0).any())))
    return pd.DataFrame(points, columns=["x", "mean", "low", "high", "degenerate"])


def reported_points(
    curve: ReportedCurve, sweep: PlannedSweep, metrics: Iterable[str]
) -> Mapping[str, list[tuple[float, float]]]:
    """Return a paper's values per metric, sorted as (parameter, value in [0, 1]); empty if it prints none."""
    frame = read_reported(curve.file, [*curve.where, *([curve.x] if isinstance(curve.x, str) else [])])
    kept_rows = frame[frame["value"].notna() & (frame["dataset"] == sweep.place.reported)]
    kept_rows = kept_rows[kept_rows["task"].isin(sweep.place.reported_tasks)]
    kept_rows = kept_rows[(kept_rows[list(curve.where)] == list(curve.where.values())).all(axis=1)]
    points = {}
    for metric in metrics:
        rows = kept_rows[kept_rows["metric"] == METRICS[metric].reported]
        if len(rows):
            x = rows[curve.x] if isinstance(curve.x, str) else [curve.x] * len(rows)
            points[metric] = sorted(zip(map(float, x), (rows["value"] / 100).tolist(), strict=True))
    return points


@dataclass(frozen=True, kw_only=True)
class Sweep(Scored):
    """Scores over a parameter, one panel per sweep."""

    CAPTION: ClassVar = (
        "Scores over a parameter: means over seeds as in the tables, bands from the least to the largest seed, "
        "stars as papers report."
    )

    panels: Sequence[SweepPanel]
    metrics: Sequence[str] = ("precision", "recall", "f1", "iou")

    def plan(self, study: Study) -> Sweeps:
        """Return the runs behind the rows of all panels."""
        plans = [planned_sweep(study, panel.dataset, {"": panel.rows}, panel.untrained) for panel in self.panels]
        return self.sweeps(study, plans, [panel.reported for panel in self.panels])

    def draw(self, plan: Sweeps) -> Drawn:
        """Draw every panel."""
        columns = min(2, len(self.panels))
        rows = -(-len(self.panels) // columns)
        drawn, axes = sheet(rows, columns, height=2.25 * rows + 0.95, sharey=True)
        for axis, panel, sweep in zip(axes.flat, self.panels, plan.shown, strict=False):
            self._scores(axis, panel, sweep)
        for axis in axes[:, 0]:
            axis.set_ylabel("score, %")
            axis.set_ylim(bottom=0)
        _legend(drawn, axes)
        band = "; line: mean over seeds, band: least to largest" if len(plan.seeds) > 1 else ""
        features = FINE_TUNED if any(panel.reported for panel in self.panels) else ""
        tell(drawn, self.title, f"{plan.about}{band}{features}")
        return drawn

    def _scores(self, axis: Axes, panel: SweepPanel, sweep: PlannedSweep) -> None:
        """Draw the metrics of one sweep."""
        (line,) = sweep.lines.values()
        scores = self.read(line)
        for number, metric in enumerate(self.metrics):
            draw_curve(axis, curve(scores, metric, self.protocol), number, METRICS[metric].label)
        for name, other in sweep.untrained.items():
            curve_here, label = curve(self.read(other), "f1", self.protocol), f"{name} answer without training, F1"
            look: dict[str, Any] = {"color": GREY, "linewidth": 0.9, "linestyle": (0, (1, 1.5))}
            axis.plot(curve_here["x"], 100 * curve_here["mean"], zorder=1, label=label, **look)
        if panel.reported is not None:
            for name, points in reported_points(panel.reported, sweep, self.metrics).items():
                colour = line_style(list(self.metrics).index(name))["color"]
                axis.plot([x for x, _ in points], [100 * y for _, y in points], **STAR, color=colour, zorder=5)
            axis.plot([], [], **STAR, color="#FFFFFF", label=panel.reported.mark)
        # With this protocol, if K = K_gt + 1, every class and every cluster has a partner, so that P and R are shares
        # of the same frames (methods 6.1, A).
        balanced = self.protocol == "micro_video"
        _axis(axis, panel, sweep, np.array(list(line)), balanced=balanced)
        if len({panel.dataset.name for panel in self.panels}) > 1:
            axis.set_title(sweep.place.label)


def _legend(drawn: Drawn, axes: NDArray[Any]) -> None:
    """Explain the curves below a figure, once for all panels."""
    handles = {
        label: handle for axis in axes.flat for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    # As many columns as fit into a page.
    columns = 105 // (max(map(len, handles)) + 6)
    drawn.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=max(1, min(len(handles), columns)))


def above(panel: SweepPanel, sweep: PlannedSweep, x: Array) -> list[str]:
    """Return the annotation of the axis at every value of the parameter.

    It is the active radius, or the temperature epsilon / (1 - alpha), which is all that alpha changes if the structural
    prior is off (methods 3.4).
    """
    if panel.above == "radius":
        from rgwot.transport import structure_radius

        return [str(structure_radius(sweep.frames, float(value))) for value in x]
    return [f"{sweep.epsilon / (1 - float(value)):.2g}".removeprefix("0") for value in x]


def spaced(places: Array, apart: float = APART) -> list[int]:
    """Return which of the places (n,), increasing in [0, 1], can carry a label without touching the one before.

    >>> spaced(np.array([0.0, 0.05, 0.5, 1.0]))
    [0, 2, 3]
    """
    spread_places: list[int] = []
    for index, place in enumerate(places):
        if not spread_places or place - places[spread_places[-1]] >= apart:
            spread_places.append(index)
    return spread_places


def draw_curve(axis: Axes, points: pd.DataFrame, number: int, label: str) -> None:
    """Draw a line in percent with its band; open markers where a run behind a point is degenerate."""
    style = line_style(number)
    axis.plot(points["x"], 100 * points["mean"], label=label, **style)
    axis.fill_between(
        points["x"], 100 * points["low"], 100 * points["high"], color=style["color"], alpha=0.18, linewidth=0
    )
    bad = points[points["degenerate"]]
    opened: dict[str, Any] = {"color": style["color"], "markerfacecolor": "#FFFFFF"}
    said = "open: a run behind it is degenerate" if len(bad) else None
    axis.plot(bad["x"], 100 * bad["mean"], style["marker"], label=said, **opened)


def _axis(axis: Axes, panel: SweepPanel, sweep: PlannedSweep, x: Array, *, balanced: bool = False) -> None:
    """Scale and annotate the axis of the parameter; if ``balanced``, it notes where P equals R."""
    if panel.log:
        axis.set_xscale("log" if x.min() > 0 else "symlog")
    axis.set_xlabel(panel.label)
    axis.minorticks_off()
    low, high = axis.transData.transform([(x[0], 0), (x[-1], 0)])[:, 0]
    places = (axis.transData.transform(np.column_stack([x, np.zeros(len(x))]))[:, 0] - low) / max(high - low, 1)
    ticks = spaced(places)
    axis.set_xticks(x[ticks], [f"{value:g}" for value in x[ticks]])
    axis.grid(axis="y", linewidth=0.3, color="#CCCCCC")
    if panel.above is not None:
        ticks = ticks if panel.above == "temperature" else spaced(places, 0.03)
        top = axis.secondary_xaxis("top")
        top.set_xticks(x[ticks], [above(panel, sweep, x)[index] for index in ticks])
        top.minorticks_off()
        top.spines[:].set_visible(False)
        top.tick_params(length=2)
        top.set_xlabel(ABOVE[panel.above], fontsize=7)
    if panel.above == "radius":
        left, right = axis.get_xlim()
        axis.set_xlim(left, right)
        axis.axvspan(left, 1 / sweep.frames, color="#EEEEEE", zorder=0)
        axis.text(0.02, 0.03, "prior off", transform=axis.transAxes, fontsize=7, color=GREY)
    if panel.classes and sweep.classes is not None:
        note = f"K_gt + 1 = {sweep.classes}{': P = R' if balanced else ''}"
        axis.axvline(sweep.classes, color=GREY, linewidth=0.8, linestyle=(0, (4, 2)))
        axis.annotate(
            note, (sweep.classes, 0), (3, 3), xycoords=("data", "axes fraction"), textcoords="offset points",
            fontsize=7, color=GREY,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Growth(Scored):
    """A score over the number of training videos: ``lines`` by method, and ``levels`` of answers without training."""

    CAPTION: ClassVar = (
        "A score over the number of training videos, scored on all videos; horizontal lines need no training, "
        "stars are as papers report."
    )

    dataset: Place
    lines: Mapping[str, Sweepable]
    levels: Sequence[Row] = ()
    metric: str = "f1"
    reported: ReportedCurve | None = None
    reported_methods: Sequence[str] = ()

    def plan(self, study: Study) -> Sweeps:
        """Return the runs behind all lines and levels."""
        levels: dict[str, Sweepable] = {row.label: {0: row} for row in self.levels}
        return self.sweeps(study, [planned_sweep(study, self.dataset, self.lines, levels)], [self.reported])

    def draw(self, plan: Sweeps) -> Drawn:
        """Draw measured scores, levels of answers without training, and reported scores at their number of videos."""
        (sweep,), reported = plan.shown, self.reported
        drawn, axes = sheet(height=4.3)
        axis = axes[0, 0]
        for number, (name, line) in enumerate(sweep.lines.items()):
            draw_curve(axis, curve(self.read(line), self.metric, self.protocol), number, name)
        for number, (label, level) in enumerate(sweep.untrained.items()):
            value = 100 * float(curve(self.read(level), self.metric, self.protocol)["mean"].iloc[0])
            dashes = DASHES[1 + number % (len(DASHES) - 1)]
            axis.axhline(value, label=f"{label} {value:.1f}", color=GREY, linewidth=0.9, linestyle=dashes)
        sizes = {value for line in sweep.lines.values() for value in line}
        if reported is not None:
            # A method has one colour, measured or reported.
            methods = list(dict.fromkeys([*sweep.lines, *self.reported_methods]))
            for method in self.reported_methods:
                of_method = replace(reported, where={**reported.where, "method": method})
                for x, value in reported_points(of_method, sweep, [self.metric]).get(self.metric, []):
                    text = f"{method}, {reported.mark} {100 * value:.1f}"
                    colour = line_style(methods.index(method))["color"]
                    axis.plot([x], [100 * value], color=colour, zorder=5, label=text, **STAR)
            sizes |= set() if isinstance(reported.x, str) else {float(reported.x)}
        axis.set_xticks(sorted(sizes), [f"{size:g}" for size in sorted(sizes)])
        axis.set_xlabel("training videos")
        axis.set_ylabel(f"{METRICS[self.metric].label}, %")
        axis.set_ylim(bottom=0)
        _legend(drawn, axes)
        band = "; line: mean over seeds (each draws its own videos), band: least to largest"
        caption = f"{plan.about}{band if len(plan.seeds) > 1 else ''}; scored on all videos of the task"
        tell(drawn, self.title, f"{caption}{FINE_TUNED if reported else ''}")
        return drawn
