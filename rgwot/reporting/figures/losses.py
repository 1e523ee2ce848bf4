"""The terms of the loss during training."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from rgwot import paths
from rgwot.reporting.figures.style import GREY, Drawn, line_style, sheet, tell
from rgwot.reporting.figures.videos import OfTasks, Tasks

if TYPE_CHECKING:
    import pandas as pd

#: Points of a line after smoothing.
POINTS = 100


def smoothed(values: NDArray[np.float64], parts: int) -> NDArray[np.float64]:
    """Average values (T,) over at most ``parts`` consecutive parts of about equal length.

    >>> smoothed(np.array([1.0, 3.0, 5.0, 7.0]), 2).tolist()
    [2.0, 6.0]
    """
    return np.array([part.mean() for part in np.array_split(values, min(parts, len(values)))])


@dataclass(frozen=True, kw_only=True)
class Losses(OfTasks):
    """Loss terms during training, one line per run: mean over seeds, and the band from the least to the largest."""

    CAPTION: ClassVar = (
        "The terms of the loss over the iterations; without a contrastive term C-IDM is measured and not trained."
    )
    OF_TASK: ClassVar = ()
    OF_RUN: ClassVar = (paths.HISTORY,)
    EVERY_SEED: ClassVar = True

    def draw(self, plan: Tasks) -> Drawn:
        """Draw each term in a panel."""
        from rgwot.columns import TERMS
        from rgwot.records import read_history

        runs: dict[str, list[pd.DataFrame]] = {}
        for run in (run for task in plan.shown for run in task.runs):
            label = run.label if len(plan.shown) == 1 else f"{run.label}, {run.task}"
            runs.setdefault(label, []).append(read_history(run.at(paths.HISTORY)))
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
        N = plan.shown[0].settings["train.N"]
        axes[0, 1].axhline(math.log(N), color=GREY, linewidth=0.8, linestyle=(0, (1, 2)))
        axes[0, 1].annotate(
            f"ln {N}: all frames alike", (1, math.log(N)), (0, 2), xycoords=("axes fraction", "data"),
            textcoords="offset points", ha="right", fontsize=7, color=GREY,
        )  # fmt: skip
        axes[0, 0].legend()
        band = ", mean and range over seeds" if len(plan.seeds) > 1 else ""
        longest = max(len(history) for histories in runs.values() for history in histories)
        each = f"; each point averages 1/{POINTS} of the training" if longest > POINTS else ""
        tell(drawn, f"{self.title}{band}{each}", plan.about)
        return drawn
