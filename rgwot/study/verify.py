"""Whether a tree of results is what was written: every file, against the records beside them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import remove
from rgwot.runtime.integrity import (
    ASIDE,
    RECORD,
    broken,
    files_below,
    output_of,
    read_record,
    record_path,
    remake,
    source,
)

#: Folders below ``results`` whose files no stage reads: what jobs said, how long they took, configurations of runs.
UNREAD = ("logs", "benchmarks", "provenance")
STORE = ".zarr"


@dataclass
class Findings:
    """What was found in a tree of results.

    Attributes
    ----------
    checked
        Files compared with their digests.
    broken
        What is wrong: the output it belongs to, and the line that says so.
    changed
        What is to be said of sources that are not what they were.
    unchecked
        Outputs without digests: files, and stores as folders.
    """

    checked: int = 0
    broken: list[tuple[Path, str]] = field(default_factory=list)
    changed: list[tuple[Path, str]] = field(default_factory=list)
    unchecked: list[Path] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """Yield a line for everything that is broken, changed or cannot be checked."""
        yield from (f"broken: {told}" for _, told in self.broken)
        yield from (f"changed source: {told}" for _, told in self.changed)
        yield from (
            f"cannot be checked: {path}: no digests, as rgwot 0.1.0 wrote it; {remake(path)}" for path in self.unchecked
        )

    def summary(self, repaired: bool) -> str:
        """Return how many files were compared, and what came of it."""
        said = [f"{self.checked} files checked", f"{len(self.broken)} broken"]
        said += [f"{len(self.changed)} sources changed"] if self.changed else []
        said += [f"{len(self.unchecked)} outputs cannot be checked"] if self.unchecked else []
        advice = ""
        if self.broken or self.changed:
            advice = "; run the same targets again" if repaired else "; rgwot verify --repair removes them"
        return ", ".join(said) + advice

    def repair(self) -> list[Path]:
        """Remove every broken output, with what was made in the same job, and what is made from a changed source.

        Of features also the index of their task, so that the next run does not take it for up to date.

        Returns
        -------
        list of Path
            What was removed.
        """
        removed: list[Path] = []
        for output in dict.fromkeys(path for path, _ in (*self.broken, *self.changed)):
            index = output.with_name("index.csv")
            store = output.suffix == STORE and index.exists()
            for path in (*_parts(output), *(_parts(index) if store else ())):
                if path.exists() or path.is_symlink():
                    remove(path)
                    removed.append(path)
        return [path for path in removed if not path.name.endswith(RECORD)]


def examine(results: Path, *, sources: bool = False) -> Findings:
    """Compare a whole tree of results with the digests in its records.

    Parameters
    ----------
    results
        The tree, or a part of it.
    sources
        Whether the videos and feature files that records name are read as well, every byte of them.

    Raises
    ------
    RgwotError
        When there is no such folder.
    """
    if not results.is_dir():
        raise RgwotError(f"{results}: no such folder; expected results of rgwot; run where they are, or name it")
    found = Findings()
    covered: set[Path] = set()
    for record in sorted(_records(results)):
        output = output_of(record)
        try:
            content = read_record(record)
        except RgwotError as error:
            found.broken.append((output, str(error)))
            covered.update((output, *_parts(output)))
            continue
        digests = content.get("digests", {})
        covered.update(record.parent / name for name in digests)
        if digests and output.is_dir():
            covered.add(output)
        wrong = [(output, str(error)) for _, error in broken(record)]
        found.broken += wrong
        found.checked += len(digests) if not wrong and (output.exists() or output.is_dir()) else 0
        if sources and not wrong:
            found.changed += _changed_sources(output, content)
    for path in _outputs(results):
        if path in covered or any(folder in covered for folder in path.parents):
            continue
        if path.suffix == STORE and (told := _structure(path)) is not None:
            found.broken.append((path, told))
        else:
            found.unchecked.append(path)
    return found


def _records(results: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(results):
        # Below an output that is a folder there are no others.
        folders[:] = [name for name in folders if not name.startswith(".") and RECORD not in names]
        yield from (Path(parent) / name for name in names if name.endswith(RECORD))


def _outputs(results: Path) -> Iterator[Path]:
    """Yield what stages made and others read: stores as folders, all else as files."""
    for parent, folders, names in os.walk(results):
        place = Path(parent)
        top = place == results
        stores = [name for name in folders if name.endswith(STORE) and not name.startswith(".")]
        yield from (place / name for name in sorted(stores))
        folders[:] = sorted(
            name for name in folders if name not in stores and not name.startswith(".") and not (top and name in UNREAD)
        )
        # Beside the stages lies what people put there.
        yield from (place / name for name in sorted(names) if not top and not _aside(name))


def _aside(name: str) -> bool:
    """Whether a file is hidden, or one that a run has put aside because somebody had changed it."""
    return name.startswith(".") or Path(name).stem.endswith(ASIDE)


def _parts(output: Path) -> list[Path]:
    """Return an output, its record, and what the same job wrote beside it."""
    record = record_path(output)
    try:
        digests = read_record(record).get("digests", {})
    except RgwotError:
        digests = {}
    return [output] if output.is_dir() else [record.parent / name for name in digests] + [output, record]


def _structure(store: Path) -> str | None:
    """Return what is wrong with a store without digests as far as it shows: a chunk that is not there."""
    if not any(name.endswith("zarr.json") for name in files_below(store)):
        return f"{store}: no zarr.json; expected a store; {remake(store)}"
    try:
        if (store / "conv4c").is_dir():
            from rgwot.features.store import open_store

            features = open_store(store)
            for start in range(0, len(features), 64):
                features.frames(range(start, min(start + 64, len(features))))
        else:
            from rgwot.keysteps.decode import read_embeddings

            read_embeddings(store)
    except RgwotError as error:
        return str(error)
    return None


def _changed_sources(output: Path, content: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    told = content.get("sources")
    whole = _whole_digest(output)
    for name, one in (told if isinstance(told, dict) else {}).items():
        path = Path(name)
        try:
            now = source(path)
            if (now["bytes"], now["parts_sha256"]) != (one.get("bytes"), one.get("parts_sha256")):
                found = f"{now['bytes']} bytes, parts {now['parts_sha256'][:12]}"
                expected = f"{one.get('bytes')} bytes, parts {str(one.get('parts_sha256'))[:12]}"
            elif whole and path.name == whole[0]:
                with path.open("rb") as file:
                    found, expected = hashlib.file_digest(file, "sha256").hexdigest()[:12], whole[1][:12]
            else:
                continue
        except OSError as error:
            found, expected = f"{error.strerror}", "the file that results were made from"
        if found != expected:
            yield output, f"{path}: found {found}, expected {expected}, since {output} was made; {remake(output)}"


def _whole_digest(output: Path) -> tuple[str, str] | None:
    """Return name and SHA-256 of the file that a feature store was made from."""
    if output.suffix != STORE or not (output / "conv4c").is_dir():
        return None
    from rgwot.features.store import open_store

    attributes = open_store(output).attributes
    return str(attributes.get("source")), str(attributes.get("source_sha256"))
