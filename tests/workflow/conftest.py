"""Fixtures with the real workflow in copies of the checkout, which tests may edit, and in which results stay."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from checkouts import ALL_TASKS, Checkout, grow, touch_tree

#: The part of the paper's first table that tests make: a row of every kind on these tasks, and two more manifests.
EGOPROCEL_ROWS = ("one_label", "raw_kmeans", "rgwot")
EGOPROCEL_TASKS = {"cmu_mmac": ["Brownie", "Salad"], "meccano": ["meccano"]}
READ_ONLY = {"egtea_gaze": ["GreekSalad"], "epic_tents": ["tent"]}


@pytest.fixture(scope="session")
def egoprocel(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Return a checkout with an EgoProceL tree of synthetic clips (CMU-MMAC with five cameras) and its finished table.

    `benchmarks/speed.py` makes seven rows on all 16 tasks.
    """
    checkout = Checkout.copied_to(tmp_path_factory.mktemp("egoprocel") / "checkout")
    both = EGOPROCEL_TASKS | READ_ONLY
    tasks = [f"{name}/{task}" for name, theirs in both.items() for task in theirs]
    chosen = {"datasets": {name: {"tasks": theirs} for name, theirs in both.items()}}
    (checkout.path / ALL_TASKS).write_text(yaml.safe_dump(chosen), encoding="utf-8")
    checkout.keep_rows("egoprocel", EGOPROCEL_ROWS, EGOPROCEL_TASKS)
    grow(checkout.path / "egoprocel", "egoprocel", tasks=tasks, n_videos=2, cameras=5)
    read = [f"results/manifest/{name}/{task}.csv" for name, theirs in READ_ONLY.items() for task in theirs]
    output = checkout.snakemake("results/tables/egoprocel.csv", *read)
    assert output.returncode == 0, output.text[-4000:]
    return checkout


@pytest.fixture(scope="session")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Return a checkout with all published trees as empty files, which suffice because planning opens no video."""
    checkout = Checkout.copied_to(tmp_path_factory.mktemp("planned") / "checkout")
    touch_tree(checkout.path / "egoprocel", "egoprocel", videos=2)
    for layout in ("procel", "crosstask"):
        touch_tree(checkout.path / "data" / layout, layout, videos=2)
    return checkout


@pytest.fixture
def fresh(tmp_path: Path) -> Checkout:
    """Return a checkout without any data."""
    return Checkout.copied_to(tmp_path / "checkout")


@pytest.fixture
def configured(tmp_path: Path) -> Callable[[str], str]:
    """Return a function that writes a configuration to be merged into the small one, and returns its path."""

    def write(text: str) -> str:
        path = tmp_path / "more.yaml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write
