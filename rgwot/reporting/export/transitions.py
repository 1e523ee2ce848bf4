"""Which key step follows which, and how often: a table and a graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from rgwot.reporting.export.interface import Video
from rgwot.runtime.files import write_rows

START, END = "start", "end"
#: Share of the most frequent transition from which others are drawn.
LEAST = 0.1


def transitions(videos: Sequence[Video]) -> Counter[tuple[str, str]]:
    """Count, over all videos, how often a segment of one key step is followed by one of another.

    Background between them does not count, nor does a step that goes on after it. A video begins at ``start`` and
    finishes at ``end``.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for video in videos:
        labels = [segment.label for segment in video.segments]
        changed = [label for at, label in enumerate(labels) if at == 0 or label != labels[at - 1]]
        counts.update(pairwise([START, *changed, END]) if changed else ())
    return counts


def export_transitions(videos: Sequence[Video], folder: Path) -> None:
    """Write ``transitions.csv`` (``from``, ``to``, ``count``, ``share`` of what follows) and the graph."""
    counts = transitions(videos)
    leaving: Counter[str] = Counter()
    for (first, _), count in counts.items():
        leaving[first] += count
    rows = [(*pair, count, round(count / leaving[pair[0]], 4)) for pair, count in counts.most_common()]
    write_rows(("from", "to", "count", "share"), rows, folder / "transitions.csv")
    _draw(counts, videos, folder / "transitions.pdf")


def _draw(counts: Counter[tuple[str, str]], videos: Sequence[Video], path: Path) -> None:
    """Draw key steps in the order of their mean time: what goes on bends to the right, what goes back to the left.

    Arrows are as wide as transitions are frequent; those of less than a tenth of the most frequent one are left out.
    """
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path as Curve

    from rgwot.reporting.figures.style import save, sheet

    times: dict[str, list[float]] = {}
    for video in videos:
        for start_s, end_s, _, label in video.segments:
            times.setdefault(label, []).append((start_s + end_s) / 2 / video.duration_s)
    order = sorted(times, key=lambda label: sum(times[label]) / len(times[label]))
    places = {label: at for at, label in enumerate([START, *order, END])}
    figure, ((axes,),) = sheet(height=0.55 * len(places) + 0.5)
    largest, wide = max(counts.values()), 0.5
    for (first, second), count in sorted(counts.items(), key=lambda item: item[1]):
        if count < LEAST * largest:
            continue
        begin, end = places[first], places[second]
        # A curve whose middle lies half as far to the side as its control point; neighbours are joined nearly straight.
        side = 0.45 * (end - begin) ** 0.6 if end > begin else -0.45 * (begin - end) ** 0.6
        wide = max(wide, abs(side))
        down = 0.25 if end > begin else -0.25
        curve = Curve(
            [(0, -begin - down), (2 * side, -(begin + end) / 2), (0, -end + down)],
            [Curve.MOVETO, Curve.CURVE3, Curve.CURVE3],
        )
        strength = count / largest
        axes.add_patch(
            FancyArrowPatch(
                path=curve,
                arrowstyle="-|>",
                mutation_scale=8,
                linewidth=0.4 + 2.6 * strength,
                color="0.25" if end > begin else "tab:red",
                alpha=0.3 + 0.7 * strength,
            )
        )
        text = {"fontsize": 7, "ha": "center", "va": "center", "zorder": 3}
        axes.text(side, -(begin + end) / 2, str(count), bbox={"pad": 0.6, "fc": "white", "ec": "none"}, **text)
    for label, at in places.items():
        box = {"boxstyle": "round", "fc": "white", "ec": "0.6"}
        axes.text(0, -at, label, ha="center", va="center", fontsize=8, bbox=box, zorder=4)
    axes.set(xlim=(-1.2 * wide, 1.2 * wide), ylim=(-len(places) + 0.5, 0.5))
    axes.axis("off")
    save(figure, path)
