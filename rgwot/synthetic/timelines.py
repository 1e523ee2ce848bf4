"""What happens when: step timelines of made-up procedures, and the statistics they are judged by.

Two drivers make the timelines of one task: :func:`parametric` draws them, :func:`from_human` starts from the
timelines of real people (CaptainCook4D). Both end in the same composition, so that foreground, missing and
repeated steps reach the requested levels exactly up to rounding, instead of on average. The shapes of the distributions were
measured on EgoProceL's annotations (Bansal et al., ECCV 2022).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FPS = 30
"""Frames per second of every clip; clip lengths are whole numbers of frames."""

RESUME = 0.69  # share of repeats that resume the step just interrupted
LEAD_MEAN, LEAD_CAP = 0.14, 0.40
TAIL_MEAN, TAIL_CAP = 0.11, 0.35
ENDS_CAP = 0.80  # lead-in and tail together, as a share of the background
GAP_SIGMA = 1.3
TOUCHING = 0.10  # share of the gaps between different steps that have no background
STEP_SIGMA = 0.9
FOREGROUND_RANGE = (0.12, 0.85)
SHORTEST_S = 0.1  # three frames: below this a piece can fall between the sampled frames
CONCENTRATION = 10.0  # of the Beta distribution of a clip's foreground: 3.8 + 6.2


class Segment(NamedTuple):
    """One stretch ``[start_s, end_s)`` of key step 1..K; times in seconds."""

    start_s: float
    end_s: float
    key_step: int


@dataclass(frozen=True)
class Timeline:
    """The ground truth of one clip: sorted segments without overlap in ``[0, duration_s)``, else background."""

    duration_s: float
    segments: tuple[Segment, ...]


@dataclass(frozen=True)
class Statistics:
    """Foreground F, missing M, repeated R and order variation tau of one task."""

    foreground: float
    missing: float
    repeated: float
    order_distance: float


@dataclass(frozen=True)
class Levels:
    """What the composed timelines are asked to show; see :class:`rgwot.synthetic.settings.SynthSettings`."""

    foreground: float = 0.38
    missing: float = 0.12
    repeated: float = 0.49
    order_distance: float = 0.13
    min_piece_s: float = 0.8
    max_share: float = 0.25


@dataclass(frozen=True)
class _Piece:
    key_step: int
    weight: float


def kendall_distance(first: Sequence[int], second: Sequence[int]) -> float:
    """Share of discordant pairs among the steps both orders contain.

    Parameters
    ----------
    first, second
        Key steps in order of first occurrence, each at most once.

    Returns
    -------
    float
        In [0, 1]: 0 for the same order, 1 for the reverse, NaN when fewer than two steps are shared.

    Examples
    --------
    >>> kendall_distance([1, 2, 3], [1, 3, 2, 7])
    0.3333333333333333
    """
    rank = {step: place for place, step in enumerate(second)}
    places = [rank[step] for step in first if step in rank]
    pairs = list(combinations(places, 2))
    if not pairs:
        return float("nan")
    return sum(earlier > later for earlier, later in pairs) / len(pairs)


def statistics(tables: Sequence[Sequence[Segment]], durations: Sequence[float], K: int) -> Statistics:
    """Measure F, M, R and tau of one task.

    With u distinct steps and g segments in a video: F is the mean share of a video that steps cover, M is
    1 - sum(u) / (K N), R is 1 - sum(u) / sum(g) over all N videos together, and tau is the mean normalised Kendall
    distance between the orders of first occurrence, over pairs of videos and the steps both contain.

    Parameters
    ----------
    tables
        Per video its segments ``(start_s, end_s, key_step)``, in any order; overlaps are counted once in F.
    durations
        Per video its length in seconds.
    K
        Number of key steps of the task.

    Returns
    -------
    Statistics
        ``order_distance`` is NaN when no two videos share two steps.

    Raises
    ------
    ValueError
        If the numbers of tables and durations differ, or no video has a segment.
    """
    if len(tables) != len(durations):
        raise ValueError(
            f"found {len(tables)} segment tables and {len(durations)} durations; expected one each"
        )
    ordered = [sorted(Segment(*row) for row in table) for table in tables]
    total = sum(len(table) for table in ordered)
    if total == 0:
        raise ValueError("found no segment in any video; expected at least one")
    shares, orders = [], []
    for table, duration in zip(ordered, durations, strict=True):
        covered = reached = 0.0
        for start, end, _ in table:
            covered += max(0.0, end - max(start, reached))
            reached = max(reached, end)
        shares.append(covered / duration)
        orders.append(list(dict.fromkeys(segment.key_step for segment in table)))
    distinct = sum(len(order) for order in orders)
    return Statistics(
        foreground=float(np.mean(shares)),
        missing=1.0 - distinct / (K * len(ordered)),
        repeated=1.0 - distinct / total,
        order_distance=_mean_distance(orders),
    )


def parametric(
    K: int, n_videos: int, min_s: float, max_s: float, levels: Levels, rng: np.random.Generator
) -> list[Timeline]:
    """Draw the timelines of one task.

    Steps 1..K, a random number of neighbouring swaps per video (their rate is solved so that the order
    variation is nearest to the request), missing steps, log-normal durations, cuts, lead-in, tail and uneven
    gaps.

    Parameters
    ----------
    K
        Number of key steps.
    n_videos
        Number of timelines.
    min_s, max_s
        Shortest and longest clip, seconds.
    levels
        The requested statistics.
    rng
        The only source of randomness.

    Returns
    -------
    list of Timeline
        One per video. Every label occurs in at least two videos when there are two.

    Raises
    ------
    ValueError
        If ``K`` is below 2.
    """
    if K < 2:
        raise ValueError(f"found K = {K}; expected at least 2 key steps")
    present = _present(np.ones((n_videos, K), dtype=bool), levels.missing, rng)
    orders = _orders(present, levels.order_distance, rng)
    typical = rng.lognormal(0.0, 0.3, K)
    sequences = [
        [_Piece(step, float(typical[step - 1] * rng.lognormal(0.0, STEP_SIGMA))) for step in order]
        for order in orders
    ]
    lengths = rng.uniform(min_s, max_s, n_videos)
    return _compose(sequences, lengths, K, levels, rng)


def from_human(
    clips: Sequence[Timeline],
    K: int,
    n_videos: int,
    min_s: float,
    max_s: float,
    levels: Levels | None,
    rng: np.random.Generator,
) -> list[Timeline]:
    """Make the timelines of one task from those of real people.

    Parameters
    ----------
    clips
        The recordings of one recipe, compressed to 40-90 s (:func:`rgwot.synthetic.human.read_recipe`).
    K
        Number of key steps in ``clips``.
    n_videos
        How many recordings to use, chosen at random.
    min_s, max_s
        Clip lengths of 40 and 90 s are mapped to these; order, proportions and gaps stay as they were.
    levels
        Where given, background, missing and repeated steps are brought to these levels and the order stays
        that of the person; ``None`` leaves the clips as they are.
    rng
        The only source of randomness.

    Returns
    -------
    list of Timeline
        One per chosen recording.

    Raises
    ------
    ValueError
        If ``clips`` are fewer than ``n_videos``.
    """
    if len(clips) < n_videos:
        raise ValueError(f"found {len(clips)} recordings; expected at least n_videos = {n_videos}")
    chosen = [clips[index] for index in sorted(rng.permutation(len(clips))[:n_videos])]
    lengths = np.array([min_s + (clip.duration_s - 40.0) / 50.0 * (max_s - min_s) for clip in chosen])
    if levels is None:
        return [_scaled(clip, length) for clip, length in zip(chosen, lengths, strict=True)]
    done = np.zeros((n_videos, K), dtype=bool)
    for row, clip in zip(done, chosen, strict=True):
        row[[segment.key_step - 1 for segment in clip.segments]] = True
    present = _present(done, levels.missing, rng)
    sequences = [
        [_Piece(s.key_step, s.end_s - s.start_s) for s in clip.segments if kept[s.key_step - 1]]
        for clip, kept in zip(chosen, present, strict=True)
    ]
    return _compose(sequences, lengths, K, levels, rng)


def _mean_distance(orders: Sequence[Sequence[int]]) -> float:
    distances = np.array([kendall_distance(a, b) for a, b in combinations(orders, 2)])
    distances = distances[~np.isnan(distances)]
    return float(distances.mean()) if distances.size else float("nan")


def _whole_frames(seconds: float) -> float:
    return max(1, round(seconds * FPS)) / FPS


def _scaled(clip: Timeline, length: float) -> Timeline:
    duration = _whole_frames(length)
    factor = duration / clip.duration_s
    return Timeline(
        duration,
        tuple(
            Segment(
                round(s.start_s * factor, 3), min(round(s.end_s * factor, 3), _floor_ms(duration)), s.key_step
            )
            for s in clip.segments
        ),
    )


def _floor_ms(seconds: float) -> float:
    return int(seconds * 1000.0 + 1e-6) / 1000.0


def _present(done: NDArray[np.bool_], missing: float, rng: np.random.Generator) -> NDArray[np.bool_]:
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
        error = abs(float(np.nan_to_num(_mean_distance(orders))) - distance)
        if error < least:
            best, least = orders, error
        if least < 0.01:
            break
    return best


def _swapped(present: NDArray[np.bool_], distance: float, rng: np.random.Generator) -> list[list[int]]:
    n_videos, K = present.shape
    most = 4 * K * K
    swaps = rng.integers(0, K - 1, (n_videos, most))
    # The number of swaps of a video grows with the rate while its place among the videos stays: the order
    # variation then changes smoothly with the rate and the nearest rate can be searched for.
    spread = rng.gamma(2.0, 0.5, n_videos)

    def at(rate: float) -> list[list[int]]:
        orders = []
        for video in range(n_videos):
            order = list(range(1, K + 1))
            for place in swaps[video, : min(most, round(rate * float(spread[video])))]:
                order[place], order[place + 1] = order[place + 1], order[place]
            orders.append([step for step in order if present[video, step - 1]])
        return orders

    rates = np.concatenate([[0.0], np.geomspace(0.25, 2.0 * K * K, 60)])
    candidates = [at(float(rate)) for rate in rates]
    errors = [abs(np.nan_to_num(_mean_distance(orders)) - distance) for orders in candidates]
    return candidates[int(np.argmin(errors))]


def _compose(
    sequences: list[list[_Piece]],
    lengths: NDArray[np.float64],
    K: int,
    levels: Levels,
    rng: np.random.Generator,
) -> list[Timeline]:
    """Cut, share out foreground and background, and place, with quotas instead of independent draws."""
    durations = np.array([_whole_frames(float(length)) for length in lengths])
    distinct = sum(len({piece.key_step for piece in sequence}) for sequence in sequences)
    pieces = sum(len(sequence) for sequence in sequences)
    total = max(pieces, round(distinct / (1.0 - levels.repeated)))
    clips_s = float(durations.sum())
    # In clips of a few seconds visible pieces matter more than the levels: fewer cuts, then more foreground.
    total = max(pieces, min(total, int(0.8 * levels.foreground * clips_s / SHORTEST_S)))
    foreground = max(levels.foreground, min(0.8, pieces * SHORTEST_S / 0.8 / clips_s))
    floor = min(levels.min_piece_s, 0.8 * foreground * clips_s / total)
    step_s = _foregrounds(sequences, durations, floor, foreground, rng) * durations
    sequences = _cut(sequences, total, step_s, durations, floor, K, rng)
    lengths_s = _piece_lengths(sequences, step_s, floor, K, levels.max_share)
    return [
        _place(sequence, piece_s, float(duration), rng)
        for sequence, piece_s, duration in zip(sequences, lengths_s, durations, strict=True)
    ]


def _foregrounds(
    sequences: list[list[_Piece]],
    durations: NDArray[np.float64],
    floor: float,
    mean: float,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Per video its foreground: Beta, at least what its pieces need, shifted to the exact mean."""
    n = len(sequences)
    if mean >= 1.0:
        return np.ones(n)
    drawn = rng.beta(CONCENTRATION * mean, CONCENTRATION * (1.0 - mean), n)
    least = np.array([1.15 * len(sequence) * floor for sequence in sequences]) / durations
    low = np.minimum(np.maximum(min(FOREGROUND_RANGE[0], 0.5 * mean), least), mean)
    high = max(FOREGROUND_RANGE[1], 0.5 * (1.0 + mean))
    left, right = -1.0, 1.0
    for _ in range(60):
        shift = 0.5 * (left + right)
        if np.clip(drawn + shift, low, high).mean() < mean:
            left = shift
        else:
            right = shift
    return np.clip(drawn + right, low, high)


