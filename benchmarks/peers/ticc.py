"""Toeplitz inverse covariance-based clustering of all videos together, by the library fast-ticc (peers 8)."""

from __future__ import annotations

import contextlib
import io
import random

import numpy as np
from numpy.typing import NDArray

from rgwot.config.extensions import Extension
from rgwot.keysteps.interface import Decoded, Frames
from rgwot.keysteps.settings import Clustering
from rgwot.runtime.errors import RgwotError

COMPONENTS = 10
"""Largest number of principal components; with more, a window would have too many entries to learn from."""

WINDOW = 3
"""Number of samples in a window."""

SWITCHING = 10.0
"""Cost of a change of labels. With 100, one or two clusters would get nearly all samples if steps repeat."""

ROUNDS = 30
"""Largest number of rounds."""


def decode_ticc(frames: Frames, K: int, generator: np.random.Generator, settings: Clustering) -> Decoded:
    """Cluster windows by their sparse inverse covariances: the decoder ``ticc``.

    Embeddings are reduced to `COMPONENTS`, scaled so that the first has a standard deviation of 1. Borders between
    videos cost nothing. The last samples of a video, which have no window of their own, get the last label before them.
    """
    try:
        from fast_ticc import ticc_joint_labels
    except ModuleNotFoundError:
        raise RgwotError("ticc: found no fast-ticc, expected it for this decoder; pip install fast-ticc") from None
    from sklearn.decomposition import PCA

    x = PCA(min(COMPONENTS, frames.x.shape[1]), random_state=0).fit_transform(frames.x.astype(np.float64))
    x /= max(x.std(axis=0).max(), 1e-9)
    # The library draws only from the global generators.
    random.seed(seed := int(generator.integers(2**31 - 1)))
    np.random.seed(seed)  # noqa: NPY002
    with contextlib.redirect_stdout(io.StringIO()):
        made = ticc_joint_labels(
            np.split(x, np.cumsum(frames.lengths)[:-1]),
            window_size=WINDOW,
            num_clusters=K,
            label_switching_cost=SWITCHING,
            iteration_limit=ROUNDS,
        )
    labels = [_filled(np.asarray(own), T) for own, T in zip(made.point_labels, frames.lengths, strict=True)]
    return Decoded(np.concatenate(labels))


def _filled(labels: NDArray[np.int64], T: int) -> NDArray[np.int64]:
    """Return labels (T,) in which -1, and samples missing at the end, have the nearest label."""
    known = np.flatnonzero(labels >= 0)
    places = np.arange(T)
    if not len(known):
        return np.zeros(T, dtype=np.int64)
    after = np.clip(np.searchsorted(known, places), 0, len(known) - 1)
    before = np.maximum(after - 1, 0)
    nearer = np.where(np.abs(known[before] - places) <= np.abs(known[after] - places), known[before], known[after])
    return labels[nearer].astype(np.int64)


class Ticc(Clustering):
    """Sparse inverse covariances of windows."""

    NAME = "ticc"
    FUNCTION = decode_ticc
    SOURCE = "TICC, Hallac et al., KDD 2017"


EXTENSION = Extension(decoders=[Ticc])
