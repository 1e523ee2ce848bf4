"""Checks of a dataset on disk: files, pairs of video and annotation, decoding, annotations, machine."""

from __future__ import annotations

from rgwot.study.doctor.examine import examine
from rgwot.study.doctor.report import Finding, Report, as_json, as_text

__all__ = ["Finding", "Report", "as_json", "as_text", "examine"]
