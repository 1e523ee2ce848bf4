"""The first view of a page in a headless Chromium: what a person sees, points at, types and plays."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
from chromium import WHERE, WITHOUT, Browser, Window
from page_tree import Task
from procedure_tree import CASES, given_page, make_page

pytestmark = pytest.mark.skipif(WHERE is None, reason=WITHOUT)

OWN = ".procedure:not([hidden])"
#: Check that all parts of the picture are at their positions.
LAID = """
  const own = document.querySelector('.procedure:not([hidden])');
  const box = (e) => { const b = e.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; };
  const flow = box(own.querySelector('.flow'));
  const cards = [...own.querySelectorAll('.node')].map(box);
  const layers = [...own.querySelectorAll('.layer')].map(box);
  const apart = (a, b) => a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1];
  const every = (boxes) => boxes.every((one, at) => boxes.slice(at + 1).every((other) => apart(one, other)));
  const follows = (a, b) => b[0] >= a[2] || b[1] >= a[3];
  return {
    width: [document.documentElement.scrollWidth, document.documentElement.clientWidth],
    apart: every(cards) && every(layers),
    inside: cards.every((one) => [0, 1].every((at) => one[at] >= flow[at] - 1 && one[at + 2] <= flow[at + 2] + 1)),
    cut: [...own.querySelectorAll('.face')].filter((e) => (
      e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1)).length,
    ordered: layers.slice(1).every((one, at) => follows(layers[at], one)),
  };
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    pages = {name: make_page(tmp_path_factory.mktemp("procedures"), name) for name in CASES}
    return pages | {"given": given_page(tmp_path_factory.mktemp("given"))}


@pytest.mark.parametrize("width", [1280, 768, 390, 340])
def test_every_picture_is_in_its_place_at_every_width(
    pages: dict[str, Path], page: Path, browser: Browser, width: int
) -> None:
    window = browser.window(width, 844)
    window.resize(width, 844, mobile=width < 600)
    for name, path in [*pages.items(), ("with videos", page)]:
        window.open(path)
        assert window.get("state.view") == "procedure"
        assert window.get(f"document.querySelector('{OWN} .sentences').checkVisibility()")
        if name == "background":
            assert window.get(f"document.querySelector('{OWN} .sentences:nth-of-type(2)').checkVisibility()")
            continue
        found = window.run(LAID)
        assert found["width"][0] <= found["width"][1] <= width, name
        assert found["apart"], name
        assert found["inside"], name
        assert found["cut"] == 0, name
        assert found["ordered"], name
    assert window.errors == []


def test_a_key_step_has_the_colour_and_the_name_that_it_has_below(window: Window) -> None:
    step = int(window.get(f"Number(document.querySelector('{OWN} .node').dataset.step)"))
    look = window.get(f"lookOf(0, {step}).join(' ')")
    for part in (".node .chip", ".line .seg"):
        own = f'{OWN} {part}[data-step="{step}"]'
        assert window.get(f"'{look}'.split(' ').every((n) => document.querySelector('{own}').classList.contains(n))")
    name = '"><b>pour</b> & stir'
    window.run("show('steps')")
    window.run(f"document.querySelector('.keystep input[data-step=\"{step}\"]').focus()")
    window.write(name)
    window.press("Tab")
    window.run("show('procedure')")
    assert window.get(f"document.querySelector('{OWN} .node[data-step=\"{step}\"] .name').textContent") == name
    assert window.get(f"document.querySelector('{OWN} .aslist .chip[data-step=\"{step}\"]').textContent") == name
    called = f"[...document.querySelectorAll('{OWN} .called')].map((e) => [e.dataset.step, e.textContent])"
    assert (found := dict(window.get(called))).pop(str(step)) == name
    assert found
    assert all(text == f"step {other}" for other, text in found.items())
    # A sentence that begins with a key step without a name begins with a capital letter.
    other = f"document.querySelector('{OWN} .called[data-step=\"{next(iter(found))}\"]')"
    window.run(f"{other}.before('Here it ends. '); drawProcedure()")
    assert window.get(f"{other}.textContent") == f"Step {next(iter(found))}"
    window.run("localStorage.clear()")


def test_deviations_are_downloaded_as_a_table(pages: dict[str, Path], browser: Browser, tmp_path: Path) -> None:
    window = browser.window()
    window.open(pages["given"])
    file = window.download(f"{OWN} .save", tmp_path)
    assert file.name == "usual_meanfield_deviations.csv"
    table = pd.read_csv(file)
    shown = window.get(
        f"[...document.querySelectorAll('{OWN} .deviation')].map((e) => [+e.dataset.step, +e.dataset.start])"
    )
    assert sorted(table[["key_step", "start_s"]].itertuples(index=False, name=None)) == sorted(map(tuple, shown))
    assert set(table["sureness"]) <= {"sure", "perhaps", "doubtful", "not checked"}
    assert table["video"].isin(window.get("DATA.videos.map(({id}) => id)")).all()
    assert len(table) > 0


