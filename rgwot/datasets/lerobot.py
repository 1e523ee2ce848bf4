"""LeRobot datasets, versions 2.1 and 3: their episodes become videos of the layout `folder`."""

from __future__ import annotations

import csv
import json
import logging
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import chain, count, groupby
from pathlib import Path, PurePosixPath
from shutil import copyfile
from typing import TYPE_CHECKING, Any, TypeAlias

from rgwot.datasets.annotations import BACKGROUND_NAMES
from rgwot.datasets.text import filled_lines, read_text
from rgwot.runtime.errors import RgwotError, first_line, nearest, optional
from rgwot.runtime.files import write_json
from rgwot.runtime.progress import with_progress
from rgwot.runtime.provenance import own_folder
from rgwot.timing import frame_times, parse_rate

if TYPE_CHECKING:
    import pandas as pd

_LOG = logging.getLogger(__name__)

#: Columns of the table of frames: the list of language annotations (equal for all frames of an episode) and, before
#: LeRobot 0.6, the row number in ``meta/subtasks.parquet``.
PERSISTENT, SUBTASK_INDEX = "language_persistent", "subtask_index"
AGAIN = "correct the dataset, or download it again"
INFO, SUBTASKS, EPISODES = "meta/info.json", "meta/subtasks.parquet", "meta/episodes.jsonl"
#: File in a folder of episodes that names the dataset from which they were cut.
ORIGIN = "lerobot.json"
#: Constant rate factor of x264, so low that the second encoding should not affect the analysis.
PICTURE_QUALITY = 12
#: Codecs that browsers play, by PyAV's names for their decoders.
PLAYED = ("h264", "vp9", "libvpx-vp9", "av1", "libdav1d", "libaom-av1")

Episode: TypeAlias = dict[Any, Any]
"""A row of the table of episodes, by column."""


