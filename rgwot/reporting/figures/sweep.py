"""Scores over a parameter: one panel per swept table, or a line per method over the number of training videos."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rgwot import paths
from rgwot.config.experiments import SYMBOLS, family_of, split_id
from rgwot.evaluation.protocols import PROTOCOLS
from rgwot.losses.settings import structure_radius
from rgwot.reporting.entries import Beside, Part
from rgwot.reporting.figures.interface import Figure, Plan, PlannedRun, Run, Study, settings_of
from rgwot.reporting.figures.style import DASHES, GREY, Axes, Drawn, line_style, sheet, tell
from rgwot.reporting.tables.metrics import METRICS, Metric
from rgwot.reporting.tables.scores import over_tasks, read_reported
from rgwot.reporting.tables.spec import Background, Place, ProtocolName, Row
from rgwot.runtime.errors import RgwotError

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
#: Said wherever measured and reported numbers are drawn together.
FINE_TUNED = "; reported numbers: of a fine-tuned backbone, ours is frozen"
#: Ticks nearer than this share of the axis would run into each other.
APART = 0.11
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
class PlannedLine:
    """Rows that differ in the swept key alone: by its value, ascending, their runs, and whether they are trained."""

    name: str
    trained: bool
    rows: Mapping[float, tuple[PlannedRun, ...]]


@dataclass(frozen=True)
class PlannedSweep:
    """The lines of a swept table at one place, called ``label``, and the facts the axis is annotated with.

    ``levels`` are answers that need no training, by their labels, ``left_out`` trained rows that differ in more than
    the parameter.
    """

    place: Place
    label: str
    lines: tuple[PlannedLine, ...]
    levels: Mapping[str, tuple[PlannedRun, ...]]
    frames: int
    epsilon: float
    classes: int | None
    left_out: tuple[str, ...] = ()

    @property
    def trained(self) -> list[PlannedLine]:
        """The trained lines, at least one, the longest first."""
        return sorted((line for line in self.lines if line.trained), key=lambda line: -len(line.rows))

    @property
    def runs(self) -> list[PlannedRun]:
        """The runs behind all levels and lines."""
        of_lines = [runs for line in self.lines for runs in line.rows.values()]
        return [run for runs in (*self.levels.values(), *of_lines) for run in runs]


Sweeps = Plan[tuple[PlannedSweep, ...]]
"""The plan of a figure of swept tables."""


class Scored(Figure):
    """A figure of scores over a parameter, and the protocol they are of."""

    protocol: ProtocolName = "micro_video"
    background: Background = "with"
    label_rule: Literal["exact", "cnc"] = "exact"

    @property
    def how(self) -> dict[str, str]:
        """How the scores are made."""
        return {"protocol": self.protocol, "background": self.background, "label_rule": self.label_rule}

    def scores(self, line: PlannedLine) -> dict[float, pd.DataFrame]:
        """Read the scores behind a line, by the value of the parameter."""
        return {value: read_runs(runs, self.how) for value, runs in line.rows.items()}

    def swept(
        self, study: Study, panels: Sequence[SweepPanel], *, several: bool = False, levels: Sequence[Run] = ()
    ) -> Sweeps:
        """Return the rows of swept tables with the runs behind them."""
        sweeps = tuple(_sweep(panel, study, several, levels) for panel in panels)
        files = [run.at(paths.SCORES) for sweep in sweeps for run in sweep.runs]
        files += [panel.reported.file for panel in panels if panel.reported]
        kept = "background a class" if self.background == "with" else "without background"
        protocol = f"protocol {PROTOCOLS[self.protocol].letter} ({self.protocol})"
        datasets = {sweep.place.dataset: sweep.label for sweep in sweeps}
        said = [f"{protocol}, {kept}, {self.label_rule} labels"]
        return self.planned(study, sweeps, files, datasets, said, study.config.seeds, self.protocol)


def _sweep(panel: SweepPanel, study: Study, several: bool, levels: Sequence[Run]) -> PlannedSweep:
    """Find the rows of a swept table and the value of each.

    Rows that differ in other keys are lines of their own: of trained methods the longest one is drawn, or all where
    several are wanted; of answers that need no training those to which the parameter means something.
    """
    table = study.table_with(panel.table, [panel.dataset])
    place, seeds = table.datasets[panel.dataset], study.config.seeds
    dataset = place.dataset
    tasks = tuple(task for task in study.tasks(dataset) if place.task in (None, task))
    # K_gt + 1 where it is known and the same for all tasks.
    numbers = {study.key_steps(dataset, task) for task in tasks}
    known = numbers.pop() if len(numbers) == 1 else None
    classes = None if known is None else known + 1
    key = SYMBOLS.get(panel.key, panel.key)
    lines: dict[tuple[bool, str, str], dict[float, Row]] = {}
    for row in table.rows:
        settings = settings_of(study.experiments, row.method, row.decoder, dataset)
        value = settings.pop(key)
        # What means all videos or the annotated steps is looked up.
        if key == "data.n_train" and value is None:
            value = max((len(study.videos(dataset, task)) for task in tasks), default=0)
        elif key == "decode.K" and isinstance(value, str) and classes is not None:
            value = classes - (value == "gt")
        if isinstance(value, (int, float)):
            line = family_of(row.method).trained, split_id(row.decoder)[0], json.dumps(settings, sort_keys=True)
            lines.setdefault(line, {}).setdefault(float(value), row)
    longest = max((line for line in lines if line[0]), key=lambda line: len(lines[line]), default=None)
    if longest is None:
        raise RgwotError(f"table {table.id!r}: no row is trained with a {panel.key}; a figure expects at least one")
    drawn: list[PlannedLine] = []
    left_out: list[str] = []
    for line, found in lines.items():
        trained, decoder, _ = line
        if line != longest and not (several if trained else len(found) > 1):
            left_out += [f"{row.id} ({table.id})" for row in found.values() if trained]
            continue
        first = next(iter(found.values()))
        name = split_id(first.method)[0] if trained else decoder
        name = f"{name}: {first.label}" if name in {one.name for one in drawn} else name
        rows = {}
        for value, row in sorted(found.items()):
            study.check_table(panel.table, row.id)
            run = Run(label=row.label, method=row.method, decoder=row.decoder)
            rows[value] = run.planned(dataset, tasks, seeds)
        drawn.append(PlannedLine(name, trained, rows))
    used = study.experiments.settings(next(iter(lines[longest].values())).method, None, dataset)
    return PlannedSweep(
        place,
        place.label if place.task is None else f"{study.in_print(dataset)}: {place.label}",
        tuple(drawn),
        {run.label: run.planned(dataset, tasks, seeds) for run in levels},
        used.train.N + (used.ot.virtual == "cost"),
        used.ot.epsilon,
        classes,
        tuple(left_out),
    )


def read_runs(runs: Iterable[PlannedRun], how: Mapping[str, str]) -> pd.DataFrame:
    """Read the scores of some runs that were made in one way: a row per run, a column per metric."""
    from rgwot.columns import IDENTITY
    from rgwot.records import read_scores

    scores = read_scores(dict.fromkeys(run.at(paths.SCORES) for run in runs))
    own = scores[(scores[list(how)] == list(how.values())).all(axis=1)]
    return own.pivot(index=list(IDENTITY), columns="metric", values="value").reset_index()


def curve(scores: Mapping[float, pd.DataFrame], metric: str, protocol: str) -> pd.DataFrame:
    """Put one line together from the scores at every value, as the tables average (methods 6.1).

    A row per point: the parameter ``x``, in [0, 1] ``mean``, ``low`` and ``high`` over seeds, and whether a run behind
    it is ``degenerate``.
    """
    import pandas as pd

    points = []
    for value, own in scores.items():
        seeds = over_tasks(own, metric, protocol)
        points.append((value, seeds.mean(), seeds.min(), seeds.max(), bool((own["degenerate"] > 0).any())))
    return pd.DataFrame(points, columns=["x", "mean", "low", "high", "degenerate"])


def reported_points(
    curve: ReportedCurve, sweep: PlannedSweep, metrics: Iterable[str]
) -> Mapping[str, list[tuple[float, float]]]:
    """Return what a paper reports, per metric as (parameter, value in [0, 1]), sorted; nothing where it prints none."""
    frame = read_reported(curve.file, [*curve.where, *([curve.x] if isinstance(curve.x, str) else [])])
    own = frame[frame["value"].notna() & (frame["dataset"] == sweep.place.reported)]
    own = own[own["task"].isin(sweep.place.reported_tasks)]
    own = own[(own[list(curve.where)] == list(curve.where.values())).all(axis=1)]
    points = {}
    for metric in metrics:
        rows = own[own["metric"] == METRICS[metric].reported]
        if len(rows):
            x = rows[curve.x] if isinstance(curve.x, str) else [curve.x] * len(rows)
            points[metric] = sorted(zip(map(float, x), (rows["value"] / 100).tolist(), strict=True))
    return points


class Sweep(Scored):
    """Scores over a parameter, one panel per sweep."""

    CAPTION: ClassVar = (
        "Scores over a parameter: means over seeds as in the tables, bands from the least to the largest seed, "
        "stars as papers report."
    )

    panels: Annotated[tuple[SweepPanel, ...], Field(min_length=1, max_length=4)]
    metrics: Annotated[tuple[Metric, ...], Field(min_length=1, max_length=4)] = ("precision", "recall", "f1", "iou")

    def plan(self, study: Study) -> Sweeps:
        """Return the rows of the swept tables and the runs behind them."""
        return self.swept(study, self.panels)

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
        left_out = [row for sweep in plan.shown for row in sweep.left_out]
        without = f"; rows that differ in more than the parameter are not drawn: {', '.join(left_out)}"
        tell(drawn, self.title, f"{plan.about}{band}{features}{without if left_out else ''}")
        return drawn

    def _scores(self, axis: Axes, panel: SweepPanel, sweep: PlannedSweep) -> None:
        """Draw the metrics of one sweep."""
        line = sweep.trained[0]
        scores = self.scores(line)
        for number, metric in enumerate(self.metrics):
            draw_curve(axis, curve(scores, metric, self.protocol), number, METRICS[metric].label)
        for other in (one for one in sweep.lines if not one.trained):
            found, said = curve(self.scores(other), "f1", self.protocol), f"{other.name} answer without training, F1"
            look: dict[str, Any] = {"color": GREY, "linewidth": 0.9, "linestyle": (0, (1, 1.5))}
            axis.plot(found["x"], 100 * found["mean"], zorder=1, label=said, **look)
        if panel.reported is not None:
            for name, points in reported_points(panel.reported, sweep, self.metrics).items():
                colour = line_style(list[str](self.metrics).index(name))["color"]
                axis.plot([x for x, _ in points], [100 * y for _, y in points], **STAR, color=colour, zorder=5)
            axis.plot([], [], **STAR, color="#FFFFFF", label=panel.reported.mark)
        # Then every class and every cluster has a partner, and both ratios are of all frames (methods 6.1, A).
        balanced = self.protocol == "micro_video" and self.background == "with"
        _axis(axis, panel, sweep, np.array(list(line.rows)), balanced=balanced)
        if len({one.dataset for one in self.panels}) > 1:
            axis.set_title(sweep.label)


def _legend(drawn: Drawn, axes: NDArray[Any]) -> None:
    """Say below a figure what is drawn, once for all panels."""
    found = {
        label: handle for axis in axes.flat for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    # As many columns as fit into a page.
    columns = 105 // (max(map(len, found)) + 6)
    drawn.legend(found.values(), found.keys(), loc="outside lower center", ncols=max(1, min(len(found), columns)))


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


def draw_curve(axis: Axes, found: pd.DataFrame, number: int, label: str) -> None:
    """Draw a line in percent with its band; open markers where a run behind a point is degenerate."""
    style = line_style(number)
    axis.plot(found["x"], 100 * found["mean"], label=label, **style)
    axis.fill_between(
        found["x"], 100 * found["low"], 100 * found["high"], color=style["color"], alpha=0.18, linewidth=0
    )
    bad = found[found["degenerate"]]
    opened: dict[str, Any] = {"color": style["color"], "markerfacecolor": "#FFFFFF"}
    said = "open: a run behind it is degenerate" if len(bad) else None
    axis.plot(bad["x"], 100 * bad["mean"], style["marker"], label=said, **opened)


def _axis(axis: Axes, panel: SweepPanel, sweep: PlannedSweep, x: Array, *, balanced: bool = False) -> None:
    """Scale and annotate the axis of the parameter; ``balanced``: with as many clusters as classes P equals R."""
    if panel.scale == "log":
        axis.set_xscale("log" if x.min() > 0 else "symlog")
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
        axis.axvspan(left, 1 / sweep.frames, color="#EEEEEE", zorder=0)
        axis.text(0.02, 0.03, "prior off", transform=axis.transAxes, fontsize=7, color=GREY)
    if panel.classes and sweep.classes is not None:
        said = f"K_gt + 1 = {sweep.classes}{': P = R' if balanced else ''}"
        axis.axvline(sweep.classes, color=GREY, linewidth=0.8, linestyle=(0, (4, 2)))
        axis.annotate(
            said, (sweep.classes, 0), (3, 3), xycoords=("data", "axes fraction"), textcoords="offset points",
            fontsize=7, color=GREY,
        )  # fmt: skip


class Growth(Scored):
    """A score over the number of training videos, one line per method, with answers that need none as levels.

    ``names`` says what methods are called in print.
    """

    CAPTION: ClassVar = (
        "A score over the number of training videos, scored on all videos; horizontal lines need no training, "
        "stars are as papers report."
    )

    panel: SweepPanel
    metric: Metric = "f1"
    names: Mapping[str, str] = {}
    levels: tuple[Run, ...] = ()
    reported_methods: tuple[str, ...] = ()

    def plan(self, study: Study) -> Sweeps:
        """Return all trained rows of the swept table, and the levels."""
        return self.swept(study, [self.panel], several=True, levels=self.levels)

    def draw(self, plan: Sweeps) -> Drawn:
        """Draw lines of measured scores, levels of answers without training, and what papers report at their size."""
        sweep, panel = plan.shown[0], self.panel
        drawn, axes = sheet(height=4.3)
        axis = axes[0, 0]
        lines = {self.names.get(line.name, line.name): line for line in sweep.trained}
        for number, (name, line) in enumerate(lines.items()):
            draw_curve(axis, curve(self.scores(line), self.metric, self.protocol), number, name)
        for number, (label, runs) in enumerate(sweep.levels.items()):
            value = 100 * float(over_tasks(read_runs(runs, self.how), self.metric, self.protocol).mean())
            dashes = DASHES[1 + number % (len(DASHES) - 1)]
            axis.axhline(value, label=f"{label} {value:.1f}", color=GREY, linewidth=0.9, linestyle=dashes)
        if panel.reported:
            # A method has one colour, measured or reported.
            methods = list(dict.fromkeys([*lines, *self.reported_methods]))
            for method in self.reported_methods:
                of_method = {"where": {**panel.reported.where, "method": method}}
                points = reported_points(panel.reported.model_copy(update=of_method), sweep, [self.metric])
                for x, value in points.get(self.metric, []):
                    said = f"{method}, {panel.reported.mark} {100 * value:.1f}"
                    colour = line_style(methods.index(method))["color"]
                    axis.plot([x], [100 * value], color=colour, zorder=5, label=said, **STAR)
        printed = {float(panel.reported.x)} if panel.reported and not isinstance(panel.reported.x, str) else set()
        sizes = sorted({value for line in sweep.trained for value in line.rows} | printed)
        axis.set_xticks(sizes, [f"{size:g}" for size in sizes])
        axis.set_xlabel(panel.label)
        axis.set_ylabel(f"{METRICS[self.metric].label}, %")
        axis.set_ylim(bottom=0)
        _legend(drawn, axes)
        band = "; line: mean over seeds (each draws its own videos), band: least to largest"
        about = f"{plan.about}{band if len(plan.seeds) > 1 else ''}; scored on all videos of the task"
        tell(drawn, self.title, f"{about}{FINE_TUNED if panel.reported else ''}")
        return drawn
