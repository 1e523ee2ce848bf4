"""Moments to label: suggestions, the effect of answers on further suggestions, and labels learned from answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import rgwot
from rgwot.keysteps.interface import UNKNOWN, Frames
from rgwot.keysteps.labelled import decode_labelled
from rgwot.keysteps.settings import Labelled
from rgwot.keysteps.suggest import suggest_moments
from rgwot.runtime.errors import RgwotError

SETTINGS = Labelled()
V, T, K = 6, 60, 4


@pytest.fixture(scope="module")
def samples() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return samples and steps of V videos with K steps in their own orders; the last step is three times shorter."""
    generator = np.random.default_rng(0)
    centres, parts = generator.normal(size=(K, 16)), []
    for _ in range(V):
        order = generator.permutation(K)
        parts.append(np.repeat(order, np.where(order == K - 1, 6, 18)))
    labels = np.concatenate(parts)
    return centres[labels] + 0.4 * generator.normal(size=(len(labels), 16)), labels


def suggested(x: NDArray[np.float64], n: int, given: NDArray[np.int64] | None = None, seed: int = 0) -> list[int]:
    frames = Frames(x, (T,) * V, 2.0, given=given)
    return suggest_moments(frames, K, n, SETTINGS.meanfield, np.random.default_rng(seed))


def test_as_many_moments_as_steps_show_every_step(samples: Any) -> None:
    x, labels = samples
    chosen = suggested(x, K)
    assert set(labels[chosen]) == set(range(K))
    assert suggested(x, K) == chosen
    # A shorter list is the beginning of a longer one.
    assert suggested(x, 2) == chosen[:2]


def test_what_was_answered_is_not_asked_again_nor_what_looks_the_same(samples: Any) -> None:
    x, labels = samples
    answers = np.full(len(x), UNKNOWN)
    answers[labels < K - 1] = labels[labels < K - 1]
    assert labels[suggested(x, 1, answers)] == [K - 1]
    answers[:] = UNKNOWN
    for step in (0, 1):
        answers[np.flatnonzero(labels == step)[:1]] = step
    assert set(labels[suggested(x, 2, answers)]) == {2, 3}
    every = suggested(x, (answers == UNKNOWN).sum(), answers)
    assert sorted(every) == np.flatnonzero(answers == UNKNOWN).tolist()


def test_moments_are_spread_over_videos_that_differ() -> None:
    """All samples of a video look alike, and unlike those of other videos."""
    generator = np.random.default_rng(1)
    x = np.repeat(generator.normal(size=(V, 16)), T, axis=0) + 0.3 * generator.normal(size=(V * T, 16))
    chosen = suggest_moments(Frames(x, (T,) * V, 2.0), V, V, SETTINGS.meanfield, np.random.default_rng(0))
    assert sorted(at // T for at in chosen) == list(range(V))


def test_an_answer_for_every_step_labels_all_videos(samples: Any) -> None:
    x, labels = samples
    chosen = suggested(x, 2 * K)
    given = np.full(len(x), UNKNOWN)
    given[chosen] = labels[chosen]
    frames = Frames(x, (T,) * V, 2.0, given=given, marked=given != UNKNOWN)
    decoded = decode_labelled(frames, K, np.random.default_rng(0), SETTINGS)
    assert (decoded.labels == labels).mean() > 0.95
    assert (decoded.labels[chosen] == labels[chosen]).all()


def test_from_python_and_back(samples: Any) -> None:
    x, labels = samples
    videos = {f"v{number}": part for number, part in enumerate(np.split(x, V))}
    result = rgwot.discover(videos, fps=2, method="raw", decoder="meanfield", K=K)
    table = result.suggest(moments=2 * K)
    assert list(table.columns) == ["video", "time_s", "label"]
    assert set(table["label"]) == {""}
    places = [
        60 * int(video[1:]) + round(2 * time_s) for video, time_s in zip(table["video"], table["time_s"], strict=True)
    ]
    table["label"] = [f"step {labels[place]}" for place in places]
    # The last moment has no answer.
    table.loc[len(table) - 1, "label"] = ""
    taught = rgwot.discover(videos, fps=2, method="raw", labels=table)
    assert sum(taught.diagnostics["labelled"]["marks"].values()) == len(table) - 1
    again = taught.suggest(moments=5)
    before = set(zip(table["video"][:-1], table["time_s"][:-1], strict=True))
    assert not before & set(zip(again["video"], again["time_s"], strict=True))
    assert len(result.suggest(videos=2)) == 2
    unlabelled = set(videos) - set(table["video"][:-1])
    assert set(taught.suggest(videos=V)) == unlabelled


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"moments": 0}, "moments: found 0, expected a whole number, 1 or more"),
        ({"moments": 2.5}, "moments: found 2.5, expected a whole number, 1 or more"),
        ({"videos": True}, "videos: found True, expected a whole number, 1 or more"),
        ({"moments": 1000}, "moments: found 1000, expected at most 360, the number of samples without a label"),
        ({}, "suggest: found videos=None and moments=None, expected one number"),
        ({"videos": 1, "moments": 1}, "suggest: found videos=1 and moments=1, expected one number"),
    ],
)
def test_numbers_that_cannot_be_meant_are_refused_in_one_line(
    samples: Any, asked: dict[str, Any], message: str
) -> None:
    result = rgwot.discover(np.split(samples[0], V), fps=2, method="raw", decoder="kmeans", K=K)
    with pytest.raises(RgwotError) as error:
        result.suggest(**asked)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_without_features_nothing_is_suggested() -> None:
    result = rgwot.discover([np.zeros((20, 3)) + np.arange(20)[:, None]], fps=2, method="none", decoder="uniform", K=2)
    with pytest.raises(RgwotError, match=r"suggest: found a result of none/uniform/seed0, which has no embeddings"):
        result.suggest(moments=1)


def test_moments_without_an_answer_say_nothing() -> None:
    videos = [np.random.default_rng(number).normal(size=(20, 3)) for number in range(2)]
    rows = [("0", 1.0, "a"), ("0", 4.0, ""), ("1", 5.0, None), ("1", 2.0, "b")]
    taught = rgwot.discover(
        videos, fps=2, method="raw", labels=pd.DataFrame(rows, columns=["video", "time_s", "label"])
    )
    assert taught.diagnostics["labelled"]["marks"] == {"0": 1, "1": 1}
