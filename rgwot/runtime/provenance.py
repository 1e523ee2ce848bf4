"""Provenance of results: the code, the packages and the configuration of a run.

Every job, and every verb that writes files, writes a record of its output: the settings, and under ``digests`` the
SHA-256 of every file of the output, by its path relative to the record. The record has a hidden name:
``.provenance.json`` inside a folder, ``.NAME.provenance.json`` beside a file.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import subprocess
import uuid
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from rgwot import __version__
from rgwot.paths import SEGMENTS, STORE, name_of
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import (
    Stranger,
    below_results,
    check_replaceable,
    contents,
    remake,
    replacing,
    write_json,
)

RECORD = ".provenance.json"

#: Distributions on which results depend.
PACKAGES = (
    "numpy", "scipy", "pandas", "scikit-learn", "torch", "torchvision", "POT", "gco-wrapper", "zarr", "av",
    "decord", "decord2", "snakemake",
)  # fmt: skip
#: The environment variable that passes the revision of the code to jobs.
REVISION = "RGWOT_REVISION"
#: The file with the `study_id`.
STUDY_ID = ".snakemake/rgwot-study"


def record_path(output: Path) -> Path:
    """Return the path of an output's record: a hidden file inside a directory, or beside a file."""
    return output / RECORD if output.is_dir() else output.with_name(f".{output.name}{RECORD}")


def recorded(record: Path, verb: str | None = None) -> dict[str, str]:
    """Return the digests in a record, by paths relative to it; {} if it cannot be read, or another verb wrote it."""
    try:
        content = json.loads(record.read_text(encoding="utf-8"))
        return dict(content["digests"]) if verb in (None, content["verb"]) else {}
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return {}