def _cut(
    sequences: list[list[_Piece]],
    total: int,
    step_s: NDArray[np.float64],
    durations: NDArray[np.float64],
    floor: float,
    K: int,
    rng: np.random.Generator,
) -> list[list[_Piece]]:
    """Cut pieces in two until the task has ``total``; long pieces in roomy videos are cut more often."""
    result = [list(sequence) for sequence in sequences]
    room = np.maximum(step_s / floor / 1.18 - [len(sequence) for sequence in result], 0.0)
    gapless = step_s > 0.98 * durations
    per_step = np.bincount([p.key_step for sequence in result for p in sequence], minlength=K + 1)
    most_per_step = max(int(per_step.max()), int(np.ceil(1.5 * total / K)))
    for _ in range(total - sum(len(sequence) for sequence in result)):
        video = _roomiest(room, step_s, result, rng)
        sequence = result[video]
        full = per_step >= most_per_step
        weights = np.array([p.weight * (1e-9 if full[p.key_step] else 1.0) for p in sequence])
        index = int(rng.choice(len(sequence), p=weights / weights.sum()))
        piece, share = sequence[index], float(rng.uniform(0.3, 0.7))
        sequence[index] = replace(piece, weight=piece.weight * share)
        later = replace(piece, weight=piece.weight * (1.0 - share))
        sequence.insert(_position(sequence, index, bool(gapless[video]), rng), later)
        per_step[piece.key_step] += 1
        room[video] = max(room[video] - 1.0, 0.0)
    return result


