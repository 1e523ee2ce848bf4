"""Resources of jobs: declared by every rule, doubled by attempts, and submitted to a cluster."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from pathlib import Path

import pytest
from checkouts import REPOSITORY, SMALL, SNAKEMAKE, Checkout, run

ENVS = REPOSITORY / "envs"
TARGETS = {"all", "demo", "first", "paper"}
GPU_RULES = {"extract", "train", "embed"}


def test_every_rule_that_runs_a_command_says_what_it_needs_and_has_an_environment() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in (REPOSITORY / "workflow/rules").glob("*.smk"))
    rules = dict(re.findall(r"^rule (\w+):\n(.*?)(?=^\S|\Z)", text, re.DOTALL | re.MULTILINE))
    commands = {name: body for name, body in rules.items() if "script:" in body}
    assert set(rules) - set(commands) <= TARGETS
    for name, body in commands.items():
        assert re.search(r"\*\*doubled\(mem_mb=\d+, runtime=\d+[,)]", body), name
        assert ("gpu=GPUS" in body) == (name in GPU_RULES), name
    environments = {re.search(r"envs/(\w+\.yaml)", body)[1] for body in commands.values()}
    assert environments == {path.name for path in ENVS.glob("*.yaml")}


FAKE = """#!{python}
import json, os, sys
name = os.path.basename(sys.argv[0])
if name == "sinfo":
    print("debug*")
elif name == "sbatch":
    with open({record!r}, "a") as file:
        file.write(json.dumps(sys.argv[1:]) + "\\n")
    sys.exit("refused: only recorded")
else:
    sys.exit(1)
"""


def submissions(
    checkout: Checkout, folder: Path, profile: str, allowed: tuple[str, ...], targets: tuple[str, ...], *more: str
) -> list[list[str]]:
    """Return the arguments of every call of `sbatch` with which Snakemake would submit these targets to a cluster."""
    pytest.importorskip("snakemake_executor_plugin_slurm")
    record, fakes = folder / "submitted.jsonl", folder / "fakes"
    fakes.mkdir()
    for name in ("sbatch", "sinfo", "squeue", "sacct", "sacctmgr", "scontrol", "scancel"):
        (fakes / name).write_text(FAKE.format(python=sys.executable, record=str(record)), encoding="utf-8")
        (fakes / name).chmod(0o755)
    options = ["--profile", f"profiles/{profile}", "--retries", "0", "--slurm-no-account", "--allowed-rules", *allowed]
    options += more
    options += ["--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "1"]
    options += ["--latency-wait", "1", "--seconds-between-status-checks", "1"]
    path = os.pathsep.join([str(fakes), os.environ["PATH"]])
    command = [*SNAKEMAKE, *options, "--configfile", "config.yaml", SMALL, "--", *targets]
    said = run(command, checkout.path, environment={"PATH": path})
    assert record.exists(), said.text
    return [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]


def option(arguments: list[str], name: str) -> str | None:
    """Return the value of an option of `sbatch`, in either spelling."""
    for position, argument in enumerate(arguments):
        if argument == name:
            return arguments[position + 1]
        if argument.startswith(f"{name}="):
            return argument.partition("=")[2]
    return None


def trainings(checkout: Checkout, folder: Path, profile: str, *options: str) -> list[list[str]]:
    """Return the arguments of the submissions of three trainings."""
    index = checkout.path / "results/features/demo/assembly/index.csv"
    index.parent.mkdir(parents=True)
    index.write_text("video,status,reason,frames\na,ok,,9\nb,ok,,9\n", encoding="utf-8")
    targets = tuple(f"results/models/rgwot/demo/assembly/seed{seed}/model.pt" for seed in range(3))
    found = submissions(checkout, folder, profile, ("train",), targets, *options)
    return [arguments for arguments in found if "rule_train" in (option(arguments, "--comment") or "")]


def test_the_submission_carries_what_the_rule_asks_for_which_doubles_with_the_attempt(
    fresh: Checkout, tmp_path: Path
) -> None:
    found = trainings(fresh, tmp_path, "slurm", "--retries", "1")
    asked = Counter((option(arguments, "--mem"), option(arguments, "-t")) for arguments in found)
    # The limit of one GPU job at a time is for a single machine, and must not throttle a cluster.
    assert asked == {("10000", "720"): 3, ("20000", "1440"): 3}
    for arguments in found:
        assert option(arguments, "--gpus") == "1"
        assert option(arguments, "--gres") is None


def test_the_gres_profile_asks_by_gres_instead(fresh: Checkout, tmp_path: Path) -> None:
    found = trainings(fresh, tmp_path, "slurm-gres")
    assert [option(arguments, "--gres") for arguments in found] == ["gpu:1"] * 3
    assert {option(arguments, "--gpus") for arguments in found} == {None}


def test_many_videos_are_few_submissions_with_one_gpu_each(fresh: Checkout, tmp_path: Path) -> None:
    folder = fresh.path / "videos/task"
    folder.mkdir(parents=True)
    for n in range(45):
        (folder / f"v{n:02}.mp4").write_bytes(bytes(1_000_000 * (n == 0)))
    (fresh.path / SMALL).write_text("datasets: {mine: {layout: folder, root: videos}}\n", encoding="utf-8")
    parts = tuple(f"results/features/mine/task/index.{part}.csv" for part in range(2))
    found = submissions(fresh, tmp_path, "slurm", ("extract",), parts)
    assert len(found) == 2
    for arguments in found:
        assert option(arguments, "--gpus") == "1"
        assert option(arguments, "--mem") == "2500"
        assert option(arguments, "-t") == "120"
