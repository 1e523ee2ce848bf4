"""Features in memory, in the form of open feature stores."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rgwot.config.importing import ImportSettings
from rgwot.datasets.arrays import ArraySource, check_times
from rgwot.datasets.feature_files import measure, native_rate
from rgwot.datasets.names import LONGEST_ID, video_id
from rgwot.features.importing import Footage, described, read_maps
from rgwot.features.scales import Spread, scales_differ
from rgwot.features.store import CHUNK, FeatureStore, HeldArray, video_facts
from rgwot.paths import STORE
from rgwot.runtime.errors import RgwotError

logger = logging.getLogger(__name__)


def store_of_array(name: str, features: ArrayLike, settings: ImportSettings, times: ArrayLike | None) -> FeatureStore:
    """Return the features of a video as the store that `rgwot.features.importing.import_features` writes of them.

    Parameters
    ----------
    name
        Name of the video.
    features
        (T, C) or (T, C, h, w), of any floating-point type; kept as float16.
    settings
        Their form: ``axes`` are ``TC`` or ``TCHW``, and ``times`` is set exactly where ``times`` are given.
    times
        (T,) in seconds.

    Raises
    ------
    RgwotError
        For another type or shape, a value that is not finite or beyond float16, or times that do not fit.
    """
    shown, ident = Path(f"features[{name!r}]"), id_of(name)
    array = np.asarray(features)
    if array.dtype.kind != "f":
        raise RgwotError(f"{shown}: array of {array.dtype}, expected floating-point numbers")
    when = None if times is None else check_times(shown, np.asarray(times, dtype=np.float64))
    source = ArraySource("", array.shape, array.dtype.name, lambda slices: array[slices], when)
    found = measure(shown, source, settings)
    maps = np.empty((found.count, *(found.sizes[axis] for axis in "CHW")), dtype=np.float16)
    spread = Spread()
    for start in range(0, found.count, CHUNK):
        block = slice(start, min(start + CHUNK, found.count))
        maps[block] = read_maps(shown, source, settings.axes, block.start, block.stop)
        spread.add(maps[block])
    attributes: dict[str, Any] = {
        **described(source, found, settings, _facts(name, array)),
        **video_facts(Footage(found.end_s, native_rate(found, settings)), "ok", ""),
    }
    if array.ndim == 2:
        attributes["scales"] = spread.ratio
        if warning := scales_differ(spread.ratio):
            logger.warning("%s: %s", shown, warning)
        maps = maps[:, :, 0, 0]
    return FeatureStore(Path(f"{ident}{STORE}"), attributes, found.time_s(found.count), HeldArray(maps))


def id_of(name: Any) -> str:
    """Return the id of a video by its name; RgwotError for a name that is no text, empty or too long."""
    if not isinstance(name, str) or not name:
        raise RgwotError(f"features: found the name {name!r}, expected a text that is not empty")
    ident = video_id(name)
    if len(ident) > LONGEST_ID:
        raise RgwotError(f"features: name {name[:40]!r}...: {len(ident)} characters, expected at most {LONGEST_ID}")
    return ident


class _Digest:
    """A file that keeps nothing but size and SHA-256 of what is written to it."""

    def __init__(self) -> None:
        self.size, self.sha256 = 0, hashlib.sha256()

    def write(self, block: bytes) -> None:
        """Take in a block."""
        self.size += len(block)
        self.sha256.update(block)


def _facts(name: str, array: NDArray[Any]) -> Mapping[str, Any]:
    """Return name, bytes and SHA-256 of the ``.npy`` file that holds an array: by them a bundle knows a video again."""
    digest = _Digest()
    np.lib.format.write_array(digest, np.ascontiguousarray(array), allow_pickle=False)  # type: ignore[arg-type]
    return {"source": f"{name}.npy", "source_bytes": digest.size, "source_sha256": digest.sha256.hexdigest()}
