"""From the names of published features to their tasks, where no folder says it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from rgwot.datasets.base import Options
from rgwot.datasets.egoprocel import annotated_stem
from rgwot.datasets.pairing import by_task
from rgwot.datasets.registry import camera, datasets, tasks_of


def place(paths: Iterable[str], dataset: str, options: Options, where: str) -> tuple[dict[str, list[str]], str]:
    """Return the files by task, those of no task under the empty text, and where they were looked for.

    A name follows the pattern of a task of the registered dataset, or that of the entry, whose group ``task`` is the
    task; without either, all files are of one task called like the dataset. Of a take that several cameras filmed, the
    file of the wanted one counts. ``where`` then names the view, and the cameras there are.
    """
    rows = tasks_of(options.subset or dataset)
    own = {row.pattern: row.task for row in rows} or {options.pattern or ".+": dataset}
    # Others of the same release lie beside them; they are no leftovers.
    others = [row.pattern for row in rows[:1] for name in datasets(row.layout) for row in tasks_of(name)]
    view = camera(options.subset or dataset, options.view) if rows else options.view
    filmed: Counter[str] = Counter()

    def task_of(path: str) -> str | None:
        name = annotated_stem(path)
        for pattern, task in own.items():
            if found := re.fullmatch(pattern, name, re.IGNORECASE):
                groups = found.groupdict()
                number = groups.get("camera")
                filmed.update([number] if number else [])
                return groups.get("task", task) if view is None or number is None or number == view else None
        return None if any(re.fullmatch(pattern, name, re.IGNORECASE) for pattern in others) else ""

    placed = by_task(paths, lambda path: "/" if (task := task_of(path)) is None else task)
    placed.pop("/", None)
    cameras = ", ".join(f"{number}: {count}" for number, count in sorted(filmed.items()))
    return placed, f"{where} (view {view}; files of cameras: {cameras})" if view and filmed else where
