"""The tree of key steps as the page has it (methods 5.16)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rgwot.keysteps.tree import grow
from rgwot.timing import label_segments

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
