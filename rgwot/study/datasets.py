"""Datasets, tasks and videos for planning the workflow: those on disk, and those that the workflow will write.

The folder of a dataset is walked once, when it is first needed, and no video is opened.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from rgwot import paths
from rgwot.config.configuration import DatasetSettings
from rgwot.datasets import frame_labels, registry
from rgwot.datasets.annotations import NO_ROWS, Annotation, steps_of
from rgwot.datasets.arrays import feature_file, holding_file
from rgwot.datasets.base import DatasetFiles, VideoEntry
from rgwot.datasets.finding import find, layout_module, no_task
from rgwot.datasets.names import VIDEO_TABLE, stem_of, video_id
from rgwot.datasets.video_table import columns_of, read_video_table
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.runtime.files import dated_ahead
from rgwot.runtime.text import pairing_key
from rgwot.study.study import Study, Task
from rgwot.synthetic.settings import SynthSettings
from rgwot.synthetic.timelines import clip_path, video_names

#: Alignment needs a pair of different videos.
MIN_VIDEOS = 2
#: Most videos, and bytes of video files, per feature job: about ten minutes of work on a core.
BATCH, BATCH_BYTES = 32, 10**9
#: Most videos per import job; each takes hundredths of a second.
IMPORT_BATCH = 300


# Snakemake reads braces as wildcards, and replaces names in angle brackets.
_REPLACED = re.compile(r"[{}]|<[a-z][a-z0-9_]*>")


def plain_path(path: str) -> str:
    """Return a path; raise RgwotError if Snakemake would replace a part of it."""
    if wildcard := _REPLACED.search(path):
        raise RgwotError(f"{path!r}: found {wildcard[0]!r}, which Snakemake would replace; rename the file or folder")
    return path


def dated_path(path: str) -> str:
    """Return a path; raise RgwotError if the file was modified in the future, at which Snakemake would stop."""
    if fault := dated_ahead(Path(path)):
        raise RgwotError(f"{path}: {fault}")
    return path


@cache
def dataset_files(study: Study, dataset: str) -> DatasetFiles:
    """Return the tasks and videos below the root of a dataset."""
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
        raise RgwotError(f"datasets.{dataset}.root: found {root!r}; expected {expected!r}, because of its block synth")
    return video_names(entry.synth)


def synth_settings(study: Study, dataset: str) -> SynthSettings:
    """Return the settings of a synthetic dataset."""
    synth = study.config.dataset(dataset).synth
    if synth is None:
        raise RgwotError(f"datasets.{dataset}: has no synth block, so nothing writes {study.config.root_of(dataset)}")
    return synth


@cache
def tasks(study: Study, dataset: str) -> tuple[str, ...]:
    """Return the task ids of a dataset: the configured ones, or all that are registered or on disk."""
    entry = study.config.dataset(dataset)
    synthetic, registered = written(study, dataset), registry.tasks_of(entry.subset or dataset)
    if synthetic is not None:
        task_ids = tuple(synthetic)
    elif registered:
        task_ids = tuple(facts.task for facts in registered)
    else:
        task_ids = tuple(dataset_files(study, dataset).tasks)
    if not task_ids:
        raise no_task(dataset, entry.layout, study.config.root_of(dataset))
    names = {pairing_key(stem_of(task)): task for task in task_ids}
    for task in entry.tasks or ():
        if pairing_key(stem_of(task)) not in names:
            raise RgwotError(f"datasets.{dataset}.tasks: unknown task {task!r}; {nearest(task, names)}")
    return tuple(names[pairing_key(stem_of(task))] for task in entry.tasks or task_ids)


@cache
def videos(task: Task) -> dict[str, VideoEntry | None]:
    """Return the videos of a task by id; the entry is None if the workflow itself writes the video."""
    task_ids = tasks(task.study, task.dataset)
    if task.name not in task_ids:
        raise RgwotError(f"{task}: unknown task; {nearest(task.name, task_ids)}")
    synthetic = written(task.study, task.dataset)
    if synthetic is not None:
        return dict.fromkeys(map(video_id, synthetic[task.name]))
    return {entry.video: entry for entry in dataset_files(task.study, task.dataset).of(task.name)}


@cache
def annotated(task: Task) -> bool:
    """Return whether a task has an annotation file, as synthetic tasks do."""
    return bool(annotated_videos(task))


def annotated_videos(task: Task) -> list[str]:
    """Return the ids of the task's videos that have an annotation file, as synthetic videos do."""
    return [video for video, entry in videos(task).items() if entry is None or entry.annotation]


@cache
def scored_videos(task: Task) -> list[str]:
    """Return the annotated videos that can be scored: those without marks and not labelled in part.

    Annotations are read only in a layout with the option ``silence``; in other layouts, all annotated videos can be
    scored. A faulty annotation counts, too, because the stages report its fault.
    """
    chosen, entries = annotated_videos(task), videos(task)
    if "silence" not in layout_module(task.entry.layout).OPTIONS:
        return chosen

    def scorable(entry: VideoEntry | None) -> bool:
        try:
            return entry is None or _annotation(task, entry).unscored(task.options.silence) in ("", NO_ROWS)
        except (RgwotError, OSError):
            return True

    return [video for video in chosen if scorable(entries[video])]


