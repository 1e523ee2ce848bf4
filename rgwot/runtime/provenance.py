"""Where a result comes from: the code, the packages and the configuration behind a run.

A run of the workflow leaves the whole configuration in ``results/provenance``, named by its content, and the records
of its jobs (`rgwot.cli.records`) point there.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from rgwot import __version__
from rgwot.paths import RUN_RECORD, at
from rgwot.runtime.files import write_json

#: Distributions that numbers depend on.
PACKAGES = (
    "numpy", "scipy", "pandas", "scikit-learn", "torch", "torchvision", "POT", "gco-wrapper", "zarr", "av",
    "decord", "snakemake",
)  # fmt: skip
#: What the workflow hands to its jobs: the revision of the code, and where the whole configuration is.
REVISION, RUN = "RGWOT_REVISION", "RGWOT_RUN"


def record_run(config: Mapping[str, Any], code: Path) -> None:
    """Write the configuration of a run below ``results``, and tell its jobs the revision of the checkout ``code``."""
    os.environ[REVISION] = revision(code)
    content = {"config": dict(config), **surroundings()}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]
    path = at(RUN_RECORD, digest=digest)
    os.environ[RUN] = path.as_posix()
    if not path.exists():
        write_json(content, path)


def surroundings() -> dict[str, Any]:
    """Return what a result depends on besides its inputs and settings: code, packages, interpreter, system."""
    known = os.environ.get(REVISION)
    return {
        "rgwot": __version__,
        "revision": revision(Path(__file__).parent) if known is None else known,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "packages": {name: _version(name) for name in PACKAGES},
    }


def revision(code: Path) -> str:
    """Return the git revision of a checkout, with ``-dirty`` where files were changed; empty outside of git."""
    command = ["git", "-C", str(code), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