def recorded_settings(output: Path) -> dict[str, dict[str, object]]:
    """Return the blocks of settings in the record of an output; {} if it cannot be read."""
    try:
        settings = json.loads(record_path(output).read_text(encoding="utf-8"))["settings"]
        return {str(block): dict(keys) for block, keys in settings.items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return {}


def study_id() -> str:
    """Return the id of the runs in this folder, which the first job makes; empty outside a run.

    Its file lies beside Snakemake's own records of outputs, so that it is copied, and removed, together with them.
    """
    file = Path(STUDY_ID)
    with contextlib.suppress(FileExistsError, FileNotFoundError), file.open("x", encoding="utf-8") as text:
        text.write(uuid.uuid4().hex)
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def made_here(output: Path) -> bool:
    """Return whether an output was made by a job that Snakemake remembers in this folder."""
    try:
        of_study = json.loads(record_path(output).read_text(encoding="utf-8"))["study"]
        return bool(of_study) and of_study == Path(STUDY_ID).read_text(encoding="utf-8")
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return False


def unedited(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file of key steps; raise RgwotError if the record beside it has another SHA-256."""
    file = Path(path)
    written = recorded(record_path(file.with_name(name_of(SEGMENTS)))).get(file.name)
    if written is not None and file.is_file() and written != sha256(file):
        raise RgwotError(
            f"{file}: changed since it was written, expected SHA-256 {written[:12]}; to correct key steps, save the "
            "rows of a video as its annotation beside the video (VIDEO.csv: start_s,end_s,label), remove the file, and "
            f"{remake(file).removeprefix('remove it and ')}"
        )
    return file


def digests(output: Path, others: Iterable[Path] = ()) -> dict[str, str]:
    """Return the SHA-256 of all files of an output, and of other files, by their paths relative to its record.

    Hidden files in a directory are not a part of it. For a file older than the existing record the digest is taken
    from the record, so that one new video in a batch does not require reading all others.
    """
    record = record_path(output)
    folder, before = record.parent, recorded(record)
    since = record.stat().st_mtime_ns if before else 0

    def of(path: Path) -> str:
        digest = before.get(os.path.relpath(path, folder))
        return digest if digest and path.stat().st_mtime_ns < since else sha256(path)

    inside = sorted(path for path in output.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {os.path.relpath(path, folder): of(path) for path in ([output] if output.is_file() else inside) + [*others]}


def _changed(verb: str) -> Stranger:
    """Return a function that finds a file in a folder that the verb did not write, or that has changed since."""

    def changed(folder: Path) -> Path | None:
        written = recorded(folder / RECORD, verb)
        for file in contents(folder):
            digest = None if file.is_symlink() else written.get(os.path.relpath(file, folder))
            if digest is None or sha256(file) != digest:
                return file
        return None

    return changed


def check_own_folder(path: str | os.PathLike[str], verb: str) -> None:
    """Raise the errors of `own_folder` before any work is done."""
    check_replaceable(Path(path), _changed(verb))


@contextlib.contextmanager
def own_folder(path: str | os.PathLike[str], verb: str) -> Iterator[Path]:
    """Yield an empty folder that becomes ``path``, with a record of its files, so that the same verb can replace it.

    Raises RgwotError if the existing folder has a file that the verb did not write, or that has changed since.
    """
    with replacing(path, _changed(verb)) as folder:
        folder.mkdir()
        yield folder
        record = {"verb": verb, "output": below_results(Path(path)) or os.fspath(path), **surroundings()}
        write_json({**record, "digests": digests(folder)}, folder / RECORD)


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def stamp(paths: Iterable[str | os.PathLike[str]]) -> str:
    """Return a text that changes if the name, size or modification time of a file changes, or a file disappears.

    It is one of the ``params`` of the jobs that read people's files. By itself, Snakemake notices only files that are
    newer than the results; it misses a file that was replaced by an older one, and an edit while a job was reading.
    """
    hasher = hashlib.sha256()
    for path in paths:
        try:
            status = os.stat(path)
            hasher.update(
                f"{os.fspath(path)}\0{status.st_size}\0{status.st_mtime_ns}\0".encode(errors="surrogateescape")
            )
        except OSError:
            hasher.update(f"{os.fspath(path)}\0missing\0".encode(errors="surrogateescape"))
    return hasher.hexdigest()[:16]


def write_record(output: Path, verb: str, others: Iterable[Path] = (), **content: object) -> None:
    """Write the record of an output: settings and code, and the digests of its files and of others beside it."""
    record = {"verb": verb, "output": below_results(output) or output.as_posix(), **content, **surroundings()}
    # Paths and other objects become texts.
    plain = json.loads(json.dumps(record, default=str))
    write_json({**plain, "digests": digests(output, others)}, record_path(output))


def note_revision(code: Path) -> None:
    """Pass the revision of the checkout with ``code`` to the jobs of a run, so that they need not run git."""
    os.environ[REVISION] = revision(code)


def surroundings() -> dict[str, object]:
    """Return the code, packages, interpreter and system on which a result depends."""
    noted = os.environ.get(REVISION)
    return {
        "rgwot": __version__,
        "revision": revision(Path(__file__).parent) if noted is None else noted,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "packages": {name: _version(name) for name in PACKAGES},
    }


def revision(code: Path) -> str:
    """Return the git revision of a checkout, with ``-dirty`` if files were changed; empty outside git."""
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
    """Compare a tree of results, or a part of it, with the SHA-256 in its records.

    Returns the number of checked files, and a line for every file that is missing or changed and for every record that
    cannot be read.

    Raises RgwotError if the folder does not exist.
    """
    if not results.is_dir():
        raise RgwotError(
            f"{results}: no such folder, expected results of rgwot; name their folder, or run the command in the study"
        )
    checked, lines = 0, []
    for record in sorted(results.rglob(f"*{RECORD}")):
        try:
            content = json.loads(record.read_text(encoding="utf-8"))
            output = Path(content["output"])
            written = {
                Path(os.path.normpath(record.parent / name)): str(digest) for name, digest in content["digests"].items()
            }
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            lines.append(f"{record}: cannot be read ({error!r}); expected the record of a job; make its output again")
            continue
        # The output is looked for beside the record, because the whole tree of results may have been moved.
        place = record.parent if record.name == RECORD else record.with_name(output.name)
        for path, digest in written.items():
            checked += 1
            try:
                actual = sha256(path)
            except (OSError, ValueError) as error:
                # A path with NUL is a ValueError.
                actual = str(getattr(error, "strerror", None) or error).lower()
            if actual != digest:
                # If the file is in a store, only this store has to be made again, not its whole batch.
                holder = next((folder for folder in path.parents if folder.suffix == STORE), place)
                lines.append(f"{path}: {actual[:26]}, expected SHA-256 {digest[:12]}; {remake(holder)}")
    return checked, lines
