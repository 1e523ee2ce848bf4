"""Rendering of procedures: frames as a function of task, video and time, written as videos with annotations.

A task fixes what its key steps look like: an object with a shape, a pattern and a hue of its own, the place where it is
worked on, a tool and a motion. A video fixes everything else: table, light, palette, clutter, hand, camera path, noise,
speed, and small differences of the objects. Background consists of several activities: some belong to the task and
recur in many videos between different steps, some are unique to a video, and sometimes the camera looks away.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import nullcontext
from fractions import Fraction
from functools import cached_property
from math import ceil
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import NamedTuple

import av
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageChops

from rgwot.runtime.files import replacing, write_text
from rgwot.runtime.progress import Progress
from rgwot.synthetic import appearance
from rgwot.synthetic.appearance import EXTENT, MOTIONS, SPRITE, TaskLook, colour, task_look, varied
from rgwot.synthetic.settings import SynthSettings
from rgwot.synthetic.timelines import FPS, Timeline, VideoPlan, plan

OWN_ACTIVITIES = 3
TABLE_SCALE = 1.5  # table pixels per frame pixel at rest
AROUND = 0.75  # how far the table reaches beyond the frame, in frame heights
# Keeps the random stream of a video apart from that of its task.
_STREAM = 2


class Scene:
    """One video of a task: frames of a size in pixels as a pure function of time.

    The look belongs to the task (`task_look`), the seed and timeline to the video.
    """

    def __init__(self, look: TaskLook, timeline: Timeline, seed: int, width: int = 320, height: int = 240) -> None:
        self.timeline = timeline
        self.width, self.height = width, height
        rng = np.random.default_rng([_STREAM, seed])
        self._gain = rng.uniform(0.6, 1.15) * rng.uniform(0.82, 1.18, 3)
        self._speed = rng.uniform(0.75, 1.3)
        # The camera is a head that moves and tilts: slow sums of sines around a resting pose.
        self._rest = rng.normal(0.0, [0.04, 0.03, 0.08, 0.05])
        self._sway = np.array([0.09, 0.07, 0.14, 0.08]) * rng.uniform(0.6, 1.2, 4)
        self._sway_rates = rng.uniform(0.08, 0.7, (4, 3))
        self._sway_phases = rng.uniform(0.0, 2.0 * np.pi, (4, 3))
        self._skin = colour(rng.uniform(0.02, 0.09), rng.uniform(0.25, 0.6), rng.uniform(0.35, 0.95))
        self._sleeve = colour(rng.random(), rng.uniform(0.1, 0.7), rng.uniform(0.2, 0.9))
        self._table_seed, self._noise_seed = (int(value) for value in rng.integers(0, 2**31, 2))
        self._noise_sigma = rng.uniform(1.5, 6.0)
        self._exposure = rng.uniform([0.04, 0.05], [0.16, 0.3])
        own_steps = task_look(OWN_ACTIVITIES, int(rng.integers(2**31))).steps
        activities = [*look.steps, *look.shared, *own_steps]
        self._activities = [varied(activity, rng) for activity in activities]
        self._pattern_phases = rng.random(len(activities))
        self._bouts = bouts_of(timeline, len(look.steps), len(look.shared), len(own_steps), rng)
        self._starts = np.array([bout.start_s for bout in self._bouts])
        self._sprites: dict[int, tuple[Image.Image, Image.Image]] = {}

    def frame(self, index: int, time_s: float) -> NDArray[np.uint8]:
        """Render the frame at a time, RGB ``(height, width, 3)`` uint8; ``index`` selects the noise of the sensor."""
        bout = self._bouts[max(0, int(np.searchsorted(self._starts, time_s, side="right")) - 1)]
        pose = self._pose(time_s, bout.away)
        picture = self._table_view(pose)
        if bout.activity is not None:
            self._draw_activity(picture, pose, bout, time_s)
        elif not bout.away[0]:
            self._draw_hands_alone(picture, pose, bout, time_s)
        return np.asarray(self._sensor(picture, index, time_s))

    def n_frames(self, fps: Fraction) -> int:
        """Return the number of frames that cover the clip at a rate."""
        return ceil(self.timeline.duration_s * fps - 1e-6)

    def _pose(self, time_s: float, away: tuple[float, float]) -> _Pose:
        """Return the pose of the camera at a time, shifted where it looks away from the work."""
        waves = np.sin(2.0 * np.pi * self._sway_rates * time_s + self._sway_phases)
        x, y, roll, zoom = self._rest + self._sway * (waves @ (0.6, 0.35, 0.25))
        return _Pose(float(x) + away[0], float(y) + away[1], float(roll), float(1.0 + zoom))

    @cached_property
    def _table(self) -> Image.Image:
        scale = self.height * TABLE_SCALE
        width = int(scale * (self.width / self.height + 2 * AROUND))
        height = int(scale * (1.0 + 2 * AROUND))
        rng = np.random.default_rng(self._table_seed)
        return Image.fromarray(appearance.draw_table(width, height, scale, self._gain, rng))

    @cached_property
    def _noise(self) -> Image.Image:
        rng = np.random.default_rng(self._noise_seed)
        shape = (self.height + 64, self.width + 64)
        sigma = self._noise_sigma
        grain = rng.normal(0.0, sigma, (*shape, 1)) + rng.normal(0.0, 0.5 * sigma, (*shape, 3))
        return Image.fromarray(np.clip(np.round(grain) + 128.0, 0, 255).astype(np.uint8))

    @cached_property
    def _hand(self) -> Image.Image:
        return self._lit(appearance.draw_hand(self._skin, self._sleeve))

    def _lit(self, sprite: appearance.Image8) -> Image.Image:
        return Image.fromarray(appearance.lit(sprite, self._gain))

    def _sprite(self, number: int) -> tuple[Image.Image, Image.Image]:
        if number not in self._sprites:
            activity = self._activities[number]
            first = colour(activity.hue, 0.85, 0.95)
            second = colour(activity.hue + 0.04, 0.8, activity.contrast)
            phase = float(self._pattern_phases[number])
            thing = appearance.draw_object(activity.shape, activity.texture, first, second, activity.periods, phase)
            head = colour(activity.tool_hue, 0.3, 0.75)
            tool = appearance.draw_tool(activity.tool, colour(activity.tool_hue + 0.3, 0.6, 0.4), head)
            self._sprites[number] = self._lit(thing), self._lit(tool)
        return self._sprites[number]

    def _table_view(self, pose: _Pose) -> Image.Image:
        table = self._table
        step = TABLE_SCALE / pose.zoom
        c, s = np.cos(pose.roll) * step, np.sin(pose.roll) * step
        across, down = self.width / 2.0, self.height / 2.0
        scale = self.height * TABLE_SCALE
        centre_x, centre_y = table.width / 2.0 + pose.x * scale, table.height / 2.0 + pose.y * scale
        data = (c, s, centre_x - c * across - s * down, -s, c, centre_y + s * across - c * down)
        return table.transform((self.width, self.height), Image.Transform.AFFINE, data, Image.Resampling.NEAREST)

    def _draw_activity(self, picture: Image.Image, pose: _Pose, bout: _Bout, time_s: float) -> None:
        number = bout.activity
        assert number is not None
        activity = self._activities[number]
        thing, tool = self._sprite(number)
        phase = float(2.0 * np.pi * (bout.phase + activity.rate_hz * self._speed * (time_s - bout.start_s)))
        motion = MOTIONS[activity.motion](float(np.sin(phase)), float(np.cos(phase)), phase)
        x, y = activity.place
        radius = activity.radius
        thing_x, thing_y = x + radius * motion.dx, y + radius * motion.dy
        turn = activity.orientation + motion.turn
        self._paste(picture, pose, thing, thing_x, thing_y, radius * motion.scale, turn, motion.squash)
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
        across = SPRITE / 2.0 - c * offset_x - s * offset_y
        down = SPRITE / 2.0 + (s * offset_x - c * offset_y) / squash
        data = (c, s, across, -s / squash, c / squash, down)
        view = sprite.transform((2 * half, 2 * half), Image.Transform.AFFINE, data, Image.Resampling.BILINEAR)
        picture.paste(view, (left, top), view)

    def _sensor(self, picture: Image.Image, index: int, time_s: float) -> Image.Image:
        # Cheap and without state: the number of the frame selects a part of the grain, its time sets the exposure.
        left, top = (index * 37) % 64, (index * 23 + index // 64) % 64
        grain = self._noise.crop((left, top, left + self.width, top + self.height))
        depth, rate = self._exposure
        level = -128 + round(255.0 * 0.5 * depth * np.sin(2.0 * np.pi * rate * time_s))
        return ImageChops.add(picture, grain, 1.0, level)


BOUT_S = (1.2, 4.0)  # length of one background activity


class _Pose(NamedTuple):
    """The place on the work surface at which the camera looks (frame heights), its roll (radians) and its zoom."""

    x: float
    y: float
    roll: float
    zoom: float


class _Bout(NamedTuple):
    """One stretch of the clip with one activity, until the next bout."""

    start_s: float
    activity: int | None  #: its number; None means resting hands, or nothing if the camera looks away
    phase: float  #: where in its motion the activity starts, in [0, 1)
    away: tuple[float, float] = (0.0, 0.0)  #: shift of the camera, in frame heights


def bouts_of(timeline: Timeline, n_steps: int, n_shared: int, n_own: int, rng: np.random.Generator) -> list[_Bout]:
    """Return bouts of activities in order of time, the first at 0: one per key step, and more to fill the background.

    Activities are numbered: first key steps, then background activities of the task, then those of this video alone.
    """
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
                activity = n_steps + n_shared + int(rng.integers(n_own))
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


log = logging.getLogger(__name__)

# One thread and no mbtree, because x264 would otherwise decide differently from run to run; one key frame per
# second makes seeking cheap.
_X264 = {"preset": "veryfast", "crf": "27", "x264-params": "mbtree=0", "g": str(FPS), "threads": "1"}


def write_video(path: str | os.PathLike[str], scene: Scene) -> None:
    """Write a scene as an ``.mp4``, H.264 in yuv420p; frame ``i`` is the scene at ``i / FPS`` seconds."""
    with (
        replacing(path) as temporary,
        # Without bitexact, a container may hold something that differs from run to run.
        av.open(str(temporary), "w", format="mp4", container_options={"fflags": "+bitexact"}) as container,
    ):
        stream = container.add_stream("libx264", rate=FPS, options=_X264)
        stream.width, stream.height, stream.pix_fmt = scene.width, scene.height, "yuv420p"
        stream.time_base = Fraction(1, FPS)
        for index in range(scene.n_frames(Fraction(FPS))):
            picture = av.VideoFrame.from_ndarray(scene.frame(index, index / FPS), format="rgb24")
            frame = picture.reformat(format="yuv420p")
            frame.pts, frame.time_base = index, Fraction(1, FPS)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def write_dataset(settings: SynthSettings, root: str | os.PathLike[str], jobs: int = 1) -> list[Path]:
    """Write a whole synthetic dataset below ``root``.

    A new folder appears only when it is complete. In an existing folder, files of the same name are replaced one by
    one, and others are left alone. As many videos as ``jobs`` are written at the same time, each by one process.
    Returns the videos in the order of the plan.
    """
    return write_videos(plan(settings), settings, root, jobs)


def write_videos(
    videos: list[VideoPlan], settings: SynthSettings, root: str | os.PathLike[str], jobs: int = 1
) -> list[Path]:
    """Write planned videos as `write_dataset` does; the only setting that is read is the size of the pictures."""
    with (
        nullcontext(Path(root)) if Path(root).exists() else replacing(root) as folder,
        Progress(log, f"synth {root}", len(videos), unit="video") as progress,
    ):
        for video in videos:
            rows = (
                f"{round(start, 3)},{round(end, 3)},{step} {video.names[step - 1]}\n"
                for start, end, step in video.timeline.segments
            )
            write_text("".join(rows), folder / video.annotation)
        for _ in _written(videos, folder, settings, jobs):
            progress.advance(1)
    return [Path(root) / video.video for video in videos]


def _written(videos: list[VideoPlan], root: Path, settings: SynthSettings, jobs: int) -> Iterator[str]:
    size = settings.width, settings.height
    if jobs <= 1:
        for video in videos:
            yield _write_one(video, root, size)
        return
    # A spawned process inherits no open files, locks or threads of a caller that may have loaded torch.
    workers = min(jobs, len(videos))
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_end_with_parent) as pool:
        pending = [pool.submit(_write_one, video, root, size) for video in videos]
        for done in as_completed(pending):
            yield done.result()


def _end_with_parent() -> None:
    """End this process when the process that started it ends, even if that was killed."""
    parent = parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def _write_one(video: VideoPlan, root: Path, size: tuple[int, int]) -> str:
    look = task_look(video.K, video.look_seed)
    write_video(root / video.video, Scene(look, video.timeline, video.seed, *size))
    return video.video
