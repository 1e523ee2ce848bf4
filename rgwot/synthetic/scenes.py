"""How a procedure looks: frames as a function of the task, the video and the time.

A task fixes what its key steps look like: an object with a shape, a pattern and a hue of its own, the place
where it is worked on, a tool and a motion. A video fixes everything else: table, light, palette, clutter, hand,
camera path, noise, speed, and small differences of the objects. Background is made of several activities: some
belong to the task and return in many videos between different steps, some are unique to a video, and sometimes
the camera looks away.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageChops

from rgwot.synthetic import sprites
from rgwot.synthetic.sprites import EXTENT, SHAPES, SPRITE, TEXTURES, colour
from rgwot.synthetic.timelines import FPS, Timeline

RADIUS = 0.23  # of an object, in frame heights: large enough for untrained features
HUE_JITTER = 0.02
SHARED_ACTIVITIES = 4
OWN_ACTIVITIES = 3
BOUT_S = (1.2, 4.0)  # length of one background activity
_TABLE_SCALE = 1.5  # table pixels per frame pixel at rest
_AROUND = 0.45  # how far the table reaches beyond the frame, in frame heights

MOTIONS = (
    "stir",
    "cut",
    "pour",
    "turn",
    "press",
    "wipe",
    "hammer",
    "shake",
    "saw",
    "screw",
    "sprinkle",
    "fold",
)

COLOURS = (
    "red",
    "orange",
    "yellow",
    "lime",
    "green",
    "mint",
    "cyan",
    "azure",
    "blue",
    "violet",
    "magenta",
    "pink",
)
SHAPE_NAMES = (
    "disc",
    "square",
    "ring",
    "cross",
    "star",
    "bar",
    "triangle",
    "crescent",
    "gear",
    "oval",
    "diamond",
    "bow",
    "clover",
    "pair",
)

# Offsets in the seed sequences, so that the streams of a task, its videos and its noise never coincide.
_TASK, _VIDEO = 1, 2


@dataclass(frozen=True)
class Activity:
    """Something being done: how its object looks and where, with which tool, and how it moves."""

    shape: int
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
class Look:
    """What all videos of a task share: its key steps, and background activities that return between them."""

    steps: tuple[Activity, ...]
    shared: tuple[Activity, ...]


def task_look(K: int, seed: int) -> Look:
    """Draw the look of a task.

    Parameters
    ----------
    K
        Number of key steps.
    seed
        Seed of the task; the same seed gives the same look.

    Returns
    -------
    Look
        ``K`` key steps with hues spread around the colour circle, and the shared background activities.
    """
    rng = np.random.default_rng([_TASK, seed])
    count = K + SHARED_ACTIVITIES
    shapes = _dealt(len(SHAPES), count, rng)
    textures = _dealt(len(TEXTURES), count, rng)
    motions = _dealt(len(MOTIONS), count, rng)
    hues = rng.random() + rng.permutation(count) / count
    places = _places(count, rng)
    activities = tuple(
        Activity(
            shape=int(shapes[i]),
            texture=int(textures[i]),
            hue=float(hues[i]),
            contrast=float(rng.choice([0.12, 0.5, 0.35])),
            periods=float(rng.uniform(1.2, 2.4)),
            place=(float(places[i, 0]), float(places[i, 1])),
            radius=RADIUS * float(rng.uniform(0.95, 1.1)),
            tool=int(rng.integers(6)),
            tool_hue=float(rng.random()),
            motion=MOTIONS[int(motions[i])],
            rate_hz=float(rng.uniform(0.6, 1.4)),
            orientation=float(rng.uniform(0.0, 2.0 * np.pi)),
        )
        for i in range(count)
    )
    return Look(activities[:K], activities[K:])


def step_names(look: Look) -> list[str]:
    """Return a name for every key step of a task: what is done to which object."""
    return [
        f"{step.motion} the {COLOURS[round(step.hue * len(COLOURS)) % len(COLOURS)]} {SHAPE_NAMES[step.shape]}"
        for step in look.steps
    ]


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


class Scene:
    """One video of a task: frames as a pure function of time.

    Parameters
    ----------
    look
        Of the task, from `task_look`.
    timeline
        What happens when.
    seed
        Seed of this video.
    width, height
        Frame size in pixels.
    """

    def __init__(
        self, look: Look, timeline: Timeline, seed: int, width: int = 320, height: int = 240
    ) -> None:
        self.timeline = timeline
        self.width, self.height = width, height
        rng = np.random.default_rng([_VIDEO, seed])
        self._gain = rng.uniform(0.6, 1.15) * rng.uniform(0.82, 1.18, 3)
        self._speed = rng.uniform(0.75, 1.3)
        self._camera = _Camera(rng)
        self._skin = colour(rng.uniform(0.02, 0.09), rng.uniform(0.25, 0.6), rng.uniform(0.35, 0.95))
        self._sleeve = colour(rng.random(), rng.uniform(0.1, 0.7), rng.uniform(0.2, 0.9))
        self._table_seed, self._noise_seed = (int(value) for value in rng.integers(0, 2**31, 2))
        self._noise_sigma = rng.uniform(1.5, 6.0)
        self._exposure = rng.uniform([0.04, 0.05], [0.16, 0.3])
        own = task_look(OWN_ACTIVITIES, int(rng.integers(2**31))).steps
        activities = [*look.steps, *look.shared, *own]
        self._activities = [_varied(activity, rng) for activity in activities]
        self._pattern_phases = rng.random(len(activities))
        self._bouts = _bouts(timeline, len(look.steps), len(look.shared), rng)
        self._starts = np.array([bout.start_s for bout in self._bouts])
        self._sprites: dict[int, tuple[Image.Image, Image.Image]] = {}

    def frame(self, index: int, time_s: float) -> NDArray[np.uint8]:
        """Render one frame.

        Parameters
        ----------
        index
            Frame number; picks the noise of the sensor.
        time_s
            Time of the frame in seconds.

        Returns
        -------
        array
            RGB ``(height, width, 3)`` uint8.
        """
        bout = self._bouts[max(0, int(np.searchsorted(self._starts, time_s, side="right")) - 1)]
        pose = self._camera.at(time_s, bout.away)
        picture = self._table_view(pose)
        if bout.activity is not None:
            self._draw_activity(picture, pose, bout, time_s)
        elif not bout.away[0]:
            self._draw_hands_alone(picture, pose, bout, time_s)
        return np.asarray(self._sensor(picture, index, time_s))

    @property
    def n_frames(self) -> int:
        """Number of frames of the clip."""
        return round(self.timeline.duration_s * FPS)

    @cached_property
    def _table(self) -> Image.Image:
        scale = self.height * _TABLE_SCALE
        width = int(scale * (self.width / self.height + 2 * _AROUND))
        height = int(scale * (1.0 + 2 * _AROUND))
        rng = np.random.default_rng(self._table_seed)
        return Image.fromarray(sprites.draw_table(width, height, scale, self._gain, rng))

    @cached_property
    def _noise(self) -> Image.Image:
        rng = np.random.default_rng(self._noise_seed)
        shape = (self.height + 64, self.width + 64)
        sigma = self._noise_sigma
        grain = rng.normal(0.0, sigma, (*shape, 1)) + rng.normal(0.0, 0.5 * sigma, (*shape, 3))
        return Image.fromarray(np.clip(np.round(grain) + 128.0, 0, 255).astype(np.uint8))

    @cached_property
    def _hand(self) -> Image.Image:
        return Image.fromarray(sprites.lit(sprites.draw_hand(self._skin, self._sleeve), self._gain))

    def _sprite(self, number: int) -> tuple[Image.Image, Image.Image]:
        if number not in self._sprites:
            activity = self._activities[number]
            first = colour(activity.hue, 0.85, 0.95)
            second = colour(activity.hue + 0.04, 0.8, activity.contrast)
            phase = float(self._pattern_phases[number])
            thing = sprites.draw_object(
                activity.shape, activity.texture, first, second, activity.periods, phase
            )
            head = colour(activity.tool_hue, 0.3, 0.75)
            tool = sprites.draw_tool(activity.tool, colour(activity.tool_hue + 0.3, 0.6, 0.4), head)
            self._sprites[number] = (
                Image.fromarray(sprites.lit(thing, self._gain)),
                Image.fromarray(sprites.lit(tool, self._gain)),
            )
        return self._sprites[number]

    def _table_view(self, pose: _Pose) -> Image.Image:
        table = self._table
        step = _TABLE_SCALE / pose.zoom
        c, s = np.cos(pose.roll) * step, np.sin(pose.roll) * step
        across, down = self.width / 2.0, self.height / 2.0
        scale = self.height * _TABLE_SCALE
        centre_x, centre_y = table.width / 2.0 + pose.x * scale, table.height / 2.0 + pose.y * scale
        data = (c, s, centre_x - c * across - s * down, -s, c, centre_y + s * across - c * down)
        return table.transform(
            (self.width, self.height), Image.Transform.AFFINE, data, Image.Resampling.NEAREST
        )

    def _draw_activity(self, picture: Image.Image, pose: _Pose, bout: _Bout, time_s: float) -> None:
        number = bout.activity
        assert number is not None
        activity = self._activities[number]
        thing, tool = self._sprite(number)
        phase = 2.0 * np.pi * (bout.phase + activity.rate_hz * self._speed * (time_s - bout.start_s))
        motion = _moved(activity.motion, float(phase))
        x, y = activity.place
        radius = activity.radius
        self._paste(
            picture,
            pose,
            thing,
            x + radius * motion.dx,
            y + radius * motion.dy,
            radius * motion.scale,
            activity.orientation + motion.turn,
            motion.squash,
        )
        tool_x, tool_y = x + radius * motion.tool_x, y + radius * motion.tool_y
        self._paste(picture, pose, tool, tool_x, tool_y, 0.85 * radius, motion.tool_turn, 1.0)
        reach = 0.85 * radius * 0.9
        hand_x, hand_y = tool_x - reach * np.sin(motion.tool_turn), tool_y + reach * np.cos(motion.tool_turn)
        self._paste(picture, pose, self._hand, hand_x, hand_y, 0.2, 0.5 * motion.tool_turn - 0.25, 1.0)

    def _draw_hands_alone(self, picture: Image.Image, pose: _Pose, bout: _Bout, time_s: float) -> None:
        phase = 2.0 * np.pi * (bout.phase + 0.3 * self._speed * (time_s - bout.start_s))
        sway = 0.08 * np.sin(phase)
        self._paste(picture, pose, self._hand, 0.25 + sway, 0.2 + 0.05 * np.cos(phase), 0.24, -0.4, 1.0)
        self._paste(picture, pose, self._hand, -0.3 + sway, 0.25 - 0.05 * np.cos(phase), 0.24, 0.4, 1.0)

    def _paste(
        self,
        picture: Image.Image,
        pose: _Pose,
        sprite: Image.Image,
        x: float,
        y: float,
        radius: float,
        turn: float,
        squash: float,
    ) -> None:
        """Draw a sprite of the given radius at a place on the work surface, as the camera sees it."""
        c, s = np.cos(pose.roll), np.sin(pose.roll)
        dx, dy = (x - pose.x) * pose.zoom * self.height, (y - pose.y) * pose.zoom * self.height
        centre_x = self.width / 2.0 + c * dx - s * dy
        centre_y = self.height / 2.0 + s * dx + c * dy
        size = radius * pose.zoom * self.height  # pixels of one sprite unit
        half = int(np.ceil(size * EXTENT * 1.2))
        left, top = int(centre_x) - half, int(centre_y) - half
        if left >= self.width or top >= self.height or left + 2 * half <= 0 or top + 2 * half <= 0:
            return
        angle = turn + pose.roll
        per_pixel = SPRITE / (2.0 * EXTENT * size)
        c, s = np.cos(angle) * per_pixel, np.sin(angle) * per_pixel
        offset_x, offset_y = centre_x - left, centre_y - top
        data = (
            c,
            s,
            SPRITE / 2.0 - c * offset_x - s * offset_y,
            -s / squash,
            c / squash,
            SPRITE / 2.0 + (s * offset_x - c * offset_y) / squash,
        )
        view = sprite.transform((2 * half, 2 * half), Image.Transform.AFFINE, data, Image.Resampling.BILINEAR)
        picture.paste(view, (left, top), view)

    def _sensor(self, picture: Image.Image, index: int, time_s: float) -> Image.Image:
        # Cheap and without state: the frame number picks the part of the grain, the time sets the exposure.
        left, top = (index * 37) % 64, (index * 23 + index // 64) % 64
        grain = self._noise.crop((left, top, left + self.width, top + self.height))
        depth, rate = self._exposure
        level = -128 + round(255.0 * 0.5 * depth * np.sin(2.0 * np.pi * rate * time_s))
        return ImageChops.add(picture, grain, 1.0, level)


@dataclass(frozen=True)
class _Pose:
    x: float
    y: float
    roll: float
    zoom: float


class _Camera:
    """A head that moves and tilts: slow sums of sines around a resting pose, all different from video to video."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rest = rng.normal(0.0, [0.04, 0.03, 0.08, 0.05])
        self._sizes = np.array([0.09, 0.07, 0.14, 0.08]) * rng.uniform(0.6, 1.2, 4)
        self._rates = rng.uniform(0.08, 0.7, (4, 3))
        self._phases = rng.uniform(0.0, 2.0 * np.pi, (4, 3))

    def at(self, time_s: float, away: tuple[float, float]) -> _Pose:
        waves = np.sin(2.0 * np.pi * self._rates * time_s + self._phases)
        x, y, roll, zoom = self._rest + self._sizes * (waves @ (0.6, 0.35, 0.25))
        return _Pose(float(x) + away[0], float(y) + away[1], float(roll), float(1.0 + zoom))


