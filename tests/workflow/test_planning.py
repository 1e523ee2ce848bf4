"""The workflow as Snakemake sees it: lint, named targets, every table."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from checkouts import REPOSITORY, SMALL, Checkout, run

from rgwot.reporting.spec import load_tables

TABLES = load_tables(REPOSITORY / "workflow/tables.yaml")
ON_DISK = {"cmu_mmac", "egtea_gaze", "meccano", "epic_tents", "pc_assembly", "pc_disassembly", "demo"}


def test_lint() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--lint"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Congratulations" in done.stderr


def test_every_named_target_can_be_planned(planned: Checkout) -> None:
    listed = planned.snakemake(options=("--list-target-rules", "--quiet"))
    names = [line.strip() for line in listed.text.splitlines() if line.strip().isidentifier()]
    assert {"all", "demo"} <= set(names)
    for name in names:
        assert planned.plan(name).jobs[name] == 1


def test_default_target_is_the_demo(planned: Checkout) -> None:
    jobs = planned.plan().jobs
    assert jobs["synth"] == 1
    assert "results/tables/demo.csv" in planned.snakemake(options=("-n", "--quiet", "host")).text


@pytest.mark.parametrize("table", TABLES)
def test_every_table_can_be_planned_or_says_what_is_missing(planned: Checkout, table: str) -> None:
    target = f"results/tables/{table}.csv"
    missing = [dataset for dataset in TABLES[table].datasets if dataset not in ON_DISK]
    if missing:
        assert f"dataset '{missing[0]}': no folder" in planned.snakemake(target).mistake
        return
    jobs = planned.plan(target).jobs
    assert jobs["table"] == 1
    assert jobs["table_row"] == len(TABLES[table].rows)


def test_one_row_plans_no_other(planned: Checkout) -> None:
    jobs = planned.plan("results/tables/egoprocel/vaot.csv").jobs
    assert jobs["table_row"] == 1
    assert jobs["train"] == 16
    assert "decode_trivial" not in jobs


def test_another_working_directory(planned: Checkout, tmp_path: Path) -> None:
    (tmp_path / "egoprocel").symlink_to(planned.path / "egoprocel")
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(REPOSITORY / "Snakefile"), "-d", str(tmp_path)]
    target = ["--", "results/tables/egoprocel/vaot.csv"]
    small = str(REPOSITORY / SMALL)
    both = ["--configfile", str(REPOSITORY / "config.yaml"), small]
    assert run([*command, "-n", "--quiet", "rules", *both, *target], tmp_path, 120).jobs["train"] == 16
    # Snakemake takes settings on top of a config.yaml that is not there without a word.
    assert "no dataset is configured" in run([*command, "-n", "--configfile", small, *target], tmp_path, 120).mistake
