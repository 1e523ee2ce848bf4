"""The tree of key steps is kept in a view, and the browser cuts it as Python does."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from chromium import WHERE, WITHOUT, Browser
from page_tree import Task
from page_window import tab
from sklearn.metrics import adjusted_rand_score
from tree_cut import cut

from rgwot import paths
from rgwot.columns import SEGMENT_COLUMNS
from rgwot.embedding.interface import EmbeddedVideo
from rgwot.records import read_segments
from rgwot.reporting.page.runs import with_number
from rgwot.reporting.page.view import tree_of
from rgwot.timing import predicted_labels, runs


def cut_segments(tree: dict[str, Any], K: int) -> pd.DataFrame:
    step_of = cut(tree["merges"], len(tree["leaves"]), K)
    rows = []
    for video, own in tree["videos"].items():
        found = runs(step_of[own["leaves"]])
        ends = np.asarray(own["ends"])[found.ends - 1] / 1000
        columns = {"start_s": np.r_[0.0, ends[:-1]], "end_s": ends, "key_step": found.labels}
        rows.append(pd.DataFrame(columns).assign(video=video, scope="task"))
    return pd.concat(rows, ignore_index=True)[list(SEGMENT_COLUMNS)]


def planted() -> tuple[dict[str, EmbeddedVideo], list[np.ndarray]]:
    generator = np.random.default_rng(0)
    looks = generator.normal(size=(4, 12))
    labels = [np.repeat(generator.permutation(4), 12) for _ in range(5)]
    videos = {
        f"v{at}": EmbeddedVideo(looks[own] + 0.2 * generator.normal(size=(48, 12)), np.arange(48) / 2, 24.1, 30)
        for at, own in enumerate(labels)
    }
    return videos, labels


def test_cut_at_their_number_the_planted_steps_are_found() -> None:
    videos, labels = planted()
    tree = json.loads(json.dumps(tree_of(videos, 0)))
    assert sum(leaf["share"] for leaf in tree["leaves"]) == pytest.approx(1, abs=1e-3)
    assert len(tree["merges"]) == len(tree["leaves"]) - 1
    actual = cut_segments(tree, 4)
    steps = []
    for video, one in videos.items():
        own = actual[actual["video"] == video]
        assert own["end_s"].iloc[-1] == 24.1
        steps.append(predicted_labels(own["start_s"], own["end_s"], own["key_step"], one.time_s))
    assert adjusted_rand_score(np.concatenate(labels), np.concatenate(steps)) > 0.95
    # The frame of a leaf lies in one of its segments.
    for at, leaf in enumerate(tree["leaves"]):
        own = tree["videos"][leaf["video"]]
        assert own["leaves"][int(np.searchsorted(np.array(own["ends"]) / 1000, leaf["time_s"], side="right"))] == at
    assert tree == json.loads(json.dumps(tree_of(videos, 0)))


#: The number of a key step of a cut, from the letter by which the page names it.
NUMBER = "e.textContent.charCodeAt(0) - 64"


@pytest.mark.skipif(WHERE is None, reason=WITHOUT)
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_cuts_as_the_library_does_by_slider_key_and_click(
    page_task: Task, page: Path, browser: Browser, tmp_path: Path, width: int
) -> None:
    window = browser.window(width)
    window.open(page)
    tab(window, "tree")
    own = json.loads(page_task.tree.at(paths.VIEW, page_task.runs[0]).read_text(encoding="utf-8"))["tree"]
    n = len(own["leaves"])
    assert n > 4
    # It opens at the number in use; for another one there is the command.
    used, run = window.get("[Number(byId('cut').value), factsOf(0).K]"), page_task.runs[0]
    assert used[0] == used[1]
    for K in range(1, n + 1):
        window.run(f"byId('cut').value = '{K}'; byId('cut').dispatchEvent(new Event('input'))")
        assert window.get("byId('cut-at').textContent") == str(K)
        said = window.get("byId('cut-next').hidden ? '' : byId('cut-next').textContent")
        other = with_number(run.decoder, K)
        assert bool(said) == (used[1] != K)
        assert not said or f'rgwot run "{page_task.tree.at(paths.SEGMENTS, replace(run, decoder=other))}"' in said
        expected = cut_segments(own, K)
        for at, row in enumerate(pd.read_csv(page_task.tree.at(paths.MANIFEST), keep_default_na=False)["video"]):
            bar = f'#cut-bars .bar[data-video="{at}"] .seg'
            shown = window.get(f"[...document.querySelectorAll('{bar}')].map((e) => {NUMBER})")
            assert shown == expected[expected["video"] == row]["key_step"].tolist()
        chips = window.get("[...document.querySelectorAll('#leaves .chip')].map((e) => " + NUMBER + ")")
        assert sorted(set(chips)) == list(range(1, K + 1))
        # Every letter has its own colour, that of the key step of the result with which it shares most time, if any.
        looks = window.get(
            "[...document.querySelectorAll('#leaves .chip')].map((e) => [e.textContent, e.dataset.look])"
        )
        assert len({look for _, look in looks}) == len({tuple(one) for one in looks}) == K
        own_looks = set(window.get("stepsOf(state.run).map((step) => lookOf(state.run, step).join(' '))"))
        assert own_looks & {look for _, look in looks}
    window.run("byId('cut').focus()")
    window.press("ArrowLeft")
    assert window.get("[state.cut.K, byId('cut-at').textContent]") == [n - 1, str(n - 1)]
    window.press("Home")
    assert window.get("state.cut.K") == 1
    assert window.get("byId('cut-words').textContent").startswith(f"1 key step of {n} parts: they explain 0 % of")
    # A click between two merges cuts there, and the line is where the click was.
    for K in (2, n - 1, n):
        box = window.box("#merges")
        window.click(box["x"] + box["width"] * (K - 1.5) / (n - 1), box["y"] + 20)
        assert window.get("state.cut.K") == K
        line = window.get("document.querySelector('#cut-line').getBoundingClientRect().x")
        assert line == pytest.approx(box["x"] + box["width"] * (K - 1.5) / (n - 1), abs=8)
    words = window.get("byId('cut-words').textContent")
    whole = re.match(rf"{n} key steps of {n} parts: they explain (\d+ %) of .* and all {n} parts (\d+ %)\.", words)
    assert whole is not None
    assert whole[1] == whole[2] != "100 %"
    assert "One fewer joins" in words
    # All bars have one scale of time.
    widths = window.run(
        "DATA.videos[1].duration /= 2; drawTree();"
        "const widths = [...document.querySelectorAll('#cut-bars .bar')].map((e) => e.getBoundingClientRect().width);"
        "DATA.videos[1].duration *= 2; drawTree(); return widths;"
    )
    assert widths[1] == pytest.approx(widths[0] / 2, abs=1)
    window.run("byId('cut').value = '3'; byId('cut').dispatchEvent(new Event('input'))")
    segments = read_segments(window.download("#cut-download", tmp_path))
    pd.testing.assert_frame_equal(segments[list(SEGMENT_COLUMNS)], cut_segments(own, 3), check_dtype=False)
    assert window.get("document.documentElement.scrollWidth <= window.innerWidth")
    assert window.errors == []
    # Another seed has the tree of the first one; trivial results have nothing to show, so their tabs are hidden.
    for run, hidden in ((1, []), (len(page_task.runs) - 1, ["procedure", "steps", "tree"])):
        window.run(f"chooseRun({run})")
        tabs = window.get(
            "[...document.querySelectorAll('[role=tab]:not(.of-window)')].map((tab) => [tab.id, tab.hidden])"
        )
        assert [name.removeprefix("tab-") for name, is_hidden in tabs if is_hidden] == hidden
        assert window.get("state.view") == ("tree" if run == 1 else "videos")
