"""Which key step follows which, and how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from rgwot.reporting.export.interface import Video
from rgwot.runtime.files import write_rows

START, END = "start", "end"


def transitions(videos: Sequence[Video]) -> Counter[tuple[str, str]]:
    """Count, over all videos, how often a segment of one key step is followed by one of another.

    Background between them does not count, nor does a step that goes on after it. A video begins at ``start`` and
    finishes at ``end``.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for video in videos:
        labels = [segment.label for segment in video.segments]
        changed = [label for at, label in enumerate(labels) if at == 0 or label != labels[at - 1]]
        counts.update(pairwise([START, *changed, END]) if changed else ())
    return counts


def export_transitions(videos: Sequence[Video], folder: Path) -> None:
    """Write ``transitions.csv`` (``from``, ``to``, ``count``, ``share`` of what follows)."""
    counts = transitions(videos)
    leaving: Counter[str] = Counter()
    for (first, _), count in counts.items():
        leaving[first] += count
    rows = [(*pair, count, round(count / leaving[pair[0]], 4)) for pair, count in counts.most_common()]
    write_rows(("from", "to", "count", "share"), rows, folder / "transitions.csv")
