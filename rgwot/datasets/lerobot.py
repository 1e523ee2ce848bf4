"""Datasets of LeRobot, versions 2.1 and 3, whose episodes become videos of the layout `folder`."""

from __future__ import annotations

import csv
import json
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import groupby
from pathlib import Path, PurePosixPath
from shutil import copyfile
from typing import TYPE_CHECKING, Any

from rgwot.datasets.annotations import BACKGROUND_NAMES
from rgwot.runtime.errors import RgwotError, first_line, nearest, optional
from rgwot.runtime.files import write_json
from rgwot.runtime.progress import with_progress
from rgwot.runtime.provenance import own_folder
from rgwot.timing import parse_rate

if TYPE_CHECKING:
    import pandas as pd

_LOG = logging.getLogger(__name__)

#: Of a frame: the language that is in force, the same list on every frame of an episode; before version 0.6 of LeRobot
#: the number of a row of ``meta/subtasks.parquet``.
PERSISTENT, SUBTASK_INDEX = "language_persistent", "subtask_index"
INFO, SUBTASKS, EPISODES = "meta/info.json", "meta/subtasks.parquet", "meta/episodes.jsonl"
#: Says of a folder of episodes which dataset they were cut from.
ORIGIN = "lerobot.json"
#: Constant rate factor of x264: what is cut is analysed, and should not be seen to have been encoded again.
PICTURE_QUALITY = 12
#: Codecs that browsers play, by PyAV's names of their decoders.
PLAYED = ("h264", "vp9", "libvpx-vp9", "av1", "libdav1d", "libaom-av1")


@dataclass(frozen=True)
class Dataset:
    """A dataset on disk: its folder, ``meta/info.json``, and a row per episode.

    In version 3 files hold several episodes, whose rows say where; in version 2 every episode has files of its own.
    """

    root: Path
    info: dict[str, Any]
    episodes: pd.DataFrame

    @property
    def fps(self) -> Fraction:
        """Frames per second of all episodes."""
        return parse_rate(self.info["fps"])

    @property
    def shared(self) -> bool:
        """Whether a file holds several episodes."""
        return str(self.info["codebase_version"]).startswith("v3")

    @cached_property
    def _files(self) -> list[Path]:
        return sorted(path for path in self.root.rglob("*") if path.suffix in (".mp4", ".parquet"))

    def video(self, episode: dict[Any, Any], camera: str) -> Path:
        """Return the video file of an episode."""
        return self._file("video_path", episode, f"videos/{camera}", ".mp4", camera)

    def span(self, episode: dict[Any, Any], camera: str) -> tuple[float, float]:
        """Return from when to when an episode is in its video, in seconds."""
        start_s = float(episode[f"videos/{camera}/from_timestamp"]) if self.shared else 0.0
        # By the number of frames: where it ends is the time of its last frame in some datasets, and after it in others.
        return start_s, start_s + float(int(episode["length"]) / self.fps)

    def data(self, episode: dict[Any, Any]) -> Path:
        """Return the file that holds the frames of an episode."""
        return self._file("data_path", episode, "data", ".parquet")

    def _file(self, template: str, episode: dict[Any, Any], key: str, suffix: str, camera: str = "") -> Path:
        """Return a file by its template; where that leads to none, the one of this name that lies anywhere else.

        Raises RgwotError where the name leads out of the dataset, or there is no such file, or more than one.
        """
        number = int(episode["episode_index"])
        if self.shared:
            numbers = {one: int(episode[f"{key}/{one}"]) for one in ("chunk_index", "file_index")}
            tail = "chunk-{chunk_index:03d}/file-{file_index:03d}".format(**numbers)
        else:
            chunk = number // int(self.info.get("chunks_size") or 1000)
            numbers = {"episode_chunk": chunk, "chunk_index": chunk, "episode_index": number}
            tail = episode_name(number)
        try:
            name = PurePosixPath(str(self.info[template]).format(video_key=camera, **numbers))
        except (LookupError, ValueError):
            name = PurePosixPath(tail)
        if name.is_absolute() or ".." in name.parts:
            raise RgwotError(f"{self.root / INFO}: {template} is {self.info[template]!r}; expected a path inside it")
        if (self.root / name).is_file():
            return self.root / name
        wanted = tuple(PurePosixPath(camera, f"{tail}{suffix}").parts)
        found = [path for path in self._files if path.parts[-len(wanted) :] == wanted]
        if len(found) != 1:
            more = f", and {len(found)} files {'/'.join(wanted)}" if found else ""
            raise MissingFile(f"{self.root / name}: no such file{more}; expected that of episode {number}; download it")
        return found[0]


class MissingFile(RgwotError):
    """A file of an episode that is not there."""


def episode_name(episode: int) -> str:
    """Return the name of an episode's video.

    >>> episode_name(7)
    'episode_000007'
    """
    return f"episode_{episode:06d}"


def read_parquet(path: Path) -> pd.DataFrame:
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
_frames = lru_cache(maxsize=1)(read_parquet)


