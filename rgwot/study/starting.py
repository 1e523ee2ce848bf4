"""Checks before Snakemake's own, of what it would report with a traceback or without the name of the file.

Snakemake reads the files of ``--configfile`` and makes its folders before the first line of a Snakefile runs. The
profiles in ``profiles`` therefore call `before_snakemake` while they are read, which is earlier; the Snakefile calls
`check_configuration` again for runs without a profile.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from snakemake.common import get_appdirs

from rgwot.config.configuration import read_file
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.provenance import below_results
from rgwot.study.shipped import DEFAULTS

#: Levels of folders below ``results`` that must be writable: its stages, and their datasets, methods or tables.
_DEPTH = 2
#: Seconds that the clocks of two machines may differ.
_SKEW_S = 10
_DRY = re.compile(r"--dry-?run|-[A-Za-z]*n[A-Za-z]*")


def before_snakemake(arguments: Sequence[str] | None = None) -> None:
    """End the process with one line if Snakemake, called with these arguments, could only fail."""
    given = sys.argv[1:] if arguments is None else arguments
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--configfile", "--configfiles", nargs="*", action="extend", type=Path, default=[])
    parser.add_argument("--directory", "-d", nargs="?", type=Path, default=Path())
    options, _ = parser.parse_known_args(given)
    folder = options.directory or Path()
    try:
        check_caches()
        check_configuration([folder / "config.yaml", *options.configfile])
        check_writable(folder / ".snakemake")
        if not any(_DRY.fullmatch(word) for word in given):
            check_writable(folder / "results", _DEPTH)
    except RgwotError as error:
        raise SystemExit(f"rgwot: {error}") from None


def check_configuration(paths: Iterable[Path]) -> None:
    """Raise if an existing configuration file cannot be read, or is not YAML."""
    for path in paths:
        # Snakemake itself reports a missing file in one line.
        if path.exists():
            read_file(path)


def layers(paths: Iterable[Path], given: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the layers of a configuration by name, the one on top last.

    ``paths`` are its files in Snakemake's order, those of the command line and then the defaults of the package, where
    a study has a Snakefile of its own, and ``config.yaml``; ``given`` is the content of ``--config``.
    """

    def place(path: Path) -> int:
        own = path.name == "config.yaml" and path.parent.resolve() == Path.cwd()
        return 1 if own else 0 if path == DEFAULTS else 2

    ordered = sorted((path for path in paths if path.exists()), key=place)
    return [*((_short(path), read_file(path)) for path in dict.fromkeys(ordered)), ("--config", given)]


def check_caches() -> None:
    """Raise if Snakemake could not make the folder that it keeps below HOME."""
    folder = Path(get_appdirs().user_cache_dir) / "snakemake" / "source-cache"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RgwotError(
            f"HOME={os.environ.get('HOME', '')}: {folder} cannot be made ({error.strerror}); expected a folder that "
            "can be written, where Snakemake keeps what it loads; set HOME or XDG_CACHE_HOME to one"
        ) from None


def check_writable(folder: Path, depth: int = 0) -> None:
    """Raise if a folder (or the one that it would be made in) or folders ``depth`` levels inside cannot be written."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    for path in (there, *(_inside(folder, depth) if there == folder else ())):
        if not os.access(path, os.W_OK | os.X_OK):
            raise RgwotError(
                f"{path}: cannot be written; expected a folder that this user may write into; change its permissions, "
                "or run elsewhere (--directory)"
            )


def check_clock(inputs: Iterable[str]) -> list[str]:
    """Handle inputs with a modification time in the future, of a camera with a wrong clock or another machine.

    What is made from one is older than it is. Snakemake finds that out after the job, and throws the output away.
    Inputs, which need not exist, below ``results`` are given the present time; returns a line for each of them. Raises
    RgwotError for the first that is somebody's own.
    """
    now, lines = time.time(), []
    for path in sorted(inputs):
        stamp = os.path.join(path, ".snakemake_timestamp")
        touched = stamp if os.path.exists(stamp) else path
        if not os.path.exists(touched) or (changed := os.stat(touched).st_mtime) <= now + _SKEW_S:
            continue
        found = f"{path}: last changed at {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(changed))}"
        if not below_results(Path(path)):
            raise RgwotError(
                f"{found}, which is in the future; Snakemake would discard what is made from it; give it a time of "
                f"the past: touch {shlex.quote(touched)}"
            )
        os.utime(touched)
        lines.append(f"{found}, which is in the future; given the present time")
    return lines


def _inside(folder: Path, depth: int) -> Iterator[Path]:
    if depth:
        for path in sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")):
            yield path
            yield from _inside(path, depth - 1)


def _short(path: Path) -> str:
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return str(path)
