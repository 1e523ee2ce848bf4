"""The workflow as Snakemake sees it: lint, named targets, every table."""

from __future__ import annotations

import subprocess
import sys

import pytest
from checkouts import REPOSITORY, Checkout

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
