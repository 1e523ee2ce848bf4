"""Timeline labels of Label Studio, exported as JSON: ranges of frames, the first frame is 1, both ends included."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from rgwot.datasets.doors.boris import media_stem
from rgwot.datasets.doors.interface import Hints, Row, read_json
from rgwot.datasets.faults import DataFault
from rgwot.timing import parse_rate

#: Uploaded files get eight digits and a hyphen in front of their names.
_UPLOADED = re.compile(r"/upload/.*/[0-9a-f]{8}-(?=[^/]+$)")


def fits(head: str) -> bool:
    """Return whether a file begins like JSON."""
    return head.lstrip()[:1] in ("[", "{")


def read(path: Path, hints: Hints) -> Iterator[Row]:
    """Read the annotation of every task that was not cancelled."""
    tasks = read_json(path)
    for number, task in enumerate(tasks if isinstance(tasks, list) else [tasks], 1):
        stated = task["data"].get("fps")
        fps = hints.rate(path) if stated is None else parse_rate(stated)
        kept = [one for one in task["annotations"] if not one.get("was_cancelled")]
        if len(kept) > 1:
            raise DataFault(
                "annotators", path, f"task {number}", f"{len(kept)} annotations; expected one; export one annotator's"
            )
        for result in kept[0]["result"] if kept else ():
            # A project may have other kinds of labels as well.
            value = result["value"]
            for span in value["ranges"] if "timelinelabels" in value else ():
                start_s, end_s = float((span["start"] - 1) / fps), float(span["end"] / fps)
                for label in value["timelinelabels"]:
                    yield Row(_video(task["data"]), start_s, end_s, label, f"task {number}, frame {span['start']}")


def _video(data: dict[str, object]) -> str:
    """Return the stem of a task's video: under ``video``, or the first text there is."""
    address = str(data.get("video") or next(value for value in data.values() if isinstance(value, str)))
    parts = urlsplit(address)
    # Local files are asked for as /data/local-files/?d=folder/name.mp4.
    local = parse_qs(parts.query).get("d")
    return media_stem(local[0] if local else _UPLOADED.sub("/", unquote(parts.path)))
