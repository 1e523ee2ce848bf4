"""Lines for a terminal: how hard the clips are, and the procedure that was found."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pandas as pd


def yardstick_lines(path: str | os.PathLike[str]) -> list[str]:
    """Say what ``rgwot yardsticks`` measured."""
    found = json.loads(Path(path).read_text(encoding="utf-8"))
    return ["How hard the clips are, on the raw features before any method:"] + [
        f"  {name.replace('_', ' ')}: {value:.2f}" for name, value in found.items() if isinstance(value, float)
    ]


def procedure_lines(path: str | os.PathLike[str]) -> list[str]:
    """Say which order of key steps was found most often, from ``procedures.csv``."""
    procedures = pd.read_csv(path, dtype={"order": str})
    if procedures.empty:
        return ["No procedure: no video has a key step."]
    first = procedures.iloc[0]
    total = int(procedures.n_videos.sum())
    return [
        f"Top-ranked procedure ({first.n_videos} of {total} videos, {len(procedures)} different orders):",
        "  key steps " + " > ".join(str(first["order"]).split(">")),
    ]
