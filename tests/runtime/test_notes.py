"""Jobs write notes on their progress for the run, and never fail because of these notes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from rgwot.runtime.notes import FOLDER_VARIABLE, Notes, notes


def test_a_job_writes_what_it_has_done_and_removes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "progress"))
    note = Notes()
    note("monday.mp4", 64, 128, "frame", 12.4)
    # At most one note per second is written, but always the last one.
    note("monday.mp4", 65, 128, "frame", 12.3)
    expected = {"title": "monday.mp4", "done": 64, "total": 128, "unit": "frame", "left_s": 12}
    assert notes(tmp_path / "progress") == [expected]
    note("monday.mp4", 128, 128, "frame", 0.0)
    assert notes(tmp_path / "progress") == [expected | {"done": 128, "left_s": 0}]
    note.close()
    assert notes(tmp_path / "progress") == []


def test_notes_of_killed_jobs_and_half_files_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text(json.dumps({"title": "old"}))
    os.utime(tmp_path / "1.json", (1, 1))
    (tmp_path / "2.json").write_text("{")
    assert notes(tmp_path) == notes(tmp_path / "none") == []


def test_without_a_run_that_looks_or_a_folder_to_write_a_job_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    Notes()("monday.mp4", 1, 1, "frame", 0.0)
    (tmp_path / "file").touch()
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "file" / "below"))
    note = Notes()
    note("monday.mp4", 1, 1, "frame", 0.0)
    note.close()
