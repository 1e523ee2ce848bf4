"""Files of a dataset: one directory walk, and pairs of videos and annotations with the same stem."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TypeVar

from rgwot.datasets.annotation_files import annotates_many
from rgwot.datasets.base import TaskFiles, VideoEntry
from rgwot.datasets.names import (
    COMMON,
    LONGEST_ID,
    VIDEO_SUFFIXES,
    VIDEO_TABLE,
    folded,
    points_chosen,
    tracked_name,
    video_id,
    way_in,
)
from rgwot.datasets.settings import Options
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.text import pairing_key

_T = TypeVar("_T")
#: The workflow's own folder, which has no task.
RESULTS = "results"


def subfolder(folder: Path, name: str) -> Path | None:
    """Return the folder in ``folder`` whose name is ``name``, up to case and punctuation, or None."""
    try:
        folders = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir())
    except OSError:
        return None
    exact = [entry for entry in folders if entry == name]
    return next((folder / entry for entry in exact or folders if folded(entry) == folded(name)), None)


def required_subfolder(root: Path, name: str, dataset: str, expected: str) -> Path:
    """Return the result of `subfolder`; raise RgwotError with the layout's expectation if it does not exist."""
    match = subfolder(root, name)
    if match is None:
        raise RgwotError(f"dataset {dataset!r}: no folder {root / name}; expected {expected}; add it or set `roots`")
    return match


def walk(root: Path, folder: Path, suffixes: Collection[str]) -> list[str]:
    """Return the files below ``folder`` with one of the suffixes, relative to ``root`` with ``/``, sorted.

    Links are followed once; ``._*`` files, which macOS adds next to copies, are left out.

    Raises RgwotError if a folder cannot be listed.
    """

    def refuse(error: OSError) -> None:
        raise RgwotError(f"{error.filename}: cannot be listed ({error.strerror}); expected a readable folder")

    endings = tuple(suffixes)
    visited: set[tuple[int, int]] = set()
    paths: list[str] = []
    for parent, folders, names in os.walk(folder, onerror=refuse, followlinks=True):
        status = os.stat(parent)
        if (status.st_dev, status.st_ino) in visited:
            folders.clear()
            continue
        visited.add((status.st_dev, status.st_ino))
        prefix = "" if Path(parent) == root else os.path.relpath(parent, root).replace(os.sep, "/") + "/"
        paths.extend(
            prefix + name
            for name in names
            if name.lower().endswith(endings) and name.lower() not in endings and not name.startswith("._")
        )
    return sorted(paths)


def walk_videos(root: Path, folder: Path, options: Options, also: Collection[str] = ()) -> list[str]:
    """Return the videos below ``folder``, and files with one of the suffixes ``also`` (see `walk`).

    If the options say that videos are stored frames, the videos are the HDF5 files with frames, including unreadable
    ones, so that probing them reports the reason. If the options say that there are only features, the files of
    features, except ``.csv``, take the place of videos.
    """
    if options.features_alone:
        from rgwot.datasets.arrays import OPENERS, TIMES

        paths = walk(root, folder, {*OPENERS} - {".csv"} | {*also})
        return [path for path in paths if not stem(path).endswith(TIMES)]
    if options.frames_fps is None:
        return walk(root, folder, {*VIDEO_SUFFIXES, *also})
    from rgwot.video.probing import H5_SUFFIXES, may_hold_frames

    paths = walk(root, folder, {*H5_SUFFIXES, *also})
    return [
        path for path in paths if PurePosixPath(path).suffix.lower() not in H5_SUFFIXES or may_hold_frames(root / path)
    ]


