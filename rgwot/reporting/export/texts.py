"""Text exports: a table, subtitles, ELAN and BORIS annotations, an event log, and the procedure for Graphviz."""

from __future__ import annotations

import html
import json
import math
import mimetypes
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from networkx import DiGraph

from rgwot.columns import readable
from rgwot.datasets.boris import DEVIATION, POINT
from rgwot.datasets.elan import MARKS_TIER, TIER
from rgwot.procedure.facts import DeviationFacts
from rgwot.reporting.export import ExportedVideo, LabelledSegment, key_steps_of
from rgwot.runtime.csv_files import cell, write_rows
from rgwot.runtime.errors import optional
from rgwot.runtime.files import write_text


def clock(ms: int) -> str:
    """Write a time in milliseconds as hours, minutes, seconds and milliseconds.

    >>> clock(3723500)
    '01:02:03.500'
    """
    return f"{ms // 3_600_000:02d}:{ms // 60_000 % 60:02d}:{ms // 1000 % 60:02d}.{ms % 1000:03d}"


def export_csv(videos: Sequence[ExportedVideo], folder: Path) -> None:
    """Write ``segments.csv`` with the columns ``video``, ``start_s``, ``end_s``, ``key_step`` and ``name``.

    A mark has no end. If annotations say how time without a segment is read, there is a column ``silence``. The
    segments of a result have the columns ``counts``, and ``shows`` with the name of the key step that a segment really
    shows, if this is another key step.
    """
    told = any(video.silence for video in videos)
    found = any(segment.counts is not None for video in videos for segment in video.segments)
    rows = [
        (
            readable(video.name), segment.start_s, "" if segment.mark else segment.end_s,
            segment.key_step, segment.label,
            *([video.silence] if told else []), *([segment.counts, segment.shows] if found else []),
        )
        for video in videos
        for segment in video.segments
    ]  # fmt: skip
    more = (*(["silence"] if told else []), *(["counts", "shows"] if found else []))
    write_rows(("video", "start_s", "end_s", "key_step", "name", *more), rows, folder / "segments.csv")


def export_deviations(videos: Sequence[ExportedVideo], folder: Path) -> None:
    """Write ``deviations.csv``: the deviations of every video in order of time; an unknown sureness is empty."""
    rows = []
    for video in videos:
        for row in sorted(video.deviations, key=lambda row: (row.deviation.start_s, row.deviation.key_step)):
            one = row.deviation
            sureness = "" if one.sureness is None else one.sureness
            what = readable(video.name), one.key_step, video.called(one.key_step), row.told, one.kind
            rows.append((*what, one.start_s, one.end_s, sureness, one.surprise, one.against))
    columns = ("video", "key_step", "name", "deviation", "kind", "start_s", "end_s", "sureness", "surprise", "against")
    write_rows(columns, rows, folder / "deviations.csv")


#: Milliseconds for which the subtitle of a mark is shown.
CUE_MS = 1000


def export_webvtt(videos: Sequence[ExportedVideo], folder: Path) -> None:
    """Write one file per video with a cue per segment; ``&``, ``<`` and ``>`` in names are escaped.

    The cue of a mark has the class ``mark`` and lasts `CUE_MS`, because players show no cue without length.
    """
    for video in videos:
        cues = []
        for segment in video.segments:
            start = video.milliseconds(segment.start_s)
            end = start + CUE_MS if segment.mark else video.milliseconds(segment.end_s)
            text = html.escape(f"{segment.label} ({segment.note})" if segment.note else segment.label, quote=False)
            cues.append(f"\n{clock(start)} --> {clock(end)}\n{f'<c.mark>{text}</c>' if segment.mark else text}\n")
        write_text("WEBVTT\n" + "".join(cues), folder / f"{video.stem}.vtt")


