"""A function of tensors repeated until it has nothing left to do: one CUDA graph on a GPU, a loop on a CPU."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

_LOG = logging.getLogger(__name__)

#: Takes constants and the values of one round, gives those of the next; the last is a mask (B,) of what still runs.
Round = Callable[[Sequence[Tensor], Sequence[Tensor]], Sequence[Tensor]]


class Repeated:
    """Repeats a round on tensors of fixed shapes.

    On a GPU the round is captured once as a CUDA graph and replayed: no launches from Python. The host never makes
    the device wait: it reads the mask of a round only when the next one is already queued, so that one round more than
    needed runs, which leaves converged problems as they are. A round must keep to tensor operations without an answer
    to the host, and must not change problems whose mask is False.

    Parameters
    ----------
    body : callable
        The round.
    constants, values : sequence of Tensor
        Tensors of the shapes, types and device that calls will have, with values on which the round can run.
    """

    def __init__(self, body: Round, constants: Sequence[Tensor], values: Sequence[Tensor]) -> None:
        self._body = body
        self._graph: torch.cuda.CUDAGraph | None = None
        if values[-1].device.type == "cuda":
            with torch.cuda.device(values[-1].device):
                self._capture(constants, values)

    def __call__(self, constants: Sequence[Tensor], values: Sequence[Tensor], rounds: int) -> list[Tensor]:
        """Run at most ``rounds`` rounds, or until no problem is left; values after the last one."""
        if self._graph is None:
            return self._run(constants, values, rounds)
        with torch.cuda.device(values[-1].device):
            return self._replay(self._graph, constants, values, rounds)

    def _replay(
        self, graph: torch.cuda.CUDAGraph, constants: Sequence[Tensor], values: Sequence[Tensor], rounds: int
    ) -> list[Tensor]:
        for mine, given in zip([*self._constants, *self._values], [*constants, *values], strict=True):
            mine.copy_(given)
        host = torch.ones((), dtype=torch.bool, pin_memory=True)
        queued: torch.cuda.Event | None = None
        for _ in range(rounds):
            graph.replay()
            if queued is not None:
                queued.synchronize()
                if not bool(host):
                    break
            # The mask of this round reaches the host while the next one runs.
            host.copy_(self._values[-1].any(), non_blocking=True)
            queued = torch.cuda.Event()  # type: ignore[no-untyped-call]
            queued.record(torch.cuda.current_stream())
        return [value.clone() for value in self._values]

    def _run(self, constants: Sequence[Tensor], values: Sequence[Tensor], rounds: int) -> list[Tensor]:
        for _ in range(rounds):
            if not bool(values[-1].any()):
                break
            values = self._body(constants, values)
        return list(values)

    def _capture(self, constants: Sequence[Tensor], values: Sequence[Tensor]) -> None:
        """Capture one round on tensors of our own; where a library refuses, rounds run without a graph."""
        self._constants = [value.clone() for value in constants]
        self._values = [value.clone() for value in values]
        # Libraries take their handles and workspaces on first use, which a capture would not survive.
        aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(2):
                self._body(self._constants, self._values)
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        try:
            # Other threads copy features meanwhile: only what this one does is refused during the capture.
            with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                for mine, new in zip(self._values, self._body(self._constants, self._values), strict=True):
                    mine.copy_(new)
        except RuntimeError as error:
            _LOG.warning("transport solver: no CUDA graph, rounds run one launch at a time: %s", error)
            return
        self._graph = graph
