"""A score over the number of training videos, one line per method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

from rgwot.reporting.figures.interface import Run, Study, tasks_of
from rgwot.reporting.figures.style import DASHES, GREY, Axes, Drawn, sheet, tell
from rgwot.reporting.figures.sweep import (
    FINE_TUNED,
    STAR,
    PlannedSweep,
    Scored,
    SweepPanel,
    SweepsPlan,
    curve,
    draw_curve,
    read_rows,
    reported_points,
    seed_values,
    sweep_scores,
)
from rgwot.reporting.tables.printed import METRIC_LABELS
from rgwot.reporting.tables.spec import Metric

#: A thin line from a name to the height it belongs to.
LEADER = {"arrowstyle": "-", "linewidth": 0.4, "color": "#999999", "shrinkA": 0, "shrinkB": 0, "relpos": (0, 0.5)}
#: A height on the axis, what is written at it, and in which colour.
End = tuple[float, str, str]


class Growth(Scored):
    """A score over the number of training videos, one line per method, with answers that need none as levels.

    ``names`` says what methods are called in print.
    """

    SEVERAL: ClassVar[bool] = True

    panel: SweepPanel
    metric: Metric = "f1"
    names: Mapping[str, str] = {}
    levels: tuple[Run, ...] = ()
    reported_methods: tuple[str, ...] = ()

    @property
    def swept(self) -> tuple[SweepPanel, ...]:
        """The one panel."""
        return (self.panel,)

    def plan(self, study: Study) -> SweepsPlan:
        """Return also the levels."""
        place = study.table_with(self.panel.table, [self.panel.dataset]).datasets[self.panel.dataset]
        levels = tuple(
            run.planned(place.dataset, task, seed)
            for run in self.levels
            for task in tasks_of(place, study)
            for seed in study.config.seeds
        )
        return replace(super().plan(study), levels=levels)

    def draw(self, plan: SweepsPlan) -> Drawn:
        """Draw lines of measured scores, levels of answers without training, and what papers report at their size."""
        sweep, panel = plan.sweeps[0], self.panel
        table, scores = read_rows(sweep.row_files), sweep_scores(sweep.runs)
        drawn, axes = sheet(height=3.6)
        axis = axes[0, 0]
        for number, (line, rows) in enumerate(sweep.lines().items()):
            found = curve(sweep, rows, table, scores, self.metric, self.how)
            draw_curve(axis, found, number, self.names.get(line, line))
        _beside(axis, [*self._levels(axis, plan), *self._reported(axis, sweep)])
        printed = {float(panel.reported.x)} if panel.reported and not isinstance(panel.reported.x, str) else set()
        sizes = sorted({row.value for row in sweep.rows if row.trained} | printed)
        axis.set_xticks(sizes, [f"{size:g}" for size in sizes])
        axis.set_xlabel(panel.label)
        axis.set_ylabel(f"{METRIC_LABELS[self.metric]}, %")
        axis.set_ylim(bottom=0)
        drawn.legend(loc="outside lower center", ncols=6)
        band = "; line: mean over seeds (each draws its own videos), band: least to largest"
        about = f"{plan.about}{band if len(plan.seeds) > 1 else ''}; scored on all videos of the task"
        tell(drawn, self.title, f"{about}{FINE_TUNED if panel.reported else ''}")
        return drawn

    def _levels(self, axis: Axes, plan: SweepsPlan) -> Iterator[End]:
        """Draw answers that need no training as horizontal lines; yield what is written at them."""
        for number, level in enumerate(self.levels):
            runs = [run for run in plan.levels if (run.method, run.decoder) == (level.method, level.decoder)]
            value = 100 * float(seed_values(sweep_scores(runs), runs, self.metric, self.how).mean())
            axis.axhline(value, color=GREY, linewidth=0.9, linestyle=DASHES[1 + number % (len(DASHES) - 1)])
            yield value, level.label, GREY

    def _reported(self, axis: Axes, sweep: PlannedSweep) -> Iterator[End]:
        """Mark what papers report at their number of videos; yield what is written at it."""
        reported = self.panel.reported
        for method in self.reported_methods if reported else ():
            assert reported is not None
            one = reported.model_copy(update={"where": {**reported.where, "method": method}})
            for x, value in reported_points(one, sweep, [self.metric]).get(self.metric, []):
                axis.plot([x], [100 * value], color="#FFFFFF", zorder=5, **STAR)
                yield 100 * value, f"{method}, {reported.mark}", "#000000"


def _beside(axis: Axes, ends: list[End]) -> None:
    """Write names at the right of the axis at their heights, moved apart where they would touch."""
    placed = spread([height for height, _, _ in ends], 3.6)
    for place, (height, name, colour) in zip(placed, ends, strict=True):
        axis.annotate(
            f"{name} {height:.1f}", (1, height), (1.03, place), xycoords=("axes fraction", "data"), color=colour,
            textcoords=("axes fraction", "data"), va="center", fontsize=7, annotation_clip=False,
            arrowprops=LEADER,
        )  # fmt: skip


def spread(heights: list[float], apart: float) -> list[float]:
    """Move heights up, from the lowest on, so that neighbours are at least ``apart``; the order stays.

    >>> spread([10.0, 11.0, 30.0], 4.0)
    [10.0, 14.0, 30.0]
    """
    placed = list(heights)
    last = float("-inf")
    for index in sorted(range(len(heights)), key=heights.__getitem__):
        placed[index] = last = max(heights[index], last + apart)
    return placed
