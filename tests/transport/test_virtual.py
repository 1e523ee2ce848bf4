from __future__ import annotations

import torch

from rgwot.transport import add_virtual_frame, matched_frames


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
    # Row 0: .30/.33. Row 1: .16/.33. Row 2: .17/.34 reaches one half exactly. Columns likewise.
    assert x_matched.tolist() == [[True, False, True]]
    assert y_matched.tolist() == [[True, False, True]]


def test_extreme_thresholds() -> None:
    plan = torch.rand(3, 4, 5, generator=torch.Generator().manual_seed(0)) + 0.1
    assert all(matched.all() for matched in matched_frames(plan, 0.0))
    assert not any(matched.any() for matched in matched_frames(plan, 1.0))
    assert not any(matched.any() for matched in matched_frames(torch.zeros(1, 2, 2), 0.0))
