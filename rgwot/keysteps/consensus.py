"""Consensus of many mean-field segmentations, refined across videos: the decoder ``consensus`` (methods 5.8).

A cluster is only a region of feature space. A key step also looks the same in other videos, has a usual past and
future, and often a usual time. Therefore a linear classifier is trained on the labels of some videos, with the samples
before and after each sample as context, and contributes to the labels of the other videos.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from rgwot.diagnostics import Facts
from rgwot.embedding.whitened import Whitening, fit_whitening, smooth
from rgwot.keysteps.interface import (
    MOST_SAMPLES,
    PER_VIDEO,
    Array,
    Decoded,
    Frames,
    Learned,
    Predict,
    decode_by_some,
    directions,
    learned_from,
    matched,
    middle_times,
)
from rgwot.keysteps.meanfield import (
    MeanField,
    decoded,
    label,
    label_at_once,
    label_directions,
    segment_directions,
)
from rgwot.keysteps.ordering import order_information
from rgwot.keysteps.settings import Consensus, MeanfieldSettings
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.progress import with_progress
from rgwot.runtime.threads import in_threads
from rgwot.timing import thinned

log = logging.getLogger(__name__)

CONTEXT = (-0.05, -0.02, 0.0, 0.02, 0.05)
"""Offsets of the context of a sample, as shares of a video's length, before (-) and after (+)."""

CONTEXT_COMPONENTS = 96
"""Largest number of principal components of samples in context; with more, a classifier would learn single videos."""

CONTEXT_FLOOR = 1e-4
"""Components below this share of the largest variance are dropped."""

FOLDS = 10
"""Largest number of parts of the videos; each part is labelled by a classifier that is trained on the others."""

SAY = 0.6
"""Weight of the classifiers; the segmentation has the rest. Classifiers alone lose 10 points on synthetic clips."""

WINDOW = 0.01
"""Window over which log probabilities are averaged, as a share of a video's length."""

LEAST_PROBABILITY = 1e-6
"""Smaller probabilities are raised to this value."""


def shrunken_covariance(x: Array) -> Array:
    r"""Return the covariance (D, D) of samples (n, D), n >= 1, shrunken as by Ledoit and Wolf (2004).

    With columns z of mean 0 and variance 1, their correlation S shrinks towards m I, m = tr(S) / D:

    .. math:: (1 - b / d) S + (b / d) m I, \qquad d = |S - m I|^2, \qquad
              b = \min\left(d, \tfrac1{n^2} \sum_t |z_t z_t^\top - S|^2\right)

    Then the variances of the columns are restored; columns without variance count as 0. This takes a single product of
    matrices; scikit-learn's function takes three.
    """
    n, D = x.shape
    z = x - x.mean(axis=0)
    scale = np.sqrt(np.einsum("td,td->d", z, z) / n)
    # Rounding leaves some variance in columns of equal values.
    scale[scale <= 1e-12 * np.abs(x).max(axis=0, initial=0)] = 1.0
    z /= scale
    S = z.T @ z / n
    squares, total, trace = np.einsum("td,td->t", z, z), float(np.vdot(S, S)), float(np.trace(S))
    spread = total - trace**2 / D
    error = min(spread, (float(np.vdot(squares, squares)) / n - total) / n)
    share = error / spread if error > 0 else 0.0
    S *= 1 - share
    S.flat[:: D + 1] += share * trace / D
    return np.asarray(scale[:, None] * S * scale)


class Classifier(NamedTuple):
    r"""Linear discriminant analysis with a shrunken covariance (Ledoit and Wolf, 2004), as one affine map.

    .. math:: p(k \mid z) \propto \exp(w_k \cdot z + b_k), \qquad
              w_k = \Sigma^{-1} \mu_k, \quad b_k = \log \pi_k - \tfrac12 \mu_k \cdot w_k

    Attributes
    ----------
    weights
        w (K, D), 0 for classes without samples.
    offsets
        b (K,), -inf for classes without samples.
    """

    weights: Array
    offsets: Array

    @classmethod
    def fit(cls, z: Array, labels: NDArray[np.int64], K: int) -> Classifier:
        """Fit to samples (T, D) and labels in 0..K-1.

        With too few samples or a single class, the probabilities are the shares of the classes.
        """
        classes, counts = np.unique(labels, return_counts=True)
        weights, offsets = np.zeros((K, z.shape[1])), np.full(K, -np.inf)
        if len(classes) == 1 or len(labels) <= len(classes):
            offsets[classes] = np.log(counts / counts.sum())
            return cls(weights, offsets)

        parts, priors = [z[labels == label] for label in classes], counts / counts.sum()
        means = np.stack([part.mean(axis=0) for part in parts])
        covariance = sum(prior * shrunken_covariance(part) for prior, part in zip(priors, parts, strict=True))
        weights[classes] = np.linalg.lstsq(covariance, means.T, rcond=None)[0].T
        offsets[classes] = np.log(priors) - 0.5 * np.einsum("kd,kd->k", weights[classes], means)
        return cls(weights, offsets)

    def probabilities(self, z: Array) -> Array:
        """Return the probabilities (T, K) of the classes of samples (T, D)."""
        scores = z @ self.weights.T + self.offsets
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(scores / scores.sum(axis=1, keepdims=True))


