"""Dry runs of Snakemake for named targets and every table."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from checkouts import REPOSITORY, SMALL, Checkout, Said, run

from rgwot.reporting.targets import load_targets
from rgwot.study.jobs import reads_annotations

LOADED = load_targets()


ROWS_OF_ONE_TRAINING = [
    *(f"ablation_clustering/{row}" for row in ("kmeans", "subset", "graphcut")),
    *(f"sensitivity_{row}" for row in ("alpha/alpha=0.3", "radius/r=0.02", "rho/rho=0.35", "lambda/lambda=2")),
]
ANNOTATED = ("annotated", "annotated@procedure.learner=chain", "uniform@procedure.learner=intersection")
PLANS = {
    "nothing": [],
    "paper": ["paper"],
    "row": ["results/tables/ablation_components/no_virtual_frame.csv"],
    "tables": [f"results/tables/{name}.csv" for name in ("hyperparameters", "runtime", "egoprocel/random")],
    "annotated": [f"results/scores/none/{decoder}/meccano/meccano/seed0.csv" for decoder in ANNOTATED],
    "one training": [f"results/tables/{row}.csv" for row in ROWS_OF_ONE_TRAINING],
}


@pytest.fixture(scope="module")
def plans(planned: Checkout) -> dict[str, Said]:
    return planned.plans(PLANS)


def test_every_named_target_can_be_planned(planned: Checkout) -> None:
    listed = planned.snakemake(options=("--list-target-rules", "--quiet"))
    names = [line.strip() for line in listed.text.splitlines() if line.strip().isidentifier()]
    assert {"all", "demo"} <= set(names)
    jobs = planned.plan(*names).jobs
    assert {name: jobs[name] for name in names} == dict.fromkeys(names, 1)


def test_what_make_demo_prints_is_made_by_its_target(planned: Checkout) -> None:
    # If the page is finished, no other job needs the key steps, which may have been deleted.
    printed = re.search(r"^\t@rgwot show .*$", (REPOSITORY / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    said = planned.snakemake("demo", options=("--dry-run", "--cores", "2")).text
    asked = re.search(r"^rule demo:\n    input: (.*)$", said, re.MULTILINE)
    assert printed is not None
    assert asked is not None, said[-2000:]
    targets = asked[1].split(", ")
    for path in re.findall(r"results/\S+", printed[0]):
        assert any(target == path or target.startswith(f"{path}/") for target in targets), path


def test_an_empty_list_of_targets_trains_nothing(plans: dict[str, Said]) -> None:
    jobs = plans["nothing"].jobs
    assert (jobs["all"], jobs["synth"], jobs["train"]) == (1, 1, 0)
    assert (jobs["decode"], jobs["page"]) == (2, 0)


# The tables of the paper and of its supplement, and `protocols`, which the paper does not have.
OF_THE_PAPER = {
    "egoprocel", "third_person", "multimodal", "action_segmentation",
    "ablation_components", "ablation_clustering", "ablation_k", "ablation_training_videos",
    "sensitivity_alpha", "sensitivity_radius", "sensitivity_rho", "sensitivity_lambda", "sensitivity_beta",
    "subtasks_egtea", "subtasks_cmu_mmac", "subtasks_procel", "subtasks_crosstask",
    "hyperparameters", "runtime", "protocols",
}  # fmt: skip


def test_every_table_and_figure_of_the_paper_is_a_target(plans: dict[str, Said]) -> None:
    assert {name for name in LOADED.tables if LOADED.table(name).paper} == OF_THE_PAPER
    jobs = plans["paper"].jobs
    assert jobs["paper"] == 1
    assert jobs["table"] == len(OF_THE_PAPER)
    # A table is one job, whatever the number of its rows.
    assert jobs["table_row"] == 0
    assert jobs["figure"] == len(LOADED.figures)
    assert jobs["manifest"] == 46
    # Every experiment on a task is trained once, however many tables show it.
    assert jobs["train"] == jobs["embed"] < jobs["evaluate"]


def test_one_row_plans_no_other(plans: dict[str, Said]) -> None:
    # The row has one seed and two datasets, each with one task of two videos.
    assert plans["row"].jobs == {
        "manifest": 2, "extract": 2, "index": 2, "train": 2, "embed": 2, "decode": 2, "evaluate": 2, "table_row": 1,
    }  # fmt: skip


def test_tables_plan_what_they_need(plans: dict[str, Said]) -> None:
    # Settings need no files, training times no decoding, and random labels of 16 tasks only the manifests of the tasks.
    timed = {"extract": 1, "index": 1, "train": 3, "table": 2}
    assert plans["tables"].jobs == {**timed, "manifest": 16, "decode_trivial": 16, "evaluate": 16, "table_row": 1}


def test_annotations_and_learners_of_procedures_are_decodings(plans: dict[str, Said]) -> None:
    assert plans["annotated"].jobs == {"manifest": 1, "decode_trivial": 3, "evaluate": 3}
    assert reads_annotations("annotated@procedure.learner=chain")
    assert not reads_annotations("uniform")


def test_a_decoder_or_a_default_value_trains_nothing_again(plans: dict[str, Said]) -> None:
    jobs = plans["one training"].jobs
    # CMU-MMAC has five tasks, EGTEA-GAZE+ seven, the two others one; the sweeps are on another dataset of one task.
    assert (jobs["train"], jobs["decode"], jobs["table_row"]) == (14 + 1, 3 * 14 + 1, 3 + 4)


def test_a_table_is_checked_if_a_run_asks_for_it_and_all_are_with_the_target_paper(fresh: Checkout) -> None:
    fresh.edit_tables("paper", "rgwot@rho=0", "rgwot@roh=0")
    assert fresh.plan("results/tables/demo.csv").jobs["table"] == 1
    told = fresh.snakemake("paper", options=("-n", "--cores", "2")).mistake
    assert "table 'ablation_components': row 'no_temporal_prior': experiment 'rgwot@roh=0': unknown key 'roh'" in told


SWEEP = '''from rgwot.reporting.tables.table import Row, Table
from .datasets import DEMO

def tau_of_the_demo():
    """Temperature."""
    return Table(datasets=[DEMO], rows=[Row(f"tau={tau}", f"τ = {tau}", f"rgwot@tau={tau}") for tau in (0.1, 0.2)])

TABLES = {"tau_of_the_demo": tau_of_the_demo}
'''


def test_a_study_adds_a_sweep_by_a_function(fresh: Checkout) -> None:
    fresh.write_tables(SWEEP)
    # The default value is the default model.
    row = ["results/tables/tau_of_the_demo/tau=0.1.csv", "results/scores/rgwot/graphcut/demo/assembly/seed0.csv"]
    plans = fresh.plans({"table": ["results/tables/tau_of_the_demo.csv"], "row": row})
    assert plans["table"].jobs["train"] == 2
    assert (plans["row"].jobs["table_row"], plans["row"].jobs["train"]) == (1, 1)


def test_another_working_directory(planned: Checkout, tmp_path: Path) -> None:
    (tmp_path / "egoprocel").symlink_to(planned.path / "egoprocel")
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(REPOSITORY / "Snakefile"), "-d", str(tmp_path)]
    target = ["--", "results/tables/egoprocel/vaot.csv"]
    small = str(REPOSITORY / SMALL)
    both = ["--configfile", str(REPOSITORY / "config.yaml"), small]
    assert run([*command, "-n", "--quiet", "rules", *both, *target], tmp_path).jobs["train"] == 8
    # Snakemake accepts settings on top of a missing config.yaml without a warning.
    (tmp_path / "seeds.yaml").write_text("seeds: [0]\n", encoding="utf-8")
    alone = ["--configfile", str(tmp_path / "seeds.yaml")]
    assert "no dataset is configured" in run([*command, "-n", *alone, *target], tmp_path).mistake