@dataclass(frozen=True)
class _Bout:
    """One stretch of the clip with one activity (``None``: only hands, or nothing where the camera looks away)."""

    start_s: float
    activity: int | None
    phase: float
    away: tuple[float, float] = (0.0, 0.0)


def _bouts(timeline: Timeline, n_steps: int, n_shared: int, rng: np.random.Generator) -> list[_Bout]:
    """Fill the background with bouts of activities; key steps are bouts of their own."""
    bouts: list[_Bout] = []
    reached = 0.0

    def background(start: float, end: float) -> None:
        while start < end - 1e-6:
            kind = rng.random()
            activity: int | None = None
            away = (0.0, 0.0)
            if kind < 0.45:
                activity = n_steps + int(rng.integers(n_shared))
            elif kind < 0.75:
                activity = n_steps + n_shared + int(rng.integers(OWN_ACTIVITIES))
            elif kind < 0.88:
                away = (float(rng.choice([-0.4, 0.4])), float(rng.uniform(-0.4, 0.1)))
            bouts.append(_Bout(start, activity, float(rng.random()), away))
            length = float(rng.uniform(*BOUT_S))
            start = end if end - start < 1.5 * length else start + length

    for segment in timeline.segments:
        background(reached, segment.start_s)
        bouts.append(_Bout(segment.start_s, segment.key_step - 1, float(rng.random())))
        reached = segment.end_s
    background(reached, timeline.duration_s)
    return bouts


