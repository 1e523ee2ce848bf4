from __future__ import annotations

import math

import numpy as np
import pytest

from rgwot.keysteps.collapse import direction_eigenvalue
from rgwot.keysteps.fuzzy_cmeans import auto_fuzzifier, largest_fuzzifier


@pytest.mark.parametrize("k", [3, 5, 7])
def test_equidistant_clusters_have_eigenvalue_one_over_k_minus_one(k: int) -> None:
    x = np.repeat(np.eye(k), 4, axis=0)
    assert direction_eigenvalue(x) == pytest.approx(1 / (k - 1), rel=1e-12)


def test_direction_eigenvalue_against_the_definition() -> None:
    x = np.random.default_rng(0).normal(size=(30, 5))
    moment = np.zeros((5, 5))
    for sample in x:
        e = (sample - x.mean(0)) / np.linalg.norm(sample - x.mean(0))
        moment += np.outer(e, e) / 30
    assert direction_eigenvalue(x) == pytest.approx(np.linalg.eigvalsh(moment)[-1], rel=1e-12)


def test_direction_eigenvalue_is_the_same_with_fewer_samples_than_dimensions() -> None:
    x = np.random.default_rng(0).normal(size=(6, 4))
    wide = np.concatenate([x, np.zeros((6, 20))], axis=1)
    assert direction_eigenvalue(wide) == pytest.approx(direction_eigenvalue(x), rel=1e-12)


def test_direction_eigenvalue_ignores_place_scale_and_rotation() -> None:
    generator = np.random.default_rng(1)
    x = generator.normal(size=(40, 6)) * np.arange(1, 7)
    rotation, _ = np.linalg.qr(generator.normal(size=(6, 6)))
    assert direction_eigenvalue(3 * x @ rotation + 5) == pytest.approx(direction_eigenvalue(x), rel=1e-9)


def test_a_smooth_path_is_safe_and_a_line_is_one() -> None:
    t = np.linspace(0, 1, 200)[:, None]
    arc = np.concatenate([np.cos(t), np.sin(t)], axis=1)
    assert direction_eigenvalue(arc) > 0.5
    assert direction_eigenvalue(t * [1.0, 2.0]) == pytest.approx(1.0)


@pytest.mark.parametrize("T", [1, 9])
def test_identical_samples_have_no_direction(T: int) -> None:
    assert direction_eigenvalue(np.full((T, 128), 0.1)) == 0.0
    assert direction_eigenvalue(np.full((T, 128), 0.1, dtype=np.float32)) == 0.0


@pytest.mark.parametrize(
    ("lambda_1", "limit", "m"),
    [
        (1.0, math.inf, 2.0), (0.5, math.inf, 2.0), (0.3, 2.5, 2.0), (0.25, 2.0, 1.5), (1 / 6, 1.5, 1.25),
        (0.1, 1.25, 1.125), (0.0, 1.0, 1.001),
    ],
)  # fmt: skip
def test_auto_fuzzifier(lambda_1: float, limit: float, m: float) -> None:
    assert largest_fuzzifier(lambda_1) == pytest.approx(limit, rel=1e-12)
    assert auto_fuzzifier(lambda_1) == pytest.approx(m, rel=1e-12)
