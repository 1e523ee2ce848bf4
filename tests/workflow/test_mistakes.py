"""A user's mistake is reported in one line before any job runs; planning opens no video, so empty files suffice."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from checkouts import ALL_TASKS, REPOSITORY, SMALL, Checkout, Said, run

from rgwot.runtime.errors import RgwotError
from rgwot.study.study import Study

TABLE = "results/tables/egoprocel.csv"
MECCANO = "results/scores/{}/graphcut/meccano/meccano/seed0.csv"
# One mistake of every kind; `tests/study/test_refused_results.py` and tests of ids and settings have all others.
MISTAKES = {
    "misspelt key": (MECCANO.format("rgwot@alhpa=0.5"), "'alhpa'", "did you mean 'alpha'?"),
    "decoder of another method": ("results/scores/rgwot/one_label/meccano/meccano/seed0.csv", "does not fit method"),
    "spelt otherwise": (MECCANO.format("rgwot@alpha=0.50"), "'rgwot@alpha=0.50'", "'rgwot@alpha=0.5'"),
    "another name": ("results/models/rgwot@beta=0/meccano/meccano/seed0/model.pt", "'rgwot@beta=0'", "'vaot'"),
    "unknown method": ("results/embeddings/rgwott/meccano/meccano/seed0.zarr", "'rgwott'", "did you mean 'rgwot'?"),
    "unknown method of a bundle": ("results/bundles/rgwott/graphcut/meccano/meccano/seed0.rgwot", "'rgwott'"),
    "unknown decoder": ("results/keysteps/none/onelabel/meccano/meccano/seed0/order.csv", "did you mean 'one_label'?"),
    "unknown task": ("results/scores/rgwot/graphcut/cmu_mmac/Browny/seed0.csv", "did you mean 'Brownie'?"),
    "unknown dataset": ("results/manifest/mecano/meccano.csv", "dataset 'mecano'", "did you mean 'meccano'?"),
    "unknown video": ("results/features/meccano/meccano/003.zarr", "003", "did you mean '0003'?"),
    "unknown table": ("results/tables/egoprocell.csv", "did you mean 'egoprocel'?"),
    "unknown figure": ("results/figures/no_such_figure.pdf", "'no_such_figure'"),
    "unknown row": ("results/tables/egoprocel/rgwt.csv", "did you mean 'rgwot'?"),
}
CONFIGURATIONS = {
    "not a number": ("ot: {alpha: .nan}", "ot.alpha", "nan"),
    "of another kind": ("train: {iterations: many}", "train.iterations", "'many'"),
    "unknown setting of a dataset": ("datasets: {meccano: {settings: {ot: {x: 1}}}}", "datasets.meccano", "ot.x"),
}


def test_the_tree_itself_can_be_planned(planned: Checkout) -> None:
    jobs = planned.plan(TABLE).jobs
    # 16 tasks of 2 videos; 15 rows, of which 4 train an encoder.
    assert jobs["manifest"] == jobs["index"] == 16
    assert jobs["extract"] == 16
    assert jobs["train"] == jobs["embed"] == 4 * 16
    assert jobs["evaluate"] == 15 * 16


@pytest.fixture(scope="module")
def outputs(planned: Checkout) -> dict[str, Said]:
    return planned.plans({name: [case[0]] for name, case in MISTAKES.items()})


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake_in_a_target(outputs: dict[str, Said], name: str) -> None:
    mistake = outputs[name].mistake
    assert all(word in mistake for word in MISTAKES[name][1:]), mistake


@pytest.mark.parametrize(
    ("text", "words"), [(case[0], case[1:]) for case in CONFIGURATIONS.values()], ids=list(CONFIGURATIONS)
)
def test_mistake_in_the_configuration(
    planned: Checkout, configured: Callable[[str], str], text: str, words: tuple[str, ...]
) -> None:
    files = [planned.path / file for file in ("config.yaml", SMALL, ALL_TASKS)]
    with pytest.raises(RgwotError) as outputs:
        Study.read((*files, Path(configured(text))))
    assert all(word in str(outputs.value) for word in words), outputs.value


def test_a_mistake_ends_the_run_before_any_job(planned: Checkout, configured: Callable[[str], str]) -> None:
    target, *words = MISTAKES["misspelt key"]
    assert all(word in planned.snakemake(target).mistake for word in words)
    layout = configured("datasets: {meccano: {layout: egoprocell}}")
    assert "did you mean 'egoprocel'?" in planned.snakemake(TABLE, more=[layout]).mistake
    assert not (planned.path / "results").exists()


def test_dataset_that_is_not_on_disk(fresh: Checkout) -> None:
    outputs = fresh.snakemake(TABLE).mistake
    assert "no folder egoprocel" in outputs
    assert "expected" in outputs
    assert "config.yaml" in outputs
    # The message says where to get the data, and what to use instead.
    assert "docs/datasets.md" in outputs
    assert (REPOSITORY / "docs/datasets.md").is_file()
    assert "results/tables/egoprocel_fact.csv needs one download: rgwot fetch egoprocel_fact" in outputs
    assert not (fresh.path / "results").exists()


#: Runs Snakemake as if no plugin of an executor were installed.
WITHOUT_PLUGINS = """
import importlib.util, pkgutil, sys
modules, find_spec = pkgutil.iter_modules, importlib.util.find_spec
hidden = lambda name: name.startswith("snakemake_executor_plugin")
pkgutil.iter_modules = lambda *words, **more: (one for one in modules(*words, **more) if not hidden(one.name))
importlib.util.find_spec = lambda name, *words: None if hidden(name) else find_spec(name, *words)
from snakemake.cli import main
sys.argv[0] = "snakemake"
main()
"""


@pytest.mark.parametrize("profile", ["slurm", "slurm-gres"])
def test_a_profile_whose_plugin_is_not_installed_names_the_package(fresh: Checkout, profile: str) -> None:
    said = run([sys.executable, "-c", WITHOUT_PLUGINS, "--profile", f"profiles/{profile}", "demo"], fresh.path)
    assert "the package snakemake-executor-plugin-slurm is not installed; pip install 'rgwot[cluster]'" in said.mistake
    assert "usage:" not in said.text


def test_what_needs_annotations_of_a_task_nobody_annotated(planned: Checkout, configured: Callable[[str], str]) -> None:
    said = {
        "keysteps/rgwot/graphcut@K=gt/mine/tea/seed0/segments.csv":
            "K=gt depends on the number of annotated steps, but no video of the task is annotated; give K as a number",
        "scores/rgwot/graphcut/mine/tea/seed0.csv":
            "no video of the task is annotated, so nothing can be scored",
    }  # fmt: skip
    for name in ("one", "two"):
        video = planned.path / "videos" / "tea" / f"{name}.mp4"
        video.parent.mkdir(parents=True, exist_ok=True)
        video.touch()
    mine = configured("datasets: {mine: {layout: folder, root: videos}}")
    outputs = planned.plans({target: [f"results/{target}"] for target in said}, more=[mine])
    for target, words in said.items():
        assert f"mine/tea: {words}" in outputs[target].mistake


def test_a_locked_folder_is_reported(planned: Checkout) -> None:
    locks = planned.path / ".snakemake/locks"
    locks.mkdir(parents=True, exist_ok=True)
    lock = locks / "0.output.lock"
    lock.write_text(f"{MECCANO.format('none').replace('graphcut', 'uniform')}\n")
    try:
        outputs = planned.snakemake(MECCANO.format("none").replace("graphcut", "uniform"))
    finally:
        lock.unlink()
    assert outputs.returncode != 0
    assert "Directory cannot be locked" in outputs.text
    assert "--unlock" in outputs.text
