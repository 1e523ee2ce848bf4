"""The record that every verb leaves beside its output, and the check of its input before it reads.

A record has a hidden name: ``.provenance.json`` inside a directory, ``.NAME.provenance.json`` beside a file. It holds
settings, seed, device and `rgwot.runtime.provenance.surroundings`, the digests of the output, and the state of the
dataset files behind it (`rgwot.runtime.integrity`).
"""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rgwot.cli.options import read_object, read_settings
from rgwot.paths import HISTORY, KEYSTEPS, MACHINE, MODEL, name_of
from rgwot.runtime import integrity
from rgwot.runtime.files import write_json
from rgwot.runtime.integrity import below_results, digest, record_path, sources
from rgwot.runtime.provenance import RUN, surroundings

_ELSEWHERE = ("output", "root", "settings", "execution", "seed", "device")
#: Files that a verb writes beside its output, where ``{}`` is the name of the output without its suffix.
BESIDE: Mapping[str, tuple[str, ...]] = {
    "train": (name_of(HISTORY), name_of(MACHINE)),
    "decode": tuple(map(name_of, KEYSTEPS[1:])),
    "table": ("{}.md", "{}.tex"),
    "plot": ("{}.pdf", "{}.png"),
    "figure": ("{}.pdf", "{}.png"),
    "plot-choices": ("{}.pdf", "{}.png"),
    "report": ("{}.csv",),
}
#: Arguments that name a file of the dataset.
_SOURCES = ("source", "footage")
#: Verbs that open the videos of a manifest, below ``--root``.
_LOOK_AT_VIDEOS = ("strips", "view")


def recorded(verb: str, run: Callable[..., Any] | None) -> Callable[..., None]:
    """Return the function of a verb with the check of its input before it, and its record after it."""
    assert run is not None

    @functools.wraps(run)
    def checked(**arguments: Any) -> None:
        check_input(verb, arguments)
        before = seen(verb, arguments)
        run(**arguments)
        record(verb, arguments, before)

    return checked


def _output_of(verb: str, arguments: Mapping[str, Any]) -> Path | None:
    output = arguments.get("root" if verb == "synth" else "output")
    return output if isinstance(output, Path) else None


def seen(verb: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state of the dataset files that a verb reads, by their paths as the workflow has them.

    Called before the verb runs, so that the next run notices what changes meanwhile.
    """
    files = [arguments[name] for name in _SOURCES if isinstance(arguments.get(name), Path)]
    if verb in _LOOK_AT_VIDEOS:
        from rgwot.records import read_manifest

        files += [arguments["root"] / path for path in read_manifest(arguments["manifest"])["path"]]
    return sources(map(str, files))


def check_input(verb: str, arguments: Mapping[str, Any]) -> None:
    """Compare the files that a verb is about to read with the records of the jobs that wrote them.

    Stores and models are checked by the code that opens them.

    Raises RgwotError when a file is not what was written.
    """
    # The manifest writes the annotations as well; a damaged table must not keep it from writing them again.
    written = {_output_of(verb, arguments), arguments.get("annotations") if verb == "manifest" else None}
    for path in _paths(arguments):
        if path.is_file() and path not in written and path.name != name_of(MODEL):
            integrity.check_file(path)
            integrity.check_inside(path)
    if verb in _LOOK_AT_VIDEOS:
        integrity.check_dataset(arguments["root"])


def _paths(arguments: Mapping[str, Any]) -> Iterator[Path]:
    for value in arguments.values():
        if isinstance(value, Path):
            yield value
        elif isinstance(value, tuple):
            # Among them LABEL=PATH of `rgwot plot`.
            for one in value:
                if isinstance(one, str | Path):
                    yield Path(one.partition("=")[2]) if isinstance(one, str) else one


def record(verb: str, arguments: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> None:
    """Write the record of a verb that has made its output; ``before`` is what `seen` returned before it ran."""
    output = _output_of(verb, arguments)
    if output is None or not output.exists():
        return
    content: dict[str, Any] = {"verb": verb, "output": below_results(output) or output.as_posix()}
    if "settings" in arguments:
        content["settings"] = _resolved(arguments["settings"])
    if "seed" in arguments:
        content["seed"] = arguments["seed"]
    if "device" in arguments:
        content["device"] = _device()
    content["arguments"] = {key: _plain(value) for key, value in arguments.items() if key not in _ELSEWHERE}
    content |= {**surroundings(), "run": os.environ.get(RUN)}
    if verb == "manifest":
        from rgwot.datasets.manifest import files_of

        before = sources(files_of(output, json.loads(arguments["options"])["root"]))
    content |= {"sources": dict(before)} if before else {}
    beside = (name.format(output.stem) for name in BESIDE.get(verb, ()))
    written = [name for name in beside if name != output.name and output.with_name(name).exists()]
    names = integrity.files_below(output) if output.is_dir() else [output.name, *written]
    path = record_path(output)
    write_json({**content, "digests": {name: digest(path.parent / name) for name in names}}, path)
    annotations = arguments.get("annotations")
    if verb == "manifest" and isinstance(annotations, Path):
        place = below_results(annotations) or annotations.as_posix()
        content |= {"output": place, "digests": {annotations.name: digest(annotations)}}
        write_json(content, record_path(annotations))


def _resolved(settings: str) -> dict[str, Any]:
    """Return the blocks that a job was given with all their keys; settings without blocks (of `synth`) unchanged."""
    from rgwot.config.settings import BLOCKS

    given = read_object(settings, "--settings")
    if not set(given) <= set(BLOCKS):
        return given
    dumped: dict[str, Any] = read_settings(settings).model_dump(by_alias=True, mode="json")
    return {block: dumped[block] for block in given}


def _device() -> str:
    """Return the name of the GPU that the verb used, or ``cpu``."""
    # A job that has not loaded this by now needed no GPU, and asking here would make it wait for one.
    if "rgwot.runtime.device" not in sys.modules:
        return "cpu"
    from rgwot.runtime.device import hardware, used_device

    return hardware(used_device())["gpu"] or "cpu"


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
