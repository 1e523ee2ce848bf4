"""Annotations of ELAN: a tier of an ``.eaf`` file; a gap or an empty value is background."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

from rgwot.datasets.doors.boris import media_stem
from rgwot.datasets.doors.interface import Hints, Row
from rgwot.datasets.faults import DataFault
from rgwot.runtime.optional import optional


def fits(head: str) -> bool:
    """Return whether a file begins like one of ELAN."""
    return "ANNOTATION_DOCUMENT" in head


def read(path: Path, hints: Hints) -> Iterator[Row]:
    """Read the tier that is meant; the video is the first linked file, else the one of the file's own name."""
    pympi = optional("pympi", path, "pip install pympi-ling")
    with warnings.catch_warnings():
        # It complains of every version but three, and reads them.
        warnings.simplefilter("ignore")
        document = pympi.Eaf(str(path))
    media = [media_stem(one["MEDIA_URL"]) for one in document.get_linked_files()]
    # Those that only refer to annotations of another tier have no times.
    tier = hints.chosen(path, [name for name, (aligned, *_) in document.tiers.items() if aligned] or document.tiers)
    for start, end, value in document.get_annotation_data_for_tier(tier):
        if start is None or end is None:
            raise DataFault("time", path, tier, f"{value!r} has no time of its own; expected a tier with times")
        yield Row(media[0] if media else path.stem, start / 1000, end / 1000, value, f"tier {tier!r} at {start} ms")