def export_eventlog(videos: Sequence[ExportedVideo], folder: Path) -> None:
    """Write ``eventlog.csv``: a case is a video, an event is a segment of a key step with its start and end.

    The event of a mark ends where it starts. Events of a result have the column ``counts``.
    """
    found = any(segment.counts is not None for video in videos for segment in video.segments)
    rows = [
        (
            readable(video.name), segment.label,
            *(timestamp(video.milliseconds(at)) for at in (segment.start_s, segment.end_s)), segment.key_step,
            *([segment.counts and not segment.shows] if found else []),
        )
        for video in videos
        for segment in video.segments
    ]  # fmt: skip
    columns = ("case:concept:name", "concept:name", "start_timestamp", "time:timestamp", "key_step")
    write_rows((*columns, *(["counts"] if found else [])), rows, folder / "eventlog.csv")


def timestamp(ms: int) -> str:
    """Return a time in milliseconds as a date; every video begins at the start of 1970.

    >>> timestamp(65500)
    '1970-01-01T00:01:05.500+00:00'
    """
    begin = datetime(1970, 1, 1, tzinfo=UTC)
    return (begin + timedelta(milliseconds=ms)).isoformat(timespec="milliseconds")


def export_dot(graph: DiGraph[Any], folder: Path) -> None:
    """Write ``procedure.dot``: optional key steps are dashed, edges show the number of videos that agree."""
    lines = ["digraph procedure {", "  rankdir=LR;", "  node [shape=box, style=rounded];"]
    for node, facts in graph.nodes(data=True):
        if isinstance(node, str):
            lines.append(f"  {node} [shape=plaintext];")
            continue
        label = f"{facts['label']}\n{facts['n_videos']} of {graph.graph['n_videos']} videos"
        style = ', style="rounded,dashed"' if facts["optional"] else ""
        lines.append(f"  {node} [label={quoted(label)}{style}];")
    for before, after, facts in graph.edges(data=True):
        counted = not {"START", "END"} & {before, after}
        lines.append(f"  {before} -> {after}" + (f' [label="{facts["agree"]}/{facts["both"]}"];' if counted else ";"))
    write_text("\n".join([*lines, "}", ""]), folder / "procedure.dot")


