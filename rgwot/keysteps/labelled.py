"""The decoder for tasks with some annotated videos (methods 5.10).

Several segmentations fit the samples equally well; labels decide between them. Four sources of evidence are combined.
Dynamic time warping carries labels from annotated videos over to the others, which uses the order of key steps. A
hidden Markov model with a state per labelled class uses appearance, transitions and durations; it takes the place of
warping in videos whose order warping does not explain. Linear classifiers are trained on the labelled samples, and then
on the labels that all samples have so far (self-training). The mean field, with the memberships of labelled samples
fixed, uses clusters and neighbours in time. A video that has one key step at a different place from the annotated
videos is decoded as if that step came at its usual place (`rgwot.keysteps.moves`).

Marks (labels of single moments) are turned into segments by a first decoding; a second one learns from these. If there
are only marks, and few in most annotated videos, the classifiers and the alignment have too little to learn from. Then
clusters that are found without labels get their names from the marks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rgwot.diagnostics import Facts
from rgwot.embedding.whitened import smooth
from rgwot.keysteps.consensus import (
    CONTEXT,
    LEAST_PROBABILITY,
    WINDOW,
    Classifier,
    Components,
    in_context,
    quick_consensus,
)
from rgwot.keysteps.interface import (
    MOST_SAMPLES,
    NO_CLUSTER,
    PER_VIDEO,
    UNKNOWN,
    Array,
    Decoded,
    Frames,
    Learned,
    Predict,
    Scalar,
    decode_by_some,
    directions,
    first_samples,
    learned_from,
    rows_of,
)
from rgwot.keysteps.kmeans import kmeans
from rgwot.keysteps.meanfield import MeanField, label, label_at_once, minimise_energy
from rgwot.keysteps.moves import stretched, usual_orders
from rgwot.keysteps.settings import Labelled, MeanfieldSettings
from rgwot.keysteps.states import StateModel, agreement, order_weights, spread
from rgwot.keysteps.warping import ALIGNED, evenly_spaced, warp
from rgwot.timing import runs, thinned

SPREAD = 0.1
"""Relative excess over the smallest cost at which the weight of an annotated video has fallen to 1/e."""

DOUBT = 0.1
"""Probability that is spread evenly over the annotated classes, since alignments err."""


def carry_over(
    x: Array,
    lengths: Sequence[int],
    references: Array,
    reference_labels: NDArray[np.int64],
    C: int,
    align: Callable[[Array, Array], tuple[Array, NDArray[np.integer]]] = warp,
) -> Array:
    """Return probabilities (T, C) of the classes of samples, by the labels of annotated videos.

    Each video is aligned with every annotated one. A sample gets the labels of its matches; annotated videos with a
    smaller cost have more weight. An annotated video in which no match of a sample has
    a label counts for all classes alike.

    Parameters
    ----------
    x
        Directions (T, D), that is, embeddings of length 1, of all videos, one video after the other.
    lengths
        Number of samples of each video.
    references, reference_labels
        `evenly_spaced` directions (n, R, D) of annotated videos and their labels (n, R), R = `ALIGNED`: 0..C-1 or
        `UNKNOWN`.
    C
        Number of classes.
    align
        `warp`, or a function that returns the same (`Kept.warp`).
    """
    V, n = len(lengths), len(references)
    few = np.asarray(evenly_spaced(x, lengths), dtype=np.float64)
    costs, paths = align(np.repeat(few, n, axis=0), np.tile(references, (V, 1, 1)))
    costs = costs.reshape(V, n)
    least = costs.min(axis=1, keepdims=True)
    weights = np.exp(-(costs - least) / np.maximum(SPREAD * least, 1e-12))
    known = np.bincount(reference_labels[reference_labels != UNKNOWN], minlength=C) > 0
    votes = np.zeros((V, ALIGNED, C))
    for pair, path in enumerate(paths):
        video, other = divmod(pair, n)
        i, j = path[path[:, 0] >= 0].T
        labels = reference_labels[other, j]
        counts = np.zeros((ALIGNED, C))
        np.add.at(counts, (i[labels != UNKNOWN], labels[labels != UNKNOWN]), 1)
        total = counts.sum(axis=1, keepdims=True)
        votes[video] += weights[video, other] * np.where(total > 0, counts / np.maximum(total, 1), 1 / C)
    votes /= votes.sum(axis=2, keepdims=True)
    # If there are few labels, all of them may lie between the aligned samples: no class is known, and all are equally
    # likely.
    votes = (1 - DOUBT) * votes + DOUBT * (known / known.sum() if known.any() else 1 / C)
    return np.concatenate(
        [
            votes_here[np.rint(np.linspace(0, ALIGNED - 1, T)).astype(np.int64)]
            for votes_here, T in zip(votes, lengths, strict=True)
        ]
    )


CONTEXTS = ((-0.02, 0.0, 0.02), CONTEXT, (-0.15, -0.07, -0.03, 0.0, 0.03, 0.07, 0.15))
"""Offsets around a sample that each of three classifiers sees, as shares of a video's length. Their log probabilities
are averaged, because the duration of key steps is not known beforehand, and a single context errs more if there are
few labels."""


class _Weights(NamedTuple):
    """Weights of the labels ``carried`` over (or of the hidden Markov model) and of clusters.

    Classifiers have the rest.
    """

    carried: float
    clustered: float


USUAL = _Weights(0.5, 0.2)
"""Clusters are those of the mean field. Choosing a weight by cross-validation over the annotated videos loses 1 to 5
points with two or three of them and gains nothing with five."""

SCATTERED = _Weights(0.1, 0.6)
"""Weights if there are only marks, few in most annotated videos. Marks name the clusters of `quick_consensus`."""

FINEST = 2
"""Largest number of clusters per key step that get names from marks; with three, F1 is no better. There are no more
clusters than marks, unless there are fewer marks than key steps."""

NAMING = 0.3
"""Weight of the mean field in the name of a cluster; each mark in the cluster has weight 1."""

NAMELESS = 0.5
"""A cluster in which the memberships of labelled samples add up to less than this counts as unlabelled."""

REFITTED = 0.55
"""Share of the refitted classifiers in the weight of all classifiers; those fitted to annotations have the rest."""

REFITS = 3
"""Rounds of self-training."""

ROUGHLY = 10
"""Factor of the tolerance of the mean field, which is one of several sources: half as many rounds give the same F1."""

SHOWN = 16
"""Maximum number of annotated videos whose labels are carried over; if there are more, evenly spaced ones are used."""

STRANGE = 0.25
"""Quantile of the similarity of labelled samples to their class. A sample before the first or after the last annotated
segment is taken for background if its similarity to every class is below this quantile: an annotator would rarely omit
a step."""

COMPARED = 3
"""Number of annotated videos to compare with; a key step counts as moved only if its place differs in all of them."""

REACH = 0.15
"""A mark is first assumed to extend this share of the way to each of its neighbours."""

FEW_MARKS = 0.5
"""If a video has fewer marks than this share of the number of key steps, some of its segments have none."""

MOSTLY = 0.5
"""If at least this share of the samples between neighbouring marks of a video is decoded as one of their two labels,
nothing else is assumed to lie between them. Also: a task counts as one with few marks if more than this share of its
annotated videos has few."""

WHOLE = 0.9
"""A video with at least this share of its samples labelled counts as annotated as a whole."""

FARTHEST = 0.25
"""Share of the unlabelled samples, those least similar to annotated key steps, in which extra key steps are sought."""

TEMPERATURE = 1.6
"""Classifiers, labels carried over and clusters are not independent, so their product is too sure. Chosen on ten tasks
of real recordings; it is the same whichever data set is left out (methods 5.10)."""


def calibrated(shares: Array) -> Array:
    """Return memberships (T, C) as probabilities: to the power 1 / `TEMPERATURE`, with rows that add up to 1.

    >>> calibrated(np.array([[0.9, 0.1], [1.0, 0.0]])).round(2).tolist()
    [[0.8, 0.2], [1.0, 0.0]]
    """
    tempered = np.asarray(shares, dtype=np.float64) ** (1 / TEMPERATURE)
    return np.asarray(tempered / tempered.sum(axis=1, keepdims=True))


class Kept:
    """A cache of results that do not depend on labels, for decoding the same samples with other labels.

    Samples in context (`CONTEXTS`) and alignments of pairs of videos are kept for one task; those of other samples
    replace them. Samples are compared by value, so results are the same to the bit as without a cache. Also kept are
    the memberships by which moments are suggested (`rgwot.keysteps.suggest.suggest_moments`), for one seed.
    """

    def __init__(self) -> None:
        self._frames: Frames | None = None
        self._components: list[Components] = []
        self._views: list[Array] = []
        self._pairs: dict[tuple[bytes, bytes], tuple[float, NDArray[np.int16]]] = {}
        self._segmented: tuple[Array, Sequence[int], int, Array] | None = None

    def contexts(self, frames: Frames) -> tuple[list[Components], list[Array]]:
        """Return the components of samples in each of `CONTEXTS`, fitted to them, and these samples in context."""
        of = self._frames
        if of is None or of.lengths != frames.lengths or of.place != frames.place or not np.array_equal(of.x, frames.x):
            self._components, self._views, self._pairs = [], [], {}
            for shares in CONTEXTS:
                context = in_context(frames, shares, timed=True)
                self._components.append(Components.fit(context, 1))
                self._views.append(self._components[-1].apply(context))
            self._frames = replace(frames, given=None, marked=None)
        return self._components, self._views

    def memberships(self, x: Array, lengths: Sequence[int], K: int, segment: Callable[[int], Array]) -> Array:
        """Return the memberships (T, C) of samples x (T, D) of videos that ``segment`` returns for K; computed once."""
        of = self._segmented
        if of is None or of[1:3] != (lengths, K) or not np.array_equal(of[0], x):
            self._segmented = of = x, lengths, K, segment(K)
        return of[3]

    def warp(self, x_all: Array, y_all: Array) -> tuple[Array, NDArray[np.int16]]:
        """Align pairs of sequences as `rgwot.keysteps.warping.warp` does, but each pair only once."""
        names = [[blake2b(one.tobytes(), digest_size=16).digest() for one in every] for every in (x_all, y_all)]
        pairs = list(zip(*names, strict=True))
        new = list({pair: at for at, pair in enumerate(pairs) if pair not in self._pairs}.values())
        if new:
            costs, paths = warp(x_all[new], y_all[new])
            found = zip(costs.tolist(), paths.astype(np.int16), strict=True)
            self._pairs |= dict(zip((pairs[at] for at in new), found, strict=True))
        every = [self._pairs[pair] for pair in pairs]
        return np.array([cost for cost, _ in every]), np.array([path for _, path in every])


def reaching(labels: NDArray[np.int64], marked: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the labels (T,) of a video in which every mark extends part of the way to its neighbours (`REACH`)."""
    reached, places = labels.copy(), np.flatnonzero(labels != UNKNOWN)
    for at in np.flatnonzero(marked):
        place = int(np.searchsorted(places, at))
        before = places[place - 1] if place else -1
        after = places[place + 1] if place + 1 < len(places) else len(labels)
        reached[at - int(REACH * (at - before)) : at + int(REACH * (after - at)) + 1] = labels[at]
    return reached


