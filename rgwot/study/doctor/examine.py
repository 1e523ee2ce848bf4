"""The examination of a dataset: everything that is wrong with it, one file's fault never hiding another's."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rgwot import paths
from rgwot.config.configuration import load_config
from rgwot.config.settings import FeatureSettings
from rgwot.datasets.annotations import VideoClock, id_ranges
from rgwot.datasets.base import Found, FoundTask, Layout, ListedLayout, Options, VideoEntry, too_few_videos
from rgwot.datasets.faults import collecting
from rgwot.datasets.finding import layout_module, read_options, registered_facts
from rgwot.datasets.registry import TaskFacts, match
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.progress import Progress
from rgwot.study import MIN_VIDEOS, Catalogue
from rgwot.study.doctor.annotation import AnnotationFacts, check_annotation
from rgwot.study.doctor.findings import Finding, file_of, of_complaint, of_error
from rgwot.study.doctor.machine import look
from rgwot.study.doctor.report import Report, TaskReport, VideoReport
from rgwot.study.doctor.video import check_video

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
    """Examine a dataset with the code the workflow finds and reads it with.

    Parameters
    ----------
    content
        The configuration.
    dataset
        Id in the configuration, matched without case and punctuation.
    tasks
        Tasks to look at; none named: all that the workflow would use.
    where
        What to call the configuration in messages.
    quick
        Open no video: names, sizes and annotations alone. Rules that need the length of a video are left out.
    jobs
        Videos looked at side by side.

    Raises
    ------
    RgwotError
        If the request cannot be met: configuration, dataset or task unknown, or no such folder.
    """
    load_config(content, where)
    catalogue = Catalogue(content, Path("workflow/tables.yaml"))
    dataset = match(dataset, catalogue.config.datasets, f"{where}: dataset")
    entry, root = catalogue.config.dataset(dataset), catalogue.root(dataset)
    module, options = layout_module(entry.layout), read_options(dataset, entry.layout, entry.options())
    if entry.synth is not None and not root.is_dir():
        raise RgwotError(
            f"dataset {dataset!r}: no folder {root}; it is synthetic, and the workflow writes it when it is needed; "
            f"run that, or rgwot synth {root}"
        )
    features = catalogue.experiments.settings("none", None, dataset).features
    try:
        found = catalogue.found(dataset)
    except (RgwotError, OSError) as error:
        if isinstance(error, RgwotError) and file_of(error) is None:
            raise
        lists = Found(dataset, str(root), {})
        return Report(
            dataset, entry.layout, root, lists, quick, (), (), (of_error(error, root, None, "release", None),)
        )
    known = catalogue.tasks(dataset)
    wanted = tuple(dict.fromkeys(match(task, known, f"task of {dataset}") for task in tasks)) or known
    examination = _Examination(root, module, options, features, quick)
    videos = examination.videos(
        [
            (task, one, registered_facts(dataset, task, options))
            for task in wanted
            for one in found.tasks.get(task, FoundTask()).videos
        ],
        jobs,
    )
    summaries = tuple(
        _task(found, task, registered_facts(dataset, task, options), catalogue.key_steps(dataset, task), videos)
        for task in wanted
    )
    pending = [
        video.facts.duration_s
        for video in videos
        if video.facts.duration_s is not None
        and not paths.at(paths.FEATURES, dataset=dataset, task=video.task, video=video.entry.video).exists()
    ]
    machine, lacking = look(
        catalogue.config.device,
        None if entry.imported is not None else features,
        None if quick else pending,
        Path("results"),
    )
    if entry.imported is not None:
        lacking += _not_imported(catalogue.config.folder(entry.imported.folder), videos)
    stray = () if tasks else (*_lists(module, root, dataset), *_unassigned(found))
    return Report(dataset, entry.layout, root, found, quick, summaries, videos, (*stray, *lacking), machine)


class _Examination:
    """What all videos of a dataset are examined with."""

    def __init__(self, root: Path, module: Layout, options: Options, features: FeatureSettings, quick: bool) -> None:
        self._root = root
        self._module = module
        self._options = options
        self._features = features
        self._quick = quick
        # A file that annotates a whole task is read once per video; when it is broken, once is enough.
        self._broken: set[str] = set()

    def videos(self, items: Sequence[tuple[str, VideoEntry, TaskFacts | None]], jobs: int) -> tuple[VideoReport, ...]:
        """Examine videos side by side; threads do, because decoding happens in processes of its own."""
        reports: list[VideoReport] = []
        with (
            ThreadPoolExecutor(max(1, jobs)) as pool,
            Progress(_LOG, "doctor", len(items), unit="video") as progress,
        ):
            for report in pool.map(self._video, items):
                reports.append(report)
                progress.advance(1)
        return tuple(reports)

    def _video(self, item: tuple[str, VideoEntry, TaskFacts | None]) -> VideoReport:
        task, entry, registered = item
        facts, usable, findings = check_video(
            self._root,
            entry.path,
            task,
            quick=self._quick,
            reader=self._features.reader,
            timeout_s=self._features.timeout_s,
            frames_fps=self._options.told_fps,
        )
        if entry.annotation is None:
            return VideoReport(task, entry, usable, facts, None, tuple(findings))
        if entry.annotation in self._broken:
            return VideoReport(task, entry, usable, facts, AnnotationFacts("faulty"), tuple(findings))
        clock = None if facts.duration_s is None or facts.fps is None else VideoClock(facts.duration_s, facts.fps)
        annotation, complaints = check_annotation(
            self._module, self._root, entry, registered, clock, self._options, task
        )
        if any(f.severity == "error" and f.file == entry.annotation and not f.where for f in complaints):
            self._broken.add(entry.annotation)
        return VideoReport(task, entry, usable, facts, annotation, (*findings, *complaints))


def _task(
    found: Found, task: str, registered: TaskFacts | None, K: int | None, videos: Iterable[VideoReport]
) -> TaskReport:
    own = tuple(video for video in videos if video.task == task)
    entry = found.tasks.get(task)
    if entry is None:
        return TaskReport(task, FoundTask(), (), K, None, (), (_error(found, task),))
    findings = [Finding("error", "name", reason, task, path) for path, reason in entry.unusable]
    if entry.problem is not None and not entry.unusable:
        findings.append(Finding("error", "pairing", entry.problem, task))
    usable = sum(video.usable for video in own)
    if entry.problem is None and usable < MIN_VIDEOS:
        line = too_few_videos(found.dataset, task, usable, MIN_VIDEOS, found.where)
        findings.append(Finding("error", "task", line.removeprefix(f"{found.dataset}/{task}: "), task))
    findings += _leftovers(task, entry)
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


def _error(found: Found, task: str) -> Finding:
    try:
        found.of(task)
    except RgwotError as error:
        return Finding("error", "task", str(error).removeprefix(f"{found.dataset}/{task}: "), task)
    raise ValueError(f"task {task!r} was found")


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
    if not isinstance(module, ListedLayout):
        return []
    errors: list[Finding] = []
    with collecting() as complaints:
        try:
            module.check_lists(root, dataset)
        except (RgwotError, OSError) as error:
            errors.append(of_error(error, root, None, "release", None))
    return [*errors, *(of_complaint(complaint, root, None) for complaint in complaints)]


def _not_imported(folder: Path, videos: Iterable[VideoReport]) -> list[Finding]:
    from rgwot.features.sources import feature_file

    findings = []
    for video in videos:
        try:
            feature_file(folder, video.task, video.entry.video)
        except RgwotError as error:
            findings.append(Finding("error", "features", str(error), video.task, video.entry.path))
    return findings


def _unassigned(found: Found) -> tuple[Finding, ...]:
    if not found.unassigned:
        return ()
    line = f"{len(found.unassigned)} videos belong to no known task and are left alone: like {found.unassigned[0]}"
    return (Finding("warning", "unassigned", line),)
