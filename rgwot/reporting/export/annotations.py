"""Annotations of ELAN and Praat, and projects of BORIS."""

from __future__ import annotations

import json
import math
import mimetypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rgwot.reporting.export.interface import TIER, Video
from rgwot.runtime.files import write_text


def export_elan(videos: Sequence[Video], folder: Path) -> None:
    """Write one file per video with a tier of key steps, times in whole milliseconds as ELAN has them."""
    from pympi import Eaf

    for video in videos:
        document = Eaf(author="rgwot")
        document.remove_tier("default")
        document.add_tier(TIER)
        # Features without videos are no medium that ELAN could play.
        if not math.isnan(video.size[0]):
            kind = mimetypes.guess_type(video.path.name)[0] or "video/mp4"
            document.add_linked_file(video.path.as_posix(), relpath=f"./{video.path.name}", mimetype=kind)
        for start_s, end_s, _, label in video.segments:
            start, end = round(1000 * start_s), round(1000 * end_s)
            if end > start:
                document.add_annotation(TIER, start, end, label)
        document.to_file(folder / f"{video.name}.eaf")


def export_praat(videos: Sequence[Video], folder: Path) -> None:
    """Write one file per video with one tier of intervals; background is an empty interval, as Praat has it."""
    from pympi import TextGrid

    for video in videos:
        end = max([video.duration_s, *(segment.end_s for segment in video.segments)])
        grid = TextGrid(xmax=end)
        tier = grid.add_tier(TIER)
        for start_s, end_s, _, label in video.segments:
            if end_s > start_s:
                tier.add_interval(start_s, end_s, label.replace('"', '""'))
        grid.to_file(folder / f"{video.name}.TextGrid")


VERSION = "7.0"
#: BORIS wants dates; of a video nothing is known.
DATE = "1970-01-01T00:00:00"


def export_boris(videos: Sequence[Video], folder: Path) -> None:
    """Write one project: key steps are state events, a segment a start and a stop, and every video an observation."""
    labels = dict(sorted({segment.key_step: segment.label for video in videos for segment in video.segments}.items()))
    behaviours = {
        str(number): {
            "type": "State event",
            "key": str(key_step) if key_step < 10 else "",
            "code": label,
            "description": "",
            "category": "",
            "modifiers": "",
            "excluded": "",
            "coding map": "",
        }
        for number, (key_step, label) in enumerate(labels.items())
    }
    content = {
        "time_format": "s",
        "project_date": DATE,
        "project_name": "rgwot",
        "project_description": "key steps found by rgwot",
        "project_format_version": VERSION,
        "subjects_conf": {},
        "behaviors_conf": behaviours,
        "observations": {video.name: _observation(video) for video in videos},
        "behavioral_categories": [],
        "independent_variables": {},
        "coding_map": {},
        "behaviors_coding_map": [],
        "converters": {},
    }
    write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", folder / "project.boris")


def _observation(video: Video) -> dict[str, Any]:
    media = video.path.as_posix()
    # In order of time; where a step ends when the next begins, it ends first.
    events = sorted(
        (time, stops, segment.label)
        for segment in video.segments
        for time, stops in ((segment.start_s, 1), (segment.end_s, 0))
    )
    return {
        "file": {str(player): [media] if player == 1 else [] for player in range(1, 9)},
        "type": "MEDIA",
        "date": DATE,
        "description": "",
        "time offset": 0.0,
        "observation time interval": [0, 0],
        "events": [[round(time, 3), "", label, "", ""] for time, _, label in events],
        "independent_variables": {},
        "media_info": {
            "length": {media: video.duration_s},
            "fps": {media: video.fps},
            "hasVideo": {media: True},
            "hasAudio": {media: False},
            "offset": {"1": 0.0},
        },
    }
