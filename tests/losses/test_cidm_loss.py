from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from rgwot.losses import cidm

cidm_loss = partial(
    cidm.cidm_loss,
    lambda_=2.0, sigma=10.0, duration=1.0, distance="squared", weight="relative_time", positives="plain",
)  # fmt: skip
RGWOT_CODE: dict[str, Any] = {"distance": "squared", "positives": "plain", "duration": 1000.0}
CNC_CODE: dict[str, Any] = {"distance": "euclidean", "positives": "weighted", "duration": 1000.0}
PAPER: dict[str, Any] = {"distance": "euclidean", "positives": "weighted", "duration": 1000.0, "weight": "time"}
READINGS = [RGWOT_CODE, CNC_CODE, PAPER]


def video(seed: int = 0, batch: int = 2, n: int = 6, dim: int = 4) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x = torch.nn.functional.normalize(torch.randn(batch, n, dim, dtype=torch.float64, generator=generator), dim=2)
    return x, (1000 * torch.rand(batch, n, dtype=torch.float64, generator=generator)).sort(1)[0]


def written_out(x: Tensor, times: Tensor, lambda_: float, sigma: float, **reading: Any) -> float:
    """Return the sum over i and j for one video, one pair of frames at a time."""
    total = 0.0
    for i in range(len(x)):
        for j in range(len(x)):
            d = (x[i] - x[j]).norm().item()
            d = d**2 if reading["distance"] == "squared" else d
            gap = abs(times[i] - times[j]).item()
            omega = (gap if reading.get("weight") == "time" else gap / reading["duration"]) ** 2 + 1
            if gap > sigma:
                total += omega * max(0.0, lambda_ - d)
            else:
                total += d / omega if reading["positives"] == "weighted" else d
    return total


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("reading", "times", "expected", "digits"),
    [
        (RGWOT_CODE, [0, 400, 800], 6.56, 1e-6),
        (PAPER, [0, 400, 800], 2_934_909.66, 5e-3),
        (PAPER, [0, 1, 2], 2.828427, 5e-7),
        # All three pairs are far apart and count twice: 1.16 (2 - sqrt 2) each, or 1.64 (2 - 0) for equal frames.
        (CNC_CODE, [0, 400, 800], 9.278049, 1e-6),
        # The first two frames are near and give sqrt 2 / 1.01; the other pairs give 1.64 * 2 and 1.49 (2 - sqrt 2).
        (CNC_CODE, [0, 100, 800], 11.106066, 1e-6),
    ],
)
def test_oracles(reading: dict[str, Any], times: list[int], expected: float, digits: float, dtype: torch.dtype) -> None:
    x = torch.tensor([[[1, 0], [0, 1], [1, 0]]], dtype=dtype)
    loss = cidm_loss(x, torch.tensor([times]), lambda_=2, sigma=300, **reading)
    assert loss.item() == pytest.approx(expected, abs=digits, rel=3e-7 if dtype == torch.float32 else 0)


def test_the_window_of_lav_is_ten_frames() -> None:
    # The code of LAV compares |t_i - t_j| / L with 10 / L, with L in frames. By hand, frames that are 8 apart give
    # d^2 = 2, and those that are 800 apart give 1.64 * 2.
    x = torch.tensor([[[1, 0], [0, 1], [1, 0]]], dtype=torch.float64)
    frames = torch.tensor([[0.0, 8.0, 800.0]])
    normalised = cidm_loss(x, frames.double() / 1000, sigma=10 / 1000, duration=1)
    assert normalised.item() == pytest.approx(2 * (2 + 3.28))
    torch.testing.assert_close(cidm_loss(x, frames, sigma=10, duration=1000), normalised)


@pytest.mark.parametrize("reading", READINGS)
def test_every_reading_against_loops(reading: dict[str, Any]) -> None:
    x, times = video()
    loss = cidm_loss(x, times, lambda_=1.3, sigma=250, **reading)
    for b in range(2):
        assert loss[b].item() == pytest.approx(written_out(x[b], times[b], 1.3, 250, **reading), rel=1e-9)


def test_unit_of_time_does_not_matter() -> None:
    x, times = video(1)
    frames = cidm_loss(x, times, sigma=300, duration=torch.tensor([1000.0, 800.0]))
    seconds = cidm_loss(x, times / 30, sigma=10, duration=torch.tensor([1000.0, 800.0]) / 30)
    torch.testing.assert_close(frames, seconds)


def test_without_a_weight() -> None:
    x, times = video(2)
    plain = cidm_loss(x, times, sigma=200, duration=1e12)
    torch.testing.assert_close(cidm_loss(x, times, sigma=200, duration=1000, weight="none"), plain)


def test_one_window_collapses_and_a_narrow_one_pushes_apart() -> None:
    x, times = video(3)
    collapsed = torch.ones_like(x)
    assert (cidm_loss(collapsed, times, sigma=2000, duration=1000) == 0).all()
    assert (cidm_loss(x, times, sigma=2000, duration=1000) > 0).all()
    assert (cidm_loss(collapsed, times, sigma=1, duration=1000) > cidm_loss(x, times, sigma=1, duration=1000)).all()


@pytest.mark.parametrize("reading", READINGS)
def test_gradient(reading: dict[str, Any]) -> None:
    x, times = video(4, n=5)
    assert torch.autograd.gradcheck(
        lambda x: cidm_loss(x, times, lambda_=1.2, sigma=250, **reading) / 5, (x.requires_grad_(),)
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("reading", READINGS)
def test_gradient_is_finite_where_frames_coincide(reading: dict[str, Any], dtype: torch.dtype) -> None:
    x = torch.tensor([[[0.6, 0.8], [0.6, 0.8], [1, 0]]], dtype=dtype, requires_grad=True)
    cidm_loss(x, torch.tensor([[0.0, 500.0, 900.0]]), sigma=300, **reading).sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()
    assert (x.grad[0, 2].abs() > 0).any()
    # Coinciding frames do not push each other; both are pushed away from the third in the same direction.
    weight = [900**2 + 1, 400**2 + 1] if "weight" in reading else [1.81, 1.16]
    torch.testing.assert_close(x.grad[0, 0] / weight[0], x.grad[0, 1] / weight[1], rtol=1e-5, atol=1e-6)


@given(st.integers(0, 10_000), st.floats(0, 1200), st.sampled_from(READINGS))
@settings(max_examples=40, deadline=None)
def test_order_of_frames_and_direction_of_time_do_not_matter(seed: int, sigma: float, reading: dict[str, Any]) -> None:
    x, times = video(seed)
    loss = cidm_loss(x, times, sigma=sigma, **reading)
    assert (loss >= 0).all()
    order = torch.randperm(6, generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(cidm_loss(x[:, order], times[:, order], sigma=sigma, **reading), loss)
    torch.testing.assert_close(cidm_loss(x.flip(1), 1000 - times.flip(1), sigma=sigma, **reading), loss)


def test_autocast_does_not_lower_the_precision() -> None:
    x, times = video(5)
    x = x.float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = cidm_loss(x, times, sigma=200, duration=1000)
    assert torch.equal(inside, cidm_loss(x, times, sigma=200, duration=1000))


def test_mistakes_are_refused() -> None:
    x, times = video()
    with pytest.raises(ValueError, match=r"\(2, 6, 4\), \(2, 5\)"):
        cidm_loss(x, times[:, :5])
    with pytest.raises(ValueError, match="distance: found 'cosine', expected one of squared, euclidean"):
        cidm_loss(x, times, distance="cosine")
