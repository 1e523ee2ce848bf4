"""A score over the number of training videos, one line per method."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from rgwot import paths
from rgwot.reporting.figures import curves
from rgwot.reporting.figures.interface import Plan, PlannedRun, Run, Study
from rgwot.reporting.figures.parameters import PlannedSweep, Scored, SweepPanel, SweepsPlan, table_with, tasks_of
from rgwot.reporting.figures.style import DASHES, GREY, Axes, Drawn, sheet, tell
from rgwot.reporting.figures.sweep import STAR, draw_curve
from rgwot.reporting.tables.spec import Metric

#: A thin line from a name to the height it stands for.
LEADER = {"arrowstyle": "-", "linewidth": 0.4, "color": "#999999", "shrinkA": 0, "shrinkB": 0, "relpos": (0, 0.5)}


#: A height on the axis, what is written at it, and in which colour.
End = tuple[float, str, str]


class GrowthPlan(SweepsPlan):
    """The plan of such a figure: also the answers that need no training."""

    levels: tuple[PlannedRun, ...] = ()


class Growth(Scored):
    """A score over the number of training videos, one line per method, with answers that need none as levels.

    ``names`` says what methods are called in print.
    """

    PLAN: ClassVar[type[Plan]] = GrowthPlan
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

    def plan(self, study: Study) -> Plan:
        """Return also the levels."""
        plan = super().plan(study)
        place = table_with(self.panel.table, [self.panel.dataset], study).datasets[self.panel.dataset]
        levels = tuple(
            run.planned(place.dataset, task, seed)
            for run in self.levels
            for task in tasks_of(place, study)
            for seed in study.config.seeds
        )
        return plan.model_copy(update={"levels": levels})

    def files(self, plan: GrowthPlan) -> Iterable[Path]:
        """Return also the scores of the levels."""
        yield from (run.at(paths.SCORES) for run in plan.levels)
        yield from super().files(plan)

    def draw(self, plan: GrowthPlan) -> Drawn:
        """Draw lines of measured scores, levels of answers without training, and what papers report at their size."""
        sweep, panel = plan.sweeps[0], self.panel
        table, scores = curves.read_rows(sweep.row_files), curves.sweep_scores(sweep)
        drawn, axes = sheet(height=3.6)
        axis = axes[0, 0]
        for number, (line, rows) in enumerate(curves.lines_of(sweep).items()):
            found = curves.curve(sweep, rows, table, scores, self.metric, self)
            draw_curve(axis, found, number, self.names.get(line, line))
        _beside(axis, [*self._levels(axis, plan), *self._reported(axis, sweep)])
        printed = {float(panel.reported.x)} if panel.reported and not isinstance(panel.reported.x, str) else set()
        sizes = sorted({row.value for row in sweep.rows if row.trained} | printed)
        axis.set_xticks(sizes, [f"{size:g}" for size in sizes])
        axis.set_xlabel(panel.label)
        axis.set_ylabel(f"{curves.PRINTED[self.metric]}, %")
        axis.set_ylim(bottom=0)
        drawn.legend(loc="outside lower center", ncols=6)
        band = "; line: mean over seeds (each draws its own videos), band: least to largest"
        about = f"{plan.about}{band if len(plan.seeds) > 1 else ''}; scored on all videos of the task"
        tell(drawn, self.title, f"{about}{curves.FINE_TUNED if panel.reported else ''}")
        return drawn

    def _levels(self, axis: Axes, plan: GrowthPlan) -> Iterator[End]:
        """Draw answers that need no training as horizontal lines; yield what is written at them."""
        from rgwot.records import read_scores

        for number, level in enumerate(self.levels):
            runs = [run for run in plan.levels if (run.method, run.decoder) == (level.method, level.decoder)]
            scores = read_scores([run.at(paths.SCORES) for run in runs])
            value = 100 * float(curves.seed_values(scores, runs, self.metric, self).mean())
            axis.axhline(value, color=GREY, linewidth=0.9, linestyle=DASHES[1 + number % (len(DASHES) - 1)])
            yield value, level.label, GREY

    def _reported(self, axis: Axes, sweep: PlannedSweep) -> Iterator[End]:
        """Mark what papers report at their number of videos; yield what is written at it."""
        reported = self.panel.reported
        if reported is None:
            return
        for method in self.reported_methods:
            one = reported.model_copy(update={"where": {**reported.where, "method": method}})
            for points in curves.reported_points(one, sweep, [self.metric]).values():
                for x, value in points:
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
