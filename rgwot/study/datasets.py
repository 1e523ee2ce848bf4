"""Datasets, tasks and videos as the workflow plans with them: those on disk, and those it will write itself.

The folder of a dataset is walked once, when it is asked for, and no video is opened.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from rgwot import paths
from rgwot.config.configuration import ImportedFeatures, SynthSettings
from rgwot.datasets import frame_labels, registry
from rgwot.datasets.annotations import occurring
from rgwot.datasets.arrays import feature_file, holding_file
from rgwot.datasets.base import Found, VideoEntry
from rgwot.datasets.finding import find, layout_module, no_task, read_options
from rgwot.datasets.names import VIDEO_TABLE, video_id
from rgwot.datasets.video_table import columns_of, read_video_table
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.runtime.provenance import stamp
from rgwot.study.study import Study
from rgwot.synthetic.timelines import clip_path, video_names

#: Aligning takes a pair of distinct videos.
MIN_VIDEOS = 2
#: Videos, and bytes of their files, whose features one job makes: about ten minutes of work on a core.
BATCH, BATCH_BYTES = 32, 10**9
#: Videos whose features one job imports, in hundredths of a second each.
IMPORT_BATCH = 300


# What Snakemake takes for a wildcard, and for a part of a path that it replaces.
_REPLACED = re.compile(r"[{}]|<[a-z][a-z0-9_]*>")


def plain_path(path: str) -> str:
    """Return a path, or raise where Snakemake would replace a part of it."""
    if taken := _REPLACED.search(path):
        raise RgwotError(f"{path!r}: found {taken[0]!r}, which Snakemake would replace; rename the file or folder")
    return path


@cache
def found(study: Study, dataset: str) -> Found:
    """Return what is below the root of a dataset."""
    entry, root = study.config.dataset(dataset), study.config.root_of(dataset)
    plain_path(str(root))
    return find(dataset, entry.layout, root, entry.options())


@cache
def written(study: Study, dataset: str) -> dict[str, list[str]] | None:
    """Return the names of the videos of a synthetic dataset by task; None for a dataset on disk."""
    entry = study.config.dataset(dataset)
    if entry.synth is None:
        return None
    if entry.synth.layout != entry.layout:
        raise RgwotError(
            f"datasets.{dataset}: layout {entry.layout!r}, synth.layout {entry.synth.layout!r}; expected the same"
        )
    root, expected = str(study.config.root_of(dataset)), str(paths.at(paths.SYNTHETIC, dataset=dataset))
    if root != expected:
        raise RgwotError(f"datasets.{dataset}.root: found {root!r}; expected {expected!r} beside a synth block")
    return video_names(entry.synth)


def synth_settings(study: Study, dataset: str) -> SynthSettings:
    """Return the settings of a synthetic dataset."""
    synth = study.config.dataset(dataset).synth
    if synth is None:
        raise RgwotError(f"datasets.{dataset}: has no synth block, so nothing writes {study.config.root_of(dataset)}")
    return synth


@cache
def tasks(study: Study, dataset: str) -> tuple[str, ...]:
    """Return the task ids of a dataset: those configured, else all that are registered or found."""
    entry = study.config.dataset(dataset)
    synthetic, registered = written(study, dataset), registry.tasks_of(entry.subset or dataset)
    if synthetic is not None:
        known = tuple(synthetic)
    elif registered:
        known = tuple(facts.task for facts in registered)
    else:
        known = tuple(found(study, dataset).tasks)
    if not known:
        raise no_task(dataset, entry.layout, study.config.root_of(dataset))
    for task in entry.tasks or ():
        if task not in known:
            raise RgwotError(f"datasets.{dataset}.tasks: unknown task {task!r}; {nearest(task, known)}")
    return entry.tasks or known


@cache
def videos(study: Study, dataset: str, task: str) -> dict[str, VideoEntry | None]:
    """Return the videos of a task by id, with entry None where the workflow itself writes them."""
    known = tasks(study, dataset)
    if task not in known:
        raise RgwotError(f"{dataset}/{task}: unknown task; {nearest(task, known)}")
    synthetic = written(study, dataset)
    if synthetic is not None:
        return dict.fromkeys(map(video_id, synthetic[task]))
    return {entry.video: entry for entry in found(study, dataset).of(task)}


@cache
def annotated(study: Study, dataset: str, task: str) -> bool:
    """Return whether a task has an annotation file; synthetic ones have."""
    return bool(annotated_videos(study, dataset, task))


def annotated_videos(study: Study, dataset: str, task: str) -> list[str]:
    """Return the ids of the videos of a task that have an annotation file; synthetic ones have."""
    return [video for video, entry in videos(study, dataset, task).items() if entry is None or entry.annotation]


def annotations_of(study: Study, dataset: str, task: str) -> str:
    """Return the path of a task's annotations; RgwotError where there are none, before anything is trained."""
    if not annotated(study, dataset, task):
        raise RgwotError(
            f"{dataset}/{task}: no video of the task is annotated, so nothing can be scored; annotate some"
        )
    return f"results/annotations/{dataset}/{task}.csv"


