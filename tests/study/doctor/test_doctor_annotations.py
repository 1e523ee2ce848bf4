"""Every fault of an annotation is reported with its place, whatever else is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from doctor_helpers import FIXTURES, cases, content, crosstask, entry, put, said

from rgwot.study.doctor import examine
from rgwot.study.findings import as_text


def check_outcomes(report: Any, kind: str, file_of: Callable[[str], str]) -> None:
    """Compare the findings with the expected outcome of every fixture: nothing hides anything else."""
    for case in cases(kind):
        file = file_of(Path(case["path"]).stem)
        errors = [one for one in report.findings if one.file == file and one.severity == "error"]
        warnings = [one for one in report.findings if one.file == file and one.severity == "warning"]
        assert bool(errors) == (case["outcome"] == "error"), (file, errors)
        if case["outcome"] != "error":
            assert bool(warnings) == (case["outcome"] in ("ok_warn", "skip")), (file, warnings)
        elif file.endswith("utf16.csv"):
            assert errors[0].rule == "encoding"
        else:
            assert all(error.line is not None for error in errors), errors


def test_every_malformed_file_is_reported_with_its_line(tmp_path: Path, clip: Path) -> None:
    annotations = tmp_path / "annotations" / "EGTEA_Gaze+" / "GreekSalad"
    videos = tmp_path / "videos" / "EGTEA_Gaze+" / "GreekSalad"
    for case in cases("ego"):
        # The task has four steps and the clip 300 frames at 30 per second, as the fixtures ask for.
        assert (case["fps"], case["n_frames"], case["K"]) == ("30", "300", "4")
        name = Path(case["path"]).stem
        put(annotations / f"{name}.csv", (FIXTURES / case["path"]).read_bytes())
        put(videos / f"{name}.mp4", clip.read_bytes())
    report = examine(content(egtea_gaze=entry(tmp_path, "egoprocel")), "EGTEA-Gaze", ["greek_salad"], jobs=2)
    check_outcomes(report, "ego", lambda name: f"annotations/EGTEA_Gaze+/GreekSalad/{name}.csv")
    status = {video.entry.name: video.status for video in report.videos}
    assert (status["crlf"], status["empty"], status["header"]) == ("ok", "unscored", "faulty")


def test_every_malformed_file_of_crosstask(tmp_path: Path) -> None:
    crosstask(tmp_path, 0, steps="a,b,c,d")
    for case in cases("ct"):
        name = Path(case["path"]).stem
        put(tmp_path / "videos" / "990001" / f"{name}.mp4", b"not opened")
        data = (FIXTURES / case["path"]).read_bytes()
        put(tmp_path / "crosstask_release" / "annotations" / f"990001_{name}.csv", data)
    report = examine(content(mine=entry(tmp_path, "crosstask")), "mine", quick=True)
    check_outcomes(report, "ct", lambda name: f"crosstask_release/annotations/990001_{name}.csv")
    assert "segments overlap" in said(report, rule="overlap", severity="note")[0]


def test_all_faults_of_a_file_not_only_the_first(tea: Path) -> None:
    rows = b"1,2\n3,2,1 a\n5,6,0 b\n-1,2,3 c\nx,y,2 d\n1,2,2 fine\n500,600,2 late\n7,7,2 short\n"
    put(tea / "tea" / "one.csv", rows)
    report = examine(content(mine=entry(tea)), "mine")
    found = [(one.line, one.rule, one.severity) for one in report.findings if one.file == "tea/one.csv"]
    assert sorted(found) == [
        (1, "columns", "error"),
        (2, "time_order", "error"),
        (3, "step", "error"),
        (4, "time", "error"),
        (5, "time", "error"),
        (7, "past_end", "error"),
        (8, "short", "warning"),
    ]


def test_a_name_with_an_id_in_another_file_is_one_step(tea: Path) -> None:
    put(tea / "tea" / "one.csv", b"1,2,1 boil\n3,4,2 pour\n")
    put(tea / "tea" / "two.csv", b"start_s,end_s,label\n1,2,pour\n3,4,stir\n")
    (task,) = examine(content(mine=entry(tea)), "mine", quick=True).tasks
    assert task.as_json()["step_ids"] == [1, 2, "stir"]


def test_quick_opens_no_video_and_still_reads_annotations(tea: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tea / "tea" / "one.csv", b"1,2,one boil\n500,600,2 late\n")
    monkeypatch.setattr("rgwot.video.probe", lambda *_: pytest.fail("a video was opened"))
    report = examine(content(mine=entry(tea)), "mine", quick=True)
    assert [(one.file, one.line, one.rule) for one in report.findings] == [("tea/one.csv", 1, "columns")]
    assert "no video was opened" in as_text(report)


def test_procel_faults_name_the_video(tmp_path: Path) -> None:
    tree = FIXTURES / "malformed" / "procel" / "ProceL_dataset"
    listed = {"end_before_start": 2, "no_steps": 2, "one_row_too_many": 3, "not_a_mat": 2}
    for task in listed:
        for name in ("readme.txt", "data.mat"):
            put(tmp_path / task / name, (tree / task / name).read_bytes())
        for line in (tree / task / "readme.txt").read_text(encoding="utf-8").splitlines():
            put(tmp_path / task / f"{line.split(chr(9))[1]}.mp4", b"\x00")
    report = examine(content(mine=entry(tmp_path, "procel")), "mine", quick=True)
    errors = {(one.task, one.rule) for one in report.findings if one.severity == "error"}
    assert errors == {
        ("end_before_start", "time_order"),
        ("one_row_too_many", "release"),
        ("not_a_mat", "release"),
    }
    # A file shared by the videos of a task complains once.
    assert len(said(report, task="one_row_too_many", severity="error")) == 1
    assert len(said(report, task="no_steps", rule="no_rows")) == 1
    (reversed_,) = [one for one in report.findings if one.rule == "time_order"]
    assert reversed_.where.startswith("video ")
