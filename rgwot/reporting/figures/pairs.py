"""Transport between one pair of videos as figures show it: frames spread evenly, their true steps, and the plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rgwot.evaluation.metrics import IntArray
from rgwot.keysteps.decode import read_embeddings
from rgwot.reporting.figures.labels import TaskLabels, evenly, labels_at
from rgwot.reporting.figures.plan import PlannedTask

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Side:
    """One video of a pair: N frames spread evenly over it.

    Attributes
    ----------
    video, name
        Its id, and what it is called with its length.
    x
        (N, D) embeddings.
    time_s, duration_s
        (N,) times of the frames and length of the video, seconds.
    steps
        (N,) true steps, 0 background.
    """

    video: str
    name: str
    x: Array
    time_s: Array
    duration_s: float
    steps: IntArray


@dataclass(frozen=True)
class PairPlan:
    """Cost and plan of a pair, (N + 1, M + 1) with the virtual frame first."""

    cost: Array
    plan: Array

    def to_virtual(self) -> tuple[float, float]:
        """Return the share of the mass of the real frames of X, and of Y, that goes to the virtual frame."""
        return virtual_share(self.plan), virtual_share(self.plan.T)


def virtual_share(plan: Array) -> float:
    """Return the share of the mass of the real rows of a plan (N + 1, M + 1) that lies in its first column.

    >>> virtual_share(np.array([[0.1, 0.1], [0.2, 0.6]]))
    0.25
    """
    real = plan[1:]
    return float(real[:, 0].sum() / real.sum())


def read_pair(task: PlannedTask, labels: TaskLabels, n: int) -> tuple[Side, Side]:
    """Read the first two videos to draw, ``n`` frames of each.

    Raises
    ------
    RgwotError
        When fewer than two annotated videos have embeddings.
    """
    run = task.runs[0]
    embedded = read_embeddings(run.path("embeddings")).videos
    chosen = labels.choose(task.videos, 2, embedded, least=2)
    first, second = (_side(video, embedded[video], labels, n) for video in chosen)
    return first, second


def _side(video: str, embedded: Any, labels: TaskLabels, n: int) -> Side:
    frames = evenly(len(embedded.time_s), n)
    times = embedded.time_s[frames]
    steps = labels_at(labels.annotations, video, times)
    return Side(video, labels.name(video), embedded.embedding[frames], times, embedded.duration_s, steps)


def transport(x: Side, y: Side, settings: Mapping[str, Any], **changes: Any) -> PairPlan:
    """Solve the transport between two videos with the settings of a method, as a training step does.

    Parameters
    ----------
    x, y
        The two videos.
    settings
        Dotted keys; those of ``ot`` are read. The virtual frame is always one of constant cost here.
    **changes
        Keys of ``ot`` that differ, such as ``solver="parity", r=0.1``.
    """
    import torch

    from rgwot.transport import add_virtual_frame, align_frames, cosine_cost, relative_positions, temporal_prior

    ot = {key.removeprefix("ot."): value for key, value in settings.items() if key.startswith("ot.")} | changes
    places = (
        (torch.from_numpy(x.time_s / x.duration_s), torch.from_numpy(y.time_s / y.duration_s))
        if ot.pop("prior_time") == "times"
        else (relative_positions(len(x.x), dtype=torch.float64), relative_positions(len(y.x), dtype=torch.float64))
    )
    ot["virtual"] = "cost"
    known = (
        "alpha", "epsilon", "rho", "r", "zeta", "solver", "virtual", "max_iterations", "tolerance",
    )  # fmt: skip
    first, second = (torch.from_numpy(np.ascontiguousarray(side.x))[None] for side in (x, y))
    solved = align_frames(
        first, second, **{key: ot[key] for key in known}, x_positions=places[0], y_positions=places[1]
    )
    cost = add_virtual_frame(cosine_cost(first, second) + ot["rho"] * temporal_prior(*places), ot["zeta"])
    return PairPlan(cost[0].numpy(), solved.transport.plan[0].double().numpy())
