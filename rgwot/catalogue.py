"""What is on disk and what was asked for: the facts the workflow plans with.

The rules of the workflow know only paths and wildcards; everything they have to look up, check or resolve is here.
Directories are walked once per requested dataset, and nothing is opened.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rgwot.config import Config, load_config
from rgwot.datasets import registry
from rgwot.datasets.base import Found, VideoEntry, too_few_videos
from rgwot.datasets.finding import find
from rgwot.datasets.names import video_id
from rgwot.datasets.split import split_videos, subjects_of
from rgwot.errors import RgwotError, nearest
from rgwot.experiments import DECODER_BLOCKS, Experiments, split_id
from rgwot.features.import_settings import ImportedFeatures
from rgwot.features.sources import feature_file
from rgwot.methods import DECODERS, FAMILIES
from rgwot.radius import inactive_prior
from rgwot.reporting.spec import Table, find_table, load_tables
from rgwot.settings import EXECUTION, NAMED_WEIGHTS, describe, flatten
from rgwot.synthetic.layouts import TaskPlaces, task_places
from rgwot.synthetic.settings import SynthSettings

#: A pair of distinct videos is the least that can be aligned.
MIN_VIDEOS = 2
NVIDIA_DEVICE = Path("/dev/nvidia0")

_TARGET = re.compile(
    r"results/(?:"
    r"(?:manifest|annotations|yardsticks)/(?P<d1>[^/]+)/(?P<t1>[^/]+)\.(?:csv|json)"
    r"|features/(?P<d2>[^/]+)/(?P<t2>[^/]+)/.+"
    r"|(?:models|embeddings)/(?P<m3>[^/]+)/(?P<d3>[^/]+)/(?P<t3>[^/]+)/.+"
    r"|(?:keysteps|scores)/(?P<m4>[^/]+)/(?P<e4>[^/]+)/(?P<d4>[^/]+)/(?P<t4>[^/]+)/.+"
    r"|tables/(?P<table>[^/]+?)(?:/(?P<row>[^/]+))?\.(?:csv|md|tex)"
    r")"
)


def synth_settings(told: Mapping[str, Any]) -> SynthSettings:
    """Make the settings of ``rgwot synth``.

    Raises
    ------
    RgwotError
        One line naming the first wrong key.
    """
    try:
        return SynthSettings.model_validate(dict(told))
    except ValidationError as error:
        raise RgwotError(f"synth: {describe(error, SynthSettings)}") from None


def _plain(path: str) -> str:
    """Return a path the workflow can carry; Snakemake takes braces in any path for wildcards."""
    if "{" in path or "}" in path:
        raise RgwotError(f"{path!r}: a brace in a file name; Snakemake takes it for a wildcard; rename the file")
    return path


def own_commands_first() -> None:
    """Let jobs find the ``rgwot`` of the environment that Snakemake runs in, activated or not.

    A conda environment that a rule brings is put in front of it.
    """
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


class Catalogue:
    """The configuration, the datasets and the experiments behind one run of the workflow.

    Parameters
    ----------
    content
        The content of ``config.yaml``, with what the command line changed.
    tables
        Path of ``workflow/tables.yaml``.

    Raises
    ------
    RgwotError
        When the configuration or the tables are not valid.
    """

    def __init__(self, content: Mapping[str, Any], tables: Path) -> None:
        self.config: Config = load_config(content)
        self.experiments = Experiments(self.config)
        self._tables_path = tables
        self.videos = lru_cache(maxsize=None)(self._videos)
        self.found = lru_cache(maxsize=None)(self._found)
        self._warned: set[tuple[str, str]] = set()
        self.settings_json = lru_cache(maxsize=None)(self._settings_json)

    @cached_property
    def tables(self) -> dict[str, Table]:
        """The tables by id, every experiment in its one spelling."""

        def canonical(method: str, decoder: str) -> tuple[str, str]:
            return self.experiments.method(method), self.experiments.decoder(decoder, method)

        return load_tables(self._tables_path, canonical)

    def table(self, table: str) -> Table:
        """Return a table by its id, or say which are known."""
        return find_table(self.tables, table)

    def gpus(self) -> int:
        """Return how many GPUs a training job asks for: none when the configuration or the machine has none."""
        wanted = self.config.device
        return int(wanted == "cuda" or (wanted == "auto" and NVIDIA_DEVICE.exists()))

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
        expected = Path(f"results/synthetic/{dataset}")
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

    def held_out(self, dataset: str, task: str, method: str) -> tuple[str, ...]:
        """Return the videos of a task that a method must not see before they are scored; none where all train.

        Raises
        ------
        RgwotError
            When the task has too few videos to hold some out.
        """
        data = self.experiments.settings(method, None, dataset).data
        if data.split == "all":
            return ()
        known = (
            registry.facts(self.config.dataset(dataset).subset or dataset, task) if data.split_by == "subject" else None
        )
        subjects = subjects_of(self.videos(dataset, task), known.pattern if known else None)
        try:
            return split_videos(subjects, data.holdout, data.split_seed).test
        except RgwotError as error:
            raise RgwotError(f"{dataset}/{task}: {error}") from None

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
        return _plain(str(self.root(dataset) if entry is None else self.root(dataset) / entry.path))

    def video_path(self, dataset: str, task: str, video: str) -> str:
        """Return the path of one video, there already or yet to be written."""
        written = self._written(dataset)
        if written is None:
            return self.video_file(dataset, task, video)
        self.video_file(dataset, task, video)
        places = {video_id(place.stem): place.video for place in written[task].places}
        return str(self.root(dataset) / places[video])

    def weights_file(self, dataset: str) -> list[str]:
        """Return the checkpoint of the backbone where the configuration names a file: another file, other features."""
        weights = self.experiments.settings("none", None, dataset).features.weights
        return [] if weights in NAMED_WEIGHTS else [_plain(weights)]

    def frames_fps(self, dataset: str) -> str:
        """Return the rate of stored frames as far as the configuration tells it, else nothing."""
        rate = self.config.dataset(dataset).frames_fps
        return "" if rate in (None, "file") else str(rate)

    def datasets_imported(self) -> list[str]:
        """Return the datasets whose features are made elsewhere."""
        return sorted(name for name, entry in self.config.datasets.items() if entry.imported is not None)

    def _imported(self, dataset: str) -> ImportedFeatures:
        imported = self.config.dataset(dataset).imported
        if imported is None:
            raise RgwotError(f"datasets.{dataset}: has no block `imported`, so its features are extracted")
        return imported

    def feature_file(self, dataset: str, task: str, video: str) -> str:
        """Return the file with the features of one video that were made elsewhere."""
        self.video_file(dataset, task, video)
        return str(feature_file(self.config.folder(self._imported(dataset).folder), task, video))

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

    def _settings_json(
        self,
        wanted: tuple[str, ...],
        dataset: str,
        task: str,
        method: str,
        decoder: str | None,
        execution: bool = False,
    ) -> str:
        """Return resolved settings as JSON, ``K: gt`` resolved to a number.

        Parameters
        ----------
        wanted
            Blocks, or single dotted keys. Of the decoder's blocks only the keys that the decoder reads are given.
        dataset, task, method, decoder
            Of the job.
        execution
            False: what decides the result. True: the other keys (`rgwot.settings.EXECUTION`), whose change makes no
            result outdated.
        """
        values = flatten(self.experiments.settings(method, decoder, dataset).model_dump(by_alias=True))
        chosen = {
            key: value
            for key, value in values.items()
            if (key in wanted or key.split(".")[0] in wanted) and (key in EXECUTION) == execution
        }
        if decoder is not None:
            read = DECODERS[split_id(decoder)[0]].keys
            chosen = {
                key: value for key, value in chosen.items() if key in read or key.split(".")[0] not in DECODER_BLOCKS
            }
        K = chosen.get("decode.K")
        if isinstance(K, str):
            annotated = self.key_steps(dataset, task)
            if annotated is None:
                raise RgwotError(
                    f"{dataset}/{task}: K={K} but its number of key steps is not registered; give K as a number"
                )
            chosen["decode.K"] = annotated + (K == "gt+1")
        nested: dict[str, dict[str, Any]] = {}
        for key, value in chosen.items():
            block, name = key.split(".", 1)
            nested.setdefault(block, {})[name] = value
        return json.dumps(nested, sort_keys=True)

    def warn_inactive_prior(self, method: str, dataset: str) -> str | None:
        """Return, once per method and dataset, the line that the structural prior does nothing at these settings."""
        said = inactive_prior(self.experiments.settings(method, None, dataset))
        if said is None or (method, dataset) in self._warned:
            return None
        self._warned.add((method, dataset))
        return f"{method} on {dataset}: {said}"

    def table_content(self, table: str, row: str | None = None) -> str:
        """Return what a table or one of its rows is made from, as JSON: a change of it makes the file outdated."""
        spec = self.table(table)
        if row is None:
            return spec.model_dump_json(exclude={"reported": {"file"}})
        one = spec.row(row)
        return json.dumps({"datasets": list(spec.datasets), "metrics": spec.metrics, "row": [one.method, one.decoder]})

    def reported_files(self, table: str) -> list[str]:
        """Return the file with the reported numbers of a table, where it has one."""
        reported = self.table(table).reported
        return [str(reported.file)] if reported else []

    def score_files(self, table: str, row: str | None = None) -> list[str]:
        """Return the score files behind a table, or behind one of its rows."""
        spec = self.table(table)
        rows = spec.rows if row is None else [spec.row(row)]
        files: dict[str, None] = {}
        for one in rows:
            for dataset in spec.datasets:
                for task in self.tasks(dataset):
                    if FAMILIES[split_id(one.method)[0]].trained:
                        self.enough_videos(dataset, task)
                    self.held_out(dataset, task, one.method)
                    for seed in self.config.seeds:
                        files[f"results/scores/{one.method}/{one.decoder}/{dataset}/{task}/seed{seed}.csv"] = None
        return list(files)

    def check_targets(self, arguments: Iterable[str]) -> None:
        """Check the target paths among command line arguments before anything is planned.

        Raises
        ------
        RgwotError
            When a path names a dataset, task, method, decoder or table that does not exist, or spells an experiment
            in another way than its canonical one.
        """
        for argument in arguments:
            match = _TARGET.fullmatch(argument)
            if match is None:
                continue
            group = {name: value for name, value in match.groupdict().items() if value is not None}
            if "table" in group:
                self.score_files(group["table"], group.get("row"))
                continue
            part = {name[0]: value for name, value in group.items()}
            method = part.get("m")
            if method is not None:
                self._check_spelling(argument, method, self.experiments.method(method))
                if "e" in part:
                    self._check_spelling(argument, part["e"], self.experiments.decoder(part["e"], method))
            self.videos(part["d"], part["t"])
            if method is not None and FAMILIES[split_id(method)[0]].trained:
                self.enough_videos(part["d"], part["t"])
            if method is not None:
                self.held_out(part["d"], part["t"], method)

    @staticmethod
    def _check_spelling(target: str, written: str, canonical: str) -> None:
        if written != canonical:
            raise RgwotError(
                f"{target}: {written!r} is the experiment {canonical!r}; ask for {target.replace(written, canonical)}"
            )
