"""Checkouts for these tests, made by the helper of tests/workflow."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow"))

from checkouts import Checkout  # noqa: E402 - found by the line above


@pytest.fixture
def fresh(tmp_path: Path) -> Checkout:
    """A checkout without any data."""
    return Checkout.copied_to(tmp_path / "checkout")