def _varied(activity: Activity, rng: np.random.Generator) -> Activity:
    """Return the activity as one video shows it: similar, not equal."""
    values = dict(vars(activity))
    values["hue"] += rng.uniform(-HUE_JITTER, HUE_JITTER)
    values["periods"] *= rng.uniform(0.92, 1.08)
    values["radius"] *= rng.uniform(0.93, 1.07)
    values["orientation"] += rng.normal(0.0, 0.2)
    values["rate_hz"] *= rng.uniform(0.85, 1.15)
    x, y = activity.place
    values["place"] = (x + rng.normal(0.0, 0.02), y + rng.normal(0.0, 0.02))
    return Activity(**values)


@dataclass(frozen=True)
class _Motion:
    """Displacements at one phase, in radii of the object; angles in radians."""

    tool_x: float
    tool_y: float
    tool_turn: float = 0.0
    dx: float = 0.0
    dy: float = 0.0
    turn: float = 0.0
    scale: float = 1.0
    squash: float = 1.0


def _moved(name: str, phase: float) -> _Motion:
    s, c = float(np.sin(phase)), float(np.cos(phase))
    motions = {
        "stir": _Motion(0.5 * c, 0.5 * s, 0.25 * c),
        "cut": _Motion(0.3 * s, 0.6 * abs(c) - 0.5, -0.3),
        "pour": _Motion(-0.6, -0.5 + 0.1 * s, 1.9 + 0.4 * s),
        "turn": _Motion(0.75, 0.2 * s, 0.5, turn=0.6 * s),
        "press": _Motion(0.0, 0.15 * s, 0.0, scale=0.95 + 0.07 * s),
        "wipe": _Motion(0.7 * s, 0.3 * float(np.sin(2.0 * phase)), -0.5),
        "hammer": _Motion(0.1, -0.2, -0.5 + 0.7 * abs(s)),
        "shake": _Motion(0.2, 0.5, 0.0, dx=0.12 * s, dy=0.06 * float(np.sin(2.0 * phase))),
        "saw": _Motion(0.6 * s, -0.1, 1.2),
        "screw": _Motion(0.0, 0.0, 0.9 * s),
        "sprinkle": _Motion(0.35 * c, -0.6 + 0.12 * float(np.sin(3.0 * phase)), 2.4),
        "fold": _Motion(0.5, 0.3 * c, 0.8, squash=0.85 + 0.12 * s),
    }
    return motions[name]