def _annotation(task: Task, entry: VideoEntry) -> Annotation:
    """Read the annotation of a video, which is not opened."""
    return layout_module(task.entry.layout).read_annotation(task.root, entry, task.facts, None, task.options)


def annotations_of(task: Task) -> str:
    """Return the path of a task's annotations; raise RgwotError, before any training, if there are none."""
    if not annotated(task):
        raise RgwotError(f"{task}: no video of the task is annotated, so nothing can be scored; annotate some")
    return f"results/annotations/{task}.csv"


def video_file(task: Task, video: str) -> str:
    """Return the file of a video, or the folder of the synthetic dataset that will contain it."""
    videos_of_task = videos(task)
    if video not in videos_of_task:
        raise RgwotError(f"{task}/{video}: no such video; {nearest(video, videos_of_task)}")
    entry, root = videos_of_task[video], task.root
    return plain_path(str(root if entry is None else root / entry.path))


def video_path(task: Task, video: str) -> str:
    """Return the path of a video, which need not exist yet."""
    synthetic, file = written(task.study, task.dataset), video_file(task, video)
    if synthetic is None:
        return file
    names = {video_id(name): name for name in synthetic[task.name]}
    return str(task.root / clip_path(task.name, names[video]))


def files(task: Task) -> list[str]:
    """Return the files from which the manifest of a task is made."""
    root, entries = task.root, videos(task).values()
    if None in entries:
        return [str(root)]
    inside = [path for entry in entries if entry for path in (entry.path, entry.annotation) if path]
    paths = [dated_path(plain_path(str(holding_file(root / path)))) for path in inside]
    return list(dict.fromkeys([*paths, *_rates(task.study, task.dataset), *_mapping(task)]))


def imported_file(task: Task, video: str) -> str:
    """Return the file with the imported features of a video."""
    file, form = video_file(task, video), task.entry.imported
    if form is None or form.folder is None or task.entry.features_alone:
        return file
    place = task.study.config.folder(form.folder)
    try:
        return plain_path(str(feature_file(place, task.name, video)))
    except RgwotError:
        # If the store exists, it is not made again because the feature file was removed; Snakemake reports the missing
        # file if a job needs it.
        if not paths.at(paths.FEATURES, dataset=task.dataset, task=task.name, video=video).exists():
            raise
        return plain_path(str(place / stem_of(task.name) / video))


def manifest_entry(study: Study, dataset: str) -> dict[str, object]:
    """Return the settings of a dataset that the manifests of its tasks depend on."""
    entry = study.config.dataset(dataset)
    settings: dict[str, object] = {
        "layout": entry.layout,
        "root": str(study.config.root_of(dataset)),
        "options": entry.options(),
        "on_bad_video": study.config.on_bad_video,
    }
    # Without a video, its length follows from the features and their rate, which is among these settings.
    return settings | ({"imported": import_form(entry)} if entry.features_alone else {})


def import_form(entry: DatasetSettings) -> dict[str, object] | None:
    """Return the settings for importing the features of a dataset, without their folder; None if they are extracted."""
    form = entry.imported
    return None if form is None else form.model_dump(exclude_defaults=True, exclude={"folder"})


@cache
def batches(task: Task) -> list[list[str]]:
    """Return the videos of a task in batches, one per job of extraction or import.

    A batch has at most `BATCH` videos (`IMPORT_BATCH` for an import) and about `BATCH_BYTES` of files, so that a job
    takes at most about ten minutes.
    """
    most = IMPORT_BATCH if task.entry.imported else BATCH
    divided: list[list[str]] = []
    bytes_left = 0
    for video in videos(task):
        path = video_file(task, video)
        size = os.stat(path).st_size if os.path.isfile(path) else 0
        if not divided or len(divided[-1]) == most or size > bytes_left:
            divided.append([])
            bytes_left = BATCH_BYTES
        divided[-1].append(video)
        bytes_left -= size
    return divided


def batch(task: Task, part: str) -> list[str]:
    """Return the videos of a batch."""
    parts = batches(task)
    if int(part) >= len(parts):
        raise RgwotError(f"{task}: found no part {part} of its index, expected 0 to {len(parts) - 1}")
    return parts[int(part)]


def index_input(task: Task) -> list[str]:
    """Return the parts of a task's index, one per batch."""
    parts = range(len(batches(task)))
    return [str(paths.at(paths.INDEX_PART, dataset=task.dataset, task=task.name, part=part)) for part in parts]


def footage_of(task: Task, chosen: Iterable[str] | None = None) -> list[str]:
    """Return the files of some videos (by default all of a task), or the folder of their synthetic dataset."""
    names = videos(task) if chosen is None else chosen
    files = (holding_file(Path(video_file(task, video))) for video in names)
    return without_broken_links(dict.fromkeys(dated_path(str(file)) for file in files))


CHANGED = "is not the file from which its features were made, despite equal size and time; touch it, and run again"


