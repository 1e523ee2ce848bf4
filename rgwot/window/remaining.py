"""The stage of a run, and about how long a first answer still takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from rgwot import paths
from rgwot.records import read_manifest
from rgwot.runtime.errors import RgwotError
from rgwot.study.datasets import tasks
from rgwot.study.study import Study

#: The stages of a first answer, and the first words of the names of their rules; other rules belong to the second one.
STAGES = {
    "reading the videos": ("manifest", "strips", "extract", "import", "index"),
    "finding key steps": ("embed", "train", "decode", "evaluate", "view"),
    "writing the page": ("page", "first"),
}
#: What follows the reading of the videos takes about this part of its time, and these seconds for each job.
AFTER_READING, EACH_JOB_S = 0.5, 1.5


class Footage(NamedTuple):
    """The seconds of a video, and whether its features are there."""

    seconds: float
    is_read: bool


def stage_of(rules: Iterable[str]) -> int:
    """Return the number, from 1, of the first of `STAGES` that is at work when jobs of these rules are, or 0.

    >>> stage_of(["view", "extract_video"])
    1
    """
    heads = {rule.partition("_")[0] for rule in rules}
    stages = [next((at for at, stage in enumerate(STAGES.values(), 1) if head in stage), 2) for head in heads]
    return min(stages, default=0)


class Remaining:
    """Estimates the seconds that are left of a run that reads videos, from the speed at which it reads them."""

    def __init__(self) -> None:
        self._pace = 0.0
        #: Seconds from the end of reading to that of the run, and the jobs that are left then.
        self._after: tuple[float, int] | None = None

    def __call__(self, run: Mapping[str, Any], videos: Mapping[str, Footage]) -> float | None:
        """Return the seconds left of a run in a state (`Runs.state`); None for a run that has read no video yet.

        ``videos`` are those of all tasks, by the name of their file.
        """
        if not run["at_work"]:
            self._pace, self._after = 0.0, None
            return None
        jobs = run["steps"] - run["done"]
        reading = [note for note in run["progress"] if note["unit"] == "frame" and note["title"] in videos]
        if not reading:
            return None if self._after is None else self._after[0] * min(1.0, jobs / self._after[1])
        # Seconds are rounded, so the end of a video tells little.
        paces = [pace for note in reading if (pace := _pace(note, videos[note["title"]].seconds)) > 0]
        self._pace = sum(paces) / len(paces) if paces else self._pace
        titles = [note["title"] for note in reading]
        waiting = sum(one.seconds for name, one in videos.items() if name not in titles and not one.is_read)
        left = (sum(note["left_s"] for note in reading) + waiting * self._pace) / len(reading)
        whole = sum(one.seconds for one in videos.values()) * self._pace / len(reading)
        self._after = AFTER_READING * whole + EACH_JOB_S * jobs, max(jobs, 1)
        return float(left) + self._after[0]


def _pace(note: Mapping[str, Any], seconds: float) -> float:
    """Return the seconds that a second of a video takes; 0 if its note does not tell."""
    rest = 1 - note["done"] / note["total"]
    return float(note["left_s"] / (rest * seconds)) if rest > 0.1 and seconds > 0 else 0.0


def footage(study: Study) -> dict[str, Footage]:
    """Return the videos of all tasks by the name of their file, as far as a run has looked at them."""
    found: dict[str, Footage] = {}
    for dataset in study.config.page_datasets:
        for task in tasks(study, dataset):
            with suppress(OSError, RgwotError):
                rows = read_manifest(paths.at(paths.MANIFEST, dataset=dataset, task=task)).to_dict("records")
                for row in (row for row in rows if row["status"] != "skipped"):
                    store = paths.at(paths.FEATURES, dataset=dataset, task=task, video=row["video"])
                    # The last file that is written of a store.
                    is_read = (store / "zarr.json").exists()
                    found[Path(row["path"]).name] = Footage(row["duration_s"], is_read)
    return found
