"""Findings of `rgwot doctor`, one line each, and its report of counts and findings as text and JSON."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from rgwot import __version__
from rgwot.columns import readable
from rgwot.datasets.annotations import Annotation, in_order, steps_of
from rgwot.datasets.base import DatasetFiles, TaskFiles, VideoEntry
from rgwot.datasets.feature_files import FileFacts
from rgwot.datasets.text import Complaint, DataFault, Severity, collecting
from rgwot.embedding.values import Values
from rgwot.runtime.errors import RgwotError, escaped

SCHEMA = 2
"""Version of the JSON, raised when a key changes its meaning or is removed."""

_SHOWN = 10
_SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True)
class Finding:
    """A fact or fault of a dataset."""

    severity: Severity
    rule: str  #: one word, such as ``pairing``; the same for all findings of a kind
    message: str  #: what was found, what was expected, what to do
    task: str | None = None  #: None if the finding concerns the whole dataset
    file: str | None = None  #: path below the root with ``/``; None if the finding does not concern a single file
    where: str = ""  #: place in the file, such as ``line 3``

    @property
    def line(self) -> int | None:
        """Number of the line, from 1, or None."""
        return int(self.where[5:]) if re.fullmatch(r"line \d+", self.where) else None


def below(path: Path, root: Path) -> str:
    """Return a path relative to the root with ``/``, or unchanged if it is elsewhere."""
    return (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()


def of_complaint(complaint: Complaint, root: Path, task: str | None) -> Finding:
    """Return the complaint of a reader as a finding."""
    return Finding(
        complaint.severity, complaint.rule, complaint.message, task, below(complaint.path, root), complaint.where
    )


def of_error(error: RgwotError | OSError, root: Path, file: str | None, rule: str, task: str | None) -> Finding:
    """Return an error as a finding.

    ``file`` (below ``root``) and ``rule`` apply unless the error has others. A file at the beginning of its message
    is used.
    """
    if isinstance(error, DataFault):
        return of_complaint(error.complaint, root, task)
    if isinstance(error, OSError):
        place = below(Path(os.fsdecode(error.filename)), root) if error.filename else file
        return Finding("error", rule, f"cannot be read ({error.strerror})", task, place)
    named = file_of(error)
    if named is None:
        return Finding("error", rule, str(error), task, file)
    return Finding("error", rule, str(error)[len(str(named)) + 2 :], task, below(named, root))


@contextmanager
def examining(findings: list[Finding], root: Path, task: str | None, rule: str, file: str | None) -> Iterator[None]:
    """Run functions of the stages; add their complaints and the error that ends them (`of_error`) to ``findings``."""
    with collecting() as complaints:
        try:
            yield
        except (RgwotError, OSError) as raised:
            error = [of_error(raised, root, file, rule, task)]
        else:
            error = []
    findings += [*(of_complaint(complaint, root, task) for complaint in complaints), *error]


def file_of(error: RgwotError) -> Path | None:
    """Return the file or folder that a message begins with, or None."""
    text = str(error)
    beginnings = (text[: colon.start()] for colon in re.finditer(": ", text))
    return next((Path(beginning) for beginning in beginnings if os.path.exists(beginning)), None)


@dataclass(frozen=True)
class VideoFacts:
    """Facts about a video file, None if unknown."""

    duration_s: float | None = None
    fps: Fraction | None = None
    decoded: int | None = None
    reader: str | None = None
    start_s: float = 0.0


@dataclass(frozen=True)
class VideoReport:
    """The report on a video."""

    task: str
    entry: VideoEntry
    usable: bool
    facts: VideoFacts
    annotation: Annotation | None  #: its usable rows, None if it cannot be read or does not exist
    faulty: bool  #: whether the stages refuse the annotation
    findings: tuple[Finding, ...]
    features: FileFacts | None = None  #: facts of imported features, if they are usable
    values: Values | None = None  #: what is unusual in the values of imported vectors
    silence: str | None = None  #: how time without a segment is read in the dataset

    @property
    def status(self) -> str:
        """``ok``, ``unscored`` or ``skipped``, as in a manifest; ``faulty`` if the annotation is refused."""
        if not self.usable or self.faulty:
            return "faulty" if self.usable else "skipped"
        return "unscored" if self.annotation is None or self.annotation.unscored(self.silence) else "ok"

    @property
    def step_ids(self) -> set[int | str]:
        """Ids of the key steps that occur, as in the file, or their names if the file has no ids."""
        return set() if self.annotation is None else set(steps_of(self.annotation.telling))


@dataclass(frozen=True)
class Report:
    """The report on a dataset; ``findings`` on the whole dataset come first."""

    dataset: str
    layout: str
    root: Path
    files: DatasetFiles
    quick: bool
    tasks: Mapping[str, int | None]  #: known number of key steps of each task
    videos: tuple[VideoReport, ...]
    findings: tuple[Finding, ...]

    def count(self, severity: Severity) -> int:
        """Return the number of findings of a severity."""
        return sum(finding.severity == severity for finding in self.findings)

    def exit_code(self, strict: bool = False) -> int:
        """Return 1 if there are errors (with ``strict`` also for warnings), otherwise 0."""
        return int(self.count("error") > 0 or (strict and self.count("warning") > 0))


def _counts(report: Report, task: str, K: int | None) -> dict[str, Any]:
    """Return the counts of a task as plain data; ``fps`` counts videos by rate, the most common first.

    In ``step_ids``, a name without an id takes the id that other videos have for this name.
    """
    import pandas as pd

    files, videos = report.files.tasks.get(task, TaskFiles()), [video for video in report.videos if video.task == task]
    severities = Counter(finding.severity for finding in report.findings if finding.task == task)
    rates = Counter(str(video.facts.fps) for video in videos if video.facts.fps is not None)
    tables = [video.annotation.telling for video in videos if video.annotation is not None]
    return {
        "task": task,
        "videos": len(videos),
        "annotated": sum(video.status == "ok" for video in videos),
        "skipped": sum(not video.usable for video in videos),
        "seconds": sum(video.facts.duration_s or 0.0 for video in videos),
        "fps": dict(sorted(rates.items(), key=lambda rate: (-rate[1], rate[0]))),
        "K_registered": K,
        "step_ids": sorted(set(steps_of(pd.concat(tables))) if tables else (), key=in_order),
        "videos_without_annotation": list(files.without_annotation),
        "annotations_without_video": list(files.without_video),
        "errors": severities["error"],
        "warnings": severities["warning"],
    }


def _features(facts: FileFacts) -> dict[str, Any]:
    return {
        "count": facts.count,
        **{name: facts.sizes[axis] for axis, name in (("C", "channels"), ("H", "height"), ("W", "width"))},
        "fps": float(facts.fps),
        "end_s": facts.footage.duration_s,
        "columns": facts.columns,
    }


def as_json(report: Report, strict: bool = False) -> dict[str, Any]:
    """Return the report as plain data, with the same keys for every dataset."""
    return {
        "schema": SCHEMA,
        "rgwot": __version__,
        "dataset": report.dataset,
        "layout": report.layout,
        "root": str(report.root),
        "searched": report.files.where,
        "quick": report.quick,
        "exit_code": report.exit_code(strict),
        "errors": report.count("error"),
        "warnings": report.count("warning"),
        "notes": report.count("note"),
        "tasks": [_counts(report, task, K) for task, K in report.tasks.items()],
        "videos": [
            {
                "task": video.task,
                "video": video.entry.video,
                "name": video.entry.name,
                "path": video.entry.path,
                "annotation": video.entry.annotation,
                "status": video.status,
                **asdict(video.facts),
                "fps": None if video.facts.fps is None else str(video.facts.fps),
                "segments": None if video.annotation is None else len(video.annotation.segments),
                "step_ids": sorted(video.step_ids, key=in_order),
                "features": None if video.features is None else _features(video.features),
            }
            for video in report.videos
        ],
        "unassigned": list(report.files.unassigned),
        "findings": [{**asdict(finding), "line": finding.line} for finding in report.findings],
    }


def as_text(report: Report) -> str:
    """Return the report as text: a line per task and a line per finding, at most 10 per rule."""
    from tabulate import tabulate

    how = "no video was opened, so lengths were not checked" if report.quick else "every file was opened and sampled"
    columns = ("task", "videos", "annotated", "skipped", "hours", "fps", "K found/known", "warnings", "errors")
    rows = [
        (
            readable(facts["task"]),
            *(facts[key] for key in ("videos", "annotated", "skipped")),
            "-" if report.quick else f"{facts['seconds'] / 3600:.2f}",
            ", ".join(facts["fps"]) or "-",
            f"{len(facts['step_ids'])}/{facts['K_registered'] or '-'}",
            *(facts[key] for key in ("warnings", "errors")),
        )
        for facts in as_json(report)["tasks"]
    ]
    table = tabulate(rows, columns, disable_numparse=True).splitlines() if rows else ["no task"]
    lines = [f"{report.dataset}: layout {report.layout}, {report.files.where}", how, *table]
    kinds: dict[tuple[Severity, str], list[Finding]] = {}
    for finding in sorted(report.findings, key=lambda finding: _SEVERITIES.index(finding.severity)):
        kinds.setdefault((finding.severity, finding.rule), []).append(finding)
    for (severity, rule), of_kind in kinds.items():
        for finding in of_kind[:_SHOWN]:
            place = finding.file or (f"task {readable(finding.task)}" if finding.task else "")
            lines.append(
                ": ".join(part for part in (severity, place, finding.where, f"{finding.message} [{rule}]") if part)
            )
        if len(of_kind) > _SHOWN:
            lines.append(f"and {len(of_kind) - _SHOWN} more {severity}s [{rule}] (--json lists all)")
    lines.append(f"{report.dataset}: {', '.join(f'{report.count(kind)} {kind}s' for kind in _SEVERITIES)}")
    return "\n".join(map(escaped, lines))
