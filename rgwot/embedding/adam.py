"""Adam without PyTorch's compiler.

`torch.optim.Adam` takes the same steps, but the first call of any of its methods imports the compiler (TorchDynamo):
over a second of the three that a small training takes, and a study has hundreds of them.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.optim.adam import adam


class Adam:
    r"""Adam (Kingma and Ba 2015, algorithm 1) by PyTorch's fused kernel, with the usual constants.

    .. math:: m = \beta_1 m + (1 - \beta_1) g, \quad v = \beta_2 v + (1 - \beta_2) g^2, \quad
       \theta = \theta - \eta \frac{m / (1 - \beta_1^t)}{\sqrt{v / (1 - \beta_2^t)} + \epsilon}

    with g the gradient plus the weight decay times theta, as the public code trains (methods 3.7).

    Parameters
    ----------
    parameters
        What is trained, on the device it stays on.
    lr
        Learning rate eta.
    weight_decay
        Weight of the squared norm of the parameters (L2), times 2.
    decoupled
        The decay shrinks parameters by lr times itself before the step and is no part of g: AdamW (Loshchilov and
        Hutter 2019).
    """

    def __init__(
        self, parameters: Iterable[Tensor], *, lr: float, weight_decay: float, decoupled: bool = False
    ) -> None:
        self.parameters = list(parameters)
        self.lr, self.weight_decay, self.decoupled = lr, weight_decay, decoupled
        self._state = {
            "steps": [torch.zeros((), dtype=torch.float32, device=value.device) for value in self.parameters],
            "first": [torch.zeros_like(value) for value in self.parameters],
            "second": [torch.zeros_like(value) for value in self.parameters],
        }

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for value in self.parameters:
            value.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Change every parameter that has a gradient."""
        used = [value.grad is not None for value in self.parameters]
        values, steps, first, second = (
            [value for value, use in zip(every, used, strict=True) if use]
            for every in (self.parameters, *self._state.values())
        )
        gradients = [value.grad for value in values if value.grad is not None]
        if self.decoupled:
            for value in values:
                value.mul_(1 - self.lr * self.weight_decay)
        adam(
            values, gradients, first, second, [], steps,
            fused=True, amsgrad=False, maximize=False, beta1=0.9, beta2=0.999,
            lr=self.lr, weight_decay=0.0 if self.decoupled else self.weight_decay, eps=1e-8,
        )  # fmt: skip

    def state_dict(self) -> dict[str, list[Tensor]]:
        """Return what a resumed run needs; the tensors are those in use."""
        return self._state

    def load_state_dict(self, state: dict[str, list[Tensor]]) -> None:
        """Continue from what `state_dict` returned."""
        for name, tensors in self._state.items():
            for mine, saved in zip(tensors, state[name], strict=True):
                mine.copy_(saved)