def in_context(frames: Frames, shares: Sequence[float] = CONTEXT, timed: bool | None = None) -> Array:
    """Return the input of a classifier: every sample (T, D) with its context, and the relative time minus 1/2.

    The input is (T, n D) for n ``shares`` of a video's length around a sample, or (T, n D + 1) with relative time,
    which is included by default if the embeddings have it. Beyond its ends, a video repeats its first and last sample.
    """
    x = frames.x[:, : frames.x.shape[1] - frames.place]
    blocks = []
    for video in np.split(x, np.cumsum(frames.lengths)[:-1]):
        places, T = np.arange(len(video)), len(video)
        moved = [np.clip(places + round(share * T), 0, T - 1) for share in shares]
        blocks.append(np.concatenate([video[place] for place in moved], axis=1))
    around = np.concatenate(blocks)
    if not (frames.place if timed is None else timed):
        return around
    return np.concatenate([around, middle_times(frames.lengths)[:, None] - 0.5], axis=1)


class Components(NamedTuple):
    """Principal components of samples `in_context`, at most `CONTEXT_COMPONENTS`; relative time is kept as it is."""

    mean: Array
    basis: Array

    @classmethod
    def fit(cls, x: Array, timed: int) -> Components:
        """Fit to samples in context (T, n D + timed), whose last ``timed`` columns (0 or 1) are relative time."""
        whitening = fit_whitening([x[:, : x.shape[1] - timed]], CONTEXT_COMPONENTS, CONTEXT_FLOOR)
        mean = np.concatenate([whitening.mean, np.zeros(timed)])
        return cls(mean, block_diag(whitening.basis, np.eye(timed)))

    def apply(self, x: Array) -> Array:
        """Return the components of samples in context."""
        return np.asarray((x - self.mean) @ self.basis)

    def undone(self, classifier: Classifier) -> Classifier:
        """Turn a classifier of components into a classifier of samples in context."""
        weights = classifier.weights @ self.basis.T
        return Classifier(weights, classifier.offsets - weights @ self.mean)


def together(memberships_: Array, others: Array, lengths: Sequence[int]) -> Array:
    r"""Return memberships (T, K) that combine a segmentation with the probabilities of classifiers.

    .. math:: p_{ik} \propto \exp \operatorname{mean}_{j \in W_i}
              \left[ (1 - s) \log p^\text{own}_{jk} + s \log p^\text{others}_{jk} \right]

    with s = `SAY` and W_i the window of `WINDOW` around sample i, inside its video.
    """
    mixed = sum(w * np.log(np.maximum(p, LEAST_PROBABILITY)) for w, p in ((1 - SAY, memberships_), (SAY, others)))
    videos = np.split(np.asarray(mixed), np.cumsum(lengths)[:-1])
    means = np.concatenate([smooth(video, WINDOW) for video in videos])
    means = np.exp(means - means.max(axis=1, keepdims=True))
    return np.asarray(means / means.sum(axis=1, keepdims=True))


