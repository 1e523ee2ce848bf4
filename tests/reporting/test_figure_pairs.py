"""The transport in figures, compared with the closed form of the public code, and its marginals."""

from __future__ import annotations

import numpy as np
import pytest

from rgwot.config.settings import defaults
from rgwot.reporting.figures.overview import matrices
from rgwot.reporting.figures.plans import virtual_share
from rgwot.reporting.figures.videos import Side, shares, transport

N = 12


@pytest.fixture(scope="module")
def pair() -> tuple[Side, Side]:
    sides = []
    for seed in (0, 1):
        x = np.random.default_rng(seed).normal(size=(N, 5))
        x /= np.linalg.norm(x, axis=1)[:, None]
        times = np.arange(N) * 0.5
        sides.append(Side("v", "v", x, times, 6.0, np.zeros(N, dtype=np.int64)))
    return sides[0], sides[1]


def costs(pair: tuple[Side, Side]) -> np.ndarray:
    """Return C + rho R from the definition, with a virtual frame of cost zeta in front."""
    x, y = pair
    place = np.arange(N) / N
    full = np.full((N + 1, N + 1), 0.5)
    full[1:, 1:] = 1 - x.x @ y.x.T + 0.35 * np.abs(place[:, None] - place[None])
    return full


def test_cost_is_the_published_one(pair: tuple[Side, Side]) -> None:
    assert transport(*pair, defaults())[0] == pytest.approx(costs(pair), abs=1e-12)


def test_parity_with_an_inactive_prior_is_one_scaling_pass(pair: tuple[Side, Side]) -> None:
    # The closed form: kernel exp(-C / 0.1), then rows, then columns, once.
    kernel = np.exp(-costs(pair) * (1 - 0.3) / 0.07)
    rows = 1 / (N + 1) / kernel.sum(1)
    columns = 1 / (N + 1) / (kernel.T @ rows)
    expected = rows[:, None] * kernel * columns[None]
    assert transport(*pair, defaults(), solver="parity")[1] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("r", [0.02, 0.2])
def test_converged_plans_have_uniform_marginals(pair: tuple[Side, Side], r: float) -> None:
    _, plan = transport(*pair, defaults(), r=r)
    assert plan.sum(0) == pytest.approx(np.full(N + 1, 1 / (N + 1)), rel=1e-5)
    assert plan.sum(1) == pytest.approx(np.full(N + 1, 1 / (N + 1)), rel=1e-5)
    # The virtual frame can take no more than its own mass.
    assert all(0 < share <= 1 / N for share in (virtual_share(plan), virtual_share(plan.T)))


def test_an_active_prior_changes_the_plan_and_an_inactive_one_does_not(pair: tuple[Side, Side]) -> None:
    off, other, on = (transport(*pair, defaults(), r=r)[1] for r in (0.02, 0.05, 0.2))
    assert np.array_equal(off, other)
    assert np.abs(off - on).max() > 1e-3


def test_the_temporal_prior_may_be_of_true_times(pair: tuple[Side, Side]) -> None:
    x, y = pair
    late = Side("v", "v", y.x, y.time_s + 1.0, 8.0, y.steps)
    settings = defaults() | {"ot.prior_time": "times"}
    actual = transport(x, late, settings)[0][1:, 1:]
    apart = np.abs((x.time_s / 6.0)[:, None] - (late.time_s / 8.0)[None])
    assert actual == pytest.approx(1 - x.x @ y.x.T + 0.35 * apart, abs=1e-12)


def test_mass_on_the_virtual_frame_by_hand() -> None:
    plan = np.array([[0.05, 0.10, 0.15], [0.10, 0.20, 0.10], [0.05, 0.05, 0.20]])
    # Real frames of X have a mass of 0.40 + 0.30, of which 0.15 goes to the first column.
    assert virtual_share(plan) == pytest.approx(0.15 / 0.70)
    assert virtual_share(plan.T) == pytest.approx(0.25 / 0.80)
    assert shares(plan) == pytest.approx(np.array([[0.25, 0.5, 0.25], [1 / 6, 1 / 6, 2 / 3]]))


def test_matrices_of_the_overview(pair: tuple[Side, Side]) -> None:
    actual = matrices(*pair, defaults())
    assert actual["C"] + 0.35 * actual["R"] == pytest.approx(costs(pair)[1:, 1:], abs=1e-12)
    assert actual["P"].sum(1) == pytest.approx(np.ones(N))
    best = (pair[0].x @ pair[1].x.T).argmax(1)
    assert np.array_equal(actual["P"].argmax(1), best)
    # At the published radius, no two frames are neighbours.
    assert not actual["Cx"].any()
    assert (actual["Cy"] == 1).all()
