"""Reading the trees of released datasets gives the planned ground truth."""

from __future__ import annotations

import csv
import time
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
from synthetic_trees import LAYOUTS, TreeSettings, TreeVideo, files, plan
from synthetic_trees.crosstask import annotated_rows
from synthetic_trees.procel import LISTED_ONLY

from rgwot.config.synthetic import synth_settings
from rgwot.datasets import finding
from rgwot.datasets.annotations import Annotation, VideoClock
from rgwot.datasets.crosstask import read_tasks, read_videos
from rgwot.datasets.faults import collecting
from rgwot.datasets.registry import datasets, facts
from rgwot.runtime.errors import RgwotError
from rgwot.synthetic.ground_truth import FPS, Segment, Timeline
from rgwot.timing import RULES, rasterise

SHORT: dict[str, Any] = {"n_videos": 6, "min_s": 4.0, "max_s": 6.0, "seed": 5}
# Layout, dataset it is read as, options of its entry, and how many tasks it has.
READ_AS = [
    *(("egoprocel", dataset, {}, None) for dataset in datasets("egoprocel")),
    ("procel", "procel", {"drop_rows": ["cpr_0041"], "strict": True}, 12),
    ("procel_csv", "procel", {"strict": True}, 12),
    ("procel_stepfirst", "procel", {"strict": True}, 12),
    ("crosstask", "crosstask", {"strict": True}, 18),
]


def lay_out(root: Path, settings: TreeSettings) -> list[TreeVideo]:
    """Write all but the pictures: videos are empty files, which is all that finding them needs."""
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
    clock = VideoClock(1000.0, Fraction(FPS)) if layout != "procel" else None
    return {
        (task, entry.name): module.read_annotation(
            root, entry, finding.registered_facts(dataset, task, chosen), clock, chosen
        )
        for task in found.tasks
        for entry in found.of(task)
    }


def planned_rows(video: TreeVideo, segments: Sequence[Segment]) -> list[tuple[float, float, int]]:
    return [(round(start, 3), round(end, 3), video.step_ids[step - 1]) for start, end, step in segments]


def read_rows(annotation: Annotation) -> list[tuple[float, float, int]]:
    return list(annotation.segments[["start_s", "end_s", "step_id"]].itertuples(index=False, name=None))


def painted(rows: Sequence[tuple[float, float, int]], duration_s: float, rule: Any) -> list[int]:
    starts, ends, steps = zip(*rows, strict=True)
    return rasterise(starts, ends, steps, Fraction(FPS), round(duration_s * FPS), rule).tolist()


def test_the_only_layout_in_the_settings_is_folder() -> None:
    with pytest.raises(RgwotError, match="synth: layout: .*'folder'.*found 'procel'"):
        synth_settings({"layout": "procel"})


@pytest.mark.parametrize(("layout", "dataset", "options", "n_tasks"), READ_AS)
def test_reading_gives_the_planned_ground_truth(
    tmp_path: Path, layout: str, dataset: str, options: dict[str, Any], n_tasks: int | None
) -> None:
    settings = TreeSettings(layout=layout, **SHORT)
    videos = lay_out(tmp_path, settings)
    if layout == "egoprocel":
        videos = [video for video in videos if video.task.startswith(f"{dataset}/")]
    planned = {(video.task.rpartition("/")[2], video.place.stem): video for video in videos}
    annotations = read(tmp_path, layout, dataset, options)
    assert annotations.keys() == planned.keys()
    if n_tasks is not None:
        assert len({task for task, _ in planned}) == n_tasks
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
            # A text column holds more than the bare name in some datasets.
            assert name.startswith(video.names[video.step_ids.index(step_id)]), key


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
def test_the_same_seed_gives_the_same_bytes_at_any_time(monkeypatch: pytest.MonkeyPatch, layout: str) -> None:
    def made(seed: int) -> dict[str, bytes]:
        return files(layout, plan(TreeSettings(layout=layout, **{**SHORT, "seed": seed})))

    first = made(5)
    monkeypatch.setattr(time, "asctime", lambda *_: "Thu Jan  1 00:00:00 1970")
    assert made(5) == first
    assert made(6) != first


