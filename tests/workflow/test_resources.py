"""What jobs ask for: on every rule, by size and attempt, and as a cluster is told in the end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from checkouts import REPOSITORY, SMALL, Checkout, run

from rgwot.study.needs import NEEDS, features_mb, megabytes, memory_mb, runtime, train_minutes

ENVS = REPOSITORY / "envs"
TARGETS = {"all", "demo", "first", "paper"}
GPU_RULES = {"extract", "train", "embed"}

RULES = """
import inspect, json
from pathlib import Path
from snakemake.api import SnakemakeApi
from snakemake.settings.types import ConfigSettings, OutputSettings, ResourceSettings

def needed_by(resource):
    # The rule whose needs a resource is worked out from; Snakemake wraps a function of megabytes in one of its own.
    asked = getattr(resource, "_evaluator", None)
    return asked and inspect.getclosurevars(inspect.unwrap(asked)).nonlocals.get("rule")

with SnakemakeApi(OutputSettings()) as api:
    opened = api.workflow(ResourceSettings(), ConfigSettings(config={"device": "cuda"}), snakefile=Path("Snakefile"))
    workflow = opened._get_workflow(check_envvars=False)
    workflow.include(opened.snakefile, overwrite_default_target=True)
print(json.dumps({
    rule.name: {
        "runs": rule.shellcmd is not None,
        "memory": needed_by(rule.resources.get("mem_mb")),
        "time": needed_by(rule.resources.get("runtime")),
        "gpu": rule.resources["gpu"].value if "gpu" in rule.resources else 0,
        "environment": rule.conda_env and Path(str(rule.conda_env)).name,
    }
    for rule in workflow.rules
}))
"""


def test_every_rule_that_runs_a_command_says_what_it_needs_and_has_an_environment() -> None:
    done = subprocess.run(
        [sys.executable, "-c", RULES], cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=3600
    )
    assert done.returncode == 0, done.stderr
    rules = json.loads(done.stdout.splitlines()[-1])
    commands = {name: rule for name, rule in rules.items() if rule["runs"]}
    assert set(rules) - set(commands) <= TARGETS
    assert set(commands) == set(NEEDS)
    for name, rule in commands.items():
        assert (rule["memory"], rule["time"]) == (name, name)
        assert rule["gpu"] == (name in GPU_RULES), name
    assert {rule["environment"] for rule in commands.values()} == {path.name for path in ENVS.glob("*.yaml")}


def test_memory_leaves_room_above_what_was_seen() -> None:
    for name, need in NEEDS.items():
        assert need.memory_mb >= 1.5 * need.seen_mb, name
        assert min(need.memory_mb, need.minutes) > 0, name


def test_needs_grow_with_size_and_double_with_the_attempt() -> None:
    # Worked by hand from the table: 1500 + 15 x 20 MB, 20 + 0.5 x 20 minutes.
    assert memory_mb("decode", 20, 1) == 1800
    assert memory_mb("decode", 20, 3) == 4 * 1800
    assert (runtime("decode", 20, 1), runtime("decode", 20, 2)) == ("30m", "60m")
    # Half the samples and a quarter of the channels: an eighth of 600 iterations at 4 s, 5 minutes.
    assert train_minutes(600, 16, 128, "gpu") == pytest.approx(5)
    assert train_minutes(600, 16, 128, "cpu") > train_minutes(600, 16, 128, "gpu")


def test_sizes_are_read_from_what_is_there(tmp_path: Path) -> None:
    video, index = tmp_path / "v.mp4", tmp_path / "index.csv"
    assert megabytes([video]) == features_mb(index, 121, 1024) == 0
    video.write_bytes(bytes(3_000_000))
    assert megabytes([video, tmp_path]) == 3
    index.write_text("video,status,reason,frames\na,ok,,1000\nb,ok,,200\n", encoding="utf-8")
    # The 1200 frames of 1024 x 11 x 11 float16.
    assert features_mb(index, 121, 1024) == pytest.approx(1200 * 1024 * 121 * 2 / 1e6)


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
    checkout: Checkout, folder: Path, profile: str, allowed: tuple[str, ...], targets: tuple[str, ...]
) -> list[list[str]]:
    """The arguments of every `sbatch` by which Snakemake would hand these targets to a cluster."""
    pytest.importorskip("snakemake_executor_plugin_slurm")
    record, fakes = folder / "submitted.jsonl", folder / "fakes"
    fakes.mkdir()
    for name in ("sbatch", "sinfo", "squeue", "sacct", "sacctmgr", "scontrol", "scancel"):
        (fakes / name).write_text(FAKE.format(python=sys.executable, record=str(record)), encoding="utf-8")
        (fakes / name).chmod(0o755)
    options = ["--profile", f"profiles/{profile}", "--retries", "0", "--slurm-no-account", "--allowed-rules", *allowed]
    options += ["--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "1"]
    options += ["--latency-wait", "1", "--seconds-between-status-checks", "1"]
    path = os.pathsep.join([str(fakes), os.environ["PATH"]])
    command = ["env", f"PATH={path}", sys.executable, "-m", "snakemake", *options]
    said = run([*command, "--configfile", "config.yaml", SMALL, "--", *targets], checkout.path)
    assert record.exists(), said.text
    return [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]


def option(arguments: list[str], name: str) -> str | None:
    """The value of an option of `sbatch`, in either spelling."""
    for position, argument in enumerate(arguments):
        if argument == name:
            return arguments[position + 1]
        if argument.startswith(f"{name}="):
            return argument.partition("=")[2]
    return None


def trainings(checkout: Checkout, folder: Path, profile: str) -> tuple[list[list[str]], float]:
    """What is submitted for three trainings, and the size of the features that they read."""
    index = checkout.path / "results/features/demo/assembly/index.csv"
    index.parent.mkdir(parents=True)
    index.write_text("video,status,reason,frames\na,ok,,900000\nb,ok,,300000\n", encoding="utf-8")
    targets = tuple(f"results/models/rgwot/demo/assembly/seed{seed}/model.pt" for seed in range(3))
    found = submissions(checkout, folder, profile, ("train",), targets)
    # The maps of the tests' demo are 4 x 4, of 112 channels.
    return [arguments for arguments in found if "rule_train" in (option(arguments, "--comment") or "")], features_mb(
        index, 16, 112
    )


def test_the_submission_carries_gpu_memory_and_time_of_the_rule(fresh: Checkout, tmp_path: Path) -> None:
    found, held = trainings(fresh, tmp_path, "slurm")
    # One GPU job at a time is a rule of one machine and must not throttle a cluster.
    assert len(found) == 3
    for arguments in found:
        assert option(arguments, "--mem") == str(memory_mb("train", held, 1))
        assert held > 4000
        # What the tests say of the demo wins over what they say of everything: 20 iterations, N = 6, 8 channels.
        assert f"{option(arguments, '-t')}m" == runtime("train", held, 1, train_minutes(20, 6, 8, "cpu"))
        assert option(arguments, "--gpus") == "1"
        assert option(arguments, "--gres") is None


def test_the_gres_profile_asks_by_gres_instead(fresh: Checkout, tmp_path: Path) -> None:
    found, _ = trainings(fresh, tmp_path, "slurm-gres")
    assert [option(arguments, "--gres") for arguments in found] == ["gpu:1"] * 3
    assert {option(arguments, "--gpus") for arguments in found} == {None}


@pytest.mark.parametrize("profile", ["slurm", "slurm-gres"])
def test_many_videos_are_few_submissions_with_one_gpu_each(fresh: Checkout, tmp_path: Path, profile: str) -> None:
    folder = fresh.path / "videos/task"
    folder.mkdir(parents=True)
    for n in range(45):
        (folder / f"v{n:02}.mp4").write_bytes(bytes(1_000_000 * (n == 0)))
    (fresh.path / SMALL).write_text("datasets: {mine: {layout: folder, root: videos}}\n", encoding="utf-8")
    targets = tuple(f"results/features/mine/task/v{n:02}.zarr" for n in range(45))
    found = submissions(fresh, tmp_path, profile, ("extract",), targets)
    assert len(found) == 3
    for arguments in found:
        assert option(arguments, "--gpus" if profile == "slurm" else "--gres") in ("1", "gpu:1")
        # One after the other: the memory of one, and time that adds up.
        assert option(arguments, "--mem") == str(memory_mb("extract", 0, 1))
    assert sum(int(option(arguments, "-t") or 0) for arguments in found) == pytest.approx(45 * 5, abs=1)
