"""ProceL converted to EgoProceL's form: ``annotations/<task>/<video>.csv`` and ``videos/<task>/``."""

from __future__ import annotations

from rgwot.datasets.registry import TaskFacts
from synthetic_trees.base import three_column_files
from synthetic_trees.procel import tasks_with


def _paths(rank: int, facts: TaskFacts, name: str) -> tuple[str, str]:
    return f"videos/{facts.task}/{name}.mp4", f"annotations/{facts.task}/{name}.csv"


tasks = tasks_with(_paths)
files = three_column_files
