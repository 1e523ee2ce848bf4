"""Stage ``manifest``: the videos of a task with their faults, and their annotated segments."""

from __future__ import annotations

import logging
import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import Literal

import pandas as pd

from rgwot.columns import ANNOTATION_COLUMNS, MANIFEST_COLUMNS
from rgwot.datasets import folder
from rgwot.datasets.annotation_files import of_no_video
from rgwot.datasets.annotations import Annotation, steps_of
from rgwot.datasets.base import Layout, TaskFiles, VideoEntry
from rgwot.datasets.feature_files import in_place_of_video, measure_file
from rgwot.datasets.finding import find, layout_module, read_options, registered_facts
from rgwot.datasets.names import way_in
from rgwot.datasets.registry import TaskFacts
from rgwot.datasets.settings import ImportSettings, Options
from rgwot.datasets.text import Severity, tell
from rgwot.runtime.csv_files import write_csv
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.progress import with_progress
from rgwot.timing import VideoInfo, ends_early

_LOG = logging.getLogger(__name__)
_NAMED = 5


def write_manifest(
    dataset: str,
    task: str,
    root: str | os.PathLike[str],
    layout: str,
    options: Mapping[str, object],
    output_csv: str | os.PathLike[str],
    annotations_csv: str | os.PathLike[str],
    on_bad_video: Literal["fail", "skip"],
    imported: Mapping[str, object] | None = None,
) -> None:
    """Probe the videos of a task, read their annotations, and write both tables.

    Root, layout and options come from the dataset's entry in the configuration. For features without videos, so does
    ``imported``; their files take the place of the videos, with width and height 0. The manifest has the columns
    `MANIFEST_COLUMNS`: paths are relative to the root, ``fps`` is an exact fraction like ``30000/1001``, and ``status``
    is ``ok``, ``unscored`` (no annotation, an empty one, or labels in part, such as marks) or ``skipped`` (unusable,
    with the reason, if ``on_bad_video`` is ``skip``). Scores use a video only up to the end of its labels.
    `segment_table` makes the table of annotations.

    Raises RgwotError if files are missing, a video is bad and ``on_bad_video`` is ``fail``, or an annotation is
    malformed.
    """
    below = Path(root)
    module, chosen = layout_module(layout), read_options(dataset, layout, options)
    form = None if imported is None else ImportSettings.model_validate(imported)
    files = find(dataset, layout, below, options)
    entries, facts = files.of(task), registered_facts(dataset, task, chosen)
    for _, _, message in leftovers(files.tasks[task], facts is not None):
        _LOG.warning("%s/%s: %s", dataset, task, message)
    rows: list[dict[str, object]] = []
    annotations: dict[str, Annotation] = {}
    spans: dict[str, tuple[float, float]] = {}
    told = chosen.silence or ""
    for entry in with_progress(_LOG, f"reading {dataset}/{task}", entries, "video"):
        row, clock = _probed(below, entry, on_bad_video, chosen.told_fps, form)
        rows.append(row)
        if clock is None or entry.annotation is None:
            continue
        annotation = read_annotation(module, below, entry, facts, clock, chosen)
        for warning in annotation.warnings:
            _LOG.warning("%s", warning)
        spans[entry.name] = annotation.span(clock.duration_s, told)
        if annotation.labelled_s is not None:
            # The video ends with its labels here; otherwise unlabelled time would be scored as background.
            row["duration_s"] = annotation.labelled_s
        if reason := annotation.unscored(told):
            row.update(status="unscored", reason=reason)
        if not annotation.empty:
            annotations[entry.video] = replace(annotation, silence=annotation.silence or told)
    if module.read_annotation is folder.read_annotation:
        for path, line in of_no_video(below, entries, chosen):
            _LOG.warning("%s: %s", path, line)
    for name, line in ends_early(spans).items():
        _LOG.warning("%s/%s: annotation of %s: %s", dataset, task, name, line)
    write_csv(segment_table(annotations), annotations_csv)
    # Int64 keeps integers, although skipped videos have no value.
    sizes: Mapping[str, Literal["Int64"]] = {"width": "Int64", "height": "Int64"}
    write_csv(pd.DataFrame(rows, columns=list(MANIFEST_COLUMNS)).astype(sizes), output_csv)


def _probed(
    root: Path, entry: VideoEntry, on_bad_video: str, frames_fps: Fraction | None, form: ImportSettings | None
) -> tuple[dict[str, object], VideoInfo | None]:
    """Return the manifest row of a video, and its facts if it is usable."""
    from rgwot.video import VideoError, probe

    row: dict[str, object] = {
        "video": entry.video,
        "name": entry.name,
        "path": entry.path,
        "annotation": entry.annotation or "",
    }
    try:
        place = root / entry.path
        info = probe(place, frames_fps) if form is None else in_place_of_video(place, measure_file(place, form))
    except RgwotError as error:
        # For a video, only a VideoError is the fault of the file; other errors are raised.
        if on_bad_video == "fail" or (form is None and not isinstance(error, VideoError)):
            raise
        _LOG.warning("%s; left out", error)
        reason = error.reason if isinstance(error, VideoError) else str(error)
        return row | {"status": "skipped", "reason": " ".join(reason.split())}, None
    if info.remark:
        _LOG.warning("%s: %s", place, info.remark)
    row |= {"duration_s": info.duration_s, "fps": str(info.fps), "width": info.width, "height": info.height}
    row |= {"start_s": info.start_s}
    annotated = entry.annotation is not None
    row |= {"status": "ok" if annotated else "unscored", "reason": "" if annotated else "no annotation"}
    return row, info


