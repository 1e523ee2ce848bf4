"""Relative time as a part of embeddings, and its share where `decode.time` is ``auto`` (methods 5.5, 5.7).

Labels are made with more and more time, and each share is scored by how well they predict the embeddings of the other
videos, and by whether videos have them in one order. Labels are made by the mean field, whatever the decoder is: it
takes a fraction of a second, and other decoders are built on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rgwot.keysteps.interface import directions, middle_times
from rgwot.keysteps.ordering import concordance
from rgwot.keysteps.settings import MeanfieldSettings
from rgwot.timing import thinned

SHARES = (0.0, 0.03, 0.08, 0.15, 0.4)
"""Shares of time that are tried, up to the first with too little J: none, to compare with; a hint, the least that is
taken; and up to nearly half."""

HINT = SHARES[1]
"""The smallest share that is taken."""

ORDERED = 0.08
"""Share of time at which the concordance of videos is measured."""

KEEPS = 0.885
"""Share of the J without time that labels with time must keep; chosen on recordings (methods 5.7)."""

SAME_ORDER = 0.75
"""Concordance of videos from which on time may have more than a hint; chosen on development tasks."""

STARTS = 12
"""Segmentations for every share of time; their J and concordance are averaged, so that neither hangs on a start."""

QUICK: dict[str, Any] = {"restarts": 4, "max_iterations": 8}
"""Changes to the settings of the mean field while choosing."""

MOST_TRIED = 20_000
"""Samples of a task by which the share is chosen; longer tasks are thinned evenly."""


class Measured(NamedTuple):
    """How much of the samples labels explain across videos (`explained_share`), and the `concordance` of videos."""

    J: float
    concordance: float


def with_time(x: NDArray[Any], lengths: Sequence[int], share: float) -> NDArray[np.float64]:
    r"""Give relative time a share of the squared length of embeddings.

    .. math:: x'_i = \left[\sqrt{1 - w}\, \frac{x_i}{|x_i|},\ \sqrt{w}\cos a_i,\ \sqrt{w}\sin a_i\right],
              \qquad a_i = \pi \left(\frac{i + 1/2}{T_v} - \frac12\right)

    Time is a place on half a circle, so that embeddings of length 1 stay so and the two ends of a video are as far
    apart as two samples can be. Where every key step is done once and in order, time separates key steps that look
    alike; where they come again it pulls their repetitions apart.

    Returns (T, D + 2) for samples x (T, D) of videos of T_v samples each and a share w in [0, 1), or x for w = 0.
    """
    samples = np.asarray(x, dtype=np.float64)
    if share == 0:
        return samples
    angles = np.pi * (middle_times(lengths) - 0.5)
    place = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return np.concatenate([np.sqrt(1 - share) * directions(samples), np.sqrt(share) * place], axis=1)


def choose_share(
    x: NDArray[Any], lengths: Sequence[int], K: int, settings: MeanfieldSettings, seed: int
) -> tuple[float, dict[str, Any]]:
    """Choose the share of time for embeddings: `largest_share` of those tried.

    Parameters
    ----------
    x
        Embeddings (T, D) of the videos that may be learned from, one after the other.
    lengths
        Samples of each video; they add up to T.
    K
        Number of key steps.
    settings, seed
        Of the mean fields that label the samples.

    Returns
    -------
    share : float
        In [0, 1); 0 for a single video, which no other can predict.
    facts : dict
        What ``diagnostics.json`` says of the choice: ``chosen``, and ``agreement``, the J of every share tried, and
        ``concordance``, or else ``why`` nothing could be chosen.
    """
    if len(lengths) < 2:
        return 0.0, {"chosen": 0.0, "why": "a single video: nothing to choose by"}
    kept, lengths, _ = thinned(lengths, MOST_TRIED)
    x = directions(x[kept])
    quick = settings.model_copy(update=QUICK)
    tried: dict[float, Measured] = {}
    for share in SHARES:
        tried[share] = _measured(x, lengths, K, share, quick, seed)
        # J falls further with more time.
        if share >= ORDERED and tried[share].J < KEEPS * tried[0.0].J:
            break
    J, same_order = {share: each.J for share, each in tried.items()}, tried[ORDERED].concordance
    chosen = largest_share(J, same_order)
    agreements = {str(share): value for share, value in J.items()}
    return chosen, {"chosen": chosen, "agreement": agreements, "concordance": same_order}


def _measured(
    x: NDArray[np.float64], lengths: Sequence[int], K: int, share: float, settings: MeanfieldSettings, seed: int
) -> Measured:
    """Segment samples with a share of time from every start, and return the means of what the labels have."""
    # Not at the top: most decodings have nothing to choose, and need not wait for it.
    from rgwot.keysteps.meanfield import segment

    timed, found = with_time(x, lengths, share), []
    for start in range(STARTS):
        labels = segment(timed, lengths, K, settings, np.random.default_rng([seed, 2, start])).labels
        found.append((explained_share(x, labels, lengths), concordance(labels, lengths)))
    return Measured(*np.mean(found, axis=0).tolist())


def largest_share(found: Mapping[float, float], same_order: float) -> float:
    """Return the largest share of time at which J is at least `KEEPS` of J without time, no less than a hint.

    Where key steps come once and in order, time cuts where the features cut, and J hardly falls; where they come again
    it cuts through them, and J falls at once. More than J without time proves nothing: slow drift looks like order. And
    J need not fall where videos differ in their order, so that without `SAME_ORDER` it is a hint.

    >>> J = {0.0: 0.100, 0.03: 0.097, 0.08: 0.092, 0.15: 0.085}
    >>> largest_share(J, 0.9), largest_share(J, 0.6)
    (0.08, 0.03)
    >>> largest_share({0.0: 0.100, 0.03: 0.080, 0.08: 0.070, 0.15: 0.060}, 0.9)
    0.03

    0 where the samples say nothing at all, J <= 0 without time.
    """
    if found[0.0] <= 0:
        return 0.0
    hint, *more = sorted(share for share in found if share)
    kept = [share for share in more if found[share] >= KEEPS * found[0.0]]
    return max([hint, *kept]) if same_order >= SAME_ORDER else hint


def explained_share(x: NDArray[Any], labels: NDArray[np.int64], lengths: Sequence[int]) -> float:
    r"""Return how much of the samples a labelling predicts in videos that it was not averaged over.

    .. math:: J = \frac{\sum_v \sum_{i \in v} x_i \cdot \mu_{-v}(l_i)}{\sum_i |x_i|^2}

    where :math:`\mu_{-v}(k)` is the mean of the samples labelled k in all videos but v, shrunk towards 0 by two
    samples. Expected to be 0 for labels that know nothing of the samples.

    At most about 1; 0 for a single video, which nothing predicts, or samples of zeros.

    Parameters
    ----------
    x
        Samples (T, D) of all videos one after the other.
    labels
        (T,) labels of the same samples, `NO_CLUSTER` among them: a label like any other.
    lengths
        Samples of each video; they add up to T.
    """
    samples = np.asarray(x, dtype=np.float64)
    _, classes = np.unique(labels, return_inverse=True)
    V, K = len(lengths), int(classes.max(initial=0)) + 1
    power = float(np.square(samples).sum())
    if V < 2 or power == 0:
        return 0.0
    cells = np.repeat(np.arange(V), lengths) * K + classes
    counts = np.bincount(cells, minlength=V * K).reshape(V, K)
    flat = np.zeros((V * K, samples.shape[1]))
    np.add.at(flat, cells, samples)
    sums = flat.reshape(V, K, -1)
    others = (sums.sum(axis=0) - sums) / ((counts.sum(axis=0) - counts) + 2.0)[:, :, None]
    return float((sums * others).sum()) / power