def test_the_three_forms_of_procel_hold_the_same() -> None:
    plans = [plan(TreeSettings(layout=layout, **SHORT)) for layout in ("procel", "procel_csv", "procel_stepfirst")]
    truths = [[(video.task, video.place.stem, video.timeline, video.names) for video in videos] for videos in plans]
    assert truths[0] == truths[1] == truths[2]


@pytest.fixture(scope="module")
def procel(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[TreeVideo]]:
    root = tmp_path_factory.mktemp("procel")
    return root, lay_out(root, TreeSettings(layout="procel", **SHORT))


def test_data_mat_is_nested_as_released(procel: tuple[Path, list[TreeVideo]]) -> None:
    root, videos = procel
    own = [video for video in videos if video.task == "change_tire"]
    data = scipy.io.loadmat(root / "ProceL_dataset/change_tire/data.mat")
    K = facts("procel", "change_tire").K
    assert [str(cell[0][0]) for cell in data["grammar"]] == list(own[0].names)
    assert data["key_steps_time"].shape == (len(own), 1)
    absent = 0
    for row, video in enumerate(own):
        truth: dict[int, list[tuple[float, float]]] = defaultdict(list)
        for start, end, step in video.timeline.segments:
            truth[step].append((start, end))
        steps, frames = data["key_steps_time"][row][0], data["key_steps_frame"][row][0]
        assert steps.shape == frames.shape == (K, 1)
        labels = np.zeros(round(video.timeline.duration_s * FPS), dtype=int)
        for k in range(K):
            if k + 1 in truth:
                assert steps[k][0] == pytest.approx(np.array(truth[k + 1]))
                for first, last in frames[k][0]:
                    labels[first - 1 : last] = k + 1
            else:
                absent += 1
                assert steps[k][0].shape == frames[k][0].shape == (0, 0)
        rows = planned_rows(video, video.timeline.segments)
        assert labels.tolist() == painted(rows, video.timeline.duration_s, "exact")
        for kind in ("superframe", "segment"):
            times, numbers = data[f"{kind}_time"][row][0], data[f"{kind}_frame"][row][0]
            assert times[-1, 1] == pytest.approx(video.timeline.duration_s)
            assert numbers[0, 0] == 1
            assert numbers[-1, 1] / times[-1, 1] == pytest.approx(FPS)
            assert (numbers[1:, 0] == numbers[:-1, 1] + 1).all()
    assert absent > 0


def test_procel_names_have_three_schemes_and_skip_numbers(procel: tuple[Path, list[TreeVideo]]) -> None:
    root, videos = procel
    names = [line.split("\t")[1] for line in (root / "ProceL_dataset/tie_tie/readme.txt").read_text().splitlines()]
    assert names == ["tie_0001", "tie_0003", "tie_0004", "tie_0005", "tie_0007", "tie_0008"]
    folders = {video.task: video.place.video.split("/")[:-1] for video in videos}
    assert folders["assemble_clarinet"] == ["videos", "assemble_clarinet"]
    assert folders["change_iphone_battery"] == ["videos", "phone_battery"]
    assert folders["change_tire"] == ["videos"]


def test_the_extra_row_of_perform_cpr_has_to_be_dropped(procel: tuple[Path, list[TreeVideo]]) -> None:
    root, videos = procel
    lines = (root / "ProceL_dataset/perform_cpr/readme.txt").read_text().splitlines()
    names = [line.split("\t")[1] for line in lines]
    own = [video.place.stem for video in videos if video.task == "perform_cpr"]
    # It stands in the middle, so that pairing by row without dropping it would shift what comes behind.
    assert names == sorted([*own, "cpr_0041"])
    assert 0 < names.index("cpr_0041") < len(names) - 1
    with pytest.raises(RgwotError, match=r"readme\.txt lists 7.*cpr_0041"):
        read(root, "procel", "procel", {})


