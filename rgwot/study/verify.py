"""Checking a tree of results, file by file, against the records that the jobs left."""

from __future__ import annotations

import json
import os
from pathlib import Path

from rgwot.paths import STORE
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.provenance import RECORD, remake, sha256


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
            output, verb = Path(content["output"]), str(content["verb"])
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
                made = next((folder for folder in path.parents if folder.suffix == STORE), place)
                lines.append(f"{path}: {found[:26]}, expected SHA-256 {digest[:12]}; {remake(made, verb)}")
    return checked, lines
