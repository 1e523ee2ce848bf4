"""Tables with the groups of videos, as the workflow plans with them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from rgwot.datasets.names import VIDEO_TABLE
from rgwot.datasets.video_table import columns_of, read_video_table
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.study.datasets import plain_path
from rgwot.study.study import Study


@cache
def video_table(study: Study, dataset: str, task: str) -> Path | None:
    """Return the table of the videos of a task: the one that the configuration names, or that of its folder, if any."""
    named = study.config.dataset(dataset).videos
    path = study.config.root_of(dataset) / task / VIDEO_TABLE if named is None else Path(named).expanduser()
    return path if named is not None or path.is_file() else None


@cache
def columns(study: Study, dataset: str, task: str) -> tuple[str, ...]:
    """Return the columns by which the videos of a task can be grouped; none where there is no table."""
    path = video_table(study, dataset, task)
    return () if path is None else columns_of(read_video_table(path))


def page_column(study: Study, dataset: str, task: str) -> str | None:
    """Return the column whose groups the page of a task compares; None where its table has no such column."""
    column = study.config.dataset(dataset).group
    return column if column in columns(study, dataset, task) else None


def groups_file(study: Study, dataset: str, task: str, column: str) -> str:
    """Return the table with the groups of a task; RgwotError where there is none, or it lacks the column."""
    path = video_table(study, dataset, task)
    if path is None:
        expected = study.config.root_of(dataset) / task / VIDEO_TABLE
        raise RgwotError(f"{dataset}/{task}: no groups; expected {expected} with the columns video and {column}")
    known = columns(study, dataset, task)
    if column not in known:
        raise RgwotError(f"{path}: no column {column!r}; {nearest(column, known)}")
    return plain_path(str(path))
