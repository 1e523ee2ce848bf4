"""Datasets, tasks and videos as the workflow plans with them: what is there, what it will write itself."""

from __future__ import annotations

import csv
import json
import os
import shlex
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from rgwot import paths
from rgwot.config.configuration import Config, load_config
from rgwot.config.importing import ImportedFeatures
from rgwot.datasets import registry
from rgwot.datasets.base import Found, VideoEntry, too_few_videos
from rgwot.datasets.finding import find
from rgwot.datasets.names import video_id
from rgwot.features import left_out
from rgwot.features.sources import feature_file
from rgwot.runtime.arguments import split_words
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.runtime.integrity import ASIDE, broken, changed_sources, check_file, record_path
from rgwot.synthetic.layouts import TaskPlaces, task_places

#: A pair of distinct videos is the least that can be aligned.
MIN_VIDEOS = 2
#: Changed sources of one output that are named; a dataset that was moved has them all gone.
_TOLD = 8


def plain_path(path: str) -> str:
    """Return a path the workflow can carry; Snakemake takes braces in any path for wildcards."""
    if "{" in path or "}" in path:
        raise RgwotError(f"{path!r}: a brace in a file name; Snakemake takes it for a wildcard; rename the file")
    return path


def _older_than(output: Path, time_s: float) -> None:
    """Give an output a time of modification before the one given, as Snakemake reads it."""
    stamp = output / ".snakemake_timestamp"
    try:
        os.utime(stamp if stamp.exists() else output, (time_s - 1, time_s - 1))
    except OSError as error:
        raise RgwotError(
            f"{output}: a source of it has changed, and it cannot be marked as outdated ({error.strerror}); remove it"
        ) from None


