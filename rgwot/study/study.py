"""A study: a configuration and its experiments."""

from __future__ import annotations

import base64
import json
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rgwot.config.configuration import Config, DatasetSettings, load_config, read_files
from rgwot.config.experiments import Experiments
from rgwot.datasets.finding import read_options, registered_facts
from rgwot.datasets.registry import TaskFacts
from rgwot.datasets.settings import Options
from rgwot.paths import RESULTS, Tree
from rgwot.runtime.errors import RgwotError

#: The environment variable that passes the folder and configurations of a run to its jobs, as compressed JSON. There
#: may be several configurations, because a run may use the workflow as several modules.
CONFIGURATIONS = "RGWOT_CONFIGURATIONS"
_OF_THIS_RUN: list[object] = []


@dataclass(frozen=True, eq=False)
class Study:
    """A configuration; the functions of `rgwot.study` take a study or one of its tasks, and cache results with it.

    Attributes
    ----------
    config
        The validated configuration.
    """

    config: Config

    @classmethod
    def of(cls, content: Mapping[str, object]) -> Study:
        """Validate the content of ``config.yaml``; raise RgwotError if it is not valid."""
        return cls(load_config(content, "configuration"))

    @classmethod
    def read(cls, paths: tuple[Path, ...]) -> Study:
        """Read configuration files, where later files override earlier ones; without files, use all defaults.

        Raises RgwotError if a file cannot be read, or if they are not valid together.
        """
        return cls(load_config(read_files(paths), " + ".join(map(str, paths)) or "defaults"))

    @cached_property
    def experiments(self) -> Experiments:
        """Canonical ids and their settings."""
        return Experiments(self.config)


@dataclass(frozen=True)
class Task:
    """A task of a study; its text is ``DATASET/TASK``."""

    study: Study
    dataset: str
    name: str

    def __str__(self) -> str:
        return f"{self.dataset}/{self.name}"

    @property
    def entry(self) -> DatasetSettings:
        """The settings of its dataset."""
        return self.study.config.dataset(self.dataset)

    @property
    def root(self) -> Path:
        """The folder of its dataset."""
        return self.study.config.root_of(self.dataset)

    @property
    def options(self) -> Options:
        """The options of its layout."""
        return read_options(self.dataset, self.entry.layout, self.entry.options())

    @property
    def facts(self) -> TaskFacts | None:
        """The registered facts about the task; None for a user's own task."""
        return registered_facts(self.dataset, self.name, self.options)

    @property
    def tree(self) -> Tree:
        """The results of the task."""
        return Tree(Path(RESULTS), self.dataset, self.name)


def in_job() -> bool:
    """Return whether this process executes a job of a run in the current folder, on this or another machine.

    A run passes its configurations on in an environment variable. The folder is locked until the run ends, so no other
    run can begin there.
    """
    return not _OF_THIS_RUN and _began_with()[0] == str(Path.cwd())


def configuration_of_the_run(content: Mapping[str, object]) -> dict[str, object]:
    """Return the configuration with which a run began, also in a job, even if its files have changed since.

    ``content`` is the configuration that this process has read. Call this function once, or once per module.

    Raises
    ------
    RgwotError
        If files were edited while a run uses the workflow as several modules, because it is then unknown which of the
        configurations an edited file belongs to.
    """
    plain = json.loads(json.dumps(content, default=str))
    if not in_job():
        _OF_THIS_RUN.append(plain)
        packed = base64.b64encode(zlib.compress(json.dumps([str(Path.cwd()), _OF_THIS_RUN]).encode()))
        os.environ[CONFIGURATIONS] = packed.decode()
        return dict(content)
    began_with = _began_with()[1]
    if len(began_with) > 1 and plain not in began_with:
        raise RgwotError(
            "configuration: edited during the run, expected no change before the run ends; start the run again"
        )
    return dict(plain if plain in began_with else began_with[0])


def _began_with() -> tuple[str, list[Any]]:
    """Return the folder and the configurations of the run that passed them on to this process, if any did."""
    packed = os.environ.get(CONFIGURATIONS)
    if packed is None:
        return "", []
    folder, began_with = json.loads(zlib.decompress(base64.b64decode(packed)))
    return folder, began_with
