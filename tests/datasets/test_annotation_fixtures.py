"""Every annotation fixture gives the outcome and the frame labels that are documented for it."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from rgwot.datasets import text
from rgwot.datasets.annotations import Annotation, read_step_first, read_three_columns
from rgwot.datasets.base import VideoEntry
from rgwot.datasets.crosstask import read_tasks
from rgwot.datasets.procel import read_annotation, read_video_names
from rgwot.datasets.registry import tasks_of
from rgwot.datasets.settings import Options
from rgwot.runtime.errors import RgwotError
from rgwot.timing import VideoInfo, truth_labels

FIXTURES = Path(__file__).parents[1] / "fixtures" / "annotations"


def table(name: str) -> list[dict[str, str]]:
    with (FIXTURES / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


CASES = table("cases.csv")
EXPECTED = table("expected_labels.csv")


def clock_of(case: dict[str, str]) -> VideoInfo:
    fps = Fraction(case["fps"])
    return VideoInfo(float(int(case["n_frames"]) / fps), fps)


def ids_of(case: dict[str, str]) -> tuple[int, ...]:
    if "Eggs" in case["path"]:
        return (*range(1, 8), 9)
    return tuple(range(1, int(case["K"]) + 1))


def read_case(case: dict[str, str]) -> list[Annotation]:
    """Read an annotation fixture; a folder of ProceL holds several videos."""
    path, clock, ids = FIXTURES / case["path"], clock_of(case), ids_of(case)
    if case["kind"] == "ego":
        return [read_three_columns(path, ids, clock)]
    if case["kind"] == "ct":
        return [read_step_first(path, ids, clock)]
    facts = replace(tasks_of("procel")[0], K=len(ids), step_ids=ids)
    return [
        read_annotation(path, VideoEntry(name, name, f"{name}.mp4", "data.mat", part), facts, clock, Options())
        for part, name in enumerate(read_video_names(path / "data.mat"))
    ]


def outcome_of(case: dict[str, str]) -> tuple[str, list[str]]:
    """Return the outcome in the words of ``cases.csv`` and the warnings."""
    path = FIXTURES / case["path"]
    if case["kind"] == "tasks":
        read_tasks(path)
        return "ok", []
    annotations = read_case(case)
    warnings = [warning for annotation in annotations for warning in annotation.warnings]
    if any(annotation.segments.empty for annotation in annotations):
        return "skip", warnings
    return ("ok_warn" if warnings else "ok"), warnings


@pytest.mark.parametrize("case", CASES, ids=[case["path"] for case in CASES])
def test_outcome(case: dict[str, str], caplog: pytest.LogCaptureFixture) -> None:
    # Warnings about encodings are given once per process; forget earlier ones.
    text._log_once.cache_clear()
    path = FIXTURES / case["path"]
    if case["outcome"] == "error":
        with pytest.raises(RgwotError) as caught:
            outcome_of(case)
        message = str(caught.value)
        assert str(path) in message
        assert "expected" in message or "wrong video" in message
        assert "\n" not in message
        if case["kind"] in ("ego", "ct"):
            number = re.search(r": line (\d+): ", message)
            assert number is not None
            line = path.read_text(encoding="utf-8-sig").splitlines()[int(number[1]) - 1]
            pieces = (piece for piece in re.split(r"[,;\t]", line) if piece)
            assert any(piece.strip('"').removesuffix(".0") in message for piece in pieces)
        return
    outcome, warnings = outcome_of(case)
    if said := [line for line in caplog.messages if "Windows-1252" in line]:
        outcome, warnings = f"{outcome}_warn", said
    assert outcome == case["outcome"]
    assert len(warnings) == (case["outcome"] == "ok_warn")
    assert all(str(path) in warning for warning in warnings)


@pytest.mark.parametrize(
    ("name", "clue"),
    [
        ("semicolon", "semicolons"),
        ("tab", "tabs"),
        ("header", "header"),
        ("decimal_comma", "decimal point"),
        ("label_zero", "background"),
        ("milliseconds", "wrong video, rate or unit?"),
        ("crosstask_layout", "step,start,end"),
        ("unknown_label", "1-4"),
    ],
)
def test_error_gives_the_clue(name: str, clue: str) -> None:
    case = next(case for case in CASES if case["path"] == f"malformed/ego/{name}.csv")
    with pytest.raises(RgwotError, match=re.escape(clue)):
        outcome_of(case)


def run_lengths(labels: np.ndarray) -> str:
    starts = np.flatnonzero(np.diff(labels, prepend=labels[0] - 1))
    lengths = np.diff(starts, append=len(labels))
    return " ".join(f"{labels[start]}x{length}" for start, length in zip(starts, lengths, strict=True))


@pytest.mark.parametrize("expected", EXPECTED, ids=[f"{row['path']}:{row['mode']}" for row in EXPECTED])
def test_labels(expected: dict[str, str]) -> None:
    case = next(case for case in CASES if case["path"] == expected["path"])
    (annotation,) = read_case(case)
    segments = annotation.segments
    labels = truth_labels(
        segments["start_s"],
        segments["end_s"],
        segments["step_id"],
        np.arange(int(expected["n_frames"])),
        Fraction(expected["fps"]),
        expected["mode"],  # type: ignore[arg-type]
    )
    assert run_lengths(labels) == expected["runs"]
