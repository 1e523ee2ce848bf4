"""How annotation files spell segments: one function per set of columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from rgwot.synthetic.ground_truth import Segment
from rgwot.synthetic.layouts.base import Content, VideoPlan


def three_columns(video: VideoPlan) -> str:
    """Spell the ground truth of a video as ``start,end,<int> <name>``, seconds, one line per segment.

    A name with a comma is quoted: ``1.5,3.25,"3 add the pin, press it"``.
    """
    return _lines(
        (*_times(segment), video.label.format(id=_step_id(video, segment), name=video.names[segment.key_step - 1]))
        for segment in video.timeline.segments
    )


def step_first(video: VideoPlan, segments: Sequence[Segment] | None = None) -> str:
    """Spell segments, those of the video where none are given, as ``step,start,end``, seconds, in their order."""
    rows = video.timeline.segments if segments is None else segments
    return _lines((_step_id(video, segment), *_times(segment)) for segment in rows)


def three_column_files(videos: Iterable[VideoPlan]) -> dict[str, Content]:
    """Return one annotation file of three columns per video."""
    return {video.place.annotation: three_columns(video) for video in videos}


def _lines(rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _times(segment: Segment) -> tuple[float, float]:
    return round(segment.start_s, 3), round(segment.end_s, 3)


def _step_id(video: VideoPlan, segment: Segment) -> int:
    return video.step_ids[segment.key_step - 1]