def refine(frames: Frames, memberships: Array, rounds: int) -> tuple[Array, Classifier]:
    """Refine the labels of every video by classifiers that are trained on the other videos, several times.

    Parameters
    ----------
    frames
        Samples of V videos.
    memberships
        (T, K) of a segmentation; the largest is the label to begin with.
    rounds
        Number of rounds; with 0 rounds or a single video, memberships do not change.

    Returns
    -------
    memberships
        (T, K), refined.
    classifier
        Trained on the refined labels of all videos; it takes samples `in_context`.
    """
    K, V = memberships.shape[1], len(frames.lengths)
    context = in_context(frames)
    components = Components.fit(context, int(frames.place > 0))
    z = components.apply(context)
    fold = np.repeat(np.arange(V) % FOLDS, frames.lengths)
    parts, refined, others = np.unique(fold), memberships, np.zeros_like(memberships)
    for _ in range(rounds if V > 1 else 0):
        labels = refined.argmax(axis=1)
        for part, p in zip(parts, in_threads(partial(_of_others, z, memberships, labels, fold), parts), strict=True):
            others[fold == part] = p
        refined = together(memberships, others, frames.lengths)
    return refined, components.undone(Classifier.fit(z, refined.argmax(axis=1), K))


def _of_others(z: Array, memberships: Array, labels: NDArray[np.int64], fold: NDArray[np.int64], part: int) -> Array:
    """Return the probabilities (n, K) of the samples of a fold, by a classifier that is trained on the other folds."""
    K, in_part, others = memberships.shape[1], fold == part, fold != part
    p = Classifier.fit(z[others], labels[others], K).probabilities(z[in_part])
    # The classifier does not know a class that no other video has, so its memberships stay as they are.
    absent = np.bincount(labels[others], minlength=K) == 0
    alone = memberships[np.ix_(in_part, absent)]
    p *= 1 - alone.sum(axis=1, keepdims=True)
    p[:, absent] = alone
    return p


POOLS = 7
"""Number of pools of segmentations; with more pools, fewer seeds give a different answer. A single video has one."""

AT_ONCE: dict[str, object] = {"max_iterations": 1, "inner": 2}
"""Changed settings of the segmentations that label many videos at once; they need not converge."""

MEMBERSHIP_FLOOR = 0.2
"""Components of the memberships below this share of the largest variance are dropped, as few segmentations have
them."""

MEMBER_STARTS = 3
"""Number of starts if a pool is segmented alone, which shows how far pools differ. Two of the pools, which stand for
two seeds, get more starts."""

RARE = 1e-3
"""Clusters below this share of the samples get no additional weight for being rare."""


def decode_consensus(frames: Frames, K: int, generator: np.random.Generator, settings: Consensus) -> Decoded:
    """Segment the memberships of many segmentations and refine the result: the decoder ``consensus``.

    Every single segmentation is a local minimum that merges some key steps and splits others, differently for every
    start. Agreement of most of them is not an accident. The memberships of ``consensus.partitions`` mean-field
    segmentations (`rgwot.keysteps.meanfield`), of the ``consensus.blocks`` of the embedding in turn, are concatenated,
    each divided by the root of its cluster's share, whitened to at most ``consensus.D`` components and scaled to
    length 1. Seven such pools with different starts, side by side, are an embedding that the mean field segments from
    ``consensus.starts`` starts: the chance results of one pool do not occur in the others. The segmentation with the
    least F / T - ``consensus.order`` I is used, where F is its energy and I the regularity of the order of its key
    steps (`order_information`). A single video has one pool.
    Then, ``consensus.refinements`` times, the labels of each video are refined by classifiers that are trained on the
    other videos (`refine`).

    If there are more than `PER_VIDEO` samples per video, every n-th is segmented, and the others have the memberships
    of the nearest segmented one until classifiers refine them. If there are more than `MOST_SAMPLES` in all, only every
    n-th is decoded. If there are many videos, some are decoded, and the others are labelled with the learned state
    (`rgwot.keysteps.interface`).
    """

    def learn(some: Frames) -> Decoded:
        return _decode(some, K, generator, settings.meanfield, settings)

    def restore(result: Decoded) -> Predict:
        assert result.learned is not None
        return restore_consensus(result.learned, K, settings, at_once=True)

    return decode_by_some(frames, learned_from(frames.lengths), learn, restore)


@dataclass(frozen=True, kw_only=True)
class _ConsensusFacts(Facts):
    """The number of segmentations and their dimensions, the energy, and the information of the order in bits."""

    partitions: int
    dimensions: int
    energy: float
    order_information: float


