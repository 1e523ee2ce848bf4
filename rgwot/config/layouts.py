"""The layouts of datasets on disk, each in a few words.

Layout ``x`` is read by `rgwot.datasets.x`, a `rgwot.datasets.base.Layout`.
"""

from __future__ import annotations

from collections.abc import Mapping

LAYOUTS: Mapping[str, str] = {
    "folder": "one folder per task",
    "egoprocel": "the whole EgoProceL tree, 16 tasks",
    "features": "features without videos, one folder per task",
    "packed": "features of all videos in one archive, with its table of segments",
    "frame_labels": "features with a line of annotation per frame, as FACT, MS-TCN and ASOT have them",
    "procel": "ProceL as released, 12 tasks",
    "procel_csv": "ProceL converted to EgoProceL's columns",
    "procel_stepfirst": "ProceL converted to CrossTask's columns",
    "crosstask": "the CrossTask release, 18 tasks",
}

FEATURES_ALONE = ("features", "packed", "frame_labels")
"""Layouts of features without videos."""

EITHER = ("egoprocel", "crosstask")
"""Layouts in which features may take the place of the videos."""
