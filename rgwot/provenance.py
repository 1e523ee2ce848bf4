"""Where a result comes from: settings, seed, device, versions of packages, revision of the code.

Every verb leaves a record of its job beside its output, under a hidden name: ``.provenance.json`` inside a directory,
``.NAME.provenance.json`` beside a file. A run of the workflow leaves the whole configuration in
``results/provenance``, named by its content, and the records of its jobs point there.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from rgwot import __version__
from rgwot.files import write_json

#: Distributions that numbers depend on.
PACKAGES = (
    "numpy", "scipy", "pandas", "scikit-learn", "torch", "POT", "gco-wrapper", "zarr", "av", "decord", "snakemake"
)  # fmt: skip
#: What the workflow hands to its jobs: the revision of the code, and where the whole configuration is.
REVISION, RUN = "RGWOT_REVISION", "RGWOT_RUN"
_ELSEWHERE = ("output", "root", "settings", "execution", "seed", "device")


def record_path(output: Path) -> Path:
    """Return where the record of an output is."""
    return output / ".provenance.json" if output.is_dir() else output.with_name(f".{output.name}.provenance.json")


def record(verb: str, arguments: Mapping[str, Any]) -> None:
    """Write the record of a verb that has made its output, with the arguments it was called with."""
    output = arguments.get("root" if verb == "synth" else "output")
    if not isinstance(output, Path) or not output.exists():
        return
    content: dict[str, Any] = {"verb": verb}
    if "settings" in arguments:
        content["settings"] = _resolved(arguments["settings"])
    content |= {key: arguments[key] for key in ("seed",) if key in arguments}
    if "device" in arguments:
        content["device"] = _device(arguments["device"])
    content["arguments"] = {key: _plain(value) for key, value in arguments.items() if key not in _ELSEWHERE}
    content |= {**surroundings(), "run": os.environ.get(RUN)}
    write_json(content, record_path(output))


def record_run(config: Mapping[str, Any], code: Path) -> None:
    """Write the whole configuration of a run below ``results``, and let its jobs know.

    Parameters
    ----------
    config
        The resolved configuration as plain values.
    code
        A folder of the checkout.
    """
    os.environ[REVISION] = revision(code)
    content = {"config": dict(config), **surroundings()}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]
    path = Path("results/provenance") / f"{digest}.json"
    os.environ[RUN] = path.as_posix()
    if not path.exists():
        write_json(content, path)


def surroundings() -> dict[str, Any]:
    """Return what a result depends on besides its inputs and settings: code, packages, interpreter, system."""
    told = os.environ.get(REVISION)
    return {
        "rgwot": __version__,
        "revision": revision(Path(__file__).parent) if told is None else told,
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


def _resolved(settings: str) -> dict[str, Any]:
    """Return the blocks that a job was given, every key of them; what has no blocks (of `synth`) as it is."""
    from rgwot.cli.options import read_object, read_settings
    from rgwot.settings import BLOCKS

    given = read_object(settings, "--settings")
    if not set(given) <= set(BLOCKS):
        return given
    dumped: dict[str, Any] = read_settings(settings).model_dump(by_alias=True, mode="json")
    return {block: dumped[block] for block in given}


def _device(asked: str) -> str:
    """Return the name of the GPU that a job used, or ``cpu``."""
    # A job that has not imported PyTorch by now has used none.
    if asked == "cpu" or "torch" not in sys.modules:
        return "cpu"
    from rgwot.device import hardware, resolve_device

    return hardware(resolve_device(asked))["gpu"] or "cpu"


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
