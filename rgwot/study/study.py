"""What the workflow plans with: a configuration and its experiments."""

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

from rgwot.config.configuration import Config, load_config, read_files
from rgwot.config.experiments import Experiments
from rgwot.runtime.errors import RgwotError

#: The variable by which a run tells its jobs on other machines its configuration, as compressed JSON: a list, because
#: the workflow may be in a run as several modules.
CONFIGURATIONS = "RGWOT_CONFIGURATIONS"
_OF_THIS_RUN: list[Any] = []


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


def configuration_of_the_run(content: Mapping[str, Any], in_job: bool) -> dict[str, Any]:
    """Return the configuration that a run began with, also in a job, whatever its files hold by then.

    A job on another machine reads them again, which is ``content``. Call it once, or once per module.

    Raises
    ------
    RgwotError
        If the executor does not hand the environment of a run on to its jobs, or the files were edited and the
        workflow is in the run as several modules, so that nothing says which of their configurations this was.
    """
    plain = json.loads(json.dumps(content, default=str))
    if not in_job:
        _OF_THIS_RUN.append(plain)
        packed = base64.b64encode(zlib.compress(json.dumps(_OF_THIS_RUN).encode()))
        os.environ[CONFIGURATIONS] = packed.decode()
        return dict(content)
    if CONFIGURATIONS not in os.environ:
        raise RgwotError(f"{CONFIGURATIONS}: not set; expected an executor that hands the variables of a run to jobs")
    began_with: list[Any] = json.loads(zlib.decompress(base64.b64decode(os.environ[CONFIGURATIONS])))
    if len(began_with) > 1 and plain not in began_with:
        raise RgwotError("configuration: edited since the run began; expected the same until it ends; run it again")
    return dict(plain if plain in began_with else began_with[0])
