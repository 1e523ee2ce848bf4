"""Published features for action segmentation: ``features/``, and ``groundTruth/`` with a step name per frame.

FACT and MS-TCN have ``groundTruth/VIDEO.txt`` and ``mapping.txt``, ASOT ``groundTruth/VIDEO``, ``mapping/mapping.txt``
and ``features/ACTIVITY/VIDEO.txt`` or ``.npy`` (the text is preferred). A line is a frame at ``imported.native_fps``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from itertools import groupby
from pathlib import Path, PurePosixPath

from rgwot.datasets.annotations import AnnotatedSegment, Annotation, Complaints, build_annotation
from rgwot.datasets.base import DatasetFiles, VideoEntry
from rgwot.datasets.egoprocel import files_by_task
from rgwot.datasets.pairing import pair, parents, stem, walk
from rgwot.datasets.registry import TaskFacts
from rgwot.datasets.settings import Options
from rgwot.datasets.text import DataFault, excerpt, filled_lines, judged, read_lines
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.timing import VideoInfo

OPTIONS = frozenset({"view", "subset", "strict", "unannotated", "pattern", "background", "mapping", "split"})
EXPECTED = "the folders features/ and groundTruth/ and the file mapping.txt"

_TRUTH, _FEATURES = "groundTruth", "features"
_DIFFERS = 0.05
"""Features and lines may differ in length by this share; time that only one of them covers is not scored."""


def find(root: Path, dataset: str, options: Options) -> DatasetFiles:
    """Find the features, and the files with the same names in ``groundTruth``."""
    paths = walk(root, root, {""})
    # Hidden files are leftovers of downloads, so they are left out.
    truths = [path for path in paths if parents(path)[-1:] == (_TRUTH,) and not stem(path).startswith(".")]
    features = _features(paths)
    if not truths or not features:
        lacking = _FEATURES if truths else _TRUTH
        raise RgwotError(f"dataset {dataset!r}: no files in a folder {lacking} below {root}; expected {EXPECTED}")
    if len(places := sorted({parents(path) for path in truths})) > 1:
        two_sets = " and ".join("/".join(parts) for parts in places[:2])
        raise RgwotError(
            f"dataset {dataset!r}: found {two_sets} in {root}; expected one dataset; set `root` to the folder of one"
        )
    names = set(features)
    if options.split is not None:
        listed = _listed(root / options.split)
        if not names & listed:
            raise RgwotError(
                f"{root / options.split}: names none of {len(names)} videos; expected names like {min(names)}"
            )
        names &= listed
        truths = [path for path in truths if _annotated(path) in listed]
    placed, where = files_by_task(sorted(features[name] for name in names), dataset, options, str(root))
    unassigned = placed.pop("", [])
    if options.pattern is not None and unassigned and not placed:
        raise RgwotError(
            f"dataset {dataset!r}: pattern {options.pattern!r} fits none of {len(names)} videos; expected a pattern "
            f"that fits whole names, such as {min(names)}"
        )
    truth = {_annotated(path): path for path in truths}
    # Label files are assigned to tasks by their names, so that a task can report those without features.
    named, _ = files_by_task((f"{name}.txt" for name in truth), dataset, options, "")
    tasks = {
        task: pair(videos, [truth[stem(path)] for path in named.get(task, ())], options, _annotated)
        for task, videos in placed.items()
    }
    return DatasetFiles(dataset, where, tasks, tuple(unassigned))


def read_annotation(
    root: Path, entry: VideoEntry, facts: TaskFacts | None, clock: VideoInfo | None, options: Options
) -> Annotation:
    """Read the labels of a video; a run of equal names is a segment, unless the name means background.

    Lines after the last feature are left out; if the lines end first, ``labelled_s`` is their end.
    """
    path = root / str(entry.annotation)
    steps = read_label_numbers(path.parents[1], options)
    lines = read_lines(path)
    while lines and not lines[-1].text.strip():
        lines.pop()
    rate = Fraction(1) if clock is None else clock.fps
    notes, labelled_s = Complaints(path), None
    if clock is not None:
        frames = round(clock.duration_s * rate)
        if abs(len(lines) - frames) > max(_DIFFERS * frames, float(rate)):
            fault = f"{len(lines)} lines of {float(rate):g} per second for features of {clock.duration_s:g} s"
            raise DataFault("past_end", path, "", f"{fault}; expected {frames} lines; wrong rate, axes or file?")
        if len(lines) < frames:
            labelled_s = float(len(lines) / rate)
        if frames - len(lines) >= rate:
            where = f"line {len(lines)}"
            notes.add("unlabelled", where, f"is the last, but there are {frames} frames; the rest is not scored")
        lines = lines[:frames]
    segments = []
    for name, run in groupby(enumerate(lines), key=lambda item: item[1].text.strip()):
        members = list(run)
        first, last = members[0], members[-1]
        where = f"line {first[1].number}"
        with judged():
            if name not in steps:
                raise DataFault(
                    "step", path, where, f"{excerpt(name)} is not a name in {options.mapping}; {nearest(name, steps)}"
                )
            start, end, step = float(first[0] / rate), float((last[0] + 1) / rate), steps[name]
            # Background always has the number 0, whatever its number in the mapping.
            called = (0, "background") if step is None else (step, name.replace("_", " "))
            segments.append(AnnotatedSegment(where, start, end, *called))
    return replace(build_annotation(path, segments, notes, clock, overlap_is_normal=False), labelled_s=labelled_s)


def mapping_file(folder: Path, options: Options) -> Path:
    """Return the file with number and name of every step; raise RgwotError if there is none."""
    for path in (folder / options.mapping, folder / "mapping" / options.mapping):
        if path.is_file():
            return path
    raise RgwotError(
        f"{folder / options.mapping}: no such file here or in mapping; expected a file of numbers and names"
    )


def read_label_numbers(folder: Path, options: Options) -> dict[str, int | None]:
    """Return the step of every name, from 1, or None for background (``options.background``, and number -1).

    Several names may share a number. Raises RgwotError if a line has another form, or a name of
    ``options.background`` is missing.
    """
    path = mapping_file(folder, options)
    steps: dict[str, int | None] = {}
    for line in filled_lines(path):
        match = re.fullmatch(r"(-1|[0-9]{1,9})\s+(\S.*)", line.text.strip())
        if match is None or match[2] in steps:
            expected = "expected a whole number, a blank and a new name"
            raise DataFault("release", path, f"line {line.number}", f"{excerpt(line.text)}; {expected}")
        # 1 is added, because 0 means background in annotations, but is a step in some mappings.
        steps[match[2]] = None if match[1] == "-1" else int(match[1]) + 1
    for name in options.background:
        if name not in steps:
            raise RgwotError(
                f"{path}: no name {name!r}, which the dataset sets as `background`; {nearest(name, steps)}"
            )
        steps[name] = None
    return steps


def _features(paths: Iterable[str]) -> dict[str, str]:
    """Return the files of features by name; a text file, which is sorted last, is preferred."""
    return {stem(path): path for path in paths if _FEATURES in parents(path) and path.endswith((".npy", ".txt"))}


def _listed(path: Path) -> set[str]:
    """Return the videos in the list of a split, in which ``.txt`` is optional."""
    return {line.text.strip().removesuffix(".txt") for line in filled_lines(path)}


def _annotated(path: str) -> str:
    return PurePosixPath(path).name.removesuffix(".txt")
