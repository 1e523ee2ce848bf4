"""Where a result comes from: the code, the packages and the configuration behind a run.

Every job, and every verb that writes files, leaves a record of its output: its settings, and the SHA-256 of every file
of the output under ``digests``, by its path from the folder of the record. The record has a hidden name:
``.provenance.json`` inside a folder, ``.NAME.provenance.json`` beside a file.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Callable, Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from rgwot import __version__
from rgwot.paths import STORE
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import (
    Stranger,
    below_results,
    check_replaceable,
    contents,
    remake,
    remove,
    replacing,
    write_json,
)

RECORD = ".provenance.json"

#: Distributions that numbers depend on.
PACKAGES = (
    "numpy", "scipy", "pandas", "scikit-learn", "torch", "torchvision", "POT", "gco-wrapper", "zarr", "av",
    "decord", "decord2", "snakemake",
)  # fmt: skip
#: The variable by which the workflow tells its jobs the revision of the code.
REVISION = "RGWOT_REVISION"


def record_path(output: Path) -> Path:
    """Return where the record of an output is: inside a directory, beside a file, with a hidden name."""
    return output / RECORD if output.is_dir() else output.with_name(f".{output.name}{RECORD}")


def digests(output: Path, others: Iterable[Path] = ()) -> dict[str, str]:
    """Return the SHA-256 of all files of an output, and of other files, by their paths from the folder of its record.

    Hidden files in a directory are no part of it. The digest of a file older than the record that is there is taken
    from it, so that a batch of which one video is new does not read all others.
    """
    record = record_path(output)
    folder, before, since = record.parent, {}, 0
    with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
        before, since = dict(json.loads(record.read_text(encoding="utf-8"))["digests"]), record.stat().st_mtime_ns

    def of(path: Path) -> str:
        known = before.get(os.path.relpath(path, folder))
        return known if known and path.stat().st_mtime_ns < since else sha256(path)

    inside = sorted(path for path in output.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {os.path.relpath(path, folder): of(path) for path in ([output] if output.is_file() else inside) + [*others]}


def _changed(verb: str) -> Stranger:
    """Return what finds a file in a folder that the verb did not write, or that was changed since."""

    def changed(folder: Path) -> Path | None:
        written: dict[str, str] = {}
        with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
            content = json.loads((folder / RECORD).read_text(encoding="utf-8"))
            written = dict(content["digests"]) if content["verb"] == verb else {}
        for file in contents(folder):
            known = None if file.is_symlink() else written.get(os.path.relpath(file, folder))
            if known is None or sha256(file) != known:
                return file
        return None

    return changed


def check_own_folder(path: str | os.PathLike[str], verb: str) -> None:
    """Raise what `own_folder` raises, before the work that it waits for."""
    check_replaceable(Path(path), _changed(verb))


@contextlib.contextmanager
def own_folder(path: str | os.PathLike[str], verb: str) -> Iterator[Path]:
    """Yield an empty folder that becomes ``path`` with a record of its files, so that the same verb may replace it.

    Raises RgwotError for a folder with anything in it that the verb did not write, or that was changed since.
    """
    with replacing(path, _changed(verb)) as folder:
        folder.mkdir()
        yield folder
        about = {"verb": verb, "output": below_results(Path(path)) or os.fspath(path), **surroundings()}
        write_json({**about, "digests": digests(folder)}, folder / RECORD)


class _NothingMade(Exception):
    """Ends the writing of a file of which nothing came."""


class Growing:
    """A folder of a verb to which files are added one by one; what is there of an interrupted run is kept."""

    def __init__(self, folder: Path, verb: str) -> None:
        self.folder = folder
        self._about = {"verb": verb, "output": os.fspath(folder), **surroundings()}
        self._digests: dict[str, str] = {}
        self._facts: dict[str, str] = {}
        with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
            content = json.loads((folder / RECORD).read_text(encoding="utf-8"))
            self._digests, self._facts = dict(content["digests"]), dict(content.get("made_from", {}))
        self._wanted: set[str] = set()

    def add(self, name: str, made_from: str, make: Callable[[Path], object]) -> bool:
        """Have a file made at a path, unless it is there and was made from the same; return whether it is there.

        Nothing came of it where ``make`` returns a false value.
        """
        file = self.folder / name
        self._wanted.add(name)
        if self._facts.get(name) == made_from and file.is_file():
            return True
        file.unlink(missing_ok=True)
        with contextlib.suppress(_NothingMade), replacing(file) as temporary:
            if not make(temporary):
                raise _NothingMade
            # Before it is there, so that a run that is killed in between leaves no stranger.
            self._facts[name], self._digests[name] = made_from, sha256(temporary)
            self._write()
        return file.is_file()

    def finish(self) -> None:
        """Remove what an earlier run left that is not wanted any more."""
        for name in self._digests.keys() - self._wanted:
            (self.folder / name).unlink(missing_ok=True)
        for folder in sorted((path for path in self.folder.rglob("*") if path.is_dir()), reverse=True):
            if not contents(folder):
                remove(folder)
        self._digests = {name: one for name, one in self._digests.items() if (self.folder / name).is_file()}
        self._facts = {name: one for name, one in self._facts.items() if name in self._digests}
        self._write()

    def _write(self) -> None:
        write_json({**self._about, "made_from": self._facts, "digests": self._digests}, self.folder / RECORD)


@contextlib.contextmanager
def growing_folder(path: str | os.PathLike[str], verb: str) -> Iterator[Growing]:
    """Yield a folder whose files are kept as they are made; parameters and errors as of `own_folder`."""
    check_own_folder(path, verb)
    growing = Growing(Path(path), verb)
    yield growing
    growing.finish()


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def stamp(paths: Iterable[str | os.PathLike[str]]) -> str:
    """Return a text that changes with the name, size or modification time of any of these files, or if one is missing.

    A param of the jobs that read them: Snakemake alone would not notice a file that replaces a newer one.
    """
    seen = hashlib.sha256()
    for path in paths:
        try:
            status = os.stat(path)
            seen.update(f"{os.fspath(path)}\0{status.st_size}\0{status.st_mtime_ns}\0".encode(errors="surrogateescape"))
        except OSError:
            seen.update(f"{os.fspath(path)}\0missing\0".encode(errors="surrogateescape"))
    return seen.hexdigest()[:16]


def write_record(output: Path, verb: str, others: Iterable[Path] = (), **content: Any) -> None:
    """Write the record of an output: what it was made with, and the digests of its files and of others beside it."""
    about = {"verb": verb, "output": below_results(output) or output.as_posix(), **content, **surroundings()}
    # Paths and the like as texts.
    plain = json.loads(json.dumps(about, default=str))
    write_json({**plain, "digests": digests(output, others)}, record_path(output))


def note_revision(code: Path) -> None:
    """Tell the jobs of a run the revision of the checkout that ``code`` is in, so that each need not ask git."""
    os.environ[REVISION] = revision(code)


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


def differences(results: Path) -> tuple[int, list[str]]:
    """Compare a tree of results, or a part of one, with the SHA-256 in its records.

    Returns the number of files checked, and a line for every file that is missing or not what was written, and for
    every record that cannot be read.

    Raises RgwotError if there is no such folder.
    """
    if not results.is_dir():
        raise RgwotError(f"{results}: no such folder; expected results of rgwot; run where they are, or name it")
    checked, lines = 0, []
    for record in sorted(results.rglob(f"*{RECORD}")):
        try:
            content = json.loads(record.read_text(encoding="utf-8"))
            output = Path(content["output"])
            written = {
                Path(os.path.normpath(record.parent / name)): str(digest) for name, digest in content["digests"].items()
            }
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            lines.append(f"{record}: cannot be read ({error!r}); expected the record of a job; make its output again")
            continue
        # Results may have been moved as a whole since.
        place = record.parent if record.name == RECORD else record.with_name(output.name)
        for path, digest in written.items():
            checked += 1
            try:
                found = sha256(path)
            except OSError as error:
                found = str(error.strerror).lower()
            if found != digest:
                # A store of a batch is made again by itself.
                holder = next((folder for folder in path.parents if folder.suffix == STORE), place)
                lines.append(f"{path}: {found[:26]}, expected SHA-256 {digest[:12]}; {remake(holder)}")
    return checked, lines
