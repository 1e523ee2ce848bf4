"""Two results of a task side by side: `rgwot compare`, and the same on the page of the task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rgwot.evaluation.agreement import Agreement, agreement
from rgwot.evaluation.metrics import IntArray
from rgwot.paths import SEGMENTS, name_of
from rgwot.records import read_segments
from rgwot.reporting.names import names_in, read_names
from rgwot.runtime.errors import RgwotError
from rgwot.timing import predicted_labels, sample_times

#: Times per second at which key steps are compared.
RATE = 10
#: Share of a key step from which its part in the other result is named.
NAMED = 0.05
#: Results of which every two are compared on a page; that is 66 pairs.
MOST_RESULTS = 12


Answer = Mapping[str, IntArray]
"""The key steps of a result, scope ``task``, at `RATE`: labels (T,) of every video."""


class Comparison(NamedTuple):
    """Two results side by side: the videos that both have, those that one has, and how far they agree."""

    common: tuple[str, ...]
    alone: tuple[str, ...]
    agreement: Agreement


def read_answer(folder: Path) -> Answer:
    """Read the key steps of a result from its folder; RgwotError when it holds none."""
    path = folder / name_of(SEGMENTS)
    if not path.is_file():
        raise RgwotError(f"{folder}: found no {path.name}, expected a folder of key steps below results/keysteps")
    segments = read_segments(path)
    answer = {}
    for video, own in segments[segments["scope"] == "task"].groupby("video", sort=False):
        times = sample_times(own["end_s"].max(), RATE)
        try:
            answer[str(video)] = predicted_labels(own["start_s"], own["end_s"], own["key_step"], times)
        except ValueError as error:
            raise RgwotError(f"{path}: video {video!r}: {error}; decode again") from None
    return answer


def compare(first: Answer, second: Answer) -> Comparison | None:
    """Compare two answers in the videos that both have, as far as both reach; None where there is no such video."""
    common = tuple(video for video in first if video in second)
    alone = tuple(video for one in (first, second) for video in one if video not in common)
    if not common:
        return None
    pairs = [(first[video], second[video]) for video in common]
    lengths = [min(map(len, pair)) for pair in pairs]
    sides = ([pair[side][:length] for pair, length in zip(pairs, lengths, strict=True)] for side in (0, 1))
    return Comparison(common, alone, agreement(*sides))


def compare_pairs(answers: Sequence[Answer]) -> dict[tuple[int, int], Comparison]:
    """Compare every two of some results, by their places; of more than `MOST_RESULTS` the first with every other."""
    places = range(len(answers))
    pairs = combinations(places, 2) if len(answers) <= MOST_RESULTS else ((0, place) for place in places[1:])
    found = {(one, other): compare(answers[one], answers[other]) for one, other in pairs}
    return {pair: comparison for pair, comparison in found.items() if comparison is not None}


def compare_results(first: Path, second: Path, names: Path | None = None) -> list[str]:
    """Say how far the key steps of two folders agree, for a terminal.

    Raises
    ------
    RgwotError
        When a folder holds no key steps, or they have no video in common.
    """
    found = compare(read_answer(first), read_answer(second))
    if found is None:
        raise RgwotError(f"{first}, {second}: found no video in both, expected results of the same task")
    together = found.agreement
    called = [{0: "background"} | names_in(folder.absolute(), read_names(names)) for folder in (first, second)]
    return [
        f"A: {first}",
        f"B: {second}",
        f"{len(found.common)} videos, {together.n_frames / RATE:.0f} s"
        + (f"; only in one: {', '.join(found.alone)}" if found.alone else ""),
        f"Adjusted Rand index {together.adjusted_rand:.2f}. F1 after matching key steps one to one: "
        f"{100 * together.macro_f1:.1f} (mean over key steps of A), {100 * together.strict_f1:.1f} (of all time).",
        *_lines(together, *called),
    ]


class Part(NamedTuple):
    """What a key step of the first answer is in the second: seconds, and the shares of others from `NAMED` on."""

    key_step: int
    seconds: float
    shares: Mapping[int, float]


def parts(found: Agreement) -> list[Part]:
    """Say of every key step of the first answer what it is in the second, the largest share first."""
    pieces = []
    for step, overlap in zip(found.steps[0], found.overlap, strict=True):
        shares = overlap / overlap.sum()
        largest = [at for at in np.argsort(-shares, kind="stable") if shares[at] >= NAMED]
        named = {int(found.steps[1][at]): float(shares[at]) for at in largest}
        pieces.append(Part(int(step), int(overlap.sum()) / RATE, named))
    return pieces


def _lines(found: Agreement, of_a: Mapping[int, str], of_b: Mapping[int, str]) -> list[str]:
    """Say of every key step of A what it is in B, and what was split or merged."""

    def name(step: int, of: Mapping[int, str]) -> str:
        return of.get(step, f"key step {step}")

    lines = []
    for part in parts(found):
        shares = ", ".join(f"{100 * share:.0f} % {name(step, of_b)}" for step, share in part.shares.items())
        lines.append(f"  {name(part.key_step, of_a)} of A, {part.seconds:.0f} s: in B {shares}")
    for step, others in found.split.items():
        lines.append(f"Split: {name(step, of_a)} of A is {' and '.join(name(other, of_b) for other in others)} of B.")
    for step, others in found.merged.items():
        lines.append(f"Merged: {' and '.join(name(other, of_a) for other in others)} of A are {name(step, of_b)} of B.")
    return lines
