"""Pages whose content is known, because the key steps of every video are given."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from rgwot import paths
from rgwot.columns import SEGMENT_COLUMNS
from rgwot.keysteps.ordering import procedure_of, rank_procedures, video_order
from rgwot.paths import Run, Tree
from rgwot.procedure import Deviation, Edge, Node, Procedure, deviations, recordings_from_segments
from rgwot.procedure.interface import END, START, VideoFit
from rgwot.procedure.learning import LEARNER
from rgwot.records import read_segments
from rgwot.reporting.page.render import write_page
from rgwot.reporting.page.runs import MOST_DEVIATIONS
from rgwot.stages.procedure import write_procedure

RUN = Run("whitened", "meanfield", 0)
#: Length of every segment in seconds.
EACH_S = 4.0

#: For every case, the key steps of each video in their order, 0 for background.
CASES: Mapping[str, Sequence[Sequence[int]]] = {
    "usual": (
        *[(1, 2, 3, 5, 4, 6, 7), (1, 2, 5, 3, 4, 6, 7)] * 3,
        (1, 2, 3, 5, 4, 7), (1, 2, 5, 3, 4, 4, 7), (2, 1, 3, 5, 4, 6, 7), (1, 2, 0, 5, 3, 4, 7, 4, 6),
    ),
    "three": [(1, 2, 3)] * 5 + [(1, 3)],
    "forty": [
        tuple(int(step) for step in 1 + np.argsort(np.arange(40) + np.random.default_rng(seed).normal(0, 0.7, 40)))
        for seed in range(12)
    ],
    "two_videos": [(1, 2, 3, 4, 5), (1, 3, 2, 4, 5)],
    "one_step": [(0, 1, 0), (1, 0), (0, 1)],
    "background": [(0,), (0,), (0,)],
    "contradictory": [(1, 2, 3, 4, 5), (5, 4, 3, 2, 1)] * 4,
    "repeats": [(1, 2, 1, 2, 1, 2, 3)] * 6,
}  # fmt: skip


def edge(before: object, after: object, agree: int = 10, confidence: float = 0.95) -> Edge:
    return Edge(before, after, confidence, agree, 10, (0.7, 1.0))  # type: ignore[arg-type]


#: 1, then 2 and 3 in either order, then 4, which repeats; 5 is optional and may come at any time.
GIVEN = Procedure(
    learner="robust",
    settings={},
    n_videos=10,
    nodes=(
        Node(1, 10, 1.0, False, 1.0, 0.0, 0.1, 5.0),
        Node(2, 10, 1.0, False, 1.1, 0.1, 0.4, 75.0),
        Node(3, 9, 0.9, False, 1.0, 0.0, 0.5, 0.4),
        Node(4, 10, 1.0, False, 2.5, 0.7, 0.8, 130.0),
        Node(5, 6, 0.6, True, 1.0, 0.0, 0.6, 12.0),
    ),
    edges=(
        edge(START, 1), edge(1, 2, 8, 0.7), edge(1, 3, 9, 0.8), edge(2, 4), edge(3, 4), edge(4, END),
        edge(START, 5), edge(5, END),
    ),
    needs=(edge(1, 2, 8), edge(1, 3, 9), edge(1, 4), edge(2, 4), edge(3, 4)),
    groups=((2, 3),),
    order=(1, 2, 3, 5, 4),
    order_distance=0.1,
    typical_video="video 02",
    videos=(VideoFit("video 01", 1.0, 3.0), VideoFit("video 02", 1.0, 0.0)),
    notes=("one thing that the videos do not support",),
)  # fmt: skip
FOUND = [
    Deviation("video 01", "missing", 2, 4.0, 8.0, 3.0),
    Deviation("video 01", "too_late", 1, 8.5, 12.0, 2.0),
    *(Deviation("video 01", "repeated", 3, 65.0 + at, 66.0 + at, 1.0 + at / 10) for at in range(MOST_DEVIATIONS)),
]


def rows_of(name: str, videos: Sequence[Sequence[int]] | None = None) -> list[tuple[str, str, float, float, int]]:
    """Return the segments of one of `CASES`, or of other videos."""
    return [
        (f"video {place:02d}", "task", at * EACH_S, (at + 1) * EACH_S, step)
        for place, steps in enumerate(videos or CASES[name], 1)
        for at, step in enumerate(steps)
    ]


def make_tree(folder: Path, name: str, videos: Sequence[Sequence[int]] | None = None) -> Tree:
    """Write what a page is made from, without videos."""
    tree = Tree(folder / "results", "mine", name)
    shown = {f"video {at + 1:02d}": tuple(steps) for at, steps in enumerate(videos or CASES[name])}
    rows = [
        (video, video, f"{video}.npy", "", len(steps) * EACH_S, "30", 0, 0, "unscored", "")
        for video, steps in shown.items()
    ]
    manifest = ["video", "name", "path", "annotation", "duration_s", "fps", "width", "height", "status", "reason"]
    segments = rows_of(name, videos)
    orders = {video: video_order(np.array(steps), np.arange(len(steps), dtype=float)) for video, steps in shown.items()}
    texts = [">".join(map(str, order)) for order in orders.values()]
    for path, table in (
        (tree.at(paths.MANIFEST), pd.DataFrame(rows, columns=manifest)),
        (tree.at(paths.ANNOTATIONS), pd.DataFrame(columns=["video", "start_s", "end_s", "key_step", "name"])),
        (tree.at(paths.SEGMENTS, RUN), pd.DataFrame(segments, columns=list(SEGMENT_COLUMNS))),
        (tree.at(paths.ORDER, RUN), pd.DataFrame({"video": list(orders), "order": texts})),
        (tree.at(paths.PROCEDURES, RUN), rank_procedures(orders)),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        table.to_csv(path, index=False)
    tree.at(paths.DIAGNOSTICS, RUN).write_text(
        json.dumps({"K": max(max(own) for own in shown.values()), "degenerate": False})
    )
    tree.at(paths.STRIPS).mkdir(parents=True)
    table = read_segments(tree.at(paths.SEGMENTS, RUN))
    learned = procedure_of({str(video): own for video, own in table.groupby("video", sort=False)}, LEARNER)
    write_procedure(tree.keysteps(RUN), learned, deviations(learned, recordings_from_segments(table)))
    return tree


def make_page(folder: Path, name: str, videos: Sequence[Sequence[int]] | None = None) -> Path:
    """Make the page of one of `CASES`, or of other videos."""
    tree = make_tree(folder, name, videos)
    write_page(tree, tree.results, [RUN], tree.at(paths.PAGE))
    return tree.at(paths.PAGE)


def given_page(folder: Path) -> Path:
    """Make the page of `GIVEN` and `FOUND`, with the videos of the case `usual`."""
    tree = make_tree(folder, "usual")
    write_procedure(tree.keysteps(RUN), GIVEN, FOUND)
    write_page(tree, tree.results, [RUN], tree.at(paths.PAGE))
    return tree.at(paths.PAGE)
