"""Adam without PyTorch's compiler.

`torch.optim.Adam` takes the same steps, but the first call of any of its methods imports the compiler (TorchDynamo):
over a second in every training job, and a study has hundreds of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim.adam import adam

BETAS = (0.9, 0.999)
EPSILON = 1e-8


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
    """

    def __init__(self, parameters: Iterable[Tensor], *, lr: float, weight_decay: float) -> None:
        self.parameters = list(parameters)
        self.lr, self.weight_decay = lr, weight_decay
        self._steps = [torch.zeros((), dtype=torch.float32, device=value.device) for value in self.parameters]
        self._first = [torch.zeros_like(value) for value in self.parameters]
        self._second = [torch.zeros_like(value) for value in self.parameters]

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for value in self.parameters:
            value.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Change every parameter that has a gradient."""
        used = [index for index, value in enumerate(self.parameters) if value.grad is not None]
        values, first, second, steps = (
            [every[index] for index in used] for every in (self.parameters, self._first, self._second, self._steps)
        )
        gradients = [value.grad for value in values if value.grad is not None]
        adam(
            values, gradients, first, second, [], steps,
            fused=True, amsgrad=False, maximize=False, beta1=BETAS[0], beta2=BETAS[1],
            lr=self.lr, weight_decay=self.weight_decay, eps=EPSILON,
        )  # fmt: skip

    def state_dict(self) -> dict[str, list[Tensor]]:
        """Return what a resumed run needs; the tensors are those in use."""
        return {"steps": self._steps, "first": self._first, "second": self._second}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from what `state_dict` returned."""
        own = self.state_dict()
        for name, tensors in own.items():
            for mine, saved in zip(tensors, state[name], strict=True):
                mine.copy_(saved)
