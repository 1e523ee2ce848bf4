"""The workflow on a real Slurm of one node: tables as in a local run, a job that is killed, and requested resources.

Needs root, Debian's packages, and several minutes: `make cluster-test`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from checkouts import Checkout, Said, run

pytestmark = pytest.mark.long

SCRIPT = Path(__file__).with_name("slurm.sh")
QUICK = """
seeds: [0]
datasets:
  demo:
    synth: {n_videos: 3, min_s: 6, max_s: 8, width: 160, height: 120}
    settings:
      features: {fps: 5, size: 64}
      encoder: {channels: 8, hidden: 8}
      train: {iterations: 20, N: 8}
"""
TARGET = "results/tables/demo.csv"
# Options for a cluster without accounting, polled often, on a node with few cores.
HERE = (
    "--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "5",
    "--seconds-between-status-checks", "5", "--latency-wait", "5", "--slurm-no-account", "--set-threads", "extract=1",
)  # fmt: skip


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Start a Slurm for the tests of this file."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to run the daemons of Slurm")
    if not (shutil.which("slurmctld") or shutil.which("apt-get")):
        pytest.skip("needs Slurm, or apt-get to install it")
    pytest.importorskip("snakemake_executor_plugin_slurm", reason="needs the plugin: pip install 'rgwot[cluster]'")
    folder = str(tmp_path_factory.mktemp("slurm"))
    started = subprocess.run(["bash", str(SCRIPT), "start", folder], capture_output=True, text=True, check=False)
    if started.returncode != 0:
        pytest.skip(f"Slurm did not start: {started.stderr.strip()}")
    yield
    subprocess.run(["bash", str(SCRIPT), "stop", folder], check=True)


def quick_checkout(path: Path) -> Checkout:
    checkout = Checkout.copied_to(path)
    checkout.keep_rows("demo", ("one_label", "rgwot"))
    (path / "quick.yaml").write_text(QUICK, encoding="utf-8")
    return checkout


def command(*options: str) -> list[str]:
    return [sys.executable, "-m", "snakemake", *options, "--configfile", "config.yaml", "quick.yaml", "--", TARGET]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Return a checkout with the tables of a local run."""
    checkout = quick_checkout(tmp_path_factory.mktemp("local") / "checkout")
    made = run(command("--cores", "2"), checkout.path)
    assert made.returncode == 0, made.text[-4000:]
    return checkout


@pytest.fixture(scope="module")
def cluster(slurm: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Checkout, Said]:
    """Return a checkout with the tables of a run through Slurm, and Snakemake's output."""
    checkout = quick_checkout(tmp_path_factory.mktemp("cluster") / "checkout")
    made = run(command("--profile", "profiles/slurm", *HERE), checkout.path)
    assert made.returncode == 0, made.text[-4000:]
    return checkout, made


