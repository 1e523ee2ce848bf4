"""Agreement of two results when neither is the truth (methods 6.7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rgwot.evaluation.metrics import IntArray, Matching, contingency, f1, macro, match, strict
from rgwot.evaluation.segmental import found_segments, key_step_runs

#: A key step is a part of another if more than `INSIDE` of it is inside the other, which is split if at least two parts
#: each cover `PART` of it.
PART, INSIDE = 0.2, 0.5
#: Smallest intersection over union of two segments that match.
OVERLAP = 0.5


class Agreement(NamedTuple):
    """Two results side by side.

    Attributes
    ----------
    n_frames
        Number of compared frames.
    adjusted_rand
        Adjusted Rand index of the frames: 1 for equal partitions, about 0 for unrelated ones.
    same
        Share of the frames whose two key steps are matched with each other by ``pairs``, 0 to 1.
    macro_f1, strict_f1
        F1 by ``pairs``: of mean precision and mean recall over the matched key steps of the first result, background
        included; and over all frames, which equals ``same``.
    steps
        Key steps of both results, (m,) and (n,); 0 is background.
    overlap
        (m, n) numbers of common frames.
    matched
        Key step of the second result for each matched key step of the first.
    pairs
        The matching (the best one-to-one matching, or pairs of equal numbers), as indices into ``steps``.
    kappa, kappas
        Cohen's kappa over all frames, where matched key steps agree; and, for each key step of the first result, kappa
        of whether frames have it: 0 without a partner, NaN if both results consist of this key step alone.
    segments_f1, segments_f1s
        F1 of segments: of all, and by key step of the first result; NaN without segments. Segments of matched key steps
        match if their intersection over union reaches the argument ``overlap`` of `agreement`
        (`rgwot.evaluation.segmental.found_segments`).
    split, merged
        Key steps of the first result that are split into several of the second, and the reverse: at least two cover a
        fifth of the key step each. All that are inside it by more than half are listed, the largest part first.
    """

    n_frames: int
    adjusted_rand: float
    same: float
    macro_f1: float
    strict_f1: float
    steps: tuple[IntArray, IntArray]
    overlap: IntArray
    matched: dict[int, int]
    pairs: Matching
    kappa: float
    kappas: dict[int, float]
    segments_f1: float
    segments_f1s: dict[int, float]
    split: dict[int, list[int]]
    merged: dict[int, list[int]]

    def swapped(self) -> Agreement:
        """Return the agreement with the results exchanged."""
        partner = {other: step for step, other in self.matched.items()}
        classes, clusters = (np.array(side, dtype=np.int64) for side in self.pairs)
        pairs = Matching(clusters[np.argsort(clusters)], classes[np.argsort(clusters)])
        f1s = {step: self.segments_f1s.get(partner.get(step, 0), 0.0) for step in self.steps[1].tolist() if step}
        return _of_overlap(self.steps[::-1], self.overlap.T, pairs, self.adjusted_rand, self.segments_f1, f1s)


def agreement(
    first: Sequence[IntArray],
    second: Sequence[IntArray],
    overlap: float = OVERLAP,
    *,
    same: bool = False,
    occurring: tuple[Sequence[IntArray], Sequence[IntArray]] | None = None,
) -> Agreement:
    """Compare the key steps of two results for the same frames.

    Parameters
    ----------
    first, second
        One array (T_v,) per video, of the same frames; at least one frame in all. 0 is background.
    overlap
        Two segments match if their intersection over union is at least this.
    same
        Whether equal numbers mean the same key step, as for two people who code by the same scheme; otherwise key steps
        are matched one to one.
    occurring
        The same arrays of both results with 0 where segments do not count, for the F1 of segments; by default
        ``first`` and ``second``.

    Examples
    --------
    >>> found = agreement([np.array([1, 1, 2, 2, 2, 2])], [np.array([5, 5, 7, 7, 8, 8])])
    >>> found.split
    {2: [7, 8]}
    >>> round(found.kappa, 2), found.segments_f1s
    (0.5, {1: 1.0, 2: 1.0})
    """
    a, b = np.concatenate(list(first)), np.concatenate(list(second))
    table = contingency(a, b, int(a.max()) + 1, int(b.max()) + 1)
    names_a, names_b = (np.flatnonzero(table.any(axis=axis)) for axis in (1, 0))
    table = table[np.ix_(names_a, names_b)]
    pairs = Matching(*np.intersect1d(names_a, names_b, return_indices=True)[1:]) if same else match(table)
    # Background is not matched, because it has no segments. A key step k without a partner becomes -k, which the other
    # result lacks.
    matched = {int(names_b[k]): int(names_a[g]) for g, k in zip(*pairs, strict=True) if names_a[g] and names_b[k]}
    renaming = -np.arange(int(b.max()) + 1)
    renaming[list(matched)] = list(matched.values())
    of_video = []
    for labels_a, labels_b in zip(*(occurring or (first, second)), strict=True):
        pair = key_step_runs(labels_a), key_step_runs(renaming[labels_b])
        of_video.append((pair[0].labels[found_segments(*pair, overlap)], pair[0].labels, pair[1].labels))
    sides = [np.concatenate(labels) for labels in zip(*of_video, strict=True)]
    by_step = {step: _segments_f1(*(side[side == step] for side in sides)) for step in names_a.tolist() if step}
    from sklearn.metrics import adjusted_rand_score

    rand = float(adjusted_rand_score(a, b))
    return _of_overlap((names_a, names_b), table, pairs, rand, _segments_f1(*sides), by_step)


def _segments_f1(n_found: IntArray, first: IntArray, second: IntArray) -> float:
    """Return 2 TP / (2 TP + FP + FN) from the labels of found and of all segments; NaN without segments."""
    n = len(first) + len(second)
    return 2 * len(n_found) / n if n else float("nan")


def _of_overlap(
    steps: tuple[IntArray, IntArray],
    overlap: IntArray,
    pairs: Matching,
    adjusted_rand: float,
    segments_f1: float,
    segments_f1s: dict[int, float],
) -> Agreement:
    names_a, names_b = steps
    mean, whole = macro(overlap, pairs), strict(overlap, pairs)
    n, of_a, of_b = overlap.sum(), overlap.sum(axis=1), np.zeros(len(names_a))
    both = np.zeros(len(names_a))
    of_b[pairs.classes], both[pairs.classes] = overlap.sum(axis=0)[pairs.clusters], overlap[pairs]
    alone = _kappa((n - of_a - of_b + 2 * both) / n, (of_a * of_b + (n - of_a) * (n - of_b)) / n**2)
    return Agreement(
        int(n),
        adjusted_rand,
        float(both.sum() / n),
        f1(mean.precision, mean.recall),
        f1(whole.precision, whole.recall),
        steps,
        overlap,
        {int(names_a[g]): int(names_b[k]) for g, k in zip(*pairs, strict=True) if overlap[g, k]},
        pairs,
        float(_kappa(both.sum() / n, (of_a * of_b).sum() / n**2)),
        dict(zip(names_a.tolist(), alone.tolist(), strict=True)),
        segments_f1,
        segments_f1s,
        _parts(overlap, names_a, names_b),
        _parts(overlap.T, names_b, names_a),
    )


def _kappa(observed: ArrayLike, expected: ArrayLike) -> NDArray[np.float64]:
    """Return (observed - expected) / (1 - expected), or NaN if chance alone gives full agreement."""
    agreed, chance = np.asarray(observed, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        kappa: NDArray[np.float64] = np.where(chance < 1, (agreed - chance) / (1 - chance), np.nan)
    return kappa


def _parts(overlap: NDArray[np.int64], whole: IntArray, part: IntArray) -> dict[int, list[int]]:
    """Return the key steps of rows that consist of several key steps of columns, and for each its parts."""
    of_whole, of_part = overlap / overlap.sum(axis=1, keepdims=True), overlap / overlap.sum(axis=0, keepdims=True)
    pieces = {}
    for row, name in enumerate(whole):
        parts = np.flatnonzero(of_part[row] > INSIDE)
        if (of_whole[row, parts] >= PART).sum() > 1:
            pieces[int(name)] = [int(part[at]) for at in parts[np.argsort(-overlap[row, parts], kind="stable")]]
    return pieces
