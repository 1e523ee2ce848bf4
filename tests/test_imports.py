"""What a job must not import: hundreds of short jobs make a study, and PyTorch alone takes over a second to import."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

# The compiler of PyTorch, another second, which torch.optim and torchvision bring along.
COMPILER = "torch._dynamo"
UNWANTED = [
    # Planning, which every run starts with.
    ("rgwot.study", ("torch", "pandas", "zarr", "scipy", "sklearn", "matplotlib", "av", "decord", "h5py")),
    ("rgwot.datasets.manifest", ("torch", "zarr", "scipy", "sklearn", "matplotlib", "av", "decord", "h5py")),
    ("rgwot.features.extract", (COMPILER, "torchvision", "pandas", "scipy", "sklearn", "matplotlib", "decord")),
    ("rgwot.features.index", ("torch", "pandas", "scipy", "sklearn", "matplotlib")),
    ("rgwot.embedding.train", (COMPILER, "torchvision", "pandas", "scipy", "sklearn", "matplotlib")),
    ("rgwot.embedding.embed", ("torch", "pandas", "scipy", "sklearn", "matplotlib")),
    ("rgwot.embedding.model", (COMPILER, "torchvision", "pandas", "scipy", "sklearn", "matplotlib")),
    ("rgwot.baselines.regression", (COMPILER, "pandas", "scipy", "sklearn", "matplotlib")),
    ("rgwot.embedding.whitened", ("torch", "pandas", "sklearn", "matplotlib")),
    # Of scipy, what the procedure is learned with.
    ("rgwot.keysteps.decode", ("torch", "networkx", "scipy.stats", "scipy.optimize", "sklearn", "matplotlib")),
    ("rgwot.keysteps.meanfield", ("torch", "zarr", "sklearn", "matplotlib")),
    ("rgwot.keysteps.trivial", ("torch", "networkx", "zarr", "scipy.stats", "scipy.optimize", "sklearn", "matplotlib")),
    ("rgwot.evaluation.evaluate", ("torch", "zarr", "sklearn", "matplotlib")),
    ("rgwot.reporting.tables.printed", ("torch", "zarr", "scipy", "sklearn", "matplotlib")),
    ("rgwot.reporting.page.render", ("torch", "zarr", "sklearn", "matplotlib", "av", "decord", "h5py")),
    ("rgwot.reporting.figures", ("torch", "zarr", "sklearn", "av", "decord", "h5py")),
]
#: Forks for every module in turn and says what of the unwanted it found, {module: names}. What may import PyTorch is
#: forked after it was, so that it is imported once.
LOOK = """
import importlib, json, os, sys
found = {}
todo = json.load(sys.stdin)
for module, unwanted in sorted(todo, key=lambda item: "torch" not in item[1]):
    if "torch" not in unwanted:
        import torch
    reading, writing = os.pipe()
    if os.fork() == 0:
        importlib.import_module(module)
        os.write(writing, json.dumps([name for name in unwanted if name in sys.modules]).encode())
        os._exit(0)
    os.close(writing)
    found[module] = json.loads(os.read(reading, 10_000) or "null")
    os.close(reading)
    os.wait()
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def imported() -> dict[str, list[str] | None]:
    """The unwanted that every module imports; None where it cannot be imported."""
    done = subprocess.run(
        [sys.executable, "-c", LOOK], input=json.dumps(UNWANTED), capture_output=True, text=True, check=True
    )
    found: dict[str, list[str] | None] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("module", [module for module, _ in UNWANTED])
def test_a_stage_imports_only_what_it_needs(imported: dict[str, list[str] | None], module: str) -> None:
    assert imported[module] == []
