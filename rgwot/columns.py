"""Columns of the tables between stages, and what rows are told apart by. All times are seconds."""

from __future__ import annotations

import os
from urllib.parse import unquote_to_bytes

MANIFEST_COLUMNS = ("video", "name", "path", "annotation", "duration_s", "fps", "width", "height", "status", "reason")
ANNOTATION_COLUMNS = ("video", "start_s", "end_s", "key_step", "name")

SCOPES = ("task", "video")
SEGMENT_COLUMNS = ("video", "scope", "start_s", "end_s", "key_step")
ORDER_COLUMNS = ("video", "order")
PROCEDURE_COLUMNS = ("rank", "order", "n_videos", "share")
DEVIATION_COLUMNS = ("video", "kind", "key_step", "start_s", "end_s", "surprise", "sureness")

#: How a score was made: protocol, background and label rule.
CELL = ("protocol", "background", "label_rule")
#: Which run a score is of.
IDENTITY = ("dataset", "task", "method", "decoder", "seed")
SCORE_COLUMNS = (*IDENTITY, *CELL, "metric", "value")

#: The terms of the loss in ``history.csv``.
TERMS = {"loss": "total loss", "align": "alignment loss", "cidm": "C-IDM of both videos, before β"}


def readable(video: str) -> str:
    """Return the name of a video for people, by its id; the id itself where the name has letters that do not print.

    >>> readable("tues%20day"), readable("a%0Ab")
    ('tues day', 'a%0Ab')
    """
    name = os.fsdecode(unquote_to_bytes(video))
    return name if name.isprintable() else video
