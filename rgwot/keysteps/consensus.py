"""Consensus of many mean-field segmentations, and a segmentation of that: the decoder ``consensus`` (methods 5.8)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rgwot.embeddings.whitened import fit_whitening
from rgwot.keysteps.interface import Decoded, Frames
from rgwot.keysteps.kmeans import kmeans
from rgwot.keysteps.meanfield import MeanField, label, minimise
from rgwot.settings import MeanfieldSettings, Settings

FLOOR = 0.2
"""Components of the memberships below this share of the largest variance are dropped: what few segmentations say."""

RARE = 1e-3
"""Share of the samples below which a cluster counts no more for being rare."""


def decode_consensus(frames: Frames, K: int, settings: Settings, generator: np.random.Generator) -> Decoded:
    """Segment the memberships of many segmentations: the decoder ``consensus``.

    Every single segmentation is a local minimum that merges some key steps and splits others, differently for every
    start and every number of clusters. What most of them agree on is not an accident. The memberships of
    ``consensus.partitions`` mean-field segmentations (`rgwot.keysteps.meanfield`) stand side by side, every one divided
    by the root of its cluster's share; whitened to at most ``consensus.D`` components and scaled to length 1 they are
    the embedding that the mean field segments once more.
    """
    block, chain = settings.consensus, settings.meanfield
    # A single segmentation need not be good, nor finished.
    quick = chain.model_copy(update={"restarts": 1, "max_iterations": block.rounds})
    members = [segment(frames, K, quick, generator) for _ in range(block.partitions)]
    memberships = _side_by_side([member.memberships for member in members], members)
    whitening = fit_whitening([memberships], block.D, FLOOR)
    final = Frames(whitening.apply(memberships).astype(np.float64), frames.lengths, frames.features_fps)
    made = segment(final, K, chain, generator)

    def decoded(found: NDArray[np.float64]) -> Decoded:
        padded = np.zeros((len(found), K))
        padded[:, : found.shape[1]] = found
        return Decoded(found.argmax(axis=1).astype(np.int64), padded)

    def unseen(others: Frames) -> Decoded:
        seen = _side_by_side([label(others.x, others.lengths, member, chain) for member in members], members)
        x = whitening.apply(seen).astype(np.float64)
        return decoded(label(x, others.lengths, made, chain))

    found = decoded(made.memberships)
    return Decoded(
        found.labels,
        found.memberships,
        {
            "consensus": {
                "partitions": len(members),
                "dimensions": int(whitening.basis.shape[1]),
                "energy": float(made.energies[-1]),
                "agreement": _mean_agreement(members),
            }
        },
        unseen=unseen,
    )


def segment(frames: Frames, K: int, settings: MeanfieldSettings, generator: np.random.Generator) -> MeanField:
    """Minimise the energy of the mean field from a k-means partition; fewer clusters where fewer samples differ."""
    start = kmeans(frames.x, K, generator, restarts=settings.restarts).labels
    used, start = np.unique(start, return_inverse=True)
    return minimise(frames.x, frames.lengths, np.eye(len(used))[start], settings)


def _side_by_side(memberships: Sequence[NDArray[np.float64]], members: Sequence[MeanField]) -> NDArray[np.float64]:
    """Put memberships next to each other, weighted so that rare clusters count as much as frequent ones."""
    return np.concatenate(
        [p / np.sqrt(np.maximum(member.shares, RARE)) for p, member in zip(memberships, members, strict=True)], axis=1
    )


def _mean_agreement(members: Sequence[MeanField]) -> float | None:
    """Return the mean adjusted Rand index of neighbouring segmentations; None for a single one."""
    if len(members) < 2:
        return None
    from sklearn.metrics import adjusted_rand_score

    labels = [member.memberships.argmax(axis=1) for member in members]
    return float(np.mean([adjusted_rand_score(a, b) for a, b in zip(labels[:-1], labels[1:], strict=True)]))
