"""Open a folder, which is a study, or has videos for which a study is made beside it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from rgwot.datasets.names import VIDEO_SUFFIXES
from rgwot.runtime.errors import RgwotError
from rgwot.study.shipped import start_study

CONFIG = "config.yaml"
#: Suffix of the folder of a study, after the name of the folder of videos.
SUFFIX = "_study"


@dataclass(frozen=True)
class Proposal:
    """A study that could be made of a folder of videos.

    ``flat`` says whether the videos lie in ``videos`` itself, which is then one task; ``tasks`` has the number of
    videos of each task.
    """

    videos: Path
    study: Path
    flat: bool
    tasks: dict[str, int]


def study_or_proposal(folder: Path) -> Path | Proposal:
    """Return the folder of a study, or what could be made of a folder of videos.

    If a study was made of this folder before, its folder is returned.

    Raises RgwotError if the folder is neither.
    """
    folder = folder.absolute()
    if not folder.is_dir():
        raise RgwotError(f"{folder}: no such folder; expected a study, or a folder of videos")
    if (folder / CONFIG).is_file():
        return folder
    beside = folder.with_name(folder.name + SUFFIX)
    if (beside / CONFIG).is_file():
        return beside
    own = _videos(folder)
    inside = {each.name: n for each in sorted(folder.iterdir()) if each.is_dir() and (n := _below(each))}
    if not own and not inside:
        raise RgwotError(
            f"{folder}: found no config.yaml and no video; expected a study, or a folder of videos (.mp4, .mkv, ...)"
        )
    return Proposal(folder, beside, bool(own), {folder.name: own} if own else inside)


def begin(proposal: Proposal, name: str, task: str) -> Path:
    """Make the study of a proposal in the folder ``name`` beside the videos; return its folder.

    Videos outside the folder of a task are linked into a folder of the task ``task``.

    Raises
    ------
    RgwotError
        If a folder cannot have this name; also in the cases of `rgwot.study.shipped.start_study`.
    """
    study = proposal.videos.with_name(_folder_name("the study", name))
    if not proposal.flat:
        study.mkdir(exist_ok=True)
        start_study(study, proposal.videos)
        return study
    place = study / "videos" / _folder_name("the task", task)
    if not place.is_symlink():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(os.path.relpath(proposal.videos, place.parent), target_is_directory=True)
    start_study(study)
    return study


def _folder_name(what: str, name: str) -> str:
    name = name.strip()
    if not name or name.startswith(".") or not name.isprintable() or {"/", "\\", "{", "}", "<", ">"} & set(name):
        raise RgwotError(f"name of {what}: found {name!r}; expected a name of a folder, such as tea")
    return name


def _videos(folder: Path) -> int:
    return sum(path.suffix.lower() in VIDEO_SUFFIXES for path in folder.iterdir() if path.is_file())


def _below(folder: Path) -> int:
    """Return the number of videos in a folder and in those inside it."""
    return sum(
        Path(name).suffix.lower() in VIDEO_SUFFIXES
        for _, _, names in os.walk(folder, followlinks=True)
        for name in names
    )
