"""Annotations in another unit or with another rate are reported with the unit or rate that fits."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rgwot.datasets.annotation_files import read_annotation
from rgwot.datasets.manifest import write_manifest
from rgwot.datasets.settings import Options
from rgwot.study.doctor import examine
from rgwot.timing import VideoInfo, ends_early

ROWS = ((5, 100, "boil"), (100, 300, "pour"), (300, 560, "drink"))


def study(root: Path, units: dict[str, float], until: float = 600) -> list[str]:
    """Write a recording of 600 s per name, annotated in the given unit (in seconds); return the warnings of doctor."""
    (root / "tea").mkdir(parents=True)
    for name, unit in units.items():
        np.save(root / f"tea/{name}.npy", np.random.default_rng(0).normal(size=(600, 4)).astype(np.float32))
        rows = [f"{a / unit:.9f},{b / unit:.9f},{label}" for a, b, label in ROWS if b <= until]
        (root / f"tea/{name}.csv").write_text("\n".join(["start_s,end_s,label", *rows]), encoding="utf-8")
    entry: dict[str, Any] = {"layout": "features", "root": str(root), "imported": {"axes": "TC", "fps": 1}}
    report = examine({"datasets": {"own": entry}}, "own")
    return [
        f"{finding.rule}: {finding.message}"
        for finding in report.findings
        if finding.severity == "warning" and finding.rule == "unit"
    ]


def test_some_in_minutes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    told = study(tmp_path / "root", {"r0": 60, "r1": 60, "r2": 1, "r3": 1})
    assert len(told) == 2
    assert told[0] == (
        "unit: annotation of r0: its last segment ends at 9.33333 of 600 s; expected seconds; are these minutes? then "
        "multiply by 60"
    )
    write_manifest(
        "own", "tea", tmp_path / "root", "features", {}, tmp_path / "m.csv", tmp_path / "a.csv", "fail",
        {"axes": "TC", "fps": "1"},
    )  # fmt: skip
    assert caplog.text.count("are these minutes?") == 2


@pytest.mark.parametrize(("unit", "name"), [(60, "minutes"), (3600, "hours"), (86400, "days")])
def test_all_in_another_unit(tmp_path: Path, unit: float, name: str) -> None:
    told = study(tmp_path / "root", {"r0": unit, "r1": unit})
    assert len(told) == 2
    assert f"are these {name}? then multiply by {unit}" in told[1]


def test_partly_coded_videos_are_reported_only_beside_whole_ones() -> None:
    spans = {"a": (100.0, 600.0), "b": (590.0, 600.0)}
    assert "coded in part?" in ends_early(spans)["a"]
    # Partial annotation is intended if most videos have it, or if there is only one video.
    assert ends_early({**spans, "c": (120.0, 600.0)}) == {}
    assert ends_early({"a": (100.0, 600.0)}) == {}
    # An annotation without segments, which ends at 0 s, is intended.
    assert ends_early({"a": (0.0, 600.0), "b": (590.0, 600.0)}) == {}


def test_half_of_the_video_is_reported() -> None:
    whole = {"a": (590.0, 600.0), "b": (600.0, 600.0)}
    line = "its last segment ends at 297 of 600 s, half of the video"
    assert ends_early({**whole, "c": (297.0, 600.0), "d": (330.0, 600.0)}) == {
        "c": f"{line}; expected seconds up to its end; were frames divided by twice their rate? then multiply by 2"
    }
    halves = dict.fromkeys("abc", (297.0, 600.0))
    assert [told.startswith(line) for told in ends_early(halves).values()] == [True] * 3
    # Two may be incomplete by chance, and a majority of incomplete ones may be intended.
    assert ends_early({"a": (297.0, 600.0), "b": (297.0, 600.0)}) == {}
    assert ends_early({**halves, "d": (590.0, 600.0)}) == {}


@pytest.mark.parametrize(
    ("lines", "fps", "message"),
    [
        (100, "10", ""),
        (97, "10", ""),
        (100, "20", "is the last, at 5 of 10 s; expected the end of the video; correct labels_fps (20): 100 lines fit"),
        (300, "60", "300 lines fit 30 per second"),
    ],
)  # fmt: skip
def test_frame_labels_with_another_rate(tmp_path: Path, lines: int, fps: str, message: str) -> None:
    path = tmp_path / "m3.txt"
    path.write_text("boil\n" * (lines // 2) + "background\n" * (lines - lines // 2), encoding="utf-8")
    read = read_annotation(path, ["m3"], Options(labels_fps=fps), VideoInfo(10.0, Fraction(10)))
    assert [message in line for line in read.warnings] == [True] * bool(message)
    # Time after the last line is not scored.
    end = float(lines / Fraction(fps))
    assert read.labelled_s == (end if end < 10 else None)
