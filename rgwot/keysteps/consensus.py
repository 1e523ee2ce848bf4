"""Consensus of many mean-field segmentations, refined across videos: the decoder ``consensus`` (methods 5.8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rgwot.config.settings import Settings
from rgwot.embedding.whitened import Whitening, fit_whitening
from rgwot.evaluation.metrics import adjusted_rand_score
from rgwot.keysteps.crossvideo import Classifier, in_context, refine, together
from rgwot.keysteps.interface import MOST_SAMPLES, Decoded, Frames, Learned, Predict
from rgwot.keysteps.meanfield import MeanField, decoded, energy_of, label, segment
from rgwot.keysteps.ordering import order_information
from rgwot.runtime.errors import RgwotError
from rgwot.timing import thinned

POOLS = 3
"""Pools of segmentations: with one, two seeds of a recording differ by up to 23 points. A single video has one pool."""

FLOOR = 0.2
"""Components of the memberships below this share of the largest variance are dropped: what few segmentations say."""

RARE = 1e-3
"""Share of the samples below which being rare gives a cluster no more weight."""


def decode_consensus(frames: Frames, K: int, settings: Settings, generator: np.random.Generator) -> Decoded:
    """Segment the memberships of many segmentations and refine the result: the decoder ``consensus``.

    Every single segmentation is a local minimum that merges some key steps and splits others, differently for every
    start. What most of them agree on is not an accident. The memberships of ``consensus.partitions`` mean-field
    segmentations (`rgwot.keysteps.meanfield`), of the ``consensus.blocks`` of the embedding in turn, are concatenated,
    every one divided by the root of its cluster's share. Whitened to at most ``consensus.D`` components and scaled to
    length 1 they are an embedding that the mean field segments from ``consensus.starts`` starts. Of these the one with
    the least F / T - ``consensus.order`` I - ``consensus.agreement`` A is kept, F its energy, I how regular the order
    of its key steps is (`order_information`), and A its mean adjusted Rand index with the mean fields. All this is done
    three times, with other starts. Of the three results the one is kept that costs least in the mean over the three
    pools of segmentations, with centres of each: what one says by chance, the others do not. A single video, of which
    less is asked, has one pool.
    ``consensus.refinements`` times, classifiers that are trained on the other videos then have a say in the labels of
    each (`rgwot.keysteps.crossvideo`).

    Of more than `MOST_SAMPLES` samples every n-th is decoded, and the others have the label of the nearest one.
    """
    kept, lengths, nearest = thinned(frames.lengths, MOST_SAMPLES)
    frames = replace(frames, x=frames.x[kept], lengths=lengths)
    pools = [_pool(frames, K, settings, generator) for _ in range(POOLS if len(lengths) > 1 else 1)]
    made = [pool.best(K, frames.lengths, settings, generator) for pool in pools]

    def everywhere(i: int) -> float:
        return sum(pool.cost(made[i], frames.lengths, settings) for pool in pools)

    chosen = min(range(len(pools)), key=everywhere)
    (members, whitening, _), best = pools[chosen], made[chosen]
    found, classifier = refine(frames, best.memberships, settings.consensus.refinements)

    def learned() -> Learned:
        return {
            # Where few directions differ, segmentations differ in their number of clusters.
            "clusters": np.array([len(member.shares) for member in members]),
            "member_centres": np.concatenate([member.centres for member in members]),
            "member_shares": np.concatenate([member.shares for member in members]),
            "whitening_mean": whitening.mean,
            "whitening_basis": whitening.basis,
            "centres": best.centres,
            "shares": best.shares,
            "weights": classifier.weights,
            "offsets": classifier.offsets,
        }

    facts = {
        "partitions": len(members),
        "dimensions": int(whitening.basis.shape[1]),
        "energy": float(best.energies[-1]),
        "order_information": order_information(best.labels, frames.lengths),
        "agreement": mean_rand(best.labels, [member.labels for member in members]),
    }
    twice = (made[0].labels[nearest], made[-1].labels[nearest]) if len(made) > 1 else None
    result = replace(decoded(found[nearest], K, {"consensus": facts}), twice=twice)
    return result.inductive(restore_consensus, learned, K, settings)


def restore_consensus(learned: Learned, K: int, settings: Settings) -> Predict:
    """Label samples of other videos by every segmentation, by the last one, and by the classifier."""
    block, borders = settings.consensus, np.cumsum(learned["clusters"])[:-1]
    chain = settings.meanfield
    centres, shares = (np.split(learned[name], borders) for name in ("member_centres", "member_shares"))
    whitening = Whitening(learned["whitening_mean"], learned["whitening_basis"])
    classifier = Classifier(learned["weights"], learned["offsets"])
    quick = chain.model_copy(update={"epsilon": block.epsilon})

    def predict(others: Frames) -> Decoded:
        views = blocks_of(others, block.blocks)
        members = [
            label(views[i % len(views)], others.lengths, *member, quick)
            for i, member in enumerate(zip(centres, shares, strict=True))
        ]
        seen = whitening.apply(_side_by_side(members, shares))
        found = label(seen, others.lengths, learned["centres"], learned["shares"], chain)
        if block.refinements:
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
    """Segmentations, and their memberships, whitened: samples (T, D)."""

    members: Sequence[MeanField]
    whitening: Whitening
    x: NDArray[Any]

    def cost(self, made: MeanField, lengths: Sequence[int], settings: Settings) -> float:
        """Return what a segmentation, of this pool or another one, is judged by: F / T - gamma I - delta A."""
        energy = energy_of(self.x, lengths, made.memberships, settings.meanfield)
        regular = order_information(made.labels, lengths)
        agreed = mean_rand(made.labels, [member.labels for member in self.members])
        return energy / len(self.x) - settings.consensus.order * regular - settings.consensus.agreement * agreed

    def best(self, K: int, lengths: Sequence[int], settings: Settings, generator: np.random.Generator) -> MeanField:
        """Segment the memberships several times, and return the segmentation of least cost."""
        single = settings.meanfield.model_copy(update={"restarts": 1})
        tried = (segment(self.x, lengths, K, single, generator) for _ in range(settings.consensus.starts))
        return min(tried, key=lambda made: self.cost(made, lengths, settings))


def _pool(frames: Frames, K: int, settings: Settings, generator: np.random.Generator) -> _Pool:
    """Segment the samples from many starts, the blocks of the embedding in turn."""
    block = settings.consensus
    # A single segmentation need not be good, nor finished.
    changes = {"restarts": 1, "max_iterations": block.rounds, "epsilon": block.epsilon}
    quick = settings.meanfield.model_copy(update=changes)
    views = blocks_of(frames, block.blocks)
    members = [segment(views[i % len(views)], frames.lengths, K, quick, generator) for i in range(block.partitions)]
    memberships = _side_by_side([member.memberships for member in members], [member.shares for member in members])
    whitening = fit_whitening([memberships], block.D, FLOOR)
    return _Pool(members, whitening, whitening.apply(memberships))


def mean_rand(labels: NDArray[np.int64], others: Sequence[NDArray[np.int64]]) -> float:
    """Return the mean adjusted Rand index of labels (T,) with others of the same samples."""
    return float(np.mean([adjusted_rand_score(labels, own) for own in others]))


def _side_by_side(
    memberships: Sequence[NDArray[np.float64]], shares: Sequence[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Put memberships next to each other, weighted so that rare clusters count as much as frequent ones."""
    return np.concatenate(
        [p / np.sqrt(np.maximum(share, RARE)) for p, share in zip(memberships, shares, strict=True)], axis=1
    )
