from __future__ import annotations

import re
from collections import Counter

import pytest

from rgwot.config.layouts import LAYOUTS
from rgwot.datasets.registry import camera, datasets, facts, key_steps, match, tasks_of
from rgwot.runtime.errors import RgwotError


def test_every_row_is_consistent() -> None:
    rows = [row for name in datasets() for row in tasks_of(name)]
    assert max(Counter((row.dataset, row.task) for row in rows).values()) == 1
    for row in rows:
        assert row.layout in LAYOUTS
        assert re.fullmatch(r"[A-Za-z0-9_]+", row.task)
        assert list(row.step_ids) == sorted(set(row.step_ids))
        assert len(row.step_ids) == row.K
        assert row.step_ids[0] >= 1
        assert bool(row.views) == ("camera" in re.compile(row.pattern).groupindex)
        assert row.n_videos is None or row.n_videos > 1
        assert row.source


def test_eggs_has_a_hole() -> None:
    row = facts("cmu_mmac", "Eggs")
    assert row is not None
    assert row.K == 8
    assert row.step_ids == (1, 2, 3, 4, 5, 6, 7, 9)


@pytest.mark.parametrize(
    ("dataset", "task", "K"),
    [
        ("meccano", "meccano", 17),
        ("EPIC-Tents", "Tent", 12),
        ("CROSSTASK", "105222", 6),
        ("egtea gaze+", "pizza", 8),
    ],
)
def test_key_steps_without_case_and_punctuation(dataset: str, task: str, K: int) -> None:
    assert key_steps(dataset, task) == K


def test_own_datasets_have_no_facts() -> None:
    assert facts("mine", "tea") is None
    assert key_steps("mine", "tea") is None
    assert tasks_of("mine") == ()


def test_unknown_task_lists_the_known_ones() -> None:
    with pytest.raises(RgwotError, match=r"'Browny'.*'Brownie'.*known: Brownie, Eggs, Sandwich, Salad, Pizza"):
        facts("cmu_mmac", "Browny")


def test_match_refuses_what_could_be_two() -> None:
    assert match("a_b", ["a_b", "a-b"], "task") == "a_b"
    with pytest.raises(RgwotError, match="known"):
        match("A.B", ["a_b", "a-b"], "task")


def test_a_view_is_a_name_of_the_registry_or_a_number() -> None:
    assert [camera("cmu_mmac", view) for view in (None, "ego", "Back", "42")] == ["7150991", "7150991", "6510211", "42"]
    assert camera("meccano", None) is None
    with pytest.raises(RgwotError, match="view of cmu_mmac 'bak'.*did you mean 'back'"):
        camera("cmu_mmac", "bak")
