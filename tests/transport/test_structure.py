from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rgwot.transport import structure_matrix_x, structure_matrix_y, structure_product, structure_radius


@pytest.mark.parametrize(
    ("n", "r", "a"),
    [(33, 0.02, 0), (33, 1 / 33, 1), (33, 2 / 33, 2), (33, 0.06, 1), (5, 0.25, 1), (50, 0.02, 1), (100, 0.29, 29)],
)
def test_radius_counts_whole_frames_whatever_the_rounding(n: int, r: float, a: int) -> None:
    assert structure_radius(n, r) == a


def test_smallest_active_radius_is_the_first_that_changes_anything() -> None:
    for n, m in [(33, 33), (33, 20), (7, 49)]:
        r = 1 / min(n, m)
        assert min(structure_radius(n, r), structure_radius(m, r)) == 1
        assert min(structure_radius(n, 0.999 * r), structure_radius(m, 0.999 * r)) == 0


def test_matrices_of_a_small_case() -> None:
    r = 0.25
    expected_x = torch.tensor([[0, 4, 0, 0], [4, 0, 4, 0], [0, 4, 0, 4], [0, 0, 4, 0]])
    expected_y = torch.tensor([[1, 0, 1, 1], [0, 1, 0, 1], [1, 0, 1, 0], [1, 1, 0, 1]])
    torch.testing.assert_close(structure_matrix_x(4, r), expected_x.float())
    torch.testing.assert_close(structure_matrix_y(4, r), expected_y.float())


@given(st.integers(1, 24), st.integers(1, 24), st.just(0.0) | st.floats(0.01, 1.3), st.integers(0, 2**31))
@settings(max_examples=150, deadline=None)
def test_band_product_is_the_dense_product(n: int, m: int, r: float, seed: int) -> None:
    plan = torch.randn(2, n, m, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    x = structure_matrix_x(n, r, dtype=torch.float64)
    y = structure_matrix_y(m, r, dtype=torch.float64)
    torch.testing.assert_close(structure_product(plan, r), x @ plan @ y, rtol=1e-10, atol=1e-11 / (r or 1))
