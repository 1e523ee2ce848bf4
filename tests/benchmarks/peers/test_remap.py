"""Fused partial transport, compared with a sum over all quadruples of frames and with POT's solvers."""

from __future__ import annotations

from typing import Any

import numpy as np
import ot
import pytest
import remap
import torch
from numpy.typing import NDArray
from pair_batches import batch_of, pair, plain_inter
from remap import Partial, PartialResult, chain_laplacian, laplace_kernel, remap_loss
from torch import Tensor

from rgwot.blocks import nested
from rgwot.config.methods import FAMILIES
from rgwot.embedding.settings import TrainedEncoder

Array = NDArray[np.float64]
SETTINGS: dict[str, Any] = {
    "alpha": 0.3, "epsilon": 0.1, "tau_m": 0.5, "lambda_s": 1.0, "b": 0.2, "virtual": False,
    "tolerance": 1e-14, "max_iterations": 1000,
}  # fmt: skip


def costs(seed: int, batch: int, n: int, m: int) -> Tensor:
    return torch.rand(batch, n, m, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def solve_partial(cost: Tensor, *, virtual: bool, **changes: Any) -> PartialResult:
    settings = Partial().model_copy(update={**changes, "virtual": "cost" if virtual else "none"})
    return remap.solve_partial(cost, settings)


def align_frames_partially(x: Tensor, y: Tensor, **changes: Any) -> Tensor:
    positions = {key: changes.pop(key) for key in ("x_positions", "y_positions") if key in changes}
    return remap.align_frames_partially(x, y, Partial().model_copy(update=changes), **positions)


def solved(cost: Tensor, **changes: Any) -> PartialResult:
    result = solve_partial(cost, **{**SETTINGS, **changes})
    assert result.converged.all()
    return result


def kl(a: Tensor, b: Tensor) -> Tensor:
    return (a * (a / b).log() - a + b).sum()


def objective(cost: Tensor, plan: Tensor, s: dict[str, Any]) -> Tensor:
    """F by its definition, the structure term as a sum over i, j, k, l; differentiable."""
    n, m = plan.shape
    p, q = (torch.full((size,), 1 / size, dtype=torch.float64) for size in (n, m))
    value = (1 - s["alpha"]) * (cost * plan).sum() + s["epsilon"] * kl(plan, p[:, None] * q)
    value = value + s["tau_m"] * (kl(plan.sum(1), p) + kl(plan.sum(0), q))
    first = 1 if s["virtual"] else 0

    def kernel(i: int, k: int, size: int) -> float:
        if (i < first) != (k < first):
            return 0.0
        return float(np.exp(-abs(i - k) / (s["b"] * (size - first))))

    for i in range(n):
        for k in range(n):
            for j in range(m):
                for other in range(m):
                    difference = kernel(i, k, n) - kernel(j, other, m)
                    value = value + s["alpha"] * difference**2 * plan[i, j] * plan[k, other]
    for i in range(first, n - 1):
        value = value + s["lambda_s"] * ((plan[i + 1] - plan[i]) ** 2).sum()
    for j in range(first, m - 1):
        value = value + s["lambda_s"] * ((plan[:, j + 1] - plan[:, j]) ** 2).sum()
    return value


@pytest.mark.parametrize("virtual", [False, True])
@pytest.mark.parametrize("changes", [{}, {"tau_m": 0.05, "alpha": 0.7}, {"lambda_s": 5.0}, {"alpha": 0.0}])
def test_objective_and_stationarity_by_definition(virtual: bool, changes: dict[str, Any]) -> None:
    changes = {**changes, "virtual": virtual}
    cost = costs(0, 2, 5, 4)
    result = solved(cost, **changes)
    for b in range(2):
        plan = result.plan[b].clone().requires_grad_()
        value = objective(cost[b], plan, {**SETTINGS, **changes})
        assert result.objective[b].item() == pytest.approx(value.item(), rel=1e-12)
        (gradient,) = torch.autograd.grad(value, plan)
        assert float((plan.detach() * gradient.abs()).sum()) < 1.1e-8


@pytest.mark.filterwarnings("ignore:scipy.optimize:DeprecationWarning")
@pytest.mark.parametrize("seed", range(3))
def test_pot_states_the_whole_problem(seed: int) -> None:
    """POT's L-BFGS-B solver accepts any regulariser, here the quadratic terms and the entropy together."""
    n, m = 7, 6
    s = SETTINGS
    cost = costs(seed, 1, n, m)
    p, q = np.full(n, 1 / n), np.full(m, 1 / m)
    x, y = laplace_kernel(n, s["b"]).numpy(), laplace_kernel(m, s["b"]).numpy()
    chain_x, chain_y = chain_laplacian(n).numpy(), chain_laplacian(m).numpy()

    def half_gradient(plan: Array) -> Array:
        structure = (x**2 @ plan.sum(1))[:, None] + y**2 @ plan.sum(0) - 2 * x @ plan @ y
        return s["alpha"] * structure + s["lambda_s"] * (chain_x @ plan + plan @ chain_y)

    def value(plan: Array) -> float:
        entropy = ot.utils.get_backend(plan).kl_div(plan, np.outer(p, q), mass=True)
        return float((half_gradient(plan) * plan).sum() + s["epsilon"] * entropy)

    def gradient(plan: Array) -> Array:
        return 2 * half_gradient(plan) + s["epsilon"] * np.log(plan / np.outer(p, q) + 1e-16)

    expected, log = ot.unbalanced.lbfgsb_unbalanced(
        p, q, (1 - s["alpha"]) * cost[0].numpy(), 1.0, s["tau_m"], reg_div=(value, gradient),
        G0=np.outer(p, q), numItermax=20_000, stopThr=1e-15, log=True,
    )  # fmt: skip
    result = solved(cost)
    assert result.objective.item() == pytest.approx(log["res"].fun, abs=1e-8)
    np.testing.assert_allclose(result.plan[0], expected, atol=1e-5)
    assert result.plan.sum().item() < 0.95


@pytest.mark.parametrize("tau_m", [0.05, 1.0, 20.0])
def test_linear_problem_is_pots_unbalanced_sinkhorn(tau_m: float) -> None:
    cost = costs(4, 2, 9, 7)
    result = solved(cost, alpha=0.0, lambda_s=0.0, tau_m=tau_m)
    p, q = np.full(9, 1 / 9), np.full(7, 1 / 7)
    for b in range(2):
        expected = ot.unbalanced.sinkhorn_unbalanced(
            p, q, cost[b].numpy(), 0.1, tau_m, reg_type="kl", numItermax=100_000, stopThr=1e-14
        )
        np.testing.assert_allclose(result.plan[b], expected, atol=1e-8)


def test_heavy_marginals_are_pots_fused_gromov_wasserstein() -> None:
    cost, tau_m = costs(5, 1, 7, 6), 1000.0
    p, q = np.full(7, 1 / 7), np.full(6, 1 / 6)
    expected = ot.gromov.entropic_fused_gromov_wasserstein(
        cost[0].numpy(), laplace_kernel(7, 0.2).numpy(), laplace_kernel(6, 0.2).numpy(), p, q, "square_loss",
        epsilon=0.1, symmetric=True, alpha=0.3, max_iter=5000, tol=1e-13, numItermax=10_000, stopThr=1e-13,
    )  # fmt: skip
    result = solved(cost, lambda_s=0.0, tau_m=tau_m, tolerance=1e-8)
    np.testing.assert_allclose(result.plan[0], expected, atol=5e-5)
    np.testing.assert_allclose(result.plan[0].sum(1), p, rtol=1e-3)


def test_lighter_marginals_move_less_mass() -> None:
    cost = costs(6, 3, 8, 8) + 0.2
    masses = torch.stack([solved(cost, tau_m=tau_m).plan.sum((1, 2)) for tau_m in (0.02, 0.1, 0.5, 5.0)])
    assert (masses.diff(dim=0) > 0.02).all()
    assert (masses < 1).all()


def test_a_frame_without_partner_loses_its_mass() -> None:
    cost = 1 - torch.eye(8, dtype=torch.float64)[None]
    cost[0, 3], cost[0, 3, 3] = 2.0, 2.0
    rows = 8 * solved(cost, tau_m=0.3).plan[0].sum(1)
    assert rows[3] < 0.5 * rows[[0, 1, 2, 4, 5, 6, 7]].min()


def test_smoothness_flattens_the_plan() -> None:
    cost = costs(7, 2, 10, 10)
    rough = []
    for lambda_s in (0.0, 1.0, 30.0):
        plan = solved(cost, lambda_s=lambda_s).plan
        rough.append(float(plan.diff(dim=1).square().sum() + plan.diff(dim=2).square().sum()))
    assert rough[0] > 1.05 * rough[1] > 1.5 * rough[2]


def test_structure_matrices() -> None:
    kernel = laplace_kernel(20, 0.1)
    assert kernel[4, 7].item() == pytest.approx(np.exp(-3 / 2))
    assert torch.linalg.eigvalsh(kernel).min() > 0
    virtual = laplace_kernel(20, 0.1, virtual=True)
    assert torch.equal(virtual[1:, 1:], kernel)
    assert virtual[0].tolist() == [1.0] + [0.0] * 20
    plan = costs(8, 1, 6, 5)[0]
    assert (plan.T @ chain_laplacian(6) @ plan).trace().item() == pytest.approx(plan.diff(dim=0).square().sum().item())
    assert not chain_laplacian(6, virtual=True)[0].any()


def test_a_batch_is_its_problems_one_by_one() -> None:
    """The batch includes a problem that converges at once and one that takes long."""
    cost = torch.cat([costs(9, 2, 6, 7), torch.zeros(1, 6, 7).double(), 4 * costs(10, 1, 6, 7)])
    whole = solve_partial(cost, **{**SETTINGS, "tolerance": 1e-6})
    assert len(set(whole.iterations.tolist())) > 1
    for b in range(4):
        solution = solve_partial(cost[b : b + 1], **{**SETTINGS, "tolerance": 1e-6})
        np.testing.assert_allclose(solution.plan[0], whole.plan[b], rtol=1e-10)
        assert solution.iterations.item() == whole.iterations[b].item()


def test_descent_never_rises() -> None:
    cost = costs(11, 1, 12, 12)
    values = [
        solve_partial(cost, **{**SETTINGS, "alpha": 0.9, "max_iterations": steps}).objective.item()
        for steps in range(1, 25)
    ]
    assert (np.diff(values) <= 1e-13).all()


def frames(seed: int, n: int = 32) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x, y = (torch.randn(3, n, 16, generator=generator) for _ in range(2))
    return x, y


def test_defaults_converge_at_the_size_of_training() -> None:
    x, y = frames(0)
    one, two = (align_frames_partially(x, y, max_iterations=steps) for steps in (100, 1000))
    assert torch.equal(one, two)
    assert one.dtype == torch.float32
    exact = align_frames_partially(x, y, tolerance=1e-14, max_iterations=1000)
    np.testing.assert_allclose(one, exact, atol=2e-3)


def test_cost_virtual_frame_and_scale_of_the_weights() -> None:
    x, y = (value.double() for value in frames(2, 7))
    s, u = torch.linspace(0, 0.9, 7).double() ** 2, torch.linspace(0.1, 1, 7).double()
    cost = 1 - torch.cosine_similarity(x[:, :, None], y[:, None], dim=3) + 0.6 * (s[:, None] - u).abs()
    options = {**SETTINGS, "alpha": 0.5, "tau_m": 0.4, "lambda_s": 2.0, "max_iterations": 100, "tolerance": 1e-6}
    del options["virtual"]
    weights = align_frames_partially(x, y, rho=0.6, zeta=0.7, x_positions=s, y_positions=u, **options)
    padded = torch.full((3, 8, 8), 0.7, dtype=torch.float64)
    padded[:, 1:, 1:] = cost
    np.testing.assert_allclose(weights, 8 * solve_partial(padded, virtual=True, **options).plan[:, 1:, 1:], rtol=1e-9)
    bare = align_frames_partially(x, y, rho=0.6, virtual="none", x_positions=s, y_positions=u, **options)
    np.testing.assert_allclose(bare, 7 * solve_partial(cost, virtual=False, **options).plan, rtol=1e-9)


def test_the_virtual_frame_takes_mass_from_strangers() -> None:
    x, y = frames(1)
    y[:, :16] = x[:, :16]
    weights = align_frames_partially(x, y)
    assert (weights.sum(2)[:, :16] > 1.3 * weights.sum(2)[:, 16:].mean()).all()
    threshold = align_frames_partially(x, y, virtual="threshold", zeta=0.5, rho=2.0)
    none = align_frames_partially(x, y, virtual="none", rho=2.0)
    kept = threshold.sum(2) > 0
    assert 0 < kept.sum() < kept.numel()
    torch.testing.assert_close(threshold[threshold > 0], none[threshold > 0])


def test_without_a_price_on_marginals_it_is_pots_partial_transport_of_the_same_mass() -> None:
    """Costs are positive, so no marginal of the plan exceeds 1/N or 1/M, and POT's limits on them do not act.

    In the fused problem, the gradient of POT 0.9.7 has the sum of the linear cost, a constant, in place of its entries,
    so POT minimises the structure alone. With a linear cost, the plan is compared with the projection of its gradient.
    """
    cost, p, q = costs(3, 1, 9, 7), ot.unif(9), ot.unif(7)
    kernels = [laplace_kernel(size, 0.2).double().numpy() for size in (9, 7)]
    changes = {"tau_m": 1e-12, "lambda_s": 0.0}
    plan = solved(cost, alpha=1.0, **changes).plan[0].numpy()
    expected = ot.gromov.entropic_partial_fused_gromov_wasserstein(
        cost[0].numpy(), *kernels, p, q, reg=0.1, m=plan.sum(), alpha=1.0, tol=1e-14
    )
    np.testing.assert_allclose(plan, expected, rtol=1e-6)
    plan = solved(cost, alpha=0.3, **changes).plan[0].numpy()
    first, second = kernels
    structure = first**2 @ plan.sum(1)[:, None] + plan.sum(0) @ second**2 - 2 * first @ plan @ second
    gradient = 0.7 * cost[0].numpy() + 0.6 * structure
    expected = ot.partial.entropic_partial_wasserstein(p, q, gradient, 0.1, m=plan.sum())
    np.testing.assert_allclose(plan, expected, rtol=1e-4)
    assert plan.sum() < 0.9


@pytest.mark.parametrize("lambda_c", [0.0, 1.0])
def test_gradient_of_the_loss(lambda_c: float) -> None:
    """The gradient is taken with respect to the embeddings; the plan is a constant by definition."""
    x, y = pair(5, batch=2, n=5, m=4, d=3)
    weights = align_frames_partially(x, y)
    assert torch.autograd.gradcheck(
        lambda x, y: remap_loss(x, y, weights, lambda_c=lambda_c), (x.requires_grad_(), y.requires_grad_())
    )


def test_loss_by_plain_loops() -> None:
    x, y = pair(6)
    weights = align_frames_partially(x, y)
    loss = remap_loss(x, y, weights, lambda_c=0.4)
    for b in range(3):
        cost = 1 - torch.cosine_similarity(x[b, :, None], y[b, None], dim=2)
        expected = float((weights[b] * cost).sum()) / 6 + 0.4 * plain_inter(cost, weights[b])
        assert loss[b].item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("changes", [{}, {"ot.prior_time": "times"}, {"partial.lambda_c": 0.5}])
def test_the_method_is_the_loss_of_its_plan(changes: dict[str, Any]) -> None:
    """The gradients agree, too, if the plan is that of the detached embeddings."""
    batch = batch_of(12)
    batch.x.requires_grad_()
    actual = TrainedEncoder.of(nested({**FAMILIES["remap"].sets, **changes})).loss(batch)
    timed = {"x_positions": batch.x_times / 10, "y_positions": batch.y_times / 10}
    weights = align_frames_partially(batch.x.detach(), batch.y, **(timed if "ot.prior_time" in changes else {}))
    expected = remap_loss(batch.x, batch.y, weights, lambda_c=changes.get("partial.lambda_c", 1.0))
    torch.testing.assert_close(actual, expected, rtol=1e-12, atol=0)
    gradients = [torch.autograd.grad(loss.sum(), batch.x)[0] for loss in (actual, expected)]
    torch.testing.assert_close(*gradients)
