"""Lists that come with a release: CrossTask's tasks and videos, and the step names of a ProceL conversion."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from rgwot.datasets.annotations import Notes
from rgwot.datasets.text import excerpt, read_text, rows
from rgwot.runtime.errors import RgwotError

TASK_LINES = "id, name, URL, number of steps, comma-separated step names, then a blank line"


@dataclass(frozen=True)
class ReleasedTask:
    """A task of CrossTask: id, name and its steps in order (step 1 is ``steps[0]``)."""

    task: str
    name: str
    steps: tuple[str, ...]


@dataclass(frozen=True)
class VideoList:
    """The ``(task, video)`` pairs of ``videos.csv``, each once, and what was odd about the file."""

    pairs: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]


def read_tasks(path: Path) -> dict[str, ReleasedTask]:
    """Read ``tasks_primary.txt`` or ``tasks_related.txt``: blocks of five lines, a blank line between them.

    Raises
    ------
    RgwotError
        If a block has not five lines, its number of steps is wrong, or a task occurs twice.
    """
    blocks: list[list[tuple[int, str]]] = [[]]
    for number, line in enumerate(read_text(path).lines, start=1):
        if line.strip():
            blocks[-1].append((number, line.strip()))
        elif blocks[-1]:
            blocks.append([])
    tasks: dict[str, ReleasedTask] = {}
    for block in filter(None, blocks):
        first = block[0][0]
        if len(block) != 5:
            raise RgwotError(
                f"{path}: line {first}: {len(block)} lines together from {excerpt(block[0][1])}; "
                f"expected {TASK_LINES}; restore the blank line or what is missing"
            )
        (_, task), (_, name), _, (counted, count), (_, listed) = block
        steps = tuple(step.strip() for step in listed.split(","))
        if count != str(len(steps)):
            raise RgwotError(
                f"{path}: line {counted}: {excerpt(count)} steps declared and {len(steps)} listed for task "
                f"{task}; expected equal numbers; use the file of the release"
            )
        if task in tasks:
            raise RgwotError(f"{path}: line {first}: task {task!r} occurs twice; expected every task once; delete one")
        tasks[task] = ReleasedTask(task, name, steps)
    return tasks


def read_videos(path: Path) -> VideoList:
    """Read ``videos.csv`` or ``videos_val.csv``: ``task,video,url``, no header.

    Raises
    ------
    RgwotError
        If a row has fewer than three fields or no task or video.
    """
    notes, pairs = Notes(path), dict[tuple[str, str], None]()
    for row in rows(read_text(path), "task,video,url without a header"):
        pair = (row.fields[0], row.fields[1])
        if not all(pair):
            raise RgwotError(f"{path}: line {row.line}: {excerpt(row.text)}; expected task,video,url; fill the row in")
        if pair in pairs:
            notes.add("duplicate", f"line {row.line}", "repeats an earlier row; dropped")
        pairs[pair] = None
    return VideoList(tuple(pairs), notes.lines())


def read_mapping(path: Path) -> dict[int, str]:
    """Read ``mapping.txt``: ``<int> <name_with_underscores>`` per line.

    Raises
    ------
    RgwotError
        If a line has another form or a number occurs twice.
    """
    names: dict[int, str] = {}
    for number, line in enumerate(read_text(path).lines, start=1):
        if not line.strip():
            continue
        match = re.fullmatch(r"([1-9][0-9]{0,8})\s+(\S.*)", line.strip())
        if match is None or int(match[1]) in names:
            raise RgwotError(
                f"{path}: line {number}: {excerpt(line)}; expected a new whole number from 1, a blank and a "
                "name, like '3 pour_water'"
            )
        names[int(match[1])] = match[2].replace("_", " ").strip()
    return names