def open_dataset(root: Path) -> Dataset:
    """Read what a dataset says of itself; RgwotError unless it is one of version 2 or 3."""
    import pandas as pd

    path = root / INFO
    try:
        info = json.loads(path.read_text(encoding="utf-8"))
        version = str(info["codebase_version"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise RgwotError(f"{path}: cannot be read ({first_line(error)[:100]}); expected a dataset of LeRobot") from None
    if not version.startswith(("v2", "v3")):
        raise RgwotError(f"{path}: version {version}; expected v2.1 or v3.0; convert it with LeRobot's script for that")
    if version.startswith("v2"):
        episodes = _lines(root / EPISODES)
    else:
        tables = [read_parquet(one) for one in sorted((root / "meta/episodes").rglob("*.parquet"))]
        if not tables:
            raise RgwotError(f"{root / 'meta/episodes'}: found no table; expected the episodes of the dataset")
        episodes = pd.concat(tables)
    return Dataset(root, info, episodes.sort_values("episode_index"))


def _lines(path: Path) -> pd.DataFrame:
    """Read the episodes of version 2, an object of JSON per line."""
    import pandas as pd

    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        return pd.DataFrame(rows)[["episode_index", "tasks", "length"]]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise RgwotError(f"{path}: cannot be read ({first_line(error)[:100]}); expected an episode per line") from None


def import_episodes(root: Path, output: Path, camera: str | None = None, on_bad_video: str = "fail") -> int:
    """Make a video of every episode: ``output/<task>/episode_000000.mp4``, and ``.csv`` where it has subtasks.

    A file of one episode that browsers play is copied, any other cut and encoded again.

    Parameters
    ----------
    root
        Folder of the dataset, version 2.1 or 3.
    output
        A new folder, or one of an import that nobody changed since.
    camera
        Key of a video feature, such as ``observation.images.top``; None where there is one.
    on_bad_video
        ``fail``, or ``skip``: episodes whose file is missing are left out, with a warning.

    Returns
    -------
    int
        Number of videos.

    Raises
    ------
    RgwotError
        Where the dataset is damaged, a file does not hold the frames that it should, or the folder has anything else
        in it.
    """
    dataset = open_dataset(root)
    _frames.cache_clear()
    cameras = [key for key, feature in dataset.info["features"].items() if feature["dtype"] == "video"]
    camera = camera or (cameras[0] if len(cameras) == 1 else "")
    if camera not in cameras:
        raise RgwotError(f"{root}: camera {camera!r}; expected one with --camera; {nearest(camera, cameras)}")
    episodes, missing = dataset.episodes.to_dict("records"), []
    with own_folder(output, "import-lerobot") as folder:
        for episode in with_progress(_LOG, f"cut {root}", episodes, "episode"):
            try:
                _cut(dataset, episode, camera, folder)
            except MissingFile as error:
                if on_bad_video == "fail":
                    raise
                missing.append(str(error))
        if len(missing) == len(episodes):
            raise RgwotError(f"{root}: found the file of no episode, such as {missing[0]}")
        write_json({"root": str(root.absolute()), "camera": camera}, folder / ORIGIN)
    if missing:
        _LOG.warning("%s: %d of %d episodes are left out, such as %s", root, len(missing), len(episodes), missing[0])
    return len(episodes) - len(missing)


def _cut(dataset: Dataset, episode: dict[Any, Any], camera: str, folder: Path) -> None:
    import av

    from rgwot.video.frames import cut

    number, fps, length = int(episode["episode_index"]), dataset.fps, int(episode["length"])
    video = dataset.video(episode, camera)
    # Names of folders cannot have everything that the text of a task has.
    place = folder / (re.sub(r"[^A-Za-z0-9._]+", "_", str(next(iter(episode["tasks"]), ""))).strip("._")[:80] or "task")
    place.mkdir(parents=True, exist_ok=True)
    output = place / f"{episode_name(number)}.mp4"
    start_s, end_s = dataset.span(episode, camera)
    try:
        found = 0 if dataset.shared else _frames_to_copy(video)
        if found:
            copyfile(video, output)
        else:
            # Half a frame earlier at both ends: a frame's time may be rounded either way.
            half = 0.5 / float(fps)
            found = cut(video, start_s - half, end_s - half, output, fps, PICTURE_QUALITY)
    except av.error.FFmpegError as error:
        raise RgwotError(
            f"{video}: cannot be read ({first_line(error)[:100]}); expected the video of episode {number}; download it "
            "again"
        ) from None
    if found != length:
        raise RgwotError(
            f"{video}: episode {number} has {found} frames from {start_s:.3f} to {end_s:.3f} s; expected {length}; "
            "download it again"
        )
    rows = list(read_subtasks(dataset, episode))
    if rows:
        with (place / f"{episode_name(number)}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("start_s", "end_s", "label"), *rows])


def _frames_to_copy(video: Path) -> int:
    """Return how many frames a video has that browsers play as it is; 0 where they do not, or it does not say."""
    import av

    with av.open(str(video)) as container:
        stream = container.streams.video[0]
        return int(stream.frames) if stream.codec_context.name in PLAYED else 0


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
        names = read_parquet(dataset.root / SUBTASKS).index.tolist()
        runs = groupby(frames[["timestamp", SUBTASK_INDEX]].itertuples(index=False), key=lambda frame: frame[1])
        said = [(float(next(run)[0]), names[int(index)] if index >= 0 else "background") for index, run in runs]
    else:
        return
    ends = [*(time for time, _ in said), end_s][1:]
    for (start_s, text), until in zip(said, ends, strict=True):
        if text.strip().lower() not in BACKGROUND_NAMES:
            yield start_s, until, text
