"""Every readable annotation fixture beside a video of its rate, through the stage ``manifest`` to labels."""

from __future__ import annotations

import csv
import shutil
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from videos import write_video

from rgwot.datasets.finding import find, read_options, registered_facts
from rgwot.datasets.manifest import write_manifest
from rgwot.records import read_annotations, read_manifest
from rgwot.timing import RULES, scoring_frames, truth_labels

FIXTURES = Path(__file__).parents[1] / "fixtures" / "annotations"
EGO = Path("good/egoprocel/annotations")
FOLDERS = {"CMU-MMAC": "cmu_mmac", "EGTEA_Gaze+": "egtea_gaze", "EPIC-Tents": "epic_tents", "MECCANO": "meccano"}


@cache
def table(name: str) -> tuple[dict[str, str], ...]:
    with (FIXTURES / name).open(encoding="utf-8", newline="") as stream:
        return tuple(csv.DictReader(stream))


CASES = [row for row in table("cases.csv") if row["kind"] in ("ego", "ct") and row["outcome"].startswith("ok")]


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    """Return a video per rate and number of frames."""
    folder = tmp_path_factory.mktemp("videos")
    wanted = dict.fromkeys((case["fps"], case["n_frames"]) for case in CASES)
    return {
        (fps, n): write_video(folder / f"{i}.mp4", int(n), Fraction(fps), (32, 32)) for i, (fps, n) in enumerate(wanted)
    }


def place(root: Path, case: dict[str, str]) -> tuple[str, str, dict[str, str], Path, Path]:
    """Return dataset, layout, options, and where annotation and video go."""
    path = Path(case["path"])
    if path.is_relative_to(EGO):
        below = path.relative_to(EGO)
        video = below.with_name(below.stem.removesuffix(".egoprocel.ann") + ".mp4")
        options = {"view": below.stem.split("_")[2].split("-")[0]} if below.parts[0] == "CMU-MMAC" else {}
        dataset = FOLDERS.get(below.parts[0], below.parts[0])
        return dataset, "egoprocel", options, root / "annotations" / below, root / "videos" / video
    if "procel_csv" in path.parts:
        return "mine", "procel_csv", {}, root / "annotations/boat/b.csv", root / "videos/b.mp4"
    if "procel_stepfirst" in path.parts:
        (root / "boat").mkdir()
        shutil.copy(FIXTURES / path.parents[1] / "mapping.txt", root / "boat")
        return "mine", "procel_stepfirst", {}, root / "boat/annotations/b.csv", root / "boat/videos/b.mp4"
    if case["kind"] == "ct":
        (root / "crosstask_release").mkdir()
        shutil.copy(FIXTURES / "good/crosstask/crosstask_release/tasks_primary.txt", root / "crosstask_release")
        name = path.stem if path.stem.startswith("99") else "990001_-a_b"
        video = root / "videos" / f"{name.partition('_')[2]}.mp4"
        return "mine", "crosstask", {}, root / f"crosstask_release/annotations/{name}.csv", video
    # The malformed ones ask for a task of four steps.
    take = "CMU-MMAC/Sandwich/S90_Sandwich_7150991-4"
    return "cmu_mmac", "egoprocel", {}, root / f"annotations/{take}.csv", root / f"videos/{take}.mp4"


@pytest.mark.parametrize("case", CASES, ids=[case["path"] for case in CASES])
def test_scored_labels_are_the_expected_ones(
    tmp_path: Path, videos: dict[tuple[str, str], Path], case: dict[str, str]
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    dataset, layout, options, annotation, video = place(root, case)
    for source, target in ((FIXTURES / case["path"], annotation), (videos[case["fps"], case["n_frames"]], video)):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
    (task,) = [task for task, found in find(dataset, layout, root, options).tasks.items() if found.videos]
    write_manifest(dataset, task, root, layout, options, tmp_path / "m.csv", tmp_path / "a.csv", "fail")

    (row,) = read_manifest(tmp_path / "m.csv").to_dict("records")
    segments = read_annotations(tmp_path / "a.csv")
    assert (row["status"], row["fps"]) == ("ok", Fraction(case["fps"]))
    assert registered_facts(dataset, task, read_options(dataset, layout, options)) is not None or dataset == "mine"
    frames = scoring_frames(row["duration_s"], row["fps"], 2)
    assert len(frames) == -(-int(case["n_frames"]) // 2)
    for rule in RULES:
        (expected,) = [
            r["runs"] for r in table("expected_labels.csv") if (r["path"], r["mode"]) == (case["path"], rule)
        ]
        step, length = np.array([run.split("x") for run in expected.split()], dtype=int).T
        wanted = np.repeat(step, length)[::2]
        labels = truth_labels(segments["start_s"], segments["end_s"], segments["key_step"], frames, row["fps"], rule)
        # Key steps are numbered by those that occur; a hidden one occurs in the file and not among the labels.
        np.testing.assert_array_equal(labels == 0, wanted == 0)
        pairs = set(zip(labels.tolist(), wanted.tolist(), strict=True))
        assert len(pairs) == len({new for new, _ in pairs}) == len({old for _, old in pairs})
        assert [new for new, _ in sorted(pairs)] == [new for new, _ in sorted(pairs, key=lambda pair: pair[1])]