def changed_sources(task: Task) -> Iterator[Path]:
    """Yield files whose content, but not size or time, has changed since features in ``results`` were made from them.

    Such a change is not noticed by the workflow, unlike all others. A file is read only if its features exist.
    """
    from rgwot.features.store import made_from_another

    for video in videos(task):
        store = paths.at(paths.FEATURES, dataset=task.dataset, task=task.name, video=video)
        if store.is_dir():
            source = source_file(task, video)
            if made_from_another(store, source):
                yield source


def source_file(task: Task, video: str) -> Path:
    """Return the file from which the features of a video are made: the video, or a file of imported features."""
    own = video_path if task.entry.imported is None else imported_file
    return Path(own(task, video))


def every_changed_source(study: Study) -> Iterator[Path]:
    """Yield the `changed_sources` of all tasks that can be found."""
    for dataset in study.config.datasets:
        # `rgwot doctor` reports tasks that cannot be found.
        with suppress(RgwotError, OSError):
            for task in tasks(study, dataset):
                yield from changed_sources(Task(study, dataset, task))


def without_broken_links(files: Iterable[str]) -> list[str]:
    """Return all files except broken links: Snakemake would stop at a broken link, but a job reports or skips it."""
    return [file for file in files if os.path.exists(file) or not os.path.islink(file)]


def import_files(task: Task, chosen: Sequence[str]) -> list[str]:
    """Return the files from which the features of videos are imported, the table of rates, if any, and the videos."""
    files = (dated_path(str(holding_file(Path(imported_file(task, video))))) for video in chosen)
    return list(dict.fromkeys([*files, *_rates(task.study, task.dataset), *footage_of(task, chosen)]))


def _rates(study: Study, dataset: str) -> list[str]:
    """Return the table with the rates of the videos of a dataset, if it has one."""
    settings = study.config.dataset(dataset).imported
    return [plain_path(settings.rates)] if settings is not None and settings.rates is not None else []


def _mapping(task: Task) -> list[str]:
    """Return the file with the step names for a task's annotations, if the layout has such a file."""
    annotation = next((entry.annotation for entry in videos(task).values() if entry and entry.annotation), None)
    if annotation is None or layout_module(task.entry.layout) is not frame_labels:
        return []
    return [plain_path(str(frame_labels.mapping_file((task.root / annotation).parents[1], task.options)))]


def video_paths(task: Task, chosen: Iterable[str]) -> dict[str, str]:
    """Return the paths of videos by their ids."""
    return {video: video_path(task, video) for video in chosen}


def import_paths(task: Task, chosen: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return the paths of videos and of their files of imported features, by video id."""
    return {video: (video_path(task, video), imported_file(task, video)) for video in chosen}


def known_K(task: Task) -> int | None:
    """Return the number of annotated key steps, or None if the annotations must be read to know it."""
    entry = task.entry
    if entry.synth is not None and task.name in entry.synth.tasks:
        return entry.synth.K
    return None if task.facts is None else task.facts.K


@cache
def annotated_steps(task: Task) -> int | None:
    """Return the number of annotated key steps, from `known_K` or the annotations; None without annotations.

    Unlike in the manifest, steps of a video that later turns out to be unusable count, too.
    """
    K, entries = known_K(task), videos(task).values()
    if K is not None or None in entries:
        return K
    annotations = [_annotation(task, entry) for entry in entries if entry is not None and entry.annotation is not None]
    if not annotations:
        return None
    # Imported here, because planning should not wait for pandas.
    import pandas as pd

    return len(set(steps_of(pd.concat([annotation.telling for annotation in annotations])))) or None


@cache
def video_table(task: Task) -> Path | None:
    """Return the table of a task's videos: the one in the configuration or in the task's folder, if any."""
    named = task.entry.videos
    if named is not None:
        return Path(named).expanduser()
    folder = task.root / stem_of(task.name)
    tables = [path for path in folder.iterdir() if path.name.lower() == VIDEO_TABLE] if folder.is_dir() else []
    if len(tables) > 1:
        raise RgwotError(
            f"{folder}: found {' and '.join(sorted(path.name for path in tables))}; expected one; remove one"
        )
    return next(iter(tables), None)


@cache
def group_columns(task: Task) -> tuple[str, ...]:
    """Return the columns by which the videos of a task can be grouped; none without a table."""
    path = video_table(task)
    return () if path is None else columns_of(read_video_table(path))


def page_column(task: Task) -> str | None:
    """Return the column whose groups the page of a task compares; None if its table has no such column."""
    column = task.entry.group
    return column if column in group_columns(task) else None


def groups_file(task: Task, column: str) -> str:
    """Return the table with the groups of a task.

    Raises RgwotError if there is none, if it lacks the column, or if it was modified in the future (Snakemake stops).
    """
    path = video_table(task)
    if path is None:
        expected = task.root / stem_of(task.name) / VIDEO_TABLE
        raise RgwotError(f"{task}: no groups; expected {expected} with the columns video and {column}")
    columns = group_columns(task)
    if column not in columns:
        raise RgwotError(f"{path}: no column {column!r}; {nearest(column, columns)}")
    return dated_path(plain_path(str(path)))
