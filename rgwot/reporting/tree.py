"""The tree of key steps as the page has it, and segments from cutting it at any K (methods 5.16)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rgwot.keysteps.tree import cut, grow
from rgwot.records import SEGMENT_COLUMNS
from rgwot.runtime.errors import RgwotError
from rgwot.timing import label_segments, runs

if TYPE_CHECKING:
    from rgwot.embedding.stored import EmbeddedVideo


def tree_of(videos: Mapping[str, EmbeddedVideo], seed: int) -> dict[str, Any]:
    """Grow the tree of a task, for the page.

    Returns
    -------
    dict
        ``merges`` as in `rgwot.keysteps.tree.StepTree`, from the first to the last; ``leaves``: the share of all
        samples of every leaf, and the sample nearest to its mean (``video``, ``time_s``); ``videos``: by id ``ends``,
        the ends of its segments in milliseconds, and ``leaves``, the leaf of each.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        # Of its own, so that it does not depend on what else is drawn for a page.
        tree = grow(
            np.concatenate([video.embedding for video in videos.values()]),
            [len(video.time_s) for video in videos.values()],
            np.random.default_rng([seed, 3]),
        )
    owners = [(name, float(time_s)) for name, video in videos.items() for time_s in video.time_s]
    leaves = []
    for leaf in range(len(tree.merges) + 1):
        own = np.flatnonzero(tree.leaves == leaf)
        away = np.square(tree.places[own] - tree.places[own].mean(axis=0)).sum(axis=1)
        name, time_s = owners[own[away.argmin()]]
        leaves.append({"share": round(len(own) / len(owners), 4), "video": name, "time_s": round(time_s, 3)})
    borders = np.cumsum([len(video.time_s) for video in videos.values()])[:-1]
    segments = {}
    for (name, video), own in zip(videos.items(), np.split(tree.leaves, borders), strict=True):
        frame = label_segments(video.time_s, own, video.duration_s)
        ends = np.rint(frame["end_s"].to_numpy(np.float64) * 1000).astype(np.int64)
        segments[name] = {"ends": ends.tolist(), "leaves": frame["key_step"].tolist()}
    merges = [[a, b, round(lost, 5)] for a, b, lost in tree.merges]
    return {"merges": merges, "leaves": leaves, "videos": segments}


def cut_segments(tree: Mapping[str, Any], K: int) -> pd.DataFrame:
    """Return the segments of a tree, of `tree_of`, cut at K: the columns of ``segments.csv``, of the scope ``task``.

    Raises
    ------
    RgwotError
        For a K below 1 or above the number of leaves.
    """
    n = len(tree["leaves"])
    if not 1 <= K <= n:
        raise RgwotError(f"K: found {K}, expected 1 to {n}, the leaves of the tree; decode with this K instead")
    step_of = cut(tree["merges"], n, K)
    rows = []
    for video, own in tree["videos"].items():
        found = runs(step_of[own["leaves"]])
        ends = np.asarray(own["ends"])[found.ends - 1] / 1000
        columns = {"start_s": np.r_[0.0, ends[:-1]], "end_s": ends, "key_step": found.labels}
        rows.append(pd.DataFrame(columns).assign(video=video, scope="task"))
    return pd.concat(rows, ignore_index=True)[list(SEGMENT_COLUMNS)]


def read_tree(view_json: str | Path) -> dict[str, Any]:
    """Read the tree from a view (``rgwot view``).

    Raises
    ------
    RgwotError
        Where there is no such file, or no tree in it.
    """
    path = Path(view_json)
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))["tree"]
        return {key: tree[key] for key in ("merges", "leaves", "videos")}
    except (OSError, ValueError, KeyError, TypeError):
        said = "found no tree of key steps, expected a view that `rgwot view` wrote; make it again"
        raise RgwotError(f"{path}: {said}") from None
