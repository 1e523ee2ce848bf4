"""The decoder for tasks with some annotated videos (methods 5.10).

Several segmentations fit the samples equally well; labels decide between them. Three sources of evidence are combined.
Dynamic time warping carries labels from annotated videos over to the others, which uses the order of key steps. Linear
classifiers are trained on the labelled samples, and then on the labels that all samples have so far (self-training).
The mean field, with the memberships of labelled samples fixed, uses clusters and neighbours in time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rgwot.embedding.whitened import smooth
from rgwot.keysteps.consensus import CONTEXT, LEAST_PROBABILITY, WINDOW, Classifier, Components, in_context
from rgwot.keysteps.interface import (
    MOST_SAMPLES,
    NO_CLUSTER,
    UNKNOWN,
    Array,
    Decoded,
    Frames,
    Learned,
    Predict,
    decode_by_some,
    directions,
    learned_from,
)
from rgwot.keysteps.kmeans import kmeans
from rgwot.keysteps.meanfield import MeanField, label, label_at_once, minimise_energy
from rgwot.keysteps.settings import LabelledSettings, MeanfieldSettings
from rgwot.keysteps.warping import ALIGNED, evenly_spaced, warp
from rgwot.timing import thinned

SPREAD = 0.1
"""Relative excess over the smallest cost at which the weight of an annotated video has fallen to 1/e."""

DOUBT = 0.1
"""Probability that is spread evenly over the annotated classes, since alignments err."""


def carry_over(
    x: Array, lengths: Sequence[int], references: Array, reference_labels: NDArray[np.int64], C: int
) -> Array:
    """Return probabilities (T, C) of the classes of samples, by the labels of annotated videos.

    Each video is aligned with every annotated one. A sample gets the labels of its matches; annotated videos with a
    smaller cost have more weight. An annotated video in which no match of a sample has
    a label counts for all classes alike.

    Parameters
    ----------
    x
        Directions (T, D) of videos one after the other.
    lengths
        Samples of each video.
    references, reference_labels
        `evenly_spaced` directions (n, R, D) of annotated videos and their labels (n, R), R = `ALIGNED`: 0..C-1 or
        `UNKNOWN`.
    C
        Number of classes.
    """
    V, n = len(lengths), len(references)
    few = np.asarray(evenly_spaced(x, lengths), dtype=np.float64)
    costs, paths = warp(np.repeat(few, n, axis=0), np.tile(references, (V, 1, 1)))
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
are averaged, because the duration of key steps is not known beforehand and one context errs more with few labels."""

CARRIED, CLUSTERED = 0.5, 0.2
"""Weights of the labels carried over and of the mean field; classifiers have the rest. Choosing a weight by
cross-validation over the annotated videos loses 1 to 5 points with two or three of them and gains nothing with five."""

REFITTED = 0.55
"""Share of the refitted classifiers in the weight of all classifiers; those fitted to annotations have the rest."""

REFITS = 3
"""Rounds of self-training."""

SHOWN = 16
"""Maximum number of annotated videos whose labels are carried over; of more, evenly spaced ones are taken."""

STRANGE = 0.25
"""Quantile of the similarity of labelled samples to their class. A sample before the first or after the last annotated
segment is taken for background if its similarity to every class is below this quantile: an annotator would rarely omit
a step."""

FARTHEST = 0.25
"""Share of the unlabelled samples, those least similar to annotated key steps, in which extra key steps are sought."""