def tables(checkout: Checkout) -> dict[str, bytes]:
    """Return the bytes of the tables, without the hidden records of provenance, which name the folder and the run."""
    folder = checkout.path / "results/tables"
    found = [path for path in sorted(folder.rglob("[!.]*")) if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def submitted(text: str) -> list[int]:
    """Return Slurm's job numbers in the order of submission."""
    return [int(number) for number in re.findall(r"submitted with SLURM jobid (\d+)", text)]


def shown(job: int) -> dict[str, str]:
    """Return Slurm's record of a job."""
    text = subprocess.run(["scontrol", "show", "job", str(job)], capture_output=True, text=True, check=True).stdout
    return dict(pair.split("=", 1) for pair in text.split() if "=" in pair)


def of_rule(rule: str, jobs: list[int]) -> list[dict[str, str]]:
    return [facts for facts in map(shown, jobs) if f"rule_{rule}" in facts["Comment"]]


def check_training(facts: dict[str, str], attempt: int) -> None:
    """Check that Slurm was asked for the GPU, memory and time that the rule declares."""
    assert facts["NumNodes"] == "1"
    assert "gres:gpu:1" in facts["TresPerJob"], facts
    assert re.search(rf"\bmem={10000 * attempt}M", facts["TRES"]), facts["TRES"]
    assert facts["TimeLimit"] == ("12:00:00", "1-00:00:00")[attempt - 1]


def test_tables_are_those_of_the_local_run(local: Checkout, cluster: tuple[Checkout, Said]) -> None:
    checkout, said = cluster
    assert tables(checkout) == tables(local) != {}
    # Jobs: synthesis, features of three videos, manifest, index, training, what follows training, and a baseline.
    assert 5 <= len(submitted(said.text)) <= 8, said.text


def test_slurm_was_asked_for_what_the_rule_declares(cluster: tuple[Checkout, Said]) -> None:
    _, said = cluster
    (training,) = of_rule("train", submitted(said.text))
    check_training(training, 1)
    (manifest,) = of_rule("manifest", submitted(said.text))
    assert "gpu" not in manifest["TRES"]


def test_a_job_killed_once_is_submitted_again_and_the_run_ends_complete(
    local: Checkout, cluster: tuple[Checkout, Said]
) -> None:
    checkout, _ = cluster
    before = tables(checkout)
    for gone in ("models", "embeddings", "keysteps", "scores", "tables"):
        shutil.rmtree(checkout.path / "results" / gone)
    # The training is long enough to be killed while it runs; the checkpoint beside the model is written only once.
    with subprocess.Popen(
        command("--profile", "profiles/slurm", *HERE),
        cwd=checkout.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"},
    ) as process:  # fmt: skip
        try:
            killed = kill_when_running("train", process)
            text, _ = process.communicate(timeout=1800)
        except BaseException:
            process.terminate()
            raise
    assert process.returncode == 0, text[-4000:]
    assert "Trying to restart" in text
    assert tables(checkout) == before == tables(local)
    first, second = of_rule("train", submitted(text))
    assert first["JobId"] == str(killed)
    assert first["JobState"] != "COMPLETED"
    assert second["JobState"] == "COMPLETED"
    check_training(first, 1)
    check_training(second, 2)


def test_a_configuration_that_is_edited_while_jobs_wait_changes_nothing_in_this_run(
    local: Checkout, cluster: tuple[Checkout, Said]
) -> None:
    checkout, _ = cluster
    for gone in ("models", "embeddings", "keysteps", "scores", "tables"):
        shutil.rmtree(checkout.path / "results" / gone)
    with subprocess.Popen(
        command("--profile", "profiles/slurm", *HERE),
        cwd=checkout.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"},
    ) as process:  # fmt: skip
        assert process.stdout is not None
        text = ""
        while "submitted with SLURM jobid" not in text and (line := process.stdout.readline()):
            text += line
        (checkout.path / "quick.yaml").write_text(QUICK.replace("iterations: 20", "iterations: 30"), encoding="utf-8")
        text += process.communicate(timeout=1800)[0]
    (checkout.path / "quick.yaml").write_text(QUICK, encoding="utf-8")
    assert process.returncode == 0, text[-4000:]
    assert tables(checkout) == tables(local)
    history = next((checkout.path / "results/models").rglob("history.csv")).read_text(encoding="utf-8")
    assert history.splitlines()[-1].startswith("20,"), history


def kill_when_running(rule: str, snakemake: subprocess.Popen[str]) -> int:
    """Kill every process of a rule's job as soon as it runs, and return its number."""
    until = time.monotonic() + 600
    while time.monotonic() < until and snakemake.poll() is None:
        listed = subprocess.run(["squeue", "--noheader", "-o", "%i %T %k"], capture_output=True, text=True, check=True)
        for line in listed.stdout.splitlines():
            number, state, comment = line.split(" ", 2)
            if state == "RUNNING" and f"rule_{rule}" in comment:
                time.sleep(1)
                subprocess.run(["scancel", "--full", "--signal=KILL", number], check=True)
                return int(number)
        time.sleep(0.5)
    raise AssertionError(f"no job of {rule} was seen running")
