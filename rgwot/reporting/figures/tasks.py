"""Figures of single videos: which tasks, videos and runs they show."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from rgwot import paths
from rgwot.config.experiments import family_of
from rgwot.reporting.figures.interface import Figure, Plan, PlannedRun, Run, Study, settings_of
from rgwot.runtime.errors import RgwotError

Count = Annotated[int, Field(ge=1)]
#: Settings that drawings read, besides those of the transport; a change of any other redraws nothing.
SETTINGS = ("loss.tau", "cidm.beta", "train.N")


@dataclass(frozen=True)
class PlannedTask:
    """A task that is drawn: its runs, the videos wanted, and the settings of its first run as dotted keys."""

    dataset: str
    task: str
    key_steps: int | None
    videos: tuple[str, ...]
    runs: tuple[PlannedRun, ...]
    settings: dict[str, Any]

    def at(self, template: str) -> Path:
        """Return where one of its files is, by a template of `rgwot.paths`."""
        return paths.at(template, dataset=self.dataset, task=self.task)


@dataclass(frozen=True)
class TasksPlan(Plan):
    """The plan of a figure of single videos."""

    tasks: tuple[PlannedTask, ...]


class OfTasks(Figure):
    """A figure of single videos: ``tasks`` names those wanted, of which the configured ones are drawn.

    Where a task is not in the configuration, the first ones that are take its place; ``videos`` likewise, else the
    first scored ones. A kind names the files that it reads of its tasks and of their runs.
    """

    OF_TASK: ClassVar[tuple[str, ...]] = (paths.MANIFEST, paths.ANNOTATIONS)
    OF_RUN: ClassVar[tuple[str, ...]]
    EVERY_SEED: ClassVar[bool] = False
    #: How clusters got their steps, where they are shown.
    SCORING: ClassVar[str] = ""
    #: Protocols that a report can filter by.
    PROTOCOLS: ClassVar[str] = "–"

    dataset: str
    tasks: tuple[str, ...] = ()
    n_tasks: Count = 1
    videos: tuple[str, ...] = ()
    n_videos: Count = 1

    @property
    def wanted(self) -> tuple[Run, ...]:
        """The runs that are shown of every task."""
        raise NotImplementedError

    def plan(self, study: Study) -> TasksPlan:
        """Return the tasks that are drawn."""
        configured = study.tasks(self.dataset)
        chosen = sorted(configured, key=lambda task: self.tasks.index(task) if task in self.tasks else len(self.tasks))
        chosen = chosen[: self.n_tasks]
        seeds = study.config.seeds if self.EVERY_SEED else study.config.seeds[:1]
        names = [name for name in chosen if name != self.dataset]
        runs = ", ".join(dict.fromkeys(f"{run.label} = {run.method}" for run in self.wanted))
        shared = self.shared(
            study, {self.dataset: study.in_print(self.dataset)}, [", ".join(names), runs, self.SCORING], seeds,
            self.PROTOCOLS,
        )  # fmt: skip
        return TasksPlan(**shared, tasks=tuple(self._task(task, seeds, study) for task in chosen))

    def _task(self, task: str, seeds: tuple[int, ...], study: Study) -> PlannedTask:
        for run in self.wanted:
            family, trained = family_of(run.method), paths.HISTORY in self.OF_RUN
            if (trained and not family.trained) or (paths.EMBEDDINGS in self.OF_RUN and family.embedding == "none"):
                raise RgwotError(
                    f"figure {self.id!r}: run {run.label!r}: {family.name} {family.description}: expected a method "
                    f"with {'a training' if trained else 'an embedding'}"
                )
            study.check_task(self.dataset, task, run.method)
        settings = settings_of(study, self.wanted[0].method, None, self.dataset)
        return PlannedTask(
            self.dataset,
            task,
            study.key_steps(self.dataset, task),
            tuple(video for video in self.videos if video in study.videos(self.dataset, task)),
            tuple(run.planned(self.dataset, task, seed) for run in self.wanted for seed in seeds),
            {key: value for key, value in settings.items() if key.startswith("ot.") or key in SETTINGS},
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
