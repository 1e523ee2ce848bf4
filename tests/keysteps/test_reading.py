"""The second reading of videos by appearance alone (methods 9.7)."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from rgwot.diagnostics import SecondReadingFacts
from rgwot.keysteps.reading import (
    AGAIN,
    IN_ORDER,
    MOVED,
    NOTICED,
    SHOWN,
    Chain,
    LogRatios,
    Reader,
    best_scores,
    edit,
    log_odds,
    places,
    read,
    second_reading,
    untold,
    visits,
)
from rgwot.procedure import Deviation, Event, Recording, learn
from rgwot.procedure.differences import decided
from rgwot.procedure.facts import deviation_facts
from rgwot.timing import runs

K = 2


def chain_of(between: bool) -> Chain:
    videos = [np.array([1, 1, 2, 2, 2]), np.array([1, 0, 0, 2, 1] if between else [1, 2, 2, 2, 1])]
    return Chain.fit(videos, K)


def score(labels: tuple[int, ...], log_p: np.ndarray, chain: Chain) -> float:
    """Return the log probability of one reading, segment by segment; two segments of background never meet."""
    durations, (plain, interrupted) = chain.durations(len(labels)), chain.prices()
    total, before, quiet = 0.0, 0, False
    for step, start, end in zip(*(part.tolist() for part in runs(np.array(labels))), strict=True):
        total += log_p[start:end, step].sum() + durations[end - start - 1, step]
        if step == 0:
            total += interrupted
        else:
            total += chain.transitions[before, step] + (0 if quiet else plain)
            before = step
        quiet = step == 0
    return float(total + chain.transitions[before, 0])


@pytest.mark.parametrize("between", [False, True])
def test_best_readings_are_those_of_all_readings(between: bool) -> None:
    rng, chain = np.random.default_rng(3), chain_of(between)
    T = 6
    log_p = rng.normal(size=(T, K + 1))
    states = range(K + 1) if between else range(1, K + 1)
    every = {labels: score(labels, log_p, chain) for labels in product(states, repeat=T) if any(labels)}
    levels = visits(K, np.array([1, 2]))
    actual = best_scores([log_p, log_p], chain, levels)
    for target, row in zip((1, 2), actual, strict=True):
        best = dict.fromkeys(range(AGAIN + 1), -np.inf)
        for labels, value in every.items():
            level = 0
            for step in runs(np.array(labels)).labels.tolist():
                level = int(levels[target - 1, level, step]) if step else level
            best[level] = max(best[level], value)
        for level, value in best.items():
            if np.isfinite(value):
                assert row[level] == pytest.approx(value, abs=1e-3)
            else:
                assert row[level] < -1e8
    labels = read(log_p, chain)
    assert every[tuple(labels.tolist())] == pytest.approx(max(every.values()))
    without = read(log_p, chain, [1])
    assert every[tuple(without.tolist())] == pytest.approx(max(v for labels, v in every.items() if 1 not in labels))


def test_videos_of_other_lengths_do_not_matter() -> None:
    rng, chain = np.random.default_rng(0), chain_of(True)
    videos = [rng.normal(size=(T, K + 1)) for T in (4, 9)]
    together = best_scores(videos, chain, visits(K, np.array([1, 1])))
    alone = [best_scores([video], chain, visits(K, np.array([1])))[0] for video in videos]
    np.testing.assert_allclose(together, alone, atol=1e-4)


def level_of(levels: np.ndarray, steps: list[int]) -> int:
    level = 0
    for step in steps:
        level = int(levels[level, step])
    return level


@pytest.mark.parametrize(
    ("steps", "level"),
    [([1], 1), ([2, 3], 0), ([1, 2, 1], 1), ([1, 2, 3, 1], AGAIN), ([1, 2, 3, 1, 2], AGAIN), ([1, 2, 3], 3)],
)
def test_a_key_step_is_done_again_after_two_others(steps: list[int], level: int) -> None:
    assert level_of(visits(3, np.array([1]))[0], steps) == level


@pytest.mark.parametrize(
    ("steps", "level"),
    [
        ([1, 2, 3], IN_ORDER),
        ([1, 3, 2], MOVED),
        ([2, 1, 3], MOVED),
        ([2, 3], 5),
        ([1, 3], 3),
        ([1, 2, 1, 3], IN_ORDER),
        ([3, 1, 2], MOVED),
    ],
)
def test_a_moved_key_step_leaves_its_neighbours(steps: list[int], level: int) -> None:
    assert level_of(places(3, np.array([2]), np.array([1]), np.array([3]))[0], steps) == level


def sampled(n: int = 10, noise: float = 0.6, seed: int = 0) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return samples and labels of videos of five key steps; the last three omit, move and repeat a key step."""
    rng = np.random.default_rng(seed)
    looks = rng.normal(size=(6, 12))
    x, labels = {}, {}
    orders = {n - 3: (1, 2, 4, 5), n - 2: (1, 4, 2, 3, 5), n - 1: (1, 2, 3, 4, 5, 2)}
    for video in range(n):
        y = np.repeat(orders.get(video, (1, 2, 3, 4, 5)), 8)
        x[f"v{video}"], labels[f"v{video}"] = looks[y] + noise * rng.normal(size=(len(y), 12)), y
    return x, labels


