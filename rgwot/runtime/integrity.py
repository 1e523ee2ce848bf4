"""Digests: what a stage wrote, what it read of a dataset, and whether either is still what it was.

The record that every verb leaves beside its output (`rgwot.cli.records`) holds the size and SHA-256 of each file of the
output under ``digests``, by the path from the folder of the record, and under ``sources`` the files of the dataset that
the job read. What reads an output compares first. Records of rgwot 0.1.0 lack both; such outputs are read as before.

A source is known by its size and the SHA-256 of its first, middle and last megabyte, of a small file the SHA-256 of all
of it. Its inode and times of change are kept too: where they are the same nothing is read, and copying an older file
into its place, whatever its modification time, changes them.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import json
import os
import shlex
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rgwot.paths import RESULTS, STAGES
from rgwot.runtime.errors import RgwotError

RECORD = ".provenance.json"
#: Marks, before its suffix, a finished file that was changed and is rebuilt.
ASIDE = ".changed"
_STAGES = tuple(f"{RESULTS}/{stage}/" for stage in STAGES)
#: Bytes of each of the three parts of a source that are looked at when a run is planned.
PART = 2**20
_THREADS = 8


def record_path(output: Path) -> Path:
    """Return where the record of an output is."""
    return output / RECORD if output.is_dir() else output.with_name(f".{output.name}{RECORD}")


def output_of(record: Path) -> Path:
    """Return the output that a record belongs to, the inverse of `record_path`."""
    return record.parent if record.name == RECORD else record.with_name(record.name[1 : -len(RECORD)])


def read_record(record: Path) -> dict[str, Any]:
    """Read a record, empty where there is none; RgwotError when the file is something else."""
    try:
        content = json.loads(record.read_text(encoding="utf-8"))
        digests = {name: {"bytes": int(one["bytes"]), "sha256": str(one["sha256"])} for name, one in
                   content.get("digests", {}).items()}  # fmt: skip
        if any(os.path.isabs(name) or ".." in Path(name).parts for name in digests):
            raise ValueError("a name leads out of its folder")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise RgwotError(f"{record}: cannot be read ({error.strerror}); expected a record of rgwot") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        why = " ".join(str(error).split()) or type(error).__name__
        raise RgwotError(
            f"{record}: damaged ({why}); expected the record of how {output_of(record).name} was made; "
            f"{remake(output_of(record))}"
        ) from None
    return {**content, "digests": digests} if digests else content


def digest(path: Path) -> dict[str, Any]:
    """Return size and SHA-256 of a file."""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
        return {"bytes": os.fstat(file.fileno()).st_size, "sha256": found}


def files_below(folder: Path) -> list[str]:
    """Return the files of an output that is a folder, by their paths inside; hidden ones are not part of it."""
    found = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        inside = os.path.relpath(parent, folder)
        found += [os.path.normpath(os.path.join(inside, name)) for name in sorted(names) if not name.startswith(".")]
    return found


def below_results(path: Path) -> str | None:
    """Return the path of a result from the folder ``results`` on, or None outside of one."""
    parts = Path(os.path.abspath(path)).parts
    if RESULTS not in parts[:-1]:
        return None
    return "/".join(parts[len(parts) - 1 - parts[::-1].index(RESULTS) :])


def remake(output: Path, verb: str | None = None) -> str:
    """Return the clause of a message that says how to rebuild an output."""
    target = below_results(output)
    if target is not None:
        return f"make it anew: snakemake --force {shlex.quote(target)}"
    return f"remove it and run rgwot {verb or 'on its input'} again"


def check_file(path: Path) -> None:
    """Compare a file with the record of the job that wrote it, where there is one.

    Raises RgwotError when it is not what was written, or its record is damaged.
    """
    records = [record_path(path)]
    if not records[0].exists():
        # That of a file made together with it.
        with contextlib.suppress(OSError):
            names = sorted(os.listdir(path.parent))
            records = [path.parent / name for name in names if name.endswith(RECORD) and name != RECORD]
    for record in records:
        content = read_record(record)
        if path.name in content.get("digests", {}):
            _check_place(record, content)
            _check(record, content, path.name)
            return


def check_folder(output: Path, by_size: tuple[str, ...] = ()) -> None:
    """Compare an output that is a folder with its record, where it has one.

    Of files whose paths begin with one of ``by_size`` only the size is compared: their content is checked when it is
    read.

    Raises RgwotError when a file is missing or is not what was written, or the record is damaged.
    """
    record = output / RECORD
    content = read_record(record)
    _check_place(record, content)
    for name in content.get("digests", {}):
        _check(record, content, name, name.startswith(by_size))


def check_inside(path: Path) -> None:
    """Compare a file of a dataset that a job wrote below ``results`` with what that job wrote; any other is left alone.

    Raises RgwotError when it is not what was written.
    """
    if below_results(path) is None:
        return
    for folder in itertools.takewhile(lambda folder: folder.name != RESULTS, path.parents):
        content = read_record(folder / RECORD)
        name = os.path.relpath(path, folder)
        if name in content.get("digests", {}):
            _check(folder / RECORD, content, name)


def check_dataset(root: Path) -> None:
    """Compare a whole dataset with what a job below ``results`` wrote; a dataset of anybody else is left alone."""
    if below_results(root) is not None:
        check_folder(root)


def broken(record: Path) -> Iterator[tuple[Path, RgwotError]]:
    """Yield each damaged file of a record's output, with its error.

    An output that is gone as a whole is no damage: the next run makes it again.
    """
    output = output_of(record)
    try:
        content = read_record(record)
        names = content.get("digests", {})
        if output != record.parent and not any((record.parent / name).exists() for name in names):
            return
        _check_place(record, content)
    except RgwotError as error:
        yield output, error
        return
    for name in names:
        try:
            _check(record, content, name)
        except RgwotError as error:
            yield record.parent / name, error


def _check(record: Path, content: Mapping[str, Any], name: str, by_size: bool = False) -> None:
    """Compare one file with the digest of its name in a record."""
    path, written = record.parent / name, content["digests"][name]
    found: dict[str, Any]
    try:
        size = path.stat().st_size
        found = digest(path) if size == written["bytes"] and not by_size else {"bytes": size}
    except (FileNotFoundError, NotADirectoryError):
        wrong = f"missing; expected {written['bytes']} bytes, as written"
    except OSError as error:
        wrong = f"cannot be read ({error.strerror})"
    else:
        if found["bytes"] != written["bytes"]:
            wrong = f"found {found['bytes']} bytes, expected {written['bytes']}, as written"
        elif "sha256" in found and found["sha256"] != written["sha256"]:
            was, is_ = written["sha256"][:12], found["sha256"][:12]
            wrong = f"changed since it was written (SHA-256 {is_}, expected {was})"
        else:
            return
    raise RgwotError(f"{path}: {wrong}; {remake(output_of(record), content.get('verb'))}")


def _check_place(record: Path, content: Mapping[str, Any]) -> None:
    """Refuse an output that lies in the place of another: two that were swapped are whole, and wrong."""
    made_as, output = str(content.get("output", "")), output_of(record)
    found = below_results(output)
    # Only in trees of results, which may be moved as a whole; elsewhere people may call files what they like.
    if found is None or not all(path.startswith(_STAGES) for path in (made_as, found)):
        return
    if made_as != found:
        raise RgwotError(f"{output}: was made as {made_as}; expected what belongs here; {remake(output)}")


def source(path: Path) -> dict[str, Any]:
    """Return size, digest of the parts, and what the file system says of a source; OSError when it cannot be read."""
    found = hashlib.sha256()
    # Opening a pipe would wait for somebody to write into it.
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(errno.EINVAL, "no regular file", str(path))
    with path.open("rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        size = status.st_size
        if size <= 3 * PART:
            found.update(file.read() if size else b"")
        else:
            for start in (0, (size - PART) // 2, size - PART):
                found.update(os.pread(file.fileno(), PART, start))
    return {"bytes": size, "parts_sha256": found.hexdigest(), "seen": _seen(status)}


def sources(paths: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return `source` of every path that can be read, several at once: a disk or a network answers slowly."""

    def one(path: str) -> dict[str, Any] | None:
        try:
            return source(Path(path))
        except OSError:
            return None

    wanted = list(dict.fromkeys(paths))
    with ThreadPoolExecutor(_THREADS) as pool:
        found = pool.map(one, wanted)
    return {path: seen for path, seen in zip(wanted, found, strict=True) if seen is not None}


