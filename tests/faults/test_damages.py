"""Changes of a study between its first and its last job lead to an error of one line, or to the right answer."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from bad_videos import zeros_inside
from checkouts import SNAKEMAKE, Checkout, Said, run
from videos import picture, write_video

pytestmark = pytest.mark.long

CONFIG = """
datasets: {own: {layout: folder, root: videos}}
page: {datasets: [own]}
features: {fps: 5, size: 32, weights: random}
device: cpu
on_bad_video: fail
seeds: [0]
decode: {K: 4}
"""
KEYSTEPS = "results/keysteps/raw/kmeans/own/tea/seed0"
SCORES = "results/scores/raw/kmeans/own/tea/seed0.csv"
STORE = "results/features/own/tea/{}.zarr"
#: Configurations that may be saved during a run: other settings of several jobs, half a file, an empty file.
EDITS = (
    CONFIG.replace("K: 4", "K: 3"),
    CONFIG.replace("size: 32", "size: 64").replace("fps: 5", "fps: 2"),
    "decode: {K: 3\n  x",
    "",
    CONFIG.replace("root: videos", "root: elsewhere"),
)
SUBMIT = """#!/bin/sh
n=$(cat submitted 2>/dev/null || echo 0); echo $((n + 1)) > submitted
( cp edit$((n % {edits})).yaml config.yaml; sh "$1" ) > job$n.log 2>&1 &
echo $!
"""
OF_CLUSTER = (
    "--executor", "cluster-generic", "--cluster-generic-submit-cmd", "sh submit.sh", "--jobs", "1",
    "--seconds-between-status-checks", "1",
)  # fmt: skip


def study(path: Path) -> Checkout:
    """Write a study of two annotated clips."""
    checkout = Checkout.copied_to(path)
    (path / "videos/tea").mkdir(parents=True)
    for name, first in (("a", 0), ("b", 60)):
        write_video(path / f"videos/tea/{name}.mp4", 50, 10, drawn=lambda i, first=first: picture(first + i, 96, 64))
        (path / f"videos/tea/{name}.csv").write_text('0.5,2.5,"1 pour"\n2.5,4.5,"2 stir"\n', encoding="utf-8")
    (path / "config.yaml").write_text(CONFIG, encoding="utf-8")
    return checkout


def snakemake(checkout: Checkout, *targets: str, options: tuple[str, ...] = ("--cores", "1")) -> Said:
    return run([*SNAKEMAKE, *options, "--", *targets], checkout.path)


def results(checkout: Checkout) -> dict[str, bytes]:
    """Return the key steps and their scores, byte by byte."""
    files = [path for path in (checkout.path / KEYSTEPS).iterdir() if not path.name.startswith(".")]
    found = {path.name: path.read_bytes() for path in [*files, checkout.path / SCORES]}
    # The file contains the time of the decoding, which varies.
    diagnostics = json.loads(found.pop("diagnostics.json"))
    return found | {"K": str(diagnostics["K"]).encode()}


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return the results of an undisturbed run."""
    checkout = study(tmp_path_factory.mktemp("quiet") / "study")
    output = snakemake(checkout, SCORES)
    assert output.returncode == 0, output.text
    return results(checkout)


def settled(checkout: Checkout) -> bool:
    """Return whether key steps are out of date with another K, and nothing with the original configuration."""
    (checkout.path / "config.yaml").write_text(CONFIG, encoding="utf-8")
    there = not snakemake(checkout, SCORES, options=("-n", "--cores", "1", "--quiet", "rules")).jobs
    (checkout.path / "config.yaml").write_text(EDITS[0], encoding="utf-8")
    return there and "decode" in snakemake(checkout, SCORES, options=("-n", "--cores", "1", "--quiet", "rules")).jobs


def test_the_configuration_is_edited_before_every_job_on_a_cluster(tmp_path: Path, quiet: dict[str, bytes]) -> None:
    pytest.importorskip("snakemake_executor_plugin_cluster_generic", reason="needs the plugin")
    checkout = study(tmp_path / "study")
    for number, text in enumerate(EDITS):
        (checkout.path / f"edit{number}.yaml").write_text(text, encoding="utf-8")
    (checkout.path / "submit.sh").write_text(SUBMIT.replace("{edits}", str(len(EDITS))), encoding="utf-8")
    output = snakemake(checkout, SCORES, options=OF_CLUSTER)
    logs = "".join(path.read_text(errors="replace") for path in checkout.path.glob("job*.log"))
    assert output.returncode == 0, output.text + logs
    assert int((checkout.path / "submitted").read_text()) >= len(EDITS)
    assert results(checkout) == quiet
    assert settled(checkout)