def test_deviations_that_order_hides_are_found() -> None:
    x, truth = sampled()
    # A decoder that relies on usual times gives every video the usual order.
    labels = {
        name: (np.arange(len(y)) * 5 // len(y) + 1) if name in ("v7", "v8", "v9") else y for name, y in truth.items()
    }
    recordings = [Recording(name, tuple(Event(k, k - 1, k) for k in range(1, 6)), 5) for name in x]
    second = second_reading(x, labels, ("v0", "v1"), learn(recordings), 5, 0)
    assert second is not None
    told = {key for key, support in second.support.items() if support > 0}
    # Key steps 2 and 3 come after 4; the smallest set of moved key steps has only 4.
    assert told - {("order", "v8", 2), ("order", "v8", 3)} == {
        ("missing", "v7", 3),
        ("order", "v8", 4),
        ("repeated", "v9", 2),
    }
    for name, y in truth.items():
        assert (second.labels[name] == y).mean() > 0.9
    for kind, edits in second.edits.items():
        assert edits.made >= 20, kind
        assert edits.noticed is not None
        assert edits.noticed >= edits.told > 0.8 * edits.made, kind


@pytest.mark.parametrize(("kind", "named"), [("missing", "missing"), ("order", "too_late"), ("repeated", "repeated")])
def test_enough_support_shows_a_deviation_that_only_the_second_reading_has(kind: str, named: Any) -> None:
    for nats, shown in ((SHOWN[kind], True), (SHOWN[kind] - 0.01, False)):
        told = decided([], [[]], [Deviation("v", named, 1, 0, 1, 1.0)], {(kind, "v", 1): nats})
        assert [row.sureness for row in deviation_facts(told, [])] == ["perhaps"] * shown


def test_only_edits_that_would_be_shown_count(monkeypatch: pytest.MonkeyPatch) -> None:
    x, labels = sampled()
    procedure = learn([Recording(name, tuple(Event(k, k - 1, k) for k in range(1, 6)), 5) for name in x])
    monkeypatch.setattr("rgwot.keysteps.reading.SHOWN", {**SHOWN, "missing": np.inf})
    monkeypatch.setattr("rgwot.keysteps.reading.NOTICED", {**NOTICED, "order": np.inf})
    second = second_reading(x, labels, (), procedure, 5, 0)
    assert second is not None
    # An edit that is noticed may still be shown, if the result or other segmentations have it, too.
    missing = second.edits["missing"]
    assert missing.noticed is not None
    assert (missing.told, missing.noticed > 0.8 * missing.made) == (0, True)
    order = second.edits["order"]
    assert (order.made > 0, order.told, order.noticed) == (True, 0, 0)
    silent = {kind for kind, *_ in second.support} - {
        kind for (kind, *_), value in second.support.items() if np.isfinite(value)
    }
    assert silent == {"order"}
    assert untold(SecondReadingFacts(**second.edits)) == ("order",)


def test_nothing_is_read_where_too_little_is_known() -> None:
    x, labels = sampled()
    procedure = learn([Recording(name, (Event(1, 0, 1),), 5) for name in x])
    few = dict(list(x.items())[:3])
    assert second_reading(few, labels, (), procedure, 5, 0) is None
    assert second_reading(x, labels, tuple(x), procedure, 5, 0) is None


def test_edits_are_what_they_are_called() -> None:
    x, labels = sampled(6)
    reader = Reader.fit(list(x.values()), list(labels.values()), 5, [True] * 6)
    rng = np.random.default_rng(0)
    first = reader.x[0]
    cut = edit(reader, 0, 2, "missing", rng)
    assert cut is not None
    assert np.array_equal(cut, first[labels["v0"] != 2])
    moved = edit(reader, 0, 2, "order", rng)
    assert moved is not None
    assert len(moved) == len(first)
    assert sorted(map(tuple, moved)) == sorted(map(tuple, first))
    at = [int(np.flatnonzero((moved == row).all(axis=1))[0]) for row in first[labels["v0"] == 2]]
    assert all(b == a + 1 for a, b in pairwise(at))
    assert at[0] >= 24
    again = edit(reader, 0, 2, "repeated", rng)
    assert again is not None
    assert len(again) == len(first) + 8


def test_odds_compare_videos_with_their_edits() -> None:
    rng = np.random.default_rng(0)
    found, edited = rng.normal(-20, 3, size=(12, 2)), rng.normal(5, 3, size=(12, 2))
    found[0] = 5, -20
    odds = log_odds(LogRatios(found, edited))
    assert odds[0, 0] > 0 > odds[1:].max()
    assert odds[0, 1] < -3
    # If an edit changes nothing, nothing is known about it.
    assert np.isneginf(log_odds(LogRatios(found, found))).all()
    assert np.isneginf(log_odds(LogRatios(found, np.full((12, 2), np.nan)))).all()
