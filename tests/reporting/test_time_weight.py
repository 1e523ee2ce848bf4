"""The sentence on the weight of time that a result chose, and its place on the page."""

from __future__ import annotations

import re

import pytest

from rgwot.keysteps.extended import SAME_ORDER
from rgwot.paths import Run
from rgwot.reporting.page.content import Content
from rgwot.reporting.page.render import page_text
from rgwot.reporting.page.runs import ShownRun, time_in_words

TIME = {"chosen": 0.5, "agreement": 0.1, "concordance": 0.9}
WHY = {"choices": {"time": {"chosen": 0.0, "why": "a <b>single</b> video: nothing to choose by"}}}


@pytest.mark.parametrize(
    ("more", "parts"),
    [
        ({}, ("50%", "one order", "0.9")),
        ({"concordance": SAME_ORDER - 0.1, "chosen": 0.03}, ("3%", "hint", f"{SAME_ORDER:g}")),
        ({"agreement": -0.1, "chosen": 0.0}, ("weight 0", "-0.1")),
    ],
)
def test_the_sentence_has_the_share_and_its_evidence(more: dict[str, object], parts: tuple[str, ...]) -> None:
    words = time_in_words({"choices": {"time": {**TIME, **more}}})
    assert all(part in words for part in parts), words


def test_what_was_set_needs_no_sentence() -> None:
    assert time_in_words({"K": 7}) == time_in_words({"K": 7, "choices": {}}) == ""
    assert "single" in time_in_words(WHY)


def test_the_page_tells_it_of_each_result_that_chose() -> None:
    told = [{"K": 7}, {"choices": {"time": TIME}}, {"choices": {}}, WHY]
    runs = [
        ShownRun(Run("rgwot-plus", "consensus", seed), {}, {}, "", None, None, {}, time_in_words(one))  # type: ignore[arg-type]
        for seed, one in enumerate(told)
    ]
    text = page_text(Content({"dataset": "mine", "task": "tea", "curves": [], "groups": None}, runs, [], [], []))
    assert re.findall(r'<article class="time-share" data-run="(\d)"', text) == ["1", "3"]
    # A reason is text, whatever it holds.
    assert "<b>single" not in text
