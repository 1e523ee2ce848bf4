"""Comparison of two results, or of a result and a human coder (`rgwot compare`)."""

from __future__ import annotations

import logging
import math
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from rgwot.columns import readable
from rgwot.datasets.annotation_files import read_annotation_file
from rgwot.datasets.annotation_tables import header_columns, is_table
from rgwot.datasets.annotations import overlapping
from rgwot.datasets.names import VIDEO_SUFFIXES, VIDEO_TABLE, stem_of, video_id
from rgwot.datasets.text import read_lines
from rgwot.evaluation.agreement import OVERLAP, Agreement, agreement
from rgwot.evaluation.metrics import IntArray
from rgwot.names import names_in
from rgwot.paths import DIAGNOSTICS, SEGMENTS, name_of
from rgwot.procedure import recordings_from_segments
from rgwot.records import read_diagnostics, read_segments
from rgwot.runtime.errors import RgwotError
from rgwot.timing import labels_at, predicted_labels, sample_times

_LOG = logging.getLogger(__name__)

#: Key steps are compared this many times per second.
RATE = 10
#: Parts of a key step are named if they are at least this share of it.
NAMED_SHARE = 0.05
#: With at most this many results, a page compares every pair (66 pairs).
MOST_RESULTS = 12


class Answer(NamedTuple):
    """The key steps of a result (scope ``task``): arrays of labels (T,), `RATE` per second, by video id.

    ``labels`` has the key steps of all segments; ``occurring`` has those of the events of
    `rgwot.procedure.learning.recordings_from_segments`, and 0 elsewhere.
    """

    labels: Mapping[str, IntArray]
    occurring: Mapping[str, IntArray]


class Comparison(NamedTuple):
    """Two results side by side: the videos of both, the videos of only one, and how much the results agree.

    ``names`` are the names of the second result's key steps if a person coded it. ``labelled`` are common
    videos that are left out, because one of the results learned from them.
    """

    common: tuple[str, ...]
    alone: tuple[str, ...]
    agreement: Agreement
    names: Mapping[int, str] = {}
    labelled: tuple[str, ...] = ()

    def __repr__(self) -> str:
        agreed, n = self.agreement, len(self.common)
        videos = f"{n} video{'s' if n > 1 else ''}"
        return f"<Comparison: {videos}, kappa {agreed.kappa:.2f}, F1 of segments {100 * agreed.segments_f1:.1f}>"


def read_answer(folder: Path) -> Answer:
    """Read the key steps of a result from its folder; raise RgwotError if it has none."""
    path = folder / name_of(SEGMENTS)
    if not folder.exists():
        raise RgwotError(f"{folder}: no such file or folder; expected key steps or annotations")
    if not path.is_file():
        raise RgwotError(f"{folder}: found no {path.name}, expected a folder of key steps below results/keysteps")
    return answer_of(read_segments(path), path)


def teaching_videos(folder: Path) -> tuple[str, ...]:
    """Return the annotated videos that the result in a folder learned from, if any."""
    path = folder / name_of(DIAGNOSTICS)
    return tuple(read_diagnostics(path).labelled_videos) if path.is_file() else ()


def answer_of(segments: pd.DataFrame, where: Path | str = "segments") -> Answer:
    """Turn a table of segments into an answer.

    Raises RgwotError, with a message that begins with ``where``, if the segments of a video have gaps or overlap.
    """
    labels, occurring = dict[str, IntArray](), dict[str, IntArray]()
    task = segments[segments["scope"] == "task"]
    # Arrays, because a table per video would dominate the time for thousands of videos.
    starts, ends, steps = (task[name].to_numpy() for name in ("start_s", "end_s", "key_step"))
    rows_of = task.groupby("video", sort=False).indices
    for recording in recordings_from_segments(task):
        video, rows = recording.video, rows_of[recording.video]
        times = sample_times(ends[rows].max(), RATE)
        try:
            labels[video] = predicted_labels(starts[rows], ends[rows], steps[rows], times)
        except ValueError as error:
            raise RgwotError(f"{where}: video {video!r}: {error}; decode again") from None
        occurring[video] = np.zeros_like(labels[video])
        for event in recording.events:
            occurring[video][(event.start_s <= times) & (times < event.end_s)] = event.key_step
    return Answer(labels, occurring)


