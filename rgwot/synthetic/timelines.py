"""The videos of a synthetic dataset, and their timelines of steps, drawn from statistics."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rgwot.synthetic.appearance import step_names, task_look
from rgwot.synthetic.settings import SynthSettings

FPS = 30
"""Frames per second of clips if a layout has no other rate; clip lengths are whole numbers of these frames."""

#: Shortest step segment in seconds, except in very short clips.
MIN_PIECE_S = 0.8
#: Largest share of a task's step time that one step may have, at least 1.1 / K.
MAX_SHARE = 0.25


class TimelineSegment(NamedTuple):
    """A segment ``[start_s, end_s)`` of key step 1..K, in seconds."""

    start_s: float
    end_s: float
    key_step: int


@dataclass(frozen=True)
class Timeline:
    """Ground truth of a clip: sorted segments without overlap in ``[0, duration_s)``; other time is background."""

    duration_s: float
    segments: tuple[TimelineSegment, ...]


def whole_frames(seconds: float) -> float:
    """Round a length in seconds to whole frames, at least one."""
    return max(1, round(seconds * FPS)) / FPS


def floor_ms(seconds: float) -> float:
    """Round down to milliseconds, the grid of the annotation files."""
    return int(seconds * 1000.0 + 1e-6) / 1000.0


STEP_SIGMA = 0.9


def parametric(K: int, settings: SynthSettings, rng: np.random.Generator) -> list[Timeline]:
    """Draw the timelines of one task with K key steps, one per video.

    They have steps 1..K with a random number of swaps of neighbouring steps per video (their rate is chosen so that the
    order variation is nearest to the request), missing steps, log-normal durations, cuts, lead-in, tail and uneven
    gaps. Every step occurs in at least two videos, if the task has two.
    """
    has_step = present(np.ones((settings.n_videos, K), dtype=bool), settings.missing, rng)
    orders = _orders(has_step, settings.order_distance, rng)
    typical = rng.lognormal(0.0, 0.3, K)
    sequences = [
        [Piece(step, float(typical[step - 1] * rng.lognormal(0.0, STEP_SIGMA))) for step in order] for order in orders
    ]
    lengths = rng.uniform(settings.min_s, settings.max_s, settings.n_videos)
    return compose(sequences, lengths, K, settings, rng)


def discordance(first: Sequence[int], second: Sequence[int]) -> float:
    """Return the share of discordant pairs among the steps that both orders contain; orders name a step at most once.

    It is 0 for the same order, 1 for the reverse, NaN when fewer than two steps are shared.

    >>> discordance([1, 2, 3], [1, 3, 2, 7])
    0.3333333333333333
    """
    rank = {step: place for place, step in enumerate(second)}
    pairs = list(combinations([rank[step] for step in first if step in rank], 2))
    if not pairs:
        return float("nan")
    return sum(earlier > later for earlier, later in pairs) / len(pairs)


def mean_discordance(orders: Sequence[Sequence[int]]) -> float:
    """Return the mean of `discordance` over pairs of orders that share two steps; NaN without such pairs."""
    distances = np.array([discordance(a, b) for a, b in combinations(orders, 2)])
    distances = distances[~np.isnan(distances)]
    return float(distances.mean()) if distances.size else float("nan")


def present(done: NDArray[np.bool_], missing: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Drop steps at random until the share of missing ones is met.

    Every step stays in at least two videos, and every video keeps at least two steps, if there are as many.
    """
    has = done.copy()
    n_videos, K = has.shape
    enough_videos, enough_steps = min(2, n_videos), min(2, K)
    surplus = int(has.sum()) - round((1.0 - missing) * has.size)
    for cell in rng.permutation(has.size):
        if surplus <= 0:
            break
        video, step = divmod(int(cell), K)
        if has[video, step] and has[:, step].sum() > enough_videos and has[video].sum() > enough_steps:
            has[video, step] = False
            surplus -= 1
    return has


def _orders(present: NDArray[np.bool_], distance: float, rng: np.random.Generator) -> list[list[int]]:
    """Return the order of steps in each video, with as many swaps of neighbours as the order variation requires."""
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
    # The number of swaps of neighbouring steps in a video is the rate times a fixed number. The order variation then
    # changes smoothly with the rate, so that the best rate can be searched for.
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


