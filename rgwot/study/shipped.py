"""Where the files of the workflow lie, and a folder for a study of one's own: the verbs ``init`` and ``run``.

A wheel has these files inside the package, a checkout beside it; nothing else tells the two apart.
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
from rgwot.datasets.finding import find, no_task
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import write_text

_LIBRARY = Path(rgwot.__file__).resolve().parent
ROOT = _LIBRARY / "shipped" if (_LIBRARY / "shipped").is_dir() else _LIBRARY.parent
SNAKEFILE = ROOT / "Snakefile"
#: The configuration that a study's own ``config.yaml`` is laid on top of.
DEFAULTS = ROOT / "config.yaml"
#: The files whose functions make tables and figures.
TABLES = ROOT / "workflow" / "tables"
PROFILE = ROOT / "profiles" / "default"
#: What a new study is made from.
STARTER = ROOT / "workflow" / "start"
#: The files of a new study, and what they are made from.
STUDY_FILES = {"config.yaml": "config.yaml", "Snakefile": "Snakefile", ".gitignore": "gitignore"}


def start_study(folder: Path, videos: Path | None = None) -> dict[str, str]:
    """Write the files of a new study into a folder; ``videos`` is that of its videos, else ``videos`` inside.

    Returns of every task that is there already the number of videos, or what is wrong with it.

    Raises
    ------
    RgwotError
        When one of the files is there already, or the folder of videos is not, or is that of one task. Nothing is
        written then.
    """
    for name in STUDY_FILES:
        if os.path.lexists(folder / name):
            raise RgwotError(f"{folder / name}: exists; expected a folder without it; nothing was written")
    if videos is not None and not videos.is_dir():
        raise RgwotError(
            f"{videos}: no such folder; expected one with a folder of videos per task; nothing was written"
        )
    tasks = _look(folder / "videos" if videos is None else videos)
    root = "videos" if videos is None else Path(os.path.relpath(videos, folder)).as_posix()
    for name, template in STUDY_FILES.items():
        text = (STARTER / template).read_text(encoding="utf-8")
        # JSON's quotes are YAML's, too.
        write_text(text.replace("root: videos", f"root: {json.dumps(root, ensure_ascii=False)}"), folder / name)
    return tasks


def _look(root: Path) -> dict[str, str]:
    """Return what is found of every task in a folder, which may be yet to be filled."""
    if not root.is_dir():
        return {}
    found = find("mine", "folder", root)
    if not found.tasks and any(path.is_file() for path in root.rglob("*")):
        raise RgwotError(f"{no_task('mine', 'folder', root)}; nothing was written")
    return {task: own.problem or f"{len(own.videos)} videos" for task, own in found.tasks.items()}


def snakemake_command(arguments: Sequence[str]) -> list[str]:
    """Return the command that runs the workflow here: Snakemake with these arguments.

    The Snakefile is that of the present folder, where there is one, as ``rgwot init`` writes it; so is the profile.

    Raises
    ------
    RgwotError
        Without any configuration, or without Snakemake.
    """
    if find_spec("snakemake") is None:
        raise RgwotError(
            "snakemake: not installed, expected where the workflow runs; pip install 'rgwot[workflow]', for which "
            "Python 3.14 needs a C compiler, or take Python 3.13"
        )
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--configfile", "--configfiles", nargs="*", action="extend", default=[])
    parser.add_argument("--directory", "-d", type=Path, default=Path())
    parser.add_argument("--snakefile", "-s")
    parser.add_argument("--workflow-profile")
    given, _ = parser.parse_known_args(list(arguments))
    own: list[str] = []
    if given.snakefile is None and not Path("Snakefile").is_file():
        if not (given.configfile or (given.directory / "config.yaml").is_file()):
            raise RgwotError(
                f"{(given.directory / 'config.yaml').absolute()}: no such file; expected the configuration of a study; "
                "make one with rgwot init, or go to its folder"
            )
        own += ["--snakefile", str(STARTER / "Snakefile")]
    if given.workflow_profile is None and not Path("profiles/default").is_dir():
        own += ["--workflow-profile", str(PROFILE)]
    return [sys.executable, "-m", "snakemake", *own, *arguments]


def executor(name: str) -> str:
    """Return the name of an executor, for a profile; end the command with one line if its package is not installed."""
    package = f"snakemake-executor-plugin-{name}"
    if find_spec(package.replace("-", "_")) is None:
        raise SystemExit(
            f"rgwot: executor {name}: the package {package} is not installed; pip install 'rgwot[cluster]', or leave "
            "out --profile to run on this machine"
        )
    return name
