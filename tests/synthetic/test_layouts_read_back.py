"""Reading the trees of released datasets gives the planned ground truth."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from synthetic_trees import TreeSettings, TreeVideo, files, plan
from synthetic_trees.crosstask import annotated_rows

from rgwot.datasets import finding
from rgwot.datasets.annotations import Annotation
from rgwot.datasets.registry import datasets
from rgwot.synthetic.timelines import FPS, TimelineSegment
from rgwot.timing import RULES, VideoInfo, truth_labels

SHORT: dict[str, Any] = {"n_videos": 6, "min_s": 4.0, "max_s": 6.0, "seed": 5}
# Layout, options of its entry, and number of tasks.
READ_AS = [
    ("egoprocel", {}, 16),
    ("procel", {"drop_rows": ["cpr_0041"], "strict": True}, 12),
    ("crosstask", {"strict": True}, 18),
]


def lay_out(root: Path, settings: TreeSettings) -> list[TreeVideo]:
    """Write a tree with empty files as videos, which suffice for finding them."""
    videos = plan(settings)
    empty = dict.fromkeys((video.place.video for video in videos), b"")
    for path, content in {**empty, **files(settings.layout, videos)}.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return videos


def read(root: Path, layout: str, dataset: str, options: dict[str, Any]) -> dict[tuple[str, str], Annotation]:
    """Read every annotation by task and name of its video."""
    module, chosen = finding.layout_module(layout), finding.read_options(dataset, layout, options)
    found = finding.find(dataset, layout, root, options)
    assert found.unassigned == ()
    clock = VideoInfo(1000.0, Fraction(FPS)) if layout != "procel" else None
    return {
        (task, entry.name): module.read_annotation(
            root, entry, finding.registered_facts(dataset, task, chosen), clock, chosen
        )
        for task in found.tasks
        for entry in found.of(task)
    }


def planned_rows(video: TreeVideo, segments: Sequence[TimelineSegment]) -> list[tuple[float, float, int]]:
    return [(round(start, 3), round(end, 3), video.step_ids[step - 1]) for start, end, step in segments]


def read_rows(annotation: Annotation) -> list[tuple[float, float, int]]:
    return list(annotation.segments[["start_s", "end_s", "step_id"]].itertuples(index=False, name=None))


def painted(rows: Sequence[tuple[float, float, int]], duration_s: float, rule: Any) -> list[int]:
    starts, ends, steps = zip(*rows, strict=True)
    return truth_labels(starts, ends, steps, np.arange(round(duration_s * FPS)), Fraction(FPS), rule).tolist()


@pytest.mark.parametrize(("layout", "options", "n_tasks"), READ_AS)
def test_reading_gives_the_planned_ground_truth(
    tmp_path: Path, layout: str, options: dict[str, Any], n_tasks: int
) -> None:
    videos = lay_out(tmp_path, TreeSettings(layout=layout, **SHORT))
    assert len({video.task for video in videos}) == n_tasks
    planned = {(video.task.rpartition("/")[2], video.place.stem): video for video in videos}
    annotations: dict[tuple[str, str], Annotation] = {}
    for dataset in datasets(layout):
        annotations |= read(tmp_path, layout, dataset, options)
    assert annotations.keys() == planned.keys()
    for key, video in planned.items():
        rows = read_rows(annotations[key])
        written = annotated_rows(video) if layout == "crosstask" else video.timeline.segments
        expected = planned_rows(video, written)
        # data.mat keeps the segments by key step, every other file in order.
        assert rows == (sorted(expected, key=lambda row: (row[2], row[0])) if layout == "procel" else expected), key
        for rule in RULES if layout == "crosstask" else RULES[:1]:
            truth = painted(planned_rows(video, video.timeline.segments), video.timeline.duration_s, rule)
            assert painted(rows, video.timeline.duration_s, rule) == truth, key
        named = dict(annotations[key].segments[["step_id", "name"]].itertuples(index=False, name=None))
        for step_id, name in named.items():
            # In some datasets, the text column has more than the name.
            assert name.startswith(video.names[video.step_ids.index(step_id)]), key


@pytest.mark.parametrize("view", ["ego", "left"])
def test_a_view_of_cmu_finds_its_own_camera(tmp_path: Path, view: str) -> None:
    camera = {"ego": "7150991", "left": "8421130"}[view]
    videos = lay_out(tmp_path, TreeSettings(layout="egoprocel", tasks=("cmu_mmac/Eggs",), cameras=5, **SHORT))
    planned = {video.place.stem: video for video in videos if video.place.camera == camera}
    annotations = read(tmp_path, "egoprocel", "cmu_mmac", {"view": view})
    assert {name for _, name in annotations} == set(planned)
    for (_, name), annotation in annotations.items():
        assert read_rows(annotation) == planned_rows(planned[name], planned[name].timeline.segments)
