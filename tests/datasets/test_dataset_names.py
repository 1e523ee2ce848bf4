from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgwot.datasets.names import folded, pairing_key, stem_of, video_id

SAFE = re.compile(r"[A-Za-z0-9_%][A-Za-z0-9._%-]*")

# File names are bytes without NUL and slash; what is not UTF-8 reaches Python as lone surrogates.
STEMS = st.binary(min_size=1, max_size=40).map(
    lambda data: data.replace(b"\0", b"x").replace(b"/", b"y").decode("utf-8", "surrogateescape")
)


@given(STEMS)
def test_round_trip(stem: str) -> None:
    assert stem_of(video_id(stem)) == stem


@given(STEMS)
def test_id_is_safe_in_a_path(stem: str) -> None:
    assert SAFE.fullmatch(video_id(stem))


@given(st.lists(STEMS, unique=True, max_size=20))
def test_different_stems_have_different_ids(stems: list[str]) -> None:
    assert len({video_id(stem) for stem in stems}) == len(stems)


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


def test_empty_stem_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        video_id("")


def test_pairing_ignores_unicode_form_but_not_case() -> None:
    assert pairing_key("caf\u00e9") == pairing_key("cafe\u0301")
    assert pairing_key("Hj_Kl") != pairing_key("hj_kl")


def test_folded_drops_case_and_punctuation() -> None:
    assert folded("EGTEA_Gaze+") == folded("egtea-gaze") == "egteagaze"
    assert folded("pc_assembly") != folded("pc_disassembly")
