"""Ground truth of clips: key-step segments, the grids their times lie on, and the timelines of real people.

These did real recipes: CaptainCook4D, compressed to clips of 40 to 90 seconds. The data and their licence lie in
``data/``; ``data/README.md`` says how they were made.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib.resources import files
from typing import NamedTuple

from rgwot.runtime.errors import RgwotError

FPS = 30
"""Frames per second of clips, where a layout knows no other rate; clip lengths are whole numbers of these frames."""

PEOPLE_K = 7
"""Key steps of every recipe of real people."""


class Segment(NamedTuple):
    """One stretch ``[start_s, end_s)`` of key step 1..K; times in seconds."""

    start_s: float
    end_s: float
    key_step: int


@dataclass(frozen=True)
class Timeline:
    """Ground truth of one clip: sorted segments without overlap in ``[0, duration_s)``, else background."""

    duration_s: float
    segments: tuple[Segment, ...]


def whole_frames(seconds: float) -> float:
    """Round a length in seconds to whole frames, at least one."""
    return max(1, round(seconds * FPS)) / FPS


def floor_ms(seconds: float) -> float:
    """Round down to milliseconds, the grid of the annotation files."""
    return int(seconds * 1000.0 + 1e-6) / 1000.0


def recipes() -> list[int]:
    """Return the ``activity_id`` of every recipe, ascending."""
    return sorted({int(row["activity_id"]) for row in _rows()})


def read_recipe(activity_id: int) -> list[Timeline]:
    """Read the timelines of one recipe, one per recording, sorted by recording."""
    lengths: dict[str, float] = {}
    segments: dict[str, list[Segment]] = {}
    for row in _rows():
        if int(row["activity_id"]) == activity_id:
            recording = row["recording_id"]
            lengths[recording] = float(row["clip_s"])
            segment = Segment(float(row["start_s"]), float(row["end_s"]), int(row["label"]))
            segments.setdefault(recording, []).append(segment)
    if not lengths:
        known = ", ".join(str(recipe) for recipe in recipes())
        raise RgwotError(f"synth.recipe: recipe {activity_id}: not in the CaptainCook4D timelines; known: {known}")
    order = sorted(lengths, key=lambda recording: [int(part) for part in recording.split("_")])
    return [Timeline(lengths[recording], tuple(sorted(segments[recording]))) for recording in order]


def _rows() -> list[dict[str, str]]:
    text = files("rgwot.synthetic").joinpath("data/captaincook4d_clips_k7.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
