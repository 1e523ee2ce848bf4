"""What people did in the window stays: a page shows the files as they are, and replaces only what it has read."""

from __future__ import annotations

import time

import pytest
from chromium import WHERE, WITHOUT, Window
from page_tree import Task
from served import Served

pytestmark = pytest.mark.skipif(WHERE is None, reason=WITHOUT)
PLAYED = "document.querySelector('#label-stage video')"


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
