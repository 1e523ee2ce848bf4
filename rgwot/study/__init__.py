"""The facts that the workflow plans with: what is on disk, and what was asked for.

The rules of the workflow know only paths and wildcards. What they look up, check or resolve is here, in layers: the
videos of a dataset (`datasets`), the settings of jobs on them (`jobs`), the input of tables and figures (`tables`) and
pages (`pages`), and targets (`targets`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rgwot.runtime.warm import offer
from rgwot.study.datasets import MIN_VIDEOS
from rgwot.study.starting import is_dry
from rgwot.study.targets import Catalogue

#: What most jobs import, the most used first (`rgwot.runtime.warm`).
IMPORTED = (
    "rgwot.cli.records", "rgwot.cli.data", "rgwot.cli.features", "rgwot.cli.training", "rgwot.cli.keysteps",
    "rgwot.cli.pages", "rgwot.cli.reporting", "rgwot.datasets.manifest", "rgwot.features.store",
    "rgwot.features.extract", "rgwot.embedding.embed", "rgwot.embedding.train", "scipy.optimize", "sklearn.cluster",
    "rgwot.keysteps.decode", "rgwot.evaluation.evaluate", "rgwot.reporting.page.pictures", "rgwot.reporting.page.view",
    "sklearn.decomposition", "sklearn.manifold", "rgwot.reporting.page.render", "jinja2", "rgwot.reporting.tables.make",
)  # fmt: skip

__all__ = ["MIN_VIDEOS", "Catalogue", "prepare_commands"]


def prepare_commands(arguments: Sequence[str]) -> None:
    """Let jobs find the ``rgwot`` of the environment that Snakemake runs in, activated or not, and share its imports.

    The conda environment of a rule takes precedence. ``arguments`` are those of Snakemake.
    """
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    if not is_dry(arguments):
        offer("rgwot.cli:main", IMPORTED)
