from __future__ import annotations

import contextlib
import csv
import hashlib
import subprocess
import time
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from pydantic import ValidationError
from scripted import script_command

from rgwot.synthetic.appearance import task_look
from rgwot.synthetic.settings import SynthSettings
from rgwot.synthetic.timelines import Timeline, TimelineSegment, plan, video_names
from rgwot.synthetic.videos import Scene, write_dataset, write_video

SMALL = SynthSettings(n_videos=2, min_s=2.0, max_s=3.0, K=4, seed=3)


def read(text: str) -> list[TimelineSegment]:
    return [
        TimelineSegment(float(start), float(end), int(label.split(" ")[0].rstrip(".")))
        for start, end, label in csv.reader(text.splitlines())
    ]


def digests(root: Path, pattern: str) -> dict[str, str]:
    return {str(p.relative_to(root)): hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(root.rglob(pattern))}


def test_the_same_seed_writes_the_same_bytes(tmp_path):
    for name, jobs in (("one", 1), ("two", 2)):
        paths = write_dataset(SMALL, tmp_path / name, jobs=jobs)
        assert [path.stem for path in paths] == video_names(SMALL)["assembly"] == ["assembly_01", "assembly_02"]
        assert all(path.is_file() for path in paths)
    for video in plan(SMALL):
        written = read((tmp_path / "one" / video.annotation).read_text())
        assert written == [(round(start, 3), round(end, 3), step) for start, end, step in video.timeline.segments]
    assert digests(tmp_path / "one", "*.csv") == digests(tmp_path / "two", "*.csv")
    assert digests(tmp_path / "one", "*.mp4") == digests(tmp_path / "two", "*.mp4")
    left = {p.suffix for p in tmp_path.rglob("*") if p.is_file()}
    assert left == {".csv", ".mp4"}
    other = [video.timeline for video in plan(SMALL.model_copy(update={"seed": 4}))]
    assert other != [video.timeline for video in plan(SMALL)]


def processes_of(session):
    """Return the number of processes in a session, without ended ones that nobody waited for."""
    found = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            values = path.read_text().rsplit(")", 1)[1].split()
            found += int(values[3]) == session and values[0] != "Z"
    return found


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="tells processes by /proc")
def test_a_killed_job_leaves_no_dataset_and_no_process(tmp_path):
    root = tmp_path / "demo"
    settings = {"n_videos": 4, "min_s": 10, "max_s": 15, "width": 160, "height": 120}
    (tmp_path / "job").mkdir()
    command = script_command("synth", tmp_path / "job", output=[root], params={"settings": settings}, threads=2)
    with subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL) as process:
        until = time.monotonic() + 1800
        while not list(tmp_path.rglob("*.mp4")) and time.monotonic() < until:
            time.sleep(0.02)
        process.kill()
    while processes_of(process.pid) and time.monotonic() < until:
        time.sleep(0.02)
    assert processes_of(process.pid) == 0
    assert not root.exists()
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    # Files that the killed job left are hidden, and a writer removes them a day later (`rgwot.runtime.files`).
    assert {path.name for path in tmp_path.glob("[!.]*")} == {"demo", "job"}
    assert len(list(root.rglob("*.mp4"))) == 4


def test_videos_have_thirty_frames_per_second_and_the_right_times(tmp_path):
    scene = Scene(task_look(3, 0), Timeline(2.5, (TimelineSegment(0.5, 1.5, 2),)), 0)
    write_video(tmp_path / "clip.mp4", scene)
    with av.open(str(tmp_path / "clip.mp4")) as container:
        stream = container.streams.video[0]
        assert stream.codec_context.name == "h264"
        assert stream.average_rate == Fraction(30)
        assert (stream.width, stream.height, stream.pix_fmt) == (320, 240, "yuv420p")
        frames = list(container.decode(stream))
    assert len(frames) == 75
    assert [frame.time for frame in frames] == pytest.approx([i / 30 for i in range(75)], abs=1e-6)
    assert sum(frame.key_frame for frame in frames) >= 3
    decoded = frames[30].to_ndarray(format="rgb24").astype(float)
    assert np.abs(decoded - scene.frame(30, 1.0)).mean() < 12.0


def test_a_task_is_the_same_whatever_is_beside_it():
    alone = plan(SMALL.model_copy(update={"tasks": ("b",)}))
    beside = plan(SMALL.model_copy(update={"tasks": ("a", "b")}))
    assert alone == beside[2:]
    assert beside[0].timeline != beside[2].timeline


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"min_s": 50.0, "max_s": 40.0}, "max_s: found 40, expected at least min_s = 50"),
        ({"tasks": ("a", "a")}, "expected every task once"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_settings_that_contradict_themselves(values, message):
    with pytest.raises(ValidationError, match=message):
        SynthSettings(**values)