def coded(path: Path) -> bool:
    """Return whether a path has annotations: a file, or a folder without key steps."""
    segments = path / name_of(SEGMENTS)
    if not segments.is_file():
        return path.exists()
    if (path / name_of(DIAGNOSTICS)).is_file():
        return False
    # An exported table has the same name, but no scopes.
    header = read_lines(segments)[0].text
    return is_table(header) and "scope" not in header_columns(header)


def read_coding(
    path: Path, tier: str | None = None, fps: str | None = None, known_ids: Collection[str] = ()
) -> pd.DataFrame:
    """Read annotations from a file or a folder of files (`annotation_files`), with videos by their ids.

    Files name a video by its file name or, as tables of rgwot do, by its id. A name is an id if it is among
    ``known_ids`` or, if these are empty, if it has the form of an id.
    """
    files = (
        [path] if path.is_file() else sorted(file for file in path.iterdir() if file.is_file() and file.name[0] != ".")
    )
    # Videos and their table may be in the same folder as annotations.
    files = [file for file in files if file.suffix.lower() not in VIDEO_SUFFIXES and file.name != VIDEO_TABLE]
    if not files:
        raise RgwotError(f"{path}: found no file, expected annotations or a folder of key steps")
    table, told = [], dict[str, Path]()
    for file in files:
        rows = read_annotation_file(file, tier=tier, fps=fps)
        ids = known_ids or {name for name in rows["video"] if video_id(stem_of(name)) == name}
        rows = rows.assign(video=[name if name in ids else video_id(name) for name in rows["video"]])
        if rows["video"].nunique() == 1 and video_id(file.stem) in known_ids:
            # As in a study, a file that is named like a video is of this video, whatever name of a video it contains.
            rows = rows.assign(video=video_id(file.stem))
        for video, here in rows.groupby("video"):
            if (other := told.setdefault(str(video), file)) != file:
                raise RgwotError(f"{file}: is of video {video!r}, like {other.name}; expected one file per video")
            if count := overlapping(here[["start_s", "end_s"]].itertuples(index=False, name=None))[0]:
                _LOG.warning(
                    "%s: video %r: %d segments overlap, and the later row counts; are they several recordings under "
                    "one name, or several coders?", file, video, count,
                )  # fmt: skip
        table.append(rows)
    return pd.concat(table)


def coded_answer(coded: pd.DataFrame, numbers: Mapping[str, int], seconds: Mapping[str, float]) -> Answer:
    """Turn labelled segments into an answer with the given key step numbers and lengths; gaps are background."""
    common = coded[coded["video"].isin(seconds.keys())]
    by_video = common.assign(key_step=common["label"].map(numbers)).groupby("video", sort=False)
    labels = {str(video): labels_at(rows, sample_times(seconds[str(video)], RATE)) for video, rows in by_video}
    return Answer(labels, labels)


def compare(
    first: Answer, second: Answer, overlap: float = OVERLAP, *, same: bool = False, labelled: Collection[str] = ()
) -> Comparison | None:
    """Compare two answers in their common videos, up to the earlier end; return None if they have no video in common.

    Videos from which one of the answers learned (``labelled``) are left out, because their key steps are annotations.
    """
    both = tuple(video for video in first.labels if video in second.labels)
    common, left_out = (tuple(video for video in both if (video in labelled) is chosen) for chosen in (False, True))
    unshared = tuple(video for one in (first, second) for video in one.labels if video not in both)
    if not common:
        return None
    lengths = [min(len(first.labels[video]), len(second.labels[video])) for video in common]
    one, other, *occurring = (
        [part[video][:length] for video, length in zip(common, lengths, strict=True)]
        for part in (first.labels, second.labels, first.occurring, second.occurring)
    )
    agreed = agreement(one, other, overlap, same=same, occurring=(occurring[0], occurring[1]))
    return Comparison(common, unshared, agreed, labelled=left_out)


