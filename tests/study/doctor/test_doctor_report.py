"""`rgwot doctor` as it is called: exit codes, the report for people and the one for programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from doctor_helpers import content, entry, put, run
from machine import touch_bytes

from rgwot.study.doctor import examine
from rgwot.study.findings import as_json, as_text


def test_a_sound_dataset_is_clean(tea: Path, tmp_path: Path) -> None:
    code, out, _ = run(tmp_path, "mine", "--json", str(tmp_path / "report.json"), mine=entry(tea))
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert code == 0
    assert report["findings"] == []
    (task,) = report["tasks"]
    assert (task["videos"], task["annotated"], task["skipped"]) == (2, 2, 0)
    assert task["fps"] == {"30": 2}
    assert task["seconds"] == pytest.approx(20, abs=0.1)
    assert task["step_ids"] == [1, 2]
    video = report["videos"][0]
    assert (video["fps"], video["decoded"]) == ("30", 5)
    row = next(line.split() for line in out.splitlines() if line.startswith("tea"))
    assert row == ["tea", "2", "2", "0", "0.01", "30", "2/-", "0", "0"]


def test_requests_that_cannot_be_met(tea: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def refused(*arguments: str, **datasets: dict[str, Any]) -> str:
        code, out, err = run(tmp_path, *arguments, **datasets)
        assert (code, out) == (2, "")
        assert err.startswith("rgwot: ")
        assert err.count("\n") == 1
        return err

    assert "did you mean 'mine'?" in refused("mime", mine=entry(tea))
    assert "did you mean 'tea'?" in refused("mine", "--task", "teaa", mine=entry(tea))
    assert "no folder" in refused("mine", mine=entry(tmp_path / "nowhere"))
    assert "rgwot run results/synthetic/demo" in refused("demo", demo=entry("results/synthetic/demo", synth={}))
    assert "layout 'foldr'" in refused("mine", mine=entry(tea, "foldr"))
    assert "unknown key" in refused("mine", mine=entry(tea, colour="red"))
    for text, clue in (("a: [", "not valid YAML"), ("- a", "expected keys")):
        bad = put(tmp_path / "bad.yaml", text.encode())
        assert clue in refused("mine", "--config", str(bad), mine=entry(tea))
    assert "cannot be read" in refused("mine", "--config", str(tmp_path / "none.yaml"), mine=entry(tea))


def test_hostile_names_are_escaped_on_one_line(tea: Path, tmp_path: Path, clip: Path) -> None:
    for name in (b"evil\n\x1b[31m.mp4", b"caf\xe9.mp4", "\u202egnp.mp4".encode()):
        touch_bytes(tea / "tea", name).write_bytes(clip.read_bytes())
    code, out, _ = run(tmp_path, "mine", "--quick", mine=entry(tea))
    assert code == 1
    assert r"error: tea/evil\n\x1b[31m.mp4:" in out
    assert r"tea/caf\udce9.mp4:" in out
    assert r"\u202egnp" in out
    assert not {"\x1b", "\u202e"} & set(out)
    code, out, _ = run(tmp_path, "mine", "--quick", "--json", "-", mine=entry(tea))
    names = {one["file"] for one in json.loads(out)["findings"] if one["rule"] == "name"}
    assert names == {"tea/evil\n\x1b[31m.mp4", "tea/caf\udce9.mp4"}
    # The rest of the task is examined as if they were not there.
    assert json.loads(out)["tasks"][0]["annotated"] == 2


def test_long_lists_are_cut_for_people_only(tea: Path) -> None:
    put(tea / "tea" / "one.csv", b"1;2;1 a\n" * 40)
    for number in range(25):
        put(tea / "tea" / f"unused{number:02d}.csv", b"")
    report = examine(content(mine=entry(tea)), "mine", quick=True)
    text, values = as_text(report), as_json(report)
    assert "and 30 more errors [columns] (--json lists all)" in text
    assert len([one for one in values["findings"] if one["rule"] == "columns"]) == 40
    assert len(values["tasks"][0]["annotations_without_video"]) == 25


def test_keys_of_the_json_are_stable(tea: Path) -> None:
    """Programs rely on them; whoever changes one raises `rgwot.study.findings.SCHEMA`."""
    values = as_json(examine(content(mine=entry(tea, synth=None)), "mine", quick=True))
    put(tea / "tea" / "one.csv", b"1,2\n")
    finding = as_json(examine(content(mine=entry(tea)), "mine", quick=True))["findings"][0]
    assert values["schema"] == 2
    assert list(values) == [
        "schema", "rgwot", "dataset", "layout", "root", "searched", "quick", "exit_code", "errors", "warnings", "notes",
        "tasks", "videos", "unassigned", "findings",
    ]  # fmt: skip
    assert list(values["tasks"][0]) == [
        "task", "videos", "annotated", "skipped", "seconds", "fps", "K_registered", "step_ids",
        "videos_without_annotation", "annotations_without_video", "errors", "warnings",
    ]  # fmt: skip
    assert list(values["videos"][0]) == [
        "task", "video", "name", "path", "annotation", "status", "duration_s", "fps", "decoded", "reader",
        "segments", "step_ids", "features",
    ]  # fmt: skip
    assert list(finding) == ["severity", "rule", "message", "task", "file", "where", "line"]
    assert (finding["file"], finding["line"]) == ("tea/one.csv", 1)


def test_the_order_of_the_report_does_not_depend_on_threads(tea: Path, clip: Path) -> None:
    for number in range(8):
        put(tea / "tea" / f"v{number}.mp4", clip.read_bytes() if number == 3 else b"")
        put(tea / "tea" / f"v{number}.csv", b"1,2\n3,4\n")
    config = content(mine=entry(tea))
    one_by_one, together = (as_json(examine(config, "mine", jobs=jobs)) for jobs in (1, 4))
    assert one_by_one == together


def test_letters_a_terminal_lacks(tea: Path, tmp_path: Path, clip: Path) -> None:
    put(tea / "tea" / "grün.mp4", clip.read_bytes())
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(content(mine=entry(tea))), encoding="utf-8")
    command = [sys.executable, "-m", "rgwot", "doctor", "mine", "--quick"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert done.returncode == 0
    assert rb"tea/gr\xfcn.mp4" in done.stdout
    assert b"Traceback" not in done.stderr
