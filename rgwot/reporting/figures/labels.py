"""True and predicted labels of single videos as figures show them: which videos, which cluster is which step."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rgwot import paths
from rgwot.evaluation.metrics import IntArray
from rgwot.evaluation.protocols import unit
from rgwot.reporting.figures.interface import PlannedRun
from rgwot.reporting.figures.style import short
from rgwot.reporting.figures.tasks import PlannedTask
from rgwot.reporting.matching import STRIDE, partners
from rgwot.runtime.errors import RgwotError
from rgwot.timing import labels_at, runs

if TYPE_CHECKING:
    import pandas as pd

    from rgwot.evaluation.evaluate import LabelledVideo

#: Characters of the name of a video at most.
NAME = 40


@dataclass(frozen=True)
class TaskLabels:
    """What is annotated in a task, called ``where`` in errors; K_gt is as registered, else the largest annotated."""

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
        """Return what a video is called, cut where it is long, and how long the video is."""
        row = self.manifest[self.manifest["video"] == video].iloc[0]
        return f"{short(str(row['name']), NAME)} ({row['duration_s']:.0f} s)"

    def choose(self, wanted: Sequence[str], count: int, among: Collection[str], least: int = 1) -> list[str]:
        """Return the annotated videos to draw ``among`` some: those wanted first, then in the order of the manifest.

        Fewer than ``least`` are an `RgwotError`.
        """
        annotated = self.manifest.loc[self.manifest["status"] == "ok", "video"]
        scored = [video for video in annotated if video in among]
        chosen = [*(video for video in wanted if video in scored), *(video for video in scored if video not in wanted)]
        if len(chosen) < least:
            raise RgwotError(
                f"{self.where}: found {len(chosen)} annotated videos with features, expected at least {least} to draw; "
                f"see its manifest"
            )
        return chosen[:count]

    def at(self, video: str, times: NDArray[np.float64]) -> IntArray:
        """Return the annotated step of a video at some times (T,) in seconds, 0 where there is none."""
        return labels_at(self.annotations[self.annotations["video"] == video], times)

    def labelled(self, run: PlannedRun) -> tuple[dict[str, LabelledVideo], dict[str, Any]]:
        """Return the labels of every scored video, every `STRIDE`-th frame, and the diagnostics of the run."""
        from rgwot.evaluation.evaluate import label_videos
        from rgwot.records import read_diagnostics, read_segments

        # The two scopes are read as evaluation reads them, so that a figure cannot show other labels than were scored.
        videos, _, _ = label_videos(self.manifest, self.annotations, read_segments(run.at(paths.SEGMENTS)), STRIDE)
        return {video.name: video for video in videos}, read_diagnostics(run.at(paths.DIAGNOSTICS))


def matched_steps(truth: IntArray, prediction: IntArray, n_key_steps: int, n_clusters: int) -> IntArray:
    """Return the step (T,) that every frame's cluster is matched to (Hungarian, background a class; methods 6.1).

    ``truth`` (T,) are steps, 0 background, ``prediction`` (T,) any whole numbers; K_gt and K are how many there are. -1
    where the cluster has no partner, or shares no frame with it.

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
    found = zip(*(part.tolist() for part in runs(labels)), strict=True)
    return [(start / len(labels), end / len(labels), label) for label, start, end in found]


def evenly(length: int, count: int) -> IntArray:
    """Return ``count`` indices spread evenly over [0, length), the middles of as many equal parts.

    >>> evenly(8, 4).tolist(), evenly(2, 4).tolist()
    ([1, 3, 5, 7], [0, 0, 1, 1])
    """
    return np.floor((np.arange(count) + 0.5) * length / count).astype(np.int64)
