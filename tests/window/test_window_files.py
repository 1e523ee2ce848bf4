"""What people did in the window stays: a page shows the files as they are, and replaces only what it has read."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import WHERE, WITHOUT, Browser, Window
from page_tree import Task
from served import Served, play_on, saved, to_new_page

from rgwot import paths
from rgwot.datasets.annotation_files import read_annotation_file
from rgwot.datasets.video_table import read_groups
from rgwot.names import read_names

pytestmark = pytest.mark.skipif(WHERE is None, reason=WITHOUT)
PLAYED = "document.querySelector('#label-stage video')"


def to_labels(window: Window, video: str = "first") -> None:
    """Go to the tab of labels, and choose a video there."""
    window.click_on("#tab-label")
    choose(window, video)


def choose(window: Window, video: str) -> None:
    number = window.get(f"DATA.videos.findIndex(({{ name }}) => name === '{video}')")
    window._page.select_option("#label-video", str(number))
    window.wait_for(f"stage.video === {number} && {PLAYED}?.readyState >= 2 && !stage.element.seeking")


def labels(file: Path) -> list[str]:
    return read_annotation_file(file, marks=True)["label"].tolist()


def test_a_new_page_shows_the_labels_of_the_files_and_undo_goes_back_to_them(window: Window, task: Task) -> None:
    file = task.root / "tea" / "first.csv"
    to_labels(window)
    for key in ("1", "ArrowRight", "2", "ArrowRight", "3"):
        window.press(key)
    saved(window)
    text = file.read_text()
    to_new_page(window, task)
    assert window.get("document.querySelector('#label').hidden") is False
    assert "first (labelled)" in window.get("document.querySelector('#label-video').textContent")
    choose(window, "first")
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "4"):
        window.press(key)
    saved(window)
    assert labels(file) == [f"key step {step}" for step in (1, 2, 3, 4)]
    for _ in range(3):
        window.press("Control+z")
    saved(window)
    assert file.read_text() == text
    # So does a page that is loaded again by the browser.
    window._page.reload()
    window.wait_for("document.querySelector('#label')?.hidden === false")
    choose(window, "first")
    assert window.get("labelsOf(0).map(([, , name]) => name)") == ["key step 1", "key step 2", "key step 3"]
    assert window.errors == []


def test_answers_of_what_is_this_are_kept_by_a_new_page(window: Window, task: Task) -> None:
    def answer() -> None:
        window.wait_for("document.querySelector('#ask-stage video') !== null", 60)
        window.wait_for("document.querySelector('#ask-status').textContent === ''", 60)
        window.press("1")
        saved(window)

    def rows() -> int:
        return sum(len(labels(file)) for file in (task.root / "tea").glob("*.csv"))

    window.click_on("#tab-ask")
    answer()
    to_new_page(window, task)
    assert window.get("document.querySelector('#ask-count').textContent") == "1"
    answer()
    assert rows() == 2
    for _ in range(3):
        window.press("Control+z")
    saved(window)
    assert rows() == 1


def test_what_another_window_saved_is_not_replaced_but_shown(
    browser: Browser, window: Window, task: Task, served: Served
) -> None:
    file = task.root / "tea" / "first.csv"
    other = browser.window(1400, 900)
    other._page.goto(window.get("location.href"))
    other.wait_for("document.querySelector('#tab-label')?.hidden === false")
    # A line that there are two windows moves the tabs.
    for one in (window, other):
        one.wait_for("!document.querySelector('#many-windows').hidden", 30)
        to_labels(one)
    for key in ("1", "ArrowRight", "2"):
        window.press(key)
    saved(window)
    text = file.read_text()
    other.press("4")
    other.wait_for("document.querySelector('#unsaved').textContent.includes('is there already')")
    assert file.read_text() == text
    other.click_on("#unsaved button:last-of-type")
    saved(other)
    assert file.read_text() == text
    for key in ("ArrowRight", "ArrowRight", "3"):
        other.press(key)
    saved(other)
    assert labels(file) == [f"key step {step}" for step in (1, 2, 3)]


def test_a_name_and_a_group_are_kept_by_a_new_page(window: Window, task: Task) -> None:
    def name(nth: int, text: str) -> None:
        window.click_on(f"#rows .keystep:nth-of-type({nth}) input")
        window.write(text)
        window.press("Tab")
        saved(window)

    def group(nth: int, text: str) -> None:
        window.click_on("#tab-videos")
        window.click_on("#grouping summary")
        window.wait_for("document.querySelectorAll('#grouping-rows input').length === 3")
        window.click_on(f"#grouping-rows input:nth-of-type({nth})")
        window.write(text)
        window.press("Tab")
        saved(window)

    window.click_on("#tab-steps")
    name(1, "pour")
    group(1, "novice")
    window.click_on("#tab-steps")
    to_new_page(window, task)
    window.click_on("#tab-steps")
    assert window.get("document.querySelector('#rows input').value") == "pour"
    name(2, "stir")
    group(2, "expert")
    names = read_names(task.folder / "names" / "mine" / "tea.yaml")["raw/kmeans/seed0"]
    assert sorted(names.names.values()) == ["pour", "stir"]
    groups = read_groups(task.root / "tea" / "videos.csv", ["first", "second", "third"])
    assert groups == {"first": "novice", "second": "expert"}
    assert window.errors == []


def test_names_of_an_earlier_result_are_kept_by_a_new_page(window: Window, task: Task) -> None:
    """As if labels had changed the result between the names and the page."""
    window.click_on("#tab-steps")
    window.click_on("#rows input")
    window.write("pour")
    saved(window)
    file = task.folder / "names" / "mine" / "tea.yaml"
    result = read_names(file)["raw/kmeans/seed0"].result
    file.write_text(file.read_text().replace(result, "0123456789ab"))
    to_new_page(window, task)
    window.click_on("#tab-steps")
    window.click_on("#rows .keystep:nth-of-type(2) input")
    window.write("stir")
    saved(window)
    names = read_names(file)["raw/kmeans/seed0"]
    assert (names.result, sorted(names.names.values())) == (result, ["pour", "stir"])


@pytest.fixture
def playing(window: Window) -> Iterator[Window]:
    """Yield a window that plays a video at half speed."""
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
    assert asked[:2] == [5, 8]
    window.click_on("#cut-use")
    window.wait_for("document.querySelector('#cut-status').textContent.startsWith('Saved')")
    assert window.errors == []


def test_the_last_page_is_shown_while_a_run_makes_the_next(window: Window, task: Task, served: Served) -> None:
    page = task.tree.at(paths.PAGE)
    while served.session.runs.state()["waiting"] or served.session.runs.at_work():
        time.sleep(0.1)
    page = Path(os.path.relpath(page))
    # As a workflow does when the job of the page begins.
    page.unlink()
    window._page.reload()
    window.wait_for("document.querySelector('#tab-label')?.hidden === false", 30)
    window.click_on("#all-tasks")
    window.wait_for("document.querySelector('#tasks') !== null && document.querySelector('#tasks a') !== null", 30)
    assert "no answer" not in window.get("document.querySelector('#tasks').textContent")
    window.click_on("#tasks a")
    window.wait_for("document.querySelector('#tab-label')?.hidden === false", 30)
    assert window.get("document.querySelector('#newer').hidden")
    task.page()
    window.wait_for("!document.querySelector('#newer').hidden", 30)
    assert window.errors == []
