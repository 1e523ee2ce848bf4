"""Timelines of real people doing real recipes: CaptainCook4D, compressed to clips of 40 to 90 seconds.

The data and their licence lie in ``data/``; ``data/README.md`` says how they were made.
"""

from __future__ import annotations

import csv
from importlib.resources import files

from rgwot.runtime.errors import RgwotError
from rgwot.synthetic.ground_truth import Segment, Timeline

K = 7
"""Key steps of every recipe in the file."""


def recipes() -> list[int]:
    """Return the ``activity_id`` of every recipe, ascending."""
    return sorted({int(row["activity_id"]) for row in _rows()})


def read_recipe(activity_id: int) -> list[Timeline]:
    """Read the timelines of one recipe, one per recording, sorted by recording."""
    lengths: dict[str, float] = {}
    segments: dict[str, list[Segment]] = {}
    for row in _rows():
        if int(row["activity_id"]) == activity_id:
            recording = row["recording_id"]
            lengths[recording] = float(row["clip_s"])
            segment = Segment(float(row["start_s"]), float(row["end_s"]), int(row["label"]))
            segments.setdefault(recording, []).append(segment)
    if not lengths:
        known = ", ".join(str(recipe) for recipe in recipes())
        raise RgwotError(f"synth.recipe: recipe {activity_id}: not in the CaptainCook4D timelines; known: {known}")
    order = sorted(lengths, key=lambda recording: [int(part) for part in recording.split("_")])
    return [Timeline(lengths[recording], tuple(sorted(segments[recording]))) for recording in order]


def _rows() -> list[dict[str, str]]:
    text = files("rgwot.synthetic").joinpath("data/captaincook4d_clips_k7.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
