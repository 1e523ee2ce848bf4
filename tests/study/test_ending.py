"""What a run says last."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from videos import write_video

from rgwot.study.ending import MOST, failures, results


def log(path: Path, *lines: str) -> list[str]:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [str(path)]


def test_every_failure_stands_with_the_last_line_of_its_log_and_a_shared_reason_once(tmp_path: Path) -> None:
    shared = ("rgwot extract ...", "rgwot: no memory")
    lines = failures(
        [
            ("extract: a", log(tmp_path / "a", *shared)),
            ("train: b", log(tmp_path / "b", "12:00:00 INFO step 10", "rgwot: not finite", "")),
            ("extract: c", log(tmp_path / "c", *shared)),
        ]
    )
    assert lines == [
        "Failed: 3 jobs",
        "  extract: a",
        "  extract: c",
        "    rgwot: no memory",
        "  train: b",
        "    rgwot: not finite",
    ]


def test_a_job_without_a_log_is_not_left_out(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_text("")
    lines = failures([("train: a", [str(tmp_path / "none")]), ("train: b", [str(empty)])])
    assert lines[:3] == ["Failed: 2 jobs", "  train: a", "  train: b"]
    assert "killed" in lines[3]
    assert failures([]) == []


def test_long_lists_are_counted(tmp_path: Path) -> None:
    n = MOST + 3
    assert results(f"results/{i:03}" for i in range(n))[-1] == "  and 3 more below results/"
    assert failures((f"job {i}", []) for i in range(n))[-2] == "  and 3 more"


def test_the_first_line_of_a_log_is_the_command_that_wrote_it(tmp_path: Path) -> None:
    video = write_video(tmp_path / "a clip.mp4", 8)
    words = f"rgwot extract --source '{video}' --settings '{{\"features\": {{\"fps\": 0}}}}' '{tmp_path}/out.zarr'"
    path = tmp_path / "log"
    found = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.defpath}"}
    done = subprocess.run(f"{words} 2> {path}", shell=True, check=False, env=found)
    first, *rest = path.read_text().splitlines()
    assert done.returncode == 1
    assert rest[-1].startswith("rgwot: ")
    # Copied from the log, it does the same again.
    again = subprocess.run(first, shell=True, check=False, capture_output=True, text=True, env=found)
    assert again.stderr.splitlines() == rest
