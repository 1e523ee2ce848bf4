"""What happens when: step timelines of made-up procedures, drawn from statistics."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from rgwot.config.synthetic import SynthSettings
from rgwot.synthetic.composition import Piece, compose
from rgwot.synthetic.ground_truth import Timeline

STEP_SIGMA = 0.9


def parametric(K: int, settings: SynthSettings, rng: np.random.Generator) -> list[Timeline]:
    """Draw the timelines of one task with K key steps, one per video.

    Steps 1..K, a random number of neighbouring swaps per video (their rate is solved so that the order
    variation is nearest to the request), missing steps, log-normal durations, cuts, lead-in, tail and uneven
    gaps. Every label occurs in at least two videos when there are two.
    """
    shown = present(np.ones((settings.n_videos, K), dtype=bool), settings.missing, rng)
    orders = _orders(shown, settings.order_distance, rng)
    typical = rng.lognormal(0.0, 0.3, K)
    sequences = [
        [Piece(step, float(typical[step - 1] * rng.lognormal(0.0, STEP_SIGMA))) for step in order] for order in orders
    ]
    lengths = rng.uniform(settings.min_s, settings.max_s, settings.n_videos)
    return compose(sequences, lengths, K, settings, rng)


def discordance(first: Sequence[int], second: Sequence[int]) -> float:
    """Share of discordant pairs among the steps both orders contain, which name each step at most once.

    0 for the same order, 1 for the reverse, NaN when fewer than two steps are shared.

    >>> discordance([1, 2, 3], [1, 3, 2, 7])
    0.3333333333333333
    """
    rank = {step: place for place, step in enumerate(second)}
    pairs = list(combinations([rank[step] for step in first if step in rank], 2))
    if not pairs:
        return float("nan")
    return sum(earlier > later for earlier, later in pairs) / len(pairs)


def mean_discordance(orders: Sequence[Sequence[int]]) -> float:
    """Mean of `discordance` over pairs of orders that share two steps; NaN when there is none."""
    distances = np.array([discordance(a, b) for a, b in combinations(orders, 2)])
    distances = distances[~np.isnan(distances)]
    return float(distances.mean()) if distances.size else float("nan")


def present(done: NDArray[np.bool_], missing: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Drop steps at random until the share of missing ones is met.

    Every label keeps at least two videos, and every video two steps.
    """
    kept = done.copy()
    n_videos, K = kept.shape
    enough_videos, enough_steps = min(2, n_videos), min(2, K)
    surplus = int(kept.sum()) - round((1.0 - missing) * kept.size)
    for cell in rng.permutation(kept.size):
        if surplus <= 0:
            break
        video, step = divmod(int(cell), K)
        if kept[video, step] and kept[:, step].sum() > enough_videos and kept[video].sum() > enough_steps:
            kept[video, step] = False
            surplus -= 1
    return kept


def _orders(present: NDArray[np.bool_], distance: float, rng: np.random.Generator) -> list[list[int]]:
    """Per video the order of its steps; as many neighbouring swaps as meet the order variation."""
    best: list[list[int]] = []
    least = np.inf
    for _ in range(8):
        orders = _swapped(present, distance, rng)
        error = abs(float(np.nan_to_num(mean_discordance(orders))) - distance)
        if error < least:
            best, least = orders, error
        if least < 0.01:
            break
    return best


def _swapped(present: NDArray[np.bool_], distance: float, rng: np.random.Generator) -> list[list[int]]:
    n_videos, K = present.shape
    most = 4 * K * K
    swaps: NDArray[np.int64] = rng.integers(0, K - 1, (n_videos, most))
    # The number of swaps of a video grows with the rate while its place among the videos stays: the order
    # variation then changes smoothly with the rate and the nearest rate can be searched for.
    spread = rng.gamma(2.0, 0.5, (n_videos,))

    def at(rate: float) -> list[list[int]]:
        orders: list[list[int]] = []
        for video in range(n_videos):
            order = list(range(1, K + 1))
            n_swaps: int = min(most, round(rate * float(spread[video])))
            for place in swaps[video][:n_swaps]:
                order[place], order[place + 1] = order[place + 1], order[place]
            orders.append([step for step in order if present[video, step - 1]])
        return orders

    rates = np.concatenate([[0.0], np.geomspace(0.25, 2.0 * K * K, 60)])
    candidates = [at(float(rate)) for rate in rates]
    errors = [abs(np.nan_to_num(mean_discordance(orders)) - distance) for orders in candidates]
    return candidates[int(np.argmin(errors))]
