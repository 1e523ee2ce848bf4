"""Worked examples of the fixed loop (tests/worked_examples.md), and weights computed from embeddings."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from with_defaults import align_frames, solve

from rgwot.transport import add_virtual_frame, cosine_cost, relative_positions, temporal_prior

ONE_PASS_INACTIVE = [
    [0.925658, 0.201077, 0.201077, 0.201077],
    [0.024781, 0.798909, 0.000011, 0.000004],
    [0.024780, 0.000011, 0.798901, 0.000011],
    [0.024781, 0.000004, 0.000011, 0.798909],
]
ONE_PASS_ACTIVE = [
    [0.126767, 0.481610, 0.002135, 0.060793, 0.002108],
    [0.777367, 0.000002, 0.997848, 0.000000, 0.000000],
    [0.001688, 0.518388, 0.000005, 0.000002, 0.000001],
    [0.078026, 0.000000, 0.000004, 0.939203, 0.000001],
    [0.016151, 0.000000, 0.000008, 0.000001, 0.997890],
]
MANY_PASSES_ACTIVE = [
    [0.604179, 0.062180, 0.061537, 0.254486, 0.017619],
    [0.062179, 0.000001, 0.937819, 0.000000, 0.000000],
    [0.061536, 0.937819, 0.000544, 0.000073, 0.000027],
    [0.254485, 0.000000, 0.000073, 0.745441, 0.000001],
    [0.017620, 0.000000, 0.000027, 0.000001, 0.982353],
]


def close(found: Tensor, expected: list[list[float]]) -> None:
    """Check that values are equal to the six printed digits."""
    torch.testing.assert_close(found, torch.tensor(expected, dtype=found.dtype), rtol=0, atol=6e-7)


def embeddings(seed: int, batch: int = 2, n: int = 12, m: int = 10) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x, y = (torch.randn(batch, size, 16, generator=generator) for size in (n, m))
    return torch.nn.functional.normalize(x, dim=2), torch.nn.functional.normalize(y, dim=2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_parity_with_inactive_prior(dtype: torch.dtype) -> None:
    x = torch.eye(3, dtype=dtype)[None]
    aligned = align_frames(x, x, rho=0.35, zeta=0.5, alpha=0.3, epsilon=0.07, r=0.02, solver="parity")
    close(4 * aligned.transport.plan[0], ONE_PASS_INACTIVE)
    close(aligned.weights[0], [row[1:] for row in ONE_PASS_INACTIVE[1:]])
    assert aligned.weights.dtype == dtype


def test_parity_with_active_prior() -> None:
    x = torch.eye(4)[None]
    y = x[:, [1, 0, 2, 3]]
    aligned = align_frames(x, y, rho=0.35, zeta=0.5, alpha=0.3, epsilon=0.07, r=0.25, solver="parity")
    close(5 * aligned.transport.plan[0], ONE_PASS_ACTIVE)
    assert aligned.transport.iterations.tolist() == [25]


def test_parity_with_active_prior_and_many_inner_passes() -> None:
    x = torch.eye(4, dtype=torch.float64)[None]
    positions = relative_positions(4, dtype=torch.float64)
    cost = cosine_cost(x, x[:, [1, 0, 2, 3]]) + 0.35 * temporal_prior(positions, positions)
    result = solve(
        add_virtual_frame(cost, 0.5), alpha=0.3, epsilon=0.07, r=0.25, solver="parity", parity_inner=200
    )  # fmt: skip
    close(5 * result.plan[0], MANY_PASSES_ACTIVE)


def test_converged_rows_sum_to_one_but_for_the_virtual_frame() -> None:
    x, y = embeddings(0)
    aligned = align_frames(x, y)
    plan = aligned.transport.plan
    torch.testing.assert_close(13 * plan.sum(2), torch.ones(2, 13, dtype=plan.dtype), rtol=2e-6, atol=0)
    torch.testing.assert_close(11 * plan.sum(1), torch.ones(2, 11, dtype=plan.dtype), rtol=2e-6, atol=0)
    torch.testing.assert_close(aligned.weights, 13 * plan[:, 1:, 1:].float())
    unmatched = align_frames(x, y, zeta=0.1).weights.sum((1, 2))
    assert (unmatched < aligned.weights.sum((1, 2))).all()


def test_without_virtual_frame_every_row_sums_to_one() -> None:
    x, y = embeddings(1)
    aligned = align_frames(x, y, virtual="none")
    torch.testing.assert_close(aligned.weights.sum(2), torch.ones(2, 12), rtol=2e-6, atol=0)


def test_threshold_leaves_out_frames_of_both_videos() -> None:
    x = torch.eye(8)[None, :6]
    # The last two frames of y lie halfway between the last two of x.
    y = torch.cat([x[:, :4], x[:, 4:].mean(1, keepdim=True).expand(1, 2, 8)], 1)
    everything = align_frames(x, y, rho=0.0, virtual="none").weights
    aligned = align_frames(x, y, rho=0.0, virtual="threshold", zeta=0.9)
    torch.testing.assert_close(aligned.weights[:, :4, :4], everything[:, :4, :4])
    assert aligned.weights[:, 4:].sum() == 0
    assert aligned.weights[:, :, 4:].sum() == 0


def test_prior_in_true_times() -> None:
    x, y = embeddings(3)
    positions = torch.arange(12) / 12, torch.arange(10) / 10
    same = align_frames(x, y, x_positions=positions[0], y_positions=positions[1])
    torch.testing.assert_close(same.weights, align_frames(x, y).weights, rtol=1e-4, atol=1e-6)
    late = align_frames(x, y, x_positions=positions[0].expand(2, -1), y_positions=(positions[1] ** 2).expand(2, -1))
    assert (late.weights - same.weights).abs().max() > 1e-2
    with pytest.raises(ValueError, match="found one of the two"):
        align_frames(x, y, x_positions=positions[0])
    with pytest.raises(ValueError, match="virtual: found 'soft'"):
        align_frames(x, y, virtual="soft")


def test_autocast_and_gradient_do_not_enter() -> None:
    x, y = embeddings(4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = align_frames(x.requires_grad_(), y)
    assert not inside.weights.requires_grad
    assert torch.equal(inside.weights, align_frames(x, y).weights)
