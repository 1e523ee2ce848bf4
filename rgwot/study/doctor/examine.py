"""Examination of a dataset: all of its faults, none hidden by another."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rgwot import paths
from rgwot.config.configuration import load_config
from rgwot.config.importing import ImportSettings
from rgwot.config.settings import FeatureSettings
from rgwot.datasets.annotations import Annotation, VideoClock, id_ranges
from rgwot.datasets.arrays import feature_file
from rgwot.datasets.base import Found, FoundTask, Layout, Options, VideoEntry, too_few_videos
from rgwot.datasets.faults import collecting
from rgwot.datasets.finding import layout_module, read_options, registered_facts
from rgwot.datasets.looks import NoTaskFound, listed, tasks_inside
from rgwot.datasets.registry import TaskFacts, match
from rgwot.datasets.video_table import columns_of, groups_in, read_video_table
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.progress import Progress
from rgwot.study import datasets, groups
from rgwot.study.datasets import MIN_VIDEOS
from rgwot.study.doctor.features import FeatureFacts, check_features, compare
from rgwot.study.doctor.findings import Finding, Severity, file_of, of_complaint, of_error
from rgwot.study.doctor.machine import lacking
from rgwot.study.doctor.report import Report, TaskReport, VideoReport
from rgwot.study.doctor.video import VideoFacts, check_video
from rgwot.study.study import Study

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
    dataset = match(dataset, study.config.datasets, f"{where}: dataset")
    entry, root = study.config.dataset(dataset), study.config.root_of(dataset)
    module, options = layout_module(entry.layout), read_options(dataset, entry.layout, entry.options())
    if entry.synth is not None and not root.is_dir():
        raise RgwotError(
            f"dataset {dataset!r}: no folder {root}; it is synthetic, and the workflow writes it when it is needed; "
            f"run that, or rgwot synth {root}"
        )
    features = study.experiments.settings("none", None, dataset).features
    found = Found(dataset, str(root), {})
    try:
        found = datasets.found(study, dataset)
        known = datasets.tasks(study, dataset)
    except NoTaskFound as error:
        return Report(dataset, entry.layout, root, found, quick, (), (Finding("error", "task", str(error)),))
    except (RgwotError, OSError) as error:
        if isinstance(error, RgwotError) and file_of(error) is None:
            raise
        return Report(dataset, entry.layout, root, found, quick, (), (of_error(error, root, None, "release", None),))
    wanted = tuple(dict.fromkeys(match(task, known, f"task of {dataset}") for task in tasks)) or known
    registered = {task: registered_facts(dataset, task, options) for task in wanted}
    imported, folder = entry.imported, None
    if imported is not None and not entry.features_alone:
        folder = study.config.folder(imported.folder or entry.root)
    examination = _Examination(root, module, options, features, registered, quick, imported, folder)
    pairs = [(task, one) for task in wanted for one in found.tasks.get(task, FoundTask()).videos]
    videos: list[VideoReport] = []
    # Threads suffice, because decoding happens in other processes.
    with ThreadPoolExecutor(max(1, jobs)) as pool, Progress(_LOG, "doctor", len(pairs), unit="video") as progress:
        for video in pool.map(examination.video, pairs):
            videos.append(video)
            progress.advance(1)
    summaries = tuple(
        _task(found, task, registered[task], datasets.key_steps(study, dataset, task), videos) for task in wanted
    )
    pending = [
        video.facts.duration_s
        for video in videos
        if video.facts.duration_s is not None
        and not paths.at(paths.FEATURES, dataset=dataset, task=video.task, video=video.entry.video).exists()
    ]
    findings = lacking(study.config.device, features if imported is None else None, pending, Path("results"))
    for task in wanted:
        findings += _groups(study, dataset, task, found.tasks.get(task, FoundTask()))
    if not tasks:
        findings += _of_release(module, root, found)
    return Report(dataset, entry.layout, root, found, quick, summaries, tuple(findings))


@dataclass
class _Examination:
    """Examines the videos of a dataset one by one."""

    root: Path
    module: Layout
    options: Options
    features: FeatureSettings
    registered: Mapping[str, TaskFacts | None]
    quick: bool
    # Features made elsewhere: what is stated of them, and their folder, None where there are no videos beside them.
    form: ImportSettings | None
    folder: Path | None
    # A file that annotates a whole task is read once per video; if it is broken, once is enough.
    broken: set[str] = field(default_factory=set)

    def video(self, item: tuple[str, VideoEntry]) -> VideoReport:
        task, entry = item
        made: FeatureFacts | None = None
        if self.form is not None and self.folder is None:
            path = self.root / entry.path
            made, length, findings = check_features(path, self.root, task, self.form, None, self.quick)
            facts, usable = length or VideoFacts(), length is not None
        else:
            rate = self.options.told_fps
            facts, usable, findings = check_video(self.root, entry.path, task, self.features, rate, self.quick)
        if self.form is not None and self.folder is not None:
            try:
                path = feature_file(self.folder, task, entry.video)
                made, _, faults = check_features(path, self.root, task, self.form, facts, self.quick)
            except RgwotError as error:
                faults = [Finding("error", "features", str(error), task, entry.path)]
            findings = [*findings, *faults]
        for named in (entry.path, entry.annotation or ""):
            try:
                datasets.plain_path(named)
            except RgwotError as error:
                findings = [*findings, Finding("error", "name", str(error), task, named)]
        annotation, faulty = None, entry.annotation in self.broken
        if entry.annotation is not None and not faulty:
            annotation, faults = self.annotation(task, entry, facts)
            errors = [fault for fault in faults if fault.severity == "error"]
            faulty = bool(errors)
            if any(fault.file == entry.annotation and not fault.where for fault in errors):
                self.broken.add(entry.annotation)
            findings = [*findings, *faults]
        return VideoReport(task, entry, usable, facts, annotation, faulty, tuple(findings), made)

    def annotation(self, task: str, entry: VideoEntry, facts: VideoFacts) -> tuple[Annotation | None, list[Finding]]:
        """Read an annotation to its end, whatever is wrong with it; without a length, lengths are not checked."""
        clock = None if facts.duration_s is None or facts.fps is None else VideoClock(facts.duration_s, facts.fps)
        annotation, errors = None, []
        with collecting() as complaints:
            try:
                annotation = self.module.read_annotation(self.root, entry, self.registered[task], clock, self.options)
            except (RgwotError, OSError) as error:
                errors.append(of_error(error, self.root, entry.annotation, "release", task))
        findings = [*(of_complaint(complaint, self.root, task) for complaint in complaints), *errors]
        if annotation is not None and annotation.segments.empty and all(one.severity != "error" for one in findings):
            line = f"no rows; {entry.name} is not scored, but used for everything else"
            findings.append(Finding("warning", "no_rows", line, task, entry.annotation))
        return annotation, findings


def _task(
    found: Found, task: str, registered: TaskFacts | None, K: int | None, videos: Iterable[VideoReport]
) -> TaskReport:
    prefix = f"{found.dataset}/{task}: "
    entry = found.tasks.get(task)
    if entry is None:
        try:
            found.of(task)
        except RgwotError as error:
            missing = Finding("error", "task", str(error).removeprefix(prefix), task)
        return TaskReport(task, FoundTask(), (), K, (missing,))
    own = tuple(video for video in videos if video.task == task)
    findings = [Finding("error", "name", reason, task, path) for path, reason in entry.unusable]

    def add(severity: Severity, rule: str, line: str) -> None:
        findings.append(Finding(severity, rule, line, task))

    usable = sum(video.usable for video in own)
    if entry.problem is not None and not entry.unusable:
        add("error", "pairing", entry.problem)
    if entry.problem is None and usable < 1:
        add("error", "task", too_few_videos(found.dataset, task, usable, 1, found.where).removeprefix(prefix))
    elif entry.problem is None and usable < MIN_VIDEOS:
        line = f"{usable} usable video; a method that trains needs {MIN_VIDEOS}, and orders need others to compare with"
        add("warning", "task", line)
    findings += _leftovers(task, entry)
    findings += compare(task, {video.entry.path: video.features for video in own if video.features is not None})
    if registered is None and (inner := tasks_inside(entry)):
        line = (
            f"all videos lie in folders of its folder ({listed(inner)}), which looks like a root one level too high; "
            f"expected the folder of the tasks: if they are tasks, set root to its folder {task}"
        )
        add("warning", "task", line)
    pairs = sum(video.entry.annotation is not None for video in own)
    if registered is not None and registered.n_videos not in (None, pairs):
        published = f"published were {registered.n_videos}; results are not comparable as they are"
        add("warning", "task", f"{pairs} annotated videos, {published}")
    annotated = [video.annotation for video in own if video.annotation is not None]
    occurring = set[int | str]().union(*(video.step_ids for video in own))
    expected = registered.step_ids if registered is not None else tuple(range(1, (K or 0) + 1))
    never = [step for step in expected if step not in occurring]
    # Other releases number the steps of a registered task in their own way.
    if annotated and never and occurring <= set(expected):
        key_steps = f"{len(occurring)} of {len(expected)} key steps are annotated"
        add("note", "key_steps", f"step {id_ranges(never)} never occurs: {key_steps}")
    if overlaps := sum(one.overlaps for one in annotated):
        seconds = sum(one.overlap_s for one in annotated)
        add("note", "overlap", f"{overlaps} segments overlap for {seconds:.1f} s in all; the later row of a file wins")
    return TaskReport(task, entry, own, K, tuple(findings))


def _leftovers(task: str, entry: FoundTask) -> list[Finding]:
    if entry.videos and not any(video.annotation for video in entry.videos) and not entry.without_video:
        line = f"none of {len(entry.videos)} videos is annotated; everything but scoring works"
        return [Finding("note", "pairing", line, task)]
    kept = any(video.annotation is None for video in entry.videos)
    lists = (
        ("videos without annotation", entry.without_annotation, "trained on, not scored" if kept else "left out"),
        ("annotations without a video", entry.without_video, "left out"),
    )
    return [
        Finding("warning", "pairing", f"{len(paths)} {what}, {then}: like {paths[0]}", task)
        for what, paths, then in lists
        if paths
    ]


def _groups(study: Study, dataset: str, task: str, entry: FoundTask) -> list[Finding]:
    """Return what the table of the groups of a task says, and what is wrong with it; nothing where there is none."""
    path = groups.video_table(study, dataset, task)
    if path is None:
        return []
    column, videos = study.config.dataset(dataset).group, [one.video for one in entry.videos]
    try:
        table = read_video_table(path)
        if column not in table:
            others = ", ".join(columns_of(table)) or "none but video"
            line = f"{path}: no column {column!r}, so its page compares no groups; found {others}"
            return [Finding("warning", "groups", f"{line}; set `group` of the dataset to one, or rename it", task)]
        of_video, unknown = groups_in(table, path, videos, column, task)
    except RgwotError as error:
        return [Finding("error", "groups", str(error), task)]
    findings = []
    if unknown:
        line = f"{path}: {len(unknown)} of {len(table)} rows are no video of this task: like {unknown[0]!r}"
        findings.append(Finding("warning", "groups", line, task))
    sizes = Counter(of_video.values())
    listed = ", ".join(f"{name} {size}" for name, size in sorted(sizes.items())) or "none"
    line = f"groups by {column}: {listed}; {len(videos) - len(of_video)} of {len(videos)} videos in none"
    return [*findings, Finding("note" if len(sizes) > 1 else "error", "groups", line, task)]


def _of_release(module: Layout, root: Path, found: Found) -> list[Finding]:
    """Return what is wrong with the lists that come with a dataset, and which videos are of no task."""
    findings: list[Finding] = []
    check_lists = getattr(module, "check_lists", None)
    if check_lists is not None:
        with collecting() as complaints:
            try:
                check_lists(root, found.dataset)
            except (RgwotError, OSError) as error:
                findings.append(of_error(error, root, None, "release", None))
        findings += (of_complaint(complaint, root, None) for complaint in complaints)
    if found.unassigned:
        line = f"{len(found.unassigned)} videos belong to no known task and are left alone: like {found.unassigned[0]}"
        findings.append(Finding("warning", "unassigned", line))
    return findings