@dataclass(frozen=True)
class LeRobotDataset:
    """A dataset on disk: its folder, ``meta/info.json``, and a row per episode.

    In version 3 a file has several episodes, and the rows give their positions; in version 2 each episode has a file.
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
        """Whether a file has several episodes."""
        return str(self.info["codebase_version"]).startswith("v3")

    @cached_property
    def _files(self) -> list[Path]:
        return sorted(path for path in self.root.rglob("*") if path.suffix in (".mp4", ".parquet"))

    def video(self, episode: Episode, camera: str) -> Path:
        """Return the video file of an episode."""
        return self._file("video_path", episode, f"videos/{camera}", ".mp4", camera)

    def span(self, episode: Episode, camera: str) -> tuple[float, float]:
        """Return start and end of an episode in its video, in seconds."""
        start_s = float(episode[f"videos/{camera}/from_timestamp"]) if self.shared else 0.0
        # Computed from the number of frames, because the end is inclusive in some datasets and exclusive in others.
        return start_s, start_s + float(int(episode["length"]) / self.fps)

    def data(self, episode: Episode) -> Path:
        """Return the file that holds the frames of an episode."""
        return self._file("data_path", episode, "data", ".parquet")

    def frames(self, episode: Episode) -> pd.DataFrame:
        """Return the frames of an episode; raise RgwotError unless each occurs once, in order and at its time."""
        path, number, length = self.data(episode), int(episode["episode_index"]), int(episode["length"])
        where, table = f"{path}: episode {number}", _frames(path)
        if lacking := [name for name in ("episode_index", "frame_index", "timestamp") if name not in table]:
            raise RgwotError(f"{path}: no column {lacking[0]}; expected the frames of LeRobot; {AGAIN}")
        chosen = (table["episode_index"] == number).to_numpy()
        rows, places = table[chosen], chosen.nonzero()[0]
        if rows["frame_index"].tolist() != list(range(length)) or places[-1] - places[0] != length - 1:
            raise RgwotError(f"{where} has {len(rows)} rows; expected frame_index 0 to {length - 1} in order; {AGAIN}")
        expected = frame_times(range(length), self.fps)
        late = ~(abs(rows["timestamp"].to_numpy() - expected) < 0.5 / float(self.fps))
        for index in late.nonzero()[0][:1]:
            fault = f"timestamp {rows['timestamp'].iloc[index]} of frame {index}; expected {expected[index]:g}"
            raise RgwotError(f"{where}: {fault}, seconds from the first frame of the episode; {AGAIN}")
        return rows

    def _file(self, template: str, episode: Episode, key: str, suffix: str, camera: str = "") -> Path:
        """Return a file by its template or, if that file does not exist, the only file of this name elsewhere.

        Raises RgwotError if the path leaves the dataset, or there is not exactly one such file.
        """
        number = int(episode["episode_index"])
        if self.shared:
            numbers = {column: int(episode[f"{key}/{column}"]) for column in ("chunk_index", "file_index")}
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
            raise RgwotError(
                f"{self.root / INFO}: {template}: found {self.info[template]!r}, expected a path inside the dataset"
            )
        if (self.root / name).is_file():
            return self.root / name
        parts = tuple(PurePosixPath(camera, f"{tail}{suffix}").parts)
        matches = [path for path in self._files if path.parts[-len(parts) :] == parts]
        if len(matches) != 1:
            more = f", and {len(matches)} files {'/'.join(parts)}" if matches else ""
            raise MissingFile(f"{self.root / name}: no such file{more}; expected episode {number}; download the file")
        return matches[0]


class MissingFile(RgwotError):
    """Error: a file of an episode does not exist."""


def episode_name(episode: int) -> str:
    """Return the name of an episode's video.

    >>> episode_name(7)
    'episode_000007'
    """
    return f"episode_{episode:06d}"


def read_parquet(path: Path) -> pd.DataFrame:
    """Read a parquet table.

    Raises RgwotError if it is missing or damaged, or no parquet reader is installed.
    """
    import pandas as pd

    optional("pyarrow", path, "pip install 'rgwot[lerobot]'")
    try:
        return pd.read_parquet(path, engine="pyarrow")
    except (OSError, ValueError, ImportError) as error:
        raise RgwotError(f"{path}: cannot be read ({first_line(error)[:100]}); expected parquet of LeRobot") from None


# The last file is kept in memory, because a file has many consecutive episodes.
_frames = lru_cache(maxsize=1)(read_parquet)


def open_dataset(root: Path) -> LeRobotDataset:
    """Read the metadata of a dataset; raise RgwotError unless it has version 2 or 3 and each episode once."""
    import pandas as pd

    _frames.cache_clear()
    path = root / INFO
    try:
        info = json.loads(read_text(path))
        version, _, _ = str(info["codebase_version"]), dict(info["features"]), parse_rate(info["fps"])
    except (ValueError, LookupError, TypeError, RgwotError) as error:
        raise RgwotError(f"{path}: cannot be read ({first_line(error)[:100]}); expected a dataset of LeRobot") from None
    if not version.startswith(("v2", "v3")):
        raise RgwotError(f"{path}: version {version}; expected v2.1 or v3.0; convert the dataset with LeRobot's script")
    if version.startswith("v2"):
        place, episodes = root / EPISODES, pd.DataFrame(read_episode_lines(root))
    else:
        place = root / "meta/episodes"
        tables = [read_parquet(table) for table in sorted(place.rglob("*.parquet"))]
        if not tables:
            raise RgwotError(f"{place}: found no table; expected the episodes of the dataset")
        episodes = pd.concat(tables)
    if lacking := [name for name in ("episode_index", "tasks", "length") if name not in episodes]:
        raise RgwotError(f"{place}: no column {lacking[0]}; expected the episodes of the dataset; {AGAIN}")
    for name, least in (("episode_index", 0), ("length", 1)):
        numbers = pd.to_numeric(episodes[name], errors="coerce")
        for value in episodes[name][~((numbers >= least) & (numbers % 1 == 0))]:
            raise RgwotError(f"{place}: {name} is {value!r}; expected a whole number, {least} or above; {AGAIN}")
    for number in episodes["episode_index"][episodes["episode_index"].duplicated()]:
        raise RgwotError(f"{place}: found episode {number} twice; expected every episode once; {AGAIN}")
    if (total := info.get("total_episodes", len(episodes))) != len(episodes):
        _LOG.warning(
            "%s: total_episodes is %s, but %d episodes are listed; the listed ones are used", path, total, len(episodes)
        )
    return LeRobotDataset(root, info, episodes.sort_values("episode_index"))


def read_episode_lines(root: Path) -> list[dict[str, Any]]:
    """Read the episodes of version 2, a JSON object per line."""
    path = root / EPISODES
    try:
        rows = [dict(json.loads(line.text)) for line in filled_lines(path)]
    except (ValueError, TypeError) as error:
        raise RgwotError(f"{path}: cannot be read ({first_line(error)[:100]}); expected an episode per line") from None
    return rows


def check_ranges(dataset: LeRobotDataset, camera: str) -> None:
    """Raise RgwotError unless every video consists of its episodes, from the first frame to the last without gaps."""
    key, fps = f"videos/{camera}", dataset.fps
    place = [f"{key}/chunk_index", f"{key}/file_index"]
    if lacking := [name for name in (*place, f"{key}/from_timestamp") if name not in dataset.episodes]:
        raise RgwotError(f"{dataset.root / 'meta/episodes'}: no column {lacking[0]}; expected it in version 3; {AGAIN}")
    for numbers, table in dataset.episodes.groupby(place, dropna=False):
        name, frames = (
            "/".join(f"{kind}-{number:03.0f}" for kind, number in zip(("chunk", "file"), numbers, strict=True)),
            0,
        )
        episodes = table.sort_values(f"{key}/from_timestamp", kind="stable").to_dict("records")
        for episode in episodes:
            start_s, expected_s = dataset.span(episode, camera)[0], float(frames / fps)
            if not abs(start_s - expected_s) < 0.5 / fps:
                raise RgwotError(
                    f"{dataset.root}: episode {episode['episode_index']} starts at {start_s:.3f} s of {key}/{name}; "
                    f"expected {expected_s:.3f}, after {frames} frames of other episodes, with no gap; {AGAIN}"
                )
            frames += int(episode["length"])
        with suppress(MissingFile):
            video = dataset.video(episodes[0], camera)
            if (stated := _stated_frames(video, episodes[0])) not in (0, frames):
                raise RgwotError(f"{video}: has {stated} frames; expected the {frames} of its episodes; {AGAIN}")


def import_episodes(root: Path, output: Path, camera: str | None = None, on_bad_video: str = "fail") -> int:
    """Make a video of every episode, ``output/<task>/episode_000000.mp4``, and a ``.csv`` if it has subtasks.

    A file with one episode in a format that browsers play is copied; others are cut and encoded again.

    Parameters
    ----------
    root
        Folder of the dataset, version 2.1 or 3.
    output
        A new folder, or that of an unchanged import.
    camera
        Key of a video feature, such as ``observation.images.top``; None if there is only one.
    on_bad_video
        ``fail``, or ``skip``: episodes whose file is missing are left out, with a warning.

    Returns
    -------
    int
        Number of videos.

    Raises
    ------
    RgwotError
        If the dataset is damaged, a file lacks some of its frames, or the folder has other content.
    """
    dataset = open_dataset(root)
    cameras = [key for key, feature in dataset.info["features"].items() if feature["dtype"] == "video"]
    if not cameras:
        pictures = [key for key, feature in dataset.info["features"].items() if feature["dtype"] == "image"]
        found = f"found pictures ({', '.join(pictures)}), and no video" if pictures else "found no video"
        raise RgwotError(f"{root}: {found}; expected a dataset with a camera's video; convert it: use_videos=True")
    camera = camera or (cameras[0] if len(cameras) == 1 else "")
    if camera not in cameras:
        raise RgwotError(
            f"{root}: found camera {camera!r}, expected one of the dataset's cameras (--camera); "
            f"{nearest(camera, cameras)}"
        )
    if dataset.shared:
        check_ranges(dataset, camera)
    episodes, missing, told = dataset.episodes.to_dict("records"), [], set[str]()
    places = _places([str(next(iter(episode["tasks"]), "")) for episode in episodes])
    with own_folder(output, "import-lerobot") as folder:
        for episode, place in zip(with_progress(_LOG, f"cut {root}", episodes, "episode"), places, strict=True):
            try:
                told.add(_cut(dataset, episode, camera, folder / place))
            except MissingFile as error:
                if on_bad_video == "fail":
                    raise
                missing.append(str(error))
        if len(missing) == len(episodes):
            raise RgwotError(f"{root}: found no file of any episode; first: {missing[0]}")
        write_json({"root": str(root.absolute()), "camera": camera}, folder / ORIGIN)
    for line in sorted(told - {""}):
        _LOG.warning("%s", line)
    if missing:
        _LOG.warning("%s: %d of %d episodes are left out; first: %s", root, len(missing), len(episodes), missing[0])
    return len(episodes) - len(missing)


def _places(tasks: Sequence[str]) -> list[str]:
    """Return a folder name for every task: its text without unusable characters, numbered if two are equal.

    >>> _places(["pour: tea", "pour tea", "茶", "pour: tea"])
    ['pour_tea', 'pour_tea_2', 'task', 'pour_tea']
    """
    names: dict[str, str] = {}
    for task in tasks:
        plain = re.sub(r"[^A-Za-z0-9._]+", "_", task).strip("._")[:80] or "task"
        # Names that differ only in case would be one folder on some file systems.
        others = {name.lower() for other, name in names.items() if other != task}
        names[task] = next(
            folder for folder in chain([plain], (f"{plain}_{n}" for n in count(2))) if folder.lower() not in others
        )
    return [names[task] for task in tasks]


def _cut(dataset: LeRobotDataset, episode: Episode, camera: str, place: Path) -> str:
    """Write the video and the subtasks of an episode; return a warning, or ""."""
    from av.error import FFmpegError

    from rgwot.video.frames import cut

    number, fps, length = int(episode["episode_index"]), dataset.fps, int(episode["length"])
    video = dataset.video(episode, camera)
    place.mkdir(parents=True, exist_ok=True)
    output = place / f"{episode_name(number)}.mp4"
    start_s, end_s = dataset.span(episode, camera)
    try:
        copied, told = _read_track(video, fps)
        if copied and not dataset.shared:
            copyfile(video, output)
        else:
            # Both ends are half a frame earlier, because the times of frames may be rounded up or down.
            half = 0.5 / float(fps)
            copied = cut(video, start_s - half, end_s - half, output, fps, PICTURE_QUALITY)
    except (FFmpegError, ValueError) as error:
        raise _unreadable(video, number, error) from None
    if copied != length:
        raise RgwotError(
            f"{video}: episode {number} has {copied} frames from {start_s:.3f} to {end_s:.3f} s; expected {length}; "
            "download it again"
        )
    rows = list(read_subtasks(dataset, episode))
    if rows:
        with (place / f"{episode_name(number)}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("start_s", "end_s", "label"), *rows])
    return told


def _unreadable(video: Path, number: int, error: Exception) -> RgwotError:
    return RgwotError(
        f"{video}: cannot be read ({first_line(error)[:100]}); expected the video of episode {number}; {AGAIN}"
    )


def _stated_frames(video: Path, episode: Episode) -> int:
    """Return the number of frames that the header of a video states, or 0."""
    from av.error import FFmpegError

    from rgwot.video.pixels import opened, picture_track

    try:
        with opened(str(video)) as container:
            return int(picture_track(container).frames)
    except (FFmpegError, ValueError) as error:
        raise _unreadable(video, int(episode["episode_index"]), error) from None


def _read_track(video: Path, fps: Fraction) -> tuple[int, str]:
    """Return the number of frames and a warning; the number is 0 if the video has to be encoded again.

    A copy is enough if browsers play the codec, the rate is ``fps``, and there is one picture track. The warning is
    empty, or says which of several picture tracks is read.
    """
    from rgwot.video.pixels import opened, picture_track, told_of_tracks

    with opened(str(video)) as container:
        stream = picture_track(container)
        told = told_of_tracks(container, stream, stream.width, stream.height)
        # A video at another rate than the dataset's is not copied, because the times of subtasks would be wrong.
        late = abs(stream.frames * (1 - fps / (stream.average_rate or 1)))
        playable = stream.codec_context.name in PLAYED and late < 0.5 and not told
        return int(stream.frames) if playable else 0, told and f"{video}: {told}"


def read_subtasks(dataset: LeRobotDataset, episode: Episode) -> Iterator[tuple[float, float, str]]:
    """Yield start and end (seconds) and text of an episode's subtasks, in the current or the old form."""
    if not (listed := [name for name in (PERSISTENT, SUBTASK_INDEX) if name in dataset.info["features"]]):
        return
    frames = dataset.frames(episode)
    where, end_s = f"{dataset.data(episode)}: episode {episode['episode_index']}", float(len(frames) / dataset.fps)
    if (column := next((name for name in listed if name in frames), None)) is None:
        raise RgwotError(f"{where}: no column {listed[0]}; expected it, since {INFO} lists it; {AGAIN}")
    changes: list[tuple[float, Any]] = []
    if column == PERSISTENT:
        first = frames[PERSISTENT].iloc[0]
        entries = [row for row in (() if first is None else first) if row.get("style") == "subtask"]
        changes = [
            (math.nan if row.get("timestamp") is None else row["timestamp"], row.get("content")) for row in entries
        ]
        changes.sort(key=lambda entry: entry[0])
    else:
        names = _subtask_names(dataset.root / SUBTASKS)
        for index, run in groupby(frames[["timestamp", column]].itertuples(index=False), key=lambda frame: frame[1]):
            if index not in names:
                expected = f"expected -1 (none) to {len(names) - 2}, the last row of {SUBTASKS}"
                raise RgwotError(f"{where}: subtask_index {index}; {expected}; {AGAIN}")
            changes.append((next(run)[0], names[index]))
    ends = [*(time for time, _ in changes), end_s][1:]
    for (start_s, text), until in zip(changes, ends, strict=True):
        if not 0 <= start_s < until <= end_s or not isinstance(text, str):
            fault = f"subtask {text!r} from {start_s:g} to {until:g} s"
            raise RgwotError(f"{where}: {fault}; expected texts with different times from 0 to {end_s:g} s; {AGAIN}")
        if text.strip().lower() not in BACKGROUND_NAMES:
            yield float(start_s), float(until), text


def _subtask_names(path: Path) -> dict[int, str]:
    """Return the subtasks by row number; -1 stands for none."""
    table = read_parquet(path)
    names = table.index.tolist()
    if SUBTASK_INDEX in table and table[SUBTASK_INDEX].tolist() != list(range(len(names))):
        raise RgwotError(f"{path}: {SUBTASK_INDEX} does not count the rows; expected numbers from 0; {AGAIN}")
    if odd := [name for name in names if not isinstance(name, str)]:
        raise RgwotError(f"{path}: found the name {odd[0]!r}; expected texts, the names of subtasks, as index; {AGAIN}")
    return {-1: "background", **dict(enumerate(names))}
