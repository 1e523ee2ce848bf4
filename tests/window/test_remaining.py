"""How long a first answer still takes is told from the speed at which videos are read."""

from __future__ import annotations

from typing import Any

import pytest

from rgwot.window.remaining import AFTER_READING, EACH_JOB_S, STAGES, Footage, Remaining, stage_of

#: Seconds of reading for a second of video.
PACE = 0.2
VIDEOS = ("one.mp4", "two.mp4", "three.mp4")
SECONDS = 100.0


def reading(video: int, share: float) -> tuple[dict[str, Any], dict[str, Footage]]:
    """The state of a run that has read a part of a video, and what is read."""
    frames = 200
    note = {
        "title": VIDEOS[video], "done": round(share * frames), "total": frames, "unit": "frame",
        "left_s": round((1 - share) * SECONDS * PACE),
    }  # fmt: skip
    footage = {name: Footage(SECONDS, place < video) for place, name in enumerate(VIDEOS)}
    return {"at_work": True, "done": 1, "steps": 9, "progress": [note]}, footage


def test_the_stage_is_that_of_the_first_job_at_work() -> None:
    assert stage_of(["view", "import_video", "decode_trivial"]) == 1
    assert list(STAGES)[stage_of(["page", "decode_trivial"]) - 1] == "finding key steps"
    assert stage_of(["bundle"]) == 2
    assert stage_of(["page_index"]) == 3
    assert stage_of([]) == 0


def test_the_whole_first_answer_is_what_is_unread_and_what_follows() -> None:
    remaining = Remaining()
    assert remaining({"at_work": True, "done": 0, "steps": 9, "progress": []}, {}) is None
    after = AFTER_READING * 3 * SECONDS * PACE + 8 * EACH_JOB_S
    told = []
    for video, share in ((0, 0.25), (0, 0.75), (1, 0.5), (2, 0.0), (2, 1.0)):
        left = remaining(*reading(video, share))
        assert left == pytest.approx((3 - video - share) * SECONDS * PACE + after)
        told.append(left)
    assert told == sorted(told, reverse=True)
    # When all videos are read, what follows shrinks with its jobs.
    quiet: dict[str, Any] = {"at_work": True, "steps": 9, "progress": []}
    assert remaining({**quiet, "done": 5}, {}) == pytest.approx(after / 2)
    assert remaining({**quiet, "done": 9}, {}) == 0
    # A later run reads nothing: nobody knows how long it takes.
    remaining({"at_work": False}, {})
    assert remaining({**quiet, "done": 1}, {}) is None
