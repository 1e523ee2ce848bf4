"""A hidden Markov model with a state per labelled class, and the weight of order in it (methods 5.10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rgwot.keysteps.consensus import LEAST_PROBABILITY
from rgwot.keysteps.interface import UNKNOWN, Array, first_samples

NO_ORDER, ORDER = 0.11, 0.18
"""Agreement beyond chance (methods 5.10) of carried labels with the hidden Markov model. Up to `NO_ORDER`, the order of
key steps does not count; from `ORDER` on, it counts fully. Seven recorded tasks have 0.22 or more with two or three
annotated videos, and 0.11 or less after their segments were shuffled; the limits were chosen on them."""

TASK_VIDEOS = 3.0
"""Weight of the mean agreement of the task in the agreement of a video, which has weight 1."""


class StateModel(NamedTuple):
    r"""A hidden Markov model with a state per class, and Gaussians with one shrunken covariance (methods 5.10).

    .. math:: p(x \mid k) \propto \exp(w_k \cdot x + b_k), \qquad
              w_k = \Sigma^{-1} \mu_k, \quad b_k = -\tfrac12 \mu_k \cdot w_k

    Attributes
    ----------
    states
        Classes (S,) that have labels.
    weights, offsets
        w (S, D) and b (S,).
    first, transitions
        Probabilities (S,) of the first state, and (S, S) of the next one.
    """

    states: NDArray[np.int64]
    weights: Array
    offsets: Array
    first: Array
    transitions: Array

    @classmethod
    def fit(cls, x: Array, lengths: Sequence[int], labels: NDArray[np.int64], C: int) -> StateModel:
        """Fit to samples (T, D) of videos with labels (T,) in 0..C-1 or `UNKNOWN`; at least one is labelled."""
        from sklearn.covariance import ledoit_wolf

        known = labels != UNKNOWN
        states, places = np.unique(labels[known], return_inverse=True)
        means = np.stack([x[labels == state].mean(axis=0) for state in states])
        covariance = ledoit_wolf(x[known] - means[places], assume_centered=True)[0]
        # Single samples have no spread of their own; then the nearest mean decides.
        covariance += (1e-6 * x.var(axis=0).mean() + 1e-12) * np.eye(len(covariance))
        weights = np.linalg.solve(covariance, means.T).T
        first, counts = np.ones(C), np.full((C, C), 1 / C)
        for part in np.split(labels, np.cumsum(lengths)[:-1]):
            labelled = part != UNKNOWN
            if labelled.any():
                first[part[labelled.argmax()]] += 1
            pair = labelled[:-1] & labelled[1:]
            np.add.at(counts, (part[:-1][pair], part[1:][pair]), 1)
        counts = counts[np.ix_(states, states)]
        first = first[states] / first[states].sum()
        offsets = -0.5 * np.einsum("kd,kd->k", weights, means)
        return cls(states, weights, offsets, first, counts / counts.sum(axis=1, keepdims=True))

    def seen(self, x: Array, C: int) -> Array:
        """Return log probabilities (T, C) of the classes of samples (T, D) by their appearance alone."""
        scores = x @ self.weights.T + self.offsets
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return spread(scores / scores.sum(axis=1, keepdims=True), self.states, C)

    def posterior(self, x: Array, lengths: Sequence[int], C: int) -> Array:
        """Return the probabilities (T, C) of the classes of samples (T, D), given all samples of their video."""
        scores = x @ self.weights.T + self.offsets
        densities = np.exp(scores - scores.max(axis=1, keepdims=True))
        V, S, longest = len(lengths), len(self.states), max(lengths)
        inside = np.arange(longest) < np.asarray(lengths)[:, None]
        padded = np.ones((V, longest, S))
        padded[inside] = np.maximum(densities, np.finfo(np.float64).tiny)
        forward, backward = np.empty_like(padded), np.ones_like(padded)
        forward[:, 0] = self.first * padded[:, 0]
        for t in range(longest):
            if t:
                forward[:, t] = (forward[:, t - 1] @ self.transitions) * padded[:, t]
            forward[:, t] /= forward[:, t].sum(axis=1, keepdims=True)
        for t in range(longest - 2, -1, -1):
            ahead = (padded[:, t + 1] * backward[:, t + 1]) @ self.transitions.T
            # Nothing is known after the end of a video.
            backward[:, t] = np.where(inside[:, t + 1, None], ahead / ahead.sum(axis=1, keepdims=True), 1.0)
        p = np.zeros((len(x), C))
        p[:, self.states] = (forward * backward)[inside]
        return np.asarray(p / p.sum(axis=1, keepdims=True))


def agreement(carried: Array, states: Array, lengths: Sequence[int]) -> Array:
    r"""Return how far carried labels agree with the hidden Markov model in each video, (V,): 1 fully, 0 by chance.

    .. math:: a_v = \frac{\overline{c_{i,k_i}} - \bar c \cdot \bar h}{1 - \bar c \cdot \bar h},
              \qquad k_i = \operatorname{argmax}_k h_{ik}

    with the probabilities c of labels carried over (T, C) and h of the model (T, C), and means over the video.
    """
    chosen = carried[np.arange(len(carried)), states.argmax(axis=1)]
    starts, sizes = first_samples(lengths), np.asarray(lengths)
    mean = np.add.reduceat(chosen, starts) / sizes
    by_video = [np.add.reduceat(p, starts, axis=0) / sizes[:, None] for p in (carried, states)]
    chance = (by_video[0] * by_video[1]).sum(axis=1)
    return np.asarray((mean - chance) / np.maximum(1 - chance, 1e-9))


def order_weights(agreements: Array, mean: float, n: int) -> Array:
    """Return how much order counts in each video, (V,) in [0, 1], with n annotated videos.

    This follows from the agreement of the video and the ``mean`` of the task. One annotated video shows a single order,
    and too little of the model's transitions to doubt it.
    """
    if n == 1:
        return np.ones_like(agreements)
    each = (agreements + TASK_VIDEOS * mean) / (1 + TASK_VIDEOS)
    return np.clip((each - NO_ORDER) / (ORDER - NO_ORDER), 0, 1)


def spread(memberships: Array, classes: NDArray[np.int64], C: int) -> Array:
    """Return log memberships (T, C) in all classes from memberships (T, C') in some, at least `LEAST_PROBABILITY`."""
    spread = np.zeros((len(memberships), C))
    spread[:, classes] = memberships
    return np.asarray(np.log(np.maximum(spread, LEAST_PROBABILITY)))
