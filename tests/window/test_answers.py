"""Answers of the server during a run, which rewrites files that the server reads."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from rgwot.runtime.errors import RgwotError
from rgwot.study.study import Study
from rgwot.window.answers import Answers
from rgwot.window.session import Busy, Session


class Reader:
    """A learner whose manifest is missing as long as `missing` is true."""

    missing = True

    def learned(self, _: Study) -> dict[str, Any]:
        if self.missing:
            raise RgwotError("manifest.csv: cannot be read")
        return {"facts": {}}

    def written(self, _: Study) -> None:
        return None


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("running", [True, False])
def test_files_that_a_run_rewrites_are_not_faults_and_are_read_after_it(running: bool) -> None:
    at_work, reader = [running], Reader()
    answers = Answers(lambda: Study.of({}), lambda: at_work[0])
    answers._learners["mine", "tea"] = reader  # type: ignore[assignment]
    answers.want("mine", "tea")
    if not running:
        wait_for(lambda: answers.state().get("mine/tea", {}).get("fault") == "manifest.csv: cannot be read")
        return
    wait_for(lambda: answers.state()["mine/tea"]["waiting"])
    assert answers.state()["mine/tea"] == {"version": 0, "working": False, "waiting": True, "fault": ""}
    reader.missing, at_work[0] = False, False
    answers.ran()
    wait_for(lambda: answers.state()["mine/tea"]["version"] == 1)
    assert answers.state()["mine/tea"]["waiting"] is False


@pytest.mark.parametrize("saved_again", [False, True])
def test_labels_are_learned_during_a_run_once_their_files_are_there(
    monkeypatch: pytest.MonkeyPatch, saved_again: bool
) -> None:
    monkeypatch.setattr("rgwot.window.answers.AGAIN_S", 60 if saved_again else 0.05)
    reader, answers = Reader(), Answers(lambda: Study.of({}), lambda: True)
    answers._learners["mine", "tea"] = reader  # type: ignore[assignment]
    answers.want("mine", "tea")
    wait_for(lambda: answers.state()["mine/tea"]["waiting"])
    reader.missing = False
    if saved_again:
        answers.want("mine", "tea")
    wait_for(lambda: answers.state()["mine/tea"]["version"] == 1)
    assert answers.state()["mine/tea"]["waiting"] is False


def test_a_question_during_a_run_waits_for_it() -> None:
    def unread() -> None:
        raise RgwotError("manifest.csv: cannot be read")

    class Runs:
        def __init__(self, *states: bool) -> None:
            self.states = list(states)

        def at_work(self) -> bool:
            return self.states.pop(0)

    session = Session.__new__(Session)
    for states, error in (((True,), Busy), ((False, True), Busy), ((False, False), RgwotError)):
        session.runs = Runs(*states)  # type: ignore[assignment]
        with pytest.raises(RgwotError) as told:
            session.from_results(unread)
        assert type(told.value) is error