def _seen(status: os.stat_result) -> list[int]:
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


def changed_sources(output: Path, asked: Sequence[str]) -> dict[str, str]:
    """Return the sources of an output that are not what they were when it was made, and what is different.

    The output was made by a verb that records its sources, or is not there; ``asked`` are those that it would be made
    from now. A source that was copied or touched and is the same is remembered as it is now, so that it is read but
    once.
    """
    try:
        recorded = read_record(record_path(output)).get("sources")
    except RgwotError:
        # Whatever reads the output will say so.
        return {}
    if not isinstance(recorded, dict):
        return {}
    before = {str(path): one for path, one in recorded.items() if isinstance(one, dict)}

    def untouched(path: str) -> bool:
        try:
            return before[path].get("seen") == _seen(os.stat(path))
        except OSError:
            return False

    found = sources(path for path in asked if path in before and not untouched(path))
    # What lies in a folder that the workflow writes itself is for that folder's record to say.
    own = tuple(f"{path}/" for path in asked)
    changed = {
        path: "gone" for path in before if path not in asked and not path.startswith(own) and not os.path.exists(path)
    }
    for path, now in found.items():
        if any(now[key] != before[path].get(key) for key in ("bytes", "parts_sha256")):
            changed[path] = f"found {_short(now)}, expected {_short(before[path])}"
    same = {path: now for path, now in found.items() if path not in changed}
    if same:
        _remember(record_path(output), {**before, **same})
    return changed


def _remember(record: Path, seen: Mapping[str, Any]) -> None:
    """Renew what a record says of its sources; where it cannot be, they are read again next time.

    Not waiting for the disk, as `rgwot.runtime.files` does: a dataset that was copied has thousands of records to
    renew.
    """
    aside = record.with_name(f"{record.name}.{os.getpid()}.tmp")
    try:
        folder = os.stat(record.parent)
        content = {**json.loads(record.read_text(encoding="utf-8")), "sources": seen}
        aside.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        os.replace(aside, record)
        # The output itself is as old as it was.
        os.utime(record.parent, ns=(folder.st_atime_ns, folder.st_mtime_ns))
    except OSError:
        aside.unlink(missing_ok=True)


def _short(seen: Mapping[str, Any]) -> str:
    return f"{seen.get('bytes')} bytes, SHA-256 {str(seen.get('parts_sha256'))[:12]}"
