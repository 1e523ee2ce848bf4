"""Files of the stages: written under a temporary name and renamed, so that none is half written."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shlex
import shutil
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rgwot.paths import RESULTS
from rgwot.runtime.errors import RgwotError

if TYPE_CHECKING:
    pass


#: Files that rgwot, Snakemake and file systems add to folders.
_BY_THE_WAY = re.compile(
    r"\.(?:(?:.+\.)?provenance\.json|.+\.(?:rgwot|[0-9a-f]{8}-\d+)-[0-9a-f]{8}\.tmp(?:\.\w+)?|"
    r"snakemake_timestamp|DS_Store|nfs\w+)"
)
#: Temporary paths that were last written this many seconds ago are the leftovers of killed processes.
_ABANDONED_S = 24 * 3600

Stranger = Callable[[Path], Path | None]
"""A function that returns a file in a folder that the writer did not write or that has changed since, or None."""


def contents(folder: Path) -> list[Path]:
    """Return everything of value in a folder: files and links, but not empty folders."""
    paths = (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    return sorted(path for path in paths if not _BY_THE_WAY.fullmatch(path.name))


def other_than(names: Collection[str]) -> Stranger:
    """Return a function that finds a file in a folder whose path there is not among ``names``."""
    return lambda folder: next((path for path in contents(folder) if str(path.relative_to(folder)) not in names), None)


def _no_store(folder: Path) -> Path | None:
    # By default only Zarr stores may be replaced, because nobody puts other files into them.
    store = folder.suffix == ".zarr" or (folder / "zarr.json").is_file()
    return None if store else next(iter(contents(folder)), None)


def check_replaceable(target: Path, stranger: Stranger) -> None:
    """Raise RgwotError if replacing a folder would delete other files in it, or the current folder."""
    if not target.is_dir():
        return
    if Path.cwd().is_relative_to(target.resolve()):
        raise RgwotError(f"{target}: found the current folder, which cannot be replaced; name a new folder")
    try:
        lost = stranger(target)
    except FileNotFoundError:
        # Another writer has replaced the target meanwhile, so the new one is checked.
        check_replaceable(target, stranger)
        return
    if lost is not None:
        raise RgwotError(
            f"{target}: found {lost.relative_to(target)}, which rgwot did not write, or which changed since, and which "
            "would be deleted; expected an empty folder; name a new folder"
        )


@contextmanager
def replacing(path: str | os.PathLike[str], stranger: Stranger = _no_store) -> Iterator[Path]:
    """Yield a temporary path next to ``path``; on success rename it over ``path``, on failure remove it.

    The path may be a file or a directory (an existing directory is replaced as a whole, if ``stranger`` finds nothing
    in it). If two processes write the same path, the later process wins, and the content is never a mixture. A day
    later, leftovers of killed processes next to ``path`` are removed.

    Raises RgwotError if the disk is full, or the path cannot be written or must not be replaced.
    """
    target = Path(path)
    check_replaceable(target, stranger)
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(target.parent)
    temporary = _hidden(target)
    try:
        with report_full_disk(target):
            yield temporary
            move(temporary, target, stranger)
    except OSError as error:
        if error.errno not in (errno.EROFS, errno.EACCES) or not str(error.filename).startswith(str(temporary)):
            raise
        raise RgwotError(
            f"{target}: cannot be written ({error.strerror}); choose a folder to which you may write"
        ) from None
    finally:
        remove(temporary)


def move(source: Path, target: Path, stranger: Stranger = _no_store) -> None:
    """Rename a finished file or directory over ``target``, and remove an older directory there (see `replacing`).

    The content is flushed to disk before the rename, so that even after a power failure an output is complete.
    """
    for path in (*source.rglob("*"), source):
        _to_disk(path)
    while True:
        try:
            os.replace(source, target)
        except (NotADirectoryError, IsADirectoryError):
            is_, expected = ("a file", "folder") if source.is_dir() else ("a folder", "file")
            raise RgwotError(f"{target}: found {is_}, expected a {expected}; give another name") from None
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            # Other files may have been added since the first check.
            check_replaceable(target, stranger)
            # No system replaces a directory that is not empty, so it is moved away; another process may have done this
            # first.
            older = _hidden(target)
            with contextlib.suppress(FileNotFoundError):
                os.replace(target, older)
            remove(older)
        else:
            _to_disk(target.parent)
            return


def check_writable(folder: Path) -> None:
    """Raise RgwotError for a folder in which a run cannot write its files."""
    snakemake_folder = folder / ".snakemake"
    place = next((path for path in (snakemake_folder / "locks", snakemake_folder) if path.is_dir()), folder)
    if not os.access(place, os.W_OK | os.X_OK):
        raise RgwotError(f"{place}: cannot be written to; copy the study to a folder that you can write to")


@contextmanager
def report_full_disk(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn an exception caused by a full disk or quota into one line with the file's name."""
    try:
        yield
    except Exception as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(error, RgwotError):
            if isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT):
                raise RgwotError(
                    f"{path}: cannot be written ({cause.strerror}); make room and run the same command again, "
                    "which continues from what is finished"
                ) from error
            cause = cause.__cause__ or cause.__context__
        raise


