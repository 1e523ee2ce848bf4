"""What jobs are given: settings and videos held out."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from rgwot.config.experiments import Experiments, family_of, split_id
from rgwot.config.extractors import extractor, missing_checkpoint
from rgwot.config.methods import ANNOTATED, DECODERS, EMBEDDINGS
from rgwot.config.settings import EXECUTION, flatten, resolved_K
from rgwot.datasets import registry
from rgwot.datasets.split import split_videos, subjects_of
from rgwot.paths import ANNOTATIONS, at
from rgwot.runtime.arguments import argument
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.gpus import gpu_there
from rgwot.study.datasets import DatasetCatalogue, plain_path

#: Folder of true task graphs, {dataset}/{task}.csv, in the folder of a study.
GRAPHS = "graphs"


class JobCatalogue(DatasetCatalogue):
    """The datasets of a configuration, and the settings of every job on them."""

    def __init__(self, content: Mapping[str, Any], layers: Sequence[tuple[str, Mapping[str, Any]]] = ()) -> None:
        super().__init__(content, layers)
        self.experiments = Experiments(self.config)
        self.settings_json = cache(self._settings_json)

    def gpus(self) -> int:
        """Return the number of GPUs that a training job asks for."""
        wanted = self.config.device
        return int(wanted == "cuda" or (wanted == "auto" and gpu_there()))

    def held_out(self, dataset: str, task: str, method: str) -> tuple[str, ...]:
        """Return the videos of a task that a method must not see before they are scored; none without a split.

        Raises RgwotError if the task has too few videos to hold some out.
        """
        data = self.experiments.settings(method, None, dataset).data
        if data.split == "all":
            return ()
        subset = self.config.dataset(dataset).subset or dataset
        known = registry.facts(subset, task) if data.split_by == "subject" else None
        subjects = subjects_of(self.videos(dataset, task), known.pattern if known else None)
        try:
            return split_videos(subjects, data.holdout, data.split_seed).test
        except RgwotError as error:
            raise RgwotError(f"{dataset}/{task}: {error}") from None

    def hold_out(self, dataset: str, task: str, method: str) -> str:
        """Return the option with the videos of `held_out`, empty where there are none."""
        videos = self.held_out(dataset, task, method)
        return f"--hold-out {argument(','.join(videos), f'{dataset}/{task}: videos held out')}" if videos else ""

    def annotated_key_steps(self, dataset: str, task: str) -> str:
        """Return the option with the number of `key_steps`, empty where it is unknown."""
        number = self.key_steps(dataset, task)
        return "" if number is None else f"--key-steps {number}"

    def annotations_read(self, dataset: str, task: str, decoder: str) -> list[str]:
        """Return the annotated segments of a task for the decoder that writes them, nothing for the others."""
        return [str(at(ANNOTATIONS, dataset=dataset, task=task))] if split_id(decoder)[0] == ANNOTATED else []

    def annotations_option(self, dataset: str, task: str, decoder: str) -> str:
        """Return the option with the file of `annotations_read`, quoted for a shell."""
        return shlex.join(["--annotations", *found]) if (found := self.annotations_read(dataset, task, decoder)) else ""

    def graph_there(self, dataset: str, task: str) -> list[str]:
        """Return the file with the true task graph of a task if it exists."""
        path = Path(GRAPHS) / dataset / f"{task}.csv"
        return [str(path)] if path.exists() else []

    def graph_option(self, dataset: str, task: str) -> str:
        """Return the option with the true task graph, quoted for a shell, empty where there is none."""
        return shlex.join(["--graph", *found]) if (found := self.graph_there(dataset, task)) else ""

    def weights_file(self, dataset: str) -> list[str]:
        """Return the checkpoint of the backbone where the configuration names a file: another file, other features.

        Raises RgwotError if there is no such file, once and not for every video that it would take.
        """
        features = self.experiments.settings("none", None, dataset).features
        about = extractor(features.backbone)
        # A package that is missing would fail every video, too.
        about.packaged(features.weights)
        if not about.is_file(features.weights):
            return []
        if not Path(features.weights).is_file():
            raise RgwotError(missing_checkpoint(f"datasets.{dataset}", about, features.weights))
        return [plain_path(features.weights)]

    def _settings_json(
        self,
        wanted: tuple[str, ...],
        dataset: str,
        task: str,
        method: str,
        decoder: str | None,
        execution: bool = False,
    ) -> str:
        """Return blocks or single keys of the resolved settings as JSON, ``K: gt`` replaced by a number.

        With ``execution``, only keys that no result depends on (`rgwot.config.settings.EXECUTION`); else the others.
        """
        values = flatten(self.experiments.settings(method, decoder, dataset).model_dump(by_alias=True))
        chosen = {
            key: value
            for key, value in values.items()
            if (key in wanted or key.split(".")[0] in wanted) and (key in EXECUTION) == execution
        }
        if chosen.get("decode.K") in ("gt", "gt+1"):
            try:
                chosen["decode.K"] = resolved_K(chosen["decode.K"], self.annotated_steps(dataset, task))
            except RgwotError as error:
                raise RgwotError(f"{dataset}/{task}: {error}") from None
        nested: dict[str, dict[str, Any]] = {}
        for key, value in chosen.items():
            block, name = key.split(".", 1)
            nested.setdefault(block, {})[name] = value
        return json.dumps(nested, sort_keys=True)

    def decoder_settings(self, dataset: str, task: str, method: str, decoder: str) -> str:
        """Return the settings that a decoder reads, as JSON."""
        return self.settings_json(DECODERS[split_id(decoder)[0]].reads, dataset, task, method, decoder)

    def embedding_options(self, dataset: str, task: str, method: str) -> str:
        """Return the options of ``rgwot embed`` for a method without an encoder, quoted for a shell."""
        reads = EMBEDDINGS[family_of(method).embedding].reads
        return shlex.join(["--settings", self.settings_json(reads, dataset, task, method, None)]) if reads else ""
