"""Data of a batch of fused Gromov-Wasserstein problems and what is known of an iterate (methods 3.4)."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor

from rgwot.config.radius import structure_radius
from rgwot.transport.semidual import tangent_part
from rgwot.transport.sinkhorn import sinkhorn
from rgwot.transport.structure import structure_product


@dataclass(frozen=True)
class State:
    """An iterate: plan = exp(f + g - z / epsilon) is the entropic optimum of the linear cost z."""

    z: Tensor
    f: Tensor
    plan: Tensor
    objective: Tensor
    residual: Tensor
    stationarity: Tensor

    def where(self, condition: Tensor, other: State) -> State:
        """Per problem: this state where the condition (B,) holds, the other elsewhere."""
        return State(
            *(
                torch.where(condition.view(-1, *[1] * (mine.ndim - 1)), mine, theirs)
                for mine, theirs in zip(self.values(), other.values(), strict=True)
            )
        )

    @staticmethod
    def joined(states: list[State]) -> State:
        """Batches one after the other."""
        if len(states) == 1:
            return states[0]
        return State(*(torch.cat(values) for values in zip(*(state.values() for state in states), strict=True)))

    def take(self, keep: Tensor) -> State:
        """Keep some problems, by index or mask."""
        return State(*(value[keep] for value in self.values()))

    def put(self, index: Tensor, state: State) -> None:
        """Overwrite the problems ``index`` of this state."""
        for mine, theirs in zip(self.values(), state.values(), strict=True):
            mine[index] = theirs

    def values(self) -> list[Tensor]:
        """All tensors, in the order of the fields."""
        return [getattr(self, field.name) for field in fields(self)]


@dataclass(frozen=True)
class Problem:
    """Data of a batch; ``cost`` is already multiplied by 1 - alpha."""

    cost: Tensor
    p: Tensor
    q: Tensor
    alpha: float
    epsilon: float
    r: float

    @property
    def is_linear(self) -> bool:
        """Whether the structural prior changes no plan."""
        n, m = self.cost.shape[1:]
        return self.alpha == 0 or structure_radius(min(n, m), self.r) == 0

    def take(self, keep: Tensor) -> Problem:
        """Keep some problems, by index or mask."""
        return Problem(self.cost[keep], self.p[keep], self.q[keep], self.alpha, self.epsilon, self.r)

    def product_plan(self) -> Tensor:
        """Return p q^T, where every solver starts."""
        return self.p[:, :, None] * self.q[:, None, :]

    def start(self) -> Tensor:
        """Gradient of the part of F without the entropy at p q^T."""
        return self.cost + 2 * self.alpha * structure_product(self.product_plan(), self.r)

    def marginal_error(self, plan: Tensor) -> Tensor:
        """Largest relative violation of a marginal, (B,)."""
        rows = ((plan.sum(2) - self.p).abs() / self.p).amax(1)
        columns = ((plan.sum(1) - self.q).abs() / self.q).amax(1)
        return torch.maximum(rows, columns)

    def predicted_fall(self, state: State, step: Tensor) -> Tensor:
        """Decrease of F by a short step from a state, to first order, (B,)."""
        return step * (state.plan * state.residual**2).sum((1, 2)) / self.epsilon

    def state(self, z: Tensor, f: Tensor, plan: Tensor, log_plan: Tensor) -> State:
        """Evaluate the plan that potential f and linear cost z lead to."""
        structure = structure_product(plan, self.r)
        objective = (plan * (self.cost + self.alpha * structure + self.epsilon * log_plan)).sum((1, 2))
        # What a remaining row error e costs to first order: e is paid for at the price epsilon f.
        objective = objective + self.epsilon * (f * (self.p - plan.sum(2))).sum(1)
        residual = self.cost + 2 * self.alpha * structure + self.epsilon * log_plan
        # Where z is near the gradient, eps f is near the row constants.
        residual = tangent_part(residual, plan, guess=self.epsilon * f)
        stationarity = (plan * residual.abs()).sum((1, 2)) / self.epsilon
        return State(z, f, plan, objective, residual, stationarity)

    def project(self, z: Tensor, f: Tensor | None, tolerance: float) -> State:
        """Entropic optimum of the linear cost z, from the potential f."""
        result = sinkhorn(z, self.p, self.q, self.epsilon, f=f, tolerance=tolerance)
        return self.state(z, result.f, result.plan, result.log_plan)
