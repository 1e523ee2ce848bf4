"""The split is a pure function of names, share and seed, and is the same for every method in the workflow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rgwot.datasets import registry
from rgwot.datasets.split import held_out, split_videos, subjects_of
from rgwot.runtime.errors import RgwotError
from rgwot.study.datasets import videos
from rgwot.study.jobs import settings_behind, subjects
from rgwot.study.refusals import check_result
from rgwot.study.study import Study, Task

GROUPS = st.dictionaries(st.text("abc012", min_size=1, max_size=4), st.sampled_from("stuvwxyz"), min_size=3)
FRACTIONS = st.floats(0.01, 0.99)
SEEDS = st.integers(0, 2**40)


def possible(subjects: dict[str, str]) -> bool:
    counts = [list(subjects.values()).count(subject) for subject in set(subjects.values())]
    return min(counts) <= len(subjects) - 2


@given(GROUPS, FRACTIONS, SEEDS)
def test_both_parts_are_usable_and_no_subject_is_on_both_sides(
    subjects: dict[str, str], fraction: float, seed: int
) -> None:
    assume(possible(subjects))
    held_out = split_videos(subjects, fraction, seed)
    train = subjects.keys() - held_out
    assert list(held_out) == sorted(subjects.keys() - train)
    assert len(train) >= 2
    assert len(held_out) >= 1
    assert not {subjects[video] for video in train} & {subjects[video] for video in held_out}


@given(GROUPS, FRACTIONS, SEEDS, st.randoms(use_true_random=False))
def test_the_order_of_rows_has_no_influence(subjects: dict[str, str], fraction: float, seed: int, random: Any) -> None:
    assume(possible(subjects))
    rows = list(subjects.items())
    random.shuffle(rows)
    assert split_videos(dict(rows), fraction, seed) == split_videos(subjects, fraction, seed)


@given(st.sets(st.text("abc012", min_size=1, max_size=5), min_size=3, max_size=40), FRACTIONS, SEEDS)
def test_by_video_the_share_is_met_to_half_a_video(videos: set[str], fraction: float, seed: int) -> None:
    held = len(split_videos(subjects_of(videos), fraction, seed))
    assert abs(held - min(max(fraction * len(videos), 1), len(videos) - 2)) <= 0.5 + 1e-9


@given(GROUPS, FRACTIONS, FRACTIONS, SEEDS)
def test_a_larger_share_holds_out_the_same_videos_and_more(
    subjects: dict[str, str], one: float, two: float, seed: int
) -> None:
    assume(possible(subjects))
    smaller, larger = (set(split_videos(subjects, fraction, seed)) for fraction in sorted((one, two)))
    assert smaller <= larger


@given(st.integers(3, 30), FRACTIONS, SEEDS)
def test_one_more_video_moves_at_most_one_other_video(n: int, fraction: float, seed: int) -> None:
    videos = [f"v{i}" for i in range(n + 1)]
    before = set(split_videos(subjects_of(videos[:n]), fraction, seed))
    after = set(split_videos(subjects_of(videos), fraction, seed)) - {videos[n]}
    assert len(before ^ after) <= 1


def test_every_video_is_held_out_by_some_seed_and_equally_often() -> None:
    videos = subjects_of(f"v{i}" for i in range(10))
    counts = dict.fromkeys(videos, 0)
    for seed in range(1000):
        for video in split_videos(videos, 0.3, seed):
            counts[video] += 1
    # The expected count is 300; five standard deviations of a binomial count are 72.
    assert all(228 <= count <= 372 for count in counts.values())


@pytest.mark.parametrize(
    ("subjects", "words"),
    [
        ({"a": "a", "b": "b"}, "found 2 videos of 2 subjects, expected at least 2 to train on and 1 to hold out"),
        ({"a": "s", "b": "s", "c": "s"}, "3 videos of 1 subject.*data.split_by=video"),
        ({}, "found 0 videos"),
    ],
)
def test_too_few_to_split(subjects: dict[str, str], words: str) -> None:
    with pytest.raises(RgwotError, match=words):
        split_videos(subjects, 0.35, 0)


@pytest.mark.parametrize(
    ("dataset", "task", "video", "subject"),
    [
        ("cmu_mmac", "Brownie", "S07_Brownie_7150991-1431", "s07"),
        ("egtea_gaze", "Pizza", "P16-R07-Pizza", "p16"),
        ("egtea_gaze", "Pizza", "another name", "another name"),
        ("epic_tents", "tent", "28.tent.081119.gopro", "28.tent.081119.gopro"),
    ],
)
def test_subjects_follow_from_the_registered_names(dataset: str, task: str, video: str, subject: str) -> None:
    facts = registry.facts(dataset, task)
    assert facts is not None
    assert subjects_of([video], facts.pattern) == {video: subject}


@pytest.fixture
def egtea(tmp_path: Path) -> Study:
    """Return a study of six subjects with two sessions each, and of the user's own folder with two videos."""
    for kind, suffix in (("videos", "mp4"), ("annotations", "csv")):
        folder = tmp_path / kind / "EGTEA_Gaze+"
        folder.mkdir(parents=True)
        for subject in range(1, 7):
            for take in ("Pizza", "Pizza2"):
                (folder / f"P0{subject}-R07-{take}.{suffix}").touch()
    (tmp_path / "own" / "tea").mkdir(parents=True)
    for name in "ab":
        (tmp_path / "own" / "tea" / f"{name}.mp4").touch()
    root = str(tmp_path)
    content = {
        "datasets": {
            "egtea_gaze": {"layout": "egoprocel", "root": root},
            "kitchen": {"layout": "egoprocel", "root": root, "subset": "egtea_gaze"},
            "own": {"layout": "folder", "root": f"{root}/own"},
        }
    }
    return Study.of(content)