class DatasetCatalogue:
    """The datasets of a configuration, and where everything about a video is.

    Directories are walked once per requested dataset, and nothing is opened.

    Parameters
    ----------
    content
        The content of ``config.yaml``, with what the command line changed.
    layers
        The files behind it by name, so that a mistake is told with the file that it stands in.

    Raises
    ------
    RgwotError
        When the configuration is not valid.
    """

    def __init__(self, content: Mapping[str, Any], layers: Sequence[tuple[str, Mapping[str, Any]]] = ()) -> None:
        self.config: Config = load_config(content, layers=layers)
        self.videos = lru_cache(maxsize=None)(self._videos)
        self.found = lru_cache(maxsize=None)(self._found)
        self.left_out = lru_cache(maxsize=None)(self._left_out)
        self.index_parts = lru_cache(maxsize=None)(self._index_parts)
        # Snakemake asks for the input of a job more than once; a user is told once.
        self._told: set[str] = set()
        self._aside: set[tuple[Path, Path]] = set()

    def root(self, dataset: str) -> Path:
        """Return the folder of a dataset."""
        return self.config.root_of(dataset)

    def _found(self, dataset: str) -> Found:
        entry = self.config.dataset(dataset)
        return find(dataset, entry.layout, self.root(dataset), entry.options())

    def _written(self, dataset: str) -> dict[str, TaskPlaces] | None:
        """Return the tasks of a dataset that the workflow itself writes, by id; None for one found on disk."""
        entry = self.config.dataset(dataset)
        if entry.synth is None:
            return None
        if entry.synth.layout != entry.layout:
            raise RgwotError(
                f"datasets.{dataset}: layout {entry.layout!r}, synth.layout {entry.synth.layout!r}; expected the same"
            )
        expected = paths.at(paths.SYNTHETIC, dataset=dataset)
        if self.root(dataset) != expected:
            raise RgwotError(
                f"datasets.{dataset}.root: found {str(self.root(dataset))!r}; "
                f"expected {str(expected)!r} beside a synth block"
            )
        return {places.task.removeprefix(f"{dataset}/"): places for places in task_places(entry.synth)}

    def tasks(self, dataset: str) -> tuple[str, ...]:
        """Return the task ids of a dataset: those asked for, else all that are registered or found."""
        entry = self.config.dataset(dataset)
        written = self._written(dataset)
        registered = registry.tasks_of(entry.subset or dataset)
        if written is not None:
            known = tuple(written)
        elif registered:
            known = tuple(facts.task for facts in registered)
        else:
            known = tuple(self.found(dataset).tasks)
        for task in entry.tasks or ():
            if task not in known:
                raise RgwotError(f"datasets.{dataset}.tasks: unknown task {task!r}; {nearest(task, known)}")
        return entry.tasks or known

    def _videos(self, dataset: str, task: str) -> dict[str, VideoEntry | None]:
        """Return the videos of a task by id; the entry is None where the workflow itself writes them.

        Raises
        ------
        RgwotError
            When the dataset, the task, or a video of it cannot be found.
        """
        tasks = self.tasks(dataset)
        if task not in tasks:
            raise RgwotError(f"{dataset}/{task}: unknown task; {nearest(task, tasks)}")
        written = self._written(dataset)
        if written is not None:
            entry = self.config.dataset(dataset)
            view = registry.camera(entry.subset or dataset, entry.view)
            places = written[task].places
            return dict.fromkeys(video_id(place.stem) for place in places if place.camera in (None, view))
        return {entry.video: entry for entry in self.found(dataset).of(task)}

    def enough_videos(self, dataset: str, task: str) -> None:
        """Raise when a task has too few videos to train on."""
        videos = self.videos(dataset, task)
        if len(videos) < MIN_VIDEOS:
            raise RgwotError(too_few_videos(dataset, task, len(videos), MIN_VIDEOS, str(self.root(dataset))))

    def files(self, dataset: str, task: str) -> list[str]:
        """Return every file a task's manifest rests on."""
        root = self.root(dataset)
        entries = self.videos(dataset, task).values()
        if None in entries:
            return [str(root)]
        paths = [path for entry in entries if entry for path in (entry.path, entry.annotation) if path]
        return list(dict.fromkeys(str(root / path) for path in paths))

    def video_file(self, dataset: str, task: str, video: str) -> str:
        """Return the file of one video, or the folder of the synthetic dataset that holds it."""
        videos = self.videos(dataset, task)
        if video not in videos:
            raise RgwotError(f"{dataset}/{task}/{video}: no such video; {nearest(video, videos)}")
        entry = videos[video]
        return plain_path(str(self.root(dataset) if entry is None else self.root(dataset) / entry.path))

    def video_input(self, dataset: str, task: str, video: str) -> list[str]:
        """Return what `video_file` does, as the input of a job; raise where `check_left_out` does."""
        self.check_left_out(dataset, task, video)
        return [self.video_file(dataset, task, video)]

    def video_path(self, dataset: str, task: str, video: str) -> str:
        """Return the path of one video, there already or yet to be written."""
        written = self._written(dataset)
        if written is None:
            return self.video_file(dataset, task, video)
        self.video_file(dataset, task, video)
        places = {video_id(place.stem): place.video for place in written[task].places}
        return str(self.root(dataset) / places[video])

    def check_left_out(self, dataset: str, task: str, video: str | None = None) -> None:
        """Raise when features lack a bad video that an earlier run skipped, and bad videos are now to fail.

        Parameters
        ----------
        dataset, task
            Of the features.
        video
            The one that is asked for; None for all.

        Raises
        ------
        RgwotError
            Naming the first such video.
        """
        for name, found in self.left_out(dataset, task).items():
            if video in (None, name):
                raise RgwotError(found)

    def _left_out(self, dataset: str, task: str) -> dict[str, str]:
        """Return what is wrong with every video skipped earlier that is to fail now; the index of the task tells.

        A video that has changed since is extracted again, and judged then.
        """
        index = paths.at(paths.INDEX, dataset=dataset, task=task)
        if self.config.on_bad_video != "fail" or not index.is_file():
            return {}
        imported = self.config.dataset(dataset).imported is not None
        try:
            check_file(index)
            with index.open(encoding="utf-8", newline="") as file:
                rows = [row for row in csv.DictReader(file) if left_out(row["status"] or "", imported) and row["video"]]
        except (OSError, ValueError, KeyError, csv.Error, RgwotError):
            # Damaged: whatever reads the index will say so, and a plan that makes it anew must not stop here.
            return {}
        found = {}
        for row in rows:
            store = index.with_name(f"{row['video']}.zarr")
            if row["video"] not in self.videos(dataset, task) or not store.exists():
                continue
            path = Path(self.video_path(dataset, task, row["video"]))
            if path.exists() and path.stat().st_mtime <= index.stat().st_mtime:
                found[row["video"]] = (
                    f"{path}: {row['status']} by an earlier run ({row.get('reason')}), and on_bad_video is fail; mend "
                    f"the video and delete {store}, or set on_bad_video: skip"
                )
        return found

    def notice_sources(self, output: str, sources: Sequence[str]) -> list[str]:
        """Make an output outdated whose sources are not what they were when it was made.

        Snakemake goes by times of modification, and a file copied into the place of another may be older. So the output
        gets a time before that of its sources. The videos are not read where the file system says that nothing was done
        to them, else three megabytes of each.

        Parameters
        ----------
        output
            A file or folder below ``results``; need not be there.
        sources
            The files of the dataset that it is made from.

        Returns
        -------
        list of str
            A line for every source that is another now, or gone, for so many of them; each is told once.
        """
        path = Path(output)
        if not path.exists():
            return []
        changed = changed_sources(path, sources)
        times = [os.stat(source).st_mtime for source in changed if os.path.exists(source)]
        if times:
            _older_than(path, min(times))
        told = [name for name in changed if name not in self._told]
        self._told.update(told)
        more = [f"{output}: and {len(told) - _TOLD} more sources of it"] if len(told) > _TOLD else []
        return [f"{name}: {changed[name]}, since {output} was made; made anew" for name in told[:_TOLD]] + more

    def notice_damage(self, output: str, keep: bool) -> list[str]:
        """Put a finished file aside that is not what was written, so that the next run makes it anew.

        Only for what nothing reads and checks afterwards: tables, figures and pages.

        Parameters
        ----------
        output
            A file below ``results``; need not be there.
        keep
            Leave the file where it is, as a plan without a run has to.

        Returns
        -------
        list of str
            A line for every file.
        """
        told = []
        for path, error in broken(record_path(Path(output))):
            aside = path.with_name(f"{path.stem}{ASIDE}{path.suffix}")
            if path.exists() and not keep:
                os.replace(path, aside)
            if (path, aside) not in self._aside:
                self._aside.add((path, aside))
                what = str(error).partition("; make it anew")[0]
                told.append(f"{what}; made anew, and what was there kept as {aside.name}")
        return told

    def dataset_root(self, dataset: str) -> str:
        """Return the folder of a dataset as text."""
        return str(self.root(dataset))

    def frames_rate(self, dataset: str) -> str:
        """Return the option with the rate of stored frames, where the configuration has it."""
        rate = self.config.dataset(dataset).frames_fps
        return "" if rate in (None, "file") else f"--frames-fps {rate}"

    def feature_stores(self, dataset: str, task: str) -> list[str]:
        """Return the feature stores of all videos of a task; raise where `check_left_out` does."""
        self.check_left_out(dataset, task)
        return [
            str(paths.at(paths.FEATURES, dataset=dataset, task=task, video=video))
            for video in self.videos(dataset, task)
        ]

    def index_input(self, dataset: str, task: str) -> list[str]:
        """Return what the index of a task is made from: its feature stores, or its parts where they are too many.

        A tree whose index was made from its stores keeps it: they are named where a command can name them.
        """
        stores = self.feature_stores(dataset, task)
        parts = self.index_parts(dataset, task)
        if len(parts) <= 1:
            return stores
        return [str(paths.at(paths.INDEX_PART, dataset=dataset, task=task, part=part)) for part in range(len(parts))]

    def index_part_input(self, dataset: str, task: str, part: str) -> list[str]:
        """Return the feature stores that one part of the index of a task lists."""
        parts = self.index_parts(dataset, task)
        if int(part) >= len(parts):
            raise RgwotError(f"{dataset}/{task}: found no part {part} of its index, expected 0 to {len(parts) - 1}")
        return parts[int(part)]

    def _index_parts(self, dataset: str, task: str) -> list[list[str]]:
        return split_words(self.feature_stores(dataset, task))

    def datasets_imported(self) -> list[str]:
        """Return the datasets whose features are made elsewhere."""
        return sorted(name for name, entry in self.config.datasets.items() if entry.imported is not None)

    def _imported(self, dataset: str) -> ImportedFeatures:
        imported = self.config.dataset(dataset).imported
        if imported is None:
            raise RgwotError(f"datasets.{dataset}: has no block `imported`, so its features are extracted")
        return imported

    def feature_file(self, dataset: str, task: str, video: str) -> list[str]:
        """Return the file with the features of one video that were made elsewhere, as the input of a job."""
        self.video_file(dataset, task, video)
        return [str(feature_file(self.config.folder(self._imported(dataset).folder), task, video))]

    def import_options(self, dataset: str) -> str:
        """Return the options of ``rgwot import-features`` for a dataset, quoted for a shell."""
        told = self._imported(dataset).model_dump(exclude={"folder"}, exclude_defaults=True)
        return shlex.join(f"--{key.replace('_', '-')}={value}" for key, value in told.items())

    def manifest_options(self, dataset: str) -> str:
        """Return what the manifest stage has to know of a dataset, as JSON."""
        entry = self.config.dataset(dataset)
        return json.dumps(
            {
                "layout": entry.layout,
                "root": str(self.root(dataset)),
                "options": entry.options(),
                "on_bad_video": self.config.on_bad_video,
            },
            sort_keys=True,
        )

    def synth_json(self, dataset: str) -> str:
        """Return the settings a synthetic dataset is written with, as JSON."""
        synth = self.config.dataset(dataset).synth
        if synth is None:
            raise RgwotError(f"datasets.{dataset}: has no synth block, so nothing writes {self.root(dataset)}")
        # Without defaults: a key added in a later version does not write the clips anew.
        return synth.model_dump_json(exclude_defaults=True)

    def key_steps(self, dataset: str, task: str) -> int | None:
        """Return the number of annotated key steps, None where it is not known before the annotations are read."""
        written = self._written(dataset)
        if written is not None and task in written:
            return len(written[task].step_ids)
        return registry.key_steps(self.config.dataset(dataset).subset or dataset, task)
