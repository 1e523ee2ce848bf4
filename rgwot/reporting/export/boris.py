"""A project of BORIS, the Behavioral Observation Research Interactive Software."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rgwot.reporting.export.interface import Video
from rgwot.runtime.files import write_text

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
