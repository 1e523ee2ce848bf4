from __future__ import annotations

import pytest
import torch

from rgwot.transport import (
    add_virtual_frame,
    cosine_cost,
    matched_frames,
    relative_positions,
    squared_distance,
    temporal_prior,
)


def test_cost_of_three_one_hot_frames() -> None:
    x = torch.eye(3, dtype=torch.float64)[None]
    positions = relative_positions(3, dtype=torch.float64)
    cost = cosine_cost(x, x) + 0.35 * temporal_prior(positions, positions)
    expected = [[0, 1.116667, 1.233333], [1.116667, 0, 1.116667], [1.233333, 1.116667, 0]]
    torch.testing.assert_close(cost[0], torch.tensor(expected, dtype=torch.float64), atol=5e-7, rtol=0)


def test_cosine_cost_ignores_length_and_stays_in_range() -> None:
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(2, 5, 7, generator=generator), torch.randn(2, 4, 7, generator=generator)
    cost = cosine_cost(x, y)
    torch.testing.assert_close(cosine_cost(3 * x, 0.1 * y), cost)
    torch.testing.assert_close(cosine_cost(y, x), cost.transpose(1, 2))
    assert cost.min() >= 0
    assert cost.max() <= 2
    torch.testing.assert_close(cosine_cost(x, -x).diagonal(dim1=1, dim2=2), torch.full((2, 5), 2.0))


def test_prior_with_unequal_numbers_of_frames_and_with_times() -> None:
    prior = temporal_prior(relative_positions(4), relative_positions(2))
    torch.testing.assert_close(prior, torch.tensor([[0, 0.5], [0.25, 0.25], [0.5, 0], [0.75, 0.25]]))
    times = temporal_prior(torch.tensor([[0.1, 0.9], [0.0, 0.2]]), torch.tensor([[0.5], [1.0]]))
    torch.testing.assert_close(times, torch.tensor([[[0.4], [0.4]], [[1.0], [0.8]]]))


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(2, 3, 4\) and \(2, 3, 5\)"):
        cosine_cost(torch.zeros(2, 3, 4), torch.zeros(2, 3, 5))


def test_squared_distance_is_exact_far_from_the_origin() -> None:
    generator = torch.Generator().manual_seed(3)
    x, y = (torch.randn(2, size, 5, dtype=torch.float64, generator=generator) for size in (4, 3))
    expected = torch.stack([torch.stack([((one - y[b]) ** 2).sum(1) for one in x[b]]) for b in range(2)])
    torch.testing.assert_close(squared_distance(x, y), expected)
    torch.testing.assert_close(squared_distance(x + 1e6, y + 1e6), expected, rtol=1e-8, atol=0)
    assert (squared_distance(x, x) >= 0).all()
    assert torch.autograd.gradcheck(squared_distance, (x.requires_grad_(), y.requires_grad_()))
    with pytest.raises(ValueError, match=r"embeddings: found \(2, 4, 5\) and \(1, 3, 5\)"):
        squared_distance(x, y[:1])


def test_virtual_frame_is_first_and_corner_included() -> None:
    cost = torch.arange(6.0).reshape(1, 2, 3)
    padded = add_virtual_frame(cost, 0.5)
    assert padded.shape == (1, 3, 4)
    assert (padded[:, 0] == 0.5).all()
    assert (padded[:, :, 0] == 0.5).all()
    assert torch.equal(padded[:, 1:, 1:], cost)


def test_threshold_takes_rows_and_columns() -> None:
    plan = torch.tensor([[[0.30, 0.02, 0.01], [0.02, 0.15, 0.16], [0.01, 0.16, 0.17]]])
    x_matched, y_matched = matched_frames(plan, 0.5)
    # The shares of rows are .30/.33, .16/.33 and .17/.34, which is exactly one half; those of columns are the same.
    assert x_matched.tolist() == [[True, False, True]]
    assert y_matched.tolist() == [[True, False, True]]


def test_extreme_thresholds() -> None:
    plan = torch.rand(3, 4, 5, generator=torch.Generator().manual_seed(0)) + 0.1
    assert all(matched.all() for matched in matched_frames(plan, 0.0))
    assert not any(matched.any() for matched in matched_frames(plan, 1.0))
    assert not any(matched.any() for matched in matched_frames(torch.zeros(1, 2, 2), 0.0))
