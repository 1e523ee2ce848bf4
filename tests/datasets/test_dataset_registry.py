from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgwot.datasets.names import folded, stem_of, video_id
from rgwot.datasets.registry import camera, datasets, facts, match_name, tasks_of
from rgwot.datasets.settings import LAYOUTS
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.text import pairing_key


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
    row = facts(dataset, task)
    assert row is not None
    assert row.K == K
    assert facts("mine", task) is None


def test_unknown_task_lists_the_known_ones() -> None:
    with pytest.raises(RgwotError, match=r"'Browny'.*'Brownie'.*known: Brownie, Eggs, Sandwich, Salad, Pizza"):
        facts("cmu_mmac", "Browny")


def test_match_refuses_what_could_be_two() -> None:
    assert match_name("a_b", ["a_b", "a-b"], "task") == "a_b"
    with pytest.raises(RgwotError, match="known"):
        match_name("A.B", ["a_b", "a-b"], "task")


def test_a_view_is_a_name_of_the_registry_or_a_number() -> None:
    assert [camera("cmu_mmac", view) for view in (None, "ego", "Back", "42")] == ["7150991", "7150991", "6510211", "42"]
    assert camera("meccano", None) is None
    with pytest.raises(RgwotError, match="view of cmu_mmac 'bak'.*did you mean 'back'"):
        camera("cmu_mmac", "bak")


SAFE = re.compile(r"[A-Za-z0-9_%][A-Za-z0-9._%-]*")

# File names are bytes without NUL and slash; bytes that are not UTF-8 reach Python as lone surrogates.
STEMS = st.binary(min_size=1, max_size=40).map(
    lambda data: data.replace(b"\0", b"x").replace(b"/", b"y").decode("utf-8", "surrogateescape")
)


@given(STEMS)
def test_round_trip(stem: str) -> None:
    assert stem_of(video_id(stem)) == stem
    assert SAFE.fullmatch(video_id(stem))


@pytest.mark.parametrize(
    ("stem", "expected"),
    [
        ("01.tent.090617.gopro", "01.tent.090617.gopro"),
        ("S07_Brownie_7150991-1431", "S07_Brownie_7150991-1431"),
        ("-aB_cD3eF-g", "%2DaB_cD3eF-g"),
        (".hidden", "%2Ehidden"),
        ("..", "%2E."),
        ("a b%c", "a%20b%25c"),
        ("é", "%C3%A9"),
        ("{video}", "%7Bvideo%7D"),
        ("a\nb", "a%0Ab"),
        ("\udcff", "%FF"),
    ],
)
def test_known_ids(stem: str, expected: str) -> None:
    assert video_id(stem) == expected


def test_pairing_ignores_unicode_form_but_not_case() -> None:
    assert pairing_key("caf\u00e9") == pairing_key("cafe\u0301")
    assert pairing_key("Hj_Kl") != pairing_key("hj_kl")


def test_folded_drops_case_and_punctuation() -> None:
    assert folded("EGTEA_Gaze+") == folded("egtea-gaze") == "egteagaze"
    assert folded("pc_assembly") != folded("pc_disassembly")
