"""What every decoder finds: segments, orders, the procedure and diagnostics."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from rgwot.columns import SCOPES, SEGMENT_COLUMNS
from rgwot.keysteps.interface import Learned
from rgwot.keysteps.ordering import Order, format_order
from rgwot.procedure import FOUND, Deviation, Procedure, Recording, deviations, learn, recordings_from_segments


@dataclass(frozen=True)
class KeySteps:
    """The key steps of a task, found by any decoder.

    Attributes
    ----------
    segments
        For each scope and video a table ``start_s, end_s, key_step``, times in seconds.
    orders
        For each video the order of its key steps of scope ``task``, where clusters mean the same in every video.
    procedure
        The task graph, learned from these videos (`procedure_of`) or from others.
    diagnostics
        The content of ``diagnostics.json``.
    learned
        What the decoder learned, by which other videos are labelled; None where it has no rule for them.
    """

    segments: Mapping[str, Mapping[str, pd.DataFrame]]
    orders: Mapping[str, Order]
    procedure: Procedure
    diagnostics: dict[str, Any]
    learned: Callable[[], Learned] | None = None

    @property
    def segment_table(self) -> pd.DataFrame:
        """All segments, ``video, scope, start_s, end_s, key_step``."""
        rows = [
            frame.assign(video=video, scope=scope)[list(SEGMENT_COLUMNS)]
            for scope in SCOPES
            for video, frame in self.segments.get(scope, {}).items()
        ]
        return pd.concat(rows, ignore_index=True)

    @property
    def order_table(self) -> pd.DataFrame:
        """The orders as text, ``video, order``."""
        texts = [format_order(order) for order in self.orders.values()]
        return pd.DataFrame({"video": list(self.orders), "order": texts})

    @property
    def deviations(self) -> list[Deviation]:
        """What every video does differently from the procedure."""
        return deviations(self.procedure, _recordings(self.segments["task"]))


def procedure_of(
    segments: Mapping[str, pd.DataFrame], learner: str, held_out: Collection[str] = (), annotated: bool = False
) -> Procedure:
    """Learn the procedure of videos from their segments of the scope ``task``, without those held out.

    Learners that can allow for the errors of a decoder do, unless the segments were ``annotated`` by people.
    """
    recordings = _recordings({video: frame for video, frame in segments.items() if video not in held_out})
    return learn(recordings, learner, **({} if annotated else FOUND.get(learner, {})))


def _recordings(segments: Mapping[str, pd.DataFrame]) -> list[Recording]:
    return recordings_from_segments(
        pd.concat([frame.assign(video=video) for video, frame in segments.items()], ignore_index=True)
    )


def generator_for(seed: int, video: str | None = None) -> np.random.Generator:
    """Return the random generator of a task, or of one video.

    A video's own depends on its name alone, so that adding a video to a task leaves the others as they were.
    """
    return np.random.default_rng([seed] if video is None else [seed, 1, zlib.crc32(video.encode())])
