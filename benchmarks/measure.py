"""What every benchmark shares: actions that take turns, a bound measured beside them, and the record of a run.

A machine that others use drifts by tens of percent within minutes, so nothing is compared with a number of another run:
actions are timed in turn, round after round, and a ratio is the median of the ratios of the rounds.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import torch

from rgwot.runtime.device import hardware
from rgwot.runtime.files import write_json

RESULTS = Path(__file__).parent / "results"
#: Fewer rounds than this make no record.
ROUNDS = 5
PACKAGES = ("torch", "numpy", "numba", "POT", "zarr", "h5py", "decord", "fuzzy-c-means", "PyMaxflow")


@dataclass(frozen=True)
class Rounds:
    """Seconds that each action took in every round; the actions of a round ran one after the other."""

    seconds: Mapping[str, Sequence[float]]

    def summary(self, unit: float = 1.0) -> dict[str, dict[str, float]]:
        """Median, smallest and largest time of every action, in seconds times ``unit``."""
        return {name: spread([unit * value for value in values]) for name, values in self.seconds.items()}

    def ratio(self, slow: str, fast: str) -> dict[str, float]:
        """How many times longer ``slow`` takes than ``fast``: spread over the rounds."""
        return spread([a / b for a, b in zip(self.seconds[slow], self.seconds[fast], strict=True)])


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median, smallest and largest of some values, to four digits."""
    return {
        name: float(f"{function(values):.4g}") for name, function in (("median", median), ("min", min), ("max", max))
    }


def take_turns(
    actions: Mapping[str, Callable[[], object]],
    rounds: int = ROUNDS,
    *,
    warm: int = 1,
    device: torch.device | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Rounds:
    """Time actions in turn.

    Parameters
    ----------
    actions
        What to time, by name.
    rounds, warm
        Rounds that count, and rounds before them that do not.
    device
        A GPU to wait for before and after every action; None waits for nothing.
    clock
        ``time.perf_counter``, or ``time.process_time`` for the CPU time of this process.
    """
    seconds: dict[str, list[float]] = {name: [] for name in actions}
    for number in range(warm + rounds):
        for name, action in actions.items():
            _wait(device)
            began = clock()
            action()
            _wait(device)
            if number >= warm:
                seconds[name].append(clock() - began)
    return Rounds(seconds)


def _wait(device: torch.device | None) -> None:
    if device is not None and device.type == "cuda":
        torch.cuda.synchronize(device)


def arguments(description: str | None, **more: Any) -> argparse.Namespace:
    """Read the options every benchmark has: ``--rounds``, ``--threads``, ``--device``, ``--output``.

    ``more`` are defaults of further options of the same names; a tuple takes several values.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"rounds that count, {ROUNDS} or more")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="CPU threads of the arithmetic")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--output", type=Path, help="JSON to write; default: benchmarks/results/NAME.json")
    for name, default in more.items():
        several = isinstance(default, tuple)
        kind = type(default[0] if several else default)
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, default=default, nargs="+" if several else None)
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    return chosen


def surroundings(device: str) -> dict[str, Any]:
    """What a record was made on and with: hardware, system, versions of packages."""
    installed = {}
    for package in PACKAGES:
        try:
            installed[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "hardware": {**hardware(torch.device(device)), "cores": os.cpu_count()},
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "versions": installed,
    }


def record(name: str, content: Mapping[str, Any], chosen: argparse.Namespace) -> None:
    """Write what a benchmark found, with what it ran on, to ``benchmarks/results/NAME.json`` and say where."""
    path = chosen.output or RESULTS / f"{name}.json"
    write_json({**surroundings(chosen.device), "rounds": chosen.rounds, **content}, path)
    print(f"written: {path}")
