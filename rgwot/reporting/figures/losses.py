"""The terms of the loss during training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rgwot import paths
from rgwot.paths import Tree
from rgwot.reporting.figures.drawing import Drawing, drawing
from rgwot.reporting.figures.style import GREY, Drawn, line_style, sheet, tell
from rgwot.reporting.figures.videos import Labelled, runs_to_draw, settings_behind, tasks_to_draw, told
from rgwot.reporting.tables.table import Place, Row, once
from rgwot.study.study import Study

if TYPE_CHECKING:
    import pandas as pd

#: Points of a line after smoothing.
POINTS = 100


def loss_terms(study: Study, dataset: Place, rows: Sequence[Row]) -> Drawing:
    """Return a figure of loss terms during training, a line per row: mean over seeds, and the range as a band."""
    once("runs", [row.label for row in rows])
    (task,) = tasks_to_draw(study, dataset)
    seeds = study.config.seeds
    runs = runs_to_draw(study, task, rows, seeds, trained=True)
    N = settings_behind(study, runs[0][1].method, task.dataset)["train.N"]
    caption = "The terms of the loss over the iterations; without a contrastive term C-IDM is measured and not trained."
    return drawing(
        study, _draw, (task, runs, N), [task.at(paths.HISTORY, run) for _, run in runs], caption=caption,
        places=[dataset], notes=told([task], runs), seeds=seeds,
    )  # fmt: skip


def smoothed(values: NDArray[np.float64], parts: int) -> NDArray[np.float64]:
    """Average values (T,) over at most ``parts`` consecutive parts of about equal length.

    >>> smoothed(np.array([1.0, 3.0, 5.0, 7.0]), 2).tolist()
    [2.0, 6.0]
    """
    return np.array([part.mean() for part in np.array_split(values, min(parts, len(values)))])


def _draw(title: str, about: str, task: Tree, labelled: Labelled, N: int) -> Drawn:
    """Draw each term in a panel."""
    from rgwot.columns import TERMS
    from rgwot.records import read_history

    runs: dict[str, list[pd.DataFrame]] = {}
    for label, run in labelled:
        runs.setdefault(label, []).append(read_history(task.at(paths.HISTORY, run)))
    drawn, axes = sheet(1, len(TERMS), height=2.3)
    for axis, (term, name) in zip(axes[0], TERMS.items(), strict=True):
        for number, (label, histories) in enumerate(runs.items()):
            lines = np.stack([smoothed(history[term].to_numpy(float), POINTS) for history in histories])
            steps = smoothed(histories[0]["step"].to_numpy(float), POINTS)
            style = line_style(number)
            axis.plot(steps, lines.mean(0), label=label, markevery=max(1, len(steps) // 8), **style)
            if len(lines) > 1:
                axis.fill_between(steps, lines.min(0), lines.max(0), color=style["color"], alpha=0.2, linewidth=0)
        axis.set_title(name)
        axis.set_xlabel("iteration")
    axes[0, 1].axhline(math.log(N), color=GREY, linewidth=0.8, linestyle=(0, (1, 2)))
    axes[0, 1].annotate(
        f"ln {N}: all frames alike", (1, math.log(N)), (0, 2), xycoords=("axes fraction", "data"),
        textcoords="offset points", ha="right", fontsize=7, color=GREY,
    )  # fmt: skip
    axes[0, 0].legend()
    band = ", mean and range over seeds" if len(labelled) > len(runs) else ""
    longest = max(len(history) for histories in runs.values() for history in histories)
    each = f"; each point averages 1/{POINTS} of the training" if longest > POINTS else ""
    tell(drawn, f"{title}{band}{each}", about)
    return drawn
