"""The page in a headless Chromium: what a person sees, points at, types and plays.

Every file, step and task has a name that would do harm if it were taken for markup.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import pandas as pd
import pytest
from chromium import WHERE, WITHOUT, Browser, Window
from page_tree import SECONDS, Task
from page_window import STEPS, TABS, VIDEOS, see, segment, tab
from videos import together, write_video

from rgwot import paths
from rgwot.names import names_text, read_names
from rgwot.paths import Run
from rgwot.records import read_segments
from rgwot.reporting.page.render import write_page
from rgwot.video import probe

pytestmark = pytest.mark.skipif(WHERE is None, reason=WITHOUT)

TYPED = "\"><script>window.hacked=9</script> '# %@`: {x} – 搅拌 😀"
FIRST = Run("rgwot", "graphcut", 0)


def test_the_policy_stops_what_the_page_does_not_bring(window: Window) -> None:
    window.run(
        "const e = document.createElement('script'); e.textContent = 'window.hacked = 1'; document.body.append(e);"
    )
    window.run("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=window.hacked=1>');")
    assert window.get("fetch('https://example.org/').then(() => 'sent', () => 'stopped')") == "stopped"
    time.sleep(0.2)
    assert window.get("window.hacked") is None
    assert len(window.errors) >= 3


def test_a_click_plays_from_the_segment_and_escape_stops(page_task: Task, window: Window) -> None:
    see(window, 2)
    start = window.get("segmentsOf(2, 0)[1][0]")
    window.click_on(segment(2, 1))
    window.wait_for(f"document.querySelector('#player video')?.currentTime > {start} + 0.15")
    assert window.get("document.querySelector('#player video').currentTime") < start + 4
    assert window.get("document.querySelector('#player video').paused") is False
    assert window.get("byId('player-title').textContent").startswith(VIDEOS[2])
    line = window.wait_for("document.querySelector('.card[data-video=\"2\"] .playhead')?.getBoundingClientRect().left")
    axis = window.get("document.querySelector('.card[data-video=\"2\"] .axis').getBoundingClientRect().toJSON()")
    assert axis["left"] + start / SECONDS * axis["width"] - 1 <= line <= axis["right"]
    window.press("Escape")
    window.press("Escape")
    assert window.get("byId('player').hidden")
    assert window.get("document.querySelector('.playhead')") is None
    # The strip plays from where it was clicked.
    box = window.box('.card[data-video="2"] .strip')
    window.click(box["x"] + box["width"] * 0.25, box["y"] + 20)
    window.wait_for(f"document.querySelector('#player video')?.currentTime >= {SECONDS * 0.25 - 0.1}")
    assert window.errors == []


def test_a_video_whose_clock_starts_late_plays_from_its_first_frame(window: Window, tmp_path: Path) -> None:
    late = write_video(tmp_path / "late.mkv", 90, first=300)
    window.run(f"DATA.videos[2].file = {json.dumps(late.as_uri())}; playFrom(2, 1);")
    window.wait_for("document.querySelector('#player video').currentTime >= 11", timeout_s=5)
    window.run("document.querySelector('#player video').pause(); playFrom(2, 0.5);")
    assert 10.5 <= window.get("document.querySelector('#player video').currentTime") < 11


def test_a_picture_track_other_than_that_of_the_key_steps_is_reported(window: Window, tmp_path: Path) -> None:
    """Chromium shows the first track, even if it is a single picture, which rgwot never reads."""
    film, still = write_video(tmp_path / "a.mp4", 30, 10), write_video(tmp_path / "b.mp4", 1, 10, (320, 200))
    said = {}
    for first, sources in enumerate(((film, still), (still, film))):
        path = together(tmp_path / f"two{first}.mp4", *sources)
        info = probe(path)
        assert (info.width, info.height) == (96, 64)
        facts = json.dumps({"file": path.as_uri(), "size": [info.width, info.height]})
        window.run(f"Object.assign(DATA.videos[2], {facts}); playFrom(2, 1);")
        shown = window.wait_for(
            "(({ videoWidth, videoHeight }) => videoWidth && `${videoWidth}x${videoHeight}`)"
            "(document.querySelector('#player video'))",
            timeout_s=60,
        )
        read = f"{info.width}x{info.height}"
        told = window.get("[...document.querySelectorAll('#player .notice')].map((one) => one.textContent)")
        line = f"This browser shows another picture track ({shown}) than the one of the key steps ({read})."
        assert told == [line] * (shown != read)
        said[first] = bool(told)
        window.press("Escape")
        window.press("Escape")
    assert said == {0: False, 1: True}
    assert window.errors == []


def test_everything_works_from_the_keyboard(window: Window) -> None:
    def focused() -> dict[str, str]:
        return window.run(
            "const e = document.activeElement; const s = getComputedStyle(e);"
            "return { tag: e.tagName, id: e.id, role: e.getAttribute('role'), run: e.closest('.bar')?.dataset.run,"
            " index: e.dataset.index, outline: s.outlineStyle === 'none' ? 0 : parseFloat(s.outlineWidth) };"
        )

    passed = []
    for _ in range(12):
        window.press("Tab")
        passed.append(focused())
        if passed[-1]["id"] == "tab-procedure":
            window.press("ArrowRight")
            passed[-1] = focused()
        if "index" in passed[-1]:
            break
    assert [one["id"] for one in passed if one["id"]] == ["tab-videos", "bars"]
    # Folded parts are reached by their summaries.
    assert [one["tag"] for one in passed if not one["id"]].count("SUMMARY") >= 2
    assert all(float(one["outline"]) >= 2 for one in passed), passed
    assert (passed[-1]["run"], passed[-1]["index"]) == ("-1", "0")
    assert "annotated step" in window.get("byId('popup').innerText")
    window.press("ArrowDown")
    down = focused()
    assert down["run"] == "0"
    window.press("End")
    last = focused()
    assert last["index"] == str(window.get("segmentsOf(0, 0).length - 1"))
    window.press("ArrowLeft")
    window.press("Home")
    assert (focused()["run"], focused()["index"]) == ("0", "0")
    window.press("ArrowRight")
    assert focused()["index"] == "1"
    assert "key step" in window.get("byId('popup').innerText")
    window.press("Enter")
    window.wait_for("document.querySelector('#player video')?.currentTime > 0")
    window.press("Escape")
    window.press("Escape")
    assert window.get("byId('player').hidden")
    assert (focused()["run"], focused()["index"]) == ("0", "1")
    # Views are tabs, so arrow keys go from the last one to the first.
    window.run("show('procedure', true)")
    for name in (*TABS[1:], TABS[0]):
        window.press("ArrowRight")
        assert focused()["id"] == f"tab-{name}"
        assert window.get(f"byId('{name}').hidden") is False
    assert window.errors == []


def test_names_go_round_from_the_page_to_a_file_and_back(
    page_task: Task, page: Path, browser: Browser, tmp_path: Path
) -> None:
    window = browser.window()
    window.open(page)
    tab(window, "steps")
    step = int(window.get("DATA.runs[0].steps[0]"))
    window.run(f"document.querySelector('.keystep input[data-step=\"{step}\"]').focus()")
    window.write(TYPED)
    window.press("Tab")
    # The name is used at once, and still there when the page is opened again.
    for _ in range(2):
        tab(window, "videos")
        see(window, 0)
        own = f'.card .bar[data-run="0"] .seg[data-step="{step}"]'
        labels = window.get(f"[...document.querySelectorAll('{own}')].map((e) => e.textContent)")
        assert labels
        assert set(labels) == {TYPED}
        window.open(page)
    tab(window, "steps")
    downloaded = window.download("#download", tmp_path)
    assert downloaded.suffix == ".yaml"
    names = read_names(downloaded)
    assert {run: dict(entry.names) for run, entry in names.items()} == {str(FIRST): {step: TYPED}}
    # The browser writes the segments as Python does.
    written = tmp_path / "by_python.yaml"
    segments = read_segments(page_task.tree.at(paths.SEGMENTS, FIRST))
    written.write_text(names_text(str(FIRST), segments, {step: TYPED}), encoding="utf-8")
    assert names == read_names(written)
    again = page_task.folder / "again" / "results" / "report" / "mine" / "page.html"
    # If the page is made again with the file, every browser shows the name, and the table has it.
    write_page(page_task.tree, page_task.root, page_task.runs, again, downloaded)
    table = pd.read_csv(again.with_suffix(".csv"))
    first = table[(table["method"] == "rgwot") & (table["seed"] == 0)]
    assert all(
        (TYPED in row.names_) == (str(step) in row.order.split(">"))
        for row in first.rename(columns={"names": "names_"}).itertuples()
    )
    window.run("localStorage.clear()")
    fresh = browser.window()
    fresh.open(again)
    tab(fresh, "steps")
    assert fresh.get(f"document.querySelector('.keystep input[data-step=\"{step}\"]').value") == TYPED
    assert fresh.get("window.hacked") is None
    # A change in the browser wins over the file until the file changes.
    fresh.run(f"rename(0, {step}, 'other')")
    assert fresh.get(f"nameOf(0, {step})") == "other"
    fresh.click_on("#forget")
    assert fresh.get(f"nameOf(0, {step})") == TYPED
    assert fresh.errors == []
    fresh.run("localStorage.clear()")


def test_hostile_names_are_shown_and_never_executed(window: Window) -> None:
    for name in TABS:
        tab(window, name)
    tab(window, "videos")
    for at, name in enumerate(VIDEOS):
        see(window, at)
        assert window.get(f"document.querySelector('.card[data-video=\"{at}\"] h3').textContent") == name
    legend = window.get("byId('legend').textContent")
    for step in STEPS:
        assert step in legend
    tab(window, "steps")
    assert all(step in window.get("byId('procedures').textContent") for step in STEPS)
    assert window.get("window.hacked") is None
    assert (
        window.get(
            "document.querySelectorAll('img[src=\"x\"], body svg:not(#merges), p b, [onerror], [onload], '"
            " + '[onmouseover]').length"
        )
        == 0
    )
    assert window.get("document.scripts.length") == window.get(
        "1 + 1 + 1 + DATA.runs.length + DATA.runs.filter((r) => r.view).length + DATA.videos.length"
    )
    assert window.dialogs == []
    assert window.errors == []
