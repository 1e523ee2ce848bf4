"""Editing the segments of one video on the page, and the resulting annotation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from chromium import WHERE, WITHOUT, Browser
from page_tree import SECONDS, make_task
from page_window import see, segment, tab
from videos import write_video

from rgwot.datasets.manifest import write_manifest
from rgwot.records import read_annotations

if TYPE_CHECKING:
    from chromium import Window
    from page_tree import Task

pytestmark = pytest.mark.skipif(WHERE is None, reason=WITHOUT)

HOSTILE = 'stir, "slowly" – 搅拌'


@pytest.fixture
def open_page(page_task: Task, page: Path, browser: Browser) -> Window:
    window = browser.window()
    window.open(page)
    window.run("localStorage.clear()")
    window.open(page)
    tab(window, "videos")
    window.run("byId('editing').open = true")
    see(window, 0)
    return window


def rows(window: Window, video: int = 0) -> list[list[float]]:
    """Return the segments of a video as its bar shows them."""
    found: list[list[float]] = window.get(f"shownOf({video})")
    return found


def cut(window: Window, index: int, share: float) -> float:
    """Click a segment at a share of its length, cut it there, and return the time."""
    start, end, _ = rows(window)[index]
    box = window.box(segment(0, index))
    window.click(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
    window.frames()
    assert window.get("state.chosen.at") / 1000 == pytest.approx(start + share * (end - start), abs=0.05)
    window.click_on("#edit-cut")
    return float(window.get("state.chosen.at") / 1000)


def test_borders_cuts_and_other_key_steps_of_one_video(open_page: Window) -> None:
    window = open_page
    found, others = rows(window), rows(window, 1)
    before = window.get("JSON.stringify([DATA.scores, DATA.runs, bodyOf(0)])")
    at = next(at for at, (_, _, step) in enumerate(found[:-1]) if step)
    start, end, step = found[at]
    window.click_on(segment(0, at))
    assert window.get("player.hidden")
    assert f"key step {step}" in window.get("byId('edit-chosen').textContent")
    # A border is dragged, then moved by keys: one edit, by which the neighbour grows.
    box = window.box(".grip.end")
    width = window.get("document.querySelector('.grip.end').parentElement.getBoundingClientRect().width")
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    window.drag((x, y), (x - width * 0.2 / SECONDS, y))
    now = rows(window)
    assert now[at] == [start, pytest.approx(end - 0.2, abs=0.02), step]
    assert now[at + 1] == [now[at][1], *found[at + 1][1:]]
    assert [now[:at], now[at + 2 :]] == [found[:at], found[at + 2 :]]
    window.press(".")
    assert rows(window)[at][1] == pytest.approx(now[at][1] + 0.1, abs=0.001)
    window.press("Control+z")
    assert rows(window) == found
    # A segment grows over its neighbours; they keep what is left.
    window.run(f"choose(0, {1000 * (start + end) / 2}); moveChosen('end', {1000 * SECONDS})")
    assert rows(window) == [*found[:at], [start, float(SECONDS), step]]
    window.press("Control+z")
    # If the last segment ends earlier, background follows it.
    window.run(f"choose(0, {1000 * (SECONDS - 0.01)}); moveChosen('end', {1000 * (SECONDS - 0.05)})")
    assert rows(window)[-1] == [SECONDS - 0.05, float(SECONDS), 0]
    window.press("Control+z")
    # One part of a segment gets another key step, and the other part becomes background.
    other = next(one for one in window.get("stepsOf(0)") if one != step)
    time = cut(window, at, 0.6)
    assert rows(window)[at : at + 2] == [[start, time, step], [time, end, step]]
    window.run(f"byId('edit-other').value = '{other}'")
    window.click_on("#edit-give")
    assert rows(window)[at + 1] == [time, end, other]
    window.run(f"document.querySelector('{segment(0, at)}').focus()")
    window.press("Delete")
    assert rows(window)[at : at + 2] == [[start, time, 0], [time, end, other]]
    assert "edited" in window.get("document.querySelector('.card .axis').textContent")
    # Nothing else has changed.
    assert rows(window, 1) == others
    assert window.get("segmentsOf(0, 0)") == found
    assert window.get("JSON.stringify([DATA.scores, DATA.runs, bodyOf(0)])") == before
    assert window.errors == []


def test_a_video_is_edited_while_it_plays(open_page: Window) -> None:
    window, found = open_page, rows(open_page)
    at = next(at for at, (_, _, step) in enumerate(found[1:-1], 1) if step)
    start, end, step = found[at]
    now = "(state.playing.element.currentTime - state.playing.origin)"

    def stop(seconds: float) -> None:
        window.run(
            f"const {{ element, origin }} = state.playing; element.pause(); element.currentTime = origin + {seconds};"
        )
        window.wait_for(f"Math.abs(state.chosen.at - {1000 * seconds}) < 20", timeout_s=10)

    # While a video plays, the current segment is chosen, whatever was chosen before.
    window.run(f"choose(0, {1000 * start}); act('edit-play')")
    window.wait_for(f"state.playing && {now} > {start} && !state.playing.element.paused", timeout_s=20)
    window.wait_for(f"state.chosen.at > {1000 * start} + 50", timeout_s=20)
    window.press("p") if window.get("player.contains(document.activeElement)") else window.run("act('edit-play')")
    assert window.get("state.playing.element.paused")
    # The nearer border moves to the time of the video, from either side.
    late, early = start + 0.2, end - 0.2
    stop(late)
    window.click_on("#edit-border")
    assert rows(window)[at][0] == pytest.approx(late, abs=0.02)
    assert rows(window)[at - 1][1] == rows(window)[at][0]
    stop(early)
    window.run("byId('player').querySelector('video').focus()")
    window.press("b")
    assert rows(window)[at] == [pytest.approx(late, abs=0.02), pytest.approx(early, abs=0.02), step]
    assert rows(window)[at + 1][0] == rows(window)[at][1]
    # A cut is made at the time of the video, to which a click on a segment seeks.
    stop((late + early) / 2)
    window.click_on("#edit-cut")
    assert rows(window)[at][1] == pytest.approx((late + early) / 2, abs=0.02)
    window.click_on(segment(0, at + 1))
    chosen = window.get("state.chosen.at")
    window.wait_for(f"Math.abs({now} * 1000 - {chosen}) < 20", timeout_s=10)
    assert window.get("state.chosen.index") == at + 1
    # Once a segment of this video is chosen, another video that plays is no longer edited.
    window.run("playFrom(1, 0.5)")
    window.wait_for("state.chosen.video === 1", timeout_s=20)
    window.click_on(segment(0, at))
    window.wait_for("state.playing.element.paused", timeout_s=10)
    window.frames(10)
    assert window.get("state.chosen.video") == 0
    assert window.errors == []


def test_a_segment_can_be_of_a_key_step_that_was_not_found(open_page: Window, page: Path) -> None:
    window = open_page
    at = next(at for at, (_, _, step) in enumerate(rows(window)) if step)
    new = max(window.get("stepsOf(0)"), default=0)

    def give(index: int, name: str) -> float:
        window.click_on(segment(0, index))
        window.run(f"byId('edit-new').value = {name!r}")
        window.click_on("#edit-give")
        return rows(window)[index][2]

    step = give(at, "rinse")
    assert step > new
    assert window.get("byId('edit-new').value") == ""
    # The same name is the same key step, in every video and after the page was opened again.
    assert give(at + 1, "rinse") == step
    window.open(page)
    tab(window, "videos")
    window.run("byId('editing').open = true")
    see(window, 0)
    assert give(at + 2, "wipe") == step + 1
    assert [line.split(",")[2] for line in window.get("annotationOf(0)").splitlines()[1:]][at : at + 3] == [
        "rinse",
        "rinse",
        "wipe",
    ]
    # Its name is not kept for other videos of the result, in which it does not occur.
    assert "rinse" not in window.get("namesFile()")
    assert give(at, "-") == 0
    assert window.errors == []


def test_edits_stay_in_the_browser_until_they_are_taken_back(open_page: Window, page: Path) -> None:
    window, found = open_page, rows(open_page)
    at = next(at for at, (_, _, step) in enumerate(found) if step)
    cut(window, at, 0.5)
    now = rows(window)
    window.open(page)
    tab(window, "videos")
    see(window, 0)
    assert rows(window) == now
    assert window.get("byId('editing-count').textContent") == "(1 video edited)"
    window.click_on('.card[data-video="0"] .back')
    assert rows(window) == found
    assert window.get("document.querySelector('.card[data-video=\"0\"] .back')") is None
    assert window.errors == []


def test_the_annotation_of_a_video_is_read_beside_it(browser: Browser, tmp_path: Path) -> None:
    task = make_task(tmp_path / "made", annotated=False)
    window = browser.window()
    window.open(task.page())
    tab(window, "videos")
    window.run("byId('editing').open = true")
    see(window, 0)
    one, other, third, *_ = sorted({step for _, _, step in rows(window) if step})
    # Key steps with the same name are one key step, and a key step named "-" is background.
    window.run(f"rename(0, {one}, {HOSTILE!r}); rename(0, {other}, {HOSTILE!r}); namesChanged()")
    assert window.get(f"[sameStep(0, {other}), lookOf(0, {other}).join()]") == [
        one,
        window.get(f"lookOf(0, {one}).join()"),
    ]
    at = next(at for at, (_, _, step) in enumerate(rows(window)) if step == third)
    cut(window, at, 0.5)
    window.click_on("#edit-none")
    called = {0: "", one: HOSTILE, other: HOSTILE}
    expected = [(start, end, called.get(step, f"key step {step}")) for start, end, step in rows(window)]
    file = window.download('.card[data-video="0"] .save', tmp_path)
    assert file.name == "first.csv"
    # The layout `folder` reads the file.
    root = tmp_path / "root"
    (root / "tea").mkdir(parents=True)
    write_video(root / "tea" / "first.mp4", SECONDS * 30, size=(160, 120))
    (root / "tea" / "first.csv").write_bytes(file.read_bytes())
    write_manifest("mine", "tea", root, "folder", {}, tmp_path / "m.csv", tmp_path / "a.csv", "fail")
    # All other time was annotated as background (`silence` is `throughout`).
    table = read_annotations(tmp_path / "a.csv", background=True).sort_values("start_s")
    assert [tuple(row) for row in table[["start_s", "end_s", "name"]].to_numpy().tolist()] == expected
    assert (table["key_step"] == 0).tolist() == [name == "" for *_, name in expected]
    assert table["start_s"].iloc[0] == 0
    assert table["end_s"].iloc[-1] == SECONDS
    told = window.get("byId('edit-status').textContent")
    assert "tea/first.mp4" in told
    assert "rgwot run first" in told
    # Features in a .csv file of this name would be overwritten.
    window.run("DATA.videos[0].path = 'tea/first.csv'; refreshCards(); document.querySelector('.card .save').click()")
    assert "folder annotations" in window.get("byId('edit-status').textContent")
    window.run(f"rename(0, {one}, '-'); rename(0, {other}, '-'); namesChanged()")
    text = window.get("annotationOf(0)")
    assert HOSTILE not in text
    assert [line.split(",")[2] for line in text.splitlines()[1:]] == [
        "-" if name in ("", HOSTILE) else name for *_, name in expected
    ]
    assert window.errors == []
    window.run("localStorage.clear()")


def marks(window: Window, video: int) -> list[list[float]]:
    return [row for row in rows(window, video) if row[0] == row[1]]


def test_marks_stay_marks(browser: Browser, tmp_path: Path) -> None:
    given = {"second": "start_s,end_s,label\n1,,stir\n2,3,-\n3.5,,-\n"}
    task = make_task(tmp_path / "made", taught=1, given=given)
    window = browser.window()
    window.open(task.page())
    tab(window, "videos")
    window.run("byId('editing').open = true")
    see(window, 1)
    # The annotation has a segment of background, and marks of a key step and of background.
    assert window.get("bar(1, -1).getAttribute('aria-label')") == "annotation: 1 segment and 2 marks of second"
    labels = '[...document.querySelectorAll(\'.card[data-video="1"] .bar[data-run="{}"] .mark\')]'
    labels += ".map((one) => one.getAttribute('aria-label'))"
    told = ["stir, marked at 0:01.0", "background, marked at 0:03.5"]
    assert window.get(labels.format(0)) == told
    assert window.get(labels.format(-1)) == [f"annotated step 2: {told[0]}", told[1]]
    assert window.get("annotationOf(1, true)") == "start_s,end_s,label\n2,3,-\n1,,stir\n3.5,,-\n"
    # Other time is unknown, not background.
    assert window.get("describe({ at: 1, seconds: 5, run: -1, segment: null })[0]") == "not labelled"
    # A moment is marked with the key step found there, and then with another one.
    actual = rows(window, 2)
    index = next(at for at, (_, _, step) in enumerate(actual) if step)
    see(window, 2)
    box = window.box(segment(2, index))
    window.click(box["x"] + 0.4 * box["width"], box["y"] + box["height"] / 2)
    window.press("m")
    time = window.get("state.chosen.at") / 1000
    assert rows(window, 2) == [*actual, [time, time, actual[index][2]]]
    assert window.get("[byId('edit-none').textContent, byId('edit-cut').disabled]") == ["Delete the mark", True]
    other = 1 + actual[index][2] % 3
    window.run(f"byId('edit-other').value = '{other}'")
    window.click_on("#edit-give")
    assert marks(window, 2) == [[time, time, other]]
    # The mark is dragged and moved by keys, one edit, which is undone; a later move is kept if the page is reopened.
    grip = window.box(".grip.mark")
    width = window.get("document.querySelector('.grip.mark').parentElement.getBoundingClientRect().width")
    x, y = grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2
    window.drag((x, y), (x + width * 0.3 / SECONDS, y))
    moved = marks(window, 2)
    assert moved == [[pytest.approx(time + 0.3, abs=0.03)] * 2 + [other]]
    window.press(".")
    window.press(",")
    window.press(",")
    assert marks(window, 2)[0][0] == pytest.approx(moved[0][0] - 0.1, abs=0.001)
    window.press("Control+z")
    assert marks(window, 2) == [[time, time, other]]
    window.press(".")
    moved = marks(window, 2)
    window.open(task.tree.results / "report/mine/tea.html")
    tab(window, "videos")
    window.run("byId('editing').open = true")
    assert marks(window, 2) == moved
    # A border of a segment moves without the mark, and a second mark is deleted.
    window.run(f"choose(2, {1000 * actual[index][0]} + 1); moveChosen('end', {1000 * actual[index][0]} + 50)")
    assert marks(window, 2) == moved
    window.press("Control+z") if window.get("cards.contains(document.activeElement)") else window.run("takeBack()")
    see(window, 2)
    window.click_on(segment(2, len(actual) - 1))
    window.press("m")
    assert len(marks(window, 2)) == 2
    window.press("Delete")
    assert marks(window, 2) == moved
    # The downloaded file is read as marks.
    file = window.download('.card[data-video="2"] .save.marks', tmp_path)
    root = task.root / "tea"
    (root / "third.csv").write_bytes(file.read_bytes())
    (root / "second.csv").write_text(window.get("annotationOf(1, true)"), encoding="utf-8")
    write_manifest("mine", "tea", task.root, "folder", {}, tmp_path / "m.csv", tmp_path / "a.csv", "fail")
    table = read_annotations(tmp_path / "a.csv", background=True)
    read = {
        video: sorted(part.to_numpy().tolist())
        for video, part in table.groupby("video")[["start_s", "end_s", "key_step"]]
    }
    assert read["second"] == [[1, 1, 2], [2, 3, 0], [3.5, 3.5, 0]]
    assert read["third"] == moved
    # The segments of the whole video are an annotation without marks.
    assert ",," not in window.get("annotationOf(2)")
    assert window.errors == []
    window.run("localStorage.clear()")


def test_marks_beside_a_result_that_did_not_learn_from_them(browser: Browser, tmp_path: Path) -> None:
    task = make_task(tmp_path, annotated=False, given={"second": "time_s,label\n1,stir\n"})
    window = browser.window()
    window.open(task.page())
    tab(window, "videos")
    window.run("byId('editing').open = true")
    see(window, 1)
    # The annotated step 1 is not the found key step 1.
    assert marks(window, 1) == [[1, 1, -1]]
    assert window.get("[fullLabel(0, -1), lookOf(0, -1).join()]") == ["annotated step 1: stir", "step,s1"]
    assert window.get("annotationOf(1, true)") == "start_s,end_s,label\n1,,stir\n"
    window.click_on('.card[data-video="1"] .bar[data-run="0"] .mark')
    window.press("Delete")
    assert marks(window, 1) == []
    window.click_on('.card[data-video="1"] .back')
    assert marks(window, 1) == [[1, 1, -1]]
    assert window.errors == []
    window.run("localStorage.clear()")


def test_baselines_are_not_edited(open_page: Window) -> None:
    window = open_page
    trivial = next(at for at, run in enumerate(window.get("DATA.runs")) if run["method"] == "none")
    window.run(f"chooseRun({trivial})")
    assert window.get("byId('editing').hidden")
    assert window.get("document.querySelector('.card .save')") is None
