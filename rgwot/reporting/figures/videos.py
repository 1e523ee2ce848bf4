"""Figures of single videos: which tasks, videos and runs they show, their steps, and the transport between two."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rgwot import paths
from rgwot.config.experiments import family_of
from rgwot.config.settings import EXECUTION, flatten
from rgwot.evaluation.metrics import IntArray
from rgwot.evaluation.protocols import unit
from rgwot.losses.settings import PROBLEM
from rgwot.reporting.figures.figure import Figure, Plan, PlannedRun, planned_runs
from rgwot.reporting.figures.style import short
from rgwot.reporting.names import STRIDE, partners
from rgwot.reporting.tables.table import Place, Row, once
from rgwot.runtime.errors import RgwotError
from rgwot.study.datasets import known_K, tasks, videos
from rgwot.study.jobs import check_task
from rgwot.study.study import Study
from rgwot.timing import labels_at, runs

if TYPE_CHECKING:
    import pandas as pd

    from rgwot.evaluation.evaluate import LabelledVideo

Array = NDArray[np.float64]
#: Largest number of characters of the name of a video.
LONGEST_VIDEO_NAME = 40


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


Tasks = Plan[tuple[PlannedTask, ...]]
"""The plan of a figure of single videos."""


@dataclass(frozen=True, kw_only=True)
class OfTasks(Figure):
    """A figure of single videos and one or several runs.

    The figure draws ``n_tasks`` tasks: the named ``tasks`` that exist, then others in the order of the configuration.
    Videos are chosen likewise among the annotated ones: the named ``videos``, then others in the order of the manifest.
    Each class lists the files that it reads of a task and of a run.
    """

    OF_TASK: ClassVar[tuple[str, ...]] = (paths.MANIFEST, paths.ANNOTATIONS)
    OF_RUN: ClassVar[tuple[str, ...]]
    EVERY_SEED: ClassVar[bool] = False
    #: How clusters were matched with steps, if the figure shows steps.
    SCORING: ClassVar[str] = ""
    #: Protocols that a report can filter by.
    PROTOCOLS: ClassVar[str] = "–"

    dataset: Place
    runs: Sequence[Row]
    tasks: Sequence[str] = ()
    n_tasks: int = 1
    videos: Sequence[str] = ()

    def __post_init__(self) -> None:
        once("runs", [run.id for run in self.runs])

    def plan(self, study: Study) -> Tasks:
        """Return the tasks that are drawn."""
        dataset, first = self.dataset.dataset, list(self.tasks)
        chosen = sorted(tasks(study, dataset), key=lambda task: first.index(task) if task in first else len(first))
        seeds = study.config.seeds if self.EVERY_SEED else study.config.seeds[:1]
        drawn = tuple(self._task(task, seeds, study) for task in chosen[: self.n_tasks])
        files = [task.at(template) for task in drawn for template in self.OF_TASK]
        files += [run.at(template) for task in drawn for run in task.runs for template in self.OF_RUN]
        names = [pair.task for pair in drawn if pair.task != dataset]
        methods = ", ".join(dict.fromkeys(f"{run.label} = {run.method}" for run in self.runs))
        notes = [", ".join(names), methods, self.SCORING]
        return self.planned(study, drawn, files, [self.dataset], notes, seeds, self.PROTOCOLS)

    def _task(self, task: str, seeds: tuple[int, ...], study: Study) -> PlannedTask:
        dataset = self.dataset.dataset
        for run in self.runs:
            family, trained = family_of(run.method), paths.HISTORY in self.OF_RUN
            if (trained and not family.trained) or (paths.EMBEDDINGS in self.OF_RUN and family.embedding == "none"):
                raise RgwotError(
                    f"figure {self.id!r}: run {run.label!r}: found method {family.name!r}, expected one that "
                    f"{'trains an encoder' if trained else 'has an embedding'}"
                )
            check_task(study, dataset, task, run.method)
        settings = flatten(
            study.experiments.settings(self.runs[0].method, None, dataset).model_dump(by_alias=True, mode="json")
        )
        return PlannedTask(
            dataset,
            task,
            known_K(study, dataset, task),
            tuple(video for video in self.videos if video in videos(study, dataset, task)),
            tuple(planned for run in self.runs for planned in planned_runs(run, [(dataset, task)], seeds)),
            {key: value for key, value in settings.items() if key not in EXECUTION},
        )


@dataclass(frozen=True)
class TaskLabels:
    """Annotations of a task; messages of errors begin with its name, ``where``.

    ``n_key_steps`` is the registered number of key steps, or the largest annotated one if that is larger.
    """

    where: str
    manifest: pd.DataFrame
    annotations: pd.DataFrame
    n_key_steps: int

    @classmethod
    def of(cls, task: PlannedTask) -> TaskLabels:
        """Read the tables of a planned task."""
        from rgwot.records import read_annotations, read_manifest

        annotations = read_annotations(task.at(paths.ANNOTATIONS))
        n_key_steps = max([task.key_steps or 1, *annotations["key_step"].tolist()])
        return cls(f"{task.dataset}/{task.task}", read_manifest(task.at(paths.MANIFEST)), annotations, n_key_steps)

    def name(self, video: str) -> str:
        """Return the name of a video, cut if it is too long, and the duration of the video."""
        row = self.manifest[self.manifest["video"] == video].iloc[0]
        return f"{short(str(row['name']), LONGEST_VIDEO_NAME)} ({row['duration_s']:.0f} s)"

    def choose(self, first: Sequence[str], count: int, among: Collection[str], least: int = 1) -> list[str]:
        """Return up to ``count`` annotated videos of ``among``: those in ``first``, then others as in the manifest.

        Raises RgwotError if fewer than ``least`` of ``among`` are annotated.
        """
        annotated = self.manifest.loc[self.manifest["status"] == "ok", "video"]
        scored = [video for video in annotated if video in among]
        chosen = [
            *(video for video in first if video in scored),
            *(video for video in scored if video not in first),
        ]
        if len(chosen) < least:
            raise RgwotError(
                f"{self.where}: found {len(chosen)} annotated videos with features, expected at least {least} to draw; "
                f"see the manifest of the task"
            )
        return chosen[:count]

    def at(self, video: str, times: NDArray[np.float64]) -> IntArray:
        """Return the annotated step of a video at some times (T,) in seconds, 0 where there is none."""
        return labels_at(self.annotations[self.annotations["video"] == video], times)

    def labelled(self, run: PlannedRun) -> tuple[dict[str, LabelledVideo], dict[str, Any]]:
        """Return the labels of every scored video at every `STRIDE`-th frame, and the diagnostics of the run."""
        from rgwot.evaluation.evaluate import label_videos
        from rgwot.records import read_diagnostics, read_segments

        # The two scopes are read as evaluation reads them, so that a figure cannot show other labels than were scored.
        videos, _, _ = label_videos(self.manifest, self.annotations, read_segments(run.at(paths.SEGMENTS)), STRIDE)
        return {video.name: video for video in videos}, read_diagnostics(run.at(paths.DIAGNOSTICS))


def matched_steps(truth: IntArray, prediction: IntArray, n_key_steps: int, n_clusters: int) -> IntArray:
    """Return the annotated step (T,) that matches each frame's cluster (Hungarian, background a class; methods 6.1).

    ``truth`` (T,) are steps, 0 background, ``prediction`` (T,) any whole numbers; ``n_key_steps`` is K_gt,
    ``n_clusters`` K. The result is -1 if the cluster has no partner, or shares no frame with it.

    >>> matched_steps(np.array([0, 0, 2, 2]), np.array([7, 7, 7, 1]), 2, 3).tolist()
    [0, 0, 0, 2]
    """
    scoring = unit(truth, prediction, n_key_steps, n_clusters)
    steps = partners(*scoring)
    return np.array([steps.get(cluster, -1) for cluster in range(scoring.n_clusters)])[scoring.prediction]


def stretches(labels: NDArray[Any]) -> list[tuple[float, float, int]]:
    """Return runs of equal labels (T,) as (start, end, label), in shares of the whole.

    >>> stretches(np.array([0, 0, 3, 0]))
    [(0.0, 0.5, 0), (0.5, 0.75, 3), (0.75, 1.0, 0)]
    """
    triples = zip(*(part.tolist() for part in runs(labels)), strict=True)
    return [(start / len(labels), end / len(labels), label) for label, start, end in triples]


def evenly(length: int, count: int) -> IntArray:
    """Return ``count`` indices spread evenly over [0, length), the middles of as many equal parts.

    >>> evenly(8, 4).tolist(), evenly(2, 4).tolist()
    ([1, 3, 5, 7], [0, 0, 1, 1])
    """
    return np.floor((np.arange(count) + 0.5) * length / count).astype(np.int64)


class Side(NamedTuple):
    """One video of a pair: N frames spread evenly over it.

    ``x`` are their embeddings (N, D), ``time_s`` their times (N,) in seconds, ``steps`` their true steps (N,), 0
    background; ``duration_s`` is the length of the video, ``name`` its name with the length.
    """

    video: str
    name: str
    x: Array
    time_s: Array
    duration_s: float
    steps: IntArray


class PairPlan(NamedTuple):
    """Cost and plan of a pair, (N + 1, M + 1) with the virtual frame first."""

    cost: Array
    plan: Array


def read_pair(task: PlannedTask, labels: TaskLabels, n: int) -> tuple[Side, Side]:
    """Read the first two annotated videos to draw that have embeddings, ``n`` frames of each."""
    from rgwot.stages.embed import read_embeddings

    embedded = read_embeddings(task.runs[0].at(paths.EMBEDDINGS)).videos
    sides = []
    for video in labels.choose(task.videos, 2, embedded, least=2):
        whole = embedded[video]
        frames = evenly(len(whole.time_s), n)
        times = whole.time_s[frames]
        steps = labels.at(video, times)
        sides.append(Side(video, labels.name(video), whole.embedding[frames], times, whole.duration_s, steps))
    return sides[0], sides[1]


def named(pair: tuple[Side, Side]) -> str:
    """Say which video is called X and which Y."""
    return f"X = {pair[0].name}, Y = {pair[1].name}"


def shares(plan: Array) -> Array:
    """Return the share of each real frame of X that goes to each frame of Y, (N, M + 1); the virtual one first.

    >>> shares(np.array([[0.1, 0.1], [0.2, 0.6]])).tolist()
    [[0.25, 0.7499999999999999]]
    """
    real = plan[1:]
    return np.asarray(real / real.sum(axis=1, keepdims=True))


def transport(x: Side, y: Side, settings: Mapping[str, Any], **changes: Any) -> PairPlan:
    """Solve the transport between two videos with a method's dotted settings of ``ot``, as a training step does.

    ``changes`` are keys that differ, such as ``solver="parity", r=0.1``; the virtual frame always has a constant cost.
    """
    import torch

    from rgwot.transport import solve
    from rgwot.transport.matching import alignment_cost

    ot = {key.removeprefix("ot."): value for key, value in settings.items()} | changes
    timed = ot["prior_time"] == "times"
    places = (torch.from_numpy(side.time_s / side.duration_s) if timed else None for side in (x, y))
    first, second = (torch.from_numpy(np.ascontiguousarray(side.x))[None] for side in (x, y))
    cost = alignment_cost(first, second, ot["rho"], ot["zeta"], "cost", *places)
    plan = solve(cost, **{key: ot[key] for key in PROBLEM - {"rho", "zeta", "virtual"}}).plan
    return PairPlan(cost[0].numpy(), plan[0].numpy())
