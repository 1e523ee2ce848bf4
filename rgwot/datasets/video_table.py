"""The table of a task's videos: a row per video with further facts, such as its group."""

from __future__ import annotations

import logging
from collections.abc import Collection
from io import StringIO
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from rgwot.datasets.names import GROUP, SUBJECT, stem_of
from rgwot.datasets.text import read_text
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.runtime.text import pairing_key, plain_name

if TYPE_CHECKING:
    import pandas as pd

_LOG = logging.getLogger(__name__)


def read_video_table(path: Path) -> pd.DataFrame:
    """Read a table with a row per video as text; the delimiter is a comma, semicolon or tab, as in Excel.

    Spaces around the names of columns are ignored, and so is the case of ``video``, ``task``, ``group`` and
    ``subject``.

    Raises RgwotError when it cannot be read, has no column ``video``, or has two columns of the same name.
    """
    import pandas as pd

    text = read_text(path)
    between = max(",;\t", key=text.partition("\n")[0].count)
    try:
        # A video may be called 'NA' or '0003', so every cell is read as text.
        table = pd.read_csv(StringIO(text), sep=between, dtype=str, keep_default_na=False)
    except ValueError as error:
        raise RgwotError(
            f"{path}: cannot be read ({' '.join(str(error).split())}); expected a table with a column video"
        ) from None
    table.columns = [_column(str(name)) for name in table.columns]
    if "video" not in table:
        raise RgwotError(f"{path}: no column video; expected it and others, such as {GROUP}")
    if (twice := table.columns[table.columns.duplicated()]).size:
        raise RgwotError(f"{path}: two columns {twice[0]!r}; expected every column once")
    return table


def _column(name: str) -> str:
    name = plain_name(name)
    return name.casefold() if name.casefold() in ("video", "task", GROUP, SUBJECT) else name


def columns_of(table: pd.DataFrame) -> tuple[str, ...]:
    """Return the columns by which the videos of a table can be grouped."""
    return tuple(column for column in map(str, table) if column not in ("video", "task", SUBJECT))


def groups_in(
    table: pd.DataFrame, path: Path, videos: Collection[str], column: str = GROUP, task: str | None = None
) -> tuple[dict[str, str], list[str]]:
    """Return the group of each video, from a column of a table, and the names in the table that are not videos.

    Arguments and errors are as in `read_groups`, but fewer than two groups are not an error here.
    """
    if column not in table:
        raise RgwotError(f"{path}: no column {column!r}; {nearest(column, columns_of(table))}")
    if task is not None and "task" in table:
        table = table[table["task"].map(pairing_key).isin([task, pairing_key(stem_of(task))])]
    ids = {pairing_key(stem_of(video)): video for video in videos}
    of_video, unknown = dict[str, str](), list[str]()
    for row, name, group in zip(table.index, table["video"].str.strip(), table[column].map(plain_name), strict=True):
        video = ids.get(pairing_key(name)) or ids.get(pairing_key(PurePosixPath(name).stem))
        if video is None:
            unknown.append(name)
        elif group and (other := of_video.setdefault(video, group)) != group:
            raise RgwotError(
                f"{path}: row {row + 2}: found {column} {group!r} for video {name!r}, which an earlier row puts into "
                f"{other!r}; expected one {column} per video"
            )
    return of_video, unknown


def subjects_in(table: pd.DataFrame, path: Path, videos: Collection[str], task: str | None = None) -> dict[str, str]:
    """Return the person in each video, from the column ``subject`` of a table; empty if there is no such column.

    Raises RgwotError for a video with two subjects; arguments are as in `read_groups`.
    """
    return groups_in(table, path, videos, SUBJECT, task)[0] if SUBJECT in table else {}


def read_groups(path: Path, videos: Collection[str], column: str = GROUP, task: str | None = None) -> dict[str, str]:
    """Return the group of each video, from a column of a table.

    Parameters
    ----------
    path
        CSV, also with semicolons or tabs, with the columns ``video`` (the name of a video, with its suffix or without)
        and ``column``; if it has a column ``task`` and ``task`` is given, rows of other tasks are left out.
    videos
        Ids of the videos of a result. A video without a row, or with an empty field, is in no group.

    Raises
    ------
    RgwotError
        If a column is missing, a video has two groups, or there are fewer than two groups among the videos.
    """
    of_video, unknown = groups_in(read_video_table(path), path, videos, column, task)
    if len(names := sorted(set(of_video.values()))) < 2:
        without = [stem_of(video) for video in videos if video not in of_video]
        examples = [f"; video {without[0]!r} has none"] * bool(without)
        examples += [f"; row {unknown[0]!r} is not a video of the result"] * bool(unknown)
        raise RgwotError(
            f"{path}: column {column!r}: found {'only ' + repr(names[0]) if names else 'no group'} for "
            f"{len(of_video) or 'any'} of {len(videos)} videos, expected two groups or more{''.join(examples)}"
        )
    if unknown and len(of_video) < len(videos):
        _LOG.warning("%s: %d rows name no video of the result, such as %r", path, len(unknown), unknown[0])
    return of_video