RESUME = 0.69  # share of repeats that resume the step just interrupted
LEAD_MEAN, LEAD_CAP = 0.14, 0.40
TAIL_MEAN, TAIL_CAP = 0.11, 0.35
ENDS_CAP = 0.80  # lead-in and tail together, as a share of the background
GAP_SIGMA = 1.3
TOUCHING = 0.10  # share of the gaps between different steps that have no background
FOREGROUND_RANGE = (0.12, 0.85)
SHORTEST_S = 0.1  # three frames: below this a piece can fall between the sampled frames
CONCENTRATION = 10.0  # of the Beta distribution of a clip's foreground: 3.8 + 6.2


@dataclass(frozen=True)
class Piece:
    """Part of a step before it has a place in time; ``weight`` is its share of the duration."""

    key_step: int
    weight: float


def compose(
    sequences: list[list[Piece]],
    lengths: NDArray[np.float64],
    K: int,
    settings: SynthSettings,
    rng: np.random.Generator,
) -> list[Timeline]:
    """Cut pieces, share out foreground and background, and place the pieces, by quotas instead of independent draws."""
    durations = np.array([whole_frames(float(length)) for length in lengths])
    distinct = sum(len({piece.key_step for piece in sequence}) for sequence in sequences)
    pieces = sum(len(sequence) for sequence in sequences)
    total = max(pieces, round(distinct / (1.0 - settings.repeated)))
    clips_s = float(durations.sum())
    # In short clips, pieces may be too short to be sampled; then the number of cuts is reduced first, and foreground
    # added next.
    total = max(pieces, min(total, int(0.8 * settings.foreground * clips_s / SHORTEST_S)))
    foreground = max(settings.foreground, min(0.8, pieces * SHORTEST_S / 0.8 / clips_s))
    floor = min(MIN_PIECE_S, 0.8 * foreground * clips_s / total)
    step_s = _foregrounds(sequences, durations, floor, foreground, rng) * durations
    sequences = _cut(sequences, total, step_s, durations, floor, K, rng)
    lengths_s = _piece_lengths(sequences, step_s, floor, K)
    return [
        _place(sequence, piece_s, float(duration), rng)
        for sequence, piece_s, duration in zip(sequences, lengths_s, durations, strict=True)
    ]


