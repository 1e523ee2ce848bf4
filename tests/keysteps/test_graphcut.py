from __future__ import annotations

import itertools
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from with_defaults import decode_by, predict_by

from rgwot.keysteps import graphcut
from rgwot.keysteps.graphcut import LabelMetric, edge_weights, energy, expand_labels, label_distance, minimise_chain
from rgwot.keysteps.interface import Decoded, Frames

METRICS: list[LabelMetric] = ["potts", "linear"]
has_library = pytest.mark.skipif(not graphcut.has_library(), reason="gco-wrapper is not installed")


def problem(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a random chain whose terms differ in size by up to ten orders of magnitude."""
    generator = np.random.default_rng(seed)
    T, K = int(generator.integers(1, 60)), int(generator.integers(2, 12))
    unary = generator.random((T, K)) * 10.0 ** generator.integers(-4, 5)
    lengths = [T] if T < 4 else [T // 3, T - T // 3]
    return unary, edge_weights(lengths, generator.random() * 10.0 ** generator.integers(-4, 3), joined=False)


@has_library
@pytest.mark.parametrize("metric", METRICS)
def test_200_random_problems_stay_at_or_above_the_minimum(metric: LabelMetric) -> None:
    gaps = []
    for seed in range(200):
        unary, weights = problem(seed)
        distance = label_distance(unary.shape[1], metric)
        labels = expand_labels(unary, weights, metric)
        assert labels.shape == (len(unary),)
        assert 0 <= labels.min() <= labels.max() < unary.shape[1]
        reached = energy(labels, unary, weights, distance)
        minimum = energy(minimise_chain(unary, weights, metric), unary, weights, distance)
        assert reached >= minimum * (1 - 1e-12)
        gaps.append((reached - minimum) / minimum)
    # A local minimum of expansion moves is within twice the optimum for Potts, and close to it in practice.
    assert max(gaps) < 1
    assert np.mean(gaps) < 0.02


@has_library
def test_two_labels_are_exact() -> None:
    for seed in range(60):
        generator = np.random.default_rng(seed)
        unary, weights = generator.random((50, 2)), edge_weights([20, 30], generator.random(), joined=False)
        distance = label_distance(2, "potts")
        reached = energy(expand_labels(unary, weights, "potts"), unary, weights, distance)
        minimum = energy(minimise_chain(unary, weights, "potts"), unary, weights, distance)
        # The solver rounds costs to whole numbers, with an error of 1e-5 of a switch.
        assert reached == pytest.approx(minimum, rel=1e-4)


@has_library
@pytest.mark.parametrize("metric", METRICS)
def test_no_expansion_move_improves_the_result(metric: LabelMetric) -> None:
    for seed in range(5):
        generator = np.random.default_rng(seed)
        unary, weights = generator.random((8, 4)), np.full(7, 0.3)
        distance = label_distance(4, metric)
        labels = expand_labels(unary, weights, metric)
        reached = energy(labels, unary, weights, distance)
        for alpha, moved in itertools.product(range(4), itertools.product([False, True], repeat=8)):
            move = np.where(moved, alpha, labels)
            assert energy(move, unary, weights, distance) >= reached - 1e-4


@has_library
@pytest.mark.parametrize("metric", METRICS)
def test_videos_of_one_graph_are_not_coupled(metric: LabelMetric) -> None:
    generator = np.random.default_rng(5)
    lengths = [7, 1, 12]
    unary = generator.random((20, 5))
    together = expand_labels(unary, edge_weights(lengths, 0.4, joined=False), metric)
    # Reverse the costs of the other videos, which must not change the labels of the first one.
    changed = unary.copy()
    changed[7:] = 1 - changed[7:]
    np.testing.assert_array_equal(
        expand_labels(changed, edge_weights(lengths, 0.4, joined=False), metric)[:7], together[:7]
    )
    coupled = expand_labels(np.repeat([[0.0, 0.1], [0.1, 0.0]], [9, 1], axis=0), np.full(9, 1.0), "potts")
    free = expand_labels(
        np.repeat([[0.0, 0.1], [0.1, 0.0]], [9, 1], axis=0), edge_weights([9, 1], 1.0, joined=False), "potts"
    )
    assert coupled[-1] == 0
    assert free[-1] == 1


@has_library
def test_potts_does_not_depend_on_how_clusters_are_numbered() -> None:
    generator = np.random.default_rng(1)
    truth = np.repeat([0, 3, 1, 2, 4], 12)
    unary = generator.random((60, 5)) + 0.8 * (np.arange(5) != truth[:, None])
    weights, permutation = np.full(59, 0.7), generator.permutation(5)
    renamed = expand_labels(unary[:, permutation], weights, "potts")
    np.testing.assert_array_equal(permutation[renamed], expand_labels(unary, weights, "potts"))


@has_library
def test_no_edge_or_one_label_needs_no_cut() -> None:
    unary = np.array([[0.3, 0.1], [0.2, 0.4]])
    np.testing.assert_array_equal(expand_labels(unary, np.zeros(1), "potts"), [1, 0])
    np.testing.assert_array_equal(expand_labels(unary[:1], np.zeros(0), "linear"), [1])
    np.testing.assert_array_equal(expand_labels(unary[:, :1], np.ones(1), "potts"), [0, 0])


@has_library
def test_the_library_leaves_no_alias_in_numpy() -> None:
    script = (
        "import numpy as np, rgwot.keysteps.graphcut as g\n"
        "before = set(vars(np))\n"
        "g.expand_labels(np.eye(3), np.ones(2), 'potts')\n"
        "assert 'gco' in __import__('sys').modules\n"
        "assert not {'int', 'float'} & (set(vars(np)) - before), 'aliases left'\n"
        "assert np.bool is np.bool_\n"
        "g.expand_labels(np.eye(3), np.ones(2), 'linear')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def path_frames() -> Frames:
    """Return two videos that visit four places on a sphere, with 30 samples at each place."""
    generator = np.random.default_rng(0)
    truth = np.concatenate([np.repeat([0, 1, 2, 3], 30), np.repeat([1, 0, 3, 2], 30)])
    x = np.eye(16)[truth] + 0.1 * generator.normal(size=(240, 16))
    return Frames(x, (120, 120), 2.0)


@pytest.mark.parametrize("solver", ["expansion", "exact"])
def test_decoder_finds_planted_steps_and_reports_the_gap(solver: str) -> None:
    settings = {"graphcut.solver": solver}
    decoded = decode_by("graphcut", path_frames(), 4, settings, np.random.default_rng(0))
    given = {**settings, "graphcut.m": 1.3}
    assert decode_by("graphcut", path_frames(), 4, given, np.random.default_rng(0)).facts["m"] == 1.3
    runs = np.flatnonzero(np.diff(decoded.labels)) + 1
    np.testing.assert_array_equal(runs, [30, 60, 90, 120, 150, 180, 210])
    assert decoded.labels[0] == decoded.labels[150]
    cut = decoded.facts["graph_cut"]
    assert cut.solver == (solver if graphcut.has_library() else "exact")
    assert cut.energy >= cut.exact_energy > 0
    assert cut.relative_gap == pytest.approx(0, abs=1e-4)
    assert decoded.facts["m"] == 2.0


def test_without_the_library_the_exact_solver_takes_its_place_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(solver: str) -> Decoded:
        settings = {"graphcut.solver": solver}
        return decode_by("graphcut", path_frames(), 4, settings, np.random.default_rng(0))

    exact = cut("exact")
    monkeypatch.setattr(graphcut, "has_library", lambda: False)
    actual = cut("expansion")
    np.testing.assert_array_equal(actual.labels, exact.labels)
    assert actual.facts["graph_cut"] == replace(exact.facts["graph_cut"], instead_of="expansion")
    # If the exact solver is requested, nothing is replaced.
    assert cut("exact").facts == exact.facts


def test_smoothing_per_native_frames_does_not_depend_on_the_sampling() -> None:
    """Segments last 1 to 4 s; at two samples per second, a weight per sample would smooth most of them away."""
    generator = np.random.default_rng(1)
    seconds = generator.integers(1, 5, size=26)
    steps = np.arange(26) * 3 % 7

    def segments_found(samples_per_s: int, per: str) -> int:
        truth = np.repeat(steps, seconds * samples_per_s)
        x = np.eye(8)[truth] + 0.05 * generator.normal(size=(len(truth), 8))
        frames = Frames(x, (len(truth),), float(samples_per_s), (30.0,))
        block = {"unary": 0.2, "unary_per": per, "solver": "exact"}
        settings = {"graphcut.m": 1.2, **{f"graphcut.{key}": value for key, value in block.items()}}
        labels = decode_by("graphcut", frames, 7, settings, np.random.default_rng(0)).labels
        return int((np.diff(labels) != 0).sum()) + 1

    assert segments_found(2, "sample") < 23
    assert segments_found(15, "sample") == 26
    assert [segments_found(rate, "frame_pair") for rate in (2, 5, 15)] == [26, 26, 26]


def test_videos_may_be_joined_as_the_public_code_does() -> None:
    """The last frame of a video and the first of the next are then neighbours, which can change an unsure frame."""
    memberships = np.array([[1.0, 0.0]] * 5 + [[0.45, 0.55], *[[1.0, 0.0]] * 4])
    frames = Frames(memberships, (5, 5), 1.0)
    clusters = Frames(np.concatenate([np.eye(2)[[0] * 8 + [1] * 8], memberships]), (16, 5, 5), 1.0)
    actual = {}
    for joined in (False, True):
        block = {"unary": 1.0, "pairwise": 0.6, "joined": joined}
        settings = {"graphcut.m": 1.5, **{f"graphcut.{key}": value for key, value in block.items()}}
        decoded = decode_by("graphcut", clusters, 2, settings, np.random.default_rng(0))
        labels = predict_by("graphcut", decoded, 2, settings)(frames).labels
        actual[joined] = labels == labels[0]
    np.testing.assert_array_equal(actual[False], [True] * 5 + [False] + [True] * 4)
    assert actual[True].all()