def video_file(study: Study, dataset: str, task: str, video: str) -> str:
    """Return the file of one video, or the folder of the synthetic dataset that holds it."""
    known = videos(study, dataset, task)
    if video not in known:
        raise RgwotError(f"{dataset}/{task}/{video}: no such video; {nearest(video, known)}")
    entry, root = known[video], study.config.root_of(dataset)
    return plain_path(str(root if entry is None else root / entry.path))


def video_path(study: Study, dataset: str, task: str, video: str) -> str:
    """Return the path of one video, which may be yet to be written."""
    synthetic, file = written(study, dataset), video_file(study, dataset, task, video)
    if synthetic is None:
        return file
    names = {video_id(name): name for name in synthetic[task]}
    return str(study.config.root_of(dataset) / clip_path(task, names[video]))


def files(study: Study, dataset: str, task: str) -> list[str]:
    """Return the files that the manifest of a task is made from."""
    root, entries = study.config.root_of(dataset), videos(study, dataset, task).values()
    if None in entries:
        return [str(root)]
    inside = [path for entry in entries if entry for path in (entry.path, entry.annotation) if path]
    paths = [plain_path(str(holding_file(root / path))) for path in inside]
    return list(dict.fromkeys([*paths, *_rates(study, dataset), *_mapping(study, dataset, task)]))


def imported(study: Study, dataset: str) -> ImportedFeatures:
    """Return how the features of a dataset, made elsewhere, are imported."""
    settings = study.config.dataset(dataset).imported
    if settings is None:
        raise RgwotError(f"datasets.{dataset}: has no block `imported`, so its features are extracted")
    return settings


def imported_file(study: Study, dataset: str, task: str, video: str) -> str:
    """Return the file with the imported features of one video."""
    file, folder = video_file(study, dataset, task, video), imported(study, dataset).folder
    if folder is None or study.config.dataset(dataset).features_alone:
        return file
    place = study.config.folder(folder)
    try:
        return plain_path(str(feature_file(place, task, video)))
    except RgwotError:
        # Gone since its store was made, which is no reason to run; where something else is, Snakemake names it.
        if not paths.at(paths.FEATURES, dataset=dataset, task=task, video=video).exists():
            raise
        return plain_path(str(place / task / video))


def manifest_entry(study: Study, dataset: str) -> dict[str, Any]:
    """Return what the manifest of any task of a dataset depends on besides its files."""
    entry = study.config.dataset(dataset)
    found = {
        "layout": entry.layout,
        "root": str(study.config.root_of(dataset)),
        "options": entry.options(),
        "on_bad_video": study.config.on_bad_video,
    }
    if entry.features_alone:
        # What no video says: it takes the rate to know how long features last.
        found["imported"] = imported(study, dataset).model_dump(exclude_defaults=True, exclude={"folder"})
    return found


def import_settings(study: Study, dataset: str) -> dict[str, Any]:
    """Return the settings by which the features of a dataset are imported, and how its videos are read."""
    form = imported(study, dataset).model_dump(exclude_defaults=True, exclude={"folder"})
    return {"form": form, "reading": reading(study, dataset)}


