"""TextGrids of Praat: an interval tier; an empty interval is background."""

from __future__ import annotations

from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from pathlib import Path

from rgwot.datasets.doors.interface import Hints, Row
from rgwot.datasets.text import read_bytes
from rgwot.runtime.optional import optional


def fits(head: str) -> bool:
    """Return whether a file begins like a TextGrid, as text or binary; Praat writes UTF-16 where it needs it."""
    return "TextGrid" in head.replace("\0", "")


def read(path: Path, hints: Hints) -> Iterator[Row]:
    """Read the tier that is meant; the video is the one of the file's own name."""
    pympi = optional("pympi", path, "pip install pympi-ling")
    wide = read_bytes(path).startswith((BOM_UTF16_LE, BOM_UTF16_BE))
    grid = pympi.TextGrid(str(path), codec="utf-16" if wide else "utf-8-sig")
    tiers = {tier.name: tier for tier in grid.get_tiers() if tier.tier_type == "IntervalTier"}
    tier = hints.chosen(path, tiers)
    for number, (start_s, end_s, text) in enumerate(tiers[tier].get_intervals(), 1):
        # BORIS writes this where Praat has nothing.
        if text != "null":
            yield Row(path.stem, start_s, end_s, text, f"interval {number}")
