"""Columns of the tables between stages, and the columns that identify rows. All times are seconds."""

from __future__ import annotations

import os
from urllib.parse import unquote_to_bytes

MANIFEST_COLUMNS = (
    "video", "name", "path", "annotation", "duration_s", "fps", "width", "height", "status", "reason", "start_s"
)  # fmt: skip
ANNOTATION_COLUMNS = ("video", "start_s", "end_s", "key_step", "name")

SCOPES = ("task", "video")
SEGMENT_COLUMNS = ("video", "scope", "start_s", "end_s", "key_step")
#: The last columns of segments: the key step that each shows, mostly its own, and whether it counts as an occurrence.
OCCURRENCE_COLUMNS = (SHOWS, COUNTS) = ("shows", "counts")
ORDER_COLUMNS = ("video", "order")
PROCEDURE_COLUMNS = ("rank", "order", "n_videos", "share")
DEVIATION_COLUMNS = ("video", "kind", "key_step", "start_s", "end_s", "surprise", "sureness", "against")

#: The columns that say how a score was made: protocol, background and label rule.
CELL = ("protocol", "background", "label_rule")
#: The columns that identify the run of a score.
IDENTITY = ("dataset", "task", "method", "decoder", "seed")
SCORE_COLUMNS = (*IDENTITY, *CELL, "metric", "value")

#: The loss terms in ``history.csv``.
TERMS = {"loss": "total loss", "align": "alignment loss", "cidm": "C-IDM of both videos, before β"}

#: Ways to learn the procedure (`rgwot.procedure.LEARNERS`) in a few words, the default first.
LEARNER_NAMES = {
    "robust": "ours, allows for errors of people and of predicted key steps",
    "precedence": "before in most videos",
    "intersection": "before in all videos",
    "chain": "one order",
}


def readable(video: str) -> str:
    """Return the readable name of a video by its id, or the id itself if the name has unprintable characters.

    >>> readable("tues%20day"), readable("a%0Ab")
    ('tues day', 'a%0Ab')
    """
    name = os.fsdecode(unquote_to_bytes(video))
    return name if name.isprintable() else video
