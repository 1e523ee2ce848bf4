"""The page for a person who compares videos: times, examples side by side, and which videos are listed."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
from chromium import WHERE, WITHOUT, Window
from page_tree import SECONDS, Task, embedded_data, make_task

#: The procedure that is shown.
OWN = ".procedure:not([hidden])"
#: The players of examples.
PLAYERS = "[...document.querySelectorAll('.examples video')]"
pytestmark = pytest.mark.skipif(WHERE is None, reason=WITHOUT)


@pytest.fixture(scope="module")
def tea(tmp_path_factory: pytest.TempPathFactory) -> Task:
    task = make_task(tmp_path_factory.mktemp("times"), ("first", "second", "third", "fourth"))
    task.page()
    return task


@pytest.fixture
def window(browser, tea: Task) -> Window:  # type: ignore[no-untyped-def]
    opened = browser.window(1400, 900)
    opened.open(tea.page())
    return opened


def test_times_are_those_of_the_segments_and_a_file_has_them_all(window: Window, tea: Task, tmp_path: Path) -> None:
    window.click_on(f"{OWN} .budget summary")
    window.wait_for(f"document.querySelectorAll('{OWN} .budget tbody tr').length > 4")
    table = pd.read_csv(window.download(f"{OWN} .budget button", tmp_path))
    found = tea.segments(tea.runs[0])
    found = found.assign(
        step=found["shows"].where(found["counts"].astype(bool), 0), s=found["end_s"] - found["start_s"]
    )
    for (video, step), own_rows in found[found["step"] > 0].groupby(["video", "step"]):
        row = table[(table["video"] == video) & (table["key_step"] == step)]
        assert row["seconds"].item() == pytest.approx(own_rows["s"].sum(), abs=0.002)
    assert table.groupby("video")["seconds"].sum().round(2).tolist() == [SECONDS] * 4
    shown = window.get(
        f"[...document.querySelectorAll('{OWN} .budget table')[0].rows].map((row) => row.cells[1].textContent)"
    )
    steps = table[table["key_step"] > 0].groupby("key_step")["occurrences"].sum()
    assert sorted(map(int, shown[1:])) == sorted(steps.tolist())
    # Time of no key step has a column only if there is some, and what is not there is empty, not 0.0.
    rests = (
        f"[...document.querySelectorAll('{OWN} .budget table')[1].rows]"
        ".map((row) => [...row.cells].map((cell) => cell.textContent)).map((cells) => cells[cells.length - 2])"
    )
    assert "Rest" not in window.get(rests)
    window.run(f"DATA.videos[1].duration += 1.2; drawBudget(document.querySelector('{OWN} .budget'))")
    assert window.get(rests) == ["Rest", "", "1.2", "", ""]
    assert window.errors == []


def test_examples_of_a_step_play_together_and_again(window: Window) -> None:
    window.click_on("#tab-steps")
    window.click_on(".keystep .play")
    window.wait_for("document.querySelectorAll('.examples video').length >= 3")
    starts = window.wait_for(
        f"{PLAYERS}.every((one) => !one.paused) && {PLAYERS}.map((one) => one.currentTime)",
        20,
    )
    captions = window.get("[...document.querySelectorAll('.examples figcaption')].map((one) => one.textContent)")
    told = [float(re.search(r"0:(\d+\.\d) to", caption)[1]) for caption in captions]  # type: ignore[index]
    assert [start - first for start, first in zip(starts, told, strict=True)] == pytest.approx(
        [0.2] * len(told), abs=0.35
    )
    # They have their size and a picture before the videos are there.
    window.run("closeExamples(); byId('rows').querySelectorAll('.play')[1].click()")
    early = "[...document.querySelectorAll('.examples video')].map((one) => one.getBoundingClientRect().height)"
    heights = window.get(early)
    assert min(heights) > 50
    window.wait_for(f"{PLAYERS}.every((one) => one.style.backgroundImage.startsWith('url'))")
    window.wait_for(f"{PLAYERS}.every((one) => !one.paused)", 20)
    assert window.get(early) == heights
    # Those of another step that are closed above do not move what was clicked.
    row = "byId('rows').querySelectorAll('.keystep')[2]"
    before = window.get(f"({row}.scrollIntoView({{block: 'center'}}), {row}.getBoundingClientRect().top)")
    window.run(f"{row}.querySelector('.play').click()")
    assert window.get(f"{row}.getBoundingClientRect().top") == pytest.approx(before, abs=1)
    # All players reach the end, and begin again.
    window.wait_for(f"{PLAYERS}.every((one) => one.paused)", 20)
    window.wait_for(f"{PLAYERS}.every((one) => !one.paused)", 20)
    window.click_on("#tab-videos")
    assert window.get("document.querySelector('.examples')") is None
    assert window.errors == []


def test_a_field_stays_in_its_place_while_a_name_is_typed(window: Window) -> None:
    window.click_on("#tab-steps")
    place = "document.querySelector('#rows input').getBoundingClientRect().toJSON()"
    before = window.get(place)
    window.click_on("#rows input")
    window.write("a name that is longer than the place for it beside the number")
    assert window.get(place) == window.get(place) | {key: before[key] for key in ("x", "width")}
    window.run("forgetTyped(0)")


def test_videos_are_listed_by_their_deviations_or_a_part_of_their_name(window: Window) -> None:
    lines = (
        f"[...document.querySelectorAll('{OWN} .line:not([hidden])')]"
        ".map((one) => [one.querySelector('h3').firstChild.textContent.trim(), Number(one.dataset.number)])"
    )
    numbers = [number for _, number in window.get(lines)]
    assert numbers == sorted(numbers, reverse=True)
    window.click_on(f"{OWN} .sift input")
    window.write("IR")
    assert sorted(name for name, _ in window.get(lines)) == ["first", "third"]
    window.click_on("#tab-videos")
    cards = "[...document.querySelectorAll('.card:not([hidden]) h3')].map((one) => one.textContent)"
    assert window.get(cards) == ["first", "fourth", "second", "third"]
    window.click_on("#sift-videos input")
    window.write("fo")
    assert window.get(cards) == ["fourth"]
    assert window.errors == []


def test_a_card_shows_its_needs_over_its_pictures_and_covers_no_other(window: Window) -> None:
    card = window.box(f"{OWN} .node .shots > *")
    window.point(card["x"] + 5, card["y"] + 5)
    window.wait_for("!document.querySelector('#popup').hidden")
    words = window.get("document.querySelector('#popup').textContent")
    assert "nothing is known to come before it" in words or "after" in words
    assert " at 0:" in words
    tip, *nodes = window.get(
        f"[document.querySelector('#popup'), ...document.querySelectorAll('{OWN} .node')]"
        ".map((one) => one.getBoundingClientRect().toJSON())"
    )
    for node in nodes:
        apart = node["right"] <= tip["left"] or node["left"] >= tip["right"]
        assert apart or node["bottom"] <= tip["top"] or node["top"] >= tip["bottom"]


def test_on_a_phone_the_picture_is_on_the_first_screen_and_nothing_scrolls_sideways(window: Window) -> None:
    window.resize(390, 844, mobile=True)
    window.frames()
    assert window.get(f"document.querySelector('{OWN} .sentences').getBoundingClientRect().bottom") < 500
    assert window.get(f"document.querySelector('{OWN} .node').getBoundingClientRect().bottom") < 844
    assert window.get(f"document.querySelector('{OWN} .steptable').scrollWidth") <= 370
    assert window.get("document.documentElement.scrollWidth <= window.innerWidth")


def test_trivial_results_are_offered_only_under_scores(window: Window, tea: Task) -> None:
    kinds = [run["kind"] for run in embedded_data(tea.page())["runs"]]  # type: ignore[attr-defined]
    assert kinds.count("trivial") == 2
    assert window.get("[...byId('run').options].length") == len(kinds) - 2
    window.click_on("#tab-scores")
    assert "none / random" in window.get("byId('score-table').textContent")


def test_on_a_phone_the_tabs_are_one_row_and_the_shown_one_is_in_sight(window: Window) -> None:
    window.resize(390, 844, mobile=True)
    tabs = "[...document.querySelectorAll('[role=tab]:not([hidden])')].map((e) => e.getBoundingClientRect().toJSON())"
    assert len({box["top"] for box in window.get(tabs)}) == 1
    window.run("document.querySelector('#tab-procedure').focus()")
    for key, at in (("End", -1), ("Home", 0)):
        window.press(key)
        box = window.get(tabs)[at]
        assert box["left"] >= 0
        assert box["right"] <= 390
    assert window.get("document.documentElement.scrollWidth") <= 390
