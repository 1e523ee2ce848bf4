"""Facts about the tasks of the published datasets, read from ``registry.csv``."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from rgwot.datasets.names import folded
from rgwot.runtime.errors import RgwotError, nearest


@dataclass(frozen=True)
class TaskFacts:
    """Facts about a task that need no files: a row of ``registry.csv``."""

    dataset: str
    task: str
    name: str  #: id of the task in the dataset
    paper_label: str  #: name of the task in the tables of the papers
    K: int  #: number of key steps as reported; the number that occurs in the annotations can be smaller
    step_ids: tuple[int, ...]  #: ids that annotations may use, ascending; can have gaps (CMU-MMAC Eggs: 1 to 7 and 9)
    layout: str
    folder: str  #: folder of the annotations, if the layout has one per dataset
    code: str  #: second name of the task, in file or folder names (CMU-MMAC number, EGTEA session code, ProceL prefix)
    #: Regular expression that the stem of a video matches as a whole, with a group ``camera`` where several cameras
    #: filmed a take, and a group ``subject`` if the name says who is seen.
    pattern: str
    views: Mapping[str, str]  #: camera numbers by name, the default one first
    n_videos: int | None  #: number of annotated videos as published, None where unknown
    source: str  #: source of the numbers


def numbers(text: str) -> tuple[int, ...]:
    """Read ``1-7 9`` as 1 to 7 and 9."""
    values: list[int] = []
    for part in text.split():
        first, _, last = part.partition("-")
        values.extend(range(int(first), int(last or first) + 1))
    return tuple(values)


@cache
def _table() -> tuple[TaskFacts, ...]:
    table = files("rgwot.datasets").joinpath("registry.csv").read_text(encoding="utf-8")
    return tuple(
        TaskFacts(
            K=int(row.pop("K")),
            step_ids=numbers(row.pop("step_ids")),
            views=dict(pair.split("=", 1) for pair in row.pop("views").split()),
            n_videos=int(number) if (number := row.pop("n_videos")) else None,
            **row,
        )
        for row in csv.DictReader(table.splitlines())
    )


def datasets(layout: str | None = None) -> tuple[str, ...]:
    """Return the ids of the registered datasets in the paper's order, of all layouts or of one."""
    return tuple(dict.fromkeys(row.dataset for row in _table() if layout in (None, row.layout)))


def match_name(word: str, choices: Iterable[str], what: str) -> str:
    """Return the choice that equals ``word`` without case and punctuation.

    Raises RgwotError unless exactly one choice matches. The message begins with ``what``, the kind of thing that the
    word names, suggests the nearest choice, and lists all choices.
    """
    names = list(choices)
    if word in names:
        return word
    matches = [name for name in names if folded(name) == folded(word)]
    if len(matches) == 1:
        return matches[0]
    hint = nearest(word, names)
    listed = "" if hint.startswith("known:") else f" (known: {', '.join(names)})"
    raise RgwotError(f"{what} {word!r}: unknown; {hint}{listed}")


@cache
def tasks_of(dataset: str) -> tuple[TaskFacts, ...]:
    """Return the tasks of a published dataset, matched without case and punctuation; () for a user's own."""
    return tuple(row for row in _table() if folded(row.dataset) == folded(dataset))


def facts(dataset: str, task: str) -> TaskFacts | None:
    """Return the facts about a task, None for a user's; raise RgwotError if a registered dataset lacks the task."""
    rows = {row.task: row for row in tasks_of(dataset)}
    return rows[match_name(task, rows, f"task of {dataset}")] if rows else None


def camera(dataset: str, view: str | None) -> str | None:
    """Return the number of a view's camera; a view is a name of the registry, a number, or None for the default.

    Returns None if takes have only one camera.

    Raises RgwotError if there is no such view, or a view is given although takes have only one camera.
    """
    views = next((row.views for row in tasks_of(dataset)), {})
    if not views:
        if view is not None:
            raise RgwotError(
                f"dataset {dataset!r}: found view {view!r}, expected none, because every take has only one camera; "
                "remove `view`"
            )
        return None
    if view is None:
        return next(iter(views.values()))
    return view if view.isdecimal() else views[match_name(view, views, f"view of {dataset}")]
