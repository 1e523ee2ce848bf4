"""The real workflow in a copy of the checkout, so that a test may edit it and its results go nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from checkouts import ALL_TASKS, Checkout, grow, touch_tree

from rgwot.datasets.registry import datasets, tasks_of

#: The datasets of which the tests make two tasks; of the others all.
FEW = {"cmu_mmac": ["Brownie", "Salad"], "egtea_gaze": ["BaconAndEggs", "GreekSalad"]}
EGOPROCEL_ROWS = ("one_label", "uniform", "random", "raw_kmeans", "raw_graphcut", "vaot", "rgwot")


@pytest.fixture(scope="session")
def egoprocel(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout beside an EgoProceL tree in synthetic clips, CMU-MMAC by five cameras, with its table made.

    All 16 tasks are made by `benchmarks/speed.py`.
    """
    checkout = Checkout.copied_to(tmp_path_factory.mktemp("egoprocel") / "checkout")
    every = {name: [facts.task for facts in tasks_of(name)] for name in datasets("egoprocel")}
    tasks = [f"{name}/{task}" for name, theirs in every.items() for task in FEW.get(name, theirs)]
    chosen = {"datasets": {name: {"tasks": tasks} for name, tasks in FEW.items()}}
    (checkout.path / ALL_TASKS).write_text(yaml.safe_dump(chosen), encoding="utf-8")
    # Every kind of row there is; the whole table would take several times as long.
    checkout.keep_rows("egoprocel", EGOPROCEL_ROWS)
    grow(checkout.path / "egoprocel", "egoprocel", tasks=tasks, n_videos=2, cameras=5)
    made = checkout.snakemake("results/tables/egoprocel.csv")
    assert made.returncode == 0, made.text[-4000:]
    return checkout


@pytest.fixture(scope="session")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout beside all published trees as empty files: enough to plan with, because planning opens no video."""
    checkout = Checkout.copied_to(tmp_path_factory.mktemp("planned") / "checkout")
    touch_tree(checkout.path / "egoprocel", "egoprocel", videos=2)
    for layout in ("procel", "crosstask"):
        touch_tree(checkout.path / "data" / layout, layout, videos=2)
    return checkout


@pytest.fixture
def fresh(tmp_path: Path) -> Checkout:
    """A checkout without any data."""
    return Checkout.copied_to(tmp_path / "checkout")


@pytest.fixture
def configured(tmp_path: Path) -> Callable[[str], str]:
    """A function that writes a configuration to lay on top of the small one, and returns its path."""

    def write(text: str) -> str:
        path = tmp_path / "more.yaml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write
