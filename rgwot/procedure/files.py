"""``procedure.json`` and ``deviations.csv``: a procedure and what deviates from it, as files and as tables."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from rgwot.paths import DEVIATIONS, PROCEDURE, name_of
from rgwot.procedure.interface import Deviation, Procedure
from rgwot.records import DEVIATION_COLUMNS, read_deviations
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import write_csv, write_json


def write_procedure(folder: Path, procedure: Procedure, found: Sequence[Deviation]) -> None:
    """Write a procedure and what deviates from it into a folder."""
    write_json(procedure.to_json(), folder / name_of(PROCEDURE))
    write_csv(deviation_table(found), folder / name_of(DEVIATIONS))


def read_procedure(path: str | os.PathLike[str]) -> Procedure:
    """Read ``procedure.json``; RgwotError where it is missing or something else."""
    try:
        content: Any = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RgwotError(f"{path}: cannot be read as a procedure: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict):
        raise RgwotError(f"{path}: found {type(content).__name__}, expected an object with nodes and edges")
    try:
        return Procedure.from_json(content)
    except RgwotError as error:
        raise RgwotError(f"{path}: {error}") from None


def deviation_table(found: Sequence[Deviation]) -> pd.DataFrame:
    """Return deviations as the table that ``deviations.csv`` holds, in their order."""
    rows = [tuple(getattr(one, column) for column in DEVIATION_COLUMNS) for one in found]
    types = dict.fromkeys(("start_s", "end_s", "surprise"), "float64")
    return pd.DataFrame(rows, columns=list(DEVIATION_COLUMNS)).astype({"key_step": "int64", **types})


def read_deviation_list(path: str | os.PathLike[str]) -> list[Deviation]:
    """Read ``deviations.csv`` as the deviations it was written from."""
    return [Deviation(*row) for row in read_deviations(path).itertuples(index=False, name=None)]
