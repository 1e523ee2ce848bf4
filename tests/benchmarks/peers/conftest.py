from __future__ import annotations

import pytest


@pytest.fixture(scope="module", autouse=True)
def everywhere(peers: None) -> None:
    """Every test in this folder needs the extension."""
