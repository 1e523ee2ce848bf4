"""Consensus of many mean-field segmentations, refined across videos: the decoder ``consensus`` (methods 5.8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rgwot.embedding.whitened import Whitening, fit_whitening
from rgwot.keysteps.crossvideo import Classifier, in_context, refine, together
from rgwot.keysteps.interface import MOST_SAMPLES, Decoded, Frames, Learned, Predict, directions
from rgwot.keysteps.meanfield import MeanField, decoded, label, segment
from rgwot.keysteps.ordering import order_information
from rgwot.keysteps.settings import ConsensusSettings, MeanfieldSettings
from rgwot.runtime.errors import RgwotError
from rgwot.timing import thinned

POOLS = 7
"""Pools of segmentations: the more there are, the fewer seeds give another answer. A single video has one."""

PER_VIDEO = 150
"""Samples per video, in the mean, that are segmented of several videos: a window of the mean field then has seven."""

MEMBERSHIP_FLOOR = 0.2
"""Components of the memberships below this share of the largest variance are dropped: what few segmentations say."""

RARE = 1e-3
"""Share of the samples below which being rare gives a cluster no more weight."""


def decode_consensus(
    frames: Frames, K: int, generator: np.random.Generator, chain: MeanfieldSettings, consensus: ConsensusSettings
) -> Decoded:
    """Segment the memberships of many segmentations and refine the result: the decoder ``consensus``.

    Every single segmentation is a local minimum that merges some key steps and splits others, differently for every
    start. What most of them agree on is not an accident. The memberships of ``consensus.partitions`` mean-field
    segmentations (`rgwot.keysteps.meanfield`), of the ``consensus.blocks`` of the embedding in turn, are concatenated,
    every one divided by the root of its cluster's share, whitened to at most ``consensus.D`` components and scaled to
    length 1. Seven such pools side by side, each from starts of its own, are an embedding that the mean field segments
    from ``consensus.starts`` starts: what one pool says by chance, the others do not. Of these the one with the least
    F / T - ``consensus.order`` I is kept, F its energy and I how regular the order of its key steps is
    (`order_information`). A single video has one pool.
    ``consensus.refinements`` times, classifiers that are trained on the other videos then have a say in the labels of
    each (`rgwot.keysteps.crossvideo`).

    Of more than `PER_VIDEO` samples per video every n-th is segmented, and the others have the memberships of the
    nearest one until classifiers refine them; of more than `MOST_SAMPLES` in all every n-th is decoded at all.
    """
    kept, lengths, nearest = thinned(frames.lengths, MOST_SAMPLES)
    frames = replace(frames, x=frames.x[kept], lengths=lengths)
    # Less is asked of a single video, and no classifier refines it.
    number, most = (POOLS, PER_VIDEO * len(lengths)) if len(lengths) > 1 else (1, MOST_SAMPLES)
    few, counts, following = thinned(lengths, most)
    coarse = replace(frames, x=frames.x[few], lengths=counts)
    pools = [_pool(coarse, K, generator, chain, consensus) for _ in range(number)]
    width = max(pool.x.shape[1] for pool in pools)
    seen = [_widened(pool.x, width) for pool in pools]
    best = _best(seen, K, counts, generator, chain, consensus, consensus.starts)
    found, classifier = refine(frames, best.memberships[following], consensus.refinements)

    def learned() -> Learned:
        # One pool is enough to label other videos: that in which the key steps are clearest.
        parts = best.centres.reshape(-1, len(pools), width)
        clearest = int(np.square(parts).sum(axis=(0, 2)).argmax())
        pool = pools[clearest]
        return {
            # Where few directions differ, segmentations differ in their number of clusters.
            "clusters": np.array([len(own) for own in pool.shares]),
            "member_centres": np.concatenate(pool.centres),
            "member_shares": np.concatenate(pool.shares),
            "whitening_mean": pool.whitening.mean,
            "whitening_basis": pool.whitening.basis,
            "centres": directions(parts[:, clearest, : pool.x.shape[1]]),
            "shares": best.shares,
            "weights": classifier.weights,
            "offsets": classifier.offsets,
        }

    facts = {
        "partitions": sum(len(pool.shares) for pool in pools),
        "dimensions": best.centres.shape[1],
        "energy": float(best.energies[-1]),
        "order_information": order_information(best.labels, counts),
    }
    made = decoded(found[nearest], K, {"consensus": facts}).inductive(restore_consensus, learned, K, chain, consensus)
    if len(pools) == 1:
        return made
    # To see whether two answers are alike a third of the starts will do.
    starts = -(-consensus.starts // 3)
    one, other = (
        _best([x], K, counts, generator, chain, consensus, starts).labels[following[nearest]] for x in seen[:2]
    )
    return replace(made, twice=(one, other))


def restore_consensus(learned: Learned, K: int, chain: MeanfieldSettings, consensus: ConsensusSettings) -> Predict:
    """Label samples of other videos by every segmentation, by the last one, and by the classifier."""
    borders = np.cumsum(learned["clusters"])[:-1]
    centres, shares = (np.split(learned[name], borders) for name in ("member_centres", "member_shares"))
    whitening = Whitening(learned["whitening_mean"], learned["whitening_basis"])
    classifier = Classifier(learned["weights"], learned["offsets"])
    quick = chain.model_copy(update={"epsilon": consensus.epsilon})

    def predict(others: Frames) -> Decoded:
        views = blocks_of(others, consensus.blocks)
        members = [
            label(views[i % len(views)], others.lengths, *member, quick)
            for i, member in enumerate(zip(centres, shares, strict=True))
        ]
        seen = whitening.apply(_side_by_side(members, shares))
        found = label(seen, others.lengths, learned["centres"], learned["shares"], chain)
        if consensus.refinements:
            found = together(found, classifier.probabilities(in_context(others)), others.lengths)
        return decoded(found, K)

    return predict


def blocks_of(frames: Frames, blocks: int) -> list[NDArray[np.float64]]:
    """Divide embeddings into blocks of equal width, each with the relative time that all of them share.

    Blocks are scaled so that relative time keeps its share of their squared length.

    Raises
    ------
    RgwotError
        Where the embedding has not so many equal blocks.
    """
    features, place = np.split(frames.x, [frames.x.shape[1] - frames.place], axis=1)
    if features.shape[1] % blocks:
        raise RgwotError(
            f"consensus.blocks: found {blocks} for an embedding of {features.shape[1]} numbers, expected a divisor of "
            "it; take consensus.blocks=1, or rgwot-plus, whose embedding has two blocks"
        )
    return [np.concatenate([part * np.sqrt(blocks), place], axis=1) for part in np.split(features, blocks, axis=1)]


class _Pool(NamedTuple):
    """Centres and shares of segmentations, and their memberships, whitened: samples (T, D)."""

    centres: Sequence[NDArray[np.float64]]
    shares: Sequence[NDArray[np.float64]]
    whitening: Whitening
    x: NDArray[Any]


def _pool(
    frames: Frames, K: int, generator: np.random.Generator, chain: MeanfieldSettings, consensus: ConsensusSettings
) -> _Pool:
    """Segment the samples from many starts, the blocks of the embedding in turn."""
    # A single segmentation need not be good, nor finished.
    changes = {"restarts": 1, "max_iterations": consensus.rounds, "epsilon": consensus.epsilon}
    quick = chain.model_copy(update=changes)
    views = blocks_of(frames, consensus.blocks)
    members = [segment(views[i % len(views)], frames.lengths, K, quick, generator) for i in range(consensus.partitions)]
    shares = [member.shares for member in members]
    memberships = _side_by_side([member.memberships for member in members], shares)
    whitening = fit_whitening([memberships], consensus.D, MEMBERSHIP_FLOOR)
    return _Pool([member.centres for member in members], shares, whitening, whitening.apply(memberships))


def _best(
    pools: Sequence[NDArray[Any]],
    K: int,
    lengths: Sequence[int],
    generator: np.random.Generator,
    chain: MeanfieldSettings,
    consensus: ConsensusSettings,
    starts: int,
) -> MeanField:
    """Segment the samples of pools (T, D) side by side from several starts; return the segmentation of least cost."""
    x = np.concatenate(pools, axis=1)
    single = chain.model_copy(update={"restarts": 1})

    def cost(made: MeanField) -> float:
        return float(made.energies[-1]) / len(x) - consensus.order * order_information(made.labels, lengths)

    return min((segment(x, lengths, K, single, generator) for _ in range(starts)), key=cost)


def _widened(columns: NDArray[Any], width: int) -> NDArray[Any]:
    """Add columns of zeros, which change no direction, up to a width."""
    return np.pad(columns, ((0, 0), (0, width - columns.shape[1])))


def _side_by_side(
    memberships: Sequence[NDArray[np.float64]], shares: Sequence[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Put memberships next to each other, weighted so that rare clusters count as much as frequent ones."""
    return np.concatenate(
        [p / np.sqrt(np.maximum(share, RARE)) for p, share in zip(memberships, shares, strict=True)], axis=1
    )