def compare_pairs(
    answers: Sequence[Answer], labelled: Sequence[Collection[str]] | None = None
) -> dict[tuple[int, int], Comparison]:
    """Compare every pair of results, or only the first with all others if there are more than `MOST_RESULTS`.

    The keys are pairs of indices into ``answers``; pairs without a common video are left out. ``labelled`` has the
    videos that each result learned from, by default none.
    """
    places, labelled = range(len(answers)), labelled or [()] * len(answers)
    pairs = combinations(places, 2) if len(answers) <= MOST_RESULTS else ((0, place) for place in places[1:])
    comparisons = {(a, b): compare(answers[a], answers[b], labelled={*labelled[a], *labelled[b]}) for a, b in pairs}
    return {pair: comparison for pair, comparison in comparisons.items() if comparison is not None}


def compare_with(
    answer: Answer,
    other: Path,
    overlap: float = OVERLAP,
    tier: str | None = None,
    fps: str | None = None,
    labelled: Collection[str] = (),
) -> Comparison:
    """Compare an answer with a folder of key steps or annotations; raise RgwotError without a common video.

    Videos from which the answer (``labelled``) or the other result learned are left out.
    """
    if not coded(other):
        labelled = {*labelled, *teaching_videos(other)}
        return shared(compare(answer, read_answer(other), overlap, labelled=labelled), f"{other}: ", labelled)
    table = read_coding(other, tier, fps, answer.labels.keys())
    numbers = _numbers(table)
    seconds = {video: len(labels) / RATE for video, labels in answer.labels.items()}
    coding = coded_answer(table, numbers, seconds)
    comparison = shared(compare(answer, coding, overlap, labelled=labelled), f"{other}: ", labelled)
    return comparison._replace(names={number: name for name, number in numbers.items()})


def shared(comparison: Comparison | None, where: str = "", labelled: Collection[str] = ()) -> Comparison:
    """Return a comparison; raise RgwotError if it is None, because there is no common video apart from ``labelled``."""
    if comparison is None:
        if labelled:
            raise RgwotError(
                f"{where}found no common video besides the {len(labelled)} that a result learned from, which are not "
                "compared; expected at least one other; compare results of the same task that learned from fewer videos"
            )
        raise RgwotError(f"{where}found no common video; expected results of the same task")
    return comparison


def compare_results(
    first: Path,
    second: Path,
    names: Path | None = None,
    overlap: float = OVERLAP,
    tier: str | None = None,
    fps: str | None = None,
) -> list[str]:
    """Return lines for a terminal on how much two results, two people, or a result and a person agree.

    ``first`` and ``second`` are folders of key steps, or annotations (`rgwot.datasets.annotation_files`) in a file or a
    folder of files, in which time outside all segments is background. Key steps are matched one to one, except that key
    steps of two people are matched by name. Annotated videos that a result learned from are left out.

    Raises
    ------
    RgwotError
        If a folder has no key steps, a file has no annotations, or there is no common video.
    """
    if not coded(first):
        comparison = compare_with(read_answer(first), second, overlap, tier, fps, teaching_videos(first))
        called = [names_in(first, names), dict(comparison.names) or names_in(second, names)]
    elif not coded(second):
        return compare_results(second, first, names, overlap, tier, fps)
    else:
        codings = [read_coding(path, tier, fps) for path in (first, second)]
        numbers = _numbers(pd.concat(codings))
        ends = pd.concat(codings).groupby("video")["end_s"].max()
        seconds = dict(zip(map(str, ends.index), ends.tolist(), strict=True))
        answers = [coded_answer(table, numbers, seconds) for table in codings]
        comparison = shared(compare(answers[0], answers[1], overlap, same=True), f"{first}, {second}: ")
        called = [{n: name for name, n in numbers.items()}] * 2
    together, (of_a, of_b) = comparison.agreement, ({0: "background"} | names_of_steps for names_of_steps in called)
    return [
        f"A: {first}",
        f"B: {second}",
        f"{len(comparison.common)} videos, {together.n_frames / RATE:.0f} s"
        + (f"; only in one: {', '.join(map(readable, comparison.alone))}" if comparison.alone else "")
        + (f"; learned from, so left out: {', '.join(map(readable, comparison.labelled))}" * bool(comparison.labelled)),
        f"Adjusted Rand index {together.adjusted_rand:.2f}. F1 after matching key steps one to one: "
        f"{100 * together.macro_f1:.1f} (of the mean precision and recall of A's key steps), "
        f"{100 * together.strict_f1:.1f} (of all time).",
        f"Cohen's kappa {together.kappa:.2f}, at {RATE} frames a second, including background. F1 of segments "
        f"{100 * together.segments_f1:.1f}: segments of a key step match if their intersection is at least "
        f"{100 * overlap:.0f} % of their union; those that do not count are left out.",
        *_lines(together, of_a, of_b, by_name=coded(first) and coded(second)),
    ]


