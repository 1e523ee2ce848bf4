"""Planning, the start of every run, imports neither PyTorch nor other packages that are slow to import."""

from __future__ import annotations

import subprocess
import sys

LOOK = """
import sys
import rgwot.study.datasets, rgwot.study.jobs, rgwot.study.pages, rgwot.study.study, rgwot.reporting.targets
targets = rgwot.reporting.targets.load_targets()
[targets.table(name) for name in targets.tables]
print(*{"torch", "scipy", "sklearn", "zarr", "h5py", "av", "decord", "matplotlib"} & sys.modules.keys())
"""


def test_planning_imports_only_what_it_needs() -> None:
    done = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
