"""The doctor's report: counts per task and findings per file, as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rgwot import __version__
from rgwot.datasets.base import Found, FoundTask, VideoEntry
from rgwot.runtime.errors import escaped
from rgwot.study.doctor.features import FeatureFacts, summary
from rgwot.study.doctor.findings import RULES, Finding, Severity
from rgwot.study.doctor.machine import FORMULA, Machine
from rgwot.study.doctor.video import SAMPLES, VideoFacts

SCHEMA = 1
"""Version of the JSON, raised when a key changes its meaning or is removed."""

_PER_FILE, _PER_LIST = 10, 20
_SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True)
class AnnotationFacts:
    """Content of the usable rows of an annotation; overlaps as of `rgwot.datasets.annotations.Annotation`."""

    status: str  #: ``ok``, ``no_rows`` or ``faulty`` (the stages refuse it)
    segments: int = 0  #: number of usable rows
    step_ids: frozenset[int] = frozenset()  #: the ids that occur, as in the file
    overlaps: int = 0
    overlap_s: float = 0.0


@dataclass(frozen=True)
class VideoReport:
    """One video; ``annotation`` is None where there is none."""

    task: str
    entry: VideoEntry
    usable: bool
    facts: VideoFacts
    annotation: AnnotationFacts | None
    findings: tuple[Finding, ...]
    features: FeatureFacts | None = None  #: of features made elsewhere, where they can be used

    @property
    def scored(self) -> bool:
        """Whether the video can be scored."""
        return self.usable and self.annotation is not None and self.annotation.status == "ok"

    @property
    def status(self) -> str:
        """``ok``, ``unscored`` or ``skipped``, as in a manifest; ``faulty`` where the annotation is refused."""
        if not self.usable:
            return "skipped"
        if self.scored:
            return "ok"
        lacking = self.entry.annotation is None or (self.annotation is not None and self.annotation.status == "no_rows")
        return "unscored" if lacking else "faulty"


@dataclass(frozen=True)
class TaskReport:
    """One task; ``findings`` are those that belong to no single video."""

    task: str
    found: FoundTask
    videos: tuple[VideoReport, ...]
    K: int | None
    published: int | None
    never: tuple[int, ...]
    findings: tuple[Finding, ...]

    @cached_property
    def all_findings(self) -> tuple[Finding, ...]:
        """Findings of the task and of its videos, each once."""
        return tuple(dict.fromkeys([*self.findings, *(one for video in self.videos for one in video.findings)]))

    @property
    def seconds(self) -> float:
        """Length of the videos that were opened."""
        return sum(video.facts.duration_s or 0.0 for video in self.videos)

    @property
    def rates(self) -> dict[str, int]:
        """Number of videos by exact frame rate, the commonest first."""
        rates = Counter(str(video.facts.fps) for video in self.videos if video.facts.fps is not None)
        return dict(sorted(rates.items(), key=lambda rate: (-rate[1], rate[0])))

    @property
    def occurring(self) -> tuple[int, ...]:
        """Step ids that occur."""
        ids = (video.annotation.step_ids for video in self.videos if video.annotation is not None)
        return tuple(sorted(frozenset[int]().union(*ids)))


@dataclass(frozen=True)
class Report:
    """Everything found out about a dataset; ``findings`` are those that belong to no task."""

    dataset: str
    layout: str
    root: Path
    found: Found
    quick: bool
    tasks: tuple[TaskReport, ...]
    findings: tuple[Finding, ...]
    machine: Machine | None = None

    @cached_property
    def videos(self) -> tuple[VideoReport, ...]:
        """The videos of all tasks."""
        return tuple(video for task in self.tasks for video in task.videos)

    @cached_property
    def all_findings(self) -> tuple[Finding, ...]:
        """All findings, those of the whole dataset first."""
        return (*self.findings, *(one for task in self.tasks for one in task.all_findings))

    def count(self, severity: Severity) -> int:
        """Return the number of findings of a severity."""
        return sum(one.severity == severity for one in self.all_findings)

    def exit_code(self, strict: bool = False) -> int:
        """Return 1 where there are errors (``strict``: or warnings), else 0."""
        return int(self.count("error") > 0 or (strict and self.count("warning") > 0))


def as_json(report: Report, strict: bool = False) -> dict[str, Any]:
    """Return the report as plain data, with the same keys for every dataset."""
    return {
        "schema": SCHEMA,
        "rgwot": __version__,
        "dataset": report.dataset,
        "layout": report.layout,
        "root": str(report.root),
        "searched": report.found.where,
        "quick": report.quick,
        "exit_code": report.exit_code(strict),
        "errors": report.count("error"),
        "warnings": report.count("warning"),
        "notes": report.count("note"),
        "tasks": [_task_json(task) for task in report.tasks],
        "videos": [_video_json(video) for video in report.videos],
        "unassigned": list(report.found.unassigned),
        "machine": None if report.machine is None else {**asdict(report.machine), "formula": FORMULA},
        "rules": RULES,
        "findings": [
            {key: getattr(one, key) for key in ("severity", "rule", "task", "file", "line", "where", "message")}
            for one in report.all_findings
        ],
    }


def _task_json(task: TaskReport) -> dict[str, Any]:
    counts = Counter(one.severity for one in task.all_findings)
    annotated = [video.annotation for video in task.videos if video.annotation is not None]
    return {
        "task": task.task,
        "problem": task.found.problem,
        "videos": len(task.videos),
        "annotated": sum(video.scored for video in task.videos),
        "skipped": sum(not video.usable for video in task.videos),
        "published": task.published,
        "seconds": task.seconds,
        "fps": task.rates,
        "K_registered": task.K,
        "K_found": len(task.occurring),
        "step_ids": list(task.occurring),
        "never": list(task.never),
        "segments": sum(facts.segments for facts in annotated),
        "overlaps": sum(facts.overlaps for facts in annotated),
        "overlap_s": sum(facts.overlap_s for facts in annotated),
        "videos_without_annotation": list(task.found.without_annotation),
        "annotations_without_video": list(task.found.without_video),
        "errors": counts["error"],
        "warnings": counts["warning"],
    }


def _video_json(video: VideoReport) -> dict[str, Any]:
    facts, annotation = video.facts, video.annotation
    return {
        "task": video.task,
        "video": video.entry.video,
        "name": video.entry.name,
        "path": video.entry.path,
        "annotation": video.entry.annotation,
        "status": video.status,
        **asdict(facts),
        "fps": None if facts.fps is None else str(facts.fps),
        "segments": None if annotation is None else annotation.segments,
        "step_ids": None if annotation is None else sorted(annotation.step_ids),
        "features": None if video.features is None else asdict(video.features),
    }


def as_text(report: Report) -> str:
    """Return the report as text: a line per task, lists of files without a partner, and the findings by file."""
    from tabulate import tabulate

    how = (
        "no video was opened, so rules about lengths were not checked"
        if report.quick
        else f"every video was opened and {SAMPLES} frames of it decoded"
    )
    if any(video.features is not None for video in report.videos):
        filmed = any(video.facts.codec for video in report.videos)
        how = f"{how}, and all features read" if filmed else "every file was opened and all features read"
    head = [f"{report.dataset}: layout {report.layout}, {report.found.where}", how]
    columns = ("task", "videos", "annotated", "skipped", "hours", "fps", "K found/known", "warnings", "errors")
    rows = [_row(task, report.quick) for task in report.tasks]
    table = tabulate(rows, columns, disable_numparse=True, colalign=("left", *["right"] * 8)) if rows else "no task"
    blocks = [
        head,
        table.splitlines(),
        *_features(report),
        *_lists(report),
        _machine(report.machine),
        *_findings(report.all_findings),
    ]
    totals = ", ".join(f"{(n := report.count(kind))} {kind}{'' if n == 1 else 's'}" for kind in _SEVERITIES)
    blocks.append([f"{report.dataset}: {totals}"])
    return "\n\n".join("\n".join(escaped(line) for line in block) for block in blocks if block)


def _row(task: TaskReport, quick: bool) -> list[str]:
    facts, rates = _task_json(task), list(task.rates)
    return [
        task.task,
        *(str(facts[key]) for key in ("videos", "annotated", "skipped")),
        "-" if quick else f"{task.seconds / 3600:.2f}",
        "-" if not rates else ", ".join(rates) if len(rates) <= 2 else f"{rates[0]} and {len(rates) - 1} more",
        f"{len(task.occurring)}/{'-' if task.K is None else task.K}",
        *(str(facts[key]) for key in ("warnings", "errors")),
    ]


def _features(report: Report) -> list[list[str]]:
    made = {task.task: [video.features for video in task.videos if video.features is not None] for task in report.tasks}
    lines = [f"  {task}: {summary(files)}" for task, files in made.items() if files]
    return [["features made elsewhere:", *lines]] if lines else []


def _lists(report: Report) -> list[list[str]]:
    lists: list[tuple[str, Sequence[str]]] = []
    for task in report.tasks:
        lists += [
            (f"{task.task}: videos without annotation", task.found.without_annotation),
            (f"{task.task}: annotations without a video", task.found.without_video),
        ]
    lists.append(("videos of no known task", report.found.unassigned))
    return [
        [f"{title} ({len(paths)}):", *(f"  {escaped(path)}" for path in paths[:_PER_LIST]), *_more(paths, _PER_LIST)]
        for title, paths in lists
        if paths
    ]


def _more(items: Sequence[object], shown: int) -> list[str]:
    return [f"  and {len(items) - shown} more (--json lists all)"] if len(items) > shown else []


def _machine(machine: Machine | None) -> list[str]:
    if machine is None:
        return []
    weights = machine.weights if machine.weights_path is None else f"{machine.weights} ({machine.weights_path})"
    needed = "not estimated" if machine.feature_bytes is None else f"up to {machine.feature_bytes / 1e9:.2f} GB"
    return [
        f"GPU: {machine.gpu or 'none'} (device: {machine.device})",
        f"weights: {weights}, {'at hand' if machine.weights_found else 'not there'}",
        f"features still to be written: {needed}, {machine.free_bytes / 1e9:.1f} GB free ({FORMULA})",
    ]


def _findings(findings: Iterable[Finding]) -> list[list[str]]:
    """Return a block of lines per file, findings without a file first."""
    by_file: dict[tuple[str, str], list[Finding]] = {}
    for one in findings:
        by_file.setdefault((one.file or "", "" if one.file else one.task or ""), []).append(one)
    blocks: list[list[str]] = []
    for (file, task), found in sorted(by_file.items()):
        ordered = sorted(found, key=lambda one: (_SEVERITIES.index(one.severity), one.line or 0))
        title = file or (f"task {task}" if task else "dataset and machine")
        lines = [
            f"  {one.severity}: {f'{one.where}: ' if one.where else ''}{one.message} [{one.rule}]"
            for one in ordered[:_PER_FILE]
        ]
        blocks.append([f"{title}:", *lines, *_more(ordered, _PER_FILE)])
    return blocks
