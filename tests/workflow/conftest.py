"""The real workflow in a copy of the checkout, so that a test may edit it and its results go nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from checkouts import Checkout, synthesise, touch_egoprocel


@pytest.fixture(scope="session")
def egoprocel(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout beside the whole EgoProceL tree in synthetic clips, with its first table made."""
    checkout = Checkout.copied_to(tmp_path_factory.mktemp("egoprocel") / "checkout")
    synthesise(checkout.path / "egoprocel", layout="egoprocel", n_videos=2)
    made = checkout.snakemake("results/tables/egoprocel.csv", timeout_s=1500)
    assert made.returncode == 0, made.text[-4000:]
    return checkout


@pytest.fixture(scope="session")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout beside the EgoProceL tree as empty files: enough to plan with, because planning opens none."""
    checkout = Checkout.copied_to(tmp_path_factory.mktemp("planned") / "checkout")
    touch_egoprocel(checkout.path / "egoprocel", videos=2)
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
