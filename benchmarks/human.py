"""Render synthetic videos that follow timelines of real people (CaptainCook4D) into folders.

benchmarks/data/recipes.csv lists the datasets: ten clips each, which follow recordings of a recipe of seven key steps.
``levels`` is ``plain``, for the steps as people did them, or ``published``, with gaps and repeats as in EgoProceL.

    python benchmarks/human.py DATASET ... [--jobs 2]    # into results/synthetic/DATASET, if it is missing
"""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rgwot.config.configuration import Config
from rgwot.runtime.errors import RgwotError
from rgwot.synthetic.settings import SynthSettings
from rgwot.synthetic.timelines import (
    Piece,
    Timeline,
    TimelineSegment,
    VideoPlan,
    compose,
    floor_ms,
    plan,
    present,
    whole_frames,
)
from rgwot.synthetic.videos import write_videos

HOUSE = Path(__file__).resolve().parents[1]
DATA = HOUSE / "benchmarks" / "data"
PEOPLE_K = 7
"""Key steps of every recipe."""


class Rendered(NamedTuple):
    """A dataset of one task: the recipe that it follows, and the levels."""

    task: str
    recipe: int
    levels: str
    seed: int


def rendered() -> dict[str, Rendered]:
    """Return the datasets by name."""
    with (DATA / "recipes.csv").open(encoding="utf-8") as file:
        return {
            row["dataset"]: Rendered(row["task"], int(row["recipe"]), row["levels"], int(row["seed"]))
            for row in csv.DictReader(file)
        }


def recipes() -> list[int]:
    """Return the ``activity_id`` of every recipe, ascending."""
    return sorted({int(row["activity_id"]) for row in _rows()})


def read_recipe(activity_id: int) -> list[Timeline]:
    """Read the timelines of one recipe, one per recording, sorted by recording."""
    lengths: dict[str, float] = {}
    segments: dict[str, list[TimelineSegment]] = {}
    for row in _rows():
        if int(row["activity_id"]) == activity_id:
            recording = row["recording_id"]
            lengths[recording] = float(row["clip_s"])
            segment = TimelineSegment(float(row["start_s"]), float(row["end_s"]), int(row["label"]))
            segments.setdefault(recording, []).append(segment)
    if not lengths:
        known = ", ".join(str(recipe) for recipe in recipes())
        raise RgwotError(f"recipe {activity_id}: not in the CaptainCook4D timelines; known: {known}")
    order = sorted(lengths, key=lambda recording: [int(part) for part in recording.split("_")])
    return [Timeline(lengths[recording], tuple(sorted(segments[recording]))) for recording in order]


def _rows() -> list[dict[str, str]]:
    return list(csv.DictReader((DATA / "captaincook4d_clips_k7.csv").read_text(encoding="utf-8").splitlines()))


def from_human(
    K: int, settings: SynthSettings, rng: np.random.Generator, clips: Sequence[Timeline], levels: str
) -> list[Timeline]:
    """Make the timelines of one task from randomly chosen timelines of real people.

    ``clips`` are the recordings of one recipe with K key steps, compressed to 40-90 s (`read_recipe`), at least as many
    clips as videos. Lengths of 40 and 90 s are mapped to ``min_s`` and ``max_s``; order, proportions and gaps stay.
    With ``published`` levels, background, missing and repeated steps are brought to the levels of the settings, and the
    order stays that of the person; ``plain`` leaves the clips as they are.
    """
    chosen = [clips[index] for index in sorted(rng.permutation(len(clips))[: settings.n_videos])]
    spread = settings.max_s - settings.min_s
    lengths = np.array([settings.min_s + (clip.duration_s - 40.0) / 50.0 * spread for clip in chosen])
    if levels == "plain":
        return [_scaled(clip, length) for clip, length in zip(chosen, lengths, strict=True)]
    done = np.zeros((len(chosen), K), dtype=bool)
    for row, clip in zip(done, chosen, strict=True):
        row[[segment.key_step - 1 for segment in clip.segments]] = True
    shown = present(done, settings.missing, rng)
    sequences = [
        [Piece(s.key_step, s.end_s - s.start_s) for s in clip.segments if kept[s.key_step - 1]]
        for clip, kept in zip(chosen, shown, strict=True)
    ]
    return compose(sequences, lengths, K, settings, rng)


def _scaled(clip: Timeline, length: float) -> Timeline:
    duration = whole_frames(length)
    factor = duration / clip.duration_s
    segments = (
        TimelineSegment(round(s.start_s * factor, 3), min(round(s.end_s * factor, 3), floor_ms(duration)), s.key_step)
        for s in clip.segments
    )
    return Timeline(duration, tuple(segments))


def videos_of(about: Rendered, n_videos: int = 10) -> tuple[list[VideoPlan], SynthSettings]:
    """Return the plan of a dataset, and its settings."""
    clips = read_recipe(about.recipe)
    if len(clips) < n_videos:
        raise RgwotError(
            f"recipe {about.recipe}: has {len(clips)} recordings, expected {n_videos} or more; choose another recipe"
        )
    settings = SynthSettings(tasks=(about.task,), K=PEOPLE_K, n_videos=n_videos, seed=about.seed)
    return plan(settings, partial(from_human, clips=clips, levels=about.levels)), settings


def task_of(config: Config, dataset: str) -> str:
    """Return the one task of a synthetic dataset of the configuration."""
    known, synth = rendered().get(dataset), config.dataset(dataset).synth
    if known is not None:
        return known.task
    assert synth is not None, dataset
    return synth.tasks[0]


def render(datasets: Iterable[str], jobs: int = 1) -> None:
    """Write those of the named datasets that follow people and do not exist."""
    known = rendered()
    for name in datasets:
        folder = HOUSE / "results" / "synthetic" / name
        if name in known and not folder.exists():
            write_videos(*videos_of(known[name]), folder, jobs)


def main() -> None:
    """Render the named datasets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="+", choices=sorted(rendered()), metavar="DATASET")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    render(options.datasets, options.jobs)


if __name__ == "__main__":
    main()
