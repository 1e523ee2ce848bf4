"""Looks and layout of the page in a headless Chromium.

With RGWOT_PAGE in the environment these tests run on that page, too (`make test-page` gives them the page of the demo).
"""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from chromium import WHERE, WITHOUT, Browser, Window
from page_tree import Task
from page_window import TABS, see, segment, tab
from PIL import Image

from rgwot import paths
from rgwot.paths import Run, Tree

pytestmark = pytest.mark.skipif(WHERE is None, reason=WITHOUT)

LOG = logging.getLogger(__name__)


def page_and_tree(page_task: Task, page: Path) -> list[tuple[Path, Tree]]:
    """Return the page of this test, and the one that the environment names, each with its tree."""
    pages = [(page, page_task.tree)]
    if named := os.environ.get("RGWOT_PAGE"):
        path = Path(named).resolve()
        pages.append((path, Tree(path.parents[2], path.parent.name, path.stem)))
    return pages


def test_opens_from_a_file_without_a_request_or_an_error(page_task: Task, page: Path, browser: Browser) -> None:
    for path, _ in page_and_tree(page_task, page):
        window = browser.window()
        window.open(path)
        for run in range(int(window.get("DATA.runs.length"))):
            window.run(f"byId('run').value = '{run}'; byId('run').dispatchEvent(new Event('change'))")
            for name in TABS:
                tab(window, name)
        time.sleep(0.3)
        assert window.errors == []
        left = [url for url in window.requests if not url.startswith(("data:", "blob:"))]
        assert left == [path.resolve().as_uri()]
        assert path.stat().st_size < 20e6


def test_times_below_bars_neither_touch_nor_leave_the_window(page: Path, browser: Browser) -> None:
    window = browser.window(1400)
    window.open(page)
    labels = (
        "[...document.querySelectorAll('{} .ticks')].map((axis) => [...axis.querySelectorAll('span')]"
        ".map((one) => one.getBoundingClientRect()).map(({{left, right, height}}) => [left, right, height]))"
    )
    # Even if the window becomes narrow and then wide again, the axis shows as many times as fit.
    for width in (1400, 390, 1400):
        window.resize(width, 844)
        for part in ("procedure", "videos"):
            tab(window, part)
            window.frames(4)
            for axis in window.get(labels.format(f"#{part}")):
                assert len(axis) > 1
                assert all(right + 4 < left for (_, right, _), (left, _, _) in zip(axis, axis[1:], strict=False))
                assert (axis[0][0] >= 0, axis[-1][1] <= width) == (True, True)
                assert max(height for _, _, height in axis) < 25


@pytest.mark.parametrize("width", [1280, 390])
def test_bars_line_up_with_the_segments_within_a_pixel(
    page_task: Task, page: Path, browser: Browser, width: int
) -> None:
    for path, tree in page_and_tree(page_task, page):
        window = browser.window(width)
        window.open(path)
        window.run("byId('bars').value = 'methods'; byId('bars').dispatchEvent(new Event('change'))")
        truth = pd.read_csv(tree.at(paths.ANNOTATIONS), dtype={"video": str}, keep_default_na=False)
        manifest = pd.read_csv(tree.at(paths.MANIFEST), dtype={"video": str}, keep_default_na=False)
        runs = [Run.of_text(run["id"]) for run in window.get("DATA.runs")]
        actual = {
            at: pd.read_csv(tree.keysteps(run) / "segments.csv", dtype={"video": str}).query("scope == 'task'")
            for at, run in enumerate(runs)
        }
        worst, compared = 0.0, 0
        for at, row in enumerate(manifest.itertuples()):
            see(window, at)
            boxes = window.run(
                f"const card = document.querySelector('.card[data-video=\"{at}\"]');"
                "const side = (e) => { const b = e.getBoundingClientRect(); return [b.left, b.right]; };"
                "const part = (bar) => ({ run: Number(bar.dataset.run), bar: side(bar),"
                "  all: [...bar.querySelectorAll('.seg')].map(side) });"
                "return { axis: side(card.querySelector('.strip')),"
                "  bars: [...card.querySelectorAll('.bar')].map(part) };"
            )
            left, right = boxes["axis"]
            # A wide window keeps a place free for the player.
            assert right - left > (0.65 if width > 1200 else 0.85) * width
            for bar in boxes["bars"]:
                assert bar["bar"] == [left, right]
                table = truth if bar["run"] < 0 else actual[bar["run"]]
                own = table[table["video"] == row.video]
                if bar["all"] == [] and len(own) > 150:
                    continue
                expected = left + own[["start_s", "end_s"]].to_numpy() / row.duration_s * (right - left)
                assert np.shape(bar["all"]) == expected.shape
                worst = max(worst, float(np.abs(np.array(bar["all"]) - expected).max()))
                compared += len(expected)
        assert compared > 30
        assert worst < 1, (path, worst)
        LOG.info("%s, %d px wide: %d segments, %.3f px off at most", path.name, width, compared, worst)


