"""The folder of key steps that every decoder writes: segments, orders, the procedure, deviations and diagnostics."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rgwot.keysteps.ordering import Order, format_order, rank_procedures
from rgwot.paths import DIAGNOSTICS, ORDER, PROCEDURES, SEGMENTS, name_of
from rgwot.procedure import FOUND, Procedure, Recording, deviations, learn, recordings_from_segments
from rgwot.procedure.files import write_procedure
from rgwot.records import SCOPES, SEGMENT_COLUMNS
from rgwot.runtime.files import replacing, write_csv, write_json


def write_keysteps(
    output_dir: str | Path,
    segments: Mapping[str, Mapping[str, pd.DataFrame]],
    orders: Mapping[str, Order],
    procedure: Procedure,
    diagnostics: Mapping[str, Any],
) -> None:
    """Write every file of a folder of key steps (`rgwot.paths.KEYSTEPS`), all or none.

    An existing folder is replaced as a whole. ``segments`` (``start_s,end_s,key_step``) are those of each scope there
    is and video; ``orders`` those of the scope ``task``, where clusters mean the same in every video. ``procedure`` was
    learned from these videos (`procedure_of`) or from others; the videos are compared with it.
    """
    rows = [
        frame.assign(video=video, scope=scope)[list(SEGMENT_COLUMNS)]
        for scope in SCOPES
        if scope in segments
        for video, frame in segments[scope].items()
    ]
    with replacing(output_dir) as folder:
        folder.mkdir()
        write_csv(pd.concat(rows, ignore_index=True), folder / name_of(SEGMENTS))
        texts = [format_order(order) for order in orders.values()]
        write_csv(pd.DataFrame({"video": list(orders), "order": texts}), folder / name_of(ORDER))
        write_csv(rank_procedures(orders), folder / name_of(PROCEDURES))
        write_procedure(folder, procedure, deviations(procedure, _recordings(segments["task"])))
        write_json(dict(diagnostics), folder / name_of(DIAGNOSTICS))


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
