"""Consensus of many mean-field segmentations, and a segmentation of that: the decoder ``consensus`` (methods 5.8)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rgwot.config.settings import Settings
from rgwot.embedding.whitened import fit_whitening
from rgwot.keysteps.interface import Decoded, Frames
from rgwot.keysteps.meanfield import MeanField, decoded, label, segment

ABOUT = {
    "description": "a mean-field segmentation of what many others agree on",
    "source": "ours",
    "reads": ("meanfield", "consensus"),
    "place": 7,
}

FLOOR = 0.2
"""Components of the memberships below this share of the largest variance are dropped: what few segmentations say."""

RARE = 1e-3
"""Share of the samples below which a cluster counts no more for being rare."""


def decode_consensus(frames: Frames, K: int, settings: Settings, generator: np.random.Generator) -> Decoded:
    """Segment the memberships of many segmentations: the decoder ``consensus``.

    Every single segmentation is a local minimum that merges some key steps and splits others, differently for every
    start. What most of them agree on is not an accident. The memberships of
    ``consensus.partitions`` mean-field segmentations (`rgwot.keysteps.meanfield`) stand side by side, every one divided
    by the root of its cluster's share; whitened to at most ``consensus.D`` components and scaled to length 1 they are
    the embedding that the mean field segments once more.
    """
    block, chain = settings.consensus, settings.meanfield
    # A single segmentation need not be good, nor finished.
    quick = chain.model_copy(update={"restarts": 1, "max_iterations": block.rounds})
    members = [segment(frames.x, frames.lengths, K, quick, generator) for _ in range(block.partitions)]
    memberships = _side_by_side([member.memberships for member in members], members)
    whitening = fit_whitening([memberships], block.D, FLOOR)
    made = segment(whitening.apply(memberships), frames.lengths, K, chain, generator)
    dimensions, reached = int(whitening.basis.shape[1]), float(made.energies[-1])
    facts = {"partitions": len(members), "dimensions": dimensions, "energy": reached}

    def unseen(others: Frames) -> Decoded:
        seen = _side_by_side([label(others.x, others.lengths, member, chain) for member in members], members)
        return decoded(label(whitening.apply(seen), others.lengths, made, chain), K)

    return decoded(made.memberships, K, {"consensus": facts}, unseen)


def _side_by_side(memberships: Sequence[NDArray[np.float64]], members: Sequence[MeanField]) -> NDArray[np.float64]:
    """Put memberships next to each other, weighted so that rare clusters count as much as frequent ones."""
    return np.concatenate(
        [p / np.sqrt(np.maximum(member.shares, RARE)) for p, member in zip(memberships, members, strict=True)], axis=1
    )
