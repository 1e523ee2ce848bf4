"""What the later stages need of the machine: the weights of the backbone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from rgwot.config.extractors import extractor, missing_checkpoint
from rgwot.config.registry import load
from rgwot.features.settings import FeatureSettings
from rgwot.runtime.errors import RgwotError
from rgwot.study.doctor.report import Finding


def torch_cache() -> Path:
    """Return the folder torch keeps downloaded weights in, without loading torch."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "torch"
    return Path(os.environ.get("TORCH_HOME", cache)).expanduser() / "hub" / "checkpoints"


def lacking(settings: FeatureSettings) -> Iterator[Finding]:
    """Yield what the machine lacks that is to make features."""
    about, weights = extractor(settings.backbone), settings.weights
    try:
        path = Path(weights) if about.is_file(weights) else about.packaged(weights)
        if about.members:
            # Whether there is such a network of a family, such a layer and such weights of it, its library knows.
            load(f"{about.module}:check")(about.member, weights)
            load(f"{about.module}:network")(about.member)
    except RgwotError as error:
        yield Finding("error", "machine", str(error))
        return
    if path is None and weights in about.weights:
        path = torch_cache() / about.weights[weights].rpartition("/")[2]
        if not path.is_file():
            line = f"weights {weights} are not in {path}; the first extraction downloads {about.megabytes} MB"
            yield Finding("note", "machine", line)
    elif path is not None and not path.is_file():
        yield Finding("error", "machine", missing_checkpoint("config.yaml", about, weights))
