"""Bundles: the files that each is made from, and the options of the verb that makes it."""

from __future__ import annotations

import json
import shlex
from typing import Any

from rgwot import paths
from rgwot.config.experiments import family_of
from rgwot.config.methods import EMBEDDINGS
from rgwot.paths import Run
from rgwot.runtime.errors import RgwotError
from rgwot.study.pages import PageCatalogue


class BundleCatalogue(PageCatalogue):
    """The bundles of a configuration."""

    def check_bundle(self, target: str, method: str, decoder: str) -> None:
        """Raise RgwotError where there is nothing to keep of a result."""
        if family_of(method).embedding == "none":
            raise RgwotError(
                f"{target}: {decoder} looks at no video and learns nothing; ask for the bundle of a result that does, "
                "such as rgwot/graphcut"
            )

    def bundle_model(self, dataset: str, task: str, method: str, seed: str) -> list[str]:
        """Return the trained model behind a result, if it has one."""
        model = self._tree(dataset, task).at(paths.MODEL, Run(method, "", int(seed)))
        return [str(model)] if family_of(method).trained else []

    def bundle_options(self, dataset: str, task: str, method: str, decoder: str, seed: str) -> str:
        """Return the options of ``rgwot bundle`` that depend on the experiment, quoted for a shell."""
        model = [part for path in self.bundle_model(dataset, task, method, seed) for part in ("--model", path)]
        settings: dict[str, dict[str, Any]] = json.loads(self.decoder_settings(dataset, task, method, decoder))
        reads = () if family_of(method).trained else EMBEDDINGS[family_of(method).embedding].reads
        # The page shows alignments, as that of the study does.
        for block, keys in json.loads(self.settings_json((*reads, "ot"), dataset, task, method, None)).items():
            settings[block] = {**keys, **settings.get(block, {})}
        names = ["--names", self.names_file(dataset, task)]
        return shlex.join([*model, "--settings", json.dumps(settings, sort_keys=True), *names])
