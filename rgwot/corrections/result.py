"""A corrected result: what stands in a folder of key steps, made anew from corrected segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from rgwot.corrections.edits import Edit
from rgwot.corrections.replay import Corrected, apply_corrections
from rgwot.keysteps.ordering import Order, order_of_segments
from rgwot.keysteps.outputs import KeySteps
from rgwot.procedure import Procedure, learn, recordings_from_segments
from rgwot.records import SCOPES


def corrected_result(
    segments: pd.DataFrame,
    orders: Mapping[str, Order],
    procedure: Procedure,
    diagnostics: Mapping[str, Any],
    edits: Sequence[Edit],
    names: Mapping[int, str] | None = None,
) -> tuple[KeySteps, Corrected]:
    """Correct a result; return its key steps then, and what `apply_corrections` said.

    Parameters
    ----------
    segments, orders, procedure, diagnostics
        As a decoder found them. The procedure is learned anew, by its own learner and settings and from the videos that
        it was learned from. Diagnostics remain those of the decoder, with the number of corrections and of those that
        hold.
    edits, names
        As of `apply_corrections`.
    """
    replayed = apply_corrections(segments, edits, names)
    columns = ["start_s", "end_s", "key_step"]
    tables = {
        str(scope): {str(video): own[columns] for video, own in part.groupby("video", sort=False)}
        for scope, part in replayed.segments.groupby("scope")
        if scope in SCOPES
    }
    task, before = tables["task"], dict(list(segments[segments["scope"] == "task"].groupby("video", sort=False)))
    found = {
        video: orders[video]
        if video in orders and np.array_equal(own, before[video][columns])
        else order_of_segments(own)
        for video, own in task.items()
    }
    seen = {video.video for video in procedure.videos}
    learned_from = replayed.segments[replayed.segments["video"].isin(seen)]
    again = learn(recordings_from_segments(learned_from), procedure.learner, **procedure.settings)
    counts = {"edits": len(edits), "hold": int(replayed.report["holds"].sum())}
    return KeySteps(tables, found, again, {**diagnostics, "corrections": counts}), replayed
