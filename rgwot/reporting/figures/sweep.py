"""Scores over a parameter: one panel per sweep, or a line per method over the number of training videos."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rgwot.evaluation.protocols import PROTOCOLS
from rgwot.reporting.figures.drawing import Drawing, drawing
from rgwot.reporting.figures.style import DASHES, GREY, Axes, Drawn, line_style, sheet, tell
from rgwot.reporting.tables.reported import METRICS, read_reported
from rgwot.reporting.tables.scores import over_tasks
from rgwot.reporting.tables.table import Place, Row, canonical, check_known, score_files, tasks_behind
from rgwot.study.datasets import known_K, videos
from rgwot.study.study import Study, Task

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
#: The protocol of every point (scored with background and exact labels), and the metrics of a sweep.
PROTOCOL, SWEPT = "micro_video", ("precision", "recall", "f1", "iou")
#: Added to captions of figures with measured and reported numbers.
FINE_TUNED = "; reported numbers: of a fine-tuned backbone, ours is frozen"
#: Ticks nearer than this share of the axis would run into each other.
APART = 0.11
STAR: dict[str, Any] = {
    "marker": "*", "markersize": 9, "markeredgecolor": "#000000", "markeredgewidth": 0.5, "linestyle": "none",
}  # fmt: skip
#: Labels of the second axis, which is above a panel.
ABOVE = {"radius": "active radius a, frames", "temperature": "temperature ε/(1−α)"}
Sweepable = Mapping[float | str, Row]
"""Rows by the value of a parameter; ``gt`` and ``gt+1`` are numbers of key steps, ``all`` is the number of videos."""
Curve = Mapping[float, tuple[Path, ...]]
"""Files of scores by the value of a parameter, in ascending order."""


@dataclass(frozen=True, kw_only=True)
class ReportedCurve:
    """Reported numbers beside a curve.

    They are the rows of ``file`` that match ``where`` (column to value). ``x`` is the column with the parameter, or its
    value if it is the same for all rows. ``mark`` is written beside the points.
    """

    file: Path = field(repr=False)
    x: float | str
    where: Mapping[str, str] = field(default_factory=dict)
    mark: str = "reported"


class _Panel(NamedTuple):
    """A panel of a sweep: curves over a parameter, called ``label``, at one place.

    ``untrained`` are curves of methods without training. ``above`` is the derived value (a key of `ABOVE`) on a second
    axis. ``frames`` is the number of frames of a transport problem, including the virtual frame. ``classes`` is
    K_gt + 1, which is marked, or None.
    """

    place: Place
    label: str
    curve: Curve
    untrained: Mapping[str, Curve]
    log: bool
    above: str | None
    frames: int
    epsilon: float
    classes: int | None
    reported: ReportedCurve | None


def panel(
    study: Study, place: Place, label: str, rows: Sweepable, *, untrained: Mapping[str, Sweepable] | None = None,
    log: bool = False, above: str | None = None, classes: bool = False, reported: ReportedCurve | None = None,
) -> _Panel:  # fmt: skip
    """Return a panel of rows over a parameter; ``classes`` marks K_gt + 1, the number of classes with background."""
    check_known("annotation", filter(None, [above]), ABOVE)
    lines = {name: score_curve(study, place, line) for name, line in (untrained or {}).items()}
    used = study.experiments.values(next(iter(rows.values())).method, place.dataset)
    K = annotated_K(study, place) if classes else None
    return _Panel(
        place, label, score_curve(study, place, rows), lines, log, above,
        used["train.N"] + (used["ot.virtual"] == "cost"), used["ot.epsilon"], None if K is None else K + 1, reported,
    )  # fmt: skip


def annotated_K(study: Study, place: Place) -> int | None:
    """Return the number of annotated key steps if it is known and the same for all tasks."""
    numbers = {known_K(Task(study, *task)) for task in tasks_behind(study, [place])}
    return numbers.pop() if len(numbers) == 1 else None


def score_curve(study: Study, place: Place, rows: Sweepable) -> Curve:
    """Return the files of scores of rows; ``gt`` and ``gt+1`` are left out if K_gt is unknown."""
    behind, K = tasks_behind(study, [place]), annotated_K(study, place)
    words = {"all": float(max(len(videos(Task(study, *task))) for task in behind))}
    if K is not None:
        words |= {"gt": float(K), "gt+1": float(K + 1)}
    at: dict[float, Row] = {}
    for value, row in rows.items():
        if value in words or not isinstance(value, str):
            at.setdefault(words[value] if isinstance(value, str) else float(value), canonical(study, row))
    return {value: tuple(score_files(study, row, behind)) for value, row in sorted(at.items())}


def scored(
    study: Study, draw: Callable[..., Drawn], shown: tuple[Any, ...], curves: Iterable[Curve],
    reported: Iterable[ReportedCurve | None], places: Sequence[Place], caption: str,
) -> Drawing:  # fmt: skip
    """Return a figure of scores under `PROTOCOL`."""
    files = [file for curve in curves for files in curve.values() for file in files]
    files += [points.file for points in reported if points is not None]
    note = f"protocol {PROTOCOLS[PROTOCOL].letter} ({PROTOCOL}), background a class, exact labels"
    return drawing(
        study, draw, (*shown, study.config.seeds), files, caption=caption, places=places, notes=[note],
        seeds=study.config.seeds, protocols=PROTOCOL,
    )  # fmt: skip


def parameter_sweep(study: Study, panels: Sequence[_Panel]) -> Drawing:
    """Return a figure of scores over a parameter, one panel per sweep."""
    caption = (
        "Scores over a parameter: means over seeds as in the tables, bands from the least to the largest seed, "
        "stars as papers report."
    )
    curves = [curve for panel in panels for curve in (panel.curve, *panel.untrained.values())]
    reported, places = [panel.reported for panel in panels], [panel.place for panel in panels]
    return scored(study, _draw_sweep, (tuple(panels),), curves, reported, places, caption)


def read_curve(curve: Curve) -> dict[float, pd.DataFrame]:
    """Read the scores behind a curve, by the value of the parameter: a row per run, a column per metric."""
    from rgwot.columns import CELL, IDENTITY
    from rgwot.records import read_scores

    read = {}
    for value, files in curve.items():
        scores = read_scores(dict.fromkeys(files))
        chosen = scores[(scores[list(CELL)] == [PROTOCOL, "with", "exact"]).all(axis=1)]
        read[value] = chosen.pivot(index=list(IDENTITY), columns="metric", values="value").reset_index()
    return read


def curve(scores: Mapping[float, pd.DataFrame], metric: str) -> pd.DataFrame:
    """Return the points of one line from the scores at every value, averaged as in the tables (methods 6.1).

    A row is a point: the parameter ``x``; ``mean``, ``low`` and ``high`` over seeds, in [0, 1]; and whether a run
    behind it is ``degenerate``.
    """
    import pandas as pd

    points = []
    for value, by_seed in scores.items():
        seeds = over_tasks(by_seed, metric, PROTOCOL)
        points.append((value, seeds.mean(), seeds.min(), seeds.max(), bool((by_seed["degenerate"] > 0).any())))
    return pd.DataFrame(points, columns=["x", "mean", "low", "high", "degenerate"])


def reported_points(
    curve: ReportedCurve, place: Place, metrics: Iterable[str]
) -> Mapping[str, list[tuple[float, float]]]:
    """Return a paper's values per metric, sorted as (parameter, value in [0, 1]); empty if it prints none."""
    frame = read_reported(curve.file, [*curve.where, *([curve.x] if isinstance(curve.x, str) else [])])
    kept_rows = frame[frame["value"].notna() & (frame["dataset"] == place.reported)]
    kept_rows = kept_rows[kept_rows["task"].isin(place.reported_tasks)]
    kept_rows = kept_rows[(kept_rows[list(curve.where)] == list(curve.where.values())).all(axis=1)]
    points = {}
    for metric in metrics:
        rows = kept_rows[kept_rows["metric"] == METRICS[metric].reported]
        if len(rows):
            x = rows[curve.x] if isinstance(curve.x, str) else [curve.x] * len(rows)
            points[metric] = sorted(zip(map(float, x), (rows["value"] / 100).tolist(), strict=True))
    return points


