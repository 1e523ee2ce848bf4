"""Datasets of LeRobot, version 3: one MP4 holds many episodes, which become videos of the layout `folder`."""

from __future__ import annotations

import csv
import json
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from rgwot.datasets.doors.others import BACKGROUND
from rgwot.runtime.errors import RgwotError, first_line, nearest
from rgwot.runtime.files import write_json
from rgwot.runtime.optional import optional
from rgwot.runtime.progress import counted
from rgwot.runtime.provenance import own_folder
from rgwot.timing import parse_rate

if TYPE_CHECKING:
    import pandas as pd

_LOG = logging.getLogger(__name__)

#: Of a frame: the language that is in force, the same list on every frame of an episode; before version 0.6 of LeRobot
#: the number of a row of ``meta/subtasks.parquet``.
PERSISTENT, SUBTASK_INDEX = "language_persistent", "subtask_index"
INFO, SUBTASKS = "meta/info.json", "meta/subtasks.parquet"
#: Says of a folder of episodes which dataset they were cut from.
ORIGIN = "lerobot.json"
#: Constant rate factor of x264: what is cut is analysed, and should not be seen to have been encoded again.
QUALITY = 12


@dataclass(frozen=True)
class Dataset:
    """A dataset on disk: its folder, ``meta/info.json``, and a row per episode."""

    root: Path
    info: dict[str, Any]
    episodes: pd.DataFrame

    @property
    def fps(self) -> Fraction:
        """Frames per second of all episodes."""
        return parse_rate(self.info["fps"])

    def file(self, template: str, **values: Any) -> Path:
        """Return a file of the dataset; RgwotError where its name leads out of it."""
        name = PurePosixPath(str(self.info[template]).format(**values))
        if name.is_absolute() or ".." in name.parts:
            raise RgwotError(f"{self.root / INFO}: {template} is {self.info[template]!r}; expected a path inside it")
        return self.root / name

    def data(self, episode: dict[Any, Any]) -> Path:
        """Return the file that holds the frames of an episode."""
        numbers = {key: int(episode[f"data/{key}"]) for key in ("chunk_index", "file_index")}
        return self.file("data_path", **numbers)


def name_of(episode: int) -> str:
    """Return the name of an episode's video.

    >>> name_of(7)
    'episode_000007'
    """
    return f"episode_{episode:06d}"


def read_table(path: Path) -> pd.DataFrame:
    """Read a table of parquet.

    Raises RgwotError where it is missing or damaged, or nothing is installed that reads it.
    """
    import pandas as pd

    optional("pyarrow", path, "pip install 'rgwot[lerobot]'")
    try:
        return pd.read_parquet(path, engine="pyarrow")
    except (OSError, ValueError, ImportError) as error:
        raise RgwotError(f"{path}: cannot be read ({first_line(error)[:100]}); expected parquet of LeRobot") from None


# A file holds many episodes, which come one after the other.
_frames = lru_cache(maxsize=1)(read_table)