def _roomiest(
    room: NDArray[np.float64],
    step_s: NDArray[np.float64],
    sequences: list[list[_Piece]],
    rng: np.random.Generator,
) -> int:
    if room.sum() > 0:
        return int(rng.choice(len(room), p=room / room.sum()))
    return int(np.argmax(step_s / [len(sequence) for sequence in sequences]))


def _position(sequence: list[_Piece], index: int, gapless: bool, rng: np.random.Generator) -> int:
    """Where the second half of piece ``index`` goes: behind it after a pause, or behind another, later step."""
    step = sequence[index].key_step
    behind = [
        place
        for place in range(index + 2, len(sequence) + 1)
        if sequence[place - 1].key_step != step
        and (place == len(sequence) or sequence[place].key_step != step)
    ]
    if behind and (gapless or rng.random() >= RESUME):
        return int(rng.choice(behind))
    return index + 1


def _piece_lengths(
    sequences: list[list[_Piece]], step_s: NDArray[np.float64], floor: float, K: int, max_share: float
) -> list[NDArray[np.float64]]:
    """Per video the seconds of its pieces: a floor and the rest by weight; too frequent steps are shortened."""
    ceiling = max(max_share, 1.1 / K) * 0.99
    scale = np.ones(K + 1)
    steps = [np.array([piece.key_step for piece in sequence]) for sequence in sequences]
    weights = [np.array([piece.weight for piece in sequence]) for sequence in sequences]

    def lengths() -> list[NDArray[np.float64]]:
        result = []
        for labels, weight, seconds in zip(steps, weights, step_s, strict=True):
            base = min(floor, 0.85 * seconds / len(labels))
            shaped = weight * scale[labels]
            result.append(base + (seconds - base * len(labels)) * shaped / shaped.sum())
        return result

    for _ in range(400):
        seconds = lengths()
        held = np.bincount(np.concatenate(steps), weights=np.concatenate(seconds), minlength=K + 1)
        share = held / held.sum()
        if share.max() <= ceiling:
            break
        scale[share > ceiling] *= 0.9
    return lengths()