def _draw_sweep(title: str, about: str, panels: Sequence[_Panel], seeds: Sequence[int]) -> Drawn:
    """Draw every panel."""
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    drawn, axes = sheet(rows, columns, height=2.25 * rows + 0.95, sharey=True)
    for axis, shown in zip(axes.flat, panels, strict=False):
        _scores(axis, shown)
        if len({panel.place.name for panel in panels}) > 1:
            axis.set_title(shown.place.label)
    for axis in axes[:, 0]:
        axis.set_ylabel("score, %")
        axis.set_ylim(bottom=0)
    _legend(drawn, axes)
    band = "; line: mean over seeds, band: least to largest" if len(seeds) > 1 else ""
    features = FINE_TUNED if any(panel.reported for panel in panels) else ""
    tell(drawn, title, f"{about}{band}{features}")
    return drawn


def _scores(axis: Axes, shown: _Panel) -> None:
    """Draw the metrics of one sweep."""
    scores = read_curve(shown.curve)
    for number, metric in enumerate(SWEPT):
        draw_curve(axis, curve(scores, metric), number, METRICS[metric].label)
    for name, other in shown.untrained.items():
        curve_here, label = curve(read_curve(other), "f1"), f"{name} answer without training, F1"
        look: dict[str, Any] = {"color": GREY, "linewidth": 0.9, "linestyle": (0, (1, 1.5))}
        axis.plot(curve_here["x"], 100 * curve_here["mean"], zorder=1, label=label, **look)
    if shown.reported is not None:
        for name, points in reported_points(shown.reported, shown.place, SWEPT).items():
            colour = line_style(SWEPT.index(name))["color"]
            axis.plot([x for x, _ in points], [100 * y for _, y in points], **STAR, color=colour, zorder=5)
        axis.plot([], [], **STAR, color="#FFFFFF", label=shown.reported.mark)
    _axis(axis, shown, np.array(list(shown.curve)))


