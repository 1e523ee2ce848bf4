"""Kantorovich transport by POT, pair after pair: alone, and in a training step.

A step is that of `rgwot`; what another method adds to it is the difference of the losses, because the encoders are the
same and take so long that their noise hides it.

Prints a table and writes it as JSON, times in milliseconds and ratios within one run
(benchmarks/report/performance.md).

    python benchmarks/kantorovich.py [--output benchmarks/results/kantorovich.json] [--rounds 30] [--device cpu]
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import ot
import torch
from torch import Tensor

from rgwot.baselines.kantorovich import kantorovich_plan
from rgwot.config.methods import FAMILIES
from rgwot.config.settings import EncoderSettings, build
from rgwot.embedding.encoder import Encoder
from rgwot.embedding.loop import objective
from rgwot.losses.interface import PairBatch
from rgwot.runtime.files import write_json

FRAMES = 32
# The smallest training there is, that of the demo: in a larger one the transport weighs less.
CHANNELS = 64
SIDE = 7
LOSSES = ("rgwot", "vava", "opel", "remap")


def timed(actions: Mapping[str, Callable[[], object]], rounds: int, device: torch.device) -> dict[str, float]:
    """Milliseconds of each action's fastest round, which other work on the machine disturbs least; they take turns."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(rounds + 1):
        for name, action in actions.items():
            _wait(device)
            began = time.perf_counter()
            action()
            _wait(device)
            times[name].append(1e3 * (time.perf_counter() - began))
    return {name: round(min(values[1:]), 3) for name, values in times.items()}  # the first round warms up


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def solvers(pairs: int, device: torch.device) -> dict[str, Callable[[], Tensor]]:
    """Solve kernels of a spread as in training, N' = M' = 33, float64."""
    generator = torch.Generator().manual_seed(0)
    size = FRAMES + 1
    log_kernel = -8 * torch.rand(pairs, size, size, dtype=torch.float64, generator=generator).to(device)
    return {
        "21 passes": lambda: kantorovich_plan(log_kernel, "pot", "rows"),
        "until converged": lambda: kantorovich_plan(log_kernel, "batched", "rows"),
    }


def losses(name: str, pairs: int, device: torch.device) -> Callable[[Tensor], None]:
    """Loss and its gradient for embeddings (pairs * 2 * N, D)."""
    settings = build(FAMILIES[name].overrides, name)
    times = torch.linspace(0, 60, FRAMES, dtype=torch.float64, device=device).expand(pairs, -1)
    lengths = torch.full((pairs,), 61.0, dtype=torch.float64, device=device)
    iterations = torch.arange(pairs, device=device)

    def run(embedded: Tensor) -> None:
        x, y = embedded.view(pairs, 2, FRAMES, -1).unbind(1)
        total = objective(PairBatch(x, y, times, lengths, times, lengths, iterations), settings).loss.sum()
        torch.autograd.backward(total)

    return run


def loss_alone(name: str, pairs: int, device: torch.device) -> Callable[[], None]:
    """Loss and gradient of embeddings that are given."""
    torch.manual_seed(0)
    embedded = torch.randn(pairs * 2 * FRAMES, 128, device=device)
    if build(FAMILIES[name].overrides, name).encoder.unit_norm:
        embedded = torch.nn.functional.normalize(embedded, dim=1)
    embedded.requires_grad_()
    loss = losses(name, pairs, device)
    return lambda: loss(embedded)


def step(pairs: int, device: torch.device) -> Callable[[], None]:
    """Encoder, loss, backward and optimiser of one forward pass of some pairs, for rgwot."""
    torch.manual_seed(0)
    sizes = {"channels": CHANNELS, "hidden": CHANNELS, "input_norm": False, "features": 1024, "precision": "bfloat16"}
    encoder = Encoder(**EncoderSettings().model_dump(exclude={"beside"}) | sizes).to(device)
    optimiser = torch.optim.Adam(encoder.parameters(), lr=1e-4)
    maps = torch.randn(pairs * 2 * FRAMES, 2, SIDE, SIDE, 1024, device=device, dtype=torch.bfloat16)
    loss = losses("rgwot", pairs, device)

    def run() -> None:
        optimiser.zero_grad()
        loss(encoder(maps.movedim(-1, 2), pairs=pairs, prepared=True))
        optimiser.step()

    return run


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results/kantorovich.json"))
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    device = torch.device(arguments.device)
    torch.set_num_threads(1)

    result: dict[str, object] = {
        "hardware": torch.cuda.get_device_name(device) if device.type == "cuda" else f"{os.cpu_count()} cores, CPU",
        "threads": torch.get_num_threads(),
        "versions": {"torch": torch.__version__, "POT": ot.__version__},
        "frames": FRAMES,
    }
    for pairs in (1, 4):
        alone = timed(solvers(pairs, device), arguments.rounds, device)
        loss = timed({name: loss_alone(name, pairs, device) for name in LOSSES}, arguments.rounds, device)
        whole = timed({"rgwot": step(pairs, device)}, arguments.rounds, device)
        own = whole["rgwot"]
        ratios = {
            "solver: 21 passes, share of a step": round(alone["21 passes"] / own, 4),
            **{f"step: {name} over rgwot": round(1 + (value - loss["rgwot"]) / own, 3) for name, value in loss.items()},
        }
        measured = {"solver": alone, "loss and gradient": loss, "step": whole}
        result[f"{pairs} pairs"] = {"ms": measured, "ratios": ratios}
        print(f"{pairs} pairs of {FRAMES} frames, {result['hardware']}")
        for title, values in measured.items():
            for name, value in values.items():
                print(f"  {title + ', ms':22} {name:24} {value:10.3f}")
        for name, value in ratios.items():
            print(f"  {name:47} {value:10.3f}")
    write_json(result, arguments.output)
    print(f"written: {arguments.output}")


if __name__ == "__main__":
    main()