def quoted(text: str) -> str:
    r"""Return a text as Graphviz quotes it.

    >>> print(quoted('a "b"\nc'))
    "a \"b\"\nc"
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def export_elan(videos: Sequence[ExportedVideo], folder: Path) -> None:
    """Write one file per video with a tier of key steps; times are whole milliseconds, as in ELAN.

    The names of all key steps are the tier's controlled vocabulary, so that ELAN offers them for corrections. If there
    are marks, they are the annotations of another tier, one frame long: ELAN has no annotation without length. Segments
    that do not count as their key step are repeated in the tier `NOTES_TIER`, with the reason, and deviations that
    are not doubtful have the tier `DEVIATIONS_TIER`.
    """
    pympi = optional("pympi", "format elan", "pip install pympi-ling")
    entries = {name: f"cveid{number}" for number, name in enumerate(dict.fromkeys(key_steps_of(videos).values()))}
    tiers = (TIER, MARKS_TIER) if any(segment.mark for video in videos for segment in video.segments) else (TIER,)
    notes = tuple(
        tier
        for tier, there in (
            (NOTES_TIER, any(segment.note for video in videos for segment in video.segments)),
            (DEVIATIONS_TIER, any(video.told for video in videos)),
        )
        if there
    )
    for video in videos:
        document = pympi.Eaf(author="rgwot")
        document.remove_tier("default")
        document.add_language("und", "http://cdb.iso.org/lg/CDB-00130975-001", "undetermined (und)")
        document.add_controlled_vocabulary(TIER)
        for name, entry in entries.items():
            document.add_cv_entry(TIER, entry, [(name, "und", None)])
        document.add_linguistic_type(TIER)
        document.linguistic_types[TIER]["CONTROLLED_VOCABULARY_REF"] = TIER
        for tier in tiers:
            document.add_tier(tier, ling=TIER)
        if notes:
            document.add_linguistic_type(NOTES_TIER)
        for tier in notes:
            document.add_tier(tier, ling=NOTES_TIER)
        # ELAN cannot play features without a video.
        if video.filmed:
            kind = mimetypes.guess_type(video.path.name)[0] or "video/mp4"
            document.add_linked_file(*_addresses(video.path, folder), mimetype=kind)
        for tier, start, end, label in _annotations(video):
            document.add_annotation(tier, start, end, label)
        path = folder / f"{video.stem}.eaf"
        document.to_file(path)
        _refer(path, entries)


def _annotations(video: ExportedVideo) -> Iterator[tuple[str, int, int, str]]:
    """Yield tier, start and end in milliseconds, and label; a mark lasts a frame, or until the next mark if sooner."""
    frame = 40 if math.isnan(video.fps) else max(1, round(1000 / video.fps))
    marks = [video.milliseconds(segment.start_s) for segment in video.segments if segment.mark]
    for segment in video.segments:
        start, end = video.milliseconds(segment.start_s), video.milliseconds(segment.end_s)
        if segment.mark:
            end = min((at for at in marks if start < at < start + frame), default=start + frame)
            yield MARKS_TIER, start, end, segment.label
        elif end > start:
            yield TIER, start, end, segment.label
            if segment.note:
                yield NOTES_TIER, start, end, segment.note
    yield from _deviation_annotations(video, frame)


def _deviation_annotations(video: ExportedVideo, frame: int) -> Iterator[tuple[str, int, int, str]]:
    """Yield the deviations of a video, at least a ``frame`` in milliseconds long.

    Annotations of a tier may not overlap, so deviations with the same start become one annotation, which ends where the
    next annotation starts.
    """
    last, at_start = max(0, video.milliseconds(video.duration_s) - frame), dict[int, list[DeviationFacts]]()
    for row in video.told:
        at_start.setdefault(min(video.milliseconds(row.deviation.start_s), last), []).append(row)
    starts = sorted(at_start)
    for start, rows in sorted(at_start.items()):
        end = max([start + frame, *(video.milliseconds(row.deviation.end_s) for row in rows)])
        labels = [f"{video.called(row.deviation.key_step)} {row.told}" for row in rows]
        yield DEVIATIONS_TIER, start, min([end, *(at for at in starts if at > start)]), "; ".join(labels)


def _refer(path: Path, entries: Mapping[str, str]) -> None:
    """Make the annotations of an ELAN file refer to entries of its vocabulary, which pympi cannot do.

    If a user renames an entry in ELAN, this also renames its annotations.
    """
    ElementTree.register_namespace("xsi", "http://www.w3.org/2001/XMLSchema-instance")
    tree = ElementTree.parse(path)
    for tier in tree.iter("TIER"):
        if tier.get("LINGUISTIC_TYPE_REF") == TIER:
            for annotation in tier.iter("ALIGNABLE_ANNOTATION"):
                annotation.set("CVE_REF", entries[annotation.findtext("ANNOTATION_VALUE", "")])
    tree.write(path, encoding="UTF-8", xml_declaration=True)


def _addresses(path: Path, folder: Path) -> tuple[str, str]:
    """Return the absolute address of a video in an ELAN file, and its address relative to that file.

    ELAN does not percent-encode addresses. If the folder of the videos is unknown, ``path`` is relative; it becomes the
    first address, and the second address assumes that the ELAN file is beside the video.
    """
    if not path.is_absolute():
        return path.as_posix(), f"./{path.name}"
    between = Path(os.path.relpath(path, folder)).as_posix()
    return f"file://{'' if path.as_posix().startswith('/') else '/'}{path.as_posix()}", f"./{between}"


#: ELAN tiers for segments that are not occurrences of their key step, and for deviations.
NOTES_TIER, DEVIATIONS_TIER = "does not count", "deviations"
#: BORIS requires a date; the date of the video is unknown.
DATE = "1970-01-01T00:00:00"


def export_boris(videos: Sequence[ExportedVideo], folder: Path) -> None:
    """Write a project in which key steps are state events and every video is an observation.

    Deviations that are not doubtful are point events, too, and comments say which segments do not count. Marks are
    point events of separate behaviours, because a behaviour of BORIS has only one kind of events. Texts that BORIS may
    write into tables are guarded against formulas (`rgwot.runtime.csv_files.cell`).
    """
    marked = {segment.key_step for video in videos for segment in video.segments if segment.mark}
    kinds = [("State event", key_step, label) for key_step, label in key_steps_of(videos).items()]
    kinds += [("Point event", key_step, label + POINT) for _, key_step, label in kinds if key_step in marked]
    codes = dict.fromkeys((_behaviour(video, row), row.deviation.key_step) for video in videos for row in video.told)
    deviating = [("Point event", key_step, code) for code, key_step in codes]
    behaviours = {
        str(number): {
            "type": kind,
            "key": str(key_step) if key_step < 10 and kind == "State event" else "",
            "code": cell(label),
            "description": "",
            "category": DEVIATIONS_TIER if label.startswith(DEVIATION) else "",
            "modifiers": {},
            "excluded": "",
            "coding map": "",
        }
        for number, (kind, key_step, label) in enumerate([*kinds, *deviating])
    }
    content = {
        "time_format": "s",
        "project_date": DATE,
        "project_name": "rgwot",
        "project_description": "key steps found by rgwot",
        "project_format_version": "7.0",
        "subjects_conf": {},
        "behaviors_conf": behaviours,
        "observations": {cell(video.stem): _observation(video) for video in videos},
        "behavioral_categories": [DEVIATIONS_TIER] if deviating else [],
        "behavioral_categories_config": {},
        "independent_variables": {},
        "coding_map": {},
        "behaviors_coding_map": [],
        "converters": {},
    }
    write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", folder / "project.boris")


def _observation(video: ExportedVideo) -> dict[str, object]:
    media = video.path.as_posix()
    media = media if cell(media) == media else f"./{media}"
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
            "fps": {} if math.isnan(video.fps) else {media: video.fps},
            "hasVideo": {media: True},
            "hasAudio": {media: False},
            "offset": {"1": 0.0},
        },
    }


def _events(video: ExportedVideo) -> list[list[object]]:
    """Return starts, stops and points in order of time: time, subject, behaviour, modifiers, comment and frame.

    If a stop and a start have the same time, the stop comes first.
    """
    moments = [
        (video.milliseconds(time_s), starts, cell(label), segment.note)
        for segment in video.segments
        if segment.mark or video.milliseconds(segment.end_s) > video.milliseconds(segment.start_s)
        for time_s, starts, label in _sides(segment)
    ]
    moments += [
        (video.milliseconds(row.deviation.start_s), 1, cell(_behaviour(video, row)), row.sureness) for row in video.told
    ]
    events = []
    for ms, _, label, comment in sorted(moments):
        frame: object = "NA"
        if not math.isnan(video.fps):
            # Frames are numbered from 0, so the last number is one less than the number of frames.
            last = max(0, round((video.duration_s - video.start_s) * video.fps) - 1)
            frame = min(round((ms / 1000 - video.start_s) * video.fps), last)
        events.append([ms / 1000, "", label, "", comment, frame])
    return events


def _behaviour(video: ExportedVideo, row: DeviationFacts) -> str:
    """Return the behaviour of a deviation, such as "deviation: pour left out"."""
    return f"{DEVIATION}{video.called(row.deviation.key_step)} {row.kind}"


def _sides(segment: LabelledSegment) -> list[tuple[float, int, str]]:
    """Return the start (1) and stop (0) of a segment, or a mark, with their times and behaviours."""
    if segment.mark:
        return [(segment.start_s, 1, segment.label + POINT)]
    return [(segment.start_s, 1, segment.label), (segment.end_s, 0, segment.label)]
