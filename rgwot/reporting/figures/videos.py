"""Single videos in figures: which tasks and runs are drawn, their steps, and the transport between two."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rgwot import paths
from rgwot.config.experiments import family_of
from rgwot.config.settings import EXECUTION
from rgwot.diagnostics import Diagnostics
from rgwot.evaluation.metrics import IntArray
from rgwot.evaluation.protocols import unit
from rgwot.losses.settings import PROBLEM
from rgwot.names import STRIDE, partners
from rgwot.paths import Run, Tree
from rgwot.reporting.figures.drawing import Drawing, drawing
from rgwot.reporting.figures.style import Drawn, short
from rgwot.reporting.tables.table import Place, Row, canonical
from rgwot.runtime.errors import RgwotError
from rgwot.study.datasets import known_K, tasks
from rgwot.study.refusals import check_task
from rgwot.study.study import Study, Task
from rgwot.timing import labels_at, runs

if TYPE_CHECKING:
    import pandas as pd

    from rgwot.embedding.interface import EmbeddedVideo
    from rgwot.evaluation.evaluate import LabelledVideo

Array = NDArray[np.float64]
#: Largest number of characters of the name of a video.
LONGEST_VIDEO_NAME = 40
#: The files of a task that figures of single videos read.
OF_TASK = (paths.MANIFEST, paths.ANNOTATIONS)
Labelled = tuple[tuple[str, Run], ...]
"""Runs with their labels."""


def tasks_to_draw(study: Study, place: Place, first: Sequence[str] = (), count: int = 1) -> list[Tree]:
    """Return up to ``count`` tasks of a dataset: those in ``first``, then others as in the configuration."""
    names = tasks(study, place.dataset)
    chosen = [name for name in first if name in names] + [name for name in names if name not in first]
    return [Tree(Path(paths.RESULTS), place.dataset, name) for name in chosen[:count]]


def runs_to_draw(study: Study, task: Tree, rows: Sequence[Row], seeds: Sequence[int], *, trained: bool) -> Labelled:
    """Return the runs of some rows on a task with their labels.

    Raises RgwotError if the method of a row has no embedding (or, if ``trained``, trains no encoder), or if the task is
    not configured.
    """
    runs = []
    for row in (canonical(study, row) for row in rows):
        family = family_of(row.method)
        if not (family.trained if trained else family.name != "none"):
            expected = "trains an encoder" if trained else "has an embedding"
            raise RgwotError(f"run {row.label!r}: found method {family.name!r}, expected one that {expected}")
        check_task(Task(study, task.dataset, task.task), row.method)
        runs += [(row.label, Run(row.method, row.decoder, seed)) for seed in seeds]
    return tuple(runs)


def told(tasks: Sequence[Tree], runs: Labelled) -> list[str]:
    """Return the names of tasks, unless they are named like their dataset, and the methods of the runs."""
    names = [task.task for task in tasks if task.task != task.dataset]
    return [", ".join(names), ", ".join(dict.fromkeys(f"{label} = {run.method}" for label, run in runs))]


def settings_behind(study: Study, method: str, dataset: str) -> dict[str, Any]:
    """Return the settings of a method as dotted keys, without those that affect no result."""
    return {key: value for key, value in study.experiments.values(method, dataset).items() if key not in EXECUTION}


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
    def of(cls, task: Tree, key_steps: int | None) -> TaskLabels:
        """Read the tables of a task with a registered number of key steps, if any."""
        from rgwot.records import read_annotations, read_manifest

        annotations = read_annotations(task.at(paths.ANNOTATIONS))
        n_key_steps = max([key_steps or 1, *annotations["key_step"].tolist()])
        return cls(f"{task.dataset}/{task.task}", read_manifest(task.at(paths.MANIFEST)), annotations, n_key_steps)

    def name(self, video: str) -> str:
        """Return the name of a video, cut if it is too long, and the duration of the video."""
        row = self.manifest[self.manifest["video"] == video].iloc[0]
        return f"{short(str(row['name']), LONGEST_VIDEO_NAME)} ({row['duration_s']:.0f} s)"

    def choose(self, count: int, among: Collection[str]) -> list[str]:
        """Return the first ``count`` annotated videos of ``among``, in the order of the manifest.

        Raises RgwotError if there are fewer.
        """
        annotated = self.manifest.loc[self.manifest["status"] == "ok", "video"]
        chosen = [video for video in annotated if video in among]
        if len(chosen) < count:
            raise RgwotError(
                f"{self.where}: found {len(chosen)} annotated videos with features, expected at least {count} to draw; "
                f"see the manifest of the task"
            )
        return chosen[:count]

    def at(self, video: str, times: NDArray[np.float64]) -> IntArray:
        """Return the annotated step of a video at some times (T,) in seconds, 0 where there is none."""
        return labels_at(self.annotations[self.annotations["video"] == video], times)

    def labelled(self, task: Tree, run: Run) -> tuple[dict[str, LabelledVideo], Diagnostics]:
        """Return the labels of every scored video at every `STRIDE`-th frame, and the diagnostics of the run."""
        from rgwot.evaluation.evaluate import label_videos
        from rgwot.records import read_diagnostics, read_segments

        # The two scopes are read as evaluation reads them, so that a figure shows exactly the labels that were scored.
        videos, _, _ = label_videos(
            self.manifest, self.annotations, read_segments(task.at(paths.SEGMENTS, run)), STRIDE
        )
        return {video.name: video for video in videos}, read_diagnostics(task.at(paths.DIAGNOSTICS, run))


def matched_steps(truth: IntArray, prediction: IntArray, n_key_steps: int, n_clusters: int) -> IntArray:
    """Return the annotated step (T,) that matches each frame's cluster (Hungarian, background a class; methods 6.1).

    ``truth`` (T,) are steps, 0 background, ``prediction`` (T,) any whole numbers; ``n_key_steps`` is K_gt,
    ``n_clusters`` K. The result is -1 if the cluster has no partner, or shares no frame with it.

    >>> matched_steps(np.array([0, 0, 2, 2]), np.array([7, 7, 7, 1]), 2, 3).tolist()
    [0, 0, 0, 2]
    """
    classes, clusters, n_classes, _ = unit(truth, prediction, n_key_steps, n_clusters)
    steps = partners(classes, clusters, n_classes, n_clusters)
    return np.array([steps.get(cluster, -1) for cluster in range(n_clusters)])[clusters]


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


def side_of(video: str, embedded: EmbeddedVideo, labels: TaskLabels, n: int) -> Side:
    """Return ``n`` frames spread evenly over an embedded video."""
    frames = evenly(len(embedded.time_s), n)
    times = embedded.time_s[frames]
    steps = labels.at(video, times)
    return Side(video, labels.name(video), embedded.embedding[frames], times, embedded.duration_s, steps)


class Pair(NamedTuple):
    """Two videos to draw: their task and run, and its settings as dotted keys."""

    task: Tree
    run: Run
    settings: dict[str, Any]
    key_steps: int | None

    def labels(self) -> TaskLabels:
        """Read the annotations of the task."""
        return TaskLabels.of(self.task, self.key_steps)

    def read(self, n: int) -> tuple[Side, Side]:
        """Read ``n`` frames of each of the first two annotated videos with embeddings."""
        from rgwot.stages.embed import read_embeddings

        labels, embedded = self.labels(), read_embeddings(self.task.at(paths.EMBEDDINGS, self.run)).videos
        first, second = labels.choose(2, embedded)
        return side_of(first, embedded[first], labels, n), side_of(second, embedded[second], labels, n)


def of_pair(
    study: Study, draw: Callable[..., Drawn], dataset: Place, row: Row, *more: Any, caption: str,
    reads: Sequence[str] = (paths.EMBEDDINGS,), scoring: str = "",
) -> Drawing:  # fmt: skip
    """Return a figure of two videos of a task and a run, drawn by ``draw(title, about, Pair, *more)``.

    ``reads`` are the files of the run that are read, and ``scoring`` says how clusters were matched with steps.
    """
    (task,) = tasks_to_draw(study, dataset)
    seed = study.config.seeds[0]
    runs = runs_to_draw(study, task, [row], [seed], trained=False)
    run = runs[0][1]
    settings = settings_behind(study, run.method, task.dataset)
    pair = Pair(task, run, settings, known_K(Task(study, task.dataset, task.task)))
    files = [*map(task.at, OF_TASK), *(task.at(file, run) for file in reads)]
    notes = [*told([task], runs), scoring]
    return drawing(study, draw, (pair, *more), files, caption=caption, places=[dataset], notes=notes, seeds=[seed])


def named(pair: tuple[Side, Side]) -> str:
    """Say which video is called X and which Y."""
    return f"X = {pair[0].name}, Y = {pair[1].name}"


def shares(plan: Array) -> Array:
    """Return the share of each real frame of X that goes to each frame of Y, (N, M + 1), with the virtual frame first.

    >>> shares(np.array([[0.1, 0.1], [0.2, 0.6]])).tolist()
    [[0.25, 0.7499999999999999]]
    """
    real = plan[1:]
    return np.asarray(real / real.sum(axis=1, keepdims=True))


def transport(x: Side, y: Side, settings: Mapping[str, Any], **changes: Any) -> tuple[Array, Array]:
    """Solve the transport between two videos with a method's dotted settings of ``ot``, as a training step does.

    ``changes`` are keys that differ, such as ``solver="parity", r=0.1``; the virtual frame always has a constant cost.
    Returns cost and plan, (N + 1, M + 1) with the virtual frame first.
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
    return cost[0].numpy(), plan[0].numpy()
