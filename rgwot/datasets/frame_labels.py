"""Published features of action segmentation: ``features/``, and ``groundTruth/`` with one name per line and frame.

FACT and MS-TCN have ``groundTruth/VIDEO.txt`` and ``mapping.txt``, ASOT ``groundTruth/VIDEO``, ``mapping/mapping.txt``
and ``features/ACTIVITY/VIDEO.txt`` or ``.npy``, of which the text counts. A line is a frame of ``imported.native_fps``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from itertools import groupby
from pathlib import Path, PurePosixPath

from rgwot.datasets.annotations import AnnotatedSegment, Annotation, Notes, build_annotation
from rgwot.datasets.base import Found, Options, VideoEntry
from rgwot.datasets.egoprocel import place
from rgwot.datasets.pairing import pair, parents, stem, walk
from rgwot.datasets.registry import TaskFacts
from rgwot.datasets.text import DataFault, excerpt, filled_lines, judged, read_lines
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.timing import VideoInfo

OPTIONS = frozenset({"view", "subset", "strict", "unannotated", "pattern", "background", "mapping", "split"})
EXPECTED = "the folders features/ and groundTruth/ and the file mapping.txt"

_TRUTH, _FEATURES = "groundTruth", "features"
_DIFFERS = 0.05
"""Share by which features and lines may differ in length; what only one of them has is not scored."""


def find(root: Path, dataset: str, options: Options) -> Found:
    """Find features and the files of their names in ``groundTruth``."""
    paths = walk(root, root, {""})
    # Hidden files are what a download leaves beside its own.
    truths = [path for path in paths if parents(path)[-1:] == (_TRUTH,) and not stem(path).startswith(".")]
    features = _features(paths)
    if not truths or not features:
        lacking = _FEATURES if truths else _TRUTH
        raise RgwotError(f"dataset {dataset!r}: no files in a folder {lacking} below {root}; expected {EXPECTED}")
    if len(places := sorted({parents(path) for path in truths})) > 1:
        found = " and ".join("/".join(parts) for parts in places[:2])
        raise RgwotError(f"dataset {dataset!r}: found {found} in {root}; expected one set; name its folder as `root`")
    names = set(features)
    if options.split is not None:
        listed = _listed(root / options.split)
        if not names & listed:
            raise RgwotError(
                f"{root / options.split}: names none of {len(names)} videos; expected names like {min(names)}"
            )
        names &= listed
        truths = [path for path in truths if _annotated(path) in listed]
    placed, where = place(sorted(features[name] for name in names), dataset, options, str(root))
    unassigned = placed.pop("", [])
    if options.pattern is not None and unassigned and not placed:
        raise RgwotError(
            f"dataset {dataset!r}: pattern {options.pattern!r} fits none of {len(names)} videos; expected one of whole "
            f"names, such as {min(names)}"
        )
    truth = {_annotated(path): path for path in truths}
    # One without features is a leftover of the task that its name says.
    named, _ = place((f"{name}.txt" for name in truth), dataset, options, "")
    tasks = {
        task: pair(videos, [truth[stem(path)] for path in named.get(task, ())], options, _annotated)
        for task, videos in placed.items()
    }
    return Found(dataset, where, tasks, tuple(unassigned))


def read_annotation(
    root: Path, entry: VideoEntry, facts: TaskFacts | None, clock: VideoInfo | None, options: Options
) -> Annotation:
    """Read the lines of a video; runs of one name are a segment, and names of the background none.

    Lines past the last feature are left out; where the lines end first, ``labelled_s`` says it.
    """
    path = root / str(entry.annotation)
    steps = read_label_numbers(path.parents[1], options)
    lines = read_lines(path)
    while lines and not lines[-1].text.strip():
        lines.pop()
    rate = Fraction(1) if clock is None else clock.fps
    notes, labelled_s = Notes(path), None
    if clock is not None:
        frames = round(clock.duration_s * rate)
        if abs(len(lines) - frames) > max(_DIFFERS * frames, float(rate)):
            found = f"{len(lines)} lines of {float(rate):g} per second for features of {clock.duration_s:g} s"
            raise DataFault("past_end", path, "", f"{found}; expected {frames} lines; wrong rate, axes or file?")
        if len(lines) < frames:
            labelled_s = float(len(lines) / rate)
        if frames - len(lines) >= rate:
            where = f"line {len(lines)}"
            notes.add("unlabelled", where, f"is the last, of {frames} frames; what follows it is not scored")
        lines = lines[:frames]
    segments = []
    for name, run in groupby(enumerate(lines), key=lambda item: item[1].text.strip()):
        members = list(run)
        first, last = members[0], members[-1]
        where = f"line {first[1].number}"
        with judged():
            if name not in steps:
                raise DataFault(
                    "step", path, where, f"{excerpt(name)} is no name of {options.mapping}; {nearest(name, steps)}"
                )
            start, end, step = float(first[0] / rate), float((last[0] + 1) / rate), steps[name]
            # Of background the number is 0 whatever it is called.
            called = (0, "background") if step is None else (step, name.replace("_", " "))
            segments.append(AnnotatedSegment(where, start, end, *called))
    return replace(build_annotation(path, segments, notes, clock, overlap_is_normal=False), labelled_s=labelled_s)


def mapping_file(folder: Path, options: Options) -> Path:
    """Return the file with number and name of every step; RgwotError where there is none."""
    for path in (folder / options.mapping, folder / "mapping" / options.mapping):
        if path.is_file():
            return path
    raise RgwotError(f"{folder / options.mapping}: no such file, nor in the folder mapping; expected number and name")


def read_label_numbers(folder: Path, options: Options) -> dict[str, int | None]:
    """Return the step of every name, from 1, None for the background: the names of the entry, and number -1.

    Several names may share a number. Raises RgwotError if a line has another form or a name of the entry is not there.
    """
    path = mapping_file(folder, options)
    steps: dict[str, int | None] = {}
    for line in filled_lines(path):
        match = re.fullmatch(r"(-1|[0-9]{1,9})\s+(\S.*)", line.text.strip())
        if match is None or match[2] in steps:
            raise RgwotError(
                f"{path}: line {line.number}: {excerpt(line.text)}; expected a whole number, a blank and a new name"
            )
        # From 1, because 0 is no step of an annotation, but one of some mappings.
        steps[match[2]] = None if match[1] == "-1" else int(match[1]) + 1
    for name in options.background:
        if name not in steps:
            raise RgwotError(f"{path}: no name {name!r}, the background of the dataset; {nearest(name, steps)}")
        steps[name] = None
    return steps


def _features(paths: Iterable[str]) -> dict[str, str]:
    """Return the files of features by their names; of two, the one of text, which is sorted last."""
    return {stem(path): path for path in paths if _FEATURES in parents(path) and path.endswith((".npy", ".txt"))}


def _listed(path: Path) -> set[str]:
    """Return the videos that a list of a split names, with ``.txt`` or without."""
    return {line.text.strip().removesuffix(".txt") for line in filled_lines(path)}


def _annotated(path: str) -> str:
    return PurePosixPath(path).name.removesuffix(".txt")
