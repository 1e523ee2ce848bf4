"""Comparison of groups of videos in a result: its table, and a summary in words."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import pandas as pd

from rgwot.datasets.video_table import read_groups, read_video_table, subjects_in
from rgwot.paths import DEVIATIONS, SEGMENTS, name_of
from rgwot.procedure import recordings_from_segments
from rgwot.procedure.facts import join_words
from rgwot.procedure.groups import ALPHA, MEASURES, PERMUTATIONS, TEST_COLUMNS, compare_groups, few_videos
from rgwot.records import read_segments
from rgwot.runtime.csv_files import read_csv
from rgwot.runtime.errors import RgwotError, errors_of
from rgwot.stages.procedure import read_deviation_list

#: The bars of all groups together fill this part of a key step's space.
FILLED = 0.8


def groups_of_result(keysteps: Path, videos_csv: Path, column: str, task: str | None) -> pd.DataFrame:
    """Compare groups of a result's videos."""
    path = keysteps / name_of(SEGMENTS)
    if not path.is_file():
        raise RgwotError(f"{keysteps}: found no {path.name}, expected a folder of key steps below results/keysteps")
    recordings = recordings_from_segments(read_segments(path))
    videos = [recording.video for recording in recordings]
    groups = read_groups(videos_csv, videos, column, task)
    subjects = subjects_in(read_video_table(videos_csv), videos_csv, videos, task)
    deviating = read_deviation_list(keysteps / name_of(DEVIATIONS))
    with errors_of(videos_csv):
        return compare_groups(recordings, deviating, groups, subjects=subjects)


def note_on_teaching(videos: Collection[str]) -> str:
    """Return a note for a comparison of groups on the videos that the result learned from; empty if there are none."""
    if not videos:
        return ""
    return f"Key steps are annotated in the {len(videos)} videos that this result learned from, and found in the others"


def read_group_table(path: Path) -> pd.DataFrame:
    """Read a table that `rgwot compare-groups` wrote: numbers are float64, empty cells NaN."""
    table = read_csv(path, TEST_COLUMNS, {"key_step": "int64"})
    numbers = ["successor", "statistic", "p", "p_adjusted", *table.filter(regex="^(n|mean|low|high)_")]
    table[numbers] = table[numbers].apply(pd.to_numeric, errors="coerce").astype("float64")
    return table


def sizes(table: pd.DataFrame) -> dict[str, int]:
    """Return the number of videos in each group."""
    share = table[(table["measure"] == "share") & (table["group_a"] == "")].iloc[0]
    return {name.removeprefix("n_"): int(share[name]) for name in map(str, table) if name.startswith("n_")}


def unit_of(table: pd.DataFrame) -> str:
    """Return what the groups consist of: ``video`` or ``subject``."""
    return str(table["unit"].iloc[0])


def about(table: pd.DataFrame) -> str:
    """Describe the test: the groups, their numbers of videos, and the method."""
    groups = ", ".join(f"{name} (n = {size})" for name, size in sizes(table).items())
    tested = table[(table["group_a"] == "") & table["p_adjusted"].notna()]
    pairs = "; pairs by Dunn" if (table["group_a"] != "").any() else ""
    return (
        f"{groups}; the unit is the {unit_of(table)}. "
        f"Kruskal-Wallis by {PERMUTATIONS:,} permutations{pairs}; Benjamini-Hochberg "
        f"over the {len(tested)} tests of all key steps and measures that could be significant; * at {ALPHA}"
    )


def impossible(table: pd.DataFrame) -> str:
    """Return a sentence on tests of all groups that cannot be significant for any grouping, or an empty text."""
    whole = table[table["group_a"] == ""]
    counted = join_words([str(size) for size in sizes(table).values()])
    return (
        f"With {counted} {unit_of(table)}s, {none} of {len(whole)} comparisons cannot be "
        f"significant, however the {unit_of(table)}s are grouped; their p is empty"
        if (none := int(whole["p_adjusted"].isna().sum()))
        else ""
    )


def lines(table: pd.DataFrame, names: Mapping[int, str] | None = None) -> list[str]:
    """Return lines for a terminal on the differences between groups."""
    texts = [f"{about(table)}."]
    if few := few_videos(sizes(table), unit_of(table)):
        texts.append(f"Warning: {few}.")
    if barred := impossible(table):
        texts.append(f"{barred}.")
    starred = table[table["star"] == "*"]
    for row in starred.to_dict("records"):
        groups = [row["group_a"], row["group_b"]] if row["group_a"] else sizes(table)
        called = (names or {}).get(int(row["key_step"]), f"key step {row['key_step']}")
        means = ", ".join(f"{group} {row[f'mean_{group}']:.3g}" for group in groups)
        texts.append(
            f"* {called}, {row['measure']} ({MEASURES[row['measure']]}): {means}; adjusted p {row['p_adjusted']:.2g}"
        )
    return (
        texts
        if len(starred)
        else [*texts, "No difference is significant, which does not show that the groups are alike."]
    )
