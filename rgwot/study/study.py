"""What the workflow plans with: a configuration and its experiments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rgwot.config.configuration import Config, load_config, read_files
from rgwot.config.experiments import Experiments


@dataclass(frozen=True, eq=False)
class Study:
    """One configuration; the functions of `rgwot.study` take it first, and remember what they looked up for it.

    Attributes
    ----------
    config
        The validated configuration.
    """

    config: Config

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Study:
        """Validate the content of ``config.yaml``; raises RgwotError if it is not valid."""
        return cls(load_config(content, "configuration"))

    @classmethod
    def read(cls, paths: tuple[Path, ...]) -> Study:
        """Read configuration files, a later one on top of the earlier ones; without any, all defaults.

        Raises RgwotError if one cannot be read or they are not valid together.
        """
        return cls(load_config(read_files(paths), " + ".join(map(str, paths)) or "defaults"))

    @cached_property
    def experiments(self) -> Experiments:
        """Canonical ids, and the settings they stand for."""
        return Experiments(self.config)
