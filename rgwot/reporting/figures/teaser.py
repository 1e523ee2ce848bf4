"""The task in one picture: two videos, the transport between them, their embedding, their key steps and the order."""

from __future__ import annotations

import numpy as np

from rgwot import paths
from rgwot.evaluation.metrics import IntArray
from rgwot.reporting.figures.bars import draw_steps
from rgwot.reporting.figures.drawing import Drawing
from rgwot.reporting.figures.style import GREY, Axes, Drawn, number_step, sheet, step_legend, step_style, tell
from rgwot.reporting.figures.videos import Array, Pair, Side, TaskLabels, named, of_pair, shares, transport
from rgwot.reporting.tables.table import Place, Row
from rgwot.study.study import Study

#: Frames of each video.
FRAMES = 18
#: The least share of a frame's mass that is drawn as a line to its partner.
DRAWN = 0.1
TWO_MARKERS = ("o", "^")


def pair_teaser(study: Study, dataset: Place, row: Row) -> Drawing:
    """Return a figure of two videos, the plan between them, their embedding, their key steps and the order found."""
    caption = (
        "Two videos of a task as strips of frames in the colours of their true steps with the transport plan "
        "between them, their embedding in two principal directions, and the key steps and orders that were found."
    )
    return of_pair(
        study, _draw, dataset, row, caption=caption,
        reads=(paths.EMBEDDINGS, paths.SEGMENTS, paths.DIAGNOSTICS, paths.ORDER, paths.PROCEDURES),
        scoring="one clustering per task, clusters matched to steps over its videos, background a class",
    )  # fmt: skip


def _draw(title: str, about: str, shown: Pair) -> Drawn:
    """Draw the three panels from one trained model."""
    from rgwot.names import match_to_steps
    from rgwot.records import read_segments

    pair, labels = shown.read(FRAMES), shown.labels()
    segments = read_segments(shown.task.at(paths.SEGMENTS, shown.run))
    scored = labels.manifest[labels.manifest["status"] == "ok"]
    names = match_to_steps(scored, labels.annotations, segments[segments["scope"] == "task"])
    drawn, axes = sheet(1, 3, height=3.15, width_ratios=[1.25, 0.8, 1.15])
    _strips(axes[0, 0], pair, shares(transport(*pair, shown.settings)[1])[:, 1:])
    _scatter(axes[0, 1], pair, labels, shown)
    steps = _answers(axes[0, 2], pair, labels, shown, names)
    steps |= {int(step) for side in pair for step in side.steps}
    step_legend(drawn, sorted(steps), unmatched=-1 in steps)
    tell(drawn, f"{title}: {named(pair)}", about)
    return drawn


def two_dimensions(x: Array) -> Array:
    """Project embeddings (T, D) onto their two principal directions, (T, 2), with zeros for a missing direction."""
    from sklearn.decomposition import PCA

    points = PCA(min(2, *x.shape), svd_solver="full").fit_transform(x)
    return np.pad(points, ((0, 0), (0, 2 - points.shape[1])))


def steps_of_order(order: str, names: dict[int, int]) -> list[int]:
    """Return the steps that the clusters of an order match, -1 for unmatched clusters; background is left out.

    >>> steps_of_order("3>1>2", {3: 1, 1: 0})
    [1, -1]
    """
    steps = [names.get(int(cluster), -1) for cluster in order.split(">") if cluster]
    return [step for step in steps if step != 0]


def _strips(axis: Axes, pair: tuple[Side, Side], plan: Array) -> None:
    """Draw both videos as strips of frames in the colour of their true step, and the plan as lines between them."""
    n = len(pair[0].steps)
    for i, j in np.argwhere(plan >= DRAWN):
        share = float(plan[i, j])
        axis.plot([i + 0.5, j + 0.5], [1, 0.3], color="#444444", linewidth=0.3 + 2.2 * share, alpha=0.55, zorder=0)
    for side, (bottom, name) in zip(pair, ((1.0, "X"), (0.0, "Y")), strict=True):
        for index, step in enumerate(side.steps.tolist()):
            axis.broken_barh([(index + 0.06, 0.88)], (bottom, 0.3), **step_style(step))
            if step > 0:
                number_step(axis, index + 0.5, bottom + 0.15, step)
        axis.text(-0.3, bottom + 0.15, name, ha="right", va="center", fontsize=8)
    axis.set_xlim(-1.2, n)
    axis.set_ylim(-0.15, 1.45)
    axis.set_title("(a) align the frames of two videos")
    axis.set_xlabel("time →; grey: background", fontsize=7)
    axis.set(xticks=[], yticks=[])
    axis.spines[:].set_visible(False)