def by_suffix(paths: Iterable[str], suffix: str | tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Return the paths without and with a suffix (or one of several), ignoring case."""
    kinds = by_task(paths, lambda path: "with" if path.lower().endswith(suffix) else "")
    return kinds[""], kinds["with"]


def stem(path: str) -> str:
    """Return the file name without its last extension, or the video of a DeepLabCut file."""
    points = tracked_name(path)
    return PurePosixPath(path).stem if points is None else points["video"]


def parents(path: str) -> tuple[str, ...]:
    """Return the folders of a relative path, outermost first."""
    return PurePosixPath(path).parts[:-1]


def by_task(items: Iterable[_T], task: Callable[[_T], str]) -> dict[str, list[_T]]:
    """Group paths or videos by task and keep their order; a task without any has an empty list."""
    tasks: dict[str, list[_T]] = defaultdict(list)
    for item in items:
        tasks[task(item)].append(item)
    return tasks


def pair(
    videos: Sequence[str],
    annotations: Sequence[str],
    options: Options,
    annotation_key: Callable[[str], str] = stem,
    video_key: Callable[[str], str] = stem,
    shared: Sequence[str] = (),
) -> TaskFiles:
    """Pair the videos and annotations of a task that have the same stem, whatever their extension and folder.

    ``annotation_key`` and ``video_key`` return the stem of the video for the path of an annotation and of a video. A
    ``shared`` file annotates the videos that have no annotation file of their own.
    """
    common = next(iter(shared), None)
    badly_named = {path: reason for path in videos if (reason := _unusable(path))}
    by_video, twice = _unique((path for path in videos if path not in badly_named), video_key, "videos")
    by_annotation, twice_annotated = _unique(annotations, annotation_key, "annotations")
    unusable = (*badly_named.items(), *twice, *twice_annotated)
    pairs = by_video.keys() & by_annotation.keys()
    lonely = tuple(sorted(path for key, path in by_video.items() if key not in pairs and common is None))
    unused = tuple(sorted(path for key, path in by_annotation.items() if key not in pairs))
    fault = f"{_counted(lonely, 'videos without annotation')}, {_counted(unused, 'annotations without a video')}"
    problem = None
    if unusable:
        problem = unusable[0][1]
    elif len(shared) > 1:
        problem = f"{shared[0]} and {shared[1]} both annotate several videos; expected one such file; remove one"
    elif not (pairs or common) and (unused or options.unannotated != "keep"):
        problem = f"no video has an annotation ({fault}); expected files of the same stem; compare the names"
    elif options.strict and (lonely or unused):
        problem = f"{fault}; expected none, since `strict` is set; complete the files"
    entries = (
        VideoEntry(video_id(stem(by_video[key])), stem(by_video[key]), by_video[key], by_annotation.get(key, common))
        for key in (by_video if options.unannotated == "keep" else pairs)
    )
    return TaskFiles(tuple(sorted(entries, key=lambda entry: entry.video)), lonely, unused, problem, unusable)


def own_tasks(
    root: Path,
    files: Iterable[str],
    sorted_out: Callable[[list[str]], tuple[list[str], list[str]]],
    options: Options,
    ignored: Collection[str],
) -> tuple[dict[str, TaskFiles], tuple[str, ...], tuple[str, ...]]:
    """Return a user's tasks by id (`video_id` of the first folder of its files), and the files outside any folder.

    These are first the videos, then other files, without those that have one of the suffixes ``ignored``.

    ``sorted_out`` splits the files of a task into videos and annotations. Videos without annotation are kept. An
    annotation without a video of its name is opened, because it may be of many videos. `points_chosen` selects the
    files of DeepLabCut, which are never annotations.
    """
    files = list(files)
    read, endings = set(files), tuple(ignored)
    unread = (path for path in walk(root, root, {""}) if path not in read and not path.startswith(f"{RESULTS}/"))
    unread = (path for path in unread if not path.lower().endswith(endings) and way_in(path))
    others = by_task(unread, lambda path: next(iter(parents(path)), ""))
    by_folder = by_task(files, lambda path: next(iter(parents(path)), ""))
    unassigned, stray = sorted_out(by_folder.pop("", []))
    stray = [path for path in [*stray, *others.get("", ())] if not _common(path)]
    tasks = {}
    for task, paths in by_folder.items():
        for table in [path for path in paths if path.removeprefix(f"{task}/").lower() == VIDEO_TABLE]:
            if not any(path != table and stem(path) == stem(table) for path in paths):
                # If another file has the same stem, it is a video, and the table stays, because it is its annotation.
                paths = [path for path in paths if path != table]
        paths, left_out = points_chosen(paths)
        videos, annotations = sorted_out(paths)
        annotations = [path for path in annotations if tracked_name(path) is None]
        if videos and (fault := _unusable(task, "folder")):
            tasks[video_id(task)] = TaskFiles(problem=fault)
        elif videos:
            names = {pairing_key(stem(path)) for path in videos}
            shared = [
                path for path in annotations if pairing_key(stem(path)) not in names and annotates_many(root / path)
            ]
            mine = [path for path in annotations if path not in shared]
            pairs = pair(videos, mine, options.model_copy(update={"unannotated": "keep"}), shared=shared)
            not_read = [
                path
                for path in others.get(task, ())
                if tracked_name(path) is None and (not _common(path) or pairing_key(PurePosixPath(path).stem) in names)
            ]
            tasks[video_id(task)] = replace(pairs, left_out=tuple(left_out), not_read=tuple(not_read))
        elif task != RESULTS and not task.startswith("."):
            stray += annotations
    stray += [
        path
        for task, paths in others.items()
        if task and not task.startswith(".") and video_id(task) not in tasks
        for path in paths
        if not _common(path)
    ]
    return tasks, tuple(unassigned), tuple(stray)


def _common(path: str) -> bool:
    return PurePosixPath(path).suffix.lower() in COMMON


def _counted(paths: Sequence[str], what: str) -> str:
    return f"{len(paths)} {what}{f' (like {paths[0]})' if paths else ''}"


def _unique(paths: Iterable[str], key: Callable[[str], str], what: str) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Return one path per key, and the other paths of a key with the reason why they are a problem."""
    by_key: dict[str, str] = {}
    repeated: list[tuple[str, str]] = []
    for path in paths:
        earlier = by_key.setdefault(pairing_key(key(path)), path)
        if earlier != path:
            fault = f"two {what} named {stem(path)!r}: {earlier} and {path}"
            repeated.append((path, f"{fault}; expected one; remove or rename one of them"))
    return by_key, repeated


def _unusable(path: str, what: str = "file") -> str | None:
    """Return why a video (or a task, which is a folder) of this name cannot be used, or None if it can."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return _undecoded(path)
    if what == "folder" and path.startswith("."):
        return f"folder {path!r} is hidden, and cannot be a task; rename it, or move its videos"
    if any(ord(sign) < 32 or ord(sign) == 127 for sign in path):
        return f"{what} name {path!r} holds control characters; expected a printable name; rename it"
    if len(video_id(stem(path) if what == "file" else path)) > LONGEST_ID:
        return f"{what} name {path!r} is too long (its id has more than {LONGEST_ID} characters); rename it"
    return None


def _undecoded(path: str) -> str:
    """Return why a name has undecoded bytes: it is not text, or Python does not read names as UTF-8."""
    try:
        name = os.fsencode(path).decode("utf-8")
    except UnicodeDecodeError:
        return f"file name {path!r} is not UTF-8; expected a readable name; rename it"
    return (
        f"file name {name!r} is UTF-8, but this session reads names as {sys.getfilesystemencoding()} (LC_ALL="
        f"{os.environ.get('LC_ALL', '')}, PYTHONUTF8={os.environ.get('PYTHONUTF8', '')}); expected UTF-8; set "
        "LC_ALL=C.UTF-8, or PYTHONUTF8=1"
    )