def _place(
    sequence: list[_Piece], piece_s: NDArray[np.float64], duration: float, rng: np.random.Generator
) -> Timeline:
    """Lay the pieces out in the clip: lead-in, tail, and uneven gaps, some of them empty."""
    background = max(0.0, duration - float(piece_s.sum()))
    lead = min(rng.exponential(LEAD_MEAN), LEAD_CAP) * duration
    tail = min(rng.exponential(TAIL_MEAN), TAIL_CAP) * duration
    n_gaps = len(sequence) - 1
    ends = lead + tail
    allowed = ENDS_CAP * background if n_gaps else background
    if ends > allowed or not n_gaps:
        lead, tail = lead * allowed / ends, tail * allowed / ends
    rest = background - lead - tail
    gaps = rng.lognormal(0.0, GAP_SIGMA, n_gaps)
    steps = np.array([piece.key_step for piece in sequence])
    same = steps[1:] == steps[:-1]
    touching = (rng.random(n_gaps) < TOUCHING) & ~same
    if n_gaps and not touching.all():
        gaps[touching] = 0.0
        shortest = np.where(touching, 0.0, min(0.2, 0.3 * rest / n_gaps))
        gaps = shortest + (rest - shortest.sum()) * gaps / gaps.sum()
    elif n_gaps:
        gaps = gaps * rest / gaps.sum()
    edges = np.empty(2 * len(sequence))
    edges[0::2] = lead + np.concatenate([[0.0], np.cumsum(piece_s[:-1] + gaps)])
    edges[1::2] = edges[0::2] + piece_s
    # Milliseconds: the annotation files then say the same in a few digits.
    edges = np.minimum(np.round(edges, 3), _floor_ms(duration))
    return Timeline(
        duration,
        tuple(
            Segment(float(start), float(end), piece.key_step)
            for start, end, piece in zip(edges[0::2], edges[1::2], sequence, strict=True)
        ),
    )
