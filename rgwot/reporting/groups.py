"""Groups of videos in a result: `rgwot compare-groups`, its table, its figure, and what it says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from rgwot.datasets.video_table import read_groups
from rgwot.paths import DEVIATIONS, SEGMENTS, name_of
from rgwot.procedure import recordings_from_segments
from rgwot.procedure.groups import ALPHA, LEVEL, MEASURES, PERMUTATIONS, TEST_COLUMNS, UNIT, compare_groups, few_videos
from rgwot.procedure.words import join_words
from rgwot.records import read_segments
from rgwot.reporting.figures.style import HATCHES, LINE_COLOURS, PAGE, Drawn, save, sheet, short, styled, tell
from rgwot.reporting.names import names_in, read_names
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import read_csv, write_csv
from rgwot.stages.procedure import read_deviation_list

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
    names = names_in(keysteps, read_names(names_yaml))
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
