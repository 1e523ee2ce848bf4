"""What one figure is drawn from: the runs and files behind it in one configuration, and what it says of itself.

The workflow plans with this and hands it on as JSON, so a drawing reads exactly the files that were planned for it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rgwot import paths
from rgwot.reporting.figures.spec import (
    AnyFigure,
    Bars,
    Figure,
    Growth,
    Losses,
    Overview,
    Protocols,
    Scored,
    Sweep,
    SweepPanel,
    Teaser,
    TransportPlans,
)
from rgwot.reporting.tables.models import Part
from rgwot.runtime.arguments import argument, unpacked
from rgwot.runtime.errors import RgwotError

PLACES = {
    "manifest": paths.MANIFEST,
    "annotations": paths.ANNOTATIONS,
    "history": paths.HISTORY,
    "embeddings": paths.EMBEDDINGS,
    "segments": paths.SEGMENTS,
    "diagnostics": paths.DIAGNOSTICS,
    "order": paths.ORDER,
    "procedures": paths.PROCEDURES,
    "scores": paths.SCORES,
}
#: What a figure of single videos reads of its task, and of every run.
READS: dict[type[Figure], tuple[tuple[str, ...], tuple[str, ...]]] = {
    Teaser: (("manifest", "annotations"), ("embeddings", "segments", "diagnostics", "order", "procedures")),
    Overview: (("manifest", "annotations"), ("embeddings",)),
    Bars: (("manifest", "annotations"), ("segments", "diagnostics")),
    TransportPlans: (("manifest", "annotations"), ("embeddings",)),
    Losses: ((), ("history",)),
}


def row_path(table: str, row: str) -> Path:
    """Return where a row of a table lies; figures read rows, so that a figure of some waits for no others."""
    return paths.at(paths.ROW, table=table, row=row)


def sweep_panels(figure: Figure) -> tuple[SweepPanel, ...]:
    """Return the panels of a figure that draw swept tables."""
    return figure.panels if isinstance(figure, Sweep) else (figure.panel,) if isinstance(figure, Growth) else ()


class PlannedRun(Part):
    """One run: a method and decoder on a task, with a seed."""

    label: str
    method: str
    decoder: str
    dataset: str
    task: str
    seed: int

    def path(self, what: str) -> Path:
        """Return where one of the files of `PLACES` lies."""
        return paths.at(PLACES[what], **self.model_dump())


class PlannedTask(Part):
    """A task that is drawn: its runs, the videos wanted, and the settings of its first run as dotted keys."""

    dataset: str
    label: str
    task: str
    key_steps: int | None
    videos: tuple[str, ...]
    runs: tuple[PlannedRun, ...]
    settings: dict[str, Any]

    def path(self, what: str) -> Path:
        """Return where the manifest or the annotations lie."""
        return paths.at(PLACES[what], dataset=self.dataset, task=self.task)


class PlannedVideo(Part):
    """One video whose features are drawn."""

    label: str
    dataset: str
    task: str
    video: str

    @property
    def features(self) -> Path:
        """Where its feature store lies."""
        return paths.at(paths.FEATURES, dataset=self.dataset, task=self.task, video=self.video)


class PlannedRow(Part):
    """A row of a swept table: the value of the swept key, its line, whether it is trained, and the runs behind it."""

    id: str
    line: str
    trained: bool
    value: float
    runs: tuple[PlannedRun, ...]


class PlannedSweep(Part):
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
    def rows_at(self) -> list[Path]:
        """Where its rows lie."""
        return [row_path(self.table, row.id) for row in self.rows]


class Plan(Part):
    """A figure with everything it is drawn from.

    ``about`` is one line on data, protocol and seeds that stands in the figure and in its caption; ``settings`` is one
    on settings that stands in the caption; ``data`` are the datasets as they are called in print.
    """

    figure: AnyFigure
    seeds: tuple[int, ...]
    about: str
    settings: str = ""
    data: tuple[str, ...] = ()
    tasks: tuple[PlannedTask, ...] = ()
    videos: tuple[PlannedVideo, ...] = ()
    sweeps: tuple[PlannedSweep, ...] = ()
    levels: tuple[PlannedRun, ...] = ()
    rows: dict[str, str] = {}
    trivial: tuple[str, ...] = ()
    places: dict[str, str] = {}

    def caption(self) -> list[str]:
        """Return what a report says of the figure, paragraph by paragraph."""
        return [f"{self.figure.title}. {self.figure.SHOWS}", self.about, *([self.settings] if self.settings else [])]

    def labels(self) -> dict[str, str]:
        """Return what a report is filtered by."""
        protocol: str = self.figure.protocol if isinstance(self.figure, Scored) else "–"
        if isinstance(self.figure, Protocols):
            protocol = "all"
        elif isinstance(self.figure, Bars) and self.figure.beside == "scores":
            protocol = "micro_video, macro_video"
        seeds = ", ".join(map(str, self.seeds))
        return {"figure": self.figure.id, "data": ", ".join(self.data), "protocol": protocol, "seeds": seeds}

    def files(self) -> list[str]:
        """Return every file the drawing reads."""
        of_task, of_run = READS.get(type(self.figure), ((), ()))
        found = [task.path(what) for task in self.tasks for what in of_task]
        found += [run.path(what) for task in self.tasks for run in task.runs for what in of_run]
        found += [video.features for video in self.videos]
        found += [run.path("scores") for run in self.levels]
        for sweep in self.sweeps:
            found += sweep.rows_at
            found += [run.path("scores") for row in sweep.rows for run in row.runs]
            if isinstance(self.figure, Sweep) and self.figure.collapse:
                found += [run.path("diagnostics") for row in sweep.rows if row.trained for run in row.runs]
        if isinstance(self.figure, Protocols):
            found += [row_path(self.figure.table, row) for row in self.rows]
        found += [panel.reported.file for panel in sweep_panels(self.figure) if panel.reported]
        return list(dict.fromkeys(map(str, found)))


def plan_text(plan: Plan) -> str:
    """Return a plan as the argument of a command, JSON or packed JSON (`argument`)."""
    return argument(plan.model_dump_json(exclude_defaults=True), f"plan of figure {plan.figure.id!r}")


def read_plan(text: str) -> Plan:
    """Read a plan from the JSON that the workflow hands on, packed where it is long (`plan_text`).

    Raises
    ------
    RgwotError
        When it is no such JSON.
    """
    try:
        return Plan.model_validate_json(unpacked(text))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise RgwotError(
            f"--plan: {place}: {first['msg']}; expected the plan that a log of the workflow shows"
        ) from None
    except ValueError as error:
        raise RgwotError(f"--plan: {error}; expected the plan that a log of the workflow shows, all of it") from None
