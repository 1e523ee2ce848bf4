"""Two results of a task side by side: `rgwot compare`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from rgwot.evaluation.agreement import Agreement, agreement
from rgwot.records import read_segments
from rgwot.reporting.names import names_in, read_names
from rgwot.runtime.errors import RgwotError
from rgwot.timing import predicted_labels

#: Times per second at which key steps are compared.
RATE = 10
#: Share of a key step from which its part in the other result is named.
NAMED = 0.05


def compare_results(first: Path, second: Path, names: Path | None = None) -> list[str]:
    """Say how far the key steps of two folders agree, for a terminal.

    Key steps of scope ``task`` are compared ten times a second, in the videos that both have.

    Raises
    ------
    RgwotError
        When a folder holds no key steps, or they have no video in common.
    """
    found = [dict(list(_segments(folder).groupby("video", sort=False))) for folder in (first, second)]
    common = [video for video in found[0] if video in found[1]]
    if not common:
        raise RgwotError(f"{first}, {second}: found no video in both, expected results of the same task")
    labels: list[list[np.ndarray[tuple[int], np.dtype[np.int64]]]] = [[], []]
    for video in common:
        times = np.arange(0, min(of[video]["end_s"].max() for of in found), 1 / RATE)
        for own, of in zip(labels, found, strict=True):
            own.append(predicted_labels(of[video]["start_s"], of[video]["end_s"], of[video]["key_step"], times))
    together = agreement(*labels)
    called = [{0: "background"} | names_in(folder.absolute(), read_names(names)) for folder in (first, second)]
    others = [str(video) for of in found for video in of if video not in common]
    return [
        f"A: {first}",
        f"B: {second}",
        f"{len(common)} videos, {together.n_frames / RATE:.0f} s"
        + (f"; only in one: {', '.join(others)}" if others else ""),
        f"Adjusted Rand index {together.adjusted_rand:.2f}. F1 after matching key steps one to one: "
        f"{100 * together.macro_f1:.1f} (mean over key steps of A), {100 * together.strict_f1:.1f} (of all time).",
        *_lines(together, *called),
    ]


def _segments(folder: Path) -> pd.DataFrame:
    if not (folder / "segments.csv").is_file():
        raise RgwotError(f"{folder}: found no segments.csv, expected a folder of key steps below results/keysteps")
    segments = read_segments(folder / "segments.csv")
    return segments[segments["scope"] == "task"]


def _lines(found: Agreement, of_a: Mapping[int, str], of_b: Mapping[int, str]) -> list[str]:
    """Say of every key step of A what it is in B, and what was split or merged."""

    def name(step: int, of: Mapping[int, str]) -> str:
        return of.get(step, f"key step {step}")

    steps_a, steps_b = ([int(step) for step in steps] for steps in found.steps)
    lines = []
    for row, step in enumerate(steps_a):
        shares = found.overlap[row] / found.overlap[row].sum()
        parts = [at for at in np.argsort(-shares, kind="stable") if shares[at] >= NAMED]
        told = ", ".join(f"{100 * shares[at]:.0f} % {name(steps_b[at], of_b)}" for at in parts)
        lines.append(f"  {name(step, of_a)} of A, {found.overlap[row].sum() / RATE:.0f} s: in B {told}")
    for step, others in found.split.items():
        lines.append(f"Split: {name(step, of_a)} of A is {' and '.join(name(other, of_b) for other in others)} of B.")
    for step, others in found.merged.items():
        lines.append(f"Merged: {' and '.join(name(other, of_a) for other in others)} of A are {name(step, of_b)} of B.")
    return lines
