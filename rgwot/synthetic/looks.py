"""What can be seen being done: the look of a task's activities, and how they move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rgwot.synthetic.sprites import SHAPES, TEXTURES

RADIUS = 0.23  # of an object, in frame heights: large enough for untrained features
HUE_JITTER = 0.02
SHARED_ACTIVITIES = 4
COLOURS = ("red", "orange", "yellow", "lime", "green", "mint", "cyan", "azure", "blue", "violet", "magenta", "pink")

# Keeps the random stream of a task apart from those of its videos.
_STREAM = 1


@dataclass(frozen=True)
class Activity:
    """Something being done: how its object looks and where, with which tool, and how it moves."""

    shape: str
    texture: int
    hue: float
    contrast: float
    periods: float
    place: tuple[float, float]
    radius: float
    tool: int
    tool_hue: float
    motion: str
    rate_hz: float
    orientation: float


@dataclass(frozen=True)
class TaskLook:
    """What all videos of a task share: its key steps, and background activities that return between them."""

    steps: tuple[Activity, ...]
    shared: tuple[Activity, ...]


def task_look(K: int, seed: int) -> TaskLook:
    """Draw the look of a task: K key steps with hues spread around the colour circle, and shared activities."""
    rng = np.random.default_rng([_STREAM, seed])
    count = K + SHARED_ACTIVITIES
    shapes = _dealt(len(SHAPES), count, rng)
    textures = _dealt(len(TEXTURES), count, rng)
    motions = _dealt(len(MOTIONS), count, rng)
    hues = rng.random() + rng.permutation(count) / count
    places = _places(count, rng)
    activities = tuple(
        Activity(
            shape=list(SHAPES)[shapes[i]],
            texture=int(textures[i]),
            hue=float(hues[i]),
            contrast=float(rng.choice([0.12, 0.5, 0.35])),
            periods=float(rng.uniform(1.2, 2.4)),
            place=(float(places[i, 0]), float(places[i, 1])),
            radius=RADIUS * float(rng.uniform(0.95, 1.1)),
            tool=int(rng.integers(6)),
            tool_hue=float(rng.random()),
            motion=list(MOTIONS)[motions[i]],
            rate_hz=float(rng.uniform(0.6, 1.4)),
            orientation=float(rng.uniform(0.0, 2.0 * np.pi)),
        )
        for i in range(count)
    )
    return TaskLook(activities[:K], activities[K:])


def step_names(look: TaskLook) -> list[str]:
    """Return a name for every key step of a task: what is done to which object."""
    hues = [COLOURS[round(step.hue * len(COLOURS)) % len(COLOURS)] for step in look.steps]
    return [f"{step.motion} the {hue} {step.shape}" for step, hue in zip(look.steps, hues, strict=True)]


def _dealt(kinds: int, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    decks = [rng.permutation(kinds) for _ in range(-(-count // kinds))]
    return np.concatenate(decks)[:count]


def _places(count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Spread places over the work surface, each in a cell of its own as long as there are cells."""
    columns, rows = 4, 3
    cells = np.array([(c, r) for c in range(columns) for r in range(rows)], dtype=np.float64)
    cells = cells[_dealt(len(cells), count, rng)]
    offset = (cells + rng.uniform(0.3, 0.7, cells.shape)) / (columns, rows) - 0.5
    return offset * (0.72, 0.42)


def varied(activity: Activity, rng: np.random.Generator) -> Activity:
    """Return the activity as one video shows it: similar, not equal."""
    x, y = activity.place
    return replace(
        activity,
        hue=activity.hue + rng.uniform(-HUE_JITTER, HUE_JITTER),
        periods=activity.periods * rng.uniform(0.92, 1.08),
        radius=activity.radius * rng.uniform(0.93, 1.07),
        orientation=activity.orientation + rng.normal(0.0, 0.2),
        rate_hz=activity.rate_hz * rng.uniform(0.85, 1.15),
        place=(x + rng.normal(0.0, 0.02), y + rng.normal(0.0, 0.02)),
    )


@dataclass(frozen=True)
class Motion:
    """Displacements at one phase, in radii of the object; angles in radians."""

    tool_x: float
    tool_y: float
    tool_turn: float = 0.0
    dx: float = 0.0
    dy: float = 0.0
    turn: float = 0.0
    scale: float = 1.0
    squash: float = 1.0


#: Where a motion is, from sine and cosine of its phase and the phase itself, in radians; periodic in 2 pi.
MOTIONS: dict[str, Callable[[float, float, float], Motion]] = {
    "stir": lambda s, c, phase: Motion(0.5 * c, 0.5 * s, 0.25 * c),
    "cut": lambda s, c, phase: Motion(0.3 * s, 0.6 * abs(c) - 0.5, -0.3),
    "pour": lambda s, c, phase: Motion(-0.6, -0.5 + 0.1 * s, 1.9 + 0.4 * s),
    "turn": lambda s, c, phase: Motion(0.75, 0.2 * s, 0.5, turn=0.6 * s),
    "press": lambda s, c, phase: Motion(0.0, 0.15 * s, 0.0, scale=0.95 + 0.07 * s),
    "wipe": lambda s, c, phase: Motion(0.7 * s, 0.3 * float(np.sin(2.0 * phase)), -0.5),
    "hammer": lambda s, c, phase: Motion(0.1, -0.2, -0.5 + 0.7 * abs(s)),
    "shake": lambda s, c, phase: Motion(0.2, 0.5, 0.0, dx=0.12 * s, dy=0.06 * float(np.sin(2.0 * phase))),
    "saw": lambda s, c, phase: Motion(0.6 * s, -0.1, 1.2),
    "screw": lambda s, c, phase: Motion(0.0, 0.0, 0.9 * s),
    "sprinkle": lambda s, c, phase: Motion(0.35 * c, -0.6 + 0.12 * float(np.sin(3.0 * phase)), 2.4),
    "fold": lambda s, c, phase: Motion(0.5, 0.3 * c, 0.8, squash=0.85 + 0.12 * s),
}
