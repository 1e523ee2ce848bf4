"""Every kind of bad video has the expected outcome with both values of on_bad_video, in bounded time and memory."""

from __future__ import annotations

import csv
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from bad_videos import KINDS, Kind, plain
from checkouts import run
from machine import resident_mib
from scripted import script_command
from videos import write_video
from with_defaults import load_backbone

from rgwot.datasets.manifest import write_manifest
from rgwot.features.backbone import Backbone
from rgwot.features.extract import extract
from rgwot.features.settings import FeatureSettings
from rgwot.features.store import open_store
from rgwot.video import VideoError, probe, probing

SETTINGS = FeatureSettings(fps=2, size=32, weights="random", timeout_s=10)
SECONDS, GIGABYTES = 600, 2


@pytest.fixture(scope="module")
def backbone() -> Backbone:
    return load_backbone("random")


def listed(root: Path, on_bad_video: str) -> dict[str, dict[str, str]]:
    """Write the manifest of the task tea and return its rows by video."""
    output = root.parent / "manifest.csv"
    write_manifest("own", "tea", root, "folder", {}, output, root.parent / "segments.csv", on_bad_video)  # type: ignore[arg-type]
    with output.open(newline="", encoding="utf-8") as file:
        return {row["video"]: row for row in csv.DictReader(file)}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_outcome(kind: Kind, tmp_path: Path, backbone: Backbone) -> None:
    (tmp_path / "root/tea").mkdir(parents=True)
    plain(tmp_path / "root/tea", "good.mp4")
    path = kind.make(tmp_path / "root/tea")
    began = time.monotonic()

    rows = listed(tmp_path / "root", "skip")
    # A bad video does not affect the others.
    assert rows["good"]["status"] == "unscored"
    actual = rows.get("bad")
    assert (actual is None) == (kind.manifest == "no video")
    if actual is not None:
        assert (actual["status"] == "skipped") == (kind.manifest == "skipped")
        if kind.manifest == "skipped":
            assert kind.said in actual["reason"]
            assert actual["reason"]
            refused(path, lambda: listed(tmp_path / "root", "fail"))
        output = tmp_path / "features/bad.zarr"
        extract(path, output, SETTINGS, on_bad_video="skip", device="cpu", backbone=backbone)
        store = open_store(output)
        assert store.status == kind.store
        assert kind.said in store.reason
        assert bool(store.reason) == (kind.store != "ok")
        assert (len(store) == 0) == (kind.store == "skipped")
        if kind.store == "ok":
            assert len(store) == pytest.approx(float(actual["duration_s"]) * 2, abs=1)
        else:
            refused(path, lambda: extract(path, output, SETTINGS, device="cpu", backbone=backbone))

    assert time.monotonic() - began < SECONDS
    # A child counts the memory of this process until it runs its own program.
    both = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    own, child = (resident_mib(resource.getrusage(who).ru_maxrss) for who in both)
    assert child <= max(GIGABYTES * 2**10, own)


def refused(path: Path, stage: Callable[[], object]) -> None:
    """Check that a stage ends in one line that begins with the file."""
    with pytest.raises(VideoError) as caught:
        stage()
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        ("os.abort()", "its decoder died (exit code -6)"),
        ("time.sleep(1000)", "could not be opened within 1 s"),
        pytest.param(
            "bytearray(probing.MEMORY)",
            "takes more than 8 GiB of memory",
            marks=pytest.mark.skipif(sys.platform == "darwin", reason="macOS limits no memory"),
        ),
        ("1 / 0", "its decoder died (exit code 1)"),
    ],
)
def test_opening_is_survived(
    behaviour: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backbone: Backbone
) -> None:
    code = f"""
import os, time
from rgwot.video import probing
real = probing.probe_here
probing.probe_here = lambda path, fps: {behaviour} if path.name == "bad.mp4" else real(path, fps)
probing.probe_command()
"""
    good = write_video(tmp_path / "good.mp4", 24, 24)
    bad = write_video(tmp_path / "bad.mp4", 24, 24)
    monkeypatch.setattr(probing, "_COMMAND", [sys.executable, "-P", "-c", code])
    monkeypatch.setattr(probing, "PROBE_TIMEOUT_S", 20.0)
    assert probe(good).fps == 24
    if "sleep" in behaviour:
        monkeypatch.setattr(probing, "PROBE_TIMEOUT_S", 1.0)
    refused(bad, lambda: probe(bad))
    output = tmp_path / "bad.zarr"
    extract(bad, output, SETTINGS, on_bad_video="skip", device="cpu", backbone=backbone)
    assert message in open_store(output).reason
    monkeypatch.setattr(probing, "PROBE_TIMEOUT_S", 20.0)
    assert probe(good).fps == 24


def test_a_file_that_must_not_be_read(tmp_path: Path) -> None:
    (tmp_path / "root/tea").mkdir(parents=True)
    path = plain(tmp_path / "root/tea")
    plain(tmp_path / "root/tea", "good.mp4")
    path.chmod(0)
    entry = {"layout": "folder", "root": "root", "options": {}, "on_bad_video": "fail"}
    output = {"manifest": "m.csv", "annotations": "a.csv"}
    command = script_command("manifest", tmp_path, output=output, params={"entry": entry})
    if os.geteuid() == 0:
        # Root can read every file, unless it drops this capability.
        command = ["setpriv", "--inh-caps=-all", "--bounding-set=-all", *command]
    try:
        said = run(command, tmp_path)
    except FileNotFoundError:
        pytest.skip("root without setpriv (util-linux) may read every file")
    if "setpriv:" in said.text:
        pytest.skip(f"root may read every file here ({said.text.strip()})")
    assert "bad.mp4: not a readable video (Permission denied)" in said.mistake
    assert not (tmp_path / "m.csv").exists()
