"""Parts of every tree: paths of the files of a synthetic dataset, their content, and its format."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from pydantic import Field

from rgwot.synthetic.settings import SynthSettings
from rgwot.synthetic.timelines import FPS, TimelineSegment, VideoPlan

Content: TypeAlias = "str | bytes"


class TreeSettings(SynthSettings):
    """Settings of synthetic datasets, and settings that only trees of released datasets have."""

    layout: Literal["egoprocel", "procel", "crosstask"]  # type: ignore[assignment]
    tasks: tuple[str, ...] = ()  #: all tasks if empty; in layout egoprocel, for example, cmu_mmac/Brownie
    cameras: int = Field(1, ge=1, le=5)  #: number of cameras that film a take of CMU-MMAC, the ego view first


@dataclass(frozen=True)
class Place:
    """The paths of one video and its annotation below the root, with forward slashes."""

    stem: str  #: name of the video
    video: str
    annotation: str  #: several videos may share one
    take: int  #: which performance of the task is filmed, from 0
    camera: str | None = None  #: number of the camera, None if a take has only one
    lead_frames: int = 0  #: number of frames, at 30 per second, by which this camera started earlier than the first
    fps: Fraction = Fraction(FPS)  #: exact frame rate of the video


@dataclass(frozen=True)
class TaskPlaces:
    """One task of a layout."""

    task: str  #: ``cmu_mmac/Brownie`` in layout egoprocel, ``40567`` in crosstask
    step_ids: tuple[int, ...]  #: the ids of key steps 1 to K in annotations
    places: tuple[Place, ...]  #: the videos, ordered by take
    label: str = "{id} {name}"  #: how annotations with a text column spell a key step


@dataclass(frozen=True)
class TreeVideo(VideoPlan):
    """The plan of a video at its place; ``step_ids`` and ``label`` as in `TaskPlaces`."""

    step_ids: tuple[int, ...]
    label: str
    place: Place


def three_columns(video: TreeVideo) -> str:
    """Spell the ground truth of a video as ``start,end,<int> <name>`` in seconds, one line per segment.

    A name with a comma is quoted: ``1.5,3.25,"3 add the pin, press it"``.
    """
    return _lines(
        (round(start, 3), round(end, 3), video.label.format(id=video.step_ids[step - 1], name=video.names[step - 1]))
        for start, end, step in video.timeline.segments
    )


def step_first(video: TreeVideo, segments: Sequence[TimelineSegment] | None = None) -> str:
    """Spell segments (by default those of the video) as ``step,start,end`` in seconds, in their order."""
    rows = video.timeline.segments if segments is None else segments
    return _lines((video.step_ids[step - 1], round(start, 3), round(end, 3)) for start, end, step in rows)


def three_column_files(videos: Iterable[TreeVideo]) -> dict[str, Content]:
    """Return one annotation file of three columns per video."""
    return {video.place.annotation: three_columns(video) for video in videos}


def _lines(rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
