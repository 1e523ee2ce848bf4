"""Comparisons: of two results, or a result and a coder (`rgwot compare`), and of groups of videos."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from rgwot.columns import readable
from rgwot.datasets.annotation_files import read_annotation_file
from rgwot.datasets.annotation_formats import header_columns, is_table
from rgwot.datasets.names import VIDEO_SUFFIXES, VIDEO_TABLE, stem_of, video_id
from rgwot.datasets.text import read_lines
from rgwot.datasets.video_table import read_groups
from rgwot.evaluation.agreement import OVERLAP, Agreement, agreement
from rgwot.evaluation.metrics import IntArray
from rgwot.paths import DEVIATIONS, DIAGNOSTICS, SEGMENTS, name_of
from rgwot.procedure import recordings_from_segments
from rgwot.procedure.groups import ALPHA, LEVEL, MEASURES, PERMUTATIONS, TEST_COLUMNS, UNIT, compare_groups, few_videos
from rgwot.procedure.words import join_words
from rgwot.records import read_segments
from rgwot.reporting.figures.style import HATCHES, LINE_COLOURS, PAGE, Drawn, save, sheet, short, styled, tell
from rgwot.reporting.names import names_in
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import read_csv, write_csv
from rgwot.stages.procedure import read_deviation_list
from rgwot.timing import labels_at, predicted_labels, sample_times

#: Times per second at which key steps are compared.
RATE = 10
#: Share of a key step from which its part in the other result is named.
NAMED_SHARE = 0.05
#: Results of which every two are compared on a page; that is 66 pairs.
MOST_RESULTS = 12


Answer = Mapping[str, IntArray]
"""The key steps of a result, scope ``task``, at `RATE`: labels (T,) of every video."""


class Comparison(NamedTuple):
    """Two results side by side: the videos that both have, those that one has, and how far they agree.

    ``names`` are those of the key steps of the second, if a person coded it.
    """

    common: tuple[str, ...]
    alone: tuple[str, ...]
    agreement: Agreement
    names: Mapping[int, str] = {}


def read_answer(folder: Path) -> Answer:
    """Read the key steps of a result from its folder; RgwotError when it holds none."""
    path = folder / name_of(SEGMENTS)
    if not folder.exists():
        raise RgwotError(f"{folder}: no such file or folder; expected key steps or annotations")
    if not path.is_file():
        raise RgwotError(f"{folder}: found no {path.name}, expected a folder of key steps below results/keysteps")
    return answer_of(read_segments(path), path)


def answer_of(segments: pd.DataFrame, where: Path | str = "segments") -> Answer:
    """Return a table of segments as an answer; RgwotError, naming ``where``, when it has gaps."""
    answer = {}
    for video, own in segments[segments["scope"] == "task"].groupby("video", sort=False):
        times = sample_times(own["end_s"].max(), RATE)
        try:
            answer[str(video)] = predicted_labels(own["start_s"], own["end_s"], own["key_step"], times)
        except ValueError as error:
            raise RgwotError(f"{where}: video {video!r}: {error}; decode again") from None
    return answer


def coded(path: Path) -> bool:
    """Return whether a path is that of annotations: a file, or a folder that is none of key steps."""
    segments = path / name_of(SEGMENTS)
    if not segments.is_file():
        return path.exists()
    if (path / name_of(DIAGNOSTICS)).is_file():
        return False
    # An export as a table has the same name, and no scopes.
    header = read_lines(segments)[0].text
    return is_table(header) and "scope" not in header_columns(header)


def read_coding(
    path: Path, tier: str | None = None, fps: str | None = None, known: Collection[str] = ()
) -> pd.DataFrame:
    """Read what a person coded, a file or a folder of files (`annotation_files`), with videos by their ids.

    A file may have a name or, as a table of ours, an id, which is one of those that are ``known``; of none known, what
    can be an id is one.
    """
    files = [path] if path.is_file() else sorted(one for one in path.iterdir() if one.is_file() and one.name[0] != ".")
    # Annotations lie beside the videos.
    files = [one for one in files if one.suffix.lower() not in VIDEO_SUFFIXES and one.name != VIDEO_TABLE]
    if not files:
        raise RgwotError(f"{path}: found no file, expected annotations or a folder of key steps")
    table = pd.concat([read_annotation_file(one, tier=tier, fps=fps) for one in files])
    ids = known or {name for name in table["video"] if video_id(stem_of(name)) == name}
    return table.assign(video=[name if name in ids else video_id(name) for name in table["video"]])


def coded_answer(coded: pd.DataFrame, numbers: Mapping[str, int], seconds: Mapping[str, float]) -> Answer:
    """Return segments with labels as an answer of these numbers, up to a time of every video; gaps are background."""
    known = coded[coded["video"].isin(seconds.keys())]
    by_video = known.assign(key_step=known["label"].map(numbers)).groupby("video", sort=False)
    return {str(video): labels_at(own, sample_times(seconds[str(video)], RATE)) for video, own in by_video}


def compare(first: Answer, second: Answer, overlap: float = OVERLAP, *, same: bool = False) -> Comparison | None:
    """Compare two answers in the videos that both have, as far as both reach; None where there is no such video."""
    common = tuple(video for video in first if video in second)
    alone = tuple(video for one in (first, second) for video in one if video not in common)
    if not common:
        return None
    pairs = [(first[video], second[video]) for video in common]
    lengths = [min(map(len, pair)) for pair in pairs]
    one, other = ([pair[side][:length] for pair, length in zip(pairs, lengths, strict=True)] for side in (0, 1))
    return Comparison(common, alone, agreement(one, other, overlap, same=same))


def compare_pairs(answers: Sequence[Answer]) -> dict[tuple[int, int], Comparison]:
    """Compare every two of some results, by their places; of more than `MOST_RESULTS` the first with every other."""
    places = range(len(answers))
    pairs = combinations(places, 2) if len(answers) <= MOST_RESULTS else ((0, place) for place in places[1:])
    found = {(one, other): compare(answers[one], answers[other]) for one, other in pairs}
    return {pair: comparison for pair, comparison in found.items() if comparison is not None}


def compare_with(
    answer: Answer, other: Path, overlap: float = OVERLAP, tier: str | None = None, fps: str | None = None
) -> Comparison:
    """Compare an answer with a folder of key steps, or with what a person coded; RgwotError for no common video."""
    if not coded(other):
        return shared(compare(answer, read_answer(other), overlap), f"{other}: ")
    table = read_coding(other, tier, fps, answer.keys())
    numbers = _numbers(table)
    seconds = {video: len(labels) / RATE for video, labels in answer.items()}
    found = shared(compare(answer, coded_answer(table, numbers, seconds), overlap), f"{other}: ")
    return found._replace(names={number: name for name, number in numbers.items()})


def shared(found: Comparison | None, where: str = "") -> Comparison:
    """Return a comparison; RgwotError where there is no video in both."""
    if found is None:
        raise RgwotError(f"{where}found no video in both, expected results of the same task")
    return found


def compare_results(
    first: Path,
    second: Path,
    names: Path | None = None,
    overlap: float = OVERLAP,
    tier: str | None = None,
    fps: str | None = None,
) -> list[str]:
    """Say how far two results agree, or two people, or a result and a person, for a terminal.

    Each is a folder of key steps, or annotations (`rgwot.datasets.annotation_files`) in a file or a folder of files,
    where what is in no segment is background. Key steps are matched one to one, but those of two people go by their
    names.

    Raises
    ------
    RgwotError
        When a folder holds no key steps, a file no annotations, or they have no video in common.
    """
    if not coded(first):
        found = compare_with(read_answer(first), second, overlap, tier, fps)
        called = [names_in(first, names), dict(found.names) or names_in(second, names)]
    elif not coded(second):
        return compare_results(second, first, names, overlap, tier, fps)
    else:
        one, other = (read_coding(path, tier, fps) for path in (first, second))
        numbers = _numbers(pd.concat([one, other]))
        ends = pd.concat([one, other]).groupby("video")["end_s"].max()
        seconds = dict(zip(map(str, ends.index), ends.tolist(), strict=True))
        of_one, of_other = (coded_answer(table, numbers, seconds) for table in (one, other))
        found = shared(compare(of_one, of_other, overlap, same=True), f"{first}, {second}: ")
        called = [{n: name for name, n in numbers.items()}] * 2
    together, (of_a, of_b) = found.agreement, ({0: "background"} | one for one in called)
    return [
        f"A: {first}",
        f"B: {second}",
        f"{len(found.common)} videos, {together.n_frames / RATE:.0f} s"
        + (f"; only in one: {', '.join(map(readable, found.alone))}" if found.alone else ""),
        f"Adjusted Rand index {together.adjusted_rand:.2f}. F1 after matching key steps one to one: "
        f"{100 * together.macro_f1:.1f} (mean over matched key steps of A), "
        f"{100 * together.strict_f1:.1f} (of all time).",
        f"Cohen's kappa {together.kappa:.2f}, {RATE} frames a second, background included. F1 of segments "
        f"{100 * together.segments_f1:.1f}: those of one key step whose intersection is {100 * overlap:.0f} % of their "
        "union or more.",
        *_lines(together, of_a, of_b, by_name=coded(first) and coded(second)),
    ]


def _numbers(coded: pd.DataFrame) -> dict[str, int]:
    """Number labels from 1, in the order in which they first appear."""
    return {str(label): at for at, label in enumerate(coded["label"].unique(), start=1)}


class StepComparison(NamedTuple):
    """What a key step of the first answer is in the second.

    Seconds, the shares of others from `NAMED_SHARE` on, Cohen's kappa, and F1 of segments (NaN for background).
    """

    key_step: int
    seconds: float
    shares: Mapping[int, float]
    kappa: float
    segments_f1: float


def parts(found: Agreement) -> list[StepComparison]:
    """Say of every key step of the first answer what it is in the second, the largest share first."""
    pieces = []
    for step, overlap in zip(found.steps[0], found.overlap, strict=True):
        shares = overlap / overlap.sum()
        largest = [at for at in np.argsort(-shares, kind="stable") if shares[at] >= NAMED_SHARE]
        named = {int(found.steps[1][at]): float(shares[at]) for at in largest}
        scores = found.kappas[int(step)], found.segments_f1s.get(int(step), float("nan"))
        pieces.append(StepComparison(int(step), int(overlap.sum()) / RATE, named, *scores))
    return pieces


def _lines(found: Agreement, of_a: Mapping[int, str], of_b: Mapping[int, str], by_name: bool) -> list[str]:
    """Say of every key step of A what it is in B, what it is matched to, and what was split or merged."""

    def name(step: int, of: Mapping[int, str]) -> str:
        return of.get(step, f"key step {step}")

    lines = []
    for part in parts(found):
        shares = ", ".join(f"{100 * share:.0f} % {name(step, of_b)}" for step, share in part.shares.items())
        to = found.matched.get(part.key_step)
        scores = [f"matched to {'none' if to is None else name(to, of_b)}"] if part.key_step and not by_name else []
        scores += [] if math.isnan(part.kappa) else [f"kappa {part.kappa:.2f}"]
        scores += [] if math.isnan(part.segments_f1) else [f"segments {100 * part.segments_f1:.1f}"]
        beside = f" ({', '.join(scores)})" if scores else ""
        lines.append(f"  {name(part.key_step, of_a)} of A, {part.seconds:.0f} s: in B {shares}{beside}")
    for step, others in found.split.items():
        lines.append(f"Split: {name(step, of_a)} of A is {' and '.join(name(other, of_b) for other in others)} of B.")
    for step, others in found.merged.items():
        lines.append(f"Merged: {' and '.join(name(other, of_a) for other in others)} of A are {name(step, of_b)} of B.")
    return lines


#: Of a bar per group, how much of the space of a key step they take.
FILLED = 0.8


def groups_of_result(keysteps: Path, videos_csv: Path, column: str, task: str | None) -> pd.DataFrame:
    """Compare the groups of the videos of a result."""
    path = keysteps / name_of(SEGMENTS)
    if not path.is_file():
        raise RgwotError(f"{keysteps}: found no {path.name}, expected a folder of key steps below results/keysteps")
    recordings = recordings_from_segments(read_segments(path))
    groups = read_groups(videos_csv, [one.video for one in recordings], column, task)
    return compare_groups(recordings, read_deviation_list(keysteps / name_of(DEVIATIONS)), groups)


def write_groups(
    output: Path, keysteps: Path, videos_csv: Path, column: str, task: str | None, names_yaml: Path | None, title: str
) -> list[str]:
    """Write the table of `groups_of_result` and its figure beside it (PDF and PNG); return what it says, as lines."""
    table = groups_of_result(keysteps, videos_csv, column, task)
    names = names_in(keysteps, names_yaml)
    save(group_bars(table, title, names), output)
    if names:
        table.insert(1, "name", table["key_step"].map(names).fillna(""))
    write_csv(table, output)
    return lines(table, names)


def read_group_table(path: Path) -> pd.DataFrame:
    """Read what `rgwot compare-groups` writes: numbers are float64, empty ones NaN."""
    table = read_csv(path, TEST_COLUMNS, {"key_step": "int64"})
    numbers = ["successor", "statistic", "p", "p_adjusted", *table.filter(regex="^(n|mean|low|high)_")]
    table[numbers] = table[numbers].apply(pd.to_numeric, errors="coerce").astype("float64")
    return table


def sizes(table: pd.DataFrame) -> dict[str, int]:
    """Return the number of videos of every group: those that the share of a key step is of."""
    share = table[(table["measure"] == "share") & (table["group_a"] == "")].iloc[0]
    return {name.removeprefix("n_"): int(share[name]) for name in map(str, table) if name.startswith("n_")}


def about(table: pd.DataFrame) -> str:
    """Say what was tested, of how many videos, and how."""
    groups = ", ".join(f"{name} (n = {size})" for name, size in sizes(table).items())
    tested = table[(table["group_a"] == "") & table["p_adjusted"].notna()]
    pairs = "; pairs by Dunn" if (table["group_a"] != "").any() else ""
    return (
        f"{groups}; the unit is the {UNIT}. Kruskal-Wallis by {PERMUTATIONS:,} permutations{pairs}; Benjamini-Hochberg "
        f"over the {len(tested)} tests of all key steps and measures that could be significant; * at {ALPHA}"
    )


def impossible(table: pd.DataFrame) -> str:
    """Say how many tests of all groups no labels could have made significant, nothing where there are none."""
    whole = table[table["group_a"] == ""]
    counted = join_words([str(size) for size in sizes(table).values()])
    return (
        f"With {counted} videos, {none} of {len(whole)} comparisons could not have been "
        "significant whatever the groups; an empty adjusted p means this"
        if (none := int(whole["p_adjusted"].isna().sum()))
        else ""
    )


def lines(table: pd.DataFrame, names: Mapping[int, str] | None = None) -> list[str]:
    """Say what differs between groups, for a terminal."""
    said = [f"{about(table)}."]
    if few := few_videos(sizes(table)):
        said.append(f"Warning: {few}.")
    if barred := impossible(table):
        said.append(f"{barred}.")
    starred = table[table["star"] == "*"]
    for row in starred.to_dict("records"):
        shown = [row["group_a"], row["group_b"]] if row["group_a"] else sizes(table)
        called = (names or {}).get(int(row["key_step"]), f"key step {row['key_step']}")
        means = ", ".join(f"{group} {row[f'mean_{group}']:.3g}" for group in shown)
        said.append(
            f"* {called}, {row['measure']} ({MEASURES[row['measure']]}): {means}; adjusted p {row['p_adjusted']:.2g}"
        )
    return (
        said
        if len(starred)
        else [*said, "No difference is significant, which does not show that the groups are alike."]
    )


def group_bars(table: pd.DataFrame, title: str, names: Mapping[int, str] | None = None) -> Drawn:
    """Draw means with bootstrap intervals of the groups; a star is over key steps that differ (all groups)."""
    whole = table[table["group_a"] == ""]
    steps, groups = sorted(set(whole["key_step"])), sizes(table)
    width, columns = FILLED / len(groups), 2 if len(steps) <= 12 else 1
    with styled():
        figure, axes = sheet(len(MEASURES) // columns, columns, height=1.9 * len(MEASURES) / columns + 0.8, width=PAGE)
        for axis, (measure, words) in zip(axes.flat, MEASURES.items(), strict=True):
            rows = whole[whole["measure"] == measure].set_index("key_step").loc[steps]
            top = np.zeros(len(steps))
            for at, group in enumerate(groups):
                low, mean, high = (rows[f"{what}_{group}"].to_numpy(float) for what in ("low", "mean", "high"))
                places = np.arange(len(steps)) + (at + 0.5) * width - FILLED / 2
                look = {"color": LINE_COLOURS[at % 8], "hatch": HATCHES[at // 8 % 8], "edgecolor": "white"}
                spread = np.clip([mean - low, high - mean], 0, None)
                axis.bar(places, mean, width, yerr=spread, label=group, linewidth=0, error_kw={"lw": 0.8}, **look)
                top = np.fmax(top, high)
            for starred in np.flatnonzero(rows["star"].to_numpy() == "*"):
                axis.text(starred, top[starred], "*", ha="center", va="bottom", fontsize=12)
            axis.set_title(f"{measure}: {words}", loc="left")
            axis.set_xticks(range(len(steps)), [short((names or {}).get(step, str(step)), 12) for step in steps])
            axis.tick_params(axis="x", rotation=45 if names else 0)
            axis.margins(y=0.15)
            axis.set_ylim(bottom=0)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(len(groups), 6))
        few = few_videos(groups)
        said = f"{about(table)}; bars: means with {100 * LEVEL:.0f} % bootstrap intervals" + (f"; {few}" if few else "")
        tell(figure, title, said)
    return figure
