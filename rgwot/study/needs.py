"""The memory and time that jobs ask a scheduler for, as functions of input size and attempt.

A job asks for ``base + slope × size``, doubled at every further attempt. The bases of memory are at least one and a
half times the largest peak seen (`Need.seen_mb`): resident memory of the demo's jobs and of single jobs at the default
settings, on two cores without a GPU, including PyTorch's 0.5 GB. Slopes were checked with tasks of 5, 20 and 60 videos
(100 frames a video) and hold for videos about ten times as long; times are upper bounds for
slower machines. `rgwot plan` estimates what is really spent.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from rgwot.features import ARRAYS, read_index
from rgwot.paths import STORE
from rgwot.runtime.errors import RgwotError


@dataclass(frozen=True)
class Need:
    """What one job of a rule asks for at its first attempt."""

    #: Unit of the input's size: megabytes of the video or feature file, megabytes of features held in memory, videos
    #: of the task, or none.
    size: Literal["file_mb", "features_mb", "videos", "none"]
    memory_mb: int  #: at size 0
    memory_mb_per_size: float
    minutes: float  #: at size 0
    minutes_per_size: float
    seen_mb: int = 0  #: largest resident memory seen, without the part that grows; 0 if not measured


NEEDS: dict[str, Need] = {
    "synth": Need("videos", 1000, 0, 30, 1.0, 466),
    "manifest": Need("videos", 500, 1, 10, 0.2, 166),
    # Three chunks of 64 frames are held, whatever the length. A megabyte is at most about 15 s of video: 30 frames at 2
    # per second, and a core without a GPU does 20 to 30 frames per second. Doubled.
    "extract": Need("file_mb", 2500, 0, 5, 0.05, 1012),
    "import_features": Need("file_mb", 1500, 3, 10, 0.02),
    "index": Need("videos", 500, 0.5, 10, 0.1, 58),
    "index_part": Need("videos", 500, 0.5, 10, 0.1),
    # Minutes: see train_minutes.
    "train": Need("features_mb", 4000, 1.1, 30, 0, 2095),
    "embed": Need("videos", 2500, 10, 20, 1.0, 1442),
    "embed_without_encoder": Need("videos", 2500, 20, 30, 2.0, 755),
    "decode": Need("videos", 1500, 15, 20, 0.5, 212),
    "decode_trivial": Need("videos", 500, 2, 10, 0.05),
    "evaluate": Need("videos", 750, 5, 15, 0.2, 128),
    "yardsticks": Need("videos", 2500, 20, 30, 0.5, 916),
    "segment_bars": Need("videos", 1000, 2, 15, 0.05, 186),
    "choice_curves": Need("none", 1000, 0, 15, 0, 135),
    "figure": Need("none", 3000, 0, 60, 0),
    "strips": Need("videos", 1500, 5, 30, 2.0, 153),
    "view": Need("videos", 2500, 20, 45, 1.0, 873),
    "bundle": Need("videos", 2500, 20, 60, 1.0),
    "page": Need("videos", 1500, 5, 20, 0.2, 176),
    "page_index": Need("none", 500, 0, 10, 0, 90),
    "table_row": Need("none", 750, 0, 15, 0, 90),
    "table": Need("none", 750, 0, 15, 0, 90),
}

#: Seconds that one iteration may take at the paper's N = 32 and 512 channels. One core took 7.7 s. Not measured on a
#: GPU: the paper's trainings end within three hours, and this bound allows eleven.
SECONDS_PER_ITERATION = {"cpu": 12.0, "gpu": 4.0}


def memory_mb(rule: str, size: float, attempt: int) -> int:
    """Return the megabytes that a job asks for: ``(base + slope × size) 2^(attempt − 1)``, attempts counted from 1."""
    need = NEEDS[rule]
    return round((need.memory_mb + need.memory_mb_per_size * size) * 2.0 ** (attempt - 1))


def runtime(rule: str, size: float, attempt: int, extra_minutes: float = 0.0) -> str:
    """Return the time that a job asks for, such as ``90m``: doubled, like what its settings add, at every attempt."""
    need = NEEDS[rule]
    minutes = need.minutes + need.minutes_per_size * size + extra_minutes
    return f"{max(1, round(minutes * 2.0 ** (attempt - 1)))}m"


def train_minutes(iterations: int, N: int, channels: int, device: Literal["cpu", "gpu"]) -> float:
    """Return the minutes that a training may take beyond its start.

    A step passes ``N`` clips through two 3-D convolutions with ``channels`` outputs, so it grows as N times channels.
    """
    return iterations * SECONDS_PER_ITERATION[device] * (N / 32) * (channels / 512) / 60


def megabytes(paths: Iterable[str | os.PathLike[str]]) -> float:
    """Return the total size of those files that exist, in megabytes (1e6 bytes); folders count as 0."""
    return sum(path.stat().st_size for path in map(Path, paths) if path.is_file()) / 1e6


def features_mb(index_csv: str | os.PathLike[str], cells: int, channels: int) -> float:
    """Return the megabytes of a task's features in memory, ``cells`` per map in float16; 0 while there is no index."""
    path = Path(index_csv)
    if not path.is_file():
        return 0.0
    # Many trainings share an index; a renewed one has another modification time.
    return _frames(str(path), path.stat().st_mtime_ns) * cells * channels * 2 / 1e6


def stored_frame(index_csv: str | os.PathLike[str]) -> tuple[int, int]:
    """Return the cells and channels of the features of a task as they are stored, zeros while there are none.

    Features made elsewhere, and those of some networks, are of a size that no setting tells.
    """
    folder = Path(index_csv).parent
    for name in ARRAYS:
        for path in sorted(folder.glob(f"*{STORE}/{name}/zarr.json"))[:1]:
            try:
                frames, channels, *space = json.loads(path.read_text(encoding="utf-8"))["shape"]
                return math.prod(space), int(channels)
            except (OSError, ValueError, KeyError, TypeError):
                # Damaged, as below.
                return 0, 0
    return 0, 0


@lru_cache(maxsize=256)
def _frames(path: str, _changed: int) -> int:
    try:
        return sum(row["frames"] for row in read_index(path))
    except RgwotError:
        # Damaged: the job that reads it will say so, and it asks for little until then.
        return 0