@dataclass(frozen=True)
class _Task:
    """The samples of a task, prepared for every source of evidence.

    ``x`` (T, D) are directions, ``views`` the components of samples in each of `CONTEXTS`. The C classes are K key
    steps, the last ``extra`` of them without annotations, and background.
    """

    x: Array
    lengths: tuple[int, ...]
    views: Sequence[Array]
    C: int
    extra: int
    generator: np.random.Generator
    chain: MeanfieldSettings

    @property
    def found(self) -> NDArray[np.int64]:
        """Classes without annotations, which the mean field discovers."""
        return np.arange(self.C - 1 - self.extra, self.C - 1)

    def fit(self, labels: NDArray[np.int64]) -> list[Classifier]:
        """Fit a classifier for each view to the samples whose label (T,) is not `UNKNOWN`."""
        labelled = labels != UNKNOWN
        return [Classifier.fit(z[labelled], labels[labelled], self.C) for z in self.views]

    def smooth(self, log_p: Array) -> Array:
        """Average log probabilities over a window inside each video."""
        return np.concatenate([smooth(video, WINDOW) for video in np.split(log_p, np.cumsum(self.lengths)[:-1])])

    def with_ends(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return labels in which unlabelled samples of annotated videos that resemble no class are background.

        With one annotated video, labels do not change: too little is known about the variation within a class.
        """
        labelled, annotated = labels != UNKNOWN, self.annotated(labels)
        ends = np.repeat(annotated, self.lengths) & ~labelled
        if annotated.sum() < 2 or not ends.any():
            return labels
        classes, likeness = self.likeness(labels)
        log_p = likeness[labelled, np.searchsorted(classes, labels[labelled])]
        strange = ends & (likeness.max(axis=1) < np.quantile(log_p, STRANGE))
        return np.where(strange, self.C - 1, labels)

    def annotated(self, labels: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which videos have a labelled sample, (V,)."""
        return np.array(
            [bool((labels_here != UNKNOWN).any()) for labels_here in np.split(labels, np.cumsum(self.lengths)[:-1])]
        )

    def likeness(self, labels: NDArray[np.int64]) -> tuple[NDArray[np.int64], Array]:
        """Return the classes (C',) that have labelled samples, and the cosine of every sample with their means."""
        classes = np.unique(labels[labels != UNKNOWN])
        centres = directions(np.stack([self.x[labels == class_here].sum(axis=0) for class_here in classes]))
        return classes, self.x @ centres.T

    def shown(self, labels: NDArray[np.int64]) -> tuple[Array, NDArray[np.int64]]:
        """Return evenly spaced samples of the annotated videos that others are warped onto, and their labels."""
        annotated = np.flatnonzero(self.annotated(labels))
        chosen = annotated[np.unique(np.linspace(0, len(annotated) - 1, SHOWN).round().astype(int))]
        return evenly_spaced(self.x, self.lengths)[chosen], evenly_spaced(labels, self.lengths)[chosen]

    def fixed(self, clusters: Array, references: Array, reference_labels: NDArray[np.int64]) -> Array:
        """Return the weighted log probabilities (T, C) of the evidence that self-training does not change."""
        carried = _completed(
            carry_over(self.x, self.lengths, references, reference_labels, self.C), clusters, self.found
        )
        return CARRIED * self.smooth(carried) + CLUSTERED * clusters

    def cluster(self, labels: NDArray[np.int64]) -> tuple[MeanField, NDArray[np.int64]]:
        """Minimise the energy of the mean field, with labelled samples fixed; return the field and its classes."""
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
        return minimise_energy(self.x, self.lengths, np.eye(len(used))[columns], self.chain, held=labelled), used


def decode_labelled(
    frames: Frames, K: int, generator: np.random.Generator, chain: MeanfieldSettings, labelled: LabelledSettings
) -> Decoded:
    r"""Label samples by the labels of some of them, which do not change.

    .. math:: \log p = (1 - u - w) \left[(1 - r) \log p^\text{first} + r \log p^\text{refitted}\right]
              + u \log p^\text{carried over} + w \log p^\text{mean field}

    up to a constant, averaged over `WINDOW`, with r = `REFITTED`, u = `CARRIED` and w = `CLUSTERED`. If there are
    many videos, only some are learned from, always including those with given labels (`rgwot.keysteps.interface`).

    Parameters
    ----------
    frames
        Samples of V videos, with ``given`` labels of at least one sample.
    K
        Number of key steps; the last ``labelled.extra`` of them were not annotated.
    generator
        Draws the extra key steps; the others do not depend on it.
    chain, labelled
        Settings of the mean field and of the labels.
    """
    assert frames.given is not None
    taught = np.repeat(np.arange(len(frames.lengths)), frames.lengths)[frames.given != UNKNOWN]

    def learn(some: Frames) -> Decoded:
        return _decode(some, K, generator, chain, labelled)

    def rule(decoded_: Decoded) -> Predict:
        assert decoded_.learned is not None
        return restore_labelled(decoded_.learned, K, chain, labelled, at_once=True)

    return decode_by_some(frames, np.union1d(learned_from(frames.lengths), taught), learn, rule)


def _decode(
    frames: Frames, K: int, generator: np.random.Generator, chain: MeanfieldSettings, labelled: LabelledSettings
) -> Decoded:
    """Decode videos and learn from all of them."""
    assert frames.given is not None
    chosen, lengths, nearest = thinned(frames.lengths, MOST_SAMPLES)
    few = replace(frames, x=frames.x[chosen], lengths=lengths, given=frames.given[chosen])
    labels_given = np.where(frames.given == NO_CLUSTER, K, frames.given)
    labels = labels_given[chosen]
    parts = []
    views = []
    for shares in CONTEXTS:
        context = in_context(few, shares, timed=True)
        parts.append(Components.fit(context, 1))
        views.append(parts[-1].apply(context))
    task = _Task(directions(few.x), lengths, views, K + 1, labelled.extra, generator, chain)
    labels = task.with_ends(labels)
    references = task.shown(labels)
    field, classes = task.cluster(labels)
    clusters = _spread(field.memberships, classes, task.C)
    first = task.fit(labels)
    before = task.smooth(_classified(first, task.views, clusters, task.found))
    fixed = task.fixed(clusters, *references)
    last, log_p = first, _mix(before, before, fixed)
    for _ in range(REFITS):
        labels_now = np.where(labels == UNKNOWN, log_p.argmax(axis=1), labels)
        last = task.fit(labels_now)
        log_p = task.smooth(_mix(before, _classified(last, task.views), fixed))

    arrays = {
        f"{name}_{number}_{what}": array
        for name, classifiers in (("first", first), ("last", last))
        for number, (part, classifier) in enumerate(zip(parts, classifiers, strict=True))
        for what, array in part.undone(classifier)._asdict().items()
    }
    learned = {
        **arrays,
        "centres": field.centres,
        "shares": field.shares,
        "classes": classes,
        "shown": references[0].astype(np.float32),
        "said": references[1],
    }

    decoded = _decoded(log_p[nearest], K)
    labels_out = np.where(frames.given == UNKNOWN, decoded.labels, frames.given)
    facts = {"labelled": {"energy": float(field.energies[-1])}}
    return replace(decoded, labels=labels_out, facts=facts, learned=learned)


def restore_labelled(
    learned: Learned, K: int, chain: MeanfieldSettings, labelled: LabelledSettings, at_once: bool = False
) -> Predict:
    """Return the function that labels other videos, many ``at_once``, by the learned classifiers and centres."""
    label_by = label_at_once if at_once else label
    first, last = (
        [Classifier(learned[f"{name}_{number}_weights"], learned[f"{name}_{number}_offsets"]) for number in range(3)]
        for name in ("first", "last")
    )

    def predict(others: Frames) -> Decoded:
        views = [in_context(others, shares, timed=True) for shares in CONTEXTS]
        memberships = label_by(others.x, others.lengths, learned["centres"], learned["shares"], chain)
        clusters = _spread(memberships, learned["classes"], K + 1)
        x = directions(others.x)
        task = _Task(x, others.lengths, views, K + 1, labelled.extra, np.random.default_rng(0), chain)
        before = task.smooth(_classified(first, views, clusters, task.found))
        fixed = task.fixed(clusters, learned["shown"].astype(np.float64), learned["said"])
        log_p = task.smooth(_mix(before, _classified(last, views), fixed))
        return _decoded(log_p, K)

    return predict


def _classified(
    classifiers: Sequence[Classifier],
    views: Sequence[Array],
    clusters: Array | None = None,
    found: NDArray[np.int64] | None = None,
) -> Array:
    """Return the mean of the log probabilities (T, C) of classifiers, each with a different view.

    Classifiers that were fitted only to annotations do not know the classes ``found`` by the mean field; for these, the
    log memberships ``clusters`` of the mean field count.
    """
    each = [classifier.probabilities(z) for classifier, z in zip(classifiers, views, strict=True)]
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


def _mix(first: Array, last: Array, fixed: Array) -> Array:
    """Return log p up to a constant per sample; ``fixed`` is the weighted evidence that is not refitted."""
    return (1 - CARRIED - CLUSTERED) * ((1 - REFITTED) * first + REFITTED * last) + fixed


def _spread(memberships: Array, classes: NDArray[np.int64], C: int) -> Array:
    """Return log memberships (T, C) in all classes from memberships (T, C') in some, at least `LEAST_PROBABILITY`."""
    spread = np.zeros((len(memberships), C))
    spread[:, classes] = memberships
    return np.asarray(np.log(np.maximum(spread, LEAST_PROBABILITY)))


def _decoded(log_p: Array, K: int) -> Decoded:
    """Return the classes of largest log p (the last class is background) and the memberships in the other classes."""
    chosen = log_p.argmax(axis=1)
    memberships = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    memberships /= memberships.sum(axis=1, keepdims=True)
    return Decoded(np.where(chosen == K, NO_CLUSTER, chosen).astype(np.int64), memberships[:, :K])