def read_annotation(
    module: Layout, root: Path, entry: VideoEntry, facts: TaskFacts | None, clock: VideoInfo | None, options: Options
) -> Annotation:
    """Read the annotation of a video by the module of its layout, and report if it has no rows.

    Users annotate their videos in players, which show the first frame at ``clock.start_s``; published annotations have
    the first frame at 0.
    """
    if clock is not None and module is not folder:
        clock = replace(clock, start_s=0.0)
    annotation = module.read_annotation(root, entry, facts, clock, options)
    if annotation.empty:
        tell("no_rows", root / str(entry.annotation), f"no rows, so {entry.name} is not scored, but used otherwise")
    return annotation


def not_read(paths: Sequence[str], what: str) -> str:
    """Return a line on files of kinds that are not read, with how to import them."""
    ways = dict.fromkeys(way for path in paths if (way := way_in(path)))
    of_kinds = {PurePosixPath(path).suffix.lower(): path for path in reversed(paths)}
    named = sorted(dict.fromkeys([*of_kinds.values(), *paths]), key=lambda path: path not in of_kinds.values())[:_NAMED]
    listed = ", ".join(sorted(named)) + (", ..." if len(paths) > len(named) else "")
    return f"{len(paths)} files {what}: {listed}; {'; '.join(ways)}"


def annotations_now(
    dataset: str, task: str, root: Path, layout: str, options: Mapping[str, object], manifest: pd.DataFrame
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Read the annotations of a task as they are now, without probing its videos again.

    Parameters
    ----------
    dataset, task, root, layout, options
        As in `write_manifest`.
    manifest
        The manifest of the task, as `rgwot.records.read_manifest` returns it; videos that it lacks are left out.

    Returns
    -------
    The table that `write_manifest` writes, and for each annotated video why it cannot be scored, or an empty text.
    """
    module, chosen = layout_module(layout), read_options(dataset, layout, options)
    facts, told = registered_facts(dataset, task, chosen), chosen.silence or ""
    clocks = {
        row["video"]: VideoInfo(row["duration_s"], row["fps"], row["width"], row["height"], start_s=row["start_s"])
        for row in manifest[manifest["status"] != "skipped"].to_dict("records")
    }
    annotations: dict[str, Annotation] = {}
    reasons: dict[str, str] = {}
    for entry in find(dataset, layout, root, options).of(task):
        if entry.annotation is not None and entry.video in clocks:
            annotation = read_annotation(module, root, entry, facts, clocks[entry.video], chosen)
            reasons[entry.video] = annotation.unscored(told)
            if not annotation.empty:
                annotations[entry.video] = replace(annotation, silence=annotation.silence or told)
    return segment_table(annotations), reasons


def leftovers(files: TaskFiles, published: bool) -> Iterator[tuple[Severity, str, str]]:
    """Yield severity, rule and message for everything in a task that is left out or not scored.

    A published dataset should be annotated throughout; in a user's own, a few annotated videos can teach the others.
    """
    if files.left_out:
        kinds = "labelled videos, and tables beside a filtered table or beside a .csv"
        line = f"{len(files.left_out)} files of DeepLabCut are left out ({kinds}), such as {files.left_out[0]}"
        yield "note", "name", line
    if files.not_read:
        yield "note", "kind", not_read(files.not_read, "of kinds that are not read")
    lonely, unused = files.without_annotation, files.without_video
    pairs = sum(entry.annotation is not None for entry in files.videos)
    if files.videos and not pairs and not unused:
        yield "note", "pairing", f"none of {len(files.videos)} videos is annotated, so results cannot be scored"
        return
    if lonely:
        kept = pairs < len(files.videos)
        own = kept and pairs > 0 and not published
        use = "trained on, not scored" if kept else "left out"
        use = "labelled like the annotated ones by `rgwot run first`, not scored" if own else use
        line = f"{len(lonely)} videos without annotation, {use}, such as {lonely[0]}"
        yield "note" if own else "warning", "pairing", line
    if unused:
        line = f"{len(unused)} annotations without a video, left out, such as {unused[0]}"
        yield "warning", "pairing", line


def segment_table(annotations: Mapping[str, Annotation]) -> pd.DataFrame:
    """Put the segments of all videos into one table ``video,start_s,end_s,key_step,name``.

    It is sorted by video, and in file order within a video. Ids of a release can have gaps, and some steps never occur,
    so the ids that occur are renumbered in ascending order: key steps 1 to K'. Steps without ids follow, in the order
    in which they first occur. If a step has several spellings, the most common one is used or, on a tie, the first.
    Annotated background comes before the segments of its video, with key step 0. If any annotation says how time
    without a segment is read, there is a column ``silence``.
    """
    columns = list(ANNOTATION_COLUMNS)
    if not annotations:
        return pd.DataFrame(columns=columns)
    tables = [annotations[video].segments.assign(video=video) for video in sorted(annotations)]
    table = pd.concat(tables, ignore_index=True)
    table["step"] = steps_of(table)
    named = table[table["name"] != ""]
    names = {step: Counter(spelt).most_common(1)[0][0] for step, spelt in named.groupby("step")["name"]}
    first = table.sort_values(["video", "start_s"], kind="stable")["step"].drop_duplicates().tolist()
    # sorted() is stable, so names without an id keep the order in which they first occur.
    steps = sorted(first, key=lambda step: math.inf if isinstance(step, str) else step)
    numbers = {step: number for number, step in enumerate(steps, 1)}
    name = [names.get(step, "") for step in table["step"]]
    table = table.assign(key_step=table["step"].map(numbers), name=name)[columns]
    background = [(video, *span, 0, "") for video, annotation in annotations.items() for span in annotation.background]
    if background:
        table = pd.concat([pd.DataFrame(background, columns=columns), table]).sort_values("video", kind="stable")
    if any(annotation.silence for annotation in annotations.values()):
        table = table.assign(silence=[annotations[video].silence for video in table["video"]])
    return table
