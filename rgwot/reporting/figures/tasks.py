"""Figures of single videos: which tasks, videos and runs they show."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from rgwot import paths
from rgwot.config.experiments import family_of
from rgwot.reporting.entries import Part
from rgwot.reporting.figures.interface import Figure, Plan, PlannedRun, Run, Study, seeding, settings_of
from rgwot.runtime.errors import RgwotError

Count = Annotated[int, Field(ge=1)]
#: Settings that drawings read, besides those of the transport; a change of any other redraws nothing.
SETTINGS = ("loss.tau", "cidm.beta", "train.N")


class PlannedTask(Part):
    """A task that is drawn: its runs, the videos wanted, and the settings of its first run as dotted keys."""

    dataset: str
    label: str
    task: str
    key_steps: int | None
    videos: tuple[str, ...]
    runs: tuple[PlannedRun, ...]
    settings: dict[str, Any]

    def at(self, template: str) -> Path:
        """Return where one of its files lies, by a template of `rgwot.paths`."""
        return paths.at(template, dataset=self.dataset, task=self.task)


class TasksPlan(Plan):
    """The plan of a figure of single videos."""

    tasks: tuple[PlannedTask, ...]


class OfTasks(Figure):
    """A figure of single videos: ``tasks`` names those wanted, of which the configured ones are drawn.

    Where a task is not in the configuration, the first ones that are take its place; ``videos`` likewise, else the
    first scored ones. A kind names the files that it reads of its tasks and of their runs.
    """

    PLAN: ClassVar[type[Plan]] = TasksPlan
    OF_TASK: ClassVar[tuple[str, ...]] = (paths.MANIFEST, paths.ANNOTATIONS)
    OF_RUN: ClassVar[tuple[str, ...]]
    EVERY_SEED: ClassVar[bool] = False
    #: How clusters got their steps, where they are shown.
    SCORING: ClassVar[str] = ""

    dataset: str
    tasks: tuple[str, ...] = ()
    n_tasks: Count = 1
    videos: tuple[str, ...] = ()
    n_videos: Count = 1
    kind: str

    @property
    def wanted(self) -> tuple[Run, ...]:
        """The runs that are shown of every task."""
        raise NotImplementedError

    def plan(self, study: Study) -> Plan:
        """Return the tasks that are drawn."""
        configured = study.tasks(self.dataset)
        wanted = [task for task in self.tasks if task in configured]
        chosen = [*wanted, *(task for task in configured if task not in wanted)][: self.n_tasks]
        seeds = study.config.seeds if self.EVERY_SEED else study.config.seeds[:1]
        tasks = tuple(self._task(task, seeds, study) for task in chosen)
        label, names = study.in_print(self.dataset), ", ".join(chosen)
        said = [
            label if names == self.dataset else f"{label}: {names}",
            ", ".join(dict.fromkeys(f"{run.label} = {run.method}" for run in self.wanted)),
            self.SCORING,
            seeding(seeds),
        ]
        runs = [run for task in tasks for run in task.runs]
        return self.planned(study, {self.dataset: label}, said, seeds, runs, tasks=tasks)

    def _task(self, task: str, seeds: tuple[int, ...], study: Study) -> PlannedTask:
        videos = study.videos(self.dataset, task)
        for run in self.wanted:
            family = family_of(run.method)
            trained = paths.HISTORY in self.OF_RUN
            if (trained and not family.trained) or (paths.EMBEDDINGS in self.OF_RUN and family.embedding == "none"):
                raise RgwotError(
                    f"figure {self.id!r}: run {run.label!r}: {family.name} {family.description}: expected a method "
                    f"with {'a training' if trained else 'an embedding'}"
                )
            study.check_task(self.dataset, task, run.method)
        settings = settings_of(study, self.wanted[0].method, None, self.dataset)
        return PlannedTask(
            dataset=self.dataset,
            label=study.in_print(self.dataset),
            task=task,
            key_steps=study.key_steps(self.dataset, task),
            videos=tuple(video for video in self.videos if video in videos),
            runs=tuple(run.planned(self.dataset, task, seed) for run in self.wanted for seed in seeds),
            settings={key: value for key, value in settings.items() if key.startswith("ot.") or key in SETTINGS},
        )

    def files(self, plan: TasksPlan) -> Iterable[Path]:
        """Return the files of the tasks, then of their runs."""
        yield from (task.at(template) for task in plan.tasks for template in self.OF_TASK)
        yield from (run.at(template) for task in plan.tasks for run in task.runs for template in self.OF_RUN)


class OfRun(OfTasks):
    """A figure of two videos of one run."""

    n_videos: Literal[2] = 2
    run: Run

    @property
    def wanted(self) -> tuple[Run, ...]:
        """The one run."""
        return (self.run,)


class OfRuns(OfTasks):
    """A figure that compares runs."""

    runs: Annotated[tuple[Run, ...], Field(min_length=1)]

    @property
    def wanted(self) -> tuple[Run, ...]:
        """The runs, as they are."""
        return self.runs
