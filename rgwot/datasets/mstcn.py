"""Labels of frames, one per line, as MS-TCN has them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import groupby, pairwise
from pathlib import Path

from rgwot.datasets.segment_rows import SegmentRow
from rgwot.datasets.settings import Options
from rgwot.datasets.text import DataFault, excerpt, read_lines


def label_rate(path: Path, options: Options) -> Fraction:
    """Return the rate of labels of frames per second; raise DataFault if it is not set."""
    if options.labels_fps is None:
        fault = "counts frames without a rate; expected frames per second; set labels_fps (or fps)"
        raise DataFault("time", path, "", fault)
    return Fraction(options.labels_fps)


def read_mstcn(path: Path, options: Options) -> Iterator[SegmentRow]:
    """Read the runs of equal labels, one label per line; frame i, from 0, is at i / fps."""
    fps = label_rate(path, options)
    labels = [line.text.strip() for line in read_lines(path)]
    while labels and not labels[-1]:
        labels.pop()
    odd = next((at for at, label in enumerate(labels) if not label or set("\t,;") & set(label)), None)
    numbers = [label.partition(" ")[0] for label in labels]
    if odd is None and len(labels) > 2 and any(" " in label for label in labels) and all(map(str.isdecimal, numbers)):
        # If lines begin with the number of the frame, each of them would be a different label.
        odd = 0 if all(int(after) - int(before) == 1 for before, after in pairwise(numbers)) else None
    if odd is not None:
        raise DataFault("columns", path, f"line {odd + 1}", f"{excerpt(labels[odd])}; expected one label per line")
    for label, run in groupby(enumerate(labels), key=lambda item: item[1]):
        frames = [frame for frame, _ in run]
        start_s, end_s = float(frames[0] / fps), float((frames[-1] + 1) / fps)
        yield SegmentRow(path.stem, start_s, end_s, label, f"line {frames[0] + 1}")
