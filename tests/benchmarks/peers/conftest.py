from __future__ import annotations

import pytest


@pytest.fixture(scope="module", autouse=True)
def everywhere(peers: None) -> None:
    """Register the peers for every test in this folder."""
