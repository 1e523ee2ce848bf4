"""The event log as XES, the exchange format of process mining (IEEE 1849-2016)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from rgwot import __version__
from rgwot.reporting.export.eventlog import timestamp
from rgwot.reporting.export.interface import Video

NAMESPACE = "http://www.xes-standard.org/"
EXTENSIONS = {"Concept": "concept", "Lifecycle": "lifecycle", "Time": "time"}
#: Attributes that every trace and every event has, with the values that stand for none.
GLOBALS = {
    "trace": (("string", "concept:name", "UNKNOWN"),),
    "event": (
        ("string", "concept:name", "UNKNOWN"),
        ("string", "lifecycle:transition", "complete"),
        ("date", "time:timestamp", timestamp(0)),
        ("int", "key_step", "0"),
    ),
}


def export_xes(videos: Sequence[Video], folder: Path) -> None:
    """Write ``eventlog.xes``: a trace per video; every segment of a key step starts and completes."""
    log = ElementTree.Element("log", {"xes.version": "1849.2016", "xes.features": "", "xmlns": NAMESPACE})
    for name, prefix in EXTENSIONS.items():
        address = f"{NAMESPACE}{prefix}.xesext"
        ElementTree.SubElement(log, "extension", {"name": name, "prefix": prefix, "uri": address})
    for scope, attributes in GLOBALS.items():
        _with(ElementTree.SubElement(log, "global", {"scope": scope}), *attributes)
    ElementTree.SubElement(log, "classifier", {"name": "Key step", "scope": "event", "keys": "concept:name"})
    both = {"name": "Key step and transition", "scope": "event", "keys": "concept:name lifecycle:transition"}
    ElementTree.SubElement(log, "classifier", both)
    _with(log, ("string", "concept:name", "key steps"), ("string", "creator", f"rgwot {__version__}"))
    for video in videos:
        trace = ElementTree.SubElement(log, "trace")
        _with(trace, ("string", "concept:name", video.name))
        moments = [
            (time_s, transition, segment)
            for segment in video.segments
            for time_s, transition in ((segment.start_s, "start"), (segment.end_s, "complete"))
        ]
        # What ends at a moment is complete before another starts.
        for time_s, transition, segment in sorted(moments, key=lambda one: (one[0], one[1], one[2].start_s)):
            _with(
                ElementTree.SubElement(trace, "event"),
                ("string", "concept:name", segment.label),
                ("string", "lifecycle:transition", transition),
                ("date", "time:timestamp", timestamp(time_s)),
                ("int", "key_step", str(segment.key_step)),
            )
    ElementTree.indent(log)
    ElementTree.ElementTree(log).write(folder / "eventlog.xes", encoding="utf-8", xml_declaration=True)


def _with(element: ElementTree.Element, *attributes: tuple[str, str, str]) -> None:
    for kind, key, value in attributes:
        ElementTree.SubElement(element, kind, {"key": key, "value": value})
