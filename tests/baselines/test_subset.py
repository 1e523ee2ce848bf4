from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from with_defaults import decode_by, predict_by

from rgwot.baselines.subset import select
from rgwot.keysteps.interface import Frames
from rgwot.keysteps.kmeans import kmeans
from rgwot.runtime.errors import RgwotError


def walk(T: int, D: int = 6, seed: int = 0) -> Frames:
    x = np.cumsum(np.random.default_rng(seed).normal(size=(T, D)), axis=0)
    return Frames(x, (T,), 2.0)


def settings(**subset: object) -> dict[str, object]:
    return {f"subset.{key}": value for key, value in subset.items()}


def worth(S: np.ndarray, chosen: tuple[int, ...]) -> float:
    return float(sum(max(S[c, t] for c in chosen) for t in range(S.shape[1])))


def test_a_case_by_hand() -> None:
    # The candidates (rows) sum to -14, -9, -13 and -11, so 1 is chosen first. Then 0 gains 1, 2 gains 4 and 3 gains 3,
    # so 2 is chosen second, and 0 third.
    S = -np.array([[0.0, 4, 10], [1, 3, 5], [8, 4, 1], [3, 6, 2]])
    assert select(S, 1) == [1]
    assert select(S, 3) == [1, 2, 0]


@pytest.mark.parametrize("seed", range(8))
def test_greedy_choices_against_all_choices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    S = -(rng.random((7, 5)) ** 2)
    for R in range(1, 5):
        chosen = select(S, R)
        for step in range(1, len(chosen)):
            before = tuple(chosen[:step])
            best = max(worth(S, (*before, c)) for c in range(7))
            assert worth(S, tuple(chosen[: step + 1])) == pytest.approx(best, abs=1e-12)
        first = worth(S, (chosen[0],))
        assert first == max(worth(S, (c,)) for c in range(7))
        rivals = itertools.combinations(range(7), R - 1)
        possible = max(worth(S, (chosen[0], *companions)) for companions in rivals) - first
        assert worth(S, tuple(chosen)) - first >= (1 - 1 / math.e) * possible - 1e-12


def test_it_ends_where_nothing_is_gained() -> None:
    S = -np.abs(np.array([[0.0], [0.0], [3.0]]) - np.array([[0.0, 0.0, 3.0, 3.0, 3.0]]))
    assert select(S, 3) == [2, 0]
    twins = np.vstack([S, S * (1 + 1e-13)])
    assert len(select(twins, 6)) == 2


@pytest.mark.parametrize("centres", [None, 7])
def test_with_as_many_centres_as_key_steps_it_is_k_means(centres: int | None) -> None:
    frames, others = walk(300), walk(80, seed=1)
    subset = decode_by("subset", frames, 7, settings(centres=centres), np.random.default_rng(4))
    plain = decode_by("kmeans", frames, 7, {}, np.random.default_rng(4))
    np.testing.assert_array_equal(subset.labels, plain.labels)
    new = predict_by("subset", subset, 7, settings(centres=centres))(others).labels
    np.testing.assert_array_equal(new, predict_by("kmeans", plain, 7, {})(others).labels)
    assert subset.facts["subset"].representatives == 7


def test_the_original_configuration() -> None:
    frames = walk(200)
    block = settings(centres=30, restarts=6)
    decoded = decode_by("subset", frames, 15, block, np.random.default_rng(2))
    centres = kmeans(frames.x, 30, np.random.default_rng(2), restarts=6).centres
    distances = np.linalg.norm(frames.x[:, None] - centres[None], axis=2)
    chosen = sorted(select(-distances.T, 15))
    np.testing.assert_array_equal(decoded.labels, distances[:, chosen].argmin(axis=1))
    assert set(decoded.labels) == set(range(15))
    facts = decoded.facts["subset"]
    assert (facts.centres, facts.representatives) == (30, 15)
    assert facts.mean_distance == pytest.approx(distances[:, chosen].min(axis=1).mean())
    # The centres are selected from 30 candidates, so they differ from the 15 means.
    assert not np.array_equal(decoded.labels, decode_by("kmeans", frames, 15, {}, np.random.default_rng(2)).labels)


def test_fewer_centres_than_key_steps_are_refused() -> None:
    with pytest.raises(RgwotError, match=r"subset\.centres: found 5, expected at least K = 7"):
        decode_by("subset", walk(30), 7, settings(centres=5), np.random.default_rng(0))


def test_few_samples() -> None:
    two = Frames(np.repeat(np.eye(2), 4, axis=0), (8,), 2.0)
    decoded = decode_by("subset", two, 7, {}, np.random.default_rng(0))
    assert decoded.facts["subset"].representatives == 2
    assert len(set(decoded.labels[:4])) == len(set(decoded.labels[4:])) == 1
    assert decoded.labels[0] != decoded.labels[4]
