"""Answers from labels, computed in the server as soon as labels are saved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rgwot.study.study import Study


class Answers:
    """Placeholder."""

    def __init__(self, study: Callable[[], Study]) -> None:
        self._study = study

    def want(self, dataset: str, task: str) -> None:
        """Ask."""

    def state(self) -> dict[str, Any]:
        """Return."""
        return {}