def surrounded(labels: NDArray[np.int64], marked: NDArray[np.bool_], log_p: Array) -> NDArray[np.int64]:
    """Return the labels (T,) of a video in which marks extend as far as their labels explain the samples best.

    On either side, a mark extends to where the sum of its log p minus that of the best other class is largest, but not
    to another labelled sample.
    """
    filled, places = labels.copy(), np.flatnonzero(labels != UNKNOWN)
    for at in np.flatnonzero(marked):
        place = int(np.searchsorted(places, at))
        low = places[place - 1] + 1 if place else 0
        high = places[place + 1] if place + 1 < len(places) else len(labels)
        gains = log_p[:, labels[at]] - np.delete(log_p, labels[at], axis=1).max(axis=1)
        before, after = np.cumsum(gains[low:at][::-1]), np.cumsum(gains[at + 1 : high])
        start, end = (int(np.concatenate([[0.0], sums]).argmax()) for sums in (before, after))
        filled[at - start : at + 1 + end] = labels[at]
    return filled


def bordered(labels: NDArray[np.int64], marked: NDArray[np.bool_], log_p: Array) -> NDArray[np.int64]:
    """Return the labels (T,) of a video with segments in place of its marks, by log p (T, C) of a first decoding.

    If most samples between neighbouring marks are decoded as one of their two labels, every segment is assumed to have
    a mark: there is one border between neighbouring marks, where log p is largest, or none if they are of one class.
    Otherwise, and before the first and after the last mark, a mark labels the samples around it that are decoded alike.
    """
    filled, chosen, places = labels.copy(), log_p.argmax(axis=1), np.flatnonzero(labels != UNKNOWN)
    for at in np.flatnonzero(marked):
        place = int(np.searchsorted(places, at))
        low = places[place - 1] + 1 if place else 0
        high = places[place + 1] if place + 1 < len(places) else len(labels)
        other = np.flatnonzero(chosen != labels[at])
        start = max(low, int(other[other < at].max(initial=-1)) + 1)
        filled[start : min(high, int(other[other > at].min(initial=len(labels))))] = labels[at]
    gaps = [gap for gap in pairwise(places.tolist()) if marked[list(gap)].all() and gap[1] > gap[0] + 1]
    expected = [np.isin(chosen[left + 1 : right], labels[[left, right]]) for left, right in gaps]
    if not gaps or np.concatenate(expected).mean() < MOSTLY:
        return filled
    for left, right in gaps:
        a, b = labels[left], labels[right]
        gains = np.cumsum(log_p[left + 1 : right, a] - log_p[left + 1 : right, b])
        border = left + 1 + int(np.concatenate([[0.0], gains]).argmax())
        filled[left:border], filled[border:right] = a, b
    return filled


