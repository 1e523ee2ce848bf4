"""Key steps as a tree that can be cut at any K without decoding again (methods 5.12).

Segmentations into few and into many key steps agree on some borders and not on others; in the space of their
memberships samples are near that many of them keep together, whatever K. That space is segmented once into more parts
than anybody would ask for, and parts are merged two by two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from rgwot.keysteps.consensus import AT_ONCE, side_by_side
from rgwot.keysteps.extended import HINT, with_time
from rgwot.keysteps.interface import MOST_SAMPLES, directions, in_parts, learned_from, middle_times, rows_of
from rgwot.keysteps.meanfield import label_at_once, segment
from rgwot.keysteps.settings import MeanfieldSettings
from rgwot.timing import thinned

LEAVES = 16
"""Parts before anything is merged; more than the key steps of any published table but one."""

GUIDES = range(3, 13)
"""Numbers of key steps of the segmentations whose memberships make the space."""

MEMBERSHIP_COMPONENTS = 24
"""Principal components that make up that space, at most. Not whitened: what few segmentations say would count as much
as what most of them do, and planted steps are then torn apart."""

ROUNDS = 8
"""Rounds of one such segmentation; it need not be finished."""

Merges = Sequence[tuple[int, int, float]]
"""Clusters that are merged, in this order, as in `scipy.cluster.hierarchy.linkage`: with n leaves 0..n-1, merge i makes
cluster n + i. The third number is the share of the variance, in [0, 1], that the merge leaves unexplained."""


@dataclass(frozen=True)
class StepTree:
    """Leaves (T,) of the samples, in 0..n-1, and the merges of the n leaves down to one.

    Leaves are numbered from the top of the drawing to the bottom, where no two lines cross: of two clusters that are
    merged the one that comes earlier in its videos stands above. ``places`` (T, D) is the space they were merged in.
    """

    leaves: NDArray[np.int64]
    merges: tuple[tuple[int, int, float], ...]
    places: NDArray[np.float64]


def grow(x: NDArray[Any], lengths: Sequence[int], generator: np.random.Generator) -> StepTree:
    """Segment samples into `LEAVES` parts, fewer where fewer samples differ, and merge these by Ward's criterion.

    Of more than `MOST_SAMPLES` every n-th is segmented, and the others are in the part of the nearest one. Of many
    videos some are segmented, and the others labelled by the same centres (`rgwot.keysteps.interface`).

    Parameters
    ----------
    x
        Embeddings (T, D) of all videos, one after the other, T >= 1.
    lengths
        Samples of each video; they add up to T.
    generator
        The only source of randomness.
    """
    block = MeanfieldSettings()
    quick = block.model_copy(update={"restarts": 1, "max_iterations": ROUNDS})
    some = learned_from(lengths)
    rest, rows = np.setdiff1d(np.arange(len(lengths)), some), rows_of(lengths, some)
    kept, few, nearest = thinned([lengths[v] for v in some], MOST_SAMPLES)
    samples = np.asarray(x, dtype=np.float64)
    own = samples[rows[kept]]
    if not (own != own[0]).any():
        return StepTree(np.zeros(len(samples), dtype=np.int64), (), np.zeros((len(samples), 1)))
    timed = with_time(own, few, HINT)
    made = [segment(timed, few, K, quick, generator) for K in GUIDES]
    shares = [one.shares for one in made]
    memberships = side_by_side([one.memberships for one in made], shares)
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
        above, below = sorted(int(row[one]) if one < n else one for one in (a, b))
        renamed.append((above, below, lost))
    parts, places = parts[nearest], places[nearest]
    if len(rest):
        quick = block.model_copy(update=AT_ONCE)
        found, more, seen = [parts], [places], [rows]
        for part in in_parts(lengths, rest):
            few, others = tuple(lengths[v] for v in part), rows_of(lengths, part)
            timed = with_time(samples[others], few, HINT)
            members = [label_at_once(timed, few, one.centres, one.shares, quick) for one in made]
            more.append(directions((side_by_side(members, shares) - mean) @ axes))
            said = label_at_once(more[-1], few, last.centres, last.shares, quick)
            found.append(said[:, used].argmax(axis=1))
            seen.append(others)
        back = np.argsort(np.concatenate(seen))
        parts, places = np.concatenate(found)[back], np.concatenate(more)[back]
    return StepTree(row[parts], tuple(renamed), places)


def ward(x: NDArray[Any], labels: NDArray[np.int64]) -> list[tuple[int, int, float]]:
    r"""Merge the two clusters whose union costs least, again and again (Ward 1963), down to one.

    .. math:: \Delta(a, b) = \frac{n_a n_b}{n_a + n_b} |\mu_a - \mu_b|^2

    is what the sum of squares within clusters grows by; it is returned divided by the sum of squares about the mean of
    all. Labels (T,) of samples x (T, D) are 0..n-1, and every one occurs.
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
    """Return the parts from the top of the drawing to the bottom."""
    n = len(merges) + 1
    counts, sums = np.bincount(parts), np.bincount(parts, weights=times)
    members = {k: (float(sums[k]), float(counts[k]), [k]) for k in range(n)}
    for new, (a, b, _) in enumerate(merges, start=n):
        first, second = sorted((members.pop(a), members.pop(b)), key=lambda one: one[0] / one[1])
        members[new] = (first[0] + second[0], first[1] + second[1], first[2] + second[2])
    (found,) = members.values()
    return np.array(found[2], dtype=np.int64)
