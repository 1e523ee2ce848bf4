"""Where the camera looks, and what happens between the key steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rgwot.synthetic.ground_truth import Timeline

BOUT_S = (1.2, 4.0)  # length of one background activity


@dataclass(frozen=True)
class Pose:
    """Where the camera looks on the work surface (frame heights), its roll (radians) and its zoom."""

    x: float
    y: float
    roll: float
    zoom: float


class Camera:
    """A head that moves and tilts: slow sums of sines around a resting pose, different in every video."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rest = rng.normal(0.0, [0.04, 0.03, 0.08, 0.05])
        self._sizes = np.array([0.09, 0.07, 0.14, 0.08]) * rng.uniform(0.6, 1.2, 4)
        self._rates = rng.uniform(0.08, 0.7, (4, 3))
        self._phases = rng.uniform(0.0, 2.0 * np.pi, (4, 3))

    def at(self, time_s: float, away: tuple[float, float]) -> Pose:
        """Return the pose at a time, shifted where the camera looks away from the work."""
        waves = np.sin(2.0 * np.pi * self._rates * time_s + self._phases)
        x, y, roll, zoom = self._rest + self._sizes * (waves @ (0.6, 0.35, 0.25))
        return Pose(float(x) + away[0], float(y) + away[1], float(roll), float(1.0 + zoom))


@dataclass(frozen=True)
class Bout:
    """One stretch of the clip with one activity, until the next one."""

    start_s: float
    activity: int | None  #: its number; None: resting hands, or nothing where the camera looks away
    phase: float  #: where in its motion the activity starts, in [0, 1)
    away: tuple[float, float] = (0.0, 0.0)  #: shift of the camera, in frame heights


def bouts_of(timeline: Timeline, n_steps: int, n_shared: int, n_own: int, rng: np.random.Generator) -> list[Bout]:
    """Fill the background with bouts of activities; key steps are bouts of their own. In order of time, the first at 0.

    Activities are numbered: key steps, background activities of the task, those of this video alone.
    """
    bouts: list[Bout] = []
    reached = 0.0

    def background(start: float, end: float) -> None:
        while start < end - 1e-6:
            kind = rng.random()
            activity: int | None = None
            away = (0.0, 0.0)
            if kind < 0.45:
                activity = n_steps + int(rng.integers(n_shared))
            elif kind < 0.75:
                activity = n_steps + n_shared + int(rng.integers(n_own))
            elif kind < 0.88:
                away = (float(rng.choice([-0.4, 0.4])), float(rng.uniform(-0.4, 0.1)))
            bouts.append(Bout(start, activity, float(rng.random()), away))
            length = float(rng.uniform(*BOUT_S))
            start = end if end - start < 1.5 * length else start + length

    for segment in timeline.segments:
        background(reached, segment.start_s)
        bouts.append(Bout(segment.start_s, segment.key_step - 1, float(rng.random())))
        reached = segment.end_s
    background(reached, timeline.duration_s)
    return bouts
