"""Checking a tree of results, file by file, against the records beside them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rgwot.features import ARRAYS
from rgwot.paths import INDEX, STORE, UNREAD, name_of
from rgwot.runtime import integrity
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import remove
from rgwot.runtime.integrity import ASIDE, RECORD, output_of, read_record, record_path, remake


@dataclass
class Findings:
    """What was found in a tree of results."""

    checked: int = 0  #: number of files compared with their digests
    #: The output concerned and a line of text, for files that are not as written and for sources that have changed.
    broken: list[tuple[Path, str]] = field(default_factory=list)
    changed: list[tuple[Path, str]] = field(default_factory=list)
    unchecked: list[Path] = field(default_factory=list)  #: outputs without digests: files, and stores as folders

    def lines(self) -> Iterator[str]:
        """Yield a line for everything that is broken, changed or cannot be checked."""
        yield from (f"broken: {line}" for _, line in self.broken)
        yield from (f"changed source: {line}" for _, line in self.changed)
        yield from (
            f"cannot be checked: {path}: no digests, as rgwot 0.1.0 wrote it; {remake(path)}" for path in self.unchecked
        )

    def summary(self, repaired: bool) -> str:
        """Return the counts in one line, with advice."""
        counts = [f"{self.checked} files checked", f"{len(self.broken)} broken"]
        if self.changed:
            counts.append(f"{len(self.changed)} sources changed")
        if self.unchecked:
            counts.append(f"{len(self.unchecked)} outputs cannot be checked")
        advice = "run the same targets again" if repaired else "rgwot verify --repair removes them"
        return ", ".join(counts) + (f"; {advice}" if self.broken or self.changed else "")

    def repair(self) -> list[Path]:
        """Remove all outputs that are broken or made from a changed source, with the other outputs of the same job.

        The index of a task goes with any of its feature stores, so that the next run does not take it for up to date.
        Returns what was removed, except for records.
        """
        removed: list[Path] = []
        for output in dict.fromkeys(path for path, _ in (*self.broken, *self.changed)):
            index = output.with_name(name_of(INDEX))
            store = output.suffix == STORE and index.exists()
            for path in (*_parts(output), *(_parts(index) if store else ())):
                if path.exists() or path.is_symlink():
                    remove(path)
                    removed.append(path)
        return [path for path in removed if not path.name.endswith(RECORD)]


def examine(results: Path, *, sources: bool = False) -> Findings:
    """Compare a tree of results, or a part of one, with the digests in its records.

    With ``sources``, also every byte of the videos and feature files that the records name.

    Raises RgwotError if there is no such folder.
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
        wrong = [(output, str(error)) for _, error in integrity.broken(record)]
        found.broken += wrong
        found.checked += len(digests) if not wrong and output.exists() else 0
        if sources and not wrong:
            found.changed += _changed_sources(output, content)
    for path in _outputs(results):
        if path in covered or any(folder in covered for folder in path.parents):
            continue
        if path.suffix == STORE and (fault := _structure(path)) is not None:
            found.broken.append((path, fault))
        else:
            found.unchecked.append(path)
    return found


def _records(results: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(results):
        # An output that is a folder has no other outputs inside.
        folders[:] = [name for name in folders if not name.startswith(".") and RECORD not in names]
        yield from (Path(parent) / name for name in names if name.endswith(RECORD))


def _outputs(results: Path) -> Iterator[Path]:
    """Yield the outputs that stages read, stores as folders and all others as files."""
    for parent, folders, names in os.walk(results):
        place = Path(parent)
        top = place == results
        shown = sorted(name for name in folders if not name.startswith(".") and not (top and name in UNREAD))
        yield from (place / name for name in shown if name.endswith(STORE))
        folders[:] = [name for name in shown if not name.endswith(STORE)]
        # Files beside the stages are the user's; hidden ones, and those that a run put aside, are no outputs.
        if not top:
            shown = sorted(name for name in names if not name.startswith(".") and not Path(name).stem.endswith(ASIDE))
            yield from (place / name for name in shown)


def _parts(output: Path) -> list[Path]:
    """Return an output, its record, and the other outputs of the same job."""
    record = record_path(output)
    try:
        digests = read_record(record).get("digests", {})
    except RgwotError:
        digests = {}
    return [output] if output.is_dir() else [record.parent / name for name in digests] + [output, record]


def _structure(store: Path) -> str | None:
    """Return the error on reading a whole store that has no digests, such as a missing chunk."""
    if not any(name.endswith("zarr.json") for name in integrity.files_below(store)):
        return f"{store}: no zarr.json; expected a store; {remake(store)}"
    try:
        if _holds_features(store):
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


def _holds_features(store: Path) -> bool:
    return any((store / name).is_dir() for name in ARRAYS)


def _changed_sources(output: Path, content: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    recorded = content.get("sources")
    whole = _whole_digest(output)
    for name, one in (recorded if isinstance(recorded, dict) else {}).items():
        path = Path(name)
        try:
            now = integrity.source(path)
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
    """Return name and SHA-256 of the source file of a feature store."""
    if output.suffix != STORE or not _holds_features(output):
        return None
    from rgwot.features.store import open_store

    attributes = open_store(output).attributes
    return str(attributes.get("source")), str(attributes.get("source_sha256"))