@dataclass(frozen=True)
class _Task:
    """The samples of a task, prepared for every source of evidence.

    ``samples`` (T, D) are embeddings, ``x`` (T, D) their directions, ``contexts`` the components of samples in each of
    `CONTEXTS`. The C classes are K key steps, the last ``extra`` of them without labels, and background.
    ``align`` aligns pairs of videos (`carry_over`).
    """

    samples: Array
    x: Array
    lengths: tuple[int, ...]
    contexts: Sequence[Array]
    C: int
    extra: int
    generator: np.random.Generator
    meanfield: MeanfieldSettings
    align: Callable[[Array, Array], tuple[Array, NDArray[np.integer]]] = warp

    @property
    def found(self) -> NDArray[np.int64]:
        """Classes without annotations, which the mean field discovers."""
        return np.arange(self.C - 1 - self.extra, self.C - 1)

    def fit(self, labels: NDArray[np.int64]) -> list[Classifier]:
        """Fit a classifier for each of ``contexts`` to the samples whose label (T,) is not `UNKNOWN`."""
        labelled = labels != UNKNOWN
        return [Classifier.fit(z[labelled], labels[labelled], self.C) for z in self.contexts]

    def smooth(self, log_p: Array) -> Array:
        """Average log probabilities over a window inside each video."""
        return np.concatenate([smooth(video, WINDOW) for video in np.split(log_p, np.cumsum(self.lengths)[:-1])])

    def with_ends(self, labels: NDArray[np.int64], partly: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return labels in which unlabelled samples of annotated videos that resemble no class are background.

        Videos (V,) that are labelled only ``partly`` do not change. With fewer than two other annotated videos, no
        label changes: too little is known about the variation within a class.
        """
        labelled, annotated = labels != UNKNOWN, self.annotated(labels) & ~partly
        ends = np.repeat(annotated, self.lengths) & ~labelled
        if self.extra:
            # Time between labels may be an extra key step.
            ends &= _by_video(_outside, self.lengths, labels)
        if annotated.sum() < 2 or not ends.any():
            return labels
        classes, likeness = self.likeness(labels)
        log_p = likeness[labelled, np.searchsorted(classes, labels[labelled])]
        strange = ends & (likeness.max(axis=1) < np.quantile(log_p, STRANGE))
        return np.where(strange, self.C - 1, labels)

    def annotated(self, labels: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which videos have a labelled sample, (V,)."""
        return np.array([bool((part != UNKNOWN).any()) for part in _split(self, labels)])

    def likeness(self, labels: NDArray[np.int64]) -> tuple[NDArray[np.int64], Array]:
        """Return the classes (C',) that have labelled samples, and the cosine of every sample with their means."""
        classes = np.unique(labels[labels != UNKNOWN])
        centres = directions(np.stack([self.x[labels == class_here].sum(axis=0) for class_here in classes]))
        return classes, self.x @ centres.T

    def shown(self, labels: NDArray[np.int64]) -> tuple[Array, NDArray[np.int64]]:
        """Return evenly spaced samples of the annotated videos that others are warped onto, and their labels.

        A label between two of these samples goes to the nearest one, if that has none. Videos with few labels are not
        used if others are annotated as a whole (`WHOLE`), because most of what is warped onto them gets no label.
        """
        shares = np.array([np.mean(part != UNKNOWN) for part in _split(self, labels)])
        annotated = np.flatnonzero(shares >= WHOLE if shares.max() >= WHOLE else shares > 0)
        chosen = annotated[np.unique(np.linspace(0, len(annotated) - 1, SHOWN).round().astype(int))]
        said = evenly_spaced(labels, self.lengths)[chosen]
        for row, video in zip(said, chosen, strict=True):
            here = rows_of(self.lengths, [int(video)])
            for at in np.flatnonzero(labels[here] != UNKNOWN):
                nearest = int(np.rint(at * (ALIGNED - 1) / max(len(here) - 1, 1)))
                if row[nearest] == UNKNOWN:
                    row[nearest] = labels[here][at]
        return evenly_spaced(self.x, self.lengths)[chosen], said

    def in_usual_order(
        self,
        states: StateModel,
        references: Array,
        reference_labels: NDArray[np.int64],
        labels: NDArray[np.int64] | None = None,
        least: float | None = None,
    ) -> tuple[NDArray[np.int64], float]:
        """Return the order (T,) of samples in which no video has a moved key step, and the limit (`usual_orders`).

        Videos with ``labels`` (T,) do not change. With fewer than `COMPARED` annotated videos, no video changes, since
        the order of the annotated ones may be odd.
        """
        chosen = np.unique(np.linspace(0, len(references) - 1, COMPARED).round().astype(int))
        rows, starts = np.arange(len(self.x)), first_samples(self.lengths)
        videos = np.arange(len(self.lengths)) if labels is None else np.flatnonzero(~self.annotated(labels))
        if len(chosen) < COMPARED or not len(videos):
            return rows, np.inf
        lengths, here = [self.lengths[video] for video in videos], rows_of(self.lengths, videos)
        parts = np.split(states.seen(self.samples[here], self.C), np.cumsum(lengths)[:-1])
        log_p = np.concatenate([smooth(part, 1 / ALIGNED) for part in parts])
        few, seen = (evenly_spaced(values, lengths) for values in (self.x[here], log_p))
        orders, limit = usual_orders(few, seen, references[chosen], reference_labels[chosen], least)
        for at, order in orders.items():
            first, T = starts[videos[at]], lengths[at]
            rows[first : first + T] = first + stretched(order, T)
        return rows, limit

    def ordered(
        self, states: StateModel, references: Array, reference_labels: NDArray[np.int64], mean: float | None = None
    ) -> tuple[Array, Array, Array, Array]:
        """Return evidence from the order and from the hidden Markov model, and how much order counts in each video.

        These are the probabilities (T, C) of labels carried over and of the model, the weights of order (V,), and the
        agreements (V,) that the weights follow from. ``mean`` is the mean agreement of the task; by default, of these
        videos.
        """
        carried = carry_over(self.x, self.lengths, references, reference_labels, self.C, self.align)
        p = states.posterior(self.samples, self.lengths, self.C)
        agreements = agreement(carried, p, self.lengths)
        weights = order_weights(agreements, float(agreements.mean()) if mean is None else mean, len(references))
        return carried, p, weights, agreements

    def fixed(self, clusters: Array, carried: Array, states: Array, order: Array, weights: _Weights) -> Array:
        """Return the weighted log probabilities (T, C) of the evidence that self-training does not change."""
        share = np.repeat(order, self.lengths)[:, None]
        carried, states = (self.smooth(_completed(p, clusters, self.found)) for p in (carried, states))
        return weights.carried * (share * carried + (1 - share) * states) + weights.clustered * clusters

    def cluster(self, labels: NDArray[np.int64]) -> tuple[MeanField, NDArray[np.int64]]:
        """Minimise the energy of the mean field, with labelled samples fixed; return the field and its classes.

        If there are more than `PER_VIDEO` samples per video, only every n-th takes part, and the first of each labelled
        segment; each other sample gets the memberships of the nearest of these.
        """
        starts = (labels != UNKNOWN) & (np.diff(labels, prepend=UNKNOWN) != 0)
        chosen, lengths, nearest = thinned(self.lengths, PER_VIDEO * len(self.lengths), keep=starts)
        field, used = replace(self, x=self.x[chosen], lengths=lengths)._cluster_all(labels[chosen])
        return replace(field, memberships=field.memberships[nearest]), used

    def _cluster_all(self, labels: NDArray[np.int64]) -> tuple[MeanField, NDArray[np.int64]]:
        """Return the mean field of all samples, and its classes."""
        labelled, (classes, likeness) = np.flatnonzero(labels != UNKNOWN), self.likeness(labels)
        start = classes[likeness.argmax(axis=1)]
        start[labelled] = labels[labelled]
        unlabelled = np.setdiff1d(np.arange(len(start)), labelled)
        if self.extra and len(unlabelled):
            strange = unlabelled[np.argsort(likeness[unlabelled].max(axis=1), kind="stable")][
                : max(1, int(FARTHEST * len(unlabelled)))
            ]
            parts = kmeans(self.x[strange].astype(np.float32), self.extra, self.generator, restarts=10).labels
            start[strange] = self.found[parts]
        used, columns = np.unique(start, return_inverse=True)
        meanfield = self.meanfield.model_copy(update={"tolerance": ROUGHLY * self.meanfield.tolerance})
        return minimise_energy(self.x, self.lengths, np.eye(len(used))[columns], meanfield, held=labelled), used

    def named(self, labels: NDArray[np.int64]) -> Array:
        r"""Return log p (T, C) by clusters that are found without labels and get their names from the labels (T,).

        .. math:: p_{ik} = \sum_c q_{ic} \frac{n_{ck} + \nu m_{ck}}{\sum_l n_{cl} + \nu}

        with memberships q in clusters, the labelled samples n_ck of class k in cluster c, the mean membership m_ck of
        its samples in the mean field of the labels, and ν = `NAMING`. The largest clusters without a labelled sample
        are the ``extra`` key steps, as far as there are such clusters.
        """
        known, K = labels != UNKNOWN, self.C - 1
        number = max(K, min(int(known.sum()), FINEST * K))
        q = quick_consensus(Frames(self.samples, self.lengths, 1.0), number, self.meanfield)
        field, classes = self.cluster(labels)
        usual = np.exp(spread(field.memberships, classes, self.C))
        usual = q.T @ (usual / usual.sum(axis=1, keepdims=True))
        usual /= np.maximum(usual.sum(axis=1, keepdims=True), 1e-12)
        counts = q[known].T @ np.eye(self.C)[labels[known]]
        names = (counts + NAMING * usual) / (counts.sum(axis=1, keepdims=True) + NAMING)
        free = np.flatnonzero(counts.sum(axis=1) < NAMELESS)
        free = free[np.argsort(-q.sum(axis=0)[free], kind="stable")][: self.extra]
        names[free] = np.eye(self.C)[self.found[: len(free)]]
        return np.asarray(np.log(np.maximum(q @ names, LEAST_PROBABILITY)))


def decode_labelled(
    frames: Frames,
    K: int,
    generator: np.random.Generator,
    settings: Labelled,
    kept: Kept | None = None,
) -> Decoded:
    r"""Label samples by the labels of some of them, which do not change.

    .. math:: \log p = (1 - u - w) \left[(1 - r) \log p^\text{first} + r \log p^\text{refitted}\right]
              + u \log p^\text{carried over} + w \log p^\text{mean field}

    up to a constant, averaged over `WINDOW`, with r = `REFITTED`, and u and w of `USUAL`. If there are only marks, few
    in most annotated videos, w log p is that of named clusters, and u and w are `SCATTERED`. If there are many videos,
    only some are learned from, always including those with given labels (`rgwot.keysteps.interface`).

    Parameters
    ----------
    frames
        Samples of V videos, with ``given`` labels of at least one sample.
    K
        Number of key steps; the last ``settings.extra`` of them were not annotated (``auto``: none, see
        `rgwot.keysteps.labelling.extra_of`).
    generator
        Draws the extra key steps; the others do not depend on it.
    settings
        Settings of the labels and, as ``meanfield``, of the mean field.
    kept
        Intermediate results of former decodings; with them, this decoding is faster and has the same result.
    """
    assert frames.given is not None
    labelled = np.repeat(np.arange(len(frames.lengths)), frames.lengths)[frames.given != UNKNOWN]

    def learn(some: Frames) -> Decoded:
        return _decode(some, K, generator, settings, kept or Kept())

    def restore(result: Decoded) -> Predict:
        assert result.learned is not None
        return restore_labelled(result.learned, K, settings, at_once=True)

    return decode_by_some(frames, np.union1d(learned_from(frames.lengths), labelled), learn, restore)


def _decode(frames: Frames, K: int, generator: np.random.Generator, labelled: Labelled, kept: Kept) -> Decoded:
    """Decode videos and learn from all of them."""
    assert frames.given is not None
    meanfield, extra = labelled.meanfield, 0 if labelled.extra == "auto" else labelled.extra
    marked = frames.marked if frames.marked is not None else np.zeros(len(frames.given), dtype=bool)
    chosen, lengths, nearest = thinned(frames.lengths, MOST_SAMPLES, keep=marked)
    few = replace(frames, x=frames.x[chosen], lengths=lengths, given=frames.given[chosen])
    labels = np.where(frames.given == NO_CLUSTER, K, frames.given)[chosen]
    samples = few.x[:, : few.x.shape[1] - few.place]
    rows, limit = np.arange(len(labels)), np.inf
    if not marked.any():
        task = _Task(samples, directions(few.x), lengths, [], K + 1, extra, generator, meanfield, kept.warp)
        states = StateModel.fit(samples, lengths, labels, K + 1)
        rows, limit = task.in_usual_order(states, *task.shown(labels), labels)
        few, samples = replace(few, x=few.x[rows]), samples[rows]
    parts, contexts = kept.contexts(few)
    task = _Task(samples, directions(few.x), lengths, contexts, K + 1, extra, generator, meanfield, kept.warp)
    partly, named = np.zeros(len(lengths), dtype=bool), None
    if marked.any():
        few_marks = _with_few_marks(task, marked[chosen])
        scattered = few_marks[task.annotated(labels)].mean() > MOSTLY
        if scattered and marked[frames.given != UNKNOWN].all():
            named, partly = task.named(labels), ~partly
            labels = _by_video(bordered, lengths, labels, marked[chosen], named)
        else:
            labels, partly = _segments_of_marks(task, labels, marked[chosen], few_marks)
    result = _learn(task, task.with_ends(labels, partly), named=named)
    learned = {
        **_stored(parts, result.first, "first"),
        **_stored(parts, result.last, "last"),
        **{f"states_{what}": array for what, array in result.states._asdict().items()},
        "centres": result.field.centres,
        "shares": result.field.shares,
        "classes": result.classes,
        "shown": result.references[0].astype(np.float32),
        "said": result.references[1],
        "agreement": np.array(result.agreement),
        "least_gain": np.array(limit),
        "extra": np.array(extra),
        "weights": np.array(USUAL if named is None else SCATTERED),
    }
    decoded = _decoded(result.log_p[np.argsort(rows)][nearest], K)
    labels_out = np.where(frames.given == UNKNOWN, decoded.labels, frames.given)
    labels_now = np.where(labels == K, NO_CLUSTER, labels)
    labels_out[chosen] = np.where(labels == UNKNOWN, labels_out[chosen], labels_now)
    facts = Fit(
        energy=float(result.field.energies[-1]),
        order=float(np.average(result.order, weights=lengths)),
        order_agreement=result.agreement,
        moved=len(np.unique(np.repeat(np.arange(len(lengths)), lengths)[rows != np.arange(len(rows))])),
    )
    return replace(decoded, labels=labels_out, facts={"labelled": facts}, learned=learned)


@dataclass(frozen=True, kw_only=True)
class Fit(Facts):
    """The energy, the weight of the order, how far videos agree in it, and in how many a key step was put back."""

    energy: float
    order: float
    order_agreement: float
    moved: int


@dataclass(frozen=True)
class _Result:
    """The result of `_learn`: log p (T, C) up to a constant, and the classifiers for other videos."""

    log_p: Array
    first: list[Classifier]
    last: list[Classifier]
    states: StateModel
    field: MeanField
    classes: NDArray[np.int64]
    references: tuple[Array, NDArray[np.int64]]
    order: Array
    agreement: float


def _with_few_marks(task: _Task, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which videos (V,) have so few marks that some of their segments have none."""
    marks = np.add.reduceat(marked.astype(np.int64), first_samples(task.lengths))
    return (marks > 0) & (marks < FEW_MARKS * (task.C - 1))


def _segments_of_marks(
    task: _Task, labels: NDArray[np.int64], marked: NDArray[np.bool_], few: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return labels (T,) with segments in place of marks, by a first decoding, and which videos (V,) have gaps.

    Videos with ``few`` marks (V,) have gaps in any case. If other videos are annotated as a whole, few means fewer than
    these have segments of key steps, and what lies between the marks is known from them.
    """
    video = np.repeat(np.arange(len(task.lengths)), task.lengths)
    marks = np.bincount(video[marked], minlength=len(task.lengths))
    whole, reached, extend = task.annotated(labels) & (marks == 0), labels, bordered
    if whole.any():
        steps = [runs(part).labels for part, is_whole in zip(_split(task, labels), whole, strict=True) if is_whole]
        usual = np.median([((part >= 0) & (part < task.C - 1)).sum() for part in steps])
        few, extend = (marks > 0) & (marks < usual), surrounded
    elif few.any():
        # If marks are few, there may be other key steps between them, so clusters decide how far each mark extends.
        field, classes = task.cluster(labels)
        log_p = spread(field.memberships, classes, task.C)
        reached = _by_video(bordered, task.lengths, labels, marked & few[video], log_p)
    reached = _by_video(reaching, task.lengths, reached, marked & ~few[video])
    # Self-training would mistake the extent of marks for borders.
    log_p = _learn(task, reached, refits=0).log_p
    labels = _by_video(extend, task.lengths, labels, marked & few[video], log_p)
    labels = _by_video(bordered, task.lengths, labels, marked & ~few[video], log_p)
    return labels, few | ((marks > 0) & np.array(list(map(_with_gaps, _split(task, labels)))))


def _split(task: _Task, labels: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the labels (T,) of a task by video."""
    return np.split(labels, np.cumsum(task.lengths)[:-1])


def _with_gaps(labels: NDArray[np.int64]) -> bool:
    """Return whether a sample between the first and the last label is unlabelled."""
    labelled = np.flatnonzero(labels != UNKNOWN)
    return len(labelled) > 0 and labelled[-1] - labelled[0] >= len(labelled)


def _learn(task: _Task, labels: NDArray[np.int64], refits: int = REFITS, named: Array | None = None) -> _Result:
    """Decode a task by the labels (T,) of its samples, classes in 0..C-1 or `UNKNOWN`.

    With log p of ``named`` clusters (T, C), these take the place of the mean field (`SCATTERED`).
    """
    references, weights = task.shown(labels), USUAL if named is None else SCATTERED
    field, classes = task.cluster(labels)
    clusters = spread(field.memberships, classes, task.C) if named is None else named
    states = StateModel.fit(task.samples, task.lengths, labels, task.C)
    # Annotated videos trivially agree with themselves, so only the others show how far videos keep the order.
    carried, p, _, agreements = task.ordered(states, *references)
    others = agreements[~task.annotated(labels)]
    mean = float((others if len(others) else agreements).mean())
    order = order_weights(agreements, mean, len(references[0]))
    first = task.fit(labels)
    before = task.smooth(_classified(first, task.contexts, clusters, task.found))
    fixed = task.fixed(clusters, carried, p, order, weights)
    last, log_p = first, _mix(before, before, fixed, weights)
    for _ in range(refits):
        labels_now = np.where(labels == UNKNOWN, log_p.argmax(axis=1), labels)
        last = task.fit(labels_now)
        log_p = task.smooth(_mix(before, _classified(last, task.contexts), fixed, weights))
    if named is not None:
        # Other videos are labelled by the centres of the classes that were found.
        field, classes = task.cluster(np.where(labels == UNKNOWN, log_p.argmax(axis=1), labels))
    return _Result(log_p, first, last, states, field, classes, references, order, mean)


def _outside(labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which samples (T,) are before the first or after the last labelled one."""
    labelled = labels != UNKNOWN
    behind_first, before_last = np.logical_or.accumulate(labelled), np.logical_or.accumulate(labelled[::-1])[::-1]
    return np.asarray(~(behind_first & before_last))


def _by_video(
    fill: Callable[..., NDArray[Scalar]], lengths: Sequence[int], *arrays: NDArray[np.generic]
) -> NDArray[Scalar]:
    """Return the concatenated results of a function of each video's part of some arrays (T, ...)."""
    parts = [np.split(array, np.cumsum(lengths)[:-1]) for array in arrays]
    return np.concatenate([fill(*part) for part in zip(*parts, strict=True)])


def _stored(parts: Sequence[Components], classifiers: Sequence[Classifier], name: str) -> dict[str, Array]:
    """Return classifiers of samples in context as arrays by name."""
    pairs = enumerate(zip(parts, classifiers, strict=True))
    undone = {number: part.undone(classifier)._asdict() for number, (part, classifier) in pairs}
    return {f"{name}_{number}_{what}": array for number, each in undone.items() for what, array in each.items()}


def restore_labelled(learned: Learned, K: int, labelled: Labelled, at_once: bool = False) -> Predict:
    """Return the function that labels other videos, many ``at_once``, by the learned classifiers and centres."""
    meanfield, label_by = labelled.meanfield, label_at_once if at_once else label
    first, last = (
        [Classifier(learned[f"{name}_{number}_weights"], learned[f"{name}_{number}_offsets"]) for number in range(3)]
        for name in ("first", "last")
    )

    states = StateModel(*(learned[f"states_{name}"] for name in StateModel._fields))
    weights = _Weights(*learned["weights"].tolist())

    def predict(others: Frames) -> Decoded:
        references = learned["shown"].astype(np.float64), learned["said"]
        x, samples = directions(others.x), others.x[:, : others.x.shape[1] - others.place]
        task = _Task(samples, x, others.lengths, [], K + 1, int(learned["extra"]), np.random.default_rng(0), meanfield)
        rows, _ = task.in_usual_order(states, *references, least=float(learned["least_gain"]))
        others = replace(others, x=others.x[rows])
        contexts = [in_context(others, shares, timed=True) for shares in CONTEXTS]
        memberships = label_by(others.x, others.lengths, learned["centres"], learned["shares"], meanfield)
        clusters = spread(memberships, learned["classes"], K + 1)
        task = replace(task, samples=samples[rows], x=x[rows], contexts=contexts)
        before = task.smooth(_classified(first, contexts, clusters, task.found))
        fixed = task.fixed(clusters, *task.ordered(states, *references, float(learned["agreement"]))[:3], weights)
        log_p = task.smooth(_mix(before, _classified(last, contexts), fixed, weights))
        return _decoded(log_p[np.argsort(rows)], K)

    return predict


def _classified(
    classifiers: Sequence[Classifier],
    contexts: Sequence[Array],
    clusters: Array | None = None,
    found: NDArray[np.int64] | None = None,
) -> Array:
    """Return the mean of the log probabilities (T, C) of classifiers, each of samples in another of `CONTEXTS`.

    Classifiers that were fitted only to annotations do not know the classes ``found`` by the mean field; for these, the
    log memberships ``clusters`` of the mean field count.
    """
    each = [classifier.probabilities(z) for classifier, z in zip(classifiers, contexts, strict=True)]
    if clusters is None or found is None:
        return np.asarray(np.mean([np.log(np.maximum(p, LEAST_PROBABILITY)) for p in each], axis=0))
    return np.asarray(np.mean([_completed(p, clusters, found) for p in each], axis=0))


def _completed(p: Array, clusters: Array, found: NDArray[np.int64]) -> Array:
    """Return log p (T, C), in which the classes ``found``, unknown to p, get the memberships of the mean field."""
    if len(found):
        shares = np.exp(clusters[:, found])
        p = p * (1 - shares.sum(axis=1, keepdims=True))
        p[:, found] = shares
    return np.asarray(np.log(np.maximum(p, LEAST_PROBABILITY)))


def _mix(first: Array, last: Array, fixed: Array, weights: _Weights) -> Array:
    """Return log p up to a constant per sample; ``fixed`` is the weighted evidence that is not refitted."""
    return (1 - weights.carried - weights.clustered) * ((1 - REFITTED) * first + REFITTED * last) + fixed


def _decoded(log_p: Array, K: int) -> Decoded:
    """Return the classes of largest log p (the last class is background) and the memberships in the other classes."""
    chosen = log_p.argmax(axis=1)
    memberships = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    memberships /= memberships.sum(axis=1, keepdims=True)
    return Decoded(np.where(chosen == K, NO_CLUSTER, chosen).astype(np.int64), memberships[:, :K])
