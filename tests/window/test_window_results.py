"""Which result the window shows, what it says of it, and where it leads next."""

from __future__ import annotations

import pytest
from chromium import WHERE, WITHOUT, Window
from page_tree import Task
from served import saved, to_new_page

from rgwot.paths import Run

pytestmark = pytest.mark.skipif(WHERE is None, reason=WITHOUT)
PLAIN, SEEDED, TAUGHT = "raw/kmeans/seed0", "raw/kmeans/seed1", "raw/labelled/seed0"
SHOWN = "factsOf(state.run).id"


def text(window: Window, id: str) -> str:
    return window.get(f"byId('{id}').textContent.trim()")


def label(window: Window, keys: str) -> None:
    """Label the shown video by keys, two seconds apart."""
    window.click_on("#tab-label")
    window.wait_for("document.querySelector('#label-stage video')?.readyState >= 2")
    for key in keys:
        window.press(key)
        window.press("ArrowRight")
        window.press("ArrowRight")
    saved(window)


def choose(window: Window, id: str) -> None:
    window.run("byId('about-result').open = true")
    window._page.select_option("#run", str(window.get(f"DATA.runs.findIndex((one) => one.id === '{id}')")))
    window.run("byId('about-result').open = false")


def test_a_result_that_a_person_chose_stays_and_a_newer_one_is_offered(window: Window, task: Task) -> None:
    choose(window, PLAIN)
    assert text(window, "shown") == "4 key steps found without labels."
    label(window, "12")
    window.wait_for("factsOf(labelledRun())?.K === 2", 60)
    assert window.get(SHOWN) == PLAIN
    assert not window.get("byId('offer').hidden")
    assert text(window, "shown") == "Shown: 4 key steps found without labels."
    assert text(window, "offer").startswith("Newer: 2 key steps learned from labels of 1 video.")
    assert "2 key steps learned from labels of 1 video" in window.get("runTitle(labelledRun())")
    window.click_on("#offer button")
    assert window.get(SHOWN) == TAUGHT
    assert window.get("byId('offer').hidden")
    # The learned result is the chosen one now, so it is followed.
    label(window, "3")
    window.wait_for("factsOf(state.run).K === 3", 60)
    choose(window, PLAIN)
    assert window.get("byId('offer').hidden")
    # A chosen result that is gone, with the last label, is left.
    choose(window, TAUGHT)
    for _ in range(3):
        window.press("Control+z")
    assert text(window, "summary").startswith("3 videos, none annotated")
    window.wait_for(f"{SHOWN} === '{PLAIN}'", 60)
    assert window.errors == []


def test_a_new_page_keeps_the_chosen_result(window: Window, task: Task) -> None:
    task.runs.append(Run("raw", "kmeans", 1))
    to_new_page(window, task)
    assert text(window, "shown") == "Shown: 4 key steps found without labels (try 0)."
    choose(window, SEEDED)
    assert text(window, "shown") == "Shown: 4 key steps found without labels (try 1)."
    to_new_page(window, task)
    assert window.get(SHOWN) == SEEDED
    assert window.get("byId('run').selectedOptions[0].textContent").endswith("try 1")
    # The tree depends on the method; that of another try is called so.
    window.click_on("#tab-tree")
    assert window.get("byId('merges').childElementCount") > 1
    assert text(window, "tree-of") == "The tree is that of try 0."
    choose(window, PLAIN)
    assert window.get("byId('tree-of').hidden")
    # A result that is gone is left.
    choose(window, SEEDED)
    task.runs.pop()
    to_new_page(window, task)
    assert window.get(SHOWN) == PLAIN
    assert window.errors == []


def look_at(window: Window, K: int) -> None:
    """Try another number of key steps, without using it."""
    window.click_on("#tab-tree")
    window.run("document.querySelector('#cut').focus()")
    for _ in range(abs(K - window.get("state.cut.K"))):
        window.press("ArrowRight" if window.get("state.cut.K") < K else "ArrowLeft")
    window.wait_for(f"factsOf(state.run).K === {K}", 60)


def test_a_number_that_is_tried_stays_on_another_page(window: Window, task: Task) -> None:
    look_at(window, 6)
    segments = window.get("segmentsOf(0, state.run)")
    window.run("window.isOld = true")
    window._page.reload()
    window.wait_for("!window.isOld && factsOf(state.run).K === 6", 60)
    assert window.get("segmentsOf(0, state.run)") == segments
    assert window.get("[byId('cut').value, byId('cut-use').textContent, byId('cut-use').disabled]") == [
        "6",
        "Use 6",
        False,
    ]
    # So it does on the way over the list of tasks, beside a newer result, and when results are made anew.
    label(window, "12")
    window.wait_for("labelledRun() >= 0", 60)
    window.click_on("#all-tasks")
    window.wait_for("document.querySelector('#tasks a') !== null", 30)
    window.click_on("#tasks a")
    window.wait_for(
        f"document.querySelector('#run') && labelledRun() >= 0 && factsOf(runCalled('{PLAIN}')).K === 6", 60
    )
    assert window.get(SHOWN) == TAUGHT
    to_new_page(window, task)
    window.wait_for(f"factsOf(runCalled('{PLAIN}')).K === 6", 60)
    assert "instead of" not in text(window, "news")
    # It is forgotten when another number is in use.
    assert window.get("[lookedAt(), (savedK = 5, lookedAt())]") == [6, 0]
    assert window.errors == []


def test_what_was_just_learned_is_not_trusted_yet(window: Window) -> None:
    label(window, "12")
    window.wait_for(f"{SHOWN} === '{TAUGHT}'", 60)
    assert not window.get("byId('about-trust').hidden")
    assert "only your labels are certain" in text(window, "warnings")
    assert window.get("document.querySelector('.procedure:not([hidden]) .doubt').textContent").startswith("Reliability")
    # So is a preview of another number.
    window.click_on("#tab-tree")
    window.run("document.querySelector('#cut').focus()")
    window.press("ArrowRight")
    window.wait_for("factsOf(state.run).K === 5", 60)
    window.click_on("#tab-procedure")
    told = window.get("document.querySelector('.procedure:not([hidden]) .doubt').textContent")
    assert "may not be the true ones" in told
    assert "being checked" not in window.get("document.querySelector('.procedure:not([hidden])').textContent")
    assert window.errors == []


def test_the_video_that_teaches_most_is_the_first_to_label(window: Window) -> None:
    window.run("DATA.next = {videos: ['third', 'second'], commands: {}}; drawSummary(); byId('about-next').open = true")
    assert text(window, "next-label") == "Label third"
    window.click_on("#tab-label")
    assert window.get("DATA.videos[stage.video].id") == "third"
    label(window, "1")
    assert text(window, "next-label") == "Label second"
    window.click_on("#tab-procedure")
    window.click_on("#next-label")
    assert window.get("[state.view, DATA.videos[stage.video].id]") == ["label", "second"]
    # The next key is that of a step, and no second click of the button.
    window.press("2")
    assert window.get("labelsOf(stage.video).map(([, , name]) => name)") == ["key step 2"]
    assert window.errors == []


def test_a_run_at_its_end_cannot_be_cancelled(window: Window) -> None:
    run = "{at_work: true, seconds: 9, done: %d, steps: 5, stage: 0, stages: [], read: [0, 0], left_s: null}"
    # In one go, before the state of the real server is shown.
    shown = "showState({run: %s, tasks: [], answers: {}}); return [byId('cancel').hidden, byId('running').textContent];"
    assert window.run(shown % (run % 4))[0] is False
    assert window.run(shown % (run % 5)) == [True, "The results are written."]
    assert window.errors == []
