"""What is known of the videos of a task besides: a table with a row per video, such as the group of each."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path, PurePosixPath

from rgwot.datasets.names import pairing_key, stem_of
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.runtime.files import read_csv

#: The column that groups are read from, unless another is asked for.
GROUP = "group"


def separator(path: Path) -> str:
    """Return what is between the columns in the first line of a table: commas, semicolons or tabs, as Excel writes."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return max(",;\t", key=file.readline().count)
    except OSError:
        # Reading the table says why.
        return ","


def read_groups(path: Path, videos: Collection[str], column: str = GROUP, task: str | None = None) -> dict[str, str]:
    """Return the group of videos, as a column of a table says.

    Parameters
    ----------
    path
        CSV, also with semicolons or tabs, with the columns ``video`` (the name of a video, with its suffix or without)
        and ``column``; where it has a column ``task`` and ``task`` is given, its other rows are left out.
    videos
        Ids of the videos of a result. Those without a row, or with an empty field, are in no group.

    Raises
    ------
    RgwotError
        For a missing column, a video with two groups, or fewer than two groups among the videos.
    """
    try:
        table = read_csv(path, ("video",), {}, separator=separator(path))
    except RgwotError as error:
        # No stage of ours has made it.
        raise RgwotError(str(error).removesuffix("; run the stage again")) from None
    if column not in table:
        raise RgwotError(f"{path}: no column {column!r}; {nearest(column, set(table.columns) - {'video', 'task'})}")
    if task is not None and "task" in table:
        table = table[table["task"] == task]
    known = {pairing_key(stem_of(video)): video for video in videos}
    found: dict[str, str] = {}
    unknown = []
    for row, name, group in zip(table.index, table["video"].str.strip(), table[column].str.strip(), strict=True):
        video = known.get(pairing_key(name)) or known.get(pairing_key(PurePosixPath(name).stem))
        if video is None:
            unknown.append(name)
        elif group and found.setdefault(video, group) != group:
            raise RgwotError(f"{path}: row {row + 2}: found {group!r} for video {name!r}, which is {found[video]!r}")
    if len(names := sorted(set(found.values()))) < 2:
        without = [stem_of(video) for video in videos if video not in found]
        examples = [f"video {without[0]!r} has none"] * bool(without)
        examples += [f"row {unknown[0]!r} is no video of the result"] * bool(unknown)
        raise RgwotError(
            f"{path}: found {'only ' + repr(names[0]) if names else 'nothing'} under {column} for "
            f"{len(found) or 'none'} of {len(known)} videos, expected two groups or more; {'; '.join(examples)}".rstrip(
                "; "
            )
        )
    return found
