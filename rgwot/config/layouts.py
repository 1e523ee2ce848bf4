"""The ways in which datasets lie on disk: the one list of their names.

Layout ``x`` is read by `rgwot.datasets.x` (a `rgwot.datasets.base.Layout`) and written by `rgwot.synthetic.layouts.x`;
nothing else in the package knows one by its name.
"""

from __future__ import annotations

from collections.abc import Mapping

LAYOUTS: Mapping[str, str] = {
    "folder": "one folder per task",
    "egoprocel": "the whole EgoProceL tree, 16 tasks",
    "procel": "ProceL as released, 12 tasks",
    "procel_csv": "ProceL converted to EgoProceL's columns",
    "procel_stepfirst": "ProceL converted to CrossTask's columns",
    "crosstask": "the CrossTask release, 18 tasks",
}
"""What each layout is, by name."""
