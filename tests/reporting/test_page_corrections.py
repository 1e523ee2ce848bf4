"""Corrections on the page: the same as in Python, and from the page to a file and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from chromium import WHERE, WITHOUT, Browser
from page_tree import embedded_data
from page_window import see, segment, tab

from rgwot.corrections import apply_corrections, parse_edits, read_corrections, reference, write_corrections
from rgwot.keysteps.ordering import order_of_segments
from rgwot.reporting.page.render import write_page

if TYPE_CHECKING:
    from chromium import Window
    from page_tree import Task

pytestmark = pytest.mark.skipif(WHERE is None, reason=WITHOUT)

SAID = "\" ' \\ : # {[]} é 名 \u2028 \u202e <script>"


def drawn_edits(rng: np.random.Generator, segments: Any, count: int) -> list[dict[str, Any]]:
    """Draw edits of a result, some of which mean nothing in it."""
    rows = segments[segments["key_step"] > 0].to_dict("records")
    found: list[dict[str, Any]] = []
    for _ in range(count):
        one, other = (rows[int(rng.integers(len(rows)))] for _ in range(2))
        step, into = (list(reference(segments, row["key_step"])) for row in (one, other))
        own = [one["video"], round(one["start_s"], 3), round(one["end_s"], 3)]
        time_s = round(float(rng.uniform(0, 7)), 3)
        found.append(
            [
                {"edit": "merge", "step": step, "into": into, "why": SAID},
                {"edit": "rename", "step": step, "name": f"n{rng.integers(3)}"},
                {"edit": "split", "step": step, "part": [own]},
                {"edit": "background", "step": step},
                {"edit": "delete", "segment": own, "by": "Ann"},
                {"edit": "border", "segment": own, "end": time_s},
                {"edit": "border", "segment": own, "start": time_s},
                {"edit": "assign", "segment": [own[0], time_s, time_s + 0.5], "name": SAID},
                {"edit": "assign", "segment": own, "step": into},
                {"edit": "assign", "segment": own},
                {"edit": "delete", "segment": ["gone", 0.0, 1.0]},
            ][int(rng.integers(11))]
        )
    return found


def test_the_page_replays_as_python_does_and_its_file_loses_nothing(made: Task, window: Window, tmp_path: Path) -> None:
    segments = made.segments(made.runs[0])
    videos = {video["id"]: at for at, video in enumerate(embedded_data(made.page())["videos"])}  # type: ignore[arg-type]
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(60):
        edits = parse_edits(drawn_edits(rng, segments, int(rng.integers(1, 7))))
        window.run(f"setEdits({json.dumps([edit.plain() for edit in edits])})")
        found = window.get(
            "({rows: [...correctedOf(0).rows], names: correctedOf(0).names,"
            " orders: DATA.videos.map((_, at) => orderOf(0, at)),"
            " reasons: correctedOf(0).report.map((one) => one.reason), file: correctionsFile()})"
        )
        corrected = apply_corrections(segments, edits)
        rows = {
            videos[str(video)]: [
                [round(1000 * start), round(1000 * end), step]
                for start, end, step in own[["start_s", "end_s", "key_step"]].to_numpy().tolist()
            ]
            for video, own in corrected.segments.groupby("video")
        }
        assert dict(found["rows"]) == rows
        for at, order in enumerate(found["orders"]):
            own = corrected.segments[corrected.segments["video"] == list(videos)[at]]
            assert (tuple(order) or (0,)) == order_of_segments(own)
        assert found["reasons"] == corrected.report["reason"].tolist()
        present = set(corrected.segments["key_step"])
        assert {int(k): v for k, v in found["names"].items() if int(k) in present} == corrected.names
        (tmp_path / "tea.yaml").write_text(found["file"], encoding="utf-8")
        assert read_corrections(tmp_path / "tea.yaml") == edits
        held += int(corrected.report["holds"].sum())
    assert held > 60
    assert window.errors == []
    window.run("localStorage.clear()")


def test_corrections_are_made_listed_taken_back_and_kept(
    made: Task, page: Path, browser: Browser, tmp_path: Path
) -> None:
    window = browser.window()
    window.open(page)
    tab(window, "videos")
    window.run("byId('correcting').open = true; byId('edit-by').value = 'Ann'; byId('edit-why').value = 'seen';")
    see(window, 0)
    first = window.get("segmentsOf(0, 0)")
    at = next(at for at, (_, _, step) in enumerate(first) if step)
    start, end, step = first[at]
    window.click_on(segment(0, at))
    assert window.get("player.hidden")
    assert "choose" in window.get("byId('click-does').textContent")
    assert f"key step {step}" in window.get("byId('edit-chosen').textContent")
    # A border is dragged, then moved by keys: one edit.
    box = window.box(".grip.end")
    width = window.get("document.querySelector('.grip.end').parentElement.getBoundingClientRect().width")
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    window.drag((x, y), (x - width * 0.2 / window.get("DATA.videos[0].duration"), y))
    moved = window.get("edits()[0]")
    assert moved["edit"] == "border"
    assert moved["end"] == pytest.approx(end - 0.2, abs=0.02)
    assert (moved["by"], moved["why"], len(moved["when"])) == ("Ann", "seen", 10)
    window.press(".")
    assert window.get("edits().length") == 1
    assert window.get("edits()[0].end") == pytest.approx(end - 0.1, abs=0.02)
    assert window.get("segmentsOf(0, 0)")[at][1] == window.get("edits()[0].end")
    window.press(",")
    # The key step is merged, named and split; each says what it does.
    other = next(one for one in window.get("stepsOf(0)") if one != step)
    window.run(f"byId('edit-other').value = '{other}'")
    window.click_on("#edit-merge")
    assert step not in window.get("stepsOf(0)")
    # Frames of both parts show what they became, in turn.
    by_part = {one["key_step"]: one["frames"] for one in window.get("viewOf(0).typical")}
    frames = window.get(f"typicalOf(0, {other})")
    assert all(frame in by_part[step] + by_part[other] for frame in frames)
    assert {frame in by_part[step] for frame in frames[:2]} == {True, False}
    order = window.get("[...document.querySelectorAll('.card .chips')][0].textContent")
    assert str(step) not in order
    assert str(other) in order
    window.run("byId('edit-name').value = 'pour & stir'")
    window.click_on("#edit-rename")
    assert window.get(f"nameOf(0, {other})") == "pour & stir"
    # The comparison is of results as they were found, and says so.
    window.run("drawComparison()")
    compared = window.get("byId('compared').textContent")
    assert "before your corrections" in compared
    assert "pour & stir" not in compared
    window.click_on("#edit-split")
    assert window.get("edits().map((one) => one.edit)") == ["border", "merge", "rename", "split"]
    assert window.get("correctedOf(0).report.every((one) => !one.reason)")
    new = max(window.get("stepsOf(0)"))
    assert new not in window.get("DATA.runs[0].steps")
    # The page is as it was left when it is opened again; a middle line can be taken back.
    window.open(page)
    tab(window, "videos")
    window.run("byId('correcting').open = true")
    assert window.get("document.querySelectorAll('#edits li').length") == 4
    assert new in window.get("stepsOf(0)")
    file = window.download("#edit-download", tmp_path)
    edits = read_corrections(file)
    assert [edit.edit for edit in edits] == ["border", "merge", "rename", "split"]
    window.click_on("#edits li:last-child button")
    window.click_on("#edit-undo")
    assert window.get("edits().map((one) => one.edit)") == ["border", "merge"]
    assert window.get(f"nameOf(0, {other})") == ""
    window.run("document.querySelector('.card .seg').focus()")
    window.press("Control+z")
    assert window.get("edits().length") == 1
    assert window.errors == []
    window.run("localStorage.clear()")

    # Made with the file, every view shows the corrected result to whoever opens it, and the file comes out again.
    again = made.folder / "corrected" / "results" / "report" / "mine" / "page.html"
    write_page(made.tree, made.root, made.runs, again, None, file)
    fresh = browser.window()
    fresh.open(again)
    assert fresh.get("edits().length") == 4
    assert "4 of 4 corrections hold here." in fresh.get("pictureOf(0).textContent")
    before, now = (embedded_data(one)["runs"][0]["colour"] for one in (page, again))  # type: ignore[index]
    assert {key: now[key] for key in before} == before
    assert step not in fresh.get("stepsOf(0)")
    assert fresh.get(f"nameOf(0, {other})") == "pour & stir"
    nodes = fresh.get("[...document.querySelector('.flow').querySelectorAll('.node')].map((e) => e.dataset.step)")
    assert {str(new), str(other)} <= set(nodes)
    assert str(step) not in nodes
    for name in ("order", "embedding", "steps"):
        tab(fresh, name)
    assert fresh.get("[...document.querySelectorAll('.keystep')].map((e) => Number(e.dataset.step))") == fresh.get(
        "inOrder(0)"
    )
    tab(fresh, "videos")
    fresh.run("byId('correcting').open = true")
    assert read_corrections(fresh.download("#edit-download", tmp_path)) == edits
    assert fresh.errors == []
    fresh.run("localStorage.clear()")


def test_two_key_steps_of_one_name_are_one(window: Window) -> None:
    tab(window, "steps")
    one, other = window.get("stepsOf(0)")[:2]
    for step in (one, other):
        window.run(f"document.querySelector('.keystep input[data-step=\"{step}\"]').focus()")
        window.write("stir")
        window.press("Tab")
    assert window.get("edits().map((one) => one.edit)") == ["merge"]
    assert window.get("stepsOf(0)") == [step for step in window.get("DATA.runs[0].steps") if step != other]
    assert window.get(f"nameOf(0, {one})") == "stir"
    window.run("localStorage.clear()")


def test_what_does_not_hold_is_said_on_the_page_and_baselines_stay(
    made: Task, browser: Browser, tmp_path: Path
) -> None:
    edits = parse_edits([{"edit": "delete", "segment": ["gone", 0, 1], "by": "Bo"}])
    write_corrections(edits, tmp_path / "tea.yaml")
    page = made.folder / "lost" / "results" / "report" / "mine" / "page.html"
    write_page(made.tree, made.root, made.runs, page, None, tmp_path / "tea.yaml")
    window = browser.window()
    window.open(page)
    tab(window, "videos")
    window.run("byId('correcting').open = true")
    said = window.get("byId('edits').textContent")
    assert "Does not hold here: its video is not in this result" in said
    assert "Bo" in said
    assert "Correction 1 (delete, Bo) does not hold here: its video is not in this result" in window.get(
        "byId('warnings').textContent"
    )
    assert "Corrected by people: 0 of 1 corrections hold here." in window.get("byId('verdict').textContent")
    trivial = next(at for at, run in enumerate(made.runs) if run.method == "none")
    assert window.get(f"correctedOf({trivial})") is None
    assert window.errors == []
    window.run("localStorage.clear()")
