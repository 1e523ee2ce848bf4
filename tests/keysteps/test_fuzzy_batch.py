from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from with_defaults import fuzzy_cmeans

from rgwot.keysteps import fuzzy_cmeans as plain
from rgwot.keysteps.fuzzifier import WHOLE, auto_fuzzifier, centred, direction_eigenvalue
from rgwot.keysteps.fuzzy_batch import SKETCH, Passes, Samples, converge
from rgwot.keysteps.fuzzy_cmeans import FuzzyCMeans

Array = NDArray[np.float64]


def planted(T: int, K: int, seed: int, noise: float = 0.8, D: int = 24) -> tuple[Array, Array]:
    generator = np.random.default_rng(seed)
    centres = generator.normal(size=(K, D))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    truth = generator.integers(0, K, T)
    return centres[truth] + noise * generator.normal(size=(T, D)) / np.sqrt(D) + 3, truth


def both(monkeypatch: pytest.MonkeyPatch, x: Array, K: int, m: float, **kwargs: object) -> list[FuzzyCMeans]:
    """The partition by start after start, and by starts that share their passes."""
    found = []
    for limit in (len(x) + 1, 1):
        monkeypatch.setattr(plain, "LARGE", limit)
        found.append(fuzzy_cmeans(x, K, m, np.random.default_rng(0), **kwargs))  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize("m", [1.02, 1.3, 2.0])
@pytest.mark.parametrize("T", [1024, 2500])
def test_one_start_is_that_of_the_plain_path(monkeypatch: pytest.MonkeyPatch, m: float, T: int) -> None:
    x, _ = planted(T, 4, 0, noise=0.5)
    u = np.random.default_rng(1).random((T, 4)) ** 4
    u /= u.sum(axis=1, keepdims=True)
    slow, fast = both(monkeypatch, x, 4, m, initial=u)
    assert slow.converged
    assert fast.converged
    assert fast.memberships.dtype == np.float64
    assert fast.objective == pytest.approx(slow.objective, rel=1e-9)
    np.testing.assert_allclose(fast.memberships, slow.memberships, atol=2e-5)
    np.testing.assert_allclose(fast.centres, slow.centres, atol=1e-6)
    assert (fast.distinct_centres, fast.collapsed) == (slow.distinct_centres, slow.collapsed)


@pytest.mark.parametrize("start", ["far_apart", "random"])
@pytest.mark.parametrize("seed", range(3))
def test_of_several_starts_the_best_is_kept(monkeypatch: pytest.MonkeyPatch, start: str, seed: int) -> None:
    # Loose clusters in few dimensions have several local minima, so a lost or a wrong start shows.
    x, _ = planted(2000, 6, seed, noise=1.2, D=6)
    single = [both(monkeypatch, x, 6, 1.1, restarts=n, start=start)[0].objective for n in (1, 4)]
    slow, fast = both(monkeypatch, x, 6, 1.1, restarts=4, start=start, max_iterations=400)
    assert single[1] <= single[0]
    assert fast.objective == pytest.approx(slow.objective, rel=2e-6)


def test_updates_at_most_and_the_objective_of_what_is_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    x, _ = planted(1500, 5, 3, noise=1.0)
    for iterations in (2, 3, 7):
        slow, fast = both(monkeypatch, x, 5, 1.2, restarts=1, max_iterations=iterations, tolerance=1e-12)
        assert (fast.iterations, fast.converged) == (slow.iterations, False) == (iterations, False)
        np.testing.assert_allclose(fast.memberships, slow.memberships, atol=1e-4)
        squared = ((x[:, None] - fast.centres) ** 2).sum(axis=2)
        assert fast.objective == pytest.approx(float((fast.memberships**1.2 * squared).sum()), rel=1e-9)


def test_starts_with_the_same_centres_become_one() -> None:
    x, _ = planted(1200, 3, 0, noise=0.1)
    samples = Samples.of(centred(x)[0])
    single = Samples(samples.x.astype(np.float32), samples.power.astype(np.float32))
    centres = single.x[[0, 400, 800]]
    passes = Passes.from_centres(single, [centres, centres[::-1], centres], 1.5)
    found = converge(samples, passes, 100, 1e-6)
    # The second and third are given up at their first pass.
    np.testing.assert_array_equal(passes.iterations[1:], 1)
    assert passes.iterations[0] > 1
    assert found.converged


def test_a_large_sequence_takes_the_fast_path_and_finds_the_planted_steps() -> None:
    T = plain.LARGE
    x, truth = planted(T, 5, 7, noise=0.4, D=16)
    found = fuzzy_cmeans(x, 5, auto_fuzzifier(direction_eigenvalue(x)), np.random.default_rng(0))
    labels = found.memberships.argmax(axis=1)
    assert len(set(zip(labels.tolist(), truth.tolist(), strict=True))) < 5 + 20
    assert found.converged
    np.testing.assert_allclose(found.memberships.sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("given", [True, False])
def test_starts_that_went_most_of_their_way_on_a_part_end_where_all_samples_end(
    monkeypatch: pytest.MonkeyPatch, given: bool
) -> None:
    x, _ = planted(4 * SKETCH + 11, 5, 8, noise=0.6, D=8)
    u = np.random.default_rng(2).random((len(x), 5))
    initial = u / u.sum(axis=1, keepdims=True) if given else None
    slow, fast = both(monkeypatch, x, 5, 1.2, initial=initial, restarts=2)
    assert fast.converged
    assert fast.objective == pytest.approx(slow.objective, rel=1e-9)
    # Starts may number the same clusters differently.
    order = np.linalg.norm(slow.centres[:, None] - fast.centres, axis=2).argmin(axis=1)
    assert sorted(order) == list(range(5))
    np.testing.assert_allclose(fast.memberships[:, order], slow.memberships, atol=2e-5)
    assert fast.iterations < slow.iterations


def test_pieces_do_not_change_mean_and_leading_direction() -> None:
    x, _ = planted(2 * WHOLE + 17, 4, 2)
    offsets, mean = centred(x)
    np.testing.assert_allclose(mean, x.mean(axis=0), rtol=1e-12)
    directions = offsets / np.linalg.norm(offsets, axis=1, keepdims=True)
    expected = np.linalg.eigvalsh(directions.T @ directions / len(x))[-1]
    assert direction_eigenvalue(x) == pytest.approx(expected, rel=1e-12)
    x[WHOLE + 3, 0] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        centred(x)
    assert not centred(np.full((WHOLE + 5, 3), 0.1))[0].any()
