"""The appearance of a task's activities: how objects and tools look, and how they move."""

from __future__ import annotations

import colorsys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

RADIUS = 0.23  # of an object, in frame heights: large enough for untrained features
HUE_JITTER = 0.02
SHARED_ACTIVITIES = 4
COLOURS = ("red", "orange", "yellow", "lime", "green", "mint", "cyan", "azure", "blue", "violet", "magenta", "pink")

# Keeps the random stream of a task apart from those of its videos.
_STREAM = 1


@dataclass(frozen=True)
class _Activity:
    """An activity: the look and the place of its object, its tool, and its motion."""

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
    """The activities that all videos of a task share: its key steps, and background that recurs between them."""

    steps: tuple[_Activity, ...]
    shared: tuple[_Activity, ...]


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
        _Activity(
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
    """Return a name for every key step of a task, from its motion and its object."""
    hues = [COLOURS[round(step.hue * len(COLOURS)) % len(COLOURS)] for step in look.steps]
    return [f"{step.motion} the {hue} {step.shape}" for step, hue in zip(look.steps, hues, strict=True)]


def _dealt(kinds: int, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    decks = [rng.permutation(kinds) for _ in range(-(-count // kinds))]
    return np.concatenate(decks)[:count]


def _places(count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Spread places over the work surface, each in a separate cell while there are free cells."""
    columns, rows = 4, 3
    cells = np.array([(c, r) for c in range(columns) for r in range(rows)], dtype=np.float64)
    cells = cells[_dealt(len(cells), count, rng)]
    offset = (cells + rng.uniform(0.3, 0.7, cells.shape)) / (columns, rows) - 0.5
    return offset * (0.72, 0.42)


def varied(activity: _Activity, rng: np.random.Generator) -> _Activity:
    """Return the activity as one video shows it, with small random changes."""
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
class _Motion:
    """Displacements at one phase of a motion, in radii of the object; angles in radians."""

    tool_x: float
    tool_y: float
    tool_turn: float = 0.0
    dx: float = 0.0
    dy: float = 0.0
    turn: float = 0.0
    scale: float = 1.0
    squash: float = 1.0


#: The displacement of each motion as a function of sine and cosine of its phase and of the phase itself, in radians;
#: its period is 2 pi.
MOTIONS: dict[str, Callable[[float, float, float], _Motion]] = {
    "stir": lambda s, c, phase: _Motion(0.5 * c, 0.5 * s, 0.25 * c),
    "cut": lambda s, c, phase: _Motion(0.3 * s, 0.6 * abs(c) - 0.5, -0.3),
    "pour": lambda s, c, phase: _Motion(-0.6, -0.5 + 0.1 * s, 1.9 + 0.4 * s),
    "turn": lambda s, c, phase: _Motion(0.75, 0.2 * s, 0.5, turn=0.6 * s),
    "press": lambda s, c, phase: _Motion(0.0, 0.15 * s, 0.0, scale=0.95 + 0.07 * s),
    "wipe": lambda s, c, phase: _Motion(0.7 * s, 0.3 * float(np.sin(2.0 * phase)), -0.5),
    "hammer": lambda s, c, phase: _Motion(0.1, -0.2, -0.5 + 0.7 * abs(s)),
    "shake": lambda s, c, phase: _Motion(0.2, 0.5, 0.0, dx=0.12 * s, dy=0.06 * float(np.sin(2.0 * phase))),
    "saw": lambda s, c, phase: _Motion(0.6 * s, -0.1, 1.2),
    "screw": lambda s, c, phase: _Motion(0.0, 0.0, 0.9 * s),
    "sprinkle": lambda s, c, phase: _Motion(0.35 * c, -0.6 + 0.12 * float(np.sin(3.0 * phase)), 2.4),
    "fold": lambda s, c, phase: _Motion(0.5, 0.3 * c, 0.8, squash=0.85 + 0.12 * s),
}


Image8 = NDArray[np.uint8]
Field = NDArray[np.float64]

SPRITE = 144
"""Side of a sprite in pixels; its object has radius 1 on a plane that spans [-1.15, 1.15]."""
EXTENT = 1.15


def _plane() -> tuple[Field, Field]:
    axis = (np.arange(SPRITE) + 0.5) / SPRITE * 2.0 * EXTENT - EXTENT
    x, y = np.meshgrid(axis, axis)
    return x, y


def _polygon(x: Field, y: Field, corners: int, turn: float = 0.0) -> Field:
    angle = np.arctan2(y, x) + turn
    sector = 2.0 * np.pi / corners
    folded = np.abs((angle + sector / 2.0) % sector - sector / 2.0)
    result: Field = np.hypot(x, y) * np.cos(folded) / np.cos(sector / 2.0) - 0.98
    return result


def _lobes(x: Field, y: Field, lobes: int, depth: float) -> Field:
    result: Field = np.hypot(x, y) - (1.0 - depth * (0.5 + 0.5 * np.cos(lobes * np.arctan2(y, x))))
    return result


#: Signed distances (negative inside) from the outlines that an object can have; their radius is about 1.
SHAPES: dict[str, Callable[[Field, Field], Field]] = {
    "disc": lambda x, y: np.hypot(x, y) - 0.97,
    "square": lambda x, y: np.maximum(np.abs(x), np.abs(y)) - 0.86,
    "ring": lambda x, y: np.abs(np.hypot(x, y) - 0.72) - 0.26,
    "cross": lambda x, y: np.minimum(
        np.maximum(np.abs(x) - 0.34, np.abs(y) - 0.98), np.maximum(np.abs(y) - 0.34, np.abs(x) - 0.98)
    ),
    "star": lambda x, y: _lobes(x, y, 5, 0.5),
    "bar": lambda x, y: np.maximum(np.abs(y) - 0.52, np.abs(x) - 1.0),
    "triangle": lambda x, y: _polygon(x, y, 3, np.pi / 6.0),
    "crescent": lambda x, y: np.maximum(np.hypot(x, y) - 0.97, 0.62 - np.hypot(x - 0.5, y)),
    "gear": lambda x, y: _lobes(x, y, 12, 0.22),
    "oval": lambda x, y: np.hypot(x, y * 1.7) - 0.98,
    "diamond": lambda x, y: np.abs(x) + np.abs(y) - 0.98,
    "bow": lambda x, y: np.maximum(np.abs(x) - 0.4 - 0.5 * np.abs(y), np.abs(y) - 0.92),
    "clover": lambda x, y: _lobes(x, y, 3, 0.45),
    "pair": lambda x, y: np.minimum(np.hypot(x + 0.5, y), np.hypot(x - 0.5, y)) - 0.49,
}

#: Patterns that an object can carry, with values in about [-1, 1]; ``f``: periods across the radius, ``p``: phase.
TEXTURES: tuple[Callable[[Field, Field, float, float], NDArray[np.floating[Any]]], ...] = (
    lambda x, y, f, p: np.sin(2 * np.pi * (f * x + p)),
    lambda x, y, f, p: np.sign(np.sin(np.pi * 1.6 * f * x + p)) * np.sign(np.sin(np.pi * 1.6 * f * y)),
    lambda x, y, f, p: np.cos(2 * np.pi * (f * np.hypot(x, y) + p)),
    lambda x, y, f, p: np.sin(np.round(4 * f) * np.arctan2(y, x) + 2 * np.pi * p),
    lambda x, y, f, p: 1.6 * (np.cos(2 * np.pi * f * x + p) + np.cos(2 * np.pi * f * y)) - 0.8,
    lambda x, y, f, p: np.sin(2 * np.pi * (f * y + p)),
    lambda x, y, f, p: np.sin(2 * np.pi * (0.9 * f * (x + y) * 0.7 + p)),
    lambda x, y, f, p: np.sin(2 * np.pi * (f * y + 0.35 * np.sin(2 * np.pi * 0.8 * f * x + p))),
    lambda x, y, f, p: 1.0 - 2.0 * (np.hypot(x, y) > 0.55),
    lambda x, y, f, p: np.maximum(np.cos(2 * np.pi * f * x + p), np.cos(2 * np.pi * f * y)) * 2.0 - 1.2,
    lambda x, y, f, p: np.sign(x),
    lambda x, y, f, p: np.sin(2 * np.pi * (0.45 * f * np.hypot(x, y) * 1.4) + 3 * np.arctan2(y, x) + p),
)


def colour(hue: float, saturation: float, value: float) -> Field:
    """Return the RGB in [0, 1] of a hue that wraps around at 1."""
    rgb: Field = np.array(colorsys.hsv_to_rgb(hue % 1.0, min(max(saturation, 0.0), 1.0), min(max(value, 0.0), 1.0)))
    return rgb


def draw_object(shape: str, texture: int, first: Field, second: Field, periods: float, phase: float) -> Image8:
    """Draw one object: its outline, a two-coloured pattern, a dark rim and a little relief.

    Its shape is a name in `SHAPES` and its texture a number in `TEXTURES`; the two colours are RGB in [0, 1], and
    ``periods`` and ``phase`` scale and shift the pattern. Returns RGBA, ``(SPRITE, SPRITE, 4)`` uint8.
    """
    x, y = _plane()
    distance = SHAPES[shape](x, y)
    pattern = TEXTURES[texture](x, y, periods, phase)
    share = np.clip(0.5 + 1.2 * pattern, 0.0, 1.0)[..., None]
    rgb = share * first + (1.0 - share) * second
    rim = np.clip(1.0 + distance / 0.07, 0.0, 1.0)[..., None]
    rgb = rgb * (1.0 - 0.65 * rim) * (1.0 - 0.12 * (x + y)[..., None])
    return _outlined(rgb, distance)


def draw_tool(kind: int, handle: Field, head: Field) -> Image8:
    """Draw one of six tools, with its tip at the centre and the handle down; the result is as for `draw_object`."""
    x, y = _plane()
    stick = np.maximum(np.abs(x) - 0.09, np.abs(y - 0.65) - 0.5)
    heads = (
        np.maximum(np.abs(x + 0.05) - 0.13, np.abs(y + 0.1) - 0.45),
        np.hypot(x, y * 0.8) - 0.26,
        np.maximum(np.abs(x) - 0.42, np.abs(y) - 0.17),
        np.abs(np.hypot(x, y) - 0.25) - 0.08,
        np.maximum(np.abs(x) - 0.3 + 0.35 * (y + 0.3), np.abs(y) - 0.34),
        np.minimum(np.hypot(x - 0.2, y), np.hypot(x + 0.2, y)) - 0.16,
    )
    tip = heads[kind]
    distance = np.minimum(stick, tip)
    rgb = np.where((tip < stick)[..., None], head, handle) * (1.0 - 0.15 * x[..., None])
    rgb = rgb * (1.0 - 0.5 * np.clip(1.0 + distance / 0.05, 0.0, 1.0)[..., None])
    return _outlined(rgb, distance)


def draw_hand(skin: Field, sleeve: Field) -> Image8:
    """Draw a fist at the centre of the plane, with the forearm below it; the result is as for `draw_object`."""
    x, y = _plane()
    fist = np.hypot(x, y * 1.15) - 0.3
    fingers = np.min([np.hypot(x - dx, y + 0.24) - 0.1 for dx in (-0.2, -0.07, 0.07, 0.2)], axis=0)
    arm = np.maximum(np.abs(x) - 0.19 - 0.06 * y, -y)
    distance = np.minimum(np.minimum(fist, fingers), arm)
    rgb = np.where((y > 0.62)[..., None], sleeve, skin) * (1.0 - 0.2 * x[..., None])
    rgb = rgb * (1.0 - 0.35 * np.clip(1.0 + distance / 0.05, 0.0, 1.0)[..., None])
    return _outlined(rgb, distance)


def draw_table(width: int, height: int, scale: float, light: Field, rng: np.random.Generator) -> Image8:
    """Draw the surroundings of one video: a table of one random material, with clutter, under uneven light.

    Returns RGB ``(height, width, 3)`` uint8, with ``scale`` pixels per unit of the work surface and the RGB gains of
    the light.
    """
    x, y = np.meshgrid((np.arange(width) - width / 2.0) / scale, (np.arange(height) - height / 2.0) / scale)
    hue = rng.random()
    base = colour(hue, rng.uniform(0.08, 0.5), rng.uniform(0.22, 0.85))
    other = colour(hue + rng.uniform(-0.08, 0.08), rng.uniform(0.05, 0.5), rng.uniform(0.2, 0.9))
    turn = rng.uniform(0.0, np.pi)
    u, v = np.cos(turn) * x + np.sin(turn) * y, -np.sin(turn) * x + np.cos(turn) * y
    f, p = rng.uniform(2.0, 6.0), rng.random()
    kind = int(rng.integers(5))
    if kind == 0:  # wood
        pattern = np.sin(2 * np.pi * (f * u + 0.25 * np.sin(2.5 * v + p) + 0.1 * np.sin(9.0 * v)))
    elif kind == 1:  # tiles
        pattern = 1.0 - 2.0 * ((np.abs(((f * u + p) % 1.0) - 0.5) > 0.45) | (np.abs(((f * v) % 1.0) - 0.5) > 0.45))
    elif kind == 2:  # cloth
        pattern = np.sin(2 * np.pi * f * u) * np.sin(2 * np.pi * f * v)
    elif kind == 3:  # stone
        waves = (rng.normal(0, f) * x + rng.normal(0, f) * y + rng.random() for _ in range(6))
        pattern = sum(np.sin(2 * np.pi * wave) for wave in waves) / 2.0
    else:  # mat
        pattern = np.sin(2 * np.pi * f * 1.5 * u) * 0.5 + np.sin(2 * np.pi * f * 0.3 * v + p)
    share = np.clip(0.5 + 0.5 * pattern, 0.0, 1.0)[..., None] * rng.uniform(0.4, 1.0)
    rgb = base * (1.0 - share) + other * share
    for _ in range(int(rng.integers(3, 8))):
        centre, radius = rng.uniform([-1.3, -1.0], [1.3, 1.0]), rng.uniform(0.04, 0.12)
        shape = list(SHAPES.values())[rng.integers(len(SHAPES))]
        rows, columns = (
            slice(max(0, int((c - radius) * scale + side / 2.0)), max(0, int((c + radius) * scale + side / 2.0) + 1))
            for c, side in ((centre[1], height), (centre[0], width))
        )
        inside = shape((x[rows, columns] - centre[0]) / radius, (y[rows, columns] - centre[1]) / radius) < 0.0
        rgb[rows, columns][inside] = colour(rng.random(), rng.uniform(0.2, 0.8), rng.uniform(0.3, 0.9))
    slope = rng.normal(0.0, 0.12, 2)
    return _bytes(rgb * light * (1.0 + slope[0] * x + slope[1] * y)[..., None])


def lit(sprite: Image8, light: Field) -> Image8:
    """Multiply the colours of an RGBA sprite by the RGB gains of the light."""
    result = sprite.copy()
    result[..., :3] = np.clip(sprite[..., :3] * light, 0.0, 255.0).astype(np.uint8)
    return result


def _outlined(rgb: Field, distance: Field) -> Image8:
    """Return RGBA of colours inside an outline, with a soft edge."""
    alpha = np.clip(0.5 - distance * SPRITE / (2.0 * EXTENT) / 1.5, 0.0, 1.0)
    return _bytes(np.dstack([rgb, alpha]))


def _bytes(values: Field) -> Image8:
    return (np.clip(values, 0.0, 1.0) * 255.0 + 0.5).astype(np.uint8)
