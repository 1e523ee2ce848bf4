"""Scores over a parameter, one panel per sweep, with reported values and what the parameter comes to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from rgwot import paths
from rgwot.config.radius import smallest_active_radius, structure_radius
from rgwot.reporting.figures import curves
from rgwot.reporting.figures.parameters import PlannedSweep, Scored, SweepPanel, SweepsPlan
from rgwot.reporting.figures.style import GREY, Axes, Drawn, line_style, sheet, tell
from rgwot.reporting.tables.spec import Metric

#: What tells collapse, as recorded per video; each in [0, 1] (methods 5.9).
COLLAPSE: Mapping[str, str] = {
    "mean_pairwise_cosine": "mean pairwise cosine",
    "lambda_1": "direction eigenvalue λ₁",
    "membership_entropy": "membership entropy",
    "distinct_labels": "distinct labels / K",
}
#: Ticks nearer than this share of the axis would run into each other.
APART = 0.11
DOTTED = (0, (1, 1.5))
STAR: dict[str, Any] = {
    "marker": "*",
    "markersize": 9,
    "markeredgecolor": "#000000",
    "markeredgewidth": 0.5,
    "linestyle": "none",
}


class Sweep(Scored):
    """Scores over a parameter, one panel per sweep; ``collapse`` adds a panel with what tells collapse."""

    panels: Annotated[tuple[SweepPanel, ...], Field(min_length=1, max_length=4)]
    metrics: Annotated[tuple[Metric, ...], Field(min_length=1, max_length=4)] = ("precision", "recall", "f1", "iou")
    collapse: bool = False

    @property
    def swept(self) -> tuple[SweepPanel, ...]:
        """All panels."""
        return self.panels

    def files(self, plan: SweepsPlan) -> Iterable[Path]:
        """Return also what tells collapse, where it is drawn."""
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
        seen: dict[str, str] = {}
        for panel, sweep in zip(self.panels, plan.sweeps, strict=True):
            seen |= self._scores(next(places), panel, sweep)
            if self.collapse:
                _collapse(next(places), panel, sweep)
        for axis in axes[:, 0]:
            axis.set_ylabel("score, %")
            axis.set_ylim(bottom=0)
        self._legend(drawn, seen)
        left_out = [f"{row} ({sweep.table})" for sweep in plan.sweeps for row in sweep.left_out]
        without = f"; rows that differ in more than the parameter are not drawn: {', '.join(left_out)}"
        implied = seen.get(curves.IMPLIED, "")
        band = "; line: mean over seeds, band: least to largest" if len(plan.seeds) > 1 else ""
        features = curves.FINE_TUNED if "reported" in seen else ""
        tell(
            drawn,
            self.title,
            f"{plan.about}{band}{features}{implied}{without if left_out else ''}",
        )
        return drawn

    def _scores(self, axis: Axes, panel: SweepPanel, sweep: PlannedSweep) -> dict[str, str]:
        """Draw the metrics of one sweep; return what else stands in it, for the legend."""
        table, scores = curves.read_rows(sweep.row_files), curves.sweep_scores(sweep)
        rows = next(iter(curves.lines_of(sweep).values()))
        seen: dict[str, str] = {}
        for number, metric in enumerate(self.metrics):
            found = curves.curve(sweep, rows, table, scores, metric, self)
            draw_curve(axis, found, number)
            if found.degenerate.any():
                seen["degenerate"] = "open: a run behind it is degenerate"
        for line, answers in curves.lines_of(sweep, trained=False).items():
            found = curves.curve(sweep, answers, table, scores, "f1", self)
            axis.plot(found.x, 100 * found.mean, color=GREY, linewidth=0.9, linestyle=DOTTED, zorder=1)
            seen[f"untrained {line}"] = f"{line} answer without training, F1"
        if panel.reported is not None:
            for name, points in curves.reported_points(panel.reported, sweep, self.metrics).items():
                colour = line_style(list[str](self.metrics).index(name.removeprefix(curves.IMPLIED)))["color"]
                axis.plot([x for x, _ in points], [100 * y for _, y in points], **STAR, color=colour, zorder=5)
                seen["reported"] = panel.reported.mark
                if name.startswith(curves.IMPLIED):
                    seen[curves.IMPLIED] = ", their precision implied by F1 and recall"
        # Then every class and every cluster has a partner, and both ratios are of all frames (methods 6.1, A).
        balanced = self.protocol == "micro_video" and self.background == "with"
        _axis(axis, panel, sweep, np.array([row.value for row in rows]), balanced=balanced)
        if len({one.dataset for one in self.panels}) > 1:
            axis.set_title(sweep.label)
        return seen

    def _legend(self, drawn: Drawn, seen: Mapping[str, str]) -> None:
        from matplotlib.lines import Line2D

        looks = [(curves.PRINTED[metric], line_style(n)) for n, metric in enumerate(self.metrics)]
        if self.collapse:
            looks += [(name, line_style(n)) for n, name in enumerate(COLLAPSE.values(), start=4)]
        if "reported" in seen:
            looks.append((seen["reported"], {"color": "#FFFFFF", **STAR}))
        if "degenerate" in seen:
            open_mark = {"marker": "o", "linestyle": "none", "color": "#000000", "markerfacecolor": "w"}
            looks.append((seen["degenerate"], open_mark))
        level = {"color": GREY, "linewidth": 0.9, "linestyle": DOTTED}
        looks += [(name, level) for key, name in seen.items() if key.startswith("untrained")]
        handles = [Line2D([], [], label=label, **look) for label, look in looks]
        # As many columns as stay within a page.
        longest = max(len(label) for label, _ in looks)
        drawn.legend(handles=handles, loc="outside lower center", ncols=max(1, min(len(handles), 105 // (longest + 6))))


def above(panel: SweepPanel, sweep: PlannedSweep, x: curves.Array) -> list[str]:
    """Return what the axis is annotated with at every value of the parameter.

    The active radius, or the temperature epsilon / (1 - alpha) that alpha comes to where the structural prior is off
    (methods 3.4).
    """
    if panel.above == "radius":
        return [str(structure_radius(sweep.frames, float(value))) for value in x]
    return [f"{sweep.epsilon / (1 - float(value)):.2g}".removeprefix("0") for value in x]


def spaced(places: curves.Array, apart: float = APART) -> list[int]:
    """Return which of the places (n,), increasing in [0, 1], can carry a label without touching the one before.

    >>> spaced(np.array([0.0, 0.05, 0.5, 1.0]))
    [0, 2, 3]
    """
    kept: list[int] = []
    for index, place in enumerate(places):
        if not kept or place - places[kept[-1]] >= apart:
            kept.append(index)
    return kept


def draw_curve(axis: Axes, found: curves.Curve, number: int, label: str | None = None) -> None:
    """Draw a line in percent with its band; open markers where a run behind a point is degenerate."""
    style = line_style(number)
    axis.plot(found.x, 100 * found.mean, label=label, **style)
    axis.fill_between(found.x, 100 * found.low, 100 * found.high, color=style["color"], alpha=0.18, linewidth=0)
    bad = found.degenerate
    axis.plot(found.x[bad], 100 * found.mean[bad], style["marker"], color=style["color"], markerfacecolor="#FFFFFF")


def _axis(axis: Axes, panel: SweepPanel, sweep: PlannedSweep, x: curves.Array, *, balanced: bool = False) -> None:
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


def _sign(diagnostics: Mapping[str, Any], key: str) -> float:
    """Return a sign of collapse, averaged over videos; NaN where one has none."""
    values = [video.get(key) for video in diagnostics["video"]["videos"].values()]
    mean = float(np.mean(np.array(values, dtype=float)))
    return mean / diagnostics["K"] if key == "distinct_labels" else mean


def _collapse(axis: Axes, panel: SweepPanel, sweep: PlannedSweep) -> None:
    """Draw the signs of collapse, averaged over runs."""
    from rgwot.records import read_diagnostics

    rows = next(iter(curves.lines_of(sweep).values()))
    x = np.array([row.value for row in rows])
    read = [[read_diagnostics(run.at(paths.DIAGNOSTICS)) for run in row.runs] for row in rows]
    for number, key in enumerate(COLLAPSE, start=4):
        axis.plot(x, [np.mean([_sign(one, key) for one in runs]) for runs in read], **line_style(number))
    _axis(axis, panel.model_copy(update={"above": None, "classes": False}), sweep, x)
    axis.set_ylim(-0.03, 1.03)
    axis.set_title("signs of collapse, mean over videos and runs")
