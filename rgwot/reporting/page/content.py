"""Everything a page shows, gathered from the results of a task."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd

from rgwot import __version__
from rgwot.keysteps.ordering import rank_procedures, video_order
from rgwot.paths import Run, Tree
from rgwot.records import read_annotations, read_manifest
from rgwot.reporting.names import RunNames
from rgwot.reporting.page.pictures import FRAMES, STRIP_HEIGHT, shown_aspect
from rgwot.reporting.page.runs import ShownRun, listed, read_curves, read_run
from rgwot.reporting.page.scores import read_task_scores
from rgwot.runtime.errors import RgwotError

#: Stored frames are no film that a browser could play.
_NOT_PLAYABLE = {".h5", ".hdf5"}


@dataclass(frozen=True)
class Content:
    """What one page shows.

    Attributes
    ----------
    data
        What every view needs: videos, annotations, facts of the runs, scores, curves.
    runs
        The runs, the one shown first at the front.
    strips
        JPEG of every video in base64, in the order of the manifest; empty where there is none.
    """

    data: Mapping[str, Any]
    runs: Sequence[ShownRun]
    strips: Sequence[str]


def gather(
    tree: Tree,
    root: Path,
    runs: Sequence[Run],
    names: Mapping[str, RunNames],
    page_folder: Path,
    names_path: str | None = None,
) -> Content:
    """Read the results of a task.

    Parameters
    ----------
    tree
        Where they lie.
    root
        Folder of the videos, so that the page can play them.
    runs
        Which runs, the one shown first at the front.
    names
        Typed names by run.
    page_folder
        Where the page will lie; its links to the videos start there.
    names_path
        Where the file of names belongs, for the page to say so.

    Raises
    ------
    RgwotError
        When there is no run, or a file is missing or cannot be read.
    """
    if not runs:
        raise RgwotError(f"{tree.dataset}/{tree.task}: no run to show; name at least one, such as rgwot/graphcut/seed0")
    manifest, annotations = read_manifest(tree.manifest), read_annotations(tree.annotations)
    shown = [read_run(tree, run, manifest, annotations, names) for run in runs]
    strips = [_strip(tree, str(video)) for video in manifest["video"]]
    orders = _true_orders(manifest, annotations)
    data = {
        "dataset": tree.dataset,
        "task": tree.task,
        "version": __version__,
        "frames": FRAMES,
        "strip_height": STRIP_HEIGHT,
        "videos": [
            _video(row, page_folder, root, bool(strip))
            for row, strip in zip(manifest.to_dict("records"), strips, strict=True)
        ],
        "steps": {str(row["key_step"]): str(row["name"]) for row in annotations.to_dict("records")},
        "truth": _truth(manifest, annotations),
        "true_procedures": listed(rank_procedures(orders)) if orders else [],
        "runs": [run.facts for run in shown],
        "views": [tree.view(run).as_posix() for run in runs],
        "names_path": names_path or f"names/{tree.dataset}/{tree.task}.yaml",
        "typed": {run: {"result": own.result, "names": own.names} for run, own in names.items()},
        "curves": read_curves(tree, runs),
        "scores": read_task_scores(tree, runs),
    }
    return Content(data, shown, strips)


def _strip(tree: Tree, video: str) -> str:
    path = tree.strips / f"{video}.jpg"
    return base64.b64encode(path.read_bytes()).decode() if path.exists() else ""


def _video(row: Mapping[Any, Any], page_folder: Path, root: Path, strip: bool) -> dict[str, Any]:
    usable = row["status"] != "skipped"
    path = root / str(row["path"])
    return {
        "id": str(row["video"]),
        "name": str(row["name"]),
        "status": str(row["status"]),
        "reason": str(row["reason"]),
        "duration": float(row["duration_s"]) if usable else 0.0,
        "fps": float(row["fps"]) if usable else 0.0,
        "aspect": round(shown_aspect(_number(row["width"]), _number(row["height"])), 4),
        "strip": strip,
        "path": str(row["path"]),
        "file": None if path.suffix.lower() in _NOT_PLAYABLE else _link(path, page_folder),
    }


def _number(value: Any) -> float:
    return float("nan") if pd.isna(value) else float(value)


def _link(path: Path, page_folder: Path) -> str:
    """Return the address of a file relative to the page, whatever letters its name has."""
    relative = Path(os.path.relpath(path.expanduser().absolute(), page_folder.absolute()))
    return quote(relative.as_posix())


def _truth(manifest: pd.DataFrame, annotations: pd.DataFrame) -> list[list[list[float]]]:
    """Return annotated segments (start, end, key step) of every video, in the order of its file."""
    of_video = dict(list(annotations.groupby("video", sort=False)))
    nothing = annotations.iloc[:0]
    return [
        [
            [round(row["start_s"], 3), round(min(row["end_s"], duration), 3), row["key_step"]]
            for row in of_video.get(video, nothing).to_dict("records")
            if row["start_s"] < duration
        ]
        for video, duration in zip(manifest["video"], manifest["duration_s"], strict=True)
    ]


def _true_orders(manifest: pd.DataFrame, annotations: pd.DataFrame) -> dict[str, tuple[int, ...]]:
    """Return the order of the annotated steps of every video, by the middles of their segments."""
    durations = dict(zip(manifest["video"], manifest["duration_s"], strict=True))
    return {
        str(video): video_order(
            own["key_step"].to_numpy(),
            np.asarray((own["start_s"] + own["end_s"]) / 2 / durations[video]),
            np.asarray(own["end_s"] - own["start_s"]),
        )
        for video, own in annotations.groupby("video", sort=True)
        if video in durations and (own["end_s"] > own["start_s"]).all()
    }