CONTRAST = """
  const parse = (text) => { const v = text.match(/[\\d.]+/g).map(Number); return v.length < 4 ? [...v, 1] : v; };
  const light = (c) => { const f = (x) => { x /= 255; return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4; };
    return 0.2126 * f(c[0]) + 0.7152 * f(c[1]) + 0.0722 * f(c[2]); };
  const low = []; let seen = 0, smallest = 99;
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.textContent.trim() || e.closest('script, style, noscript, .skip')) continue;
    if (!e.checkVisibility() || !e.getClientRects().length) continue;
    let under = e; let ground = [255, 255, 255, 1];
    for (; under; under = under.parentElement) {
      const c = parse(getComputedStyle(under).backgroundColor);
      if (c[3] === 1) { ground = c; break; }
      if (c[3] > 0) low.push(['half transparent', e.className]);
    }
    const s = getComputedStyle(e);
    const [a, b] = [light(parse(s.color)), light(ground)].sort((x, y) => y - x);
    const size = parseFloat(s.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(s.fontWeight) >= 700);
    const ratio = (a + 0.05) / (b + 0.05);
    seen += 1; smallest = Math.min(smallest, size);
    const what = [ratio.toFixed(2), s.color, ground.join(), e.className, e.textContent.slice(0, 30)];
    if (ratio < (large ? 3 : 4.5)) low.push(what);
  }
  return { low: low.slice(0, 5), seen, smallest };
"""


@pytest.mark.parametrize("width", [1280, 390])
def test_readable_and_in_contrast_at_any_width(page_task: Task, page: Path, browser: Browser, width: int) -> None:
    for path, _ in page_and_tree(page_task, page):
        window = browser.window(width, 844 if width < 600 else 900)
        if width < 600:
            window.resize(width, 844, mobile=True)
        window.open(path)
        for name in TABS:
            tab(window, name)
            time.sleep(0.1)
            # The page as a whole never scrolls sideways.
            wide = window.get("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
            assert wide[0] <= wide[1] <= width, (path, name)
            found = window.run(CONTRAST)
            assert found["low"] == [], (path, name, found["low"])
            assert found["seen"] > 10
            assert found["smallest"] >= 11
            small = window.run(
                "return [...document.querySelectorAll('button, select, input')]"
                ".filter((e) => e.checkVisibility() && !e.matches('.seg, [type=checkbox]'))"
                ".filter((e) => e.getBoundingClientRect().height < 24).map((e) => e.outerHTML.slice(0, 80))"
            )
            assert small == []
        assert window.errors == []


def keep(window: Window, folder: Path, name: str) -> None:
    """Save a picture of the window in all its colours, because key steps differ by colour."""
    time.sleep(0.3)
    window.frames(4)
    window.picture(folder / "whole.png")
    with Image.open(folder / "whole.png") as whole:
        whole.convert("RGB").save(folder / name, optimize=True)
    (folder / "whole.png").unlink()


def test_pictures_for_the_guide(page_task: Task, page: Path, browser: Browser, tmp_path: Path) -> None:
    """With RGWOT_PICTURES in the environment the pictures are kept there (`make pictures`)."""
    folder = Path(os.environ.get("RGWOT_PICTURES", tmp_path))
    path, _ = page_and_tree(page_task, page)[-1]
    window = browser.window(1280, 860)
    window.open(path)
    # For the demo, show the procedure that `make demo` prints at the end.
    best = (
        "byId('run').value = String(Math.max(0, DATA.runs.findIndex((facts) => facts.method === 'rgwot-plus')));"
        "byId('run').dispatchEvent(new Event('change'));"
    )
    window.run(best)
    keep(window, folder, "page_procedure.png")
    window.run("byId('run').value = '0'; byId('run').dispatchEvent(new Event('change'));")
    see(window, 0)
    window.run("window.scrollTo(0, 0)")
    window.frames()
    box = window.run(f"return document.querySelector('{segment(0, 2)}').getBoundingClientRect().toJSON()")
    window.point(box["x"] + box["width"] / 2, box["y"] + 8)
    keep(window, folder, "page_videos.png")
    window.point(2, 2)
    # Take a picture of the videos alone, for the front page.
    window.resize(1280, 620)
    window.run("window.scrollTo(0, byId('legend').getBoundingClientRect().top + window.scrollY - 52)")
    keep(window, folder, "videos.png")
    window.resize(1280, 860)
    window.run("window.scrollTo(0, 0)")
    tab(window, "steps")
    steps = window.get("DATA.runs[0].steps")
    for step, name in zip(steps, ("spin the blue disc", "drag the dotted square"), strict=False):
        window.run(f"document.querySelector('.keystep input[data-step=\"{step}\"]').focus()")
        window.write(name)
        window.press("Tab")
    window.run("document.activeElement.blur(); window.scrollTo(0, 0)")
    keep(window, folder, "page_steps.png")
    for view, name, selector in (
        ("steps", "order", "#procedures"), ("tree", "tree", "#tree"), ("scores", "scores", "#scores"),
        ("scores", "training", "#soundness"),
    ):  # fmt: skip
        tab(window, view)
        window.run(
            "document.activeElement.blur();"
            f"const top = document.querySelector('{selector}').getBoundingClientRect().top + window.scrollY;"
            "window.scrollTo(0, Math.max(0, top - 130));"
        )
        keep(window, folder, f"page_{name}.png")
    narrow = browser.window(390, 844)
    narrow.resize(390, 844, mobile=True)
    narrow.open(path)
    narrow.run(best)
    keep(narrow, folder, "page_narrow.png")
    window.run("localStorage.clear()")
    pictures = sorted(folder.glob("page_*.png"))
    assert len(pictures) == 8
    assert Image.open(folder / "page_narrow.png").size == (390, 844)
    for picture in pictures:
        assert picture.stat().st_size < 500_000, picture
        with Image.open(picture) as shown:
            assert np.asarray(shown.convert("L")).std() > 5, picture
