"""Groups of videos side by side: a panel per measure, key steps with a bar per group."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from rgwot.procedure.groups import LEVEL, MEASURES, few_videos
from rgwot.reporting.figures.style import HATCHES, LINE_COLOURS, PAGE, Drawn, sheet, short, styled, tell
from rgwot.reporting.groups import about, sizes

#: Of a bar per group, how much of the space of a key step they take.
FILLED = 0.8


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
