"""The annotation of one video: all its faults at once, and what it annotates."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rgwot.datasets.annotations import VideoClock
from rgwot.datasets.base import Layout, Options, VideoEntry
from rgwot.datasets.faults import collecting
from rgwot.datasets.registry import TaskFacts
from rgwot.runtime.errors import RgwotError
from rgwot.study.doctor.findings import Finding, of_complaint, of_error


@dataclass(frozen=True)
class AnnotationFacts:
    """What the usable rows of an annotation say.

    Attributes
    ----------
    status
        ``ok``, ``no_rows`` or ``faulty`` (the stages refuse it).
    segments
        Number of usable rows.
    step_ids
        The ids that occur, as in the file.
    overlaps, overlap_s
        Segments that begin before an earlier one has ended, and the seconds covered twice.
    """

    status: str
    segments: int = 0
    step_ids: frozenset[int] = frozenset()
    overlaps: int = 0
    overlap_s: float = 0.0


def check_annotation(
    module: Layout,
    root: Path,
    entry: VideoEntry,
    facts: TaskFacts | None,
    clock: VideoClock | None,
    options: Options,
    task: str,
) -> tuple[AnnotationFacts, list[Finding]]:
    """Read the annotation of a video to its end, whatever is wrong with it.

    Parameters
    ----------
    module, root, entry, facts, options
        As for `rgwot.datasets.base.Layout.read_annotation`.
    clock
        Duration and rate of the video; None leaves out the rules that need them.
    task
        For the findings.
    """
    fault: RgwotError | OSError | None = None
    annotation = None
    with collecting() as complaints:
        try:
            annotation = module.read_annotation(root, entry, facts, clock, options)
        except (RgwotError, OSError) as error:
            fault = error
    findings = [of_complaint(complaint, root, task) for complaint in complaints]
    if fault is not None:
        findings.append(of_error(fault, root, entry.annotation, "release", task))
    if annotation is None:
        return AnnotationFacts("faulty"), findings
    faulty = any(finding.severity == "error" for finding in findings)
    if annotation.empty and not faulty:
        lacking = f"no rows; {entry.name} is not scored, but used for everything else"
        findings.append(Finding("warning", "no_rows", lacking, task, entry.annotation))
    status = "faulty" if faulty else "no_rows" if annotation.empty else "ok"
    step_ids = frozenset(int(step) for step in annotation.segments["step_id"])
    return (
        AnnotationFacts(status, len(annotation.segments), step_ids, annotation.overlaps, annotation.overlap_s),
        findings,
    )
