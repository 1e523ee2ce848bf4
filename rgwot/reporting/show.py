"""Lines for a terminal: how hard the clips are, and the procedure that was found."""

from __future__ import annotations

import json
import os
from pathlib import Path

from rgwot.records import read_procedures
from rgwot.reporting.names import named_order, names_in, read_names
from rgwot.runtime.errors import RgwotError

YARDSTICKS = {
    "kmeans_f1": "k-means on average-pooled features, not normalised: strict F1 without background",
    "probe_accuracy": "supervised probe, leave one video out: accuracy on key-step frames",
    "largest_step_share": "largest share of the key-step frames that one step holds",
}


def yardstick_lines(path: str | os.PathLike[str]) -> list[str]:
    """Say what ``rgwot yardsticks`` measured."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        values = [(what, float(found[key])) for key, what in YARDSTICKS.items()]
    except (ValueError, KeyError, TypeError) as error:
        raise RgwotError(f"{path}: not what `rgwot yardsticks` writes ({error!r}); make it again") from None
    return ["How hard the clips are, fixed before any method runs, in percent:"] + [
        f"  {100 * value:5.1f}  {what}" for what, value in values
    ]


def procedure_lines(path: str | os.PathLike[str], names_yaml: str | os.PathLike[str] | None = None) -> list[str]:
    """Say which order of key steps was found most often, from ``procedures.csv``, by name where they have names."""
    procedures = read_procedures(path)
    if procedures.empty:
        return ["No procedure: no video has a key step."]
    first = procedures.iloc[0]
    total = int(procedures.n_videos.sum())
    return [
        f"Top-ranked procedure ({first.n_videos} of {total} videos, {len(procedures)} different orders):",
        "  key steps " + named_order(str(first["order"]), names_in(Path(path).parent, read_names(names_yaml))),
    ]