def _legend(drawn: Drawn, axes: NDArray[Any]) -> None:
    """Explain the curves below a figure, once for all panels."""
    handles = {
        label: handle for axis in axes.flat for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    # As many columns as fit into a page.
    columns = 105 // (max(map(len, handles)) + 6)
    drawn.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=max(1, min(len(handles), columns)))


def above(kind: str, x: Array, frames: int, epsilon: float) -> list[str]:
    """Return the annotation (a key of `ABOVE`) of the axis at every value of the parameter.

    The annotation is the active radius, or the temperature epsilon / (1 - alpha); if the structural prior is off, alpha
    changes only this temperature (methods 3.4).
    """
    from rgwot.transport import structure_radius

    if kind == "radius":
        return [str(structure_radius(frames, float(value))) for value in x]
    return [f"{epsilon / (1 - float(value)):.2g}".removeprefix("0") for value in x]


def spaced(places: Array, apart: float = APART) -> list[int]:
    """Return which of the places (n,), increasing in [0, 1], can have a label that does not touch the label before.

    >>> spaced(np.array([0.0, 0.05, 0.5, 1.0]))
    [0, 2, 3]
    """
    spread_places: list[int] = []
    for index, place in enumerate(places):
        if not spread_places or place - places[spread_places[-1]] >= apart:
            spread_places.append(index)
    return spread_places


def draw_curve(axis: Axes, points: pd.DataFrame, number: int, label: str) -> None:
    """Draw a line in percent with its band; open markers where a run behind a point is degenerate."""
    style = line_style(number)
    axis.plot(points["x"], 100 * points["mean"], label=label, **style)
    axis.fill_between(
        points["x"], 100 * points["low"], 100 * points["high"], color=style["color"], alpha=0.18, linewidth=0
    )
    bad = points[points["degenerate"]]
    opened: dict[str, Any] = {"color": style["color"], "markerfacecolor": "#FFFFFF"}
    said = "open: a run behind it is degenerate" if len(bad) else None
    axis.plot(bad["x"], 100 * bad["mean"], style["marker"], label=said, **opened)


