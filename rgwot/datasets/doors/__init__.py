"""Segments from the annotation files of other programs: one module per format, listed in `interface.FORMATS`."""

from rgwot.datasets.doors.interface import read_segments

__all__ = ["read_segments"]