def test_the_picture_works_from_the_keyboard(pages: dict[str, Path], browser: Browser) -> None:
    window = browser.window()
    window.open(pages["given"])
    on = "(({ parentElement, id }) => parentElement.dataset.step || id)(document.activeElement)"
    window.run("byId('tab-procedure').focus()")
    window.press("Tab")
    order = window.get(f"[...document.querySelectorAll('{OWN} .node')].map((e) => e.dataset.step)")
    walked = [window.get(on)]
    for _ in order[1:]:
        window.press("ArrowRight")
        walked.append(window.get(on))
    assert walked == order
    # The focused card and the cards that it needs stand out, and the popup names them in words.
    lit = (
        "['own', 'needed', 'later'].map((n) => [...document.querySelectorAll(`.node.${n}`)].map((e) => e.dataset.step))"
    )
    assert window.get(lit) == [["4"], ["2", "3"], []]
    assert "after 2 in 10 of 10 videos" in window.get("byId('popup').innerText")
    window.press("Home")
    assert window.get(on) == order[0]
    assert window.get(lit) == [["1"], [], ["2", "3"]]
    outline = window.get("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"
    assert window.errors == []


def test_a_card_plays_its_key_step_from_start_to_end(window: Window) -> None:
    window.resize(1280, 900)
    step = int(window.get(f"Number(document.querySelector('{OWN} .node').dataset.step)"))
    window.run(f"rename(0, {step}, 'pour')")
    video, seconds = window.get(
        "(({ dataset }) => [Number(dataset.video), Number(dataset.seconds)])"
        f"(document.querySelector('{OWN} .node [data-seconds]'))"
    )
    start, end = next(
        (first, last)
        for first, last, own, _ in window.get(f"occurrencesOf({video}, 0)")
        if own == step and first <= seconds < last
    )
    window.click_on(f"{OWN} .node .face")
    title = window.get("byId('player-title').textContent")
    assert title.startswith(window.get(f"DATA.videos[{video}].name"))
    assert re.search(rf", key step {step}: pour, 0:\d\d\.\d to 0:\d\d\.\d$", title)
    playing = "document.querySelector('#player video')"
    window.wait_for(f"{playing}?.currentTime > {start}")
    assert window.get(f"{playing}.currentTime") < start + 2
    # It stops at the end, also after a jump; whoever plays on sees the rest.
    window.run(f"{playing}.currentTime = {max(start, end - 0.6)}")
    window.wait_for(f"{playing}.paused", 20)
    assert window.get(f"{playing}.currentTime") == pytest.approx(end, abs=0.2)
    window.run(f"rename(0, {step}, ''); {playing}.currentTime = {start}; {playing}.play()")
    window.wait_for(f"{playing}.currentTime > {start}")
    assert window.get("state.playing.until") is None
    assert window.errors == []


SIZES = ((1400, 900), (1000, 500), (390, 844))


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_nothing_moves_when_the_player_comes_and_goes(window: Window, width: int, height: int) -> None:
    window.resize(width, height, mobile=width < 600)
    clickable = f"{OWN} :is(.face, .seg, .deviation)"
    places = f"[...document.querySelectorAll('{clickable}')].map((e) => e.getBoundingClientRect().toJSON())"
    for clicked in (f"{OWN} .node .face", f"{OWN} .line:last-child .seg"):
        for edge in ("start", "center", "end"):
            window.run(f"document.querySelector('{clicked}').scrollIntoView({{ block: '{edge}' }})")
            window.frames()
            before = window.get(places)
            window.run(f"document.querySelector('{clicked}').click()")
            window.wait_for("document.querySelector('#player video')?.readyState >= 1")
            assert window.get(places) == before
            # It covers nothing that one clicks in a wide window, and not what was clicked in a narrow one.
            own = window.get("byId('player').getBoundingClientRect().toJSON()")
            one = window.get(f"document.querySelector('{clicked}').getBoundingClientRect().toJSON()")
            for box in before if width >= 1200 else [one]:
                beside = box["right"] <= own["left"] or box["left"] >= own["right"]
                assert beside or box["bottom"] <= own["top"] or box["top"] >= own["bottom"], (clicked, edge)
            window.run("stopPlayer()")
            assert window.get(places) == before
    assert window.errors == []


def test_a_deviation_plays_its_moment(page_task: Task, page: Path, browser: Browser) -> None:
    window = browser.window()
    window.open(page)
    for run in (0, 1, 2, 3):
        window.run(f"chooseRun({run})")
        if window.get(f"document.querySelector('{OWN} .deviation:not([hidden])') !== null"):
            break
    else:
        pytest.fail("no result has a deviation")
    moment = f"{OWN} .deviation:not([hidden])"
    video, start, end = window.get(
        "((e) => [e.closest('.line').dataset.video, e.dataset.start, e.dataset.end].map(Number))"
        f"(document.querySelector('{moment}'))"
    )
    window.click_on(moment)
    window.wait_for(f"document.querySelector('#player video')?.currentTime >= {start} - 0.1")
    assert window.get("document.querySelector('#player video').currentTime") < start + 4
    line = f'{OWN} .line[data-video="{video}"]'
    when, axis = (window.box(f"{line} {part}") for part in (".when", ".axis"))
    duration = window.get(f"DATA.videos[{video}].duration")
    assert when["x"] == pytest.approx(axis["x"] + start / duration * axis["width"], abs=1)
    assert when["width"] == pytest.approx(max(6, (end - start) / duration * axis["width"]), abs=1.5)
    window.wait_for(f"document.querySelector('{line} .playhead') !== null")
    # A bar of a line plays, too, like the bars under Videos.
    window.click_on(f"{line} .seg")
    window.wait_for("document.querySelector('#player video')?.currentTime < 2")
    assert window.errors == []