@pytest.mark.parametrize("n_videos", [1, 2, 60, 100])
def test_perform_cpr_has_any_number_of_videos(n_videos: int) -> None:
    settings = TreeSettings(layout="procel", tasks=("perform_cpr",), **{**SHORT, "n_videos": n_videos})
    stems = {video.place.stem for video in plan(settings)}
    assert len(stems) == n_videos
    assert f"cpr_{LISTED_ONLY['perform_cpr']:04d}" not in stems


def test_crosstask_lists(tmp_path: Path) -> None:
    videos = lay_out(tmp_path, TreeSettings(layout="crosstask", **SHORT))
    release = tmp_path / "crosstask_release"
    tasks = read_tasks(release / "tasks_primary.txt")
    assert list(tasks)[:3] == ["23521", "59684", "71781"]
    assert {task: len(steps) for task, steps in tasks.items()} == {task: facts("crosstask", task).K for task in tasks}
    with collecting() as complaints:
        listed = read_videos(release / "videos.csv")
    assert complaints == []
    primary = {(video.task, video.place.stem) for video in videos}
    related = set(listed) - primary
    assert primary <= set(listed)
    assert {task for task, _ in related} == set(read_tasks(release / "tasks_related.txt"))
    held_out = read_videos(release / "videos_val.csv")
    assert set(held_out) < primary
    assert {task for task, _ in held_out} == set(tasks)
    ids = [video.place.stem for video in videos]
    assert len({name.casefold() for name in ids}) == len(ids)
    assert {len(name) for name in ids} == {11}
    assert sum(name.startswith("-") for name in ids) >= len(tasks)
    assert sum("_" in name for name in ids) >= len(tasks)
    assert {video.place.video.count("/") for video in videos} == {1, 2}
    assert {Path(video.place.video).suffix for video in videos} == {".mp4", ".webm", ".mkv"}


def test_crosstask_rows_overlap_and_are_out_of_order_in_some_files() -> None:
    odd = 0
    for video in plan(TreeSettings(layout="crosstask", **SHORT)):
        rows = planned_rows(video, annotated_rows(video))
        in_time = sorted(rows)
        overlap = any(earlier[1] > later[0] for earlier, later in zip(in_time, in_time[1:], strict=False))
        assert overlap == (rows != in_time) == (rows != planned_rows(video, video.timeline.segments))
        odd += overlap
        if overlap:
            # A reader that sorted the rows would get other labels.
            duration = video.timeline.duration_s
            assert painted(in_time, duration, "exact") != painted(rows, duration, "exact")
    assert 18 <= odd <= 36


def test_a_video_with_one_segment_or_one_step_stays_readable() -> None:
    video = plan(TreeSettings(layout="crosstask", **SHORT))[1]
    lonely = (Segment(1.0, 2.0, 2),)
    assert annotated_rows(replaced(video, lonely)) == list(lonely)
    same = (Segment(0.5, 1.0, 2), Segment(1.5, 3.0, 2))
    rows = annotated_rows(replaced(video, same))
    assert [row.key_step for row in rows] == [2, 2, 2]
    assert painted(rows, 4.0, "exact") == painted(same, 4.0, "exact")


def replaced(video: TreeVideo, segments: tuple[Segment, ...]) -> TreeVideo:
    from dataclasses import replace

    return replace(video, timeline=Timeline(4.0, segments))


@pytest.mark.parametrize("layout", ["procel", "procel_csv", "procel_stepfirst", "crosstask"])
def test_unknown_tasks_name_the_nearest(layout: str) -> None:
    with pytest.raises(RgwotError, match=r"synth\.tasks: 'make_cofee' is not a task of (ProceL|CrossTask);"):
        plan(TreeSettings(layout=layout, tasks=("make_cofee",)))


def test_spelling_quotes_commas(tmp_path: Path) -> None:
    videos = lay_out(tmp_path, TreeSettings(layout="egoprocel", tasks=("meccano/meccano",), **SHORT))
    text = (tmp_path / videos[0].place.annotation).read_text()
    assert text.count('"') == 2 * len(videos[0].timeline.segments)
    assert {len(row) for row in csv.reader(text.splitlines())} == {3}