def open_dataset(root: Path) -> Dataset:
    """Read what a dataset says of itself; RgwotError unless it is one of version 3."""
    import pandas as pd

    path = root / INFO
    try:
        info = json.loads(path.read_text(encoding="utf-8"))
        version = str(info["codebase_version"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise RgwotError(f"{path}: cannot be read ({first_line(error)[:100]}); expected a dataset of LeRobot") from None
    if not version.startswith("v3"):
        raise RgwotError(f"{path}: version {version}; expected v3.0; convert it with LeRobot's script for that")
    tables = [read_table(one) for one in sorted((root / "meta/episodes").rglob("*.parquet"))]
    if not tables:
        raise RgwotError(f"{root / 'meta/episodes'}: found no table; expected the episodes of the dataset")
    return Dataset(root, info, pd.concat(tables).sort_values("episode_index"))


def import_episodes(root: Path, output: Path, camera: str | None = None) -> int:
    """Cut the episodes of a dataset: ``output/<task>/episode_000000.mp4``, and ``.csv`` where they have subtasks.

    ``camera`` is the key of a video feature, such as ``observation.images.top``, None where there is one. The folder
    is a new one, or one of an import that nobody changed since. Returns the number of episodes.

    Raises RgwotError where the dataset is damaged, a file does not hold the frames that it should, or the folder has
    anything else in it.
    """
    dataset = open_dataset(root)
    _frames.cache_clear()
    cameras = [key for key, feature in dataset.info["features"].items() if feature["dtype"] == "video"]
    camera = camera or (cameras[0] if len(cameras) == 1 else "")
    if camera not in cameras:
        raise RgwotError(f"{root}: camera {camera!r}; expected one with --camera; {nearest(camera, cameras)}")
    episodes = dataset.episodes.to_dict("records")
    with own_folder(output, "import-lerobot") as folder:
        for episode in counted(_LOG, f"cut {root}", episodes, "episode"):
            _cut(dataset, episode, camera, folder)
        write_json({"root": str(root.absolute()), "camera": camera}, folder / ORIGIN)
    return len(episodes)


def _cut(dataset: Dataset, episode: dict[Any, Any], camera: str, folder: Path) -> None:
    from rgwot.video.cutting import cut

    number, key, fps = int(episode["episode_index"]), f"videos/{camera}", dataset.fps
    numbers = {one: int(episode[f"{key}/{one}"]) for one in ("chunk_index", "file_index")}
    video = dataset.file("video_path", video_key=camera, **numbers)
    if not video.is_file():
        raise RgwotError(f"{video}: no such file; expected the video of episode {number}; download it")
    # Names of folders cannot have everything that the text of a task has.
    place = folder / (re.sub(r"[^A-Za-z0-9._]+", "_", str(next(iter(episode["tasks"]), ""))).strip("._")[:80] or "task")
    place.mkdir(parents=True, exist_ok=True)
    # Half a frame earlier at both ends: a frame's time may be rounded either way.
    start_s, end_s = (float(episode[f"{key}/{end}"]) - 0.5 / float(fps) for end in ("from_timestamp", "to_timestamp"))
    found = cut(video, start_s, end_s, place / f"{name_of(number)}.mp4", fps, QUALITY)
    if found != int(episode["length"]):
        raise RgwotError(
            f"{video}: episode {number} has {found} frames from {start_s:.3f} to {end_s:.3f} s; expected "
            f"{int(episode['length'])}; download it again"
        )
    rows = list(read_subtasks(dataset, episode))
    if rows:
        with (place / f"{name_of(number)}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("start_s", "end_s", "label"), *rows])


def read_subtasks(dataset: Dataset, episode: dict[Any, Any]) -> Iterator[tuple[float, float, str]]:
    """Yield start and end (seconds) and text of the subtasks of an episode, in the present or the old form."""
    if not {PERSISTENT, SUBTASK_INDEX} & dataset.info["features"].keys():
        return
    table = _frames(dataset.data(episode))
    frames = table[table["episode_index"] == episode["episode_index"]].sort_values("frame_index")
    end_s = float(len(frames) / dataset.fps)
    if PERSISTENT in frames:
        said = sorted(
            (float(row["timestamp"]), row["content"])
            for row in (frames[PERSISTENT].iloc[0] if len(frames) else ())
            if row["style"] == "subtask"
        )
    elif SUBTASK_INDEX in frames:
        names = read_table(dataset.root / SUBTASKS).index.tolist()
        runs = groupby(frames[["timestamp", SUBTASK_INDEX]].itertuples(index=False), key=lambda frame: frame[1])
        said = [(float(next(run)[0]), names[int(index)] if index >= 0 else "background") for index, run in runs]
    else:
        return
    ends = [*(time for time, _ in said), end_s][1:]
    for (start_s, text), until in zip(said, ends, strict=True):
        if text.strip().lower() not in BACKGROUND:
            yield start_s, until, text
