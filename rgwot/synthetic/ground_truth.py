"""Ground truth of clips: key-step segments, and the grids their times lie on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

FPS = 30
"""Frames per second of clips, where a layout knows no other rate; clip lengths are whole numbers of these frames."""


class TimelineSegment(NamedTuple):
    """One stretch ``[start_s, end_s)`` of key step 1..K; times in seconds."""

    start_s: float
    end_s: float
    key_step: int


@dataclass(frozen=True)
class Timeline:
    """Ground truth of one clip: sorted segments without overlap in ``[0, duration_s)``, else background."""

    duration_s: float
    segments: tuple[TimelineSegment, ...]


def whole_frames(seconds: float) -> float:
    """Round a length in seconds to whole frames, at least one."""
    return max(1, round(seconds * FPS)) / FPS


def floor_ms(seconds: float) -> float:
    """Round down to milliseconds, the grid of the annotation files."""
    return int(seconds * 1000.0 + 1e-6) / 1000.0
