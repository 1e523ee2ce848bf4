"""The figure of a comparison of groups, and its files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from rgwot.names import names_in
from rgwot.procedure.groups import LEVEL, MEASURES, few_videos
from rgwot.reporting.compare import teaching_videos
from rgwot.reporting.figures.style import HATCHES, LINE_COLOURS, Drawn, save, sheet, short, styled, tell
from rgwot.reporting.groups import FILLED, about, groups_of_result, lines, note_on_teaching, sizes, unit_of
from rgwot.runtime.csv_files import write_csv


def group_bars(table: pd.DataFrame, title: str, names: Mapping[int, str] | None = None) -> Drawn:
    """Draw means and bootstrap intervals of the groups; a star marks key steps in which the groups differ."""
    whole = table[table["group_a"] == ""]
    steps, groups = sorted(set(whole["key_step"])), sizes(table)
    width, columns = FILLED / len(groups), 2 if len(steps) <= 12 else 1
    with styled():
        figure, axes = sheet(len(MEASURES) // columns, columns, height=1.9 * len(MEASURES) / columns + 0.8)
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
        few = few_videos(groups, unit_of(table))
        caption = f"{about(table)}; bars: means with {100 * LEVEL:.0f} % bootstrap intervals" + (
            f"; {few}" if few else ""
        )
        tell(figure, title, caption)
    return figure


def write_groups(
    output: Path, keysteps: Path, videos_csv: Path, column: str, task: str | None, names_yaml: Path | None, title: str
) -> list[str]:
    """Write the table of `groups_of_result` and its figure (PDF and PNG) beside it; return a summary in lines."""
    table = groups_of_result(keysteps, videos_csv, column, task)
    names = names_in(keysteps, names_yaml)
    save(group_bars(table, title, names), output)
    if names:
        table.insert(1, "name", table["key_step"].map(names).fillna(""))
    write_csv(table, output)
    return [*([f"{note}."] if (note := note_on_teaching(teaching_videos(keysteps))) else []), *lines(table, names)]
