"""Datasets, tasks and videos as the workflow plans with them: those on disk, and those it will write itself.

The folder of a dataset is walked once, when it is asked for, and no video is opened.
"""

from __future__ import annotations

import shlex
from functools import cache
from pathlib import Path
from typing import Any

from rgwot import paths
from rgwot.config.importing import ImportedFeatures
from rgwot.config.synthetic import SynthSettings
from rgwot.datasets import registry
from rgwot.datasets.arrays import feature_file
from rgwot.datasets.base import Found, VideoEntry
from rgwot.datasets.finding import find, layout_module, read_options
from rgwot.datasets.looks import no_task
from rgwot.datasets.names import video_id
from rgwot.features import left_out, read_index
from rgwot.runtime.arguments import split_words
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.runtime.provenance import stamp
from rgwot.study.study import Study
from rgwot.synthetic.layouts import TaskPlaces, task_places

#: Aligning takes a pair of distinct videos.
MIN_VIDEOS = 2


def plain_path(path: str) -> str:
    """Return a path, or raise where it has a brace, which Snakemake takes for a wildcard."""
    if "{" in path or "}" in path:
        raise RgwotError(f"{path!r}: a brace in a file name; Snakemake takes it for a wildcard; rename the file")
    return path


@cache
def found(study: Study, dataset: str) -> Found:
    """Return what is below the root of a dataset."""
    entry = study.config.dataset(dataset)
    return find(dataset, entry.layout, study.config.root_of(dataset), entry.options())


@cache
def written(study: Study, dataset: str) -> dict[str, TaskPlaces] | None:
    """Return the tasks of a synthetic dataset by id; None for a dataset on disk."""
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
    return {places.task.removeprefix(f"{dataset}/"): places for places in task_places(entry.synth)}


def written_root(study: Study, dataset: str) -> list[str]:
    """Return the folder of a synthetic dataset, which a job writes, as the input of jobs; nothing for any other.

    Videos of other datasets are no input, so that their times do not matter; `stamp` notices what changes.
    """
    return [str(study.config.root_of(dataset))] if written(study, dataset) is not None else []


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
        raise no_task(dataset, entry.layout, study.config.root_of(dataset), layout_module(entry.layout).EXPECTED)
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
        entry = study.config.dataset(dataset)
        view = registry.camera(entry.subset or dataset, entry.view)
        return dict.fromkeys(video_id(place.stem) for place in synthetic[task].places if place.camera in (None, view))
    return {entry.video: entry for entry in found(study, dataset).of(task)}


def annotated(study: Study, dataset: str, task: str) -> bool:
    """Return whether a task has an annotation file; synthetic ones have."""
    return any(entry is None or entry.annotation for entry in videos(study, dataset, task).values())


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
    places = {video_id(place.stem): place.video for place in synthetic[task].places}
    return str(study.config.root_of(dataset) / places[video])


def task_videos(study: Study, dataset: str, task: str) -> list[str]:
    """Return the video files of a task, or the folder of the synthetic dataset that holds them."""
    return list(dict.fromkeys(video_file(study, dataset, task, video) for video in videos(study, dataset, task)))


def files(study: Study, dataset: str, task: str) -> list[str]:
    """Return the files that the manifest of a task is made from."""
    root, entries = study.config.root_of(dataset), videos(study, dataset, task).values()
    if None in entries:
        return [str(root)]
    inside = [path for entry in entries if entry for path in (entry.path, entry.annotation) if path]
    return list(dict.fromkeys(plain_path(str(root / path)) for path in inside))


def imported(study: Study, dataset: str) -> ImportedFeatures:
    """Return how the features of a dataset, made elsewhere, are imported."""
    settings = study.config.dataset(dataset).imported
    if settings is None:
        raise RgwotError(f"datasets.{dataset}: has no block `imported`, so its features are extracted")
    return settings


def feature_files(study: Study, dataset: str, task: str, video: str) -> list[str]:
    """Return the file with the imported features of one video, as the input of a job."""
    file, folder = video_file(study, dataset, task, video), imported(study, dataset).folder
    if folder is None or study.config.dataset(dataset).features_alone:
        return [file]
    return [plain_path(str(feature_file(study.config.folder(folder), task, video)))]


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


def import_options(study: Study, dataset: str) -> str:
    """Return the options of ``rgwot import-features`` for a dataset, quoted for a shell."""
    options = imported(study, dataset).model_dump(exclude_defaults=True, exclude={"folder"})
    rate = study.config.dataset(dataset).frames_fps
    if rate not in (None, "file"):
        options["frames_fps"] = rate
    return shlex.join(f"--{key.replace('_', '-')}={value}" for key, value in options.items())


