"""The mean-field decoder: its energy never rises, and its answers are right in limiting cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from with_defaults import decode_by, predict_by

from rgwot.keysteps.interface import Frames
from rgwot.keysteps.meanfield import MeanField, Windows, _Chain, _unary, label, minimise_energy
from rgwot.keysteps.settings import MeanfieldSettings


def block(**keys: Any) -> MeanfieldSettings:
    return MeanfieldSettings.model_validate({"lambda_video": 0.05, **keys})


def directions(T: int, D: int, seed: int) -> np.ndarray:
    x = np.random.default_rng(seed).normal(size=(T, D))
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def memberships(T: int, K: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(K, 0.3), size=T) + 1e-9


def averages(lengths: list[int], window: float) -> np.ndarray:
    """Return the matrix B of averages over the window, entry by entry."""
    T, first = sum(lengths), 0
    B = np.zeros((T, T))
    for length in lengths:
        h = int(np.rint(window * length))
        for i in range(length):
            inside = [j for j in range(length) if abs(i - j) <= h]
            for j in inside:
                B[first + i, first + j] = 1 / len(inside)
        first += length
    return B


def energy(x: np.ndarray, lengths: list[int], p: np.ndarray, A: np.ndarray, s: MeanfieldSettings) -> float:
    """Return F(p, A), computed by loops (methods 5.4)."""
    T, K = p.shape
    B = averages(lengths, s.window)
    W = B.T @ B
    F = sum(p[i, k] * (1 - s.alpha) * (1 - x[i] @ A[k]) for i in range(T) for k in range(K))
    F += sum(s.alpha * W[i, j] * (1 - p[i] @ p[j]) for i in range(T) for j in range(T))
    F += s.epsilon * float((p * np.log(p)).sum())
    F += s.lambda_ * T * sum(m * np.log(K * m) for m in p.mean(axis=0))
    for own in np.split(p, np.cumsum(lengths)[:-1]):
        F += s.lambda_video * len(own) * sum(m * np.log(K * m) for m in own.mean(axis=0))
    return float(F)


LENGTHS = [1, 5, 9, 2]


def test_averages_and_their_transpose_are_those_of_the_matrix() -> None:
    B, y = averages(LENGTHS, 0.2), np.random.default_rng(0).normal(size=(3, sum(LENGTHS)))
    windows = Windows(LENGTHS, 0.2)
    np.testing.assert_allclose(windows.mean(y), y @ B.T, atol=1e-12)
    np.testing.assert_allclose(windows.transposed(y), y @ B, atol=1e-12)
    assert np.linalg.eigvalsh(B.T @ B).min() > -1e-12


@pytest.mark.parametrize("shares", [None, np.array([0.2, 0.5, 0.3])])
def test_energy_and_gradient_against_loops_and_differences(shares: np.ndarray | None) -> None:
    s = block(alpha=0.3, **{"lambda": 0.07}, lambda_video=0.04, window=0.2, epsilon=0.1)
    x, p, A = directions(17, 4, 0), memberships(17, 3, 1), directions(3, 4, 2)
    p /= p.sum(axis=1, keepdims=True)
    chain = _Chain(LENGTHS, s, shares)
    unary = _unary(x, A, s.alpha)

    def at(q: np.ndarray) -> tuple[float, np.ndarray]:
        return chain.evaluate(np.log(q.T), np.ascontiguousarray(q.T), unary)

    found, gradient = at(p)
    if shares is None:
        assert found == pytest.approx(energy(x, LENGTHS, p, A, s), rel=1e-12)
    else:
        told = energy(x, LENGTHS, p, A, s.model_copy(update={"lambda_": 0.0}))
        assert found == pytest.approx(told + s.lambda_ * (p.sum(axis=0) @ np.log(3 * shares)), rel=1e-12)
    # Derivatives along the simplex, where terms that are constant per sample cancel.
    for i in (0, 3, 16):
        for k in (1, 2):
            step = np.zeros_like(p)
            step[i, 0], step[i, k] = 1e-6, -1e-6
            slope = (at(p + step)[0] - at(p - step)[0]) / 2e-6
            entropy = s.epsilon * (np.log(p[i, 0]) - np.log(p[i, k]))
            assert slope == pytest.approx(gradient[0, i] - gradient[k, i] + entropy, rel=1e-4, abs=1e-6)


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    lengths=st.lists(st.integers(1, 30), min_size=1, max_size=5),
    K=st.integers(1, 6),
    alpha=st.floats(0, 0.95),
    epsilon=st.floats(0.005, 1),
    pull=st.floats(0, 2),
    video=st.floats(0, 2),
    window=st.floats(0, 1),
    hard=st.booleans(),
)
def test_no_update_of_either_kind_raises_the_energy(
    seed: int, lengths: list[int], K: int, alpha: float, epsilon: float, pull: float, video: float, window: float,
    hard: bool,
) -> None:  # fmt: skip
    T = sum(lengths)
    s = block(
        alpha=alpha, epsilon=epsilon, **{"lambda": pull}, lambda_video=video, window=window, max_iterations=8, inner=3
    )
    x, p = directions(T, 5, seed), memberships(T, K, seed)
    p = np.eye(K)[p.argmax(axis=1)] if hard else p
    solution = minimise_energy(x, lengths, p, s)
    scale = T * (1 + epsilon + pull + video)
    assert np.isfinite(solution.memberships).all()
    assert np.diff(solution.energies).max(initial=0.0) <= 1e-12 * scale
    np.testing.assert_allclose(solution.memberships.sum(axis=1), 1)
    if (solution.memberships > 0).all():
        last = energy(x, lengths, solution.memberships, solution.centres, s)
        assert solution.energies[-1] == pytest.approx(last, abs=1e-9 * scale)
    # The energy does not rise with fixed shares and centres, either, which label other videos.
    chain = _Chain(lengths, s, solution.shares)
    start = np.full((K, T), 1 / K)
    moved = chain.run(np.log(start), start, x, solution.centres, fixed=True)
    assert np.diff(moved.energies).max(initial=0.0) <= 1e-12 * scale
    np.testing.assert_array_equal(moved.centres, solution.centres)


def test_an_update_without_damping_can_raise_it() -> None:
    # Without damping the energy can rise, so the test above could fail.
    s = block(alpha=0.0, epsilon=0.02, **{"lambda": 1.0}, lambda_video=0.0)
    x, p = directions(12, 3, 0), memberships(12, 3, 3)
    p /= p.sum(axis=1, keepdims=True)
    chain = _Chain([12], s)
    unary = _unary(x, directions(3, 3, 1), s.alpha)
    before, gradient = chain.evaluate(np.log(p.T), np.ascontiguousarray(p.T), unary)
    damped = chain.update(np.log(p.T), gradient)
    assert chain.evaluate(*damped, unary)[0] < before
    chain.eta = 1.0
    assert chain.evaluate(*chain.update(np.log(p.T), gradient), unary)[0] > before


def two_steps(seed: int = 0) -> tuple[Frames, np.ndarray]:
    truth = np.concatenate([np.repeat([0, 1, 0], [20, 30, 10]), np.repeat([1, 0], [25, 25]), np.repeat([0, 1], 15)])
    x = 4 * np.eye(6)[truth] + np.random.default_rng(seed).normal(size=(len(truth), 6))
    # The lengths of vectors do not matter.
    x *= np.random.default_rng(seed).uniform(0.1, 9, size=(len(truth), 1))
    return Frames(x, (60, 50, 30), 2.0), truth


def agreement(labels: np.ndarray, truth: np.ndarray) -> float:
    return max(float((labels == truth).mean()), float((labels == 1 - truth).mean()))


def test_two_key_steps_are_found_and_reported() -> None:
    frames, truth = two_steps()
    decoded = decode_by("meanfield", frames, 2, {}, np.random.default_rng(0))
    assert agreement(decoded.labels, truth) > 0.97
    assert decoded.memberships is not None
    assert decoded.memberships.shape == (140, 2)
    np.testing.assert_array_equal(decoded.labels, decoded.memberships.argmax(axis=1))
    facts = decoded.facts["meanfield"]
    assert facts.energy <= facts.energy_at_start
    assert facts.converged
    assert sum(facts.shares) == pytest.approx(1)
    again = decode_by("meanfield", frames, 2, {}, np.random.default_rng(0))
    np.testing.assert_array_equal(again.labels, decoded.labels)


def test_neighbours_in_time_decide_where_a_sample_says_nothing() -> None:
    frames, truth = two_steps()
    x = frames.x.copy()
    x[[25, 35, 70, 100]] = 0
    decoded = decode_by("meanfield", Frames(x, frames.lengths, 2.0), 2, {}, np.random.default_rng(0))
    names = [np.bincount(decoded.labels[truth == step], minlength=2).argmax() for step in (0, 1)]
    assert decoded.labels[[25, 35, 70, 100]].tolist() == [names[step] for step in truth[[25, 35, 70, 100]]]


def test_shares_of_key_steps_become_more_even_with_their_weight() -> None:
    x, p = directions(90, 4, 5), memberships(90, 4, 6)

    def unevenness(**keys: float) -> tuple[float, float]:
        solution = minimise_energy(x, [30, 60], p, block(**{"lambda": 0.0, "lambda_video": 0.0, **keys}, tolerance=0.0))
        own = [solution.memberships[:30].mean(axis=0), solution.memberships[30:].mean(axis=0)]
        return float(np.ptp(solution.shares)), float(np.mean([np.ptp(m) for m in own]))

    free, task, video = unevenness(), unevenness(**{"lambda": 5.0}), unevenness(lambda_video=5.0)
    assert task[0] < 0.05 < free[0]
    assert video[1] < 0.05 < task[1]


@pytest.mark.parametrize("x", [np.zeros((5, 3)), np.ones((5, 3)), np.repeat(np.eye(3)[:2], [2, 3], axis=0)])
def test_fewer_different_samples_than_key_steps(x: np.ndarray) -> None:
    decoded = decode_by("meanfield", Frames(x, (4, 1), 2.0), 7, {}, np.random.default_rng(0))
    assert decoded.memberships is not None
    assert decoded.memberships.shape == (5, 7)
    np.testing.assert_allclose(decoded.memberships.sum(axis=1), 1)
    assert len(set(decoded.labels.tolist())) == len(np.unique(x, axis=0))
    other = predict_by("meanfield", decoded, 7, {})(Frames(np.ones((1, 3)), (1,), 2.0))
    assert other.labels.shape == (1,)
    assert 0 <= other.labels[0] < 7


def test_videos_of_one_sample() -> None:
    frames = Frames(np.repeat(np.eye(3), 4, axis=0), (1,) * 12, 2.0)
    labels = decode_by("meanfield", frames, 3, {}, np.random.default_rng(0)).labels
    assert len({tuple(part) for part in np.split(labels, 3)}) == 3
    assert all(len(set(part)) == 1 for part in np.split(labels, 3))


def test_videos_seen_in_training_are_labelled_as_they_were() -> None:
    frames, _ = two_steps()
    s = MeanfieldSettings()
    made: MeanField = minimise_energy(frames.x, frames.lengths, np.eye(2)[np.arange(140) % 2], s)
    np.testing.assert_allclose(
        label(frames.x, frames.lengths, made.centres, made.shares, s), made.memberships, atol=0.01
    )
    decoded = decode_by("meanfield", frames, 2, {}, np.random.default_rng(0))
    predict = predict_by("meanfield", decoded, 2, {})
    np.testing.assert_array_equal(predict(frames).labels, decoded.labels)
    # A single video is labelled with the centres of the task.
    one = predict(Frames(frames.x[60:110], (50,), 2.0))
    np.testing.assert_array_equal(one.labels, decoded.labels[60:110])


def test_the_order_of_the_videos_does_not_matter() -> None:
    frames, _ = two_steps()
    p, s = memberships(140, 3, 2), MeanfieldSettings()
    solution = minimise_energy(frames.x, frames.lengths, p, s)
    order = np.concatenate([np.arange(110, 140), np.arange(60), np.arange(60, 110)])
    moved = minimise_energy(frames.x[order], (30, 60, 50), p[order], s)
    np.testing.assert_allclose(moved.memberships, solution.memberships[order], atol=1e-8)
    np.testing.assert_allclose(moved.energies, solution.energies, rtol=1e-10)