def test_the_configuration_is_edited_all_the_time_on_this_machine(tmp_path: Path, quiet: dict[str, bytes]) -> None:
    checkout = study(tmp_path / "study")
    config, ended, edits = checkout.path / "config.yaml", threading.Event(), 0
    process = subprocess.Popen(
        [sys.executable, "-m", "snakemake", "--cores", "2", "--", SCORES],
        cwd=checkout.path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    # Edit only after the first job has begun: an edit before it would change the configuration of the run.
    while process.poll() is None and not (checkout.path / "results").exists():
        time.sleep(0.05)
    while process.poll() is None and not ended.wait(0.02):
        config.write_text(EDITS[edits % len(EDITS)], encoding="utf-8")
        edits += 1
    assert process.wait() == 0
    assert edits > len(EDITS)
    assert results(checkout) == quiet
    assert settled(checkout)


READERS = {
    "show": ("show", KEYSTEPS),
    "export": ("export", "elan", KEYSTEPS, "out"),
    "compare": ("compare", KEYSTEPS, "results/keysteps/none/uniform/own/tea/seed0"),
    "suggest": ("suggest", KEYSTEPS),
    "run, scores": ("run", "--cores", "1", "--", SCORES),
    "run, page": ("run", "--cores", "1", "--", "results/report/own/tea.html"),
    "run, bundle": ("run", "--cores", "1", "--", "results/bundles/raw/kmeans/own/tea/seed0.rgwot"),
}


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Return a study with results in which somebody moved the end of a segment by hand."""
    checkout = study(tmp_path_factory.mktemp("edited") / "study")
    (checkout.path / "config.yaml").write_text(
        CONFIG.replace("[own]", "[own], methods: [raw/kmeans]"), encoding="utf-8"
    )
    output = snakemake(checkout, SCORES, "results/keysteps/none/uniform/own/tea/seed0/segments.csv")
    assert output.returncode == 0, output.text
    segments = checkout.path / KEYSTEPS / "segments.csv"
    lines = segments.read_text(encoding="utf-8").splitlines(keepends=True)
    columns = lines[0].rstrip("\n").split(",")
    cells = lines[1].split(",")
    cells[columns.index("end_s")] = "0.25"
    segments.write_text("".join([lines[0], ",".join(cells), *lines[2:]]), encoding="utf-8")
    return checkout


@pytest.mark.parametrize("reader", list(READERS))
def test_key_steps_that_were_edited_by_hand(edited: Checkout, reader: str) -> None:
    said = run([sys.executable, "-m", "rgwot", *READERS[reader]], edited.path)
    assert said.returncode != 0, said.text
    assert "Traceback" not in said.text, said.text
    # Every job that reads the file fails with the same message.
    (line,) = {line for line in said.text.splitlines() if line.startswith("rgwot: ")}
    assert f"{KEYSTEPS}/segments.csv: changed since it was written" in line
    assert line.endswith(f"make it again: rgwot run --force {KEYSTEPS}/segments.csv")


@pytest.mark.parametrize(("suffix", "codec"), [(".mp4", "libx264"), (".mkv", "libx264"), (".avi", "mpeg4")])
def test_a_hole_inside_a_video(tmp_path: Path, suffix: str, codec: str) -> None:
    checkout = study(tmp_path / "study")
    folder = checkout.path / "videos/tea"
    zeros_inside(folder, suffix, codec)
    output = snakemake(checkout, STORE.format("bad"))
    assert "bad" in output.mistake
    assert not (checkout.path / STORE.format("bad")).exists()
    (checkout.path / "config.yaml").write_text(CONFIG.replace("fail", "skip"), encoding="utf-8")
    output = snakemake(checkout, f"{KEYSTEPS}/segments.csv")
    assert output.returncode == 0, output.text
    import pandas as pd

    index = pd.read_csv(checkout.path / "results/features/own/tea/index.csv", dtype=str).set_index("video")
    assert index["status"].to_dict() == {"a": "ok", "b": "ok", "bad": "partial"}
    segments = pd.read_csv(checkout.path / KEYSTEPS / "segments.csv")
    # A fifth of the 6 seconds is missing, in the middle.
    assert segments[segments["video"] == "bad"]["end_s"].max() < 3.5