def reading(study: Study, dataset: str) -> dict[str, Any]:
    """Return the rate of frames stored as pictures, None where files state it, and what happens to bad videos."""
    rate = study.config.dataset(dataset).frames_fps
    return {"frames_fps": None if rate in (None, "file") else str(rate), "on_bad_video": study.config.on_bad_video}


def task_stamp(study: Study, dataset: str, task: str) -> str:
    """Return the `stamp` of the files that the manifest of a task is made from, empty where jobs write them."""
    return "" if study.config.dataset(dataset).synth else stamp(files(study, dataset, task))


def footage_stamp(study: Study, dataset: str, task: str) -> str:
    """Return the `stamp` of the videos of a task, empty where jobs write them."""
    return "" if study.config.dataset(dataset).synth else stamp(footage_of(study, dataset, task))


@cache
def batches(study: Study, dataset: str, task: str) -> list[list[str]]:
    """Return the videos of a task in the batches whose features one job makes.

    A batch has at most `BATCH` videos, or `IMPORT_BATCH` whose features are imported, and about `BATCH_BYTES` of files,
    so that a job takes at most about ten minutes.
    """
    most = IMPORT_BATCH if study.config.dataset(dataset).imported else BATCH
    divided: list[list[str]] = []
    left = 0
    for video in videos(study, dataset, task):
        path = video_file(study, dataset, task, video)
        size = os.stat(path).st_size if os.path.isfile(path) else 0
        if not divided or len(divided[-1]) == most or size > left:
            divided.append([])
            left = BATCH_BYTES
        divided[-1].append(video)
        left -= size
    return divided


def batch(study: Study, dataset: str, task: str, part: str) -> list[str]:
    """Return the videos of one batch."""
    known = batches(study, dataset, task)
    if int(part) >= len(known):
        raise RgwotError(f"{dataset}/{task}: found no part {part} of its index, expected 0 to {len(known) - 1}")
    return known[int(part)]


def index_input(study: Study, dataset: str, task: str) -> list[str]:
    """Return the parts of a task's index, one per batch."""
    parts = range(len(batches(study, dataset, task)))
    return [str(paths.at(paths.INDEX_PART, dataset=dataset, task=task, part=part)) for part in parts]


def footage_of(study: Study, dataset: str, task: str, chosen: Iterable[str] | None = None) -> list[str]:
    """Return the files of videos, by default all of a task, or the folder of the synthetic dataset that holds them."""
    known = videos(study, dataset, task) if chosen is None else chosen
    files = (holding_file(Path(video_file(study, dataset, task, video))) for video in known)
    return without_broken_links(dict.fromkeys(map(str, files)))


def without_broken_links(files: Iterable[str]) -> list[str]:
    """Return files without broken links, of which a job tells, or which it skips, where Snakemake would just stop."""
    return [file for file in files if os.path.exists(file) or not os.path.islink(file)]


def features_of(study: Study, dataset: str, task: str, chosen: Iterable[str]) -> list[str]:
    """Return the files with the imported features of videos."""
    files = (holding_file(Path(imported_file(study, dataset, task, video))) for video in chosen)
    return list(dict.fromkeys([*map(str, files), *_rates(study, dataset)]))


def import_files(study: Study, dataset: str, task: str, chosen: Sequence[str]) -> list[str]:
    """Return the files that the features of videos are imported from, and the videos."""
    return list(dict.fromkeys(features_of(study, dataset, task, chosen) + footage_of(study, dataset, task, chosen)))


def _rates(study: Study, dataset: str) -> list[str]:
    """Return the table with the rates of the videos of a dataset, if it has one."""
    settings = study.config.dataset(dataset).imported
    return [plain_path(settings.rates)] if settings is not None and settings.rates is not None else []


def _mapping(study: Study, dataset: str, task: str) -> list[str]:
    """Return the file with the names of steps that the annotations of a task refer to, in the layout that has one."""
    entry, root = study.config.dataset(dataset), study.config.root_of(dataset)
    annotation = next(
        (found.annotation for found in videos(study, dataset, task).values() if found and found.annotation), None
    )
    if annotation is None or layout_module(entry.layout) is not frame_labels:
        return []
    options = read_options(dataset, entry.layout, entry.options())
    return [plain_path(str(frame_labels.mapping_file((root / annotation).parents[1], options)))]


