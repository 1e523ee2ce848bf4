"""The share of time that a result chose: read from its diagnostics, drawn as a figure, told on the page."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import pytest
from click.testing import CliRunner
from page_tree import embedded_data

from rgwot.cli import cli
from rgwot.keysteps.relative_time import KEEPS
from rgwot.paths import Run
from rgwot.reporting.choices import AGREEMENT, TRIED, choice_curves, shown_choices
from rgwot.reporting.page.content import Content
from rgwot.reporting.page.render import page_text
from rgwot.reporting.page.runs import ShownRun
from rgwot.runtime.errors import RgwotError

TIME = {"chosen": 0.15, "agreement": {"0.15": 0.1, "0.0": 0.09, "0.03": 0.095, "0.4": 0.02}, "concordance": 0.9}
MADE = {"K": 7, "surplus": 0, "time": 0.15, "choices": {"time": TIME}}
WHY = {"K": 7, "time": 0.0, "choices": {"time": {"chosen": 0.0, "why": "a <b>single</b> video: nothing to choose by"}}}


def test_the_choice_is_a_curve_with_its_reason_in_words() -> None:
    (time,) = shown_choices(MADE).curves
    assert list(time.found.items()) == [(0.0, 0.09), (0.03, 0.095), (0.15, 0.1), (0.4, 0.02)]
    assert time.chosen == 0.15
    assert time.least == pytest.approx(KEEPS * 0.09)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "15% of the squared length of an embedding: it is the largest share that keeps 88.5%"),
        ({"chosen": 0.4}, "the smallest share: none keeps 88.5%"),
        (
            {"chosen": 0.03, "agreement": {"0.0": 0.1, "0.03": 0.1}, "concordance": 0.5},
            "a hint: videos differ in their order (concordance 0.5, 0.75 is asked for)",
        ),
        ({"chosen": 0.0, "agreement": {"0.0": 0.0, "0.03": 0.0}}, "Time is given no share"),
    ],
)
def test_words_follow_what_was_chosen(more: dict[str, Any], words: str) -> None:
    (curve,) = shown_choices({"choices": {"time": {**TIME, **more}}}).curves
    assert words in curve.words


def test_the_figure_has_the_chosen_value_marked(tmp_path: Path) -> None:
    path = tmp_path / "diagnostics.json"
    path.write_text(json.dumps(MADE))
    figure = choice_curves(path, "mine/tea: a $ b")
    (axis,) = figure.axes
    assert (axis.get_xlabel(), axis.get_ylabel()) == (TRIED, AGREEMENT)
    curve, *_, mark = axis.lines
    assert curve.get_xydata().tolist() == [[0.0, 0.09], [0.03, 0.095], [0.15, 0.1], [0.4, 0.02]]
    assert mark.get_xydata().tolist() == [[0.15, 0.1]]
    assert mark.get_label() == "chosen"
    assert "mine/tea: a $ b" in figure._suptitle.get_text()  # type: ignore[attr-defined]
    plt.close(figure)


def test_the_verb_draws_both_forms_and_says_when_there_is_nothing_to_draw(tmp_path: Path) -> None:
    path, output = tmp_path / "diagnostics.json", tmp_path / "out.pdf"
    for content, words in (({"K": 7, "choices": {}}, "nothing was left to the data"), (WHY, "single")):
        path.write_text(json.dumps(content))
        error = CliRunner().invoke(cli, ["plot-choices", str(output), str(path)]).exception
        assert isinstance(error, RgwotError)
        assert words in str(error)
        assert "\n" not in str(error)
        assert not output.exists()
    path.write_text(json.dumps(MADE))
    assert CliRunner().invoke(cli, ["plot-choices", str(output), str(path)]).exit_code == 0
    assert output.read_bytes().startswith(b"%PDF")
    assert output.with_suffix(".png").stat().st_size > 5000


def page(*diagnostics: dict[str, Any]) -> str:
    """Make a page of results with these diagnostics."""
    runs = [
        ShownRun(Run("rgwot-plus", "consensus", seed), {}, {}, "", None, None, {}, shown_choices(one))  # type: ignore[arg-type]
        for seed, one in enumerate(diagnostics)
    ]
    return page_text(Content({"dataset": "mine", "task": "tea", "curves": [], "groups": None}, runs, [], [], []))


def articles(text: str) -> list[ElementTree.Element]:
    """Parse the parts on choices, which are well-formed."""
    found = re.findall(r'<article class="choices".*?</article>', text, re.DOTALL)
    closed = (re.sub(r"(<img [^>]*)>", r"\1/>", one.replace(" hidden>", ">", 1)) for one in found)
    return [ElementTree.fromstring(one) for one in closed]


def test_the_page_tells_the_choices_of_each_result_that_made_some(tmp_path: Path) -> None:
    assert not articles(page({"K": 7}, {"K": 7, "choices": {}}))
    text = page({"K": 7}, MADE, {"K": 7, "choices": {}}, WHY)
    made, failed = articles(text)
    assert (made.get("data-run"), failed.get("data-run")) == ("1", "3")
    assert made.findtext("h2") == "What rgwot-plus/consensus/seed1 left to the data"
    curves = shown_choices(MADE).curves
    assert [part.text for part in made.iter("p")] == [curve.words for curve in curves]
    for picture, curve in zip(made.iter("img"), curves, strict=True):
        described = picture.attrib["alt"]
        assert f"{AGREEMENT}, by {TRIED}: " in described
        assert f"chosen: {curve.chosen:g}" in described
        svg = base64.b64decode(picture.attrib["src"].removeprefix("data:image/svg+xml;base64,"))
        assert ElementTree.fromstring(svg).tag.endswith("svg")
    # A reason is text, whatever it holds.
    assert failed.findtext("p") == shown_choices(WHY).why
    assert not list(failed.iter("img"))
    assert "<b>" not in text
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    assert embedded_data(tmp_path / "page.html")["task"] == "tea"