def _scatter(axis: Axes, pair: tuple[Side, Side], labels: TaskLabels, shown: Pair) -> None:
    """Draw the embedding of every frame of both videos in the colour of its true step."""
    from rgwot.stages.embed import read_embeddings

    videos = [read_embeddings(shown.task.at(paths.EMBEDDINGS, shown.run)).videos[side.video] for side in pair]
    points = two_dimensions(np.concatenate([video.embedding for video in videos]))
    start = 0
    for marker, side, video in zip(TWO_MARKERS, pair, videos, strict=True):
        part = points[start : start + len(video.time_s)]
        start += len(video.time_s)
        steps = labels.at(side.video, video.time_s)
        for step in np.unique(steps).tolist():
            style = step_style(step)
            axis.scatter(
                part[steps == step, 0], part[steps == step, 1], marker=marker, s=9 if step else 5, linewidths=0.25,
                c=style["facecolor"], edgecolors="#000000" if step else "#999999", zorder=2 if step else 1,
            )  # fmt: skip
    for marker, name in zip(TWO_MARKERS, ("X", "Y"), strict=True):
        axis.scatter([], [], marker=marker, s=12, c="#FFFFFF", edgecolors="#000000", linewidths=0.5, label=name)
    axis.legend(loc="best", handletextpad=0.1, borderpad=0.1)
    axis.set_title("(b) → learn one embedding")
    axis.set_xlabel("two principal directions", fontsize=7)
    axis.set(xticks=[], yticks=[])
    axis.spines[:].set_visible(True)
    axis.margins(0.08)


def _answers(axis: Axes, pair: tuple[Side, Side], labels: TaskLabels, shown: Pair, names: dict[int, int]) -> set[int]:
    """Draw the true and found steps of both videos and the orders found; return the steps drawn."""
    from rgwot.records import read_orders, read_procedures

    shown_labels, _ = labels.labelled(shown.task, shown.run)
    lookup = np.vectorize(lambda cluster: names.get(int(cluster), -1), otypes=[np.int64])
    rows: list[tuple[str, IntArray]] = []
    for side, name in zip(pair, ("X", "Y"), strict=True):
        video = shown_labels[side.video]
        rows += [(f"{name} true", video.truth["exact"]), (f"{name} found", lookup(video.prediction["task"]))]
    places = [0.0, 1.0, 2.4, 3.4]
    for place, (_, steps) in zip(places, rows, strict=True):
        draw_steps(axis, steps, place)
    orders = read_orders(shown.task.at(paths.ORDER, shown.run)).set_index("video")["order"]
    first = read_procedures(shown.task.at(paths.PROCEDURES, shown.run)).iloc[0]
    listed = [(f"order {name}", orders[side.video]) for side, name in zip(pair, ("X", "Y"), strict=True)]
    listed.append(("task", first["order"]))
    drawn = {int(step) for _, steps in rows for step in np.unique(steps)}
    for place, (_, order) in enumerate(listed, start=5):
        drawn |= _order(axis, steps_of_order(str(order), names), place + 0.1)
    axis.set_yticks([*places, *(place + 5.1 for place in range(3))], [name for name, _ in (*rows, *listed)])
    axis.set_xlim(0, 1)
    axis.set_ylim(7.7, -0.6)
    axis.set_xticks([])
    axis.tick_params(axis="y", length=0)
    axis.spines[["left", "bottom"]].set_visible(False)
    axis.set_title("(c) → key steps and their order")
    share = f"{int(first['n_videos'])} of {len(orders)} videos"
    axis.set_xlabel(f"task: the most frequent order, {share}", fontsize=7)
    return drawn


def _order(axis: Axes, steps: list[int], place: float) -> set[int]:
    """Draw an order as boxes with arrows between them."""
    pitch = min(0.13, 1 / max(len(steps), 1))
    for index, step in enumerate(steps):
        left = index * pitch
        axis.broken_barh([(left, 0.66 * pitch)], (place - 0.36, 0.72), **step_style(step))
        if step > 0:
            number_step(axis, left + 0.33 * pitch, place, step)
        if index + 1 < len(steps):
            axis.annotate(
                "", (left + pitch * 0.99, place), (left + 0.67 * pitch, place),
                arrowprops={"arrowstyle": "->", "linewidth": 0.6, "color": GREY, "shrinkA": 0, "shrinkB": 0},
            )  # fmt: skip
    return set(steps)
