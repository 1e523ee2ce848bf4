"""Datasets, tasks and videos as the workflow plans with them: those on disk, and those it will write itself."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from rgwot import paths
from rgwot.config.configuration import Config, load_config
from rgwot.datasets import registry
from rgwot.datasets.arrays import feature_file
from rgwot.datasets.base import Found, VideoEntry
from rgwot.datasets.finding import find, layout_module, read_options
from rgwot.datasets.looks import no_task
from rgwot.datasets.names import video_id
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.runtime.provenance import stamp
from rgwot.synthetic.layouts import TaskPlaces, task_places

#: Aligning takes a pair of distinct videos.
MIN_VIDEOS = 2
#: Videos, and bytes of their files, whose features one job makes: about ten minutes of work on a core.
BATCH, BATCH_BYTES = 32, 10**9


def plain_path(path: str) -> str:
    """Return a path, or raise where it has a brace, which Snakemake takes for a wildcard."""
    if "{" in path or "}" in path:
        raise RgwotError(f"{path!r}: a brace in a file name; Snakemake takes it for a wildcard; rename the file")
    return path


class DatasetCatalogue:
    """The datasets of a configuration, and where everything about a video is.

    The folder of a dataset is walked once, when it is asked for, and no video is opened. ``content`` is that of
    ``config.yaml`` with what the command line changed, ``layers`` the files behind it by name: errors name the file
    with the wrong value. Raises RgwotError if the configuration is not valid.
    """

    def __init__(self, content: Mapping[str, Any], layers: Sequence[tuple[str, Mapping[str, Any]]] = ()) -> None:
        self.config: Config = load_config(content, layers=layers)
        self.videos = cache(self._videos)
        self.found = cache(self._found)
        self.batches = cache(self._batches)
        self.annotated_steps = cache(self._annotated_steps)

    def _found(self, dataset: str) -> Found:
        entry = self.config.dataset(dataset)
        return find(dataset, entry.layout, self.config.root_of(dataset), entry.options())

    def _written(self, dataset: str) -> dict[str, TaskPlaces] | None:
        """Return the tasks of a synthetic dataset by id; None for a dataset on disk."""
        entry = self.config.dataset(dataset)
        if entry.synth is None:
            return None
        if entry.synth.layout != entry.layout:
            raise RgwotError(
                f"datasets.{dataset}: layout {entry.layout!r}, synth.layout {entry.synth.layout!r}; expected the same"
            )
        root, expected = str(self.config.root_of(dataset)), str(paths.at(paths.SYNTHETIC, dataset=dataset))
        if root != expected:
            raise RgwotError(f"datasets.{dataset}.root: found {root!r}; expected {expected!r} beside a synth block")
        return {places.task.removeprefix(f"{dataset}/"): places for places in task_places(entry.synth)}

    def tasks(self, dataset: str) -> tuple[str, ...]:
        """Return the task ids of a dataset: those configured, else all that are registered or found."""
        entry = self.config.dataset(dataset)
        written = self._written(dataset)
        registered = registry.tasks_of(entry.subset or dataset)
        if written is not None:
            known = tuple(written)
        elif registered:
            known = tuple(facts.task for facts in registered)
        else:
            known = tuple(self.found(dataset).tasks)
        if not known:
            root, module = self.config.root_of(dataset), layout_module(entry.layout)
            raise no_task(dataset, entry.layout, root, module.EXPECTED)
        for task in entry.tasks or ():
            if task not in known:
                raise RgwotError(f"datasets.{dataset}.tasks: unknown task {task!r}; {nearest(task, known)}")
        return entry.tasks or known

    def _videos(self, dataset: str, task: str) -> dict[str, VideoEntry | None]:
        """Return the videos of a task by id, with entry None where the workflow itself writes them."""
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

    def files(self, dataset: str, task: str) -> list[str]:
        """Return the files that the manifest of a task is made from."""
        root = self.config.root_of(dataset)
        entries = self.videos(dataset, task).values()
        if None in entries:
            return [str(root)]
        paths = [path for entry in entries if entry for path in (entry.path, entry.annotation) if path]
        return list(dict.fromkeys(str(root / path) for path in paths))

    def sources(self, dataset: str, task: str) -> str:
        """Return the `stamp` of the files that the manifest of a task is made from, empty where jobs write them."""
        return "" if self.config.dataset(dataset).synth else stamp(self.files(dataset, task))

    def footage_sources(self, dataset: str, task: str) -> str:
        """Return the `stamp` of the videos of a task, empty where jobs write them."""
        if self.config.dataset(dataset).synth:
            return ""
        return stamp(self.video_file(dataset, task, video) for video in self.videos(dataset, task))

    def video_file(self, dataset: str, task: str, video: str) -> str:
        """Return the file of one video, or the folder of the synthetic dataset that holds it."""
        videos = self.videos(dataset, task)
        if video not in videos:
            raise RgwotError(f"{dataset}/{task}/{video}: no such video; {nearest(video, videos)}")
        entry = videos[video]
        root = self.config.root_of(dataset)
        return plain_path(str(root if entry is None else root / entry.path))

    def video_path(self, dataset: str, task: str, video: str) -> str:
        """Return the path of one video, which may be yet to be written."""
        written, found = self._written(dataset), self.video_file(dataset, task, video)
        if written is None:
            return found
        places = {video_id(place.stem): place.video for place in written[task].places}
        return str(self.config.root_of(dataset) / places[video])

    def dataset_root(self, dataset: str) -> str:
        """Return the folder of a dataset as text."""
        return str(self.config.root_of(dataset))

    def frames_rate(self, dataset: str) -> str:
        """Return the option with the rate of stored frames, empty where it is not configured."""
        rate = self.config.dataset(dataset).frames_fps
        return "" if rate in (None, "file") else f"--frames-fps {rate}"

    def _batches(self, dataset: str, task: str) -> list[list[str]]:
        """Return the videos of a task in the batches whose features one job makes.

        A batch has at most `BATCH` videos and about `BATCH_BYTES` of files, so that a job takes about ten minutes.
        """
        found: list[list[str]] = []
        left = 0
        for video in self.videos(dataset, task):
            path = self.video_file(dataset, task, video)
            size = os.stat(path).st_size if os.path.isfile(path) else 0
            if not found or len(found[-1]) == BATCH or size > left:
                found.append([])
                left = BATCH_BYTES
            found[-1].append(video)
            left -= size
        return found

    def batch(self, dataset: str, task: str, part: str) -> list[str]:
        """Return the videos of one batch."""
        batches = self.batches(dataset, task)
        if int(part) >= len(batches):
            raise RgwotError(f"{dataset}/{task}: found no part {part} of its index, expected 0 to {len(batches) - 1}")
        return batches[int(part)]

    def index_input(self, dataset: str, task: str) -> list[str]:
        """Return the parts of a task's index, one per batch."""
        parts = range(len(self.batches(dataset, task)))
        return [str(paths.at(paths.INDEX_PART, dataset=dataset, task=task, part=part)) for part in parts]

    def footage_of(self, dataset: str, task: str, videos: Iterable[str]) -> list[str]:
        """Return the files of videos, or the folder of the synthetic dataset that holds them."""
        return list(dict.fromkeys(self.video_file(dataset, task, video) for video in videos))

    def features_of(self, dataset: str, task: str, videos: Iterable[str]) -> list[str]:
        """Return the files with the imported features of videos."""
        return [self.feature_file(dataset, task, video) for video in videos]

    def sources_of(self, dataset: str, task: str, videos: Sequence[str]) -> str:
        """Return the `stamp` of videos and of the files with their imported features, empty where jobs write them."""
        entry = self.config.dataset(dataset)
        features = self.features_of(dataset, task, videos) if entry.imported else []
        return "" if entry.synth else stamp([*self.footage_of(dataset, task, videos), *features])

    def extract_options(self, dataset: str, task: str, videos: Iterable[str]) -> str:
        """Return the options of ``rgwot extract`` that name videos, quoted for a shell."""
        named = ((video, self.video_path(dataset, task, video)) for video in videos)
        return shlex.join(word for video, path in named for word in ("--video", video, "--source", path))

    def import_sources(self, dataset: str, task: str, videos: Iterable[str]) -> str:
        """Return the options of ``rgwot import-features`` that name videos and their features, quoted for a shell."""
        words: list[str] = []
        for video in videos:
            features, footage = self.feature_file(dataset, task, video), self.video_path(dataset, task, video)
            words += ("--video", video, "--source", features, "--footage", footage)
        return shlex.join(words)

    def datasets_imported(self) -> list[str]:
        """Return the datasets whose features are made elsewhere."""
        return sorted(name for name, entry in self.config.datasets.items() if entry.imported is not None)

    def _imported(self, dataset: str) -> dict[str, Any]:
        imported = self.config.dataset(dataset).imported
        if imported is None:
            raise RgwotError(f"datasets.{dataset}: has no block `imported`, so its features are extracted")
        return imported.model_dump(exclude_defaults=True)

    def feature_file(self, dataset: str, task: str, video: str) -> str:
        """Return the file with the imported features of one video."""
        file, folder = self.video_file(dataset, task, video), self._imported(dataset).get("folder")
        if folder is None or self.config.dataset(dataset).features_alone:
            return file
        place = self.config.folder(folder)
        try:
            return plain_path(str(feature_file(place, task, video)))
        except RgwotError:
            # Gone since its store was made, which is no reason to run; where something else is, Snakemake names it.
            if not paths.at(paths.FEATURES, dataset=dataset, task=task, video=video).exists():
                raise
            return plain_path(str(place / task / video))

    def import_options(self, dataset: str) -> str:
        """Return the options of ``rgwot import-features`` for a dataset, quoted for a shell."""
        options = self._imported(dataset)
        options.pop("folder", None)
        return shlex.join(f"--{key.replace('_', '-')}={value}" for key, value in options.items())

    def manifest_options(self, dataset: str) -> str:
        """Return the options of the manifest stage, as JSON."""
        entry = self.config.dataset(dataset)
        options = {
            "layout": entry.layout,
            "root": str(self.config.root_of(dataset)),
            "options": entry.options(),
            "on_bad_video": self.config.on_bad_video,
        }
        if entry.features_alone:
            # What no video says: it takes the rate to know how long features last.
            options["imported"] = {key: value for key, value in self._imported(dataset).items() if key != "folder"}
        return json.dumps(options, sort_keys=True)

    def synth_json(self, dataset: str) -> str:
        """Return the settings of a synthetic dataset, as JSON."""
        synth = self.config.dataset(dataset).synth
        if synth is None:
            raise RgwotError(
                f"datasets.{dataset}: has no synth block, so nothing writes {self.config.root_of(dataset)}"
            )
        # Without defaults, so that a key added in a later version does not rewrite the clips.
        return synth.model_dump_json(exclude_defaults=True)

    def key_steps(self, dataset: str, task: str) -> int | None:
        """Return the number of annotated key steps, None if it takes reading the annotations to know."""
        written = self._written(dataset)
        if written is not None and task in written:
            return len(written[task].step_ids)
        return registry.key_steps(self.config.dataset(dataset).subset or dataset, task)

    def _annotated_steps(self, dataset: str, task: str) -> int | None:
        """Return the number of `key_steps`, counted in the annotations where it is not known; None if there are none.

        Steps that occur are counted, as in the manifest, though also those of a video that turns out to be unusable.
        """
        known = self.key_steps(dataset, task)
        entries = self.videos(dataset, task).values()
        if known is not None or None in entries:
            return known
        dataset_entry, root = self.config.dataset(dataset), self.config.root_of(dataset)
        module = layout_module(dataset_entry.layout)
        options = read_options(dataset, dataset_entry.layout, dataset_entry.options())
        facts = registry.facts(dataset_entry.subset or dataset, task)
        steps: set[int] = set()
        for entry in entries:
            if entry is not None and entry.annotation is not None:
                steps.update(module.read_annotation(root, entry, facts, None, options).segments["step_id"])
        return len(steps) or None
