"""Examination of a dataset: all of its faults, none hidden by another."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from rgwot.config.configuration import load_config
from rgwot.datasets.annotations import id_ranges
from rgwot.datasets.arrays import feature_file
from rgwot.datasets.base import Found, FoundTask, VideoEntry, too_few_videos
from rgwot.datasets.finding import NoTaskFound, first_few, layout_module, read_options, registered_facts, tasks_inside
from rgwot.datasets.registry import TaskFacts, match_name
from rgwot.datasets.text import collecting
from rgwot.datasets.video_table import columns_of, groups_in, read_video_table
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.progress import Progress
from rgwot.study import datasets
from rgwot.study.datasets import MIN_VIDEOS
from rgwot.study.doctor.checks import check_features, check_task_features, check_video, lacking
from rgwot.study.doctor.report import (
    Finding,
    Report,
    TaskReport,
    VideoFacts,
    VideoReport,
    file_of,
    of_complaint,
    of_error,
)  # fmt: skip
from rgwot.study.study import Study
from rgwot.timing import VideoInfo

_LOG = logging.getLogger(__name__)


def examine(
    content: Mapping[str, Any],
    dataset: str,
    tasks: Sequence[str] = (),
    *,
    where: str = "config.yaml",
    quick: bool = False,
    jobs: int = 1,
) -> Report:
    """Examine a dataset with the code by which the workflow finds and reads it, ``jobs`` videos at once.

    The dataset is named as in the configuration ``content``, which messages call ``where``, without case and
    punctuation; ``tasks`` are all that the workflow would use if empty. If ``quick``, no video is opened, and rules
    that need its length are left out.

    Raises RgwotError if the configuration, dataset or task is unknown, or the folder does not exist.
    """
    study = Study(load_config(content, where))
    dataset = match_name(dataset, study.config.datasets, f"{where}: dataset")
    entry, root = study.config.dataset(dataset), study.config.root_of(dataset)
    options = read_options(dataset, entry.layout, entry.options())
    if entry.synth is not None and not root.is_dir():
        raise RgwotError(
            f"dataset {dataset!r}: no folder {root}; it is synthetic, and the workflow writes it when it is needed, "
            f"or by rgwot run {root}"
        )
    found = Found(dataset, str(root), {})
    try:
        found = datasets.found(study, dataset)
        known = datasets.tasks(study, dataset)
    except (RgwotError, OSError) as error:
        none = isinstance(error, NoTaskFound)
        if isinstance(error, RgwotError) and not none and file_of(error) is None:
            raise
        told = of_error(error, root, None, "task" if none else "release", None)
        return Report(dataset, entry.layout, root, found, quick, (), (told,))
    wanted = tuple(dict.fromkeys(match_name(task, known, f"task of {dataset}") for task in tasks)) or known
    pairs = [(task, one) for task in wanted for one in found.tasks.get(task, FoundTask()).videos]
    videos: list[VideoReport] = []
    # Threads suffice, because decoding happens in other processes.
    with ThreadPoolExecutor(max(1, jobs)) as pool, Progress(_LOG, "doctor", len(pairs), unit="video") as progress:
        for video in pool.map(partial(_examined, study, dataset, quick), pairs):
            videos.append(video)
            progress.advance(1)
    summaries = []
    findings: list[Finding] = []
    if entry.imported is None:
        findings += lacking(study.experiments.settings("none", None, dataset).features)
    if found.unassigned and not tasks:
        line = f"{len(found.unassigned)} videos belong to no known task and are left alone: like {found.unassigned[0]}"
        findings.append(Finding("warning", "unassigned", line))
    for task in wanted:
        own = tuple(video for video in videos if video.task == task)
        K, facts = datasets.known_K(study, dataset, task), registered_facts(dataset, task, options)
        summaries.append(TaskReport(task, found.tasks.get(task, FoundTask()), own, K))
        about = [*_of_task(found, task, facts, K, own), *(one for video in own for one in video.findings)]
        findings += dict.fromkeys(about)
        findings += _of_groups(study, dataset, task, [video.entry.video for video in own])
    return Report(dataset, entry.layout, root, found, quick, tuple(summaries), tuple(findings))


def _examined(study: Study, dataset: str, quick: bool, item: tuple[str, VideoEntry]) -> VideoReport:
    """Examine one video with all that belongs to it; without a length, those of annotations are not checked."""
    (task, video), entry, root = item, study.config.dataset(dataset), study.config.root_of(dataset)
    options, form, made = read_options(dataset, entry.layout, entry.options()), entry.imported, None
    if form is not None and entry.features_alone:
        made, facts, findings = check_features(root / video.path, root, task, form, None, quick)
    else:
        features = study.experiments.settings("none", None, dataset).features
        facts, findings = check_video(root, video.path, task, features, options.told_fps, quick)
        if form is not None:
            try:
                path = feature_file(study.config.folder(form.folder or entry.root), task, video.video)
                made, _, faults = check_features(path, root, task, form, facts, quick)
            except RgwotError as error:
                faults = [Finding("error", "features", str(error), task, video.path)]
            findings += faults
    for named in (video.path, video.annotation or ""):
        try:
            datasets.plain_path(named)
        except RgwotError as error:
            findings.append(Finding("error", "name", str(error), task, named))
    usable, facts = facts is not None, facts or VideoFacts()
    if video.annotation is None:
        return VideoReport(task, video, usable, facts, None, False, tuple(findings), made)
    clock = None if facts.duration_s is None or facts.fps is None else VideoInfo(facts.duration_s, facts.fps)
    annotation, faults = None, []
    with collecting() as complaints:
        try:
            annotation = layout_module(entry.layout).read_annotation(
                root, video, registered_facts(dataset, task, options), clock, options
            )
        except (RgwotError, OSError) as error:
            faults.append(of_error(error, root, video.annotation, "release", task))
    faults = [*(of_complaint(complaint, root, task) for complaint in complaints), *faults]
    faulty = any(one.severity == "error" for one in faults)
    if annotation is not None and annotation.segments.empty and not faulty:
        line = f"no rows; {video.name} is not scored, but used for everything else"
        faults.append(Finding("warning", "no_rows", line, task, video.annotation))
    return VideoReport(task, video, usable, facts, annotation, faulty, (*findings, *faults), made)


def _of_task(
    found: Found, task: str, registered: TaskFacts | None, K: int | None, videos: Sequence[VideoReport]
) -> Iterator[Finding]:
    """Yield what concerns a task as a whole."""
    prefix, entry = f"{found.dataset}/{task}: ", found.tasks.get(task, FoundTask())
    usable = sum(video.usable for video in videos)
    for path, reason in entry.unusable:
        yield Finding("error", "name", reason, task, path)
    try:
        found.of(task)
    except RgwotError as error:
        if entry.problem is None or not entry.unusable:
            rule = "task" if entry.problem is None else "pairing"
            yield Finding("error", rule, str(error).removeprefix(prefix), task)
        if task not in found.tasks:
            return
    else:
        if usable < 1:
            line = too_few_videos(found.dataset, task, usable, 1, found.where).removeprefix(prefix)
            yield Finding("error", "task", line, task)
        elif usable < MIN_VIDEOS:
            needed = f"a method that trains needs {MIN_VIDEOS}, and orders need others to compare with"
            yield Finding("warning", "task", f"{usable} usable video; {needed}", task)
    pairs = sum(video.entry.annotation is not None for video in videos)
    if entry.videos and not pairs and not entry.without_video:
        line = f"none of {len(entry.videos)} videos is annotated; everything but scoring works"
        yield Finding("note", "pairing", line, task)
    else:
        kept = "trained on, not scored" if pairs < len(entry.videos) else "left out"
        for left, what in (
            (entry.without_annotation, f"videos without annotation, {kept}"),
            (entry.without_video, "annotations without a video, left out"),
        ):
            if left:
                yield Finding("warning", "pairing", f"{len(left)} {what}: like {left[0]}", task)
    yield from check_task_features(
        task, {video.entry.path: video.features for video in videos if video.features is not None}
    )
    if registered is None and (inner := tasks_inside(entry)):
        line = (
            f"all videos lie in folders of its folder ({first_few(inner)}), which looks like a root one level too "
            f"high; expected the folder of the tasks: if they are tasks, set root to its folder {task}"
        )
        yield Finding("warning", "task", line, task)
    if registered is not None and registered.n_videos not in (None, pairs):
        published = f"published were {registered.n_videos}; results are not comparable as they are"
        yield Finding("warning", "task", f"{pairs} annotated videos, {published}", task)
    annotated = [video.annotation for video in videos if video.annotation is not None]
    occurring = set[int | str]().union(*(video.step_ids for video in videos))
    expected = registered.step_ids if registered is not None else tuple(range(1, (K or 0) + 1))
    never = [step for step in expected if step not in occurring]
    # Other releases number the steps of a registered task in their own way.
    if annotated and never and occurring <= set(expected):
        key_steps = f"{len(occurring)} of {len(expected)} key steps are annotated"
        yield Finding("note", "key_steps", f"step {id_ranges(never)} never occurs: {key_steps}", task)
    if overlaps := sum(one.overlaps for one in annotated):
        seconds = sum(one.overlap_s for one in annotated)
        line = f"{overlaps} segments overlap for {seconds:.1f} s in all; the later row of a file wins"
        yield Finding("note", "overlap", line, task)


def _of_groups(study: Study, dataset: str, task: str, videos: Sequence[str]) -> Iterator[Finding]:
    """Yield what the table of the groups of a task says, and what is wrong with it; nothing where there is none."""
    path, column = datasets.video_table(study, dataset, task), study.config.dataset(dataset).group
    if path is None:
        return
    try:
        table = read_video_table(path)
        if column not in table:
            others = ", ".join(columns_of(table)) or "none but video"
            line = f"{path}: no column {column!r}, so its page compares no groups; found {others}"
            yield Finding("warning", "groups", f"{line}; set `group` of the dataset to one, or rename it", task)
            return
        of_video, unknown = groups_in(table, path, videos, column, task)
    except RgwotError as error:
        yield Finding("error", "groups", str(error), task)
        return
    if unknown:
        line = f"{path}: {len(unknown)} of {len(table)} rows are no video of this task: like {unknown[0]!r}"
        yield Finding("warning", "groups", line, task)
    sizes = Counter(of_video.values())
    named = ", ".join(f"{name} {size}" for name, size in sorted(sizes.items())) or "none"
    line = f"groups by {column}: {named}; {len(videos) - len(of_video)} of {len(videos)} videos in none"
    yield Finding("note" if len(sizes) > 1 else "error", "groups", line, task)
