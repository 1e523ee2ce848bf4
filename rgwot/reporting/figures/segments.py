"""Key steps of one task over time, in seconds: ground truth above predictions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import pandas as pd

from rgwot.names import match_to_steps
from rgwot.reporting.figures.style import BACKGROUND_COLOUR, Drawn, sheet, step_legend, step_style, styled
from rgwot.runtime.errors import RgwotError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


PALE = 0.4
"""Opacity of a segment that does not count as an occurrence of its key step."""


def _style(segment: Any) -> dict[str, Any]:
    """Return the style of a row of a table of segments; only tables of results say which segments count."""
    style = step_style(segment.key_step)
    return style if segment.key_step == 0 or getattr(segment, "counts", True) else style | {"alpha": PALE}


def segment_bars(
    manifest: pd.DataFrame,
    annotations: pd.DataFrame,
    predictions: Mapping[str, pd.DataFrame],
    title: str,
    max_videos: int = 4,
    names: Mapping[str, Mapping[int, str]] | None = None,
) -> Drawn:
    """Draw ground truth and predictions of a task as bars over time, one group per video.

    A cluster has the colour of the annotated step that it is matched to over all videos of the task (protocol
    ``macro_task``, background as a class), so a colour means the same step in every bar. If no video is annotated,
    only predictions are drawn, and a colour means a cluster of its row.

    ``predictions`` and ``names`` give segments and names of key steps by the label of their row; if rows name a step
    differently, the legend has the first row's name. The first ``max_videos`` are drawn, at least one; the matching
    always uses all.
    """
    annotated = bool((manifest.status == "ok").any())
    videos = manifest[manifest.status == ("ok" if annotated else "unscored")].reset_index(drop=True)
    if videos.empty:
        raise RgwotError(
            f"{title}: no usable video among {len(manifest)}; expected at least one; see the manifest of the task"
        )
    rows, called = {"ground truth": annotations} if annotated else {}, dict[int, str]()
    for label, table in predictions.items():
        segments = table[table["scope"] == "task"]
        steps = (
            match_to_steps(videos, annotations, segments) if annotated else {int(k): int(k) for k in segments.key_step}
        )
        rows[label] = segments.assign(key_step=[steps.get(int(step), -1) for step in segments.key_step])
        for cluster, name in (names or {}).get(label, {}).items():
            called.setdefault(steps.get(cluster, -1), name)
    drawn_videos = videos.head(max_videos)
    height = 0.28 * len(rows) * len(drawn_videos) + 0.35 * len(drawn_videos) + 1.0
    with styled():
        figure, axes = sheet(len(drawn_videos), height=height)
        for axis, (_, video) in zip(axes[:, 0], drawn_videos.iterrows(), strict=True):
            for position, table in enumerate(rows.values()):
                axis.broken_barh([(0, video.duration_s)], (position - 0.4, 0.8), facecolor=BACKGROUND_COLOUR)
                for segment in table[table.video == video.video].itertuples():
                    stretch = (segment.start_s, segment.end_s - segment.start_s)
                    axis.broken_barh([stretch], (position - 0.4, 0.8), **_style(segment))
            axis.set_yticks(range(len(rows)), rows)
            axis.invert_yaxis()
            axis.set_xlim(0, video.duration_s)
            axis.set_title(str(video["name"]), loc="left")
            axis.tick_params(length=2)
            axis.spines["left"].set_visible(False)
        axes[-1, 0].set_xlabel("seconds")
        figure.suptitle(title, x=0.01, ha="left")
        labelled = [annotations] if annotated else rows.values()
        drawn = sorted({int(step) for table in labelled for step in table.key_step})
        step_legend(figure, drawn, unmatched=annotated, columns=5, names=called)
    return figure


def segment_rows(
    axis: Axes, manifest: pd.DataFrame, segments: pd.DataFrame, names: Mapping[int, str] | None = None
) -> Drawn:
    """Draw the segments of all videos of a manifest into one picture, a row per video; return its figure."""
    from matplotlib.patches import Patch

    task = segments[segments["scope"] == "task"]
    rows = manifest.to_dict("records")
    for position, video in enumerate(rows):
        axis.broken_barh([(0, float(video["duration_s"]))], (position - 0.4, 0.8), facecolor=BACKGROUND_COLOUR)
        for segment in task[task["video"] == video["video"]].itertuples():
            stretch = (segment.start_s, segment.end_s - segment.start_s)
            axis.broken_barh([stretch], (position - 0.4, 0.8), **_style(segment))
    axis.set_yticks(range(len(rows)), [str(video["name"]) for video in rows])
    axis.invert_yaxis()
    axis.set_xlabel("seconds")
    steps = sorted({int(step) for step in task["key_step"]} - {0})
    called = {step: f"step {step}" for step in steps} | {
        step: f"step {step}: {name}" for step, name in (names or {}).items()
    }
    handles = [Patch(label=called.get(step, f"step {step}"), **step_style(step)) for step in steps]
    # Beside the axes, so that it hides no segment.
    axis.legend(handles=handles, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    return cast("Drawn", axis.figure)
