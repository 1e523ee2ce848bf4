"""The files of the workflow, and the folder of a study, for the commands ``init`` and ``run``.

A wheel has the workflow's files inside the package, a checkout beside it. Every ``rgwot run`` waits for this module, so
the functions of ``init`` import what they need.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import rgwot
from rgwot.runtime.errors import RgwotError, install, nearest

_LIBRARY = Path(rgwot.__file__).resolve().parent
ROOT = _LIBRARY / "shipped" if (_LIBRARY / "shipped").is_dir() else _LIBRARY.parent
SNAKEFILE = ROOT / "Snakefile"
#: The default configuration, to which a study's ``config.yaml`` is added.
DEFAULTS = ROOT / "config.yaml"
#: The folder with the functions that make tables and figures.
TABLES_FOLDER = ROOT / "workflow" / "tables"
PROFILE = ROOT / "profiles" / "default"
#: The templates of a new study.
STARTER = ROOT / "workflow" / "start"
#: Targets that are not files.
TARGETS = ("all", "demo", "first", "paper")
#: The files of a new study, and their templates.
STUDY_FILES = {"config.yaml": "config.yaml", "Snakefile": "Snakefile", ".gitignore": "gitignore"}


def start_study(folder: Path, videos: Path | None = None) -> dict[str, str]:
    """Write the files of a new study into a folder; ``videos`` is the folder of its videos (default: inside).

    Returns for every existing task the number of videos, or its problem.

    Raises
    ------
    RgwotError
        If one of the files exists, or the folder of videos does not exist or is the folder of one task. Nothing is
        written in these cases.
    """
    from rgwot.runtime.files import write_text

    for name in STUDY_FILES:
        if os.path.lexists(folder / name):
            raise RgwotError(
                f"{folder / name}: exists already, so nothing was written; choose another folder, or remove the file"
            )
    if videos is not None and not videos.is_dir():
        raise RgwotError(
            f"{videos}: no such folder; expected one with a folder of videos per task; nothing was written"
        )
    tasks = _look(folder / "videos" if videos is None else videos)
    root = "videos" if videos is None else Path(os.path.relpath(videos, folder)).as_posix()
    for name, template in STUDY_FILES.items():
        text = (STARTER / template).read_text(encoding="utf-8")
        # JSON strings are valid YAML.
        write_text(text.replace("root: videos", f"root: {json.dumps(root, ensure_ascii=False)}"), folder / name)
    return tasks


def _look(root: Path) -> dict[str, str]:
    """Return the number of videos, or the problem, of every task in a folder, which may be empty."""
    from rgwot.datasets.finding import find, no_task
    from rgwot.datasets.manifest import leftovers

    if not root.is_dir():
        return {}
    files = find("mine", "folder", root)
    if not files.tasks and any(path.is_file() for path in root.rglob("*")):
        raise RgwotError(f"{no_task('mine', 'folder', root)}; nothing was written")
    return {
        task: of_task.problem
        or "; ".join([
            f"{len(of_task.videos)} videos", *(line for _, rule, line in leftovers(of_task, False) if rule == "kind")
        ])
        for task, of_task in files.tasks.items()
    }  # fmt: skip


def snakemake_command(arguments: Sequence[str]) -> list[str]:
    """Return the Snakemake command that runs the workflow with these arguments in the current folder.

    If the current folder has a Snakefile (``rgwot init`` writes one) or a profile, these are used.

    Raises
    ------
    RgwotError
        If there is no configuration, Snakemake is not installed, or a target is written in another case.
    """
    if find_spec("snakemake") is None:
        raise RgwotError(
            f"snakemake: not installed; the workflow needs {install('all')} (Python 3.14 also needs "
            f"{install('workflow')} and a C compiler; Python 3.13 does not)"
        )
    for word in arguments:
        if word not in TARGETS and word.casefold() in TARGETS:
            raise RgwotError(f"target {word!r}: unknown; {nearest(word, TARGETS)}")
    options = _options(arguments)
    added: list[str] = []
    if options.snakefile is None and not Path("Snakefile").is_file():
        if not (options.configfile or (options.directory / "config.yaml").is_file()):
            raise RgwotError(
                f"{(options.directory / 'config.yaml').absolute()}: no such file; "
                "expected the configuration of a study; make one with rgwot init, or go to its folder"
            )
        added += ["--snakefile", str(STARTER / "Snakefile")]
    if options.workflow_profile is None and not Path("profiles/default").is_dir():
        added += ["--workflow-profile", str(PROFILE)]
    return [sys.executable, "-m", "snakemake", *added, *arguments]


def configuration_files(arguments: Sequence[str]) -> list[Path]:
    """Return the configuration files of a run with these arguments of Snakemake's in the current folder."""
    return [*map(Path, _options(arguments).configfile), *filter(Path.exists, [Path("config.yaml")])]


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--configfile", "--configfiles", nargs="*", action="extend", default=[])
    parser.add_argument("--directory", "-d", type=Path, default=Path())
    parser.add_argument("--snakefile", "-s")
    parser.add_argument("--workflow-profile")
    return parser.parse_known_args(list(arguments))[0]


def executor(name: str) -> str:
    """Return the name of an executor for a profile; end the command with one line if its package is not installed."""
    package = f"snakemake-executor-plugin-{name}"
    if find_spec(package.replace("-", "_")) is None:
        raise SystemExit(
            f"rgwot: executor {name}: the package {package} is not installed; pip install 'rgwot[cluster]', or leave "
            "out --profile to run on this machine"
        )
    return name
