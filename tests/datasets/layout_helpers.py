"""Helpers that make trees of empty files, and return the pairs of videos and annotations found in a tree."""

from __future__ import annotations

from pathlib import Path

from rgwot.datasets.base import DatasetFiles

GOOD = Path(__file__).parents[1] / "fixtures" / "annotations" / "good"


def touch(root: Path, *paths: str) -> Path:
    for path in paths:
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    return root


def pairs(found: DatasetFiles, task: str) -> dict[str, str | None]:
    return {entry.path: entry.annotation for entry in found.of(task)}