def test_a_study_holds_out_subjects_and_the_same_for_every_method(egtea: Study) -> None:
    def held_in(dataset: str, task: str, method: str) -> tuple[str, ...]:
        data = egtea.experiments.embedding(method, dataset).data
        of_task = Task(egtea, dataset, task)
        return held_out(data, videos(of_task), subjects(of_task, data), str(of_task))

    held = held_in("egtea_gaze", "Pizza", "rgwot@data.split=holdout")
    assert len(held) == 4
    assert len({video[:3] for video in held}) == 2
    for method in ("raw@data.split=holdout", "none@data.split=holdout", "vaot@data.split=holdout,train.lr=0.1"):
        assert held_in("egtea_gaze", "Pizza", method) == held
    assert held_in("kitchen", "Pizza", "raw@data.split=holdout") == held
    assert held_in("egtea_gaze", "Pizza", "rgwot") == ()
    assert len(held_in("egtea_gaze", "Pizza", "rgwot@data.holdout=0.55,data.split=holdout")) == 6
    drawn = {held_in("egtea_gaze", "Pizza", f"raw@data.split=holdout,data.split_seed={s}") for s in range(9)}
    assert len(drawn) > 3
    by_video = [
        held_in("egtea_gaze", "Pizza", f"raw@data.split=holdout,data.split_by=video,data.split_seed={s}")
        for s in range(9)
    ]
    assert any(len({video[:3] for video in out}) > 2 for out in by_video)


def test_subjects_are_a_setting_where_they_are_held_out(egtea: Study) -> None:
    task, own = Task(egtea, "egtea_gaze", "Pizza"), Task(egtea, "own", "tea")
    told = settings_behind(task, "raw@data.split=holdout", "kmeans")["subjects"]
    assert told["P01-R07-Pizza"] == told["P01-R07-Pizza2"] == "p01"
    assert "subjects" not in settings_behind(task, "raw", "kmeans")
    assert "subjects" not in settings_behind(task, "raw@data.split=holdout,data.split_by=video", "kmeans")
    # If every video is its own subject, the subjects need not be given.
    assert "subjects" not in settings_behind(own, "raw@data.split=holdout", "kmeans")


def test_too_few_videos_are_reported_before_any_job_runs(egtea: Study) -> None:
    with pytest.raises(RgwotError, match="own/tea: found 2 videos of 2 subjects"):
        check_result(Task(egtea, "own", "tea"), "raw@data.split=holdout", "kmeans")
    check_result(Task(egtea, "own", "tea"), "raw", "kmeans")
