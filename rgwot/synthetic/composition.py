"""Composing timelines: cut steps into pieces, share out foreground and background, lay everything out.

The levels are met with quotas for the whole task instead of independent draws per video, so they hold exactly
up to rounding. The shapes of the distributions were measured on EgoProceL's annotations (Bansal et al., ECCV
2022).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rgwot.config.synthetic import SynthSettings
from rgwot.synthetic.ground_truth import Timeline, TimelineSegment, floor_ms, whole_frames

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
    """Cut, share out foreground and background, and place, with quotas instead of independent draws."""
    durations = np.array([whole_frames(float(length)) for length in lengths])
    distinct = sum(len({piece.key_step for piece in sequence}) for sequence in sequences)
    pieces = sum(len(sequence) for sequence in sequences)
    total = max(pieces, round(distinct / (1.0 - settings.repeated)))
    clips_s = float(durations.sum())
    # In clips of a few seconds visible pieces matter more than the levels: fewer cuts, then more foreground.
    total = max(pieces, min(total, int(0.8 * settings.foreground * clips_s / SHORTEST_S)))
    foreground = max(settings.foreground, min(0.8, pieces * SHORTEST_S / 0.8 / clips_s))
    floor = min(settings.min_piece_s, 0.8 * foreground * clips_s / total)
    step_s = _foregrounds(sequences, durations, floor, foreground, rng) * durations
    sequences = _cut(sequences, total, step_s, durations, floor, K, rng)
    lengths_s = _piece_lengths(sequences, step_s, floor, K, settings.max_share)
    return [
        _place(sequence, piece_s, float(duration), rng)
        for sequence, piece_s, duration in zip(sequences, lengths_s, durations, strict=True)
    ]


def _foregrounds(
    sequences: list[list[Piece]], durations: NDArray[np.float64], floor: float, mean: float, rng: np.random.Generator
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
    """Where the second half of a piece goes: behind it after a pause, or behind another, later step."""
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
    sequences: list[list[Piece]], step_s: NDArray[np.float64], floor: float, K: int, max_share: float
) -> list[NDArray[np.float64]]:
    """Per video the seconds of its pieces: a floor and the rest by weight; the longest steps give way."""
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
    edges = np.minimum(np.round(edges, 3), floor_ms(duration))
    spans = zip(edges[0::2].tolist(), edges[1::2].tolist(), sequence, strict=True)
    return Timeline(duration, tuple(TimelineSegment(start, end, piece.key_step) for start, end, piece in spans))
