"""A tree of key steps that can be cut at any K without decoding again (methods 5.12).

Segmentations into few and into many key steps agree only on some borders. In the space of their memberships, samples
are near each other if many segmentations keep them together, whatever their K. This space is segmented once into many
parts, which are merged two by two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from rgwot.embedding.interface import EmbeddedVideo
from rgwot.keysteps.common_time import HINT, with_time
from rgwot.keysteps.consensus import AT_ONCE, side_by_side
from rgwot.keysteps.interface import MOST_SAMPLES, directions, in_parts, learned_from, middle_times, rows_of
from rgwot.keysteps.meanfield import label_at_once, segment
from rgwot.keysteps.settings import MeanfieldSettings
from rgwot.timing import thinned

LEAVES = 16
"""Number of parts before merging; only one published table has more key steps."""

GUIDES = range(3, 13)
"""Numbers of key steps of the segmentations that span the space."""

MEMBERSHIP_COMPONENTS = 24
"""Largest number of principal components of the space. They are not whitened: whitening would give the opinion of few
segmentations as much weight as that of most, and split planted steps."""

ROUNDS = 8
"""Rounds of each segmentation that spans the space; it need not converge."""

Merges = Sequence[tuple[int, int, float]]
"""Clusters that are merged, in this order, as in `scipy.cluster.hierarchy.linkage`: with n leaves 0..n-1, merge i makes
cluster n + i. The third number is the share of the variance, in [0, 1], that the merge leaves unexplained."""


@dataclass(frozen=True)
class StepTree:
    """The leaf of each sample (T,), in 0..n-1, and the merges of the n leaves.

    Leaves are numbered from top to bottom of the drawing, so that no lines cross: of two merged clusters, the one that
    comes earlier in its videos is above. ``places`` (T, D) are the samples in the space of the merges.
    """

    leaves: NDArray[np.int64]
    merges: tuple[tuple[int, int, float], ...]
    places: NDArray[np.float64]


def grow(x: NDArray[np.floating], lengths: Sequence[int], generator: np.random.Generator) -> StepTree:
    """Segment samples into `LEAVES` parts, or fewer if fewer samples differ, and merge them by Ward's criterion.

    If there are more than `MOST_SAMPLES` samples, every n-th is segmented, and the others join the part of the nearest
    one. If there are many videos, some are segmented, and the others labelled by the same centres
    (`rgwot.keysteps.interface`).

    Parameters
    ----------
    x
        Concatenated embeddings (T, D) of all videos, T >= 1.
    lengths
        Number of samples of each video; they add up to T.
    generator
        The only source of randomness.
    """
    block = MeanfieldSettings()
    quick = block.model_copy(update={"restarts": 1, "max_iterations": ROUNDS})
    some = learned_from(lengths)
    others_places, rows = np.setdiff1d(np.arange(len(lengths)), some), rows_of(lengths, some)
    sampled, few, nearest = thinned([lengths[v] for v in some], MOST_SAMPLES)
    samples = np.asarray(x, dtype=np.float64)
    chosen = samples[rows[sampled]]
    if not (chosen != chosen[0]).any():
        return StepTree(np.zeros(len(samples), dtype=np.int64), (), np.zeros((len(samples), 1)))
    timed = with_time(chosen, few, HINT)
    fields = [segment(timed, few, K, quick, generator) for K in GUIDES]
    shares = [field.shares for field in fields]
    memberships = side_by_side([field.memberships for field in fields], shares)
    mean, axes = _leading(memberships)
    places = directions((memberships - mean) @ axes)
    last = segment(places, few, LEAVES, block, generator)
    used, parts = np.unique(last.labels, return_inverse=True)
    merges = ward(places, parts)
    order = _drawn(parts, merges, middle_times(few))
    row = np.argsort(order)
    n = len(order)
    renamed = []
    for a, b, lost in merges:
        above, below = sorted(int(row[cluster]) if cluster < n else cluster for cluster in (a, b))
        renamed.append((above, below, lost))
    parts, places = parts[nearest], places[nearest]
    if len(others_places):
        quick = block.model_copy(update=AT_ONCE)
        parts_so_far, more, rows_so_far = [parts], [places], [rows]
        for part in in_parts(lengths, others_places):
            few, others = tuple(lengths[v] for v in part), rows_of(lengths, part)
            timed = with_time(samples[others], few, HINT)
            members = [label_at_once(timed, few, field.centres, field.shares, quick) for field in fields]
            more.append(directions((side_by_side(members, shares) - mean) @ axes))
            log_p = label_at_once(more[-1], few, last.centres, last.shares, quick)
            parts_so_far.append(log_p[:, used].argmax(axis=1))
            rows_so_far.append(others)
        back = np.argsort(np.concatenate(rows_so_far))
        parts, places = np.concatenate(parts_so_far)[back], np.concatenate(more)[back]
    return StepTree(row[parts], tuple(renamed), places)


def ward(x: NDArray[np.floating], labels: NDArray[np.int64]) -> list[tuple[int, int, float]]:
    r"""Merge the two clusters with the cheapest union until one is left (Ward 1963).

    .. math:: \Delta(a, b) = \frac{n_a n_b}{n_a + n_b} |\mu_a - \mu_b|^2

    is the increase of the sum of squares within clusters; it is returned as a share of the total sum of squares. Labels
    (T,) of samples x (T, D) are 0..n-1, and all occur.
    """
    x = np.asarray(x, dtype=np.float64)
    total = float(np.square(x - x.mean(axis=0)).sum()) or 1.0
    mass = {k: float(count) for k, count in enumerate(np.bincount(labels))}
    mean = {k: x[labels == k].mean(axis=0) for k in mass}

    def cost(pair: tuple[int, int]) -> float:
        a, b = pair
        return mass[a] * mass[b] / (mass[a] + mass[b]) * float(np.square(mean[a] - mean[b]).sum())

    merges = []
    for new in range(len(mass), 2 * len(mass) - 1):
        a, b = min(combinations(sorted(mass), 2), key=cost)
        merges.append((a, b, cost((a, b)) / total))
        mass[new] = mass[a] + mass[b]
        mean[new] = (mass[a] * mean[a] + mass[b] * mean[b]) / mass[new]
        for old in (a, b):
            del mass[old], mean[old]
    return merges


def _leading(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean of samples (T, D) and their first principal axes, in columns."""
    mean = x.mean(axis=0)
    offsets = x - mean
    return mean, eigh(offsets.T @ offsets)[1][:, ::-1][:, :MEMBERSHIP_COMPONENTS]


def _drawn(parts: NDArray[np.int64], merges: Merges, times: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the parts from top to bottom of the drawing."""
    n = len(merges) + 1
    counts, sums = np.bincount(parts), np.bincount(parts, weights=times)
    members = {k: (float(sums[k]), float(counts[k]), [k]) for k in range(n)}
    for new, (a, b, _) in enumerate(merges, start=n):
        first, second = sorted((members.pop(a), members.pop(b)), key=lambda member: member[0] / member[1])
        members[new] = (first[0] + second[0], first[1] + second[1], first[2] + second[2])
    (root,) = members.values()
    return np.array(root[2], dtype=np.int64)


def grown(videos: Mapping[str, EmbeddedVideo], seed: int) -> StepTree:
    """Grow the tree of a result with this seed, the same on the page and in Python."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        # A separate generator, so that the tree does not depend on other random draws.
        return grow(
            np.concatenate([video.embedding for video in videos.values()]),
            [len(video.time_s) for video in videos.values()],
            np.random.default_rng([seed, 3]),
        )
