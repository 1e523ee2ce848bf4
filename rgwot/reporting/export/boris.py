"""Projects of BORIS, and events to paste into one."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rgwot.reporting.export.interface import Video, key_steps_of
from rgwot.runtime.files import write_text

VERSION = "7.0"
#: BORIS wants dates; of a video nothing is known.
DATE = "1970-01-01T00:00:00"


def export_boris(videos: Sequence[Video], folder: Path) -> None:
    """Write one project: key steps are state events, a segment a start and a stop, and every video an observation."""
    behaviours = {
        str(number): {
            "type": "State event",
            "key": str(key_step) if key_step < 10 else "",
            "code": label,
            "description": "",
            "category": "",
            "modifiers": {},
            "excluded": "",
            "coding map": "",
        }
        for number, (key_step, label) in enumerate(key_steps_of(videos).items())
    }
    content = {
        "time_format": "s",
        "project_date": DATE,
        "project_name": "rgwot",
        "project_description": "key steps found by rgwot",
        "project_format_version": VERSION,
        "subjects_conf": {},
        "behaviors_conf": behaviours,
        "observations": {video.stem: _observation(video) for video in videos},
        "behavioral_categories": [],
        "behavioral_categories_config": {},
        "independent_variables": {},
        "coding_map": {},
        "behaviors_coding_map": [],
        "converters": {},
    }
    write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", folder / "project.boris")


def _observation(video: Video) -> dict[str, Any]:
    media = video.path.as_posix()
    return {
        "file": {str(player): [media] if player == 1 else [] for player in range(1, 9)},
        "type": "MEDIA",
        "date": DATE,
        "description": "",
        "time offset": 0.0,
        "observation time interval": [0, 0],
        "events": _events(video),
        "independent_variables": {},
        "media_info": {
            "length": {media: video.duration_s},
            "fps": {media: video.fps},
            "hasVideo": {media: True},
            "hasAudio": {media: False},
            "offset": {"1": 0.0},
        },
    }


def _events(video: Video) -> list[list[Any]]:
    """Return what starts and stops in order of time: time, subject, behaviour, modifiers, comment and frame.

    Where a step ends when the next begins, it ends first.
    """
    moments = sorted(
        (round(time, 3), starts, segment.label)
        for segment in video.segments
        for time, starts in ((segment.start_s, 1), (segment.end_s, 0))
    )
    known = not math.isnan(video.fps)
    return [[time, "", label, "", "", round(time * video.fps) if known else "NA"] for time, _, label in moments]


def export_boris_events(videos: Sequence[Video], folder: Path) -> None:
    """Write one file per video, to be copied as a whole and pasted into its observation.

    BORIS takes exactly six fields per line, no header and no line end at the end.
    """
    for video in videos:
        lines = ["\t".join(map(str, event)) for event in _events(video)]
        write_text("\n".join(lines), folder / f"{video.stem}.tsv")
