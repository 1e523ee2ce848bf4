"""Moved key steps: costs of moves, compared with reordered references, and moves back to the usual place."""

from __future__ import annotations

import numpy as np
import pytest

from rgwot.keysteps.interface import UNKNOWN, Frames, directions
from rgwot.keysteps.labelled import decode_labelled
from rgwot.keysteps.moves import moved_costs, segments_of, stretched, usual_orders
from rgwot.keysteps.settings import Labelled
from rgwot.keysteps.warping import ALIGNED, aligned


def test_costs_are_those_of_reordered_references() -> None:
    rng = np.random.default_rng(0)
    parts = [(0, 3), (3, 5), (5, 9), (9, 12)]
    apart = rng.random((3, 12, 12))
    plain, costs = moved_costs(apart, parts, [0, 2, 3])
    assert np.allclose(plain, aligned(apart)[0])
    for i in range(4):
        for j in range(4):
            if i in (1, j):
                assert np.isinf(costs[i, j]).all()
                continue
            order = [part for part in range(4) if part != i]
            order.insert(order.index(j) + (j > i), i)
            samples = np.concatenate([np.arange(*parts[part]) for part in order])
            assert np.allclose(costs[i, j], aligned(apart[:, :, samples])[0])


def steps(order: list[int], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return unit vectors and labels of a video of `ALIGNED` samples whose steps have equal lengths and this order."""
    labels = np.repeat(order, ALIGNED // len(order))
    return directions(np.eye(6)[labels] + 0.2 * rng.normal(size=(ALIGNED, 6))), labels


@pytest.mark.parametrize("order", [[3, 0, 1, 2, 4], [0, 2, 3, 4, 1], [4, 0, 1, 2, 3], [1, 2, 3, 4, 0]])
def test_a_moved_step_goes_back_to_its_place(order: list[int]) -> None:
    rng = np.random.default_rng(1)
    references, labels = zip(*(steps([0, 1, 2, 3, 4], rng) for _ in range(2)), strict=True)
    usual, moved = steps([0, 1, 2, 3, 4], rng), steps(order, rng)
    log_p = np.log(np.where(np.eye(6, dtype=bool)[np.stack([usual[1], moved[1]])], 0.5, 0.1))
    x = np.stack([usual[0], moved[0]])
    found, limit = usual_orders(x, log_p, np.stack(references), np.stack(labels), least=100.0)
    assert limit == 100
    assert list(found) == [1]
    assert np.mean(moved[1][found[1]] == usual[1]) > 0.97
    assert sorted(found[1]) == list(range(ALIGNED))


def test_a_reference_with_another_order_moves_nothing() -> None:
    rng = np.random.default_rng(2)
    references, labels = zip(*(steps(order, rng) for order in ([0, 1, 2, 3, 4], [3, 0, 1, 2, 4])), strict=True)
    x, y = steps([0, 1, 2, 3, 4], rng)
    log_p = np.log(np.where(np.eye(6, dtype=bool)[y], 0.5, 0.1))
    assert usual_orders(x[None], log_p[None], np.stack(references), np.stack(labels))[0] == {}


def test_orders_of_all_samples_keep_every_sample() -> None:
    order = np.r_[40:60, 0:40, 60:120]
    for T in (7, 119, 120, 500):
        every = stretched(order, T)
        assert sorted(every) == list(range(T))
    assert abs(int(stretched(order, 1200)[0]) - 400) <= 5
    assert [segments_of(np.array([2, 2, 5]))] == [[(0, 2), (2, 3)]]


def test_samples_of_a_moved_step_get_its_label() -> None:
    """Three videos with the usual order teach; of five others, one has a step at another place."""
    rng = np.random.default_rng(3)
    orders = [[0, 1, 2, 3, 4]] * 7 + [[3, 0, 1, 2, 4]]
    labels = [np.repeat(order, 30) for order in orders]
    x = np.concatenate([np.eye(5)[y] + 0.3 * rng.normal(size=(len(y), 5)) for y in labels])
    given = np.concatenate([y if video < 3 else np.full(len(y), UNKNOWN) for video, y in enumerate(labels)])
    frames = Frames(x, (150,) * 8, 1.0, given=given)
    found = decode_labelled(frames, 5, rng, Labelled()).labels
    assert np.mean(found[-150:] == labels[-1]) > 0.95


def test_if_most_videos_move_a_step_there_is_no_usual_order() -> None:
    rng = np.random.default_rng(4)
    references, labels = zip(*(steps([0, 1, 2, 3, 4], rng) for _ in range(2)), strict=True)
    orders = [[3, 0, 1, 2, 4], [0, 2, 3, 4, 1], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]]
    for count, expected in ((5, [0, 1]), (3, [])):
        x, y = zip(*(steps(order, rng) for order in orders[:count]), strict=True)
        log_p = np.log(np.where(np.eye(6, dtype=bool)[np.stack(y)], 0.5, 0.1))
        assert sorted(usual_orders(np.stack(x), log_p, np.stack(references), np.stack(labels))[0]) == expected
