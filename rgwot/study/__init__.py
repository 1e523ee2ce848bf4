"""What is on disk and what was asked for: the facts the workflow plans with.

The rules of the workflow know only paths and wildcards; everything they have to look up, check or resolve is here, in
layers: the videos of a dataset (`datasets`), what a job on them is told (`jobs`), what tables are made from (`tables`),
what may be asked for (`targets`).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from rgwot.study.datasets import MIN_VIDEOS
from rgwot.study.targets import Catalogue

__all__ = ["MIN_VIDEOS", "Catalogue", "own_commands_first"]


def own_commands_first() -> None:
    """Let jobs find the ``rgwot`` of the environment that Snakemake runs in, activated or not.

    A conda environment that a rule brings is put in front of it.
    """
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
