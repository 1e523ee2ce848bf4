"""How the commands of a run start, and how it ends.

Light, because a run imports this first, so that the server of its commands (`rgwot.runtime.warm`) starts early.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from rgwot.runtime.warm import offer

#: What most jobs import (`rgwot.runtime.warm`), PyTorch last: it takes half of the time, and key steps without training
#: are there before it is.
WARMED = (
    "rgwot.cli.records", "rgwot.cli.data", "rgwot.cli.features", "rgwot.cli.training", "rgwot.cli.keysteps",
    "rgwot.cli.pages", "rgwot.cli.reporting", "rgwot.datasets.manifest", "rgwot.features.store", "scipy.optimize",
    "sklearn.cluster", "rgwot.keysteps.decode", "rgwot.evaluation.evaluate", "rgwot.reporting.page.pictures",
    "rgwot.reporting.page.view", "sklearn.decomposition", "sklearn.manifold", "rgwot.reporting.page.render", "jinja2",
    "rgwot.reporting.tables.make", "torch", "rgwot.features.extract", "rgwot.embedding.embed", "rgwot.embedding.train",
)  # fmt: skip
_DRY = re.compile(r"--dry-?run|-[A-Za-z]*n[A-Za-z]*")


def is_dry(arguments: Iterable[str]) -> bool:
    """Return whether Snakemake, called with these arguments, runs nothing."""
    return any(_DRY.fullmatch(word) for word in arguments)


def prepare_commands(arguments: Sequence[str]) -> None:
    """Let jobs find the ``rgwot`` of the environment that Snakemake runs in, activated or not, and share its imports.

    The conda environment of a rule takes precedence. ``arguments`` are those of Snakemake.
    """
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    if not is_dry(arguments):
        offer("rgwot.cli:main", WARMED)


def end_at_once() -> None:
    """Cancel the timer that Snakemake would wait for before it exits."""
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.cancel()
