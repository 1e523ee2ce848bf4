"""The facts that the workflow plans with: what is on disk, and what was asked for.

The rules of the workflow know only paths and wildcards. What they look up, check or resolve is here, in layers: the
videos of a dataset (`datasets`), the settings of jobs on them (`jobs`), the input of tables and figures (`tables`) and
pages (`pages`), and targets (`targets`).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from rgwot.runtime.warm import offer
from rgwot.study.datasets import MIN_VIDEOS
from rgwot.study.targets import Catalogue

__all__ = ["MIN_VIDEOS", "Catalogue", "prepare_commands"]


def prepare_commands() -> None:
    """Let jobs find the ``rgwot`` of the environment that Snakemake runs in, activated or not, and share its imports.

    The conda environment of a rule takes precedence.
    """
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    offer()
