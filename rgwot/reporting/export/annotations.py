"""Annotations of ELAN, Praat and BORIS, and tasks of Label Studio."""

from __future__ import annotations

import json
import math
import mimetypes
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from rgwot import __version__
from rgwot.datasets.doors.rows import TIER
from rgwot.reporting.export.interface import Video, key_steps_of
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import write_text
from rgwot.runtime.optional import optional
from rgwot.timing import frame_range, parse_rate


def export_elan(videos: Sequence[Video], folder: Path) -> None:
    """Write one file per video with a tier of key steps, times in whole milliseconds as ELAN has them.

    The names of all key steps are the tier's controlled vocabulary, so that ELAN offers them for a correction.
    """
    pympi = optional("pympi", "format elan", "pip install pympi-ling")
    names = sorted(set(key_steps_of(videos).values()))
    for video in videos:
        document = pympi.Eaf(author="rgwot")
        document.remove_tier("default")
        document.add_language("und", "http://cdb.iso.org/lg/CDB-00130975-001", "undetermined (und)")
        document.add_controlled_vocabulary(TIER)
        for number, name in enumerate(names):
            document.add_cv_entry(TIER, f"cveid{number}", [(name, "und", None)])
        document.add_linguistic_type(TIER)
        document.linguistic_types[TIER]["CONTROLLED_VOCABULARY_REF"] = TIER
        document.add_tier(TIER, ling=TIER)
        # Features without videos are no medium that ELAN could play.
        if video.filmed:
            kind = mimetypes.guess_type(video.path.name)[0] or "video/mp4"
            document.add_linked_file(*_addresses(video.path, folder), mimetype=kind)
        for start_s, end_s, _, label in video.segments:
            start, end = round(1000 * start_s), round(1000 * end_s)
            if end > start:
                document.add_annotation(TIER, start, end, label)
        document.to_file(folder / f"{video.stem}.eaf")


def _addresses(path: Path, folder: Path) -> tuple[str, str]:
    """Return where ELAN looks for a video, and where it looks next: from the folder of its own file.

    ELAN does not encode what stands in an address. Where the folder of the videos is not known, the file is expected
    beside the video.
    """
    if not path.is_absolute():
        return path.as_posix(), f"./{path.name}"
    between = Path(os.path.relpath(path, folder)).as_posix()
    return f"file://{'' if path.as_posix().startswith('/') else '/'}{path.as_posix()}", f"./{between}"


def export_praat(videos: Sequence[Video], folder: Path) -> None:
    """Write one file per video with one tier of intervals; background is an empty interval, as Praat has it."""
    pympi = optional("pympi", "format praat", "pip install pympi-ling")
    for video in videos:
        end = max([video.duration_s, *(segment.end_s for segment in video.segments)])
        grid = pympi.TextGrid(xmax=end)
        tier = grid.add_tier(TIER)
        for start_s, end_s, _, label in video.segments:
            if end_s > start_s:
                tier.add_interval(start_s, end_s, label)
        grid.to_file(folder / f"{video.stem}.TextGrid")


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
        "project_format_version": "7.0",
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


#: Names of the tags of the interface, which predictions refer to.
LABELS, VIDEO = "key_steps", "video"


def export_label_studio(videos: Sequence[Video], folder: Path) -> None:
    """Write ``tasks.json`` and ``interface.xml``; Label Studio counts frames from 1 and includes the last of a range.

    Raises
    ------
    RgwotError
        For features without a video.
    """
    tasks = []
    for video in videos:
        if not video.filmed:
            raise RgwotError(
                f"{video.path}: found features without a video, expected videos, whose frames are labelled"
            )
        fps = parse_rate(video.fps)
        tags = {"from_name": LABELS, "to_name": VIDEO, "type": "timelinelabels"}
        results = []
        for number, (start_s, end_s, _, label) in enumerate(video.segments):
            first, stop = frame_range(start_s, end_s, fps, "exact")
            if stop > first:
                value = {"ranges": [{"start": first + 1, "end": stop}], "timelinelabels": [label]}
                results.append({"id": f"s{number}", **tags, "value": value})
        prediction = {"model_version": f"rgwot {__version__}", "result": results}
        data = {"video": video.path.as_posix(), "fps": float(fps)}
        tasks.append({"data": data, "predictions": [prediction]})
    write_text(json.dumps(tasks, ensure_ascii=False, indent=1) + "\n", folder / "tasks.json")
    view = ElementTree.Element("View")
    ElementTree.SubElement(view, "Video", {"name": VIDEO, "value": "$video", "framerate": "$fps"})
    labels = ElementTree.SubElement(view, "TimelineLabels", {"name": LABELS, "toName": VIDEO})
    for label in key_steps_of(videos).values():
        ElementTree.SubElement(labels, "Label", {"value": label})
    ElementTree.indent(view)
    ElementTree.ElementTree(view).write(folder / "interface.xml", encoding="utf-8")
