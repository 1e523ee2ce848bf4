"""Progress of a loop is shown by lines in a log, and by a bar on a terminal."""

from __future__ import annotations

import io
import logging
import sys

import pytest

from rgwot.runtime import progress
from rgwot.runtime.progress import Progress, with_progress

LOG = logging.getLogger("loop")


class Clock:
    """A clock that a test advances."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the kernel of notebooks, which other tests in the same process may have imported."""
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(progress, "time", made)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    return made


def test_a_log_gets_a_line_every_ten_seconds_and_at_the_end(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with Progress(LOG, "train", total=100, start=40, unit="step") as loop:
        for _ in range(60):
            clock.now += 1
            loop.advance(1, "loss 2")
    lines = [record.getMessage() for record in caplog.records]
    # A step takes a second; steps done before this run count towards the total, but not for the rate.
    assert lines == [
        f"train: {40 + done} of 100 step, loss 2, 1 step/s, {(60 - done) // 60}:{(60 - done) % 60:02d} left"
        for done in (10, 20, 30, 40, 50, 60)
    ]


def test_items_are_counted_as_they_are_done(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    seen = []
    for item in with_progress(LOG, "manifest", ["a", "b"], "video"):
        seen.append(item)
        clock.now += 20
    assert seen == ["a", "b"]
    assert [record.getMessage() for record in caplog.records] == [
        "manifest: 1 of 2 video, 0.05 video/s, 0:20 left",
        "manifest: 2 of 2 video, 0.05 video/s, 0:00 left",
    ]


def test_a_terminal_gets_a_bar_and_no_lines(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stderr", terminal)
    with Progress(LOG, "train", total=3, unit="step") as loop:
        for _ in range(3):
            loop.advance(1, "loss 2")
    assert "train" in terminal.getvalue()
    assert "step" in terminal.getvalue()
    assert not caplog.records


def test_one_word_turns_it_off(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress.progress_shown(False), progress.progress_shown(True):
        assert list(with_progress(LOG, "manifest", ["a", "b"])) == ["a", "b"]
    assert (terminal.getvalue(), caplog.records) == ("", [])


def test_results_come_in_order_and_what_is_inside_is_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    def work(number: int) -> int:
        return number + sum(with_progress(LOG, "inside", [1]))

    assert progress.mapped(work, [3, 1, 2], None, logger=LOG, title="outside") == [4, 2, 3]
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == ["outside"]
