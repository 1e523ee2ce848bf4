"""Tasks of Label Studio whose predictions are the key steps, and the labelling interface that they fit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from rgwot import __version__
from rgwot.reporting.export.interface import Video, key_steps_of
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import write_text
from rgwot.timing import frame_range, parse_rate

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
        results = []
        for number, (start_s, end_s, _, label) in enumerate(video.segments):
            first, stop = frame_range(start_s, end_s, fps, "exact")
            if stop > first:
                value = {"ranges": [{"start": first + 1, "end": stop}], "timelinelabels": [label]}
                results.append(
                    {
                        "id": f"s{number}",
                        "from_name": LABELS,
                        "to_name": VIDEO,
                        "type": "timelinelabels",
                        "value": value,
                    }
                )
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