def _numbers(coded: pd.DataFrame) -> dict[str, int]:
    """Number labels from 1, in the order in which they first appear."""
    return {str(label): at for at, label in enumerate(coded["label"].unique(), start=1)}


class _StepComparison(NamedTuple):
    """How the second answer labels a key step of the first.

    ``seconds`` is the time of the key step, ``shares`` maps key steps of the second answer to their shares of this
    time, if at least `NAMED_SHARE`. ``segments_f1`` is NaN for background.
    """

    key_step: int
    seconds: float
    shares: Mapping[int, float]
    kappa: float
    segments_f1: float


def parts(agreed: Agreement) -> list[_StepComparison]:
    """Return how the second answer labels each key step of the first; its ``shares`` begin with the largest."""
    pieces = []
    for step, overlap in zip(agreed.steps[0], agreed.overlap, strict=True):
        shares = overlap / overlap.sum()
        largest = [at for at in np.argsort(-shares, kind="stable") if shares[at] >= NAMED_SHARE]
        named = {int(agreed.steps[1][at]): float(shares[at]) for at in largest}
        scores = agreed.kappas[int(step)], agreed.segments_f1s.get(int(step), float("nan"))
        pieces.append(_StepComparison(int(step), int(overlap.sum()) / RATE, named, *scores))
    return pieces


def _lines(agreed: Agreement, of_a: Mapping[int, str], of_b: Mapping[int, str], by_name: bool) -> list[str]:
    """Return a line for each key step of A, with its labels in B and its match, and lines on split and merged steps."""

    def name(step: int, of: Mapping[int, str]) -> str:
        return of.get(step, f"key step {step}")

    lines = []
    for part in parts(agreed):
        shares = ", ".join(f"{100 * share:.0f} % {name(step, of_b)}" for step, share in part.shares.items())
        to = agreed.matched.get(part.key_step)
        scores = [f"matched to {'none' if to is None else name(to, of_b)}"] if part.key_step and not by_name else []
        scores += [] if math.isnan(part.kappa) else [f"kappa {part.kappa:.2f}"]
        scores += [] if math.isnan(part.segments_f1) else [f"segments {100 * part.segments_f1:.1f}"]
        beside = f" ({', '.join(scores)})" if scores else ""
        lines.append(f"  {name(part.key_step, of_a)} of A, {part.seconds:.0f} s: in B {shares}{beside}")
    for step, others in agreed.split.items():
        lines.append(f"Split: {name(step, of_a)} of A is {' and '.join(name(other, of_b) for other in others)} of B.")
    for step, others in agreed.merged.items():
        lines.append(f"Merged: {' and '.join(name(other, of_a) for other in others)} of A are {name(step, of_b)} of B.")
    return lines
