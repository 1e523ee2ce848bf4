"""What holds for every layout, and requests that cannot be met."""

from __future__ import annotations

from pathlib import Path

import pytest
from layout_helpers import touch

from rgwot.config.layouts import LAYOUTS
from rgwot.datasets.finding import find, layout_module
from rgwot.runtime.errors import RgwotError


@pytest.mark.parametrize("layout", LAYOUTS)
def test_missing_root_is_one_line_that_says_what_is_expected(tmp_path: Path, layout: str) -> None:
    with pytest.raises(RgwotError) as caught:
        find("meccano", layout, tmp_path / "none")
    message = str(caught.value)
    for clue in ("'meccano'", str(tmp_path / "none"), layout_module(layout).EXPECTED, "`roots`", "config.yaml"):
        assert clue in message
    assert "\n" not in message


def test_missing_half_of_the_tree(tmp_path: Path) -> None:
    touch(tmp_path, "videos/MECCANO/0003.mp4")
    with pytest.raises(RgwotError, match=r"'meccano': no folder .*annotations"):
        find("meccano", "egoprocel", tmp_path)


def test_a_task_that_is_not_there(tmp_path: Path) -> None:
    touch(tmp_path, "tea/a.mp4", "loose.mp4")
    found = find("mine", "folder", tmp_path)
    with pytest.raises(
        RgwotError, match=r"mine/soup: no video in .*\(found tea; 1 videos fit no task, like loose.mp4\)"
    ):
        found.of("soup")


def test_unknown_layout_and_option(tmp_path: Path) -> None:
    with pytest.raises(RgwotError, match=r"layout 'egoprocl'.*did you mean 'egoprocel'"):
        find("mine", "egoprocl", tmp_path)
    with pytest.raises(RgwotError, match=r"option 'strickt'.*did you mean 'strict'"):
        find("mine", "folder", tmp_path, {"strickt": True})
    with pytest.raises(RgwotError, match="view 'ego'; expected none"):
        find("meccano", "egoprocel", tmp_path, {"view": "ego"})
