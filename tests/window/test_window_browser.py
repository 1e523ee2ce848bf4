"""The window in a headless Chromium, driven by keys and mouse: labelled while it plays, saved, learned, asked."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING

import pandas as pd
import pytest
import yaml
from chromium import WHERE, WITHOUT, Browser, Window
from page_tree import Task
from served import CONFIG, play_on, saved, serving

from rgwot import paths
from rgwot.datasets.annotation_files import read_annotation_file
from rgwot.datasets.video_table import read_groups
from rgwot.names import read_names
from rgwot.paths import Run
from rgwot.runtime.provenance import record_path
from rgwot.window.beginning import Proposal

if TYPE_CHECKING:
    from playwright.sync_api import Route

pytestmark = pytest.mark.skipif(WHERE is None, reason=WITHOUT)


def test_one_key_per_step_is_an_annotation_from_which_the_others_learn(window: Window, task: Task) -> None:
    window.click_on("#tab-label")
    window.wait_for("document.querySelector('#label-stage video')?.readyState >= 2")
    # At half speed, even a slow machine presses all keys before the end of the video.
    for key in ("-", " ", "1"):
        window.press(key)
    for key in ("2", "3", "0", " "):
        play_on(window)
        window.press(key)
    saved(window)
    rows = read_annotation_file(task.root / "tea" / "first.csv", marks=True)
    assert rows["label"].tolist() == ["key step 1", "key step 2", "key step 3", "background"]
    assert (rows["start_s"].iloc[1:].to_numpy() == rows["end_s"].iloc[:-1].to_numpy()).all()
    assert (rows["end_s"] - rows["start_s"]).min() >= 0.3
    window.wait_for("DATA.runs.some(({given}) => given.length)", 60)
    assert window.get("factsOf(state.run).given") == ["first"]
    assert window.get("labelOf(state.run, 1)") == "key step 1"
    # Undo everything since the page was opened, and redo it.
    text = (task.root / "tea" / "first.csv").read_text()
    for _ in range(9):
        window.press("Control+z")
    saved(window)
    assert not (task.root / "tea" / "first.csv").exists()
    for _ in range(9):
        window.press("Control+Shift+Z")
    saved(window)
    assert (task.root / "tea" / "first.csv").read_text() == text
    assert window.errors == []


def summary(window: Window) -> str:
    return window.get("document.querySelector('#summary').textContent")


def test_after_the_last_label_is_undone_the_result_without_labels_is_shown(window: Window) -> None:
    window.click_on("#tab-label")
    window.wait_for("document.querySelector('#label-stage video')?.readyState >= 2")
    # Naming a new step gives it a key, but labels nothing.
    window.click_on("#label-new")
    window.write("wet")
    window.press("Enter")
    assert window.get("labelsOf(0)") == []
    key = window.get("document.querySelector('#label-status').textContent").split()[1]
    window.press(key)
    window.wait_for("factsOf(state.run).given.length === 1", 60)
    assert summary(window) == "3 videos, 1 annotated, 2 results."
    window.press("Control+z")
    assert window.get("document.querySelector('#label-status').textContent") == ""
    window.wait_for("factsOf(state.run).id === 'raw/kmeans/seed0'", 60)
    assert summary(window) == "3 videos, none annotated, 1 result."
    assert window.get("segmentsOf(0, state.run).length") > 1
    assert window.errors == []


def test_a_segment_replaces_marks_of_another_step_and_marks_are_deleted(window: Window, task: Task) -> None:
    file = task.root / "tea" / "first.csv"
    window.click_on("#tab-label")
    window.wait_for("document.querySelector('#label-stage video')?.readyState >= 2")
    window.run("document.querySelector('#label-mode').value = 'marks'")
    for key in ("ArrowRight", "1", "ArrowRight", "ArrowRight", "2"):
        window.press(key)
    window.run("document.querySelector('#label-mode').value = 'segments'")
    for key in ("Home", "3", "ArrowRight", "ArrowRight", "0"):
        window.press(key)
    saved(window)
    rows = read_annotation_file(file, marks=True)
    assert rows["label"].tolist() == ["key step 3", "background", "key step 2"]
    assert rows["start_s"].tolist() == [0, 2, 3]
    # A click on the mark moves to its time.
    window.press("Home")
    window.click_on("#label-bar .mark")
    assert window.get("Math.abs(here() - 3000)") <= 1
    window.press("Delete")
    saved(window)
    assert read_annotation_file(file, marks=True)["label"].tolist() == ["key step 3", "background"]
    # A click on a border also moves to its time, and changes nothing.
    text = file.read_text()
    window.click_on("#label-bar .grip.end")
    assert window.get("Math.abs(here() - 2000)") <= 1
    assert file.read_text() == text
    assert window.errors == []


def test_keys_label_after_a_click_on_the_controls_of_the_video(window: Window) -> None:
    window.click_on("#tab-label")
    window.wait_for("document.querySelector('#label-stage video')?.readyState >= 2")
    box = window.box("#label-stage video")
    # Click on the picture, which starts to play, and on the slider at its lower edge.
    window.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 3)
    window.wait_for("!stage.element.paused")
    window.press(" ")
    assert window.get("stage.element.paused")
    window.click(box["x"] + box["width"] / 2, box["y"] + box["height"] - 18)
    window.wait_for("here() > 2000")
    window.press("2")
    assert window.get("labelsOf(stage.video)[0][2]") == "key step 2"
    window.press(" ")
    assert not window.get("stage.element.paused")
    assert window.errors == []


def test_answers_are_marks_and_the_next_question_follows(window: Window, task: Task) -> None:
    window.click_on("#tab-ask")
    for n in (1, 2):
        window.wait_for("document.querySelector('#ask-stage video') !== null", 60)
        window.wait_for("document.querySelector('#ask-status').textContent === ''", 60)
        where = window.get("document.querySelector('#ask-where').textContent")
        # Steps without names of their own are shown by pictures.
        assert window.get(
            "[...document.querySelectorAll('#ask-keys li')].slice(0, 4).every((e) => e.querySelector('img, canvas'))"
        )
        window.press("1" if n == 1 else "2")
        window.wait_for(f"document.querySelector('#ask-where').textContent !== {json.dumps(where)}", 60)
    saved(window)
    files = sorted((task.root / "tea").glob("*.csv"))
    rows = [row for file in files for row in file.read_text().splitlines()[1:]]
    assert sorted(row.split(",")[1:] for row in rows) == [["", "key step 1"], ["", "key step 2"]]
    assert window.get("document.querySelector('#ask-count').textContent") == "2"
    # If the last answer is undone, the same question is asked again.
    window.press("Control+z")
    saved(window)
    assert window.get("document.querySelector('#ask-count').textContent") == "1"
    assert window.get("document.querySelector('#ask-where').textContent") == where
    assert window.errors == []


def test_a_number_is_tried_and_saved(window: Window, task: Task) -> None:
    window.click_on("#tab-label")
    window.wait_for("document.querySelector('#label-stage video')?.readyState >= 2")
    window.press("1")
    window.wait_for("factsOf(state.run).given.length === 1", 60)
    window.click_on("#tab-tree")
    assert window.get("document.querySelector('#cut').value") == "4"
    window.wait_for("document.querySelector('#cut').max > 4")
    window.run("document.querySelector('#cut').focus()")
    window.press("ArrowRight")
    window.wait_for("factsOf(state.run).K === 5", 60)
    assert window.get("document.querySelector('#cut-use').textContent") == "Use 5"
    assert "without labels" in window.get("document.querySelector('#cut-status').textContent")
    # What the number changes, and what would be there with others, too.
    assert window.get("document.querySelector('#cut-splits').textContent !== ''")
    if not window.get("document.querySelector('#cut-compare').hidden"):
        window.click_on("#cut-compare")
    window.wait_for("document.querySelector('#cut-kept').textContent.startsWith('Of 5 key steps')", 60)
    kept = window.get("document.querySelector('#cut-kept').textContent")
    assert "with 4, too" in kept
    assert "with 6, too" in kept
    window.click_on("#cut-use")
    window.wait_for("document.querySelector('#cut-status').textContent.startsWith('Saved')")
    assert "raw / kmeans with 5" in window.get("document.querySelector('#cut-status').textContent")
    assert (task.folder / "config.yaml").read_text() == f"{CONFIG}decode: {{K: 5}}\n"
    # The number in use cannot be chosen again, and is seen to be in use.
    assert window.get("[byId('cut-use').hidden, byId('cut-use').disabled]") == [False, True]
    assert window.errors == []


def test_what_comes_and_goes_moves_nothing_and_a_new_page_has_the_same_tab(window: Window, task: Task) -> None:
    window.click_on("#tab-label")
    window.wait_for("document.querySelector('#label-stage video')?.readyState >= 2")
    axis = "document.querySelector('#label-axis').getBoundingClientRect().top"
    newer = "document.querySelector('#newer').getBoundingClientRect().left"
    before = window.get(axis), window.get(newer)
    window.run("showState({run: {fault: 'a long message '.repeat(60)}, tasks: [], answers: {}})")
    assert (window.get(axis), window.get(newer)) == before
    window.run("showState({run: {at_work: true, seconds: 1, stage: 0}, tasks: [], answers: {}})")
    assert (window.get(axis), window.get(newer)) == before
    # A summary stays where it is when its details are unfolded.
    words = "document.querySelector('#about-result > summary').getBoundingClientRect().top"
    where = window.get(words)
    window.click_on("#about-result > summary")
    assert window.get("document.querySelector('#run').checkVisibility()")
    assert window.get(words) == where
    window._page.reload()
    window.wait_for("document.querySelector('#label')?.hidden === false")
    assert window.errors == []


def test_another_seed_is_asked_for_beside_the_result(window: Window, task: Task) -> None:
    before = (task.folder / "config.yaml").read_text()
    window.click_on("#about-result > summary")
    window.click_on("#another-seed")
    window.wait_for("document.querySelector('#seed-status').textContent.startsWith('Saved')")
    seeds = yaml.safe_load(before)["seeds"]
    assert yaml.safe_load((task.folder / "config.yaml").read_text())["seeds"] == [*seeds, max(seeds) + 1]
    (task.folder / "config.yaml").write_text(before)
    assert window.errors == []


def test_names_are_saved_as_they_are_typed(window: Window, task: Task) -> None:
    window.click_on("#tab-steps")
    window.click_on("#rows input")
    window.write("pour <b>water</b>")
    saved(window)
    names = read_names(task.folder / "names" / "mine" / "tea.yaml")
    assert list(names["raw/kmeans/seed0"].names.values()) == ["pour <b>water</b>"]
    assert window.get("document.querySelector('#rows h3').textContent").endswith(": pour <b>water</b>")
    window.click_on("#forget")
    saved(window)
    assert window.get("document.querySelector('#rows input').value") == ""
    assert not (task.folder / "names" / "mine" / "tea.yaml").exists()
    assert window.errors == []


def test_without_the_server_nothing_is_lost(browser: Browser, task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(task.folder)
    with serving(task.folder, monkeypatch) as first:
        window = browser.window(1400, 900)
        window._page.goto(first.address)
        window.wait_for("document.querySelector('#tasks a') !== null")
        window.click_on("#tasks a")
        window.wait_for("document.querySelector('#tab-steps') !== null")
        window.click_on("#tab-steps")
        window.wait_for("document.querySelector('#rows input') !== null")
        port = first.port
    window.click_on("#rows input")
    window.write("stir")
    window.wait_for("!document.querySelector('#gone').hidden", 30)
    assert "Not saved yet: 1 change" in window.get("document.querySelector('#saved').textContent")
    assert not (task.folder / "names").exists()
    # The next server has another cookie; once its address is opened, the old page has the cookie, too, and saves.
    with serving(task.folder, monkeypatch, port) as second:
        again = browser.window(1400, 900)
        again._page.goto(second.address)
        again.wait_for("document.querySelector('#tasks a') !== null")
        saved(window)
    assert "stir" in (task.folder / "names" / "mine" / "tea.yaml").read_text()


def test_groups_are_saved_in_the_table_of_videos_and_never_over_that_of_others(window: Window, task: Task) -> None:
    table = task.root / "tea" / "videos.csv"
    window.click_on("#tab-videos")
    window.click_on("#grouping summary")
    window.wait_for("document.querySelectorAll('#grouping-rows input').length === 3")
    window.click_on("#grouping-rows input:nth-of-type(1)")
    window.write("novice")
    window.press("Tab")
    window.write('expert, "old"')
    window.press("Tab")
    saved(window)
    groups = read_groups(table, ["first", "second", "third"])
    assert groups == {"first": "novice", "second": 'expert, "old"'}
    assert "novice (1)" in window.get("document.querySelector('#grouping-status').textContent")
    assert window.errors == []
    # A file that was changed meanwhile is not overwritten.
    table.write_text("video,age,group\nfirst,30,novice\n")
    window.write("novice")
    window.press("Tab")
    window.wait_for("document.querySelector('#unsaved').textContent.includes('since this page has read it')")
    assert table.read_text() == "video,age,group\nfirst,30,novice\n"
    window.click_on("#unsaved button:last-of-type")
    saved(window)
    assert table.read_text() == "video,age,group\nfirst,30,novice\n"


def name_of_steps(window: Window) -> list[str]:
    return window.get("stepsOf(state.run).map((step) => nameOf(state.run, step)).filter(Boolean)")


def test_names_stay_when_the_number_of_steps_changes(window: Window, task: Task) -> None:
    def to(K: int) -> None:
        window.click_on("#tab-tree")
        window.run("document.querySelector('#cut').focus()")
        window.press("ArrowRight" if window.get("state.cut.K") < K else "ArrowLeft")
        window.wait_for(f"factsOf(state.run).K === {K}", 60)
        window.click_on("#tab-steps")

    def name(nth: int, text: str) -> None:
        window.click_on(f"#rows .keystep:nth-of-type({nth}) input")
        window.write(text)
        saved(window)

    window.click_on("#tab-steps")
    name(1, "pour")
    assert name_of_steps(window) == ["pour"]
    to(5)
    assert name_of_steps(window) == ["pour"]
    to(4)
    name(2, "stir")
    to(5)
    assert sorted(name_of_steps(window)) == ["pour", "stir"]
    window.click_on("#tab-tree")
    window.click_on("#cut-use")
    window.wait_for("document.querySelector('#cut-status').textContent.startsWith('Saved')")
    assert sorted(read_names(task.folder / "names" / "mine" / "tea.yaml")["raw/kmeans/seed0"].names.values()) == [
        "pour",
        "stir",
    ]
    assert window.errors == []


def test_names_stay_when_labels_are_learned_again(window: Window, task: Task) -> None:
    def label_video() -> None:
        window.wait_for("document.querySelector('#label-stage video')?.readyState >= 2")
        for key in ("1", "ArrowRight", "ArrowRight", "2"):
            window.press(key)
        saved(window)

    window.click_on("#tab-label")
    label_video()
    window.wait_for("factsOf(state.run).given.length === 1", 60)
    window.click_on("#tab-steps")
    window.click_on("#rows .keystep:nth-of-type(1) input")
    window.write("fill")
    saved(window)
    assert read_names(task.folder / "names" / "mine" / "tea.yaml")["raw/labelled/seed0"].names == {1: "fill"}
    # The labels themselves go by the new name.
    window.click_on("#tab-videos")
    truth = (
        '[...document.querySelectorAll(\'.card[data-video="0"] .bar[data-run="-1"] .seg\')].map((e) => e.textContent)'
    )
    window.wait_for(f"{truth}[0] === 'fill'", 20)
    # The step has its new name, and its key still labels this step.
    window.click_on("#tab-label")
    assert window.get("document.querySelector('#label-keys .named').textContent") == "fill"
    window.press("Enter")
    window.press(" ")
    window.wait_for("document.querySelector('#label-stage video')?.readyState >= 2")
    window.press("ArrowLeft")
    label_video()
    window.wait_for("factsOf(state.run).given.length === 2", 60)
    assert window.get("factsOf(state.run).K") == 2
    assert window.get("labelOf(state.run, 1)") == "fill"
    files = [file.read_text().splitlines()[1:] for file in (task.root / "tea").glob("*.csv")]
    assert {row.split(",")[2] for rows in files for row in rows} == {"key step 1", "key step 2"}
    assert window.errors == []


def to_label(window: Window) -> None:
    window.click_on("#tab-label")
    window.wait_for("document.querySelector('#label-stage video')?.readyState >= 2")


def keys(window: Window) -> dict[str, str]:
    """The steps that can be labelled, by their keys."""
    items = "[...document.querySelectorAll('#label-keys li')]"
    return dict(
        window.get(f"{items}.map((e) => [e.querySelector('.key').value, e.querySelector('.named').textContent])")
    )


def new_name(window: Window, name: str) -> None:
    window.click_on("#label-new")
    window.write(name)
    window.press("Enter")


def test_a_key_keeps_its_step_when_it_gets_a_name_is_learned_and_on_a_new_page(window: Window) -> None:
    to_label(window)
    steps = ["key step 1", "key step 2", "key step 3", "key step 4"]
    assert [keys(window)[key] for key in "1234"] == steps
    window.click_on("#tab-steps")
    window.click_on("#rows [data-step='2'] input")
    window.write("soap")
    saved(window)
    to_label(window)
    # Several names at once; none is named twice.
    new_name(window, "rinse, soap,, dry")
    expected = {"1": steps[0], "2": "soap", "3": steps[2], "4": steps[3], "5": "rinse", "6": "dry", "0": "no step"}
    assert keys(window) == expected
    for key in ("5", "ArrowRight", "ArrowRight", "2"):
        window.press(key)
    saved(window)
    window.wait_for("Object.keys(factsOf(state.run).labels).length === 2", 60)
    assert keys(window) == expected
    assert window.get("labelsOf(stage.video).map(([, , name]) => name)") == ["rinse", "soap"]
    # Numbers of what was learned are nobody's choice: its legend has the names alone.
    window.click_on("#tab-videos")
    legend = window.get("[...document.querySelectorAll('#legend li')].map((e) => e.textContent)")
    assert {"rinse", "soap"} <= set(legend)
    window._page.reload()
    window.wait_for("Object.keys(factsOf(state.run).labels).length === 2", 60)
    to_label(window)
    assert keys(window) == expected
    # The page is older than the labels and the name, which are kept all the same.
    assert window.get("labelsOf(0).map(([, , name]) => name)") == ["rinse", "soap"]
    assert window.get("nameOf(DATA.runs.findIndex(({given}) => !given.length), 2)") == "soap"
    assert window.errors == []


def test_a_name_that_was_typed_while_an_answer_was_on_its_way_stays(window: Window) -> None:
    to_label(window)
    for key in ("1", "ArrowRight", "ArrowRight", "2"):
        window.press(key)
    saved(window)
    window.wait_for("factsOf(state.run).labels[2] === 'key step 2'", 60)
    window.click_on("#tab-steps")
    window.click_on("#rows .keystep:nth-of-type(1) input")
    window.write("fill")
    saved(window)

    def without_names(route: Route) -> None:
        answer = route.fetch()
        content = answer.json()
        content["facts"]["names"] = {}
        route.fulfill(response=answer, json=content)

    window._page.route("**/api/answer/**", without_names)
    to_label(window)
    for key in ("ArrowRight", "ArrowRight", "3"):
        window.press(key)
    window.wait_for("Object.keys(factsOf(state.run).labels).length === 3", 60)
    assert window.get("nameOf(state.run, 1)") == "fill"
    assert window.errors == []


def test_a_name_that_was_typed_by_mistake_is_removed_unless_a_label_uses_it(window: Window) -> None:
    to_label(window)
    new_name(window, "sope")
    new_name(window, "soap")
    window.press("6")
    removable = "[...document.querySelectorAll('#label-keys .remove')].map((e) => e.ariaLabel)"
    assert window.get(removable) == ["Remove sope"]
    window.click_on("#label-keys .remove")
    assert window.get(removable) == []
    assert "sope" not in keys(window).values()
    # It stays away, and its key is free again.
    new_name(window, "rinse")
    assert (keys(window)["5"], keys(window)["6"]) == ("rinse", "soap")
    window.press("Control+z")
    assert window.get(removable) == ["Remove soap", "Remove rinse"]
    assert window.errors == []


def test_a_new_page_keeps_the_place_in_label_and_tells_what_is_new(window: Window, task: Task) -> None:
    to_label(window)
    window.press("Enter")
    window.press(" ")
    window.wait_for("document.querySelector('#label-stage video')?.readyState >= 2")
    for key in ("Home", "ArrowRight", "ArrowRight", "+"):
        window.press(key)
    window.run(
        "byId('label-mode').value = 'marks'; byId('label-zoom').value = '6';"
        "byId('label-zoom').dispatchEvent(new Event('input')); byId('label-scroll').scrollLeft = 1500;"
    )
    place = (
        "[DATA.videos[stage.video].id, Math.round(here() / 100), speed, byId('label-mode').value, "
        "byId('label-zoom').value, Math.round(byId('label-scroll').scrollLeft)]"
    )
    before = window.get(place)
    assert before[:2] == ["second", 20]
    # In the new page a third of one of three videos has another key step, and there is a result of another seed.
    found = task.tree.at(paths.SEGMENTS, task.runs[0])
    table = pd.read_csv(found)
    rows = table.index[(table["video"] == "first") & (table["scope"] == "task")]
    table.loc[rows[0], ["key_step", "shows"]] = table["key_step"].max() + 1
    table.to_csv(found, index=False)
    record_path(found).unlink()
    task.runs.append(Run("raw", "kmeans", 1))
    task.page()
    window.wait_for("!document.querySelector('#newer').hidden", 30)
    window.click_on("#newer")
    window.wait_for("document.querySelector('#news')?.hidden === false", 30)
    window.wait_for("document.querySelector('#label-stage video')?.readyState >= 2 && !stage.element.seeking")
    window.wait_for(f"JSON.stringify({place}) === {json.dumps(json.dumps(before, separators=(',', ':')))}", 10)
    news = window.get("document.querySelector('#news').textContent")
    of = int((table["scope"] == "task").sum())
    assert f"raw / kmeans, 4 key steps, try 0: 1 of {of} segments differ, in 1 of 3 videos" in news
    assert news.endswith("; raw / kmeans, 4 key steps, try 1 is new.")
    # The same page again has no news.
    window._page.reload()
    window.wait_for("document.querySelector('#label')?.hidden === false")
    assert window.get("document.querySelector('#news').hidden")
    assert window.errors == []


def test_a_step_reaches_the_playhead_however_one_leaves_it(window: Window, task: Task) -> None:
    to_label(window)

    def rows(name: str) -> list[tuple[float, float]]:
        table = read_annotation_file(task.root / "tea" / f"{name}.csv", marks=True)
        return [(float(start), float(end)) for start, end in table[["start_s", "end_s"]].to_numpy()]

    # Begun in pause, it grows when the video plays; then on to the next video.
    for key in ("-", "1", " "):
        window.press(key)
    play_on(window, 0.6)
    window.press("Enter")
    saved(window)
    ((start, end),) = rows("first")
    assert start == 0
    assert end >= 0.6
    # A jump while it plays ends it where the playhead was, and not where it is then.
    window.wait_for("document.querySelector('#label-stage video')?.readyState >= 2")
    window.press("Home")
    # On a slow machine, the video may have played to its end meanwhile.
    if window.get("!isPlaying(stage)"):
        window.press(" ")
    play_on(window, 0.2)
    window.press("2")
    play_on(window, 0.6)
    window.press("ArrowRight")
    window.press(" ")
    saved(window)
    ((start, end),) = rows("second")
    assert 0.6 <= end - start < window.get("here() / 1000") - start - 0.5
    assert window.errors == []


def test_keys_count_before_the_first_frame_of_a_video_is_there(window: Window, task: Task) -> None:
    window.run(
        "const { requestVideoFrameCallback: real } = HTMLVideoElement.prototype;"
        "HTMLVideoElement.prototype.requestVideoFrameCallback = function (then) {"
        "  real.call(this, (...frame) => { window.showFirstFrame = () => then(...frame); });"
        "};"
    )
    to_label(window)
    window.wait_for("window.showFirstFrame !== undefined", 30)
    for key in ("ArrowRight", "1", " "):
        window.press(key)
    assert window.get("[here(), stage.element.paused]") == [1000, True]
    window.run("window.showFirstFrame()")
    play_on(window, 0.6)
    window.press(" ")
    saved(window)
    ((start, end),) = read_annotation_file(task.root / "tea" / "first.csv", marks=True)[["start_s", "end_s"]].to_numpy()
    assert start == 1
    assert end >= 1.6
    assert window.errors == []


def test_labels_that_a_window_never_showed_are_not_replaced(browser: Browser, window: Window, task: Task) -> None:
    other = browser.window(1400, 900)
    other._page.goto(window.get("location.href"))
    other.wait_for("document.querySelector('#tab-label')?.hidden === false")
    to_label(window)
    window.press("1")
    saved(window)
    text = (task.root / "tea" / "first.csv").read_text()
    to_label(other)
    other.press("2")
    other.wait_for("document.querySelector('#unsaved').textContent.includes('is there already')", 30)
    assert (task.root / "tea" / "first.csv").read_text() == text


def test_the_last_page_stays_while_a_run_makes_it_again(window: Window, task: Task) -> None:
    task.tree.at(paths.PAGE).unlink()
    window._page.reload()
    window.wait_for("document.querySelector('#tab-label')?.hidden === false", 30)
    window.click_on("#all-tasks")
    window.wait_for("document.querySelector('#tasks a') !== null", 30)
    assert window.errors == []


def test_on_a_phone_video_bar_and_keys_are_on_one_screen(window: Window) -> None:
    window.resize(390, 844, mobile=True)
    window._protocol.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    window.run("document.querySelector('#tab-label').click()")
    window.wait_for("document.querySelector('#label-stage video')?.readyState >= 2")
    names = ", ".join(f"step {letter}" for letter in "abcdefghijklmn")
    window.run("document.querySelector('#label-new').focus({ preventScroll: true })")
    window.write(names)
    window.press("Enter")
    window.frames()
    boxes = window.get(
        "['#tab-label', '#label-stage video', '#label-scroll', '#label-keys'].map((one) => "
        "document.querySelector(one).getBoundingClientRect().toJSON())"
    )
    # One below the other, none off the screen.
    for above, below in pairwise(boxes):
        assert above["bottom"] <= below["top"] + 1
    assert boxes[-1]["bottom"] <= 844
    buttons = "[...document.querySelectorAll('#label-keys .named')]"
    seen = window.get(f"{buttons}.map((e) => e.getBoundingClientRect().toJSON())")
    assert min(min(box["width"], box["height"]) for box in seen) >= 40
    assert sum(box["bottom"] <= boxes[-1]["bottom"] for box in seen) >= 15
    # A tap labels at the playhead, and moves nothing.
    window.run(f"seek(1000); {buttons}[4].click()")
    assert window.get("labelsOf(stage.video)[0].slice(0, 3)")[::2] == [1000, "step a"]
    assert window.get("document.querySelector('#label-keys').getBoundingClientRect().top") == pytest.approx(
        boxes[-1]["top"], abs=1
    )
    # From the 17th colour on, a line at the edge distinguishes names; the text has no ground of its own.
    dashed = "document.querySelector('#label-keys .dashed')"
    assert window.get(f"getComputedStyle({dashed}.firstChild).backgroundColor") == "rgba(0, 0, 0, 0)"
    assert window.get("document.documentElement.scrollWidth") <= 390
    window.run("document.querySelector('#tab-ask').click()")
    window.wait_for("document.querySelector('#ask-bars .bar') !== null")
    assert window.get("document.querySelector('#ask-bars .bar').getBoundingClientRect().width") > 350
    assert window.errors == []


def test_names_that_fit_no_step_are_told(window: Window, task: Task) -> None:
    names = task.folder / "names" / "mine" / "tea.yaml"
    names.parent.mkdir(parents=True)
    names.write_text(
        'raw/kmeans/seed0:\n  result: "0123456789ab"\n  names:\n    9: "polish"\n  segments:\n    first: "0 10"\n'
    )
    window.click_on("#tab-tree")
    window.run("document.querySelector('#cut').focus()")
    window.press("ArrowRight")
    window.wait_for("factsOf(state.run).K === 5", 60)
    assert "polish" in window.get("document.querySelector('#cut-status').textContent")
    assert window.errors == []


def test_the_first_page_tells_where_labels_are_saved(
    browser: Browser, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = task.root / "tea"
    monkeypatch.chdir(folder)
    with serving(Proposal(folder, folder.with_name("tea_study"), True, {"tea": 3}), monkeypatch) as running:
        first = browser.window(1400, 900)
        first._page.goto(running.address)
        first.wait_for("document.querySelector('#proposal')?.hidden === false")
        assert "CSV files" in first.get("document.querySelector('#proposal').innerText")