def _axis(axis: Axes, shown: _Panel, x: Array) -> None:
    """Scale and annotate the axis of the parameter."""
    if shown.log:
        axis.set_xscale("log" if x.min() > 0 else "symlog")
    axis.set_xlabel(shown.label)
    axis.minorticks_off()
    low, high = axis.transData.transform([(x[0], 0), (x[-1], 0)])[:, 0]
    places = (axis.transData.transform(np.column_stack([x, np.zeros(len(x))]))[:, 0] - low) / max(high - low, 1)
    ticks = spaced(places)
    axis.set_xticks(x[ticks], [f"{value:g}" for value in x[ticks]])
    axis.grid(axis="y", linewidth=0.3, color="#CCCCCC")
    if shown.above is not None:
        ticks = ticks if shown.above == "temperature" else spaced(places, 0.03)
        top = axis.secondary_xaxis("top")
        top.set_xticks(x[ticks], above(shown.above, x[ticks], shown.frames, shown.epsilon))
        top.minorticks_off()
        top.spines[:].set_visible(False)
        top.tick_params(length=2)
        top.set_xlabel(ABOVE[shown.above], fontsize=7)
    if shown.above == "radius":
        left, right = axis.get_xlim()
        axis.set_xlim(left, right)
        axis.axvspan(left, 1 / shown.frames, color="#EEEEEE", zorder=0)
        axis.text(0.02, 0.03, "prior off", transform=axis.transAxes, fontsize=7, color=GREY)
    if shown.classes is not None:
        # If K = K_gt + 1, every class and every cluster has a partner, so that P and R are shares of the same frames
        # (methods 6.1, A).
        note = f"K_gt + 1 = {shown.classes}: P = R"
        axis.axvline(shown.classes, color=GREY, linewidth=0.8, linestyle=(0, (4, 2)))
        axis.annotate(
            note, (shown.classes, 0), (3, 3), xycoords=("data", "axes fraction"), textcoords="offset points",
            fontsize=7, color=GREY,
        )  # fmt: skip


def growth_by_videos(
    study: Study, dataset: Place, rows: Mapping[str, Sweepable], levels: Sequence[Row] = (),
    reported: ReportedCurve | None = None, reported_methods: Sequence[str] = (),
) -> Drawing:  # fmt: skip
    """Return a figure of F1 over the number of training videos: a line per method.

    ``levels`` are rows without training, drawn as horizontal lines, ``reported_methods`` the methods with points of
    ``reported``.
    """
    caption = (
        "A score over the number of training videos, scored on all videos; horizontal lines need no training, "
        "stars are as papers report."
    )
    lines = {name: score_curve(study, dataset, line) for name, line in rows.items()}
    flat = {row.label: score_curve(study, dataset, {0: row}) for row in levels}
    shown = (dataset, lines, flat, reported, tuple(reported_methods))
    curves = [*lines.values(), *flat.values()]
    return scored(study, _draw_growth, shown, curves, [reported], [dataset], caption)


def _draw_growth(
    title: str, about: str, place: Place, lines: Mapping[str, Curve], levels: Mapping[str, Curve],
    reported: ReportedCurve | None, methods: Sequence[str], seeds: Sequence[int],
) -> Drawn:  # fmt: skip
    """Draw measured scores, levels of answers without training, and reported scores at their number of videos."""
    drawn, axes = sheet(height=4.3)
    axis = axes[0, 0]
    for number, (name, line) in enumerate(lines.items()):
        draw_curve(axis, curve(read_curve(line), "f1"), number, name)
    for number, (label, level) in enumerate(levels.items()):
        value = 100 * float(curve(read_curve(level), "f1")["mean"].iloc[0])
        dashes = DASHES[1 + number % (len(DASHES) - 1)]
        axis.axhline(value, label=f"{label} {value:.1f}", color=GREY, linewidth=0.9, linestyle=dashes)
    sizes = {value for line in lines.values() for value in line}
    if reported is not None:
        # A method has one colour, measured or reported.
        known = list(dict.fromkeys([*lines, *methods]))
        for method in methods:
            of_method = replace(reported, where={**reported.where, "method": method})
            for x, value in reported_points(of_method, place, ["f1"]).get("f1", []):
                text = f"{method}, {reported.mark} {100 * value:.1f}"
                colour = line_style(known.index(method))["color"]
                axis.plot([x], [100 * value], color=colour, zorder=5, label=text, **STAR)
        sizes |= set() if isinstance(reported.x, str) else {float(reported.x)}
    axis.set_xticks(sorted(sizes), [f"{size:g}" for size in sorted(sizes)])
    axis.set_xlabel("training videos")
    axis.set_ylabel("F1, %")
    axis.set_ylim(bottom=0)
    _legend(drawn, axes)
    band = "; line: mean over seeds (each draws its own videos), band: least to largest"
    caption = f"{about}{band if len(seeds) > 1 else ''}; scored on all videos of the task"
    tell(drawn, title, f"{caption}{FINE_TUNED if reported else ''}")
    return drawn
