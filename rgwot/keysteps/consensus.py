"""Consensus of many mean-field segmentations, and a segmentation of that: the decoder ``consensus`` (methods 5.8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rgwot.config.settings import Settings
from rgwot.embedding.whitened import Whitening, fit_whitening
from rgwot.keysteps.interface import Decoded, Frames, Learnt, Unseen
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
"""Share of the samples below which being rare gives a cluster no more weight."""


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
    memberships = _side_by_side([member.memberships for member in members], [member.shares for member in members])
    whitening = fit_whitening([memberships], block.D, FLOOR)
    made = segment(whitening.apply(memberships), frames.lengths, K, chain, generator)
    dimensions, reached = int(whitening.basis.shape[1]), float(made.energies[-1])
    facts = {"partitions": len(members), "dimensions": dimensions, "energy": reached}

    def learnt() -> Learnt:
        return {
            # Where few directions differ, segmentations differ in their number of clusters.
            "clusters": np.array([len(member.shares) for member in members]),
            "member_centres": np.concatenate([member.centres for member in members]),
            "member_shares": np.concatenate([member.shares for member in members]),
            "whitening_mean": whitening.mean,
            "whitening_basis": whitening.basis,
            "centres": made.centres,
            "shares": made.shares,
        }

    def of(part: Sequence[MeanField]) -> NDArray[np.int64]:
        own = _side_by_side([member.memberships for member in part], [member.shares for member in part])
        x = fit_whitening([own], block.D, FLOOR).apply(own)
        return segment(x, frames.lengths, K, chain, generator).labels

    half = len(members) // 2
    found = decoded(made.memberships, K, {"consensus": facts})
    if half:
        found = replace(found, halves=lambda: (of(members[:half]), of(members[half:])))
    return found.inductive(restore_consensus, learnt, K, settings)


def restore_consensus(learnt: Learnt, K: int, settings: Settings) -> Unseen:
    """Label samples of other videos by every segmentation, and what comes of it by the last one."""
    chain, borders = settings.meanfield, np.cumsum(learnt["clusters"])[:-1]
    centres, shares = (np.split(learnt[name], borders) for name in ("member_centres", "member_shares"))
    whitening = Whitening(learnt["whitening_mean"], learnt["whitening_basis"])

    def unseen(others: Frames) -> Decoded:
        members = zip(centres, shares, strict=True)
        seen = _side_by_side([label(others.x, others.lengths, *member, chain) for member in members], shares)
        found = label(whitening.apply(seen), others.lengths, learnt["centres"], learnt["shares"], chain)
        return decoded(found, K)

    return unseen


def _side_by_side(
    memberships: Sequence[NDArray[np.float64]], shares: Sequence[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Put memberships next to each other, weighted so that rare clusters count as much as frequent ones."""
    return np.concatenate(
        [p / np.sqrt(np.maximum(share, RARE)) for p, share in zip(memberships, shares, strict=True)], axis=1
    )
