"""Features of frames: the frozen networks, the Zarr store of a video, extraction, and the index of a task."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from rgwot.runtime.errors import RgwotError

#: Names of the array of features: for the maps of the paper's backbone, and for anything else.
CONV4C, OTHER = "conv4c", "features"
ARRAYS = (CONV4C, OTHER)


def read_index(index_csv: str | Path) -> list[dict[str, Any]]:
    """Return the rows of a task's feature index: ``video``, ``status``, ``reason``, and ``frames``, a whole number."""
    try:
        text = Path(index_csv).read_bytes().decode()
        if not text.endswith("\n"):
            raise ValueError("it ends in the middle of a line")
        rows = csv.DictReader(io.StringIO(text, newline=""))
        return [{**row, "video": row["video"], "frames": int(row["frames"])} for row in rows]
    except FileNotFoundError:
        raise RgwotError(f"{index_csv}: no such feature index; expected the list of a task's features") from None
    except (OSError, KeyError, TypeError, ValueError, csv.Error) as error:
        raise RgwotError(
            f"{index_csv}: not a feature index ({error!r}); expected the columns video,status,reason,frames; "
            "make it again"
        ) from None


def left_out(status: str, imported: bool) -> bool:
    """Return whether a store of this status lacks frames because it was made with bad videos skipped.

    An imported store is ``partial`` for another reason: ``on_mismatch: trim`` accepted too few features.
    """
    return status == "skipped" or (status == "partial" and not imported)