def task_stamp(study: Study, dataset: str, task: str) -> str:
    """Return the `stamp` of the files that the manifest of a task is made from, empty where jobs write them."""
    return "" if study.config.dataset(dataset).synth else stamp(files(study, dataset, task))


def footage_stamp(study: Study, dataset: str, task: str) -> str:
    """Return the `stamp` of the videos of a task, empty where jobs write them."""
    return "" if study.config.dataset(dataset).synth else stamp(task_videos(study, dataset, task))


def video_stamp(study: Study, dataset: str, task: str, video: str) -> str:
    """Return the `stamp` of a video and of the file with its imported features, empty where jobs write them."""
    entry = study.config.dataset(dataset)
    if entry.synth:
        return ""
    features = feature_files(study, dataset, task, video) if entry.imported else []
    return stamp([video_file(study, dataset, task, video), *features])


def check_left_out(study: Study, dataset: str, task: str, video: str | None = None) -> None:
    """Raise RgwotError if an earlier run skipped a bad video (this one, or any) and bad videos are now to fail."""
    for name, error in skipped_before(study, dataset, task).items():
        if video in (None, name):
            raise RgwotError(error)


@cache
def skipped_before(study: Study, dataset: str, task: str) -> dict[str, str]:
    """Return the errors of videos that the index of a task lists as skipped and that are to fail now, by id.

    A video that has changed since is extracted again, and judged then.
    """
    index = paths.at(paths.INDEX, dataset=dataset, task=task)
    if study.config.on_bad_video != "fail" or not index.is_file():
        return {}
    by_others = study.config.dataset(dataset).imported is not None
    try:
        rows = [row for row in read_index(index) if left_out(row.get("status") or "", by_others)]
    except (OSError, RgwotError):
        # Damaged: whatever reads the index will say so, and a plan that rebuilds it must not stop here.
        return {}
    errors = {}
    for row in rows:
        store = index.with_name(f"{row['video']}{paths.STORE}")
        if row["video"] not in videos(study, dataset, task) or not store.exists():
            continue
        path = Path(video_path(study, dataset, task, row["video"]))
        if path.exists() and path.stat().st_mtime <= index.stat().st_mtime:
            errors[row["video"]] = (
                f"{path}: {row['status']} by an earlier run ({row.get('reason')}), and on_bad_video is fail; mend "
                f"the video and delete {store}, or set on_bad_video: skip"
            )
    return errors


def feature_stores(study: Study, dataset: str, task: str) -> list[str]:
    """Return the feature stores of all videos of a task, after `check_left_out`."""
    check_left_out(study, dataset, task)
    known = videos(study, dataset, task)
    return [str(paths.at(paths.FEATURES, dataset=dataset, task=task, video=video)) for video in known]


@cache
def index_parts(study: Study, dataset: str, task: str) -> list[list[str]]:
    """Return the feature stores of a task, divided as far as one command can name them."""
    return split_words(feature_stores(study, dataset, task))


def index_input(study: Study, dataset: str, task: str) -> list[str]:
    """Return the input of a task's index: its feature stores, or index parts where one command cannot name all."""
    parts = index_parts(study, dataset, task)
    if len(parts) <= 1:
        return feature_stores(study, dataset, task)
    return [str(paths.at(paths.INDEX_PART, dataset=dataset, task=task, part=part)) for part in range(len(parts))]


def index_part_input(study: Study, dataset: str, task: str, part: str) -> list[str]:
    """Return the feature stores that one part of the index of a task lists."""
    parts = index_parts(study, dataset, task)
    if int(part) >= len(parts):
        raise RgwotError(f"{dataset}/{task}: found no part {part} of its index, expected 0 to {len(parts) - 1}")
    return parts[int(part)]


def key_steps(study: Study, dataset: str, task: str) -> int | None:
    """Return the number of annotated key steps, None if it takes reading the annotations to know."""
    synthetic = written(study, dataset)
    if synthetic is not None and task in synthetic:
        return len(synthetic[task].step_ids)
    return registry.key_steps(study.config.dataset(dataset).subset or dataset, task)


@cache
def annotated_steps(study: Study, dataset: str, task: str) -> int | None:
    """Return the number of `key_steps`, counted in the annotations where it is not known; None if there are none.

    Steps that occur are counted, as in the manifest, though also those of a video that turns out to be unusable.
    """
    known, entries = key_steps(study, dataset, task), videos(study, dataset, task).values()
    if known is not None or None in entries:
        return known
    settings, root = study.config.dataset(dataset), study.config.root_of(dataset)
    module, facts = layout_module(settings.layout), registry.facts(settings.subset or dataset, task)
    options = read_options(dataset, settings.layout, settings.options())
    steps: set[int] = set()
    for entry in entries:
        if entry is not None and entry.annotation is not None:
            steps.update(module.read_annotation(root, entry, facts, None, options).segments["step_id"])
    return len(steps) or None
