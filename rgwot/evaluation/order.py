"""The order of the key steps, scored after task-level matching by the normalised Kendall distance (methods 6.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from rgwot.evaluation.protocols import kept_frames, pooled_matching


def mean_positions(labels: npt.ArrayLike, positions: npt.ArrayLike) -> dict[int, tuple[int, int]]:
    """Return for every label the sum of its frames' positions and their number.

    The mean position is kept as a fraction so that two steps tie only when they truly do. Frames are evenly
    spaced in time, so ordering by mean position is ordering by mean normalised time.

    >>> mean_positions([4, 4, 2], [0, 2, 5])
    {2: (5, 1), 4: (2, 2)}
    """
    values, where = np.asarray(labels, dtype=np.int64), np.asarray(positions, dtype=np.int64)
    return {
        int(label): (int(where[values == label].sum()), int((values == label).sum())) for label in np.unique(values)
    }


def _compare(first: tuple[int, int] | None, second: tuple[int, int] | None) -> int:
    """Return -1, 0 or 1: which mean comes first; 0 when they tie or one is missing."""
    if first is None or second is None:
        return 0
    difference = first[0] * second[1] - second[0] * first[1]
    return (difference > 0) - (difference < 0)


def kendall_distance(true: Mapping[int, tuple[int, int]], predicted: Mapping[int, tuple[int, int]]) -> float:
    """Return the normalised Kendall distance of two orders of the true steps.

    Over all pairs of true steps that the truth orders: 0 when the prediction orders them alike, 1 when the
    other way round, 1/2 when it does not order them, because one is missing from it or both have the same
    mean (Fagin et al., "Comparing top k lists", 2003, with p = 1/2). So 0 is the same order, 0.5 no
    information, 1 reversed. Without the penalty an answer that names one step only would look perfect.

    Arguments map a step to (sum, count) of its frame positions, as from `mean_positions`; predicted steps that are not
    true steps are ignored. NaN when the truth orders no pair.

    Examples
    --------
    >>> kendall_distance({1: (0, 1), 2: (5, 1), 3: (9, 1)}, {2: (1, 1), 1: (2, 1), 3: (3, 1)})
    0.3333333333333333
    >>> kendall_distance({1: (0, 1), 2: (5, 1)}, {1: (0, 1)})
    0.5
    """
    penalties = []
    for a, b in combinations(sorted(true), 2):
        expected = _compare(true[a], true[b])
        if expected:
            found = _compare(predicted.get(a), predicted.get(b))
            penalties.append((1 - expected * found) / 2)
    return float(np.mean(penalties)) if penalties else float("nan")


def order_distance(
    truths: Sequence[npt.ArrayLike],
    predictions: Sequence[npt.ArrayLike],
    n_key_steps: int,
    n_clusters: int,
    background: str = "with",
) -> float:
    """Return the mean over videos of the Kendall distance between predicted and true order of the key steps.

    Clusters become key steps by one matching over all videos of the task. Within a video, steps are ordered
    by the mean normalised time of their frames. Background has no place in an order. Without background only
    the frames of a key step are seen, in the matching and in the means.

    Arguments are those of `rgwot.evaluation.protocols.score` for a protocol of scope ``task``. Returns a value in
    [0, 1]: 0 same order, 0.5 no information, 1 reversed; NaN when no video has two true steps.
    """
    pairs = kept_frames(truths, predictions, background)
    if not any(len(g) for g, _, _ in pairs):
        return float("nan")
    step_of = pooled_matching(pairs, n_key_steps, n_clusters, background)
    distances = []
    for truth_labels, prediction_labels, positions in pairs:
        true = {step: mean for step, mean in mean_positions(truth_labels, positions).items() if step > 0}
        found = mean_positions(prediction_labels, positions)
        predicted = {step_of[label]: mean for label, mean in found.items() if label in step_of}
        distances.append(kendall_distance(true, predicted))
    finite = [distance for distance in distances if not np.isnan(distance)]
    return float(np.mean(finite)) if finite else float("nan")
