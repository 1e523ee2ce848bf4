"""What people did in the window stays: a page shows the files as they are, and replaces only what it has read."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from chromium import WHERE, WITHOUT, Window
from page_tree import Task
from served import Served, play_on, saved

from rgwot.datasets.annotation_files import read_annotation_file

pytestmark = pytest.mark.skipif(WHERE is None, reason=WITHOUT)
PLAYED = "document.querySelector('#label-stage video')"


def to_labels(window: Window, video: str = "first") -> None:
    """Go to the tab of labels, and choose a video there."""
    window.click_on("#tab-label")
    choose(window, video)


def choose(window: Window, video: str) -> None:
    number = window.get(f"DATA.videos.findIndex(({{ name }}) => name === '{video}')")
    window._page.select_option("#label-video", str(number))
    window.wait_for(f"stage.video === {number} && {PLAYED}?.readyState >= 2")


@pytest.fixture
def playing(window: Window) -> Iterator[Window]:
    """A window that plays a video at half the speed."""
    to_labels(window)
    for key in ("-", " "):
        window.press(key)
    yield window
    assert window.errors == []


@pytest.mark.parametrize("left", ["Enter", "ArrowLeft", "another tab", "reload"])
def test_a_running_step_lasts_to_the_playhead_when_one_leaves(playing: Window, task: Task, left: str) -> None:
    playing.press("1")
    drawn = playing.wait_for("shownRows[0]?.[1] - shownRows[0]?.[0] >= 500 && shownRows[0][1]")
    if left == "another tab":
        playing.click_on("#tab-videos")
    elif left == "reload":
        # A box would ask whether to leave what is not saved.
        saved(playing)
        playing._page.reload()
        playing.wait_for("document.querySelector('#label')?.hidden === false")
    else:
        playing.press(left)
    saved(playing)
    rows = read_annotation_file(task.root / "tea" / "first.csv", marks=True)
    assert rows["label"].tolist() == ["key step 1"]
    assert rows["end_s"].iloc[0] >= drawn / 1000 >= rows["start_s"].iloc[0] + 0.5


def test_a_step_begun_in_pause_runs_and_one_that_pauses_runs_on(window: Window, task: Task) -> None:
    to_labels(window)
    for key in ("-", "1", " "):
        window.press(key)
    play_on(window, 0.6)
    window.press(" ")
    window.wait_for("labelsOf(0)[0][1] >= 600", 30)
    saved(window)
    file = task.root / "tea" / "first.csv"
    end = read_annotation_file(file)["end_s"].iloc[0]
    assert end >= 0.6
    window.press(" ")
    play_on(window, 0.4)
    window.press("Enter")
    saved(window)
    assert read_annotation_file(file)["end_s"].iloc[0] >= end + 0.4
    # A step does not follow the slider of the video.
    choose(window, "third")
    window.press("2")
    window.run("stage.element.currentTime = stage.origin + 4")
    window.wait_for("!stage.element.seeking && here() >= 3900")
    window.press("Enter")
    saved(window)
    assert read_annotation_file(task.root / "tea" / "third.csv")["end_s"].iloc[0] < 1
    assert window.errors == []


def test_a_number_that_is_passed_over_does_not_end_the_search_for_the_next(
    window: Window, task: Task, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_K = served.session.answers.with_K
    asked = []

    def slow(dataset: str, name: str, K: int) -> object:
        asked.append(K)
        time.sleep(1.0)
        return with_K(dataset, name, K)

    monkeypatch.setattr(served.session.answers, "with_K", slow)
    # An outdated page.
    task.page()
    window.wait_for("!document.querySelector('#newer').hidden", 30)
    window.click_on("#tab-tree")
    window.run("document.querySelector('#cut').focus()")
    for K in (5, 6, 7, 8):
        window.press("ArrowRight")
        window.wait_for(f"document.querySelector('#cut-status').textContent === 'Looking for {K} key steps.'")
    window.run(
        "window.ended = []; new MutationObserver(() => window.ended.push(document.querySelector('#cut-use').hidden))"
        ".observe(document.querySelector('#cut-use'), { attributes: true });"
    )
    window.wait_for("factsOf(state.run).K === 8", 60)
    assert not any(window.get("window.ended"))
    assert window.get("document.querySelector('#cut-use').textContent") == "Use 8"
    # Numbers that are passed over while one is looked for are not looked for.
    assert asked == [5, 8]
    window.click_on("#cut-use")
    window.wait_for("document.querySelector('#cut-status').textContent.startsWith('Saved')")
    assert window.errors == []
