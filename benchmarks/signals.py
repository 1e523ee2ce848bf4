"""Signal tasks that resemble recordings of people at work: no background, drift, and steps that take 1 % of the time.

`signal_ordered` resembles wearable sensors on somebody who packs boxes, `signal_repeating` and `signal_rare` the
kinematics of a surgical robot; `signal_background` is `signal_repeating` with three tenths of background, to judge
methods that claim to find background. Parameters were set once, from the statistics of the recordings
(benchmarks/task_statistics.py) and not from results of methods. A task is a pure function of its name and a seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d
from scipy.signal import lfilter

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
Record = Callable[[Labels], Array]
"""How labels (T,) become features (T, D) of one recording."""


class Task(NamedTuple):
    """Features (T, D) and labels (T,) of every recording (0 is background), samples per second, and number of steps."""

    features: list[NDArray[np.float32]]
    labels: list[Labels]
    fps: float
    K: int


@dataclass(frozen=True)
class Recipe:
    """Parameters of a task: how people do it, and how it is recorded.

    Attributes
    ----------
    recordings, fps
        Number of recordings, and samples per second.
    durations
        Typical duration of every step, in seconds.
    spread
        Standard deviation of the logarithm of a step's duration.
    often
        Probability that a step is done, and not skipped, when its turn comes; None: all steps come once and in order.
    segments
        Mean number of segments in a recording, if steps come again.
    jump
        Probability that any other step comes instead of the next; if steps come once, that a step and the next are
        swapped.
    missing
        Probability that a step is left out, if steps come once.
    background
        Share of the time that does not belong to a step.
    gain, offset
        Variation of a channel between recordings: standard deviation of the logarithm of its gain, and typical standard
        deviation of its mean, in standard deviations of the channel.
    decades
        Orders of magnitude over which the scales of channels are spread.
    """

    recordings: int
    fps: float
    durations: tuple[float, ...]
    spread: float
    often: tuple[float, ...] | None = None
    segments: int = 0
    jump: float = 0.0
    missing: float = 0.0
    background: float = 0.0
    gain: float = 0.15
    offset: float = 0.3
    decades: float = 2.0


_REPEATING = Recipe(
    36, 5.0, (1.5, 5.5, 3.0, 4.5, 6.5, 2.5), 0.52, often=(0.05, 1.0, 1.0, 1.0, 0.9, 0.02), segments=11, jump=0.05
)
RECIPES: Mapping[str, Recipe] = {
    "signal_ordered": Recipe(
        20, 4.0, (6.5, 11.5, 1.0, 8.0, 10.0, 3.0, 6.0, 9.5, 5.5, 10.0), 0.37,
        jump=0.01, missing=0.07, gain=0.05, offset=0.04, decades=2.9,
    ),
    "signal_repeating": _REPEATING,
    "signal_rare": Recipe(
        28, 5.0, (2.5, 3.0, 9.0, 4.5, 2.5, 4.5, 4.0, 2.0, 4.5, 3.5), 0.53,
        often=(0.1, 1.0, 1.0, 0.15, 0.15, 0.9, 0.6, 0.12, 0.08, 0.02), segments=19, jump=0.05,
    ),
    "signal_background": replace(_REPEATING, background=0.3),
}  # fmt: skip


def make_task(name: str, seed: int, background: float | None = None) -> Task:
    """Make a signal task.

    Parameters
    ----------
    name
        One of `RECIPES`.
    seed
        Seed of all random draws; another seed gives other steps, other people and other channels.
    background
        Share of the time that does not belong to a step, in [0, 1), instead of the recipe's.

    Raises
    ------
    KeyError
        If there is no such task.
    """
    recipe = RECIPES[name]
    if background is not None:
        recipe = replace(recipe, background=background)
    rng = np.random.default_rng([seed, *name.encode()])
    labels = [_timeline(recipe, rng) for _ in range(recipe.recordings)]
    record = (_sensors if recipe.often is None else _kinematics)(recipe, rng)
    features = [record(y) for y in labels]
    channels = features[0].shape[1]
    scale = 10 ** rng.uniform(-recipe.decades / 2, recipe.decades / 2, channels)
    # Some channels, such as the place of a person, differ much between recordings; others hardly differ.
    offset = recipe.offset * _several(channels, 5, rng)
    found = []
    for x in features:
        gain = np.exp(recipe.gain * rng.normal(size=channels))
        found.append((scale * (gain * x + offset * x.std(axis=0) * rng.normal(size=channels))).astype(np.float32))
    return Task(found, labels, recipe.fps, len(recipe.durations))


def _timeline(recipe: Recipe, rng: np.random.Generator) -> Labels:
    """Draw the labels of one recording."""
    pieces = []
    steps = _once(recipe, rng) if recipe.often is None else _again(recipe, rng)
    typical = float(np.mean([recipe.durations[step] for step in steps]))
    for step in steps:
        pieces.append((step + 1, recipe.durations[step] * rng.lognormal(0, recipe.spread)))
        if rng.random() < 0.5 and recipe.background:
            # Half of the gaps have background, whose length varies more than that of steps; the random factor has
            # mean 1.
            length = 2 * typical * recipe.background / (1 - recipe.background) * np.exp(recipe.spread**2 / 2)
            pieces.append((0, length * rng.lognormal(-0.5, 1)))
    counts = [max(2, round(duration * recipe.fps)) for _, duration in pieces]
    return np.repeat([label for label, _ in pieces], counts).astype(np.int64)


def _once(recipe: Recipe, rng: np.random.Generator) -> list[int]:
    """Draw an order in which almost every step comes once."""
    steps = list(range(len(recipe.durations)))
    for place in range(len(steps) - 1):
        if rng.random() < recipe.jump:
            steps[place], steps[place + 1] = steps[place + 1], steps[place]
    return [step for step in steps if rng.random() >= recipe.missing] or steps


def _again(recipe: Recipe, rng: np.random.Generator) -> list[int]:
    """Draw a walk through the steps, from the first to the last; these two are rare in between."""
    K, often = len(recipe.durations), np.array(recipe.often)
    steps = [0]
    for _ in range(max(K // 2, rng.binomial(2 * (recipe.segments - 2), 0.5))):
        following = (steps[-1] + 1) % K
        while rng.random() >= often[following]:
            following = (following + 1) % K
        if rng.random() < recipe.jump:
            following = int(rng.choice(K, p=often / often.sum()))
        if following != steps[-1]:
            steps.append(following)
    return [*steps, K - 1] if steps[-1] != K - 1 else steps


def _several(count: int, fold: float, rng: np.random.Generator) -> Array:
    """Return factors (count,) from 1 / fold to fold, evenly spread, in any order."""
    return np.asarray(rng.permutation(np.geomspace(1 / fold, fold, count)))


def _segments(labels: Labels) -> Labels:
    """Number the segments of a recording from 0, (T,)."""
    return np.cumsum(np.r_[False, np.diff(labels) != 0]).astype(np.int64)


def _levels(steps: Array, labels: Labels, rng: np.random.Generator, varies: float) -> Array:
    """Return values (T, R): those of ``steps`` (K, R), a little different in every segment; random for background."""
    segment = _segments(labels)
    first = np.flatnonzero(np.r_[True, np.diff(labels) != 0])
    own = rng.normal(size=(len(first), steps.shape[1]))
    typical = np.concatenate([np.zeros((1, steps.shape[1])), steps])[labels[first]]
    any_value = own * steps.std(axis=0)
    values = np.where(labels[first, None] > 0, typical + varies * own, any_value)
    return np.asarray(values[segment])


def _drift(T: int, size: Array, rng: np.random.Generator) -> Array:
    """Return slow drift (T, R): a trend and a smooth random walk, of about equal shares."""
    time = np.linspace(-1.7, 1.7, T)[:, None]
    walk = uniform_filter1d(np.cumsum(rng.normal(size=(T, len(size))), axis=0), max(1, T // 5), axis=0, mode="nearest")
    walk = (walk - walk.mean(axis=0)) / walk.std(axis=0)
    return np.asarray(size * (time * rng.normal(size=len(size)) + walk) / np.sqrt(2))


def _low_pass(x: Array, samples: float) -> Array:
    """Smooth x (T, R) with a lag, by two filters of first order with a time constant in samples."""
    keep = np.exp(-1 / samples)
    for _ in range(2):
        x = np.asarray(lfilter([1 - keep], [1, -keep], x, axis=0, zi=keep * x[:1])[0])
    return x


def _sensors(recipe: Recipe, rng: np.random.Generator) -> Record:
    """Return a function that records means and deviations of 24 worn sensors: posture and movements."""
    K, R = len(recipe.durations), 24
    posture = rng.normal(size=(K, R)) * 0.4 * _several(R, 3, rng)
    strength = rng.normal(0, 0.15, (K, R)) + np.log(_several(K, 1.4, rng))[:, None]
    frequency = 0.6 * _several(K, 2.5, rng)
    drift, mixing = 0.2 * _several(R, 3, rng), np.eye(R) + rng.normal(0, 0.5 / np.sqrt(R), (R, R))

    def record(labels: Labels) -> Array:
        T = len(labels)
        varying = 0.5 * rng.normal(size=(T, R)) + 0.3 * rng.normal(size=(T, 1))
        power = np.exp(_levels(strength, labels, rng, 0.2) + lfilter([1], [1, -0.3], varying, axis=0))
        pace = np.r_[frequency, 0.0][np.where(labels > 0, labels - 1, K)] * rng.lognormal(0, 0.1)
        phase = 2 * np.pi * np.cumsum(pace / recipe.fps)[:, None] + rng.uniform(0, 2 * np.pi, R)
        noise = lfilter([1], [1, -0.5], rng.normal(size=(T, R)), axis=0)
        means = _levels(posture, labels, rng, 0.2) + 0.7 * power * (np.sin(phase) + noise) + _drift(T, drift, rng)
        return np.concatenate([means @ mixing, power @ np.abs(mixing)], axis=1)

    return record


def _kinematics(recipe: Recipe, rng: np.random.Generator) -> Record:
    """Return a function that records 26 coordinates, which move from target to target, and 12 velocities."""
    K, R, moving = len(recipe.durations), 26, 12
    target = rng.normal(size=(K, R)) * 0.35 * _several(R, 5, rng)
    pace = _several(K, 1.6, rng)
    reach, rate = rng.normal(0, 0.6, (K, R)) + np.log(pace)[:, None], 0.6 * pace
    drift, mixing = 0.25 * _several(R, 5, rng), np.eye(R) + rng.normal(0, 0.7 / np.sqrt(R), (R, R))

    def record(labels: Labels) -> Array:
        T = len(labels)
        # Within a step, about every second, the target moves to another place near the place of the step.
        often = np.r_[rate, rate.mean()][np.where(labels > 0, labels - 1, K)] / recipe.fps
        started = np.flatnonzero((rng.random(T) < often) | np.r_[True, np.diff(labels) != 0])
        place = np.searchsorted(started, np.arange(T), side="right") - 1
        nearby = rng.normal(size=(len(started), R))[place] * np.exp(_levels(reach, labels, rng, 0.15))
        goal = _levels(target, labels, rng, 0.3) + 0.8 * nearby
        moved = _low_pass(goal, 0.3 * recipe.fps) + _drift(T, drift, rng)
        moved = moved @ mixing + 0.02 * rng.normal(size=(T, R))
        speed = np.gradient(moved[:, :moving], axis=0) * recipe.fps
        return np.concatenate([moved, speed + 0.8 * rng.normal(size=speed.shape)], axis=1)

    return record