def _decode(
    frames: Frames, K: int, generator: np.random.Generator, meanfield: MeanfieldSettings, consensus: Consensus
) -> Decoded:
    """Decode videos and learn from all of them."""
    sampled, lengths, nearest = thinned(frames.lengths, MOST_SAMPLES)
    frames = replace(frames, x=frames.x[sampled], lengths=lengths)
    # A single video has one pool with more samples, and therefore fewer segmentations; no classifier refines it.
    number, most = (POOLS, PER_VIDEO * len(lengths)) if len(lengths) > 1 else (1, MOST_SAMPLES)
    few, counts, following = thinned(lengths, most)
    coarse = replace(frames, x=frames.x[few], lengths=counts)
    turns = with_progress(log, "consensus", range(number), "pool") if number > 1 else range(1)
    pools = [_pool(coarse, K, generator, meanfield, consensus) for _ in turns]
    width = max(pool.x.shape[1] for pool in pools)
    spaces = [_widened(pool.x, width) for pool in pools]
    best = _best(spaces, K, counts, generator, meanfield, consensus, consensus.starts)
    memberships, classifier = refine(frames, best.memberships[following], consensus.refinements)
    # One pool is enough to label other videos: the one in which the key steps are clearest.
    parts = best.centres.reshape(-1, len(pools), width)
    clearest = int(np.square(parts).sum(axis=(0, 2)).argmax())
    pool = pools[clearest]
    learned = {
        # Stored, because a segmentation has fewer than K clusters if fewer than K directions are distinct.
        "clusters": np.array([len(shares) for shares in pool.shares]),
        "member_centres": np.concatenate(pool.centres),
        "member_shares": np.concatenate(pool.shares),
        "whitening_mean": pool.whitening.mean,
        "whitening_basis": pool.whitening.basis,
        "centres": directions(parts[:, clearest, : pool.x.shape[1]]),
        "shares": best.shares,
        "weights": classifier.weights,
        "offsets": classifier.offsets,
    }
    facts = _ConsensusFacts(
        partitions=sum(len(pool.shares) for pool in pools),
        dimensions=best.centres.shape[1],
        energy=float(best.energies[-1]),
        order_information=order_information(best.labels, counts),
    )
    result = replace(decoded(memberships[nearest], K, {"consensus": facts}), learned=learned)
    if len(pools) == 1:
        return result
    # A third of the starts is enough to see whether two answers are alike.
    starts = -(-consensus.starts // 3)
    alone = [
        _best([x], K, counts, generator, meanfield, consensus, starts if at < 2 else MEMBER_STARTS).labels
        for at, x in enumerate(spaces)
    ]
    first, second, *more = (labels[following[nearest]] for labels in alone)
    members = tuple(matched(labels, result.labels, K) for labels in (first, second, *more))
    return replace(result, twice=(first, second), members=members)


QUICK = Consensus(partitions=12, starts=4)
"""Settings of a consensus where only parts of key steps are looked for."""


def quick_consensus(frames: Frames, K: int, meanfield: MeanfieldSettings) -> Array:
    """Return memberships (T, K) by one pool of few segmentations, refined across videos: about a tenth of the time.

    The same samples always have the same memberships: the seed is fixed.
    """
    few, lengths, following = thinned(frames.lengths, PER_VIDEO * len(frames.lengths))
    generator = np.random.default_rng(0)
    pool = _pool(replace(frames, x=frames.x[few], lengths=lengths), K, generator, meanfield, QUICK)
    best = _best([pool.x], K, lengths, generator, meanfield, QUICK, QUICK.starts)
    return refine(frames, best.memberships[following], QUICK.refinements)[0]


def restore_consensus(learned: Learned, K: int, consensus: Consensus, at_once: bool = False) -> Predict:
    """Return the function that labels other videos by the learned segmentations and the classifier.

    The samples get memberships in every segmentation of a pool and, from these, in the segmentation of the pool, which
    are combined with the classifier. Many videos are labelled ``at_once``, with only two updates for each segmentation
    of the pool.

    Raises
    ------
    ValueError
        If the numbers of clusters of the segmentations do not add up to the number of centres.
    """
    if (learned["clusters"] < 1).any() or learned["clusters"].sum() != len(learned["member_centres"]):
        raise ValueError("clusters do not add up to member_centres")
    meanfield, borders = consensus.meanfield, np.cumsum(learned["clusters"])[:-1]
    centres, shares = (np.split(learned[name], borders) for name in ("member_centres", "member_shares"))
    whitening = Whitening(learned["whitening_mean"], learned["whitening_basis"])
    classifier = Classifier(learned["weights"], learned["offsets"])
    quick = meanfield.model_copy(update={"epsilon": consensus.epsilon, **(AT_ONCE if at_once else {})})
    label_member, label_by = (label_directions, label_at_once) if at_once else (label, label)

    def predict(others: Frames) -> Decoded:
        parts = blocks_of(others, consensus.blocks)
        if at_once:
            parts = [directions(part) for part in parts]
        members = [
            label_member(parts[i % len(parts)], others.lengths, *member, quick)
            for i, member in enumerate(zip(centres, shares, strict=True))
        ]
        space = whitening.apply(side_by_side(members, shares))
        memberships = label_by(space, others.lengths, learned["centres"], learned["shares"], meanfield)
        if consensus.refinements:
            memberships = together(memberships, classifier.probabilities(in_context(others)), others.lengths)
        return decoded(memberships, K)

    return predict


def blocks_of(frames: Frames, blocks: int) -> list[NDArray[np.float64]]:
    """Divide embeddings into blocks of equal width, each with the relative time that all of them share.

    Blocks are scaled so that relative time keeps its share of their squared length.

    Raises
    ------
    RgwotError
        If the embedding does not consist of this many equal blocks.
    """
    features, place = np.split(frames.x, [frames.x.shape[1] - frames.place], axis=1)
    if features.shape[1] % blocks:
        raise RgwotError(
            f"consensus.blocks: found {blocks} for an embedding of dimension {features.shape[1]}, expected a divisor "
            "of it; set consensus.blocks=1, or use rgwot-plus, whose embedding has two blocks"
        )
    return [np.concatenate([part * np.sqrt(blocks), place], axis=1) for part in np.split(features, blocks, axis=1)]


class _Pool(NamedTuple):
    """Centres and shares of segmentations, and the samples (T, D): their whitened memberships."""

    centres: Sequence[NDArray[np.float64]]
    shares: Sequence[NDArray[np.float64]]
    whitening: Whitening
    x: NDArray[np.floating]


def _pool(
    frames: Frames, K: int, generator: np.random.Generator, meanfield: MeanfieldSettings, consensus: Consensus
) -> _Pool:
    """Segment the samples from many starts, the blocks of the embedding in turn."""
    # One start and few rounds are enough: among many segmentations, none needs to be good by itself, or to converge.
    changes = {"restarts": 1, "max_iterations": consensus.rounds, "epsilon": consensus.epsilon}
    quick = meanfield.model_copy(update=changes)
    parts = [directions(part) for part in blocks_of(frames, consensus.blocks)]

    def member(numbered: tuple[int, np.random.Generator]) -> MeanField:
        number, own = numbered
        return segment_directions(parts[number % len(parts)], frames.lengths, K, quick, own)

    members = in_threads(member, enumerate(generator.spawn(consensus.partitions)))
    shares = [member.shares for member in members]
    memberships = side_by_side([member.memberships for member in members], shares)
    whitening = fit_whitening([memberships], consensus.D, MEMBERSHIP_FLOOR)
    return _Pool([member.centres for member in members], shares, whitening, whitening.apply(memberships))


def _best(
    pools: Sequence[NDArray[np.floating]],
    K: int,
    lengths: Sequence[int],
    generator: np.random.Generator,
    meanfield: MeanfieldSettings,
    consensus: Consensus,
    starts: int,
) -> MeanField:
    """Segment the samples of pools (T, D) side by side from several starts; return the segmentation of least cost."""
    x = directions(np.concatenate(pools, axis=1))
    single = meanfield.model_copy(update={"restarts": 1})

    def cost(field: MeanField) -> float:
        return float(field.energies[-1]) / len(x) - consensus.order * order_information(field.labels, lengths)

    return min(
        in_threads(lambda own: segment_directions(x, lengths, K, single, own), generator.spawn(starts)), key=cost
    )


def _widened(columns: NDArray[np.floating], width: int) -> NDArray[np.floating]:
    """Add columns of zeros, which change no direction, up to a width."""
    return np.pad(columns, ((0, 0), (0, width - columns.shape[1])))


def side_by_side(
    memberships: Sequence[NDArray[np.float64]], shares: Sequence[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Concatenate memberships, weighted so that rare clusters count as much as frequent ones."""
    return np.concatenate(
        [p / np.sqrt(np.maximum(share, RARE)) for p, share in zip(memberships, shares, strict=True)], axis=1
    )
