"""The tree of key steps: which key steps are merged at each number K."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from rgwot.reporting.figures.style import LINE_COLOURS, Drawn, sheet, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_tree(merges: Sequence[tuple[int, int, float]], axis: Axes | None = None) -> Drawn:
    """Draw the merges of a tree (`rgwot.keysteps.tree.StepTree`) over the number of key steps; return the figure."""
    n = len(merges) + 1
    with styled():
        figure, drawn = sheet(height=0.25 * n + 1.0) if axis is None else (axis.figure, [[axis]])
        axes = drawn[0][0]
        # Height of a cluster, and the number of key steps up to which it exists.
        ends = {leaf: (float(leaf), n) for leaf in range(n)}
        for new, (a, b, _) in enumerate(merges, start=n):
            place = 2 * n - new - 1 + 0.5
            (first, first_end), (second, second_end) = ends.pop(a), ends.pop(b)
            for height, end in ((first, first_end), (second, second_end)):
                axes.plot([place, end + 0.5], [height, height], color=LINE_COLOURS[0], linewidth=1.2)
            axes.plot([place, place], [first, second], color=LINE_COLOURS[0], linewidth=1.2)
            ends[new] = ((first + second) / 2, 2 * n - new - 1)
        for height, end in ends.values():
            axes.plot([0.5, end + 0.5], [height, height], color=LINE_COLOURS[0], linewidth=1.2)
        axes.invert_yaxis()
        axes.set_yticks(range(n), [str(leaf + 1) for leaf in range(n)])
        axes.set_xticks(range(1, n + 1))
        axes.set_xlim(0.5, n + 0.5)
        axes.set_xlabel("number of key steps K")
        axes.set_ylabel("part")
    return cast("Drawn", figure)
