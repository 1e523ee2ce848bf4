"""Labels of frames as text, one per line, as MS-TCN and its followers have them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from rgwot.datasets.doors.interface import Hints, Row
from rgwot.datasets.faults import DataFault
from rgwot.datasets.text import excerpt, read_lines

#: Names of background, in lower case: GTEA's, Breakfast's and those of YouTube Instructions.
BACKGROUND = frozenset({"background", "bg", "sil", "-1"})


def fits(head: str) -> bool:
    """Return whether a text can be labels: what it holds is for `read` to judge."""
    return True


def read(path: Path, hints: Hints) -> Iterator[Row]:
    """Read the runs of equal labels; frame i, from 0, is at i / fps."""
    fps = hints.rate(path)
    labels = [line.text.strip() for line in read_lines(path)]
    while labels and not labels[-1]:
        labels.pop()
    odd = next((at for at, label in enumerate(labels) if not label or set("\t,;") & set(label)), None)
    if odd is not None:
        raise DataFault("columns", path, f"line {odd + 1}", f"{excerpt(labels[odd])}; expected one label per line")
    for label, run in groupby(enumerate(labels), key=lambda item: item[1]):
        frames = [frame for frame, _ in run]
        if label.lower() not in BACKGROUND:
            start_s, end_s = float(frames[0] / fps), float((frames[-1] + 1) / fps)
            yield Row(path.stem, start_s, end_s, label, f"line {frames[0] + 1}")
