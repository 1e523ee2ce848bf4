"""Segments from the annotation files of other programs: one module per format, all in `ANNOTATION_READERS`."""

from rgwot.datasets.annotation_files.interface import read_annotation_file

__all__ = ["read_annotation_file"]