def _to_disk(path: Path) -> None:
    if os.name == "nt":
        # Windows cannot open folders.
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems do not support fsync of a folder.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(descriptor)


def _hidden(target: Path) -> Path:
    # The suffix is kept because many writers choose the format by the suffix.
    return target.with_name(f".{target.stem}.rgwot-{uuid.uuid4().hex[:8]}.tmp{target.suffix}")


def _remove_abandoned(folder: Path) -> None:
    """Remove temporary paths in a folder, of any target, to which nobody has written for `_ABANDONED_S`."""
    for path in folder.glob(".*.rgwot-*.tmp*"):
        with contextlib.suppress(OSError):
            if time.time() - max(part.stat().st_mtime for part in (path, *path.rglob("*"))) > _ABANDONED_S:
                remove(path)


def remove(path: Path) -> None:
    """Remove a file or a folder with its content, if it still exists."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def write_json(content: object, path: str | os.PathLike[str]) -> None:
    """Write readable JSON: indented, with keys in the given order; non-finite numbers raise an error."""
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def write_text(text: str, path: str | os.PathLike[str]) -> None:
    """Write UTF-8 text."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_tensors(content: Mapping[str, object], path: str | os.PathLike[str]) -> None:
    """Write tensors and plain values by PyTorch, to be read with ``weights_only=True``."""
    import torch

    # An open file, because PyTorch would write the name of a (temporary) path into the file, and hide that a disk is
    # full.
    with replacing(path) as temporary, temporary.open("wb") as file:
        torch.save(dict(content), file)


def below_results(path: Path) -> str | None:
    """Return the path of a result from the folder ``results`` on, or None outside such a folder."""
    parts = Path(os.path.abspath(path)).parts
    if RESULTS not in parts[:-1]:
        return None
    return "/".join(parts[len(parts) - 1 - parts[::-1].index(RESULTS) :])


def remake(output: Path) -> str:
    """Return the clause of a message with the command that makes an output again."""
    target = below_results(output)
    return (
        "remove it and make it again" if target is None else f"make it again: rgwot run --force {shlex.quote(target)}"
    )


AHEAD_S = 60.0
"""Clocks of computers that share files may differ by this many seconds."""


def dated_ahead(path: Path) -> str:
    """Return a fault if a file was changed in the future, such as by a wrong clock or time zone, or an empty text.

    Snakemake stops if an output is older than an input, even if it has just made the output.
    """
    try:
        changed = path.stat().st_mtime
    except OSError:
        return ""
    if changed <= time.time() + AHEAD_S:
        return ""
    return (
        f"was changed in the future ({datetime.fromtimestamp(changed):%Y-%m-%d %H:%M}), so all results would count "
        f"as older; expected a past time; run: touch {shlex.quote(os.fspath(path))}"
    )
