"""The benchmark of moments: chosen moments, answers of a person, scored samples, and the time of the person."""

from __future__ import annotations

from pathlib import Path

import labelled
import moments
import numpy as np
import pandas as pd
import pytest
from labelled import OURS, Seen
from moments import (
    ANSWERS,
    COLUMNS,
    FOUND,
    SUGGESTED,
    UNIFORM,
    WAYS,
    WHOLE,
    answers,
    f1_of_others,
    measure,
    printed,
    seconds_of_videos,
    whole_videos,
)
from recordings import Recording, Task

from rgwot.keysteps.interface import NO_CLUSTER, UNKNOWN, Frames


@pytest.fixture
def seen() -> Seen:
    """Return five recordings of three steps with background around them; channels separate steps and background."""
    rng = np.random.default_rng(0)
    labels = [np.repeat([0, 1, 2, 3, 0], [6, n, 2 * n, n, 6]) for n in (10, 11, 12, 13, 14)]
    x = [(np.eye(4)[y] + 0.1 * rng.normal(size=(len(y), 4))).astype(np.float32) for y in labels]
    task = Task([Recording(Path(str(number)), one) for number, one in enumerate(x)], labels, 3, 2.0)
    frames = Frames(np.concatenate(x).astype(np.float64), tuple(map(len, x)), 2.0)
    return Seen(task, frames, frames, lambda seed: np.concatenate(labels) - 1)


def test_moments_are_drawn_once_each_and_repeat_with_the_run(seen: Seen) -> None:
    for way in (UNIFORM, FOUND):
        chosen = WAYS[way](seen, 40, 1)
        assert len(set(chosen)) == 40
        assert chosen == WAYS[way](seen, 40, 1) != WAYS[way](seen, 40, 2)
    # Every found segment is asked about once before any is asked about again.
    changed = np.concatenate([np.diff(part, prepend=-9) != 0 for part in seen.task.labels])
    segment = np.cumsum(changed)[WAYS[FOUND](seen, 25, 0)]
    assert sorted(segment) == list(range(1, 26))


def test_the_next_round_knows_the_answers(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    known: list[int] = []

    def suggest(frames: Frames, K: int, n: int, *rest: object) -> list[int]:
        assert frames.given is not None
        known.append(int((frames.given != UNKNOWN).sum()))
        return [int(at) for at in np.flatnonzero(frames.given == UNKNOWN)[:n]]

    monkeypatch.setattr(moments, "suggest_moments", suggest)
    assert WAYS[SUGGESTED](seen, 25, 0) == list(range(25))
    assert known == [0, 10, 20]


def test_answers_are_annotated_classes_and_are_not_scored(seen: Seen) -> None:
    truth = np.concatenate(seen.task.labels)
    given = answers(seen, [0, 6, 20])
    assert given[[0, 6, 20, 21]].tolist() == [NO_CLUSTER, 0, truth[20] - 1, UNKNOWN]
    assert f1_of_others(seen, truth - 1, [0, 6]) == 100
    # A decoder that only repeats the answers gets nothing right.
    chosen = list(range(0, len(truth), 3))
    assert f1_of_others(seen, np.maximum(answers(seen, chosen), NO_CLUSTER), chosen) == 0


def test_a_run_is_measured_where_it_is_missing(seen: Seen) -> None:
    lines = list(measure(seen, SUGGESTED, 0, [10]))
    assert [(line["answers"], line["seconds"]) for line in lines] == [(20, 100.0), (40, 200.0)]
    assert all(line["f1"] > 90 for line in lines)
    assert not list(measure(seen, SUGGESTED, 0, ANSWERS))


def test_a_whole_video_costs_its_length_and_its_borders(seen: Seen, tmp_path: Path) -> None:
    # 6 + 10 + 20 + 10 + 6 samples at 2 per second are 26 s, and there are four borders.
    assert seconds_of_videos(seen.task.labels, 2.0, [0]) == 1.5 * 26 + 3 * 4
    rows = pd.DataFrame({"method": [OURS, "other"], "n": 1, "draw": 0, "f1": [80.0, 1.0]})
    [line] = whole_videos(seen, rows)
    [video] = labelled.drawn(5, 1, 0)
    assert line["f1"] == 80
    assert line["seconds"] == seconds_of_videos(seen.task.labels, 2.0, [video])


def test_tables_and_figure_have_every_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        ("set", task, way, n, run, 5.0 * n, 50.0 + n + run)
        for task in ("one", "two")
        for way in WAYS
        for n in ANSWERS
        for run in (0, 1)
    ]
    lines += [("set", task, WHOLE, 1, 0, 400.0, 70.0) for task in ("one", "two")]
    rows = pd.DataFrame(lines, columns=list(COLUMNS))
    text = printed(rows)
    assert "| suggested | 60.5 | 70.5 | 90.5 |" in text
    assert "| whole videos | 1 | 400 | 70.0 |" in text
    monkeypatch.setattr(moments, "FIGURE", tmp_path / "moments.svg")
    moments.draw(rows)
    assert all(way in (tmp_path / "moments.svg").read_text(encoding="utf-8") for way in WAYS)
