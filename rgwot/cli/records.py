"""The record that every verb writes next to its output.

A record has a hidden name: ``.provenance.json`` inside a directory, ``.NAME.provenance.json`` beside a file. It holds
settings, seed, device, `rgwot.runtime.provenance.surroundings` and the digests of the output, for `rgwot verify`.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rgwot.features import read_index
from rgwot.paths import HISTORY, KEYSTEPS, MACHINE, STORE, name_of
from rgwot.runtime.files import write_json
from rgwot.runtime.provenance import below_results, digests, record_path, surroundings

_ELSEWHERE = ("output", "root", "seed")
#: Files that a verb writes beside its output, where ``{}`` is the name of the output without its suffix.
BESIDE: Mapping[str, tuple[str, ...]] = {
    "train": (name_of(HISTORY), name_of(MACHINE)),
    "decode": tuple(map(name_of, KEYSTEPS[1:])),
    "table": ("{}.md", "{}.tex"),
    "report": ("{}.csv",),
    **dict.fromkeys(("plot", "figure", "compare-groups"), ("{}.pdf", "{}.png")),
}


def recorded(verb: str, run: Callable[..., Any] | None) -> Callable[..., None]:
    """Return the function of a verb, which may return its settings, with its record after it."""
    assert run is not None

    @functools.wraps(run)
    def with_record(**arguments: Any) -> None:
        record(verb, arguments, run(**arguments))

    return with_record


def record(verb: str, arguments: Mapping[str, Any], settings: Mapping[str, Any] | None) -> None:
    """Write the record of a verb that has made its output with such settings."""
    output = arguments.get("root" if verb == "synth" else "output")
    if not isinstance(output, Path) or not output.exists():
        return
    content: dict[str, Any] = {"verb": verb, "output": below_results(output) or output.as_posix()}
    if settings is not None:
        content["settings"] = settings
    if "seed" in arguments:
        content["seed"] = arguments["seed"]
    if verb in ("extract", "train", "embed"):
        # A job that has not loaded this by now needed no GPU, and asking here would make it wait for one.
        device = sys.modules.get("rgwot.runtime.device")
        content["device"] = (device and device.hardware(device.used_device())["gpu"]) or "cpu"
    content["arguments"] = {key: value for key, value in arguments.items() if key not in _ELSEWHERE}
    content |= surroundings()
    others = [output.with_name(name.format(output.stem)) for name in BESIDE.get(verb, ())]
    others += [arguments["annotations"]] if verb == "manifest" else []
    if verb in ("extract", "import-features") and output.suffix == ".csv":
        stores = (output.with_name(f"{row['video']}{STORE}") for row in read_index(output))
        others += [path for store in stores for path in sorted(store.rglob("*")) if path.is_file()]
    written = digests(output, (path for path in others if path != output and path.exists()))
    # Paths and the like as texts.
    plain = json.loads(json.dumps(content, default=str))
    write_json({**plain, "digests": written}, record_path(output))
