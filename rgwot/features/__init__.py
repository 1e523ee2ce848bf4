"""Frames to features: the frozen networks, the Zarr store of a video, extraction and its index."""

from __future__ import annotations

#: What the array of features is called: maps of the paper's backbone, and anything else.
CONV4C, OTHER = "conv4c", "features"
ARRAYS = (CONV4C, OTHER)


def left_out(status: str, imported: bool) -> bool:
    """Whether a store of this status lacks frames because bad videos were to be skipped when it was made.

    Imported features are ``partial`` also where ``on_mismatch: trim`` takes too few.
    """
    return status == "skipped" or (status == "partial" and not imported)
