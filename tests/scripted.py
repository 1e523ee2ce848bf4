"""Run scripts of the workflow on files of a test, with a job such as Snakemake passes to scripts."""

from __future__ import annotations

import pickle
import runpy
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from snakemake.iocontainers import InputFiles, Log, OutputFiles, Params, ResourceList, Snakemake, Wildcards

from rgwot.runtime.errors import RgwotError
from rgwot.study.jobs import execution, settings_behind
from rgwot.study.study import Study, Task

SCRIPTS = Path(__file__).resolve().parents[1] / "workflow" / "scripts"
Files = Mapping[str, object] | Sequence[object]
READING = {"reading": {"frames_fps": None, "on_bad_video": "fail"}}
IDS = {"dataset": "own", "task": "tea"}


def job(
    log: str,
    *,
    output: Files,
    input: Files = (),
    params: Mapping[str, object] | None = None,
    wildcards: Mapping[str, object] | None = None,
    config: Mapping[str, Any] | None = None,
    threads: int = 1,
) -> Snakemake:
    """Return what a script finds as ``snakemake``; dataset and task are own/tea unless ``wildcards`` has them.

    From ``config``, the script gets params and resources as the rules would pass them.
    """

    def named(kind: type, files: Files) -> Any:
        if not isinstance(files, Mapping):
            return kind(toclone=[str(file) for file in files])
        listed = kind()
        for name, file in files.items():
            start = len(listed)
            listed.extend(map(str, file if isinstance(file, list) else [file]))
            listed._set_name(name, start, end=len(listed) if isinstance(file, list) else None)
        return listed

    told = {**IDS, **(wildcards or {})}
    # As in the rules, params have the settings of method and decoder, unless a test gives them.
    behind = {"settings": settings_of(config or {}, told)} if "method" in told else {}
    params, ids = {**behind, **(params or {})}, named(Wildcards, told)
    how = execution(Study.of(config or {}), told["dataset"])
    return Snakemake(
        named(InputFiles, input), named(OutputFiles, output), Params(fromdict=dict(params or {})), ids, threads,
        ResourceList(fromdict={"execution": how}), Log(toclone=[log]), {}, "rule", None,
    )  # fmt: skip


def settings_of(config: Mapping[str, Any], ids: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that the rules pass to a script."""
    return settings_behind(Task(Study.of(config), ids["dataset"], ids["task"]), ids["method"], ids.get("decoder"))


def run_script(name: str, **parts: Any) -> None:
    """Run a script in this process; raise its error, if any."""
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as log:
        try:
            runpy.run_path(str(SCRIPTS / f"{name}.py"), {"snakemake": job(log.name, **parts)}, "__main__")
        except SystemExit:
            *_, last = log.read().splitlines() or [""]
            if not last.startswith("rgwot: "):
                raise
            raise RgwotError(last.removeprefix("rgwot: ")) from None


def script_command(name: str, folder: Path, **parts: Any) -> list[str]:
    """Write a job file into a folder and return the command that runs it in its own process, with stderr as its log."""
    path = folder / f"{name}.job.py"
    text = f"""
import pickle, runpy
if __name__ == "__main__":
    snakemake = pickle.loads({pickle.dumps(job("/dev/stderr", **parts))!r})
    runpy.run_path({str(SCRIPTS / f"{name}.py")!r}, {{"snakemake": snakemake}}, "__main__")
"""
    path.write_text(text, encoding="utf-8")
    return [sys.executable, str(path)]
