"""Subset selection: representatives among many k-means centres, by greedy facility location (methods 5.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from rgwot.baselines.settings import Subset
from rgwot.diagnostics import Facts
from rgwot.keysteps.interface import Decoded, Frames, Learned, Predict
from rgwot.keysteps.kmeans import kmeans, nearest_centre
from rgwot.runtime.errors import RgwotError

# Gains up to this share of the first sum count as rounding errors; a centre equal to a chosen one has such a gain.
ROUNDING = 1e-9


def select(similarity: NDArray[np.floating], R: int) -> list[int]:
    """Choose representatives A that maximise sum_t max_{c in A} S_ct, greedily.

    Every step adds the candidate with the largest gain (the first in a tie), until there are R or no candidate
    gains anything. The sum is monotone and submodular, so the choices after the first gain at least 1 - 1/e of the
    largest gain that R - 1 others could add to the first.

    ``similarity`` is S (M, T) of every candidate to every sample, M, T and R >= 1. Returns the candidates in the order
    of their choice, at least one.

    Examples
    --------
    >>> select(-np.array([[0.0, 4.0, 9.0], [4.0, 0.0, 5.0], [9.0, 5.0, 0.0]]), 2)
    [1, 2]
    """
    S = np.asarray(similarity, dtype=np.float64)
    chosen = [int(S.sum(axis=1).argmax())]
    best = S[chosen[0]]
    nothing = ROUNDING * float(np.abs(best).sum())
    while len(chosen) < R:
        gains = np.maximum(S - best, 0).sum(axis=1)
        candidate = int(gains.argmax())
        if not gains[candidate] > nothing:
            break
        chosen.append(candidate)
        best = np.maximum(best, S[candidate])
    return chosen


@dataclass(frozen=True, kw_only=True)
class _SubsetFacts(Facts):
    """The numbers of centres and of representatives, and the mean distance of samples to their representative."""

    centres: int
    representatives: int
    mean_distance: float


def decode_subset(frames: Frames, K: int, generator: np.random.Generator, settings: Subset) -> Decoded:
    """Label every sample by the best of K representatives chosen among M centres: the decoder ``subset``.

    k-means with M = ``settings.centres`` clusters gives the centres; the similarity of centre and sample is minus their
    distance. With M = K all centres are chosen, and the labels are the same as with the decoder ``kmeans``. RGWOT's
    configuration, which requests 15 representatives of 7 centres, also chooses all. The original has
    ``centres=30``, ``restarts=50`` and K = 15.

    Raises
    ------
    RgwotError
        For fewer centres than K.
    """
    M = settings.centres or K
    if M < K:
        raise RgwotError(
            f"subset.centres: found {M}, expected at least K = {K}, because K of these centres are selected"
        )
    centres = kmeans(frames.x, M, generator, restarts=settings.restarts).centres
    # Sorted into the order of k-means's clusters, so that choosing all centres changes no label.
    chosen = sorted(select(-cdist(centres, frames.x), K))
    representatives = centres[chosen]
    distances = cdist(frames.x, representatives)
    facts = _SubsetFacts(
        centres=len(centres),
        representatives=len(chosen),
        mean_distance=float(distances.min(axis=1).mean()),
    )
    labels = distances.argmin(axis=1).astype(np.int64)
    return Decoded(labels, facts={"subset": facts}, learned={"representatives": representatives})


def restore_subset(learned: Learned, K: int, settings: Subset) -> Predict:
    """Return the function that labels samples of other videos by the nearest representative."""
    return lambda others: Decoded(nearest_centre(others.x, learned["representatives"]))
