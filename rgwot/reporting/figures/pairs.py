"""Transport between one pair of videos as figures show it: frames spread evenly, their true steps, and the plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rgwot import paths
from rgwot.evaluation.metrics import IntArray
from rgwot.reporting.figures.videos import PlannedTask, TaskLabels, evenly

Array = NDArray[np.float64]
#: Settings of the block ``ot`` that the solver of RGWOT reads.
PROBLEM = {"alpha", "epsilon", "rho", "r", "zeta", "solver", "virtual", "max_iterations", "tolerance"}


class Side(NamedTuple):
    """One video of a pair: N frames spread evenly over it.

    ``x`` are their embeddings (N, D), ``time_s`` their times (N,) of the ``duration_s`` seconds, ``steps`` their true
    steps (N,), 0 background; ``name`` says what the video is called and how long it is.
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
    from rgwot.embedding.stored import read_embeddings

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

    from rgwot.transport import align_frames, relative_positions
    from rgwot.transport.matching import alignment_cost

    ot = {key.removeprefix("ot."): value for key, value in settings.items()} | changes | {"virtual": "cost"}
    places = (
        (torch.from_numpy(x.time_s / x.duration_s), torch.from_numpy(y.time_s / y.duration_s))
        if ot["prior_time"] == "times"
        else tuple(relative_positions(len(side.x), dtype=torch.float64) for side in (x, y))
    )
    first, second = (torch.from_numpy(np.ascontiguousarray(side.x))[None] for side in (x, y))
    problem = {key: ot[key] for key in PROBLEM}
    solved = align_frames(first, second, **problem, x_positions=places[0], y_positions=places[1])
    cost = alignment_cost(first, second, ot["rho"], ot["zeta"], "cost", *places)
    return PairPlan(cost[0].numpy(), solved.transport.plan[0].double().numpy())