def _foregrounds(
    sequences: list[list[Piece]], durations: NDArray[np.float64], floor: float, mean: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw the foreground share of each video: Beta, shifted to the exact mean, and at least what its pieces need."""
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
    sequences: list[list[Piece]],
    total: int,
    step_s: NDArray[np.float64],
    durations: NDArray[np.float64],
    floor: float,
    K: int,
    rng: np.random.Generator,
) -> list[list[Piece]]:
    """Cut pieces in two until the task has ``total``; long pieces in roomy videos are cut more often."""
    result = [list(sequence) for sequence in sequences]
    room = np.maximum(step_s / floor / 1.18 - [len(sequence) for sequence in result], 0.0)
    gapless = step_s > 0.98 * durations
    per_step = np.bincount([p.key_step for sequence in result for p in sequence], minlength=K + 1)
    most_per_step = max(int(per_step.max()), int(np.ceil(1.5 * total / K)))
    for _ in range(total - sum(len(sequence) for sequence in result)):
        if room.sum() > 0:
            video = int(rng.choice(len(room), p=room / room.sum()))
        else:
            video = int(np.argmax(step_s / [len(sequence) for sequence in result]))
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


def _position(sequence: list[Piece], index: int, gapless: bool, rng: np.random.Generator) -> int:
    """Return the place of the second part of a cut piece: after the first part, or after a later, different step."""
    step = sequence[index].key_step
    behind = [
        place
        for place in range(index + 2, len(sequence) + 1)
        if sequence[place - 1].key_step != step and (place == len(sequence) or sequence[place].key_step != step)
    ]
    if behind and (gapless or rng.random() >= RESUME):
        return int(rng.choice(behind))
    return index + 1


def _piece_lengths(
    sequences: list[list[Piece]], step_s: NDArray[np.float64], floor: float, K: int
) -> list[NDArray[np.float64]]:
    """Return the seconds of each video's pieces: a minimum, and the rest by weight; long steps are shortened."""
    ceiling = max(MAX_SHARE, 1.1 / K) * 0.99
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
        seconds_of_step = np.bincount(np.concatenate(steps), weights=np.concatenate(seconds), minlength=K + 1)
        share = seconds_of_step / seconds_of_step.sum()
        if share.max() <= ceiling:
            break
        scale[share > ceiling] *= 0.9
    return lengths()


def _place(sequence: list[Piece], piece_s: NDArray[np.float64], duration: float, rng: np.random.Generator) -> Timeline:
    """Lay the pieces out in the clip: lead-in, tail, and uneven gaps, some of them empty."""
    background = max(0.0, duration - float(piece_s.sum()))
    lead = min(rng.exponential(LEAD_MEAN), LEAD_CAP) * duration
    tail = min(rng.exponential(TAIL_MEAN), TAIL_CAP) * duration
    n_gaps = len(sequence) - 1
    ends = lead + tail
    allowed = ENDS_CAP * background if n_gaps else background
    if ends > allowed or not n_gaps:
        lead, tail = lead * allowed / ends, tail * allowed / ends
    free = background - lead - tail
    gaps = rng.lognormal(0.0, GAP_SIGMA, n_gaps)
    steps = np.array([piece.key_step for piece in sequence])
    repeated = steps[1:] == steps[:-1]
    touching = (rng.random(n_gaps) < TOUCHING) & ~repeated
    if n_gaps and not touching.all():
        gaps[touching] = 0.0
        shortest = np.where(touching, 0.0, min(0.2, 0.3 * free / n_gaps))
        gaps = shortest + (free - shortest.sum()) * gaps / gaps.sum()
    elif n_gaps:
        gaps = gaps * free / gaps.sum()
    edges = np.empty(2 * len(sequence))
    edges[0::2] = lead + np.concatenate([[0.0], np.cumsum(piece_s[:-1] + gaps)])
    edges[1::2] = edges[0::2] + piece_s
    # Rounded to milliseconds, so that annotation files have the same times in a few digits.
    edges = np.minimum(np.round(edges, 3), floor_ms(duration))
    spans = zip(edges[0::2].tolist(), edges[1::2].tolist(), sequence, strict=True)
    return Timeline(duration, tuple(TimelineSegment(start, end, piece.key_step) for start, end, piece in spans))


TIMELINES, LOOK, FIRST_VIDEO = 0, 1, 2
"""Streams of random numbers of a task; the n-th video, counted from 0, has stream ``FIRST_VIDEO + n``."""


@dataclass(frozen=True)
class VideoPlan:
    """Everything that one video is made from; ``video`` and ``annotation`` are paths below the root, with ``/``.

    ``names`` are those of the key steps, and the seeds those of the task's look and of this video's pictures.
    """

    task: str
    video: str
    annotation: str
    timeline: Timeline
    names: tuple[str, ...]
    look_seed: int
    seed: int

    @property
    def K(self) -> int:
        """Number of key steps of the task."""
        return len(self.names)


def video_names(settings: SynthSettings) -> dict[str, list[str]]:
    """Return the names of the videos of every task."""
    digits = max(2, len(str(settings.n_videos)))
    return {
        task: [f"{task}_{number:0{digits}d}" for number in range(1, settings.n_videos + 1)] for task in settings.tasks
    }


def clip_path(task: str, name: str) -> str:
    """Return the path of a video below the root: a folder per task."""
    return f"{task}/{name}.mp4"


DrawTimelines = Callable[[int, SynthSettings, np.random.Generator], list[Timeline]]
"""A function of K, settings and random numbers that returns the timelines of a task with K key steps."""


def plan(settings: SynthSettings, draw: DrawTimelines = parametric) -> list[VideoPlan]:
    """Return the plan of a dataset, a function of its settings alone; ``draw`` makes the timelines of a task."""
    videos = []
    for task, names in video_names(settings).items():
        look_seed = seed_of(settings.seed, task, LOOK)
        steps = tuple(step_names(task_look(settings.K, look_seed)))
        timelines = draw(settings.K, settings, np.random.default_rng(seed_of(settings.seed, task, TIMELINES)))
        for take, (name, timeline) in enumerate(zip(names, timelines, strict=True)):
            seed = seed_of(settings.seed, task, FIRST_VIDEO + take)
            paths = clip_path(task, name), f"{task}/{name}.csv"
            videos.append(VideoPlan(task, *paths, timeline, steps, look_seed, seed))
    return videos


def seed_of(seed: int, task: str, stream: int) -> int:
    """Mix seed, task name and stream, so that a task is the same whatever is written next to it."""
    return int(np.random.SeedSequence([seed, zlib.crc32(task.encode()), stream]).generate_state(1)[0])
