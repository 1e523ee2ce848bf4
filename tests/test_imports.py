"""What a job must not import: hundreds of short jobs make a study, and PyTorch alone takes over a second to import."""

from __future__ import annotations

import subprocess
import sys

import pytest

# The compiler of PyTorch, another second, which torch.optim and torchvision bring along.
COMPILER = "torch._dynamo"


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        # Planning, which every run starts with.
        ("rgwot.study", ("torch", "pandas", "zarr", "scipy", "sklearn", "matplotlib", "av", "decord", "h5py")),
        ("rgwot.datasets.manifest", ("torch", "zarr", "scipy", "sklearn", "matplotlib", "av", "decord", "h5py")),
        ("rgwot.features.extract", (COMPILER, "torchvision", "pandas", "scipy", "sklearn", "matplotlib", "decord")),
        ("rgwot.features.index", ("torch", "pandas", "scipy", "sklearn", "matplotlib")),
        ("rgwot.embedding.train", (COMPILER, "torchvision", "pandas", "scipy", "sklearn", "matplotlib")),
        ("rgwot.embedding.embed", ("torch", "pandas", "scipy", "sklearn", "matplotlib")),
        ("rgwot.embedding.model", (COMPILER, "torchvision", "pandas", "scipy", "sklearn", "matplotlib")),
        ("rgwot.embedding.regression", (COMPILER, "pandas", "scipy", "sklearn", "matplotlib")),
        ("rgwot.embedding.whitened", ("torch", "pandas", "sklearn", "matplotlib")),
        ("rgwot.keysteps.decode", ("torch", "scipy", "sklearn", "matplotlib")),
        ("rgwot.keysteps.meanfield", ("torch", "zarr", "sklearn", "matplotlib")),
        ("rgwot.keysteps.asot", (COMPILER, "torchvision", "sklearn", "matplotlib")),
        ("rgwot.keysteps.vasot", (COMPILER, "torchvision", "sklearn", "matplotlib")),
        ("rgwot.keysteps.hvq", (COMPILER, "torchvision", "sklearn", "matplotlib")),
        ("rgwot.keysteps.trivial", ("torch", "zarr", "scipy", "sklearn", "matplotlib")),
        ("rgwot.evaluation.evaluate", ("torch", "zarr", "sklearn", "matplotlib")),
        ("rgwot.reporting.tables.render", ("torch", "zarr", "scipy", "sklearn", "matplotlib")),
        ("rgwot.reporting.page.render", ("torch", "zarr", "sklearn", "matplotlib", "av", "decord", "h5py")),
        ("rgwot.reporting.figures", ("torch", "zarr", "sklearn", "av", "decord", "h5py")),
    ],
)
def test_a_stage_imports_only_what_it_needs(module: str, unwanted: tuple[str, ...]) -> None:
    code = f"import sys, {module}; print(*[name for name in {unwanted!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