def stamp_of(study: Study, dataset: str, task: str, chosen: Sequence[str]) -> str:
    """Return the `stamp` of videos and of the files with their imported features, empty where jobs write them."""
    entry = study.config.dataset(dataset)
    features = features_of(study, dataset, task, chosen) if entry.imported else []
    return "" if entry.synth else stamp([*footage_of(study, dataset, task, chosen), *features])


def video_paths(study: Study, dataset: str, task: str, chosen: Iterable[str]) -> dict[str, str]:
    """Return the paths of videos by their ids."""
    return {video: video_path(study, dataset, task, video) for video in chosen}


def import_paths(study: Study, dataset: str, task: str, chosen: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return the paths of videos, and of the files with their imported features, by the ids of the videos."""
    return {
        video: (video_path(study, dataset, task, video), imported_file(study, dataset, task, video)) for video in chosen
    }


def known_K(study: Study, dataset: str, task: str) -> int | None:
    """Return the number of annotated key steps, None if it takes reading the annotations to know."""
    entry = study.config.dataset(dataset)
    if entry.synth is not None and task in entry.synth.tasks:
        return entry.synth.K
    return registry.reported_K(entry.subset or dataset, task)


@cache
def annotated_steps(study: Study, dataset: str, task: str) -> int | None:
    """Return the number of `known_K`, counted in the annotations where it is not known; None if there are none.

    Steps that occur are counted, as in the manifest, though also those of a video that turns out to be unusable.
    """
    known, entries = known_K(study, dataset, task), videos(study, dataset, task).values()
    if known is not None or None in entries:
        return known
    settings, root = study.config.dataset(dataset), study.config.root_of(dataset)
    module, facts = layout_module(settings.layout), registry.facts(settings.subset or dataset, task)
    options = read_options(dataset, settings.layout, settings.options())
    annotations = [
        module.read_annotation(root, entry, facts, None, options)
        for entry in entries
        if entry is not None and entry.annotation is not None
    ]
    if not annotations:
        return None
    # Not at the top: who plans should not wait for pandas.
    import pandas as pd

    return len(occurring(pd.concat([one.segments for one in annotations]))) or None


@cache
def video_table(study: Study, dataset: str, task: str) -> Path | None:
    """Return the table of the videos of a task: the one that the configuration names, or that of its folder, if any."""
    named = study.config.dataset(dataset).videos
    if named is not None:
        return Path(named).expanduser()
    folder = study.config.root_of(dataset) / task
    tables = [path for path in folder.iterdir() if path.name.lower() == VIDEO_TABLE] if folder.is_dir() else []
    if len(tables) > 1:
        raise RgwotError(
            f"{folder}: found {' and '.join(sorted(path.name for path in tables))}; expected one; remove one"
        )
    return next(iter(tables), None)


@cache
def group_columns(study: Study, dataset: str, task: str) -> tuple[str, ...]:
    """Return the columns by which the videos of a task can be grouped; none where there is no table."""
    path = video_table(study, dataset, task)
    return () if path is None else columns_of(read_video_table(path))


def page_column(study: Study, dataset: str, task: str) -> str | None:
    """Return the column whose groups the page of a task compares; None where its table has no such column."""
    column = study.config.dataset(dataset).group
    return column if column in group_columns(study, dataset, task) else None


def groups_file(study: Study, dataset: str, task: str, column: str) -> str:
    """Return the table with the groups of a task; RgwotError where there is none, or it lacks the column."""
    path = video_table(study, dataset, task)
    if path is None:
        expected = study.config.root_of(dataset) / task / VIDEO_TABLE
        raise RgwotError(f"{dataset}/{task}: no groups; expected {expected} with the columns video and {column}")
    known = group_columns(study, dataset, task)
    if column not in known:
        raise RgwotError(f"{path}: no column {column!r}; {nearest(column, known)}")
    return plain_path(str(path))
