"""Examination of a dataset: all of its faults, none hidden by another."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rgwot import paths
from rgwot.config.configuration import load_config
from rgwot.config.importing import ImportSettings
from rgwot.config.settings import FeatureSettings
from rgwot.datasets.annotations import VideoClock, id_ranges
from rgwot.datasets.arrays import feature_file
from rgwot.datasets.base import Found, FoundTask, Layout, Options, VideoEntry, too_few_videos
from rgwot.datasets.faults import collecting
from rgwot.datasets.finding import layout_module, read_options, registered_facts
from rgwot.datasets.looks import NoTaskFound, listed, tasks_inside
from rgwot.datasets.registry import TaskFacts, match
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.progress import Progress
from rgwot.study import datasets
from rgwot.study.datasets import MIN_VIDEOS
from rgwot.study.doctor.features import FeatureFacts, check_features, compare
from rgwot.study.doctor.findings import Finding, file_of, of_complaint, of_error
from rgwot.study.doctor.machine import look
from rgwot.study.doctor.report import AnnotationFacts, Report, TaskReport, VideoReport
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
    try:
        found = datasets.found(study, dataset)
    except (RgwotError, OSError) as error:
        if isinstance(error, RgwotError) and file_of(error) is None:
            raise
        fault = of_error(error, root, None, "release", None)
        return Report(dataset, entry.layout, root, Found(dataset, str(root), {}), quick, (), (fault,))
    try:
        known = datasets.tasks(study, dataset)
    except NoTaskFound as error:
        fault = Finding("error", "task", str(error))
        return Report(dataset, entry.layout, root, found, quick, (), (fault,))
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
    made_here = features if entry.imported is None else None
    machine, lacking = look(study.config.device, made_here, None if quick else pending, Path("results"))
    stray = [] if tasks else _lists(module, root, dataset)
    if found.unassigned and not tasks:
        line = f"{len(found.unassigned)} videos belong to no known task and are left alone: like {found.unassigned[0]}"
        stray.append(Finding("warning", "unassigned", line))
    return Report(dataset, entry.layout, root, found, quick, summaries, (*stray, *lacking), machine)


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
        rate = self.options.told_fps
        made: FeatureFacts | None = None
        if self.form is not None and self.folder is None:
            path = self.root / entry.path
            made, length, findings = check_features(path, self.root, task, self.form, None, self.quick)
            facts, usable = length or VideoFacts(), length is not None
        else:
            facts, usable, findings = check_video(self.root, entry.path, task, self.features, rate, self.quick)
            if self.form is not None and self.folder is not None:
                try:
                    path = feature_file(self.folder, task, entry.video)
                    made, _, faults = check_features(path, self.root, task, self.form, facts, self.quick)
                except RgwotError as error:
                    faults = [Finding("error", "features", str(error), task, entry.path)]
                findings = [*findings, *faults]
        if entry.annotation is None:
            return VideoReport(task, entry, usable, facts, None, tuple(findings), made)
        if entry.annotation in self.broken:
            return VideoReport(task, entry, usable, facts, AnnotationFacts("faulty"), tuple(findings), made)
        clock = None if facts.duration_s is None or facts.fps is None else VideoClock(facts.duration_s, facts.fps)
        annotation, faults = self.annotation(task, entry, clock)
        if any(fault.severity == "error" and fault.file == entry.annotation and not fault.where for fault in faults):
            self.broken.add(entry.annotation)
        return VideoReport(task, entry, usable, facts, annotation, (*findings, *faults), made)

    def annotation(
        self, task: str, entry: VideoEntry, clock: VideoClock | None
    ) -> tuple[AnnotationFacts, list[Finding]]:
        """Read an annotation to its end, whatever is wrong with it; without a clock, lengths are not checked."""
        error: RgwotError | OSError | None = None
        annotation = None
        with collecting() as complaints:
            try:
                annotation = self.module.read_annotation(self.root, entry, self.registered[task], clock, self.options)
            except (RgwotError, OSError) as raised:
                error = raised
        findings = [of_complaint(complaint, self.root, task) for complaint in complaints]
        if error is not None:
            findings.append(of_error(error, self.root, entry.annotation, "release", task))
        if annotation is None:
            return AnnotationFacts("faulty"), findings
        status = "no_rows" if annotation.segments.empty else "ok"
        if any(finding.severity == "error" for finding in findings):
            status = "faulty"
        elif annotation.segments.empty:
            line = f"no rows; {entry.name} is not scored, but used for everything else"
            findings.append(Finding("warning", "no_rows", line, task, entry.annotation))
        step_ids = frozenset(int(step) for step in annotation.segments["step_id"])
        n_segments = len(annotation.segments)
        return AnnotationFacts(status, n_segments, step_ids, annotation.overlaps, annotation.overlap_s), findings


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
        return TaskReport(task, FoundTask(), (), K, None, (), (missing,))
    own = tuple(video for video in videos if video.task == task)
    findings = [Finding("error", "name", reason, task, path) for path, reason in entry.unusable]
    if entry.problem is not None and not entry.unusable:
        findings.append(Finding("error", "pairing", entry.problem, task))
    usable = sum(video.usable for video in own)
    if entry.problem is None and usable < MIN_VIDEOS:
        line = too_few_videos(found.dataset, task, usable, MIN_VIDEOS, found.where)
        findings.append(Finding("error", "task", line.removeprefix(prefix), task))
    findings += _leftovers(task, entry)
    findings += compare(task, {video.entry.path: video.features for video in own if video.features is not None})
    inner = tasks_inside(entry)
    if inner and registered is None:
        line = (
            f"all videos lie in folders of its folder ({listed(inner)}), which looks like a root one level too high; "
            f"expected the folder of the tasks: if they are tasks, set root to its folder {task}"
        )
        findings.append(Finding("warning", "task", line, task))
    annotated = [video.annotation for video in own if video.annotation is not None]
    pairs = sum(video.entry.annotation is not None for video in own)
    published = None if registered is None else registered.n_videos
    if published is not None and pairs != published:
        line = f"{pairs} annotated videos, published were {published}; results are not comparable as they are"
        findings.append(Finding("warning", "task", line, task))
    occurring = frozenset[int]().union(*(facts.step_ids for facts in annotated))
    expected = registered.step_ids if registered is not None else tuple(range(1, (K or 0) + 1))
    never = tuple(step for step in expected if step not in occurring) if annotated else ()
    if never:
        line = f"step {id_ranges(never)} never occurs: {len(occurring)} of {len(expected)} key steps are annotated"
        findings.append(Finding("note", "key_steps", line, task))
    overlaps = sum(facts.overlaps for facts in annotated)
    if overlaps:
        seconds = sum(facts.overlap_s for facts in annotated)
        line = f"{overlaps} segments overlap for {seconds:.1f} s in all; the later row of a file wins"
        findings.append(Finding("note", "overlap", line, task))
    return TaskReport(task, entry, own, K, published, never, tuple(findings))


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


def _lists(module: Layout, root: Path, dataset: str) -> list[Finding]:
    check_lists = getattr(module, "check_lists", None)
    if check_lists is None:
        return []
    errors: list[Finding] = []
    with collecting() as complaints:
        try:
            check_lists(root, dataset)
        except (RgwotError, OSError) as error:
            errors.append(of_error(error, root, None, "release", None))
    return [*errors, *(of_complaint(complaint, root, None) for complaint in complaints)]
