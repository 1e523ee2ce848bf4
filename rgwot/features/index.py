"""The feature index of a task: one row per video, the file that training and embedding depend on."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from rgwot.features.store import open_store
from rgwot.files import write_csv

COLUMNS = ["video", "status", "reason", "frames"]


def write_index(stores: Sequence[str | os.PathLike[str]], output: str | os.PathLike[str]) -> pd.DataFrame:
    """Check that every store of a task is complete and list them.

    Parameters
    ----------
    stores
        Feature stores, in the order of the rows.
    output
        CSV with the columns ``video,status,reason,frames``.

    Returns
    -------
    DataFrame
        What was written.

    Raises
    ------
    RgwotError
        When a store is missing or incomplete.
    """
    opened = [open_store(Path(path)) for path in stores]
    rows = [(store.video, store.status, store.reason, len(store)) for store in opened]
    index = pd.DataFrame(rows, columns=COLUMNS)
    write_csv(index, output)
    return index
