"""Tables with the groups of videos, as the workflow plans with them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from rgwot.datasets.names import VIDEO_TABLE
from rgwot.datasets.video_table import GROUP, separator
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
    import pandas as pd

    path = video_table(study, dataset, task)
    if path is None:
        return ()
    try:
        found = pd.read_csv(path, sep=separator(path), dtype=str, nrows=0).columns
    except (OSError, ValueError) as error:
        raise RgwotError(f"{path}: cannot be read ({' '.join(str(error).split())}); expected video,{GROUP}") from None
    return tuple(column for column in found if column not in ("video", "task"))


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
