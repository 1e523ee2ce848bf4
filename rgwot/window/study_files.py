"""The files of a study that the window changes: names, annotations, groups, and the number of key steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd
import yaml

from rgwot.config.configuration import load_config, read_file, read_files
from rgwot.datasets.annotation_files import format_of, read_annotation_file
from rgwot.datasets.base import VideoEntry
from rgwot.datasets.names import VIDEO_TABLE, stem_of
from rgwot.datasets.segment_rows import BACKGROUND_LABEL
from rgwot.datasets.video_table import read_video_table
from rgwot.names import NO_STEP, read_names
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.runtime.files import write_text
from rgwot.runtime.text import pairing_key
from rgwot.study.datasets import tasks, videos
from rgwot.study.pages import names_file
from rgwot.study.shipped import DEFAULTS
from rgwot.study.study import Study, Task
from rgwot.window.last_pages import names_on
from rgwot.window.saving import Saving, SomebodyElses, Target

CONFIG = Path("config.yaml")
#: The columns of annotations that a page writes; a file with other columns may have content that no page shows.
HEADER = "start_s,end_s,label"


def target(study: Study, kind: str, dataset: str, task: str, video: str = "") -> Target:
    """Return a file that a page may save: ``names``, ``groups`` or the ``annotation`` of a video, by its id.

    Raises RgwotError for another kind, dataset, task or video.
    """
    entries = entries_of(study, dataset, task)
    if kind == "annotation":
        if video not in entries:
            raise RgwotError(f"{dataset}/{task}/{video}: no such video; {nearest(video, entries)}")
        return _annotation(study, dataset, entries[video])
    if kind not in ("names", "groups"):
        raise RgwotError(f"kind: found {kind!r}, expected names, groups or annotation")
    return _of_task(study, kind, dataset, task, entries)


def contents(
    study: Study, saving: Saving, page: str, dataset: str, task: str, only: str = ""
) -> dict[str, dict[str, Any]]:
    """Return the files that a page may save, as they are now, by key: ``names``, ``groups`` or ``annotation ID``.

    Parameters
    ----------
    study, saving
        The study, and the object that reads and writes its files.
    page
        The text of the page, empty if there is none.
    dataset, task
        The task of the page.
    only
        The key of one file; by default all are read.

    Returns
    -------
    For each file, its ``path``, its ``content``, and in ``base`` the digest of the file, empty if there is none. The
    content is:

    - of an annotation, rows (start, end, label), with times in seconds as a video player shows them;
    - of names, ``typed`` with those in the file, and ``of`` with those of the results on the page (`names_on`);
    - of groups, the table (`_table_of`).

    A file that must not be replaced has no ``base`` and ``content``, but the reason, ``why``, and a free file name,
    ``apart``, under which to save instead.
    """
    entries = entries_of(study, dataset, task)
    targets = {kind: _of_task(study, kind, dataset, task, entries) for kind in ("names", "groups")}
    targets |= {f"annotation {video}": _annotation(study, dataset, entry) for video, entry in entries.items()}
    found: dict[str, dict[str, Any]] = {}
    for key, own in targets.items():
        if only not in ("", key):
            continue
        try:
            base, content = saving.read(own)
        except SomebodyElses as error:
            found[key] = {"path": str(own.path), "why": str(error), "apart": error.apart.name}
            continue
        if key == "names":
            typed = content or {}
            content = {"typed": {run: asdict(names) for run, names in typed.items()}, "of": names_on(page, typed)}
        elif key == "groups":
            content = _table_of(study, content, dataset, task, entries)
        else:
            content = [] if content is None else _rows(content)
        found[key] = {"path": str(own.path), "base": base, "content": content}
    return found


def _rows(annotation: pd.DataFrame) -> list[list[Any]]:
    """Return the segments and marks of an annotation as rows (start, end, label), in seconds; background is ``-``."""
    labels = annotation["label"].where(annotation["label"] != BACKGROUND_LABEL, NO_STEP)
    return [list(row) for row in zip(annotation["start_s"], annotation["end_s"], labels, strict=True)]


def entries_of(study: Study, dataset: str, task: str) -> dict[str, VideoEntry]:
    """Return the videos of a task by id; raise RgwotError if the study does not have this task."""
    if dataset not in study.config.page_datasets:
        raise RgwotError(f"{dataset}: no such dataset; {nearest(dataset, study.config.page_datasets)}")
    if task not in tasks(study, dataset):
        raise RgwotError(f"{dataset}/{task}: no such task; {nearest(task, tasks(study, dataset))}")
    return {video: entry for video, entry in videos(Task(study, dataset, task)).items() if entry is not None}


def _annotation(study: Study, dataset: str, entry: VideoEntry) -> Target:
    root = study.config.root_of(dataset)
    file = root / entry.path
    if entry.annotation is not None:
        path = root / entry.annotation
    elif file.suffix.lower() == ".csv":
        path = file.parent / "annotations" / f"{entry.name}.csv"
    else:
        path = file.with_name(f"{entry.name}.csv")
    return Target(path, lambda written: read_annotation_file(written, marks=True), _taken(path))


def _taken(path: Path) -> str:
    """Return the reason why a page did not write this annotation, or an empty text if a page may have written it."""
    if not path.exists():
        return ""
    if path.suffix.lower() != ".csv":
        return f"is the annotation of this video, in another form ({format_of(path)})"
    first = path.read_bytes().split(b"\n", 1)[0].decode("utf-8", "replace").strip()
    return "" if first == HEADER else f"has other columns ({first[:60]}) than this page writes ({HEADER})"


def _of_task(study: Study, kind: str, dataset: str, task: str, entries: Mapping[str, VideoEntry]) -> Target:
    """Return the file of names or groups of a task with some videos."""
    if kind == "names":
        return Target(Path(names_file(Task(study, dataset, task))), read_names)
    settings, root = study.config.dataset(dataset), study.config.root_of(dataset)
    first = next(iter(entries.values()))
    path = Path(settings.videos) if settings.videos else root / Path(first.path).parts[0] / VIDEO_TABLE
    return Target(path, read_video_table)


def _table_of(
    study: Study, table: pd.DataFrame | None, dataset: str, task: str, entries: Mapping[str, VideoEntry]
) -> dict[str, Any]:
    """Return the table of a task's videos, for a page that changes their groups; ``table`` is None without a file.

    ``column`` is the column of groups that the page compares. ``columns`` and ``rows`` are the table in the file, or
    an empty table if there is no file. ``row_of`` has, by the id of each video in the table, the index of its row.
    """
    column = study.config.dataset(dataset).group
    if table is None:
        table = pd.DataFrame(columns=["video", column], dtype=str)
    if column not in table:
        table[column] = ""
    names = {pairing_key(stem_of(video)): video for video in entries}
    tasks_here = [task, pairing_key(stem_of(task))]
    row_of: dict[str, int] = {}
    for at, row in enumerate(table.to_dict("records")):
        if "task" in table and pairing_key(row["task"]) not in tasks_here:
            continue
        name = row["video"].strip()
        video = names.get(pairing_key(name)) or names.get(pairing_key(PurePosixPath(name).stem))
        if video is not None:
            row_of.setdefault(video, at)
    return {"column": column, "columns": list(table), "rows": table.to_numpy().tolist(), "row_of": row_of}


def save_K(K: int) -> None:
    """Write ``decode.K`` into the configuration of a study, and leave the rest of the file and its comments unchanged.

    Raises
    ------
    RgwotError
        If the file is written in a form in which this setting cannot be changed alone.
    """
    before = CONFIG.read_text(encoding="utf-8")
    content = {**read_file(CONFIG)}
    after = _with_K(before, content, K)
    decode = content.get("decode")
    content["decode"] = {**(decode if isinstance(decode, dict) else {}), "K": K}
    _save(after, content, f"decode: {{K: {K}}}")


def save_another_seed() -> None:
    """Add a seed to the configuration of a study, so that its pages also show results of another seed; see `save_K`."""
    content = {**read_file(CONFIG)}
    seeds = load_config({**read_files([DEFAULTS]), **content}, str(CONFIG)).seeds
    content["seeds"] = [*seeds, max(seeds) + 1]
    text = CONFIG.read_text(encoding="utf-8")
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    assert isinstance(root, yaml.MappingNode)
    node = next((value for key, value in root.value if key.value == "seeds"), None)
    if node is None:
        after = f"{text.rstrip()}\nseeds: {content['seeds']}\n"
    else:
        # A list with one seed per line ends after its last line.
        end = "" if node.flow_style else "\n"
        after = f"{text[: node.start_mark.index]}{content['seeds']}{end}{text[node.end_mark.index :]}"
    _save(after, content, f"seeds: {content['seeds']}")


def _save(text: str, content: Mapping[str, Any], line: str) -> None:
    """Write the changed text of a configuration; raise RgwotError if it does not have the expected content."""
    if yaml.safe_load(text) != content:
        raise RgwotError(f"{CONFIG}: cannot be changed by the window; write {line} into it")
    load_config({**read_files([DEFAULTS]), **content}, str(CONFIG))
    write_text(text, CONFIG)


def _with_K(text: str, content: Mapping[str, Any], K: int) -> str:
    """Return the text of a configuration with another ``decode.K``."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    assert isinstance(root, yaml.MappingNode)
    block = next((value for key, value in root.value if key.value == "decode"), None)
    if block is None:
        return f"{text.rstrip()}\ndecode: {{K: {K}}}\n"
    if not isinstance(block, yaml.MappingNode) or not block.value:
        return text
    number = next((value for key, value in block.value if key.value == "K"), None)
    if number is not None:
        return f"{text[: number.start_mark.index]}{K}{text[number.end_mark.index :]}"
    first = block.value[0][0].start_mark
    gap = ", " if block.flow_style else f"\n{' ' * first.column}"
    return f"{text[: first.index]}K: {K}{gap}{text[first.index :]}"
