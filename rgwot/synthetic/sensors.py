"""`rgwot.example`: synthetic recordings of sensors with annotations and known deviations, for a first trial."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.signal import lfilter

#: Key steps in their usual order, with their median durations in seconds.
STEPS = {"fill": 7.0, "boil": 12.0, "pour": 5.0, "stir": 8.0, "taste": 4.0, "clean": 9.0}
#: Deviations of recordings: two key steps swapped, a key step left out, and a key step done again.
SWAPPED = {"r04": ("stir", "taste"), "r09": ("fill", "boil")}
LEFT_OUT = {"r06": "pour", "r11": "taste"}
AGAIN = {"r02": "pour"}

CHANNELS = ("acc_x", "acc_y", "acc_z", "gyro_x", "gyro_y", "gyro_z", "grip", "heat")
RECORDINGS = 12
FPS = 10
#: Standard deviations of log durations, of habits of people and of noise; correlation of noise in successive samples.
DURATION_SIGMA, PERSON_SIGMA, NOISE_SIGMA, NOISE_MEMORY = 0.25, 0.25, 0.5, 0.8
IDLE_S = (0.5, 2.5)


@dataclass(frozen=True)
class Example:
    """Synthetic recordings of six key steps.

    Attributes
    ----------
    videos : dict of pandas.DataFrame
        The recordings by name, each a table (T, 8) of float32 with a column per channel.
    fps : int
        Samples per second.
    labels : dict of pandas.DataFrame
        The segments of all recordings: ``start_s, end_s, label``; the time between them is background.
    deviations : pandas.DataFrame
        ``video, kind, label``: the recordings that deviate, and how. The kinds are ``swapped`` (``label`` is
        the two key steps, joined by a plus sign), ``left out`` and ``again``.
    """

    videos: dict[str, pd.DataFrame]
    fps: int
    labels: dict[str, pd.DataFrame]
    deviations: pd.DataFrame


def example(seed: int = 0) -> Example:
    """Return synthetic recordings of a task: sensors of 12 people, of whom five deviate from the usual order.

    Nothing is read or downloaded. Every key step is a mean of the channels and an oscillation, both different for each
    person, with noise that lasts for about half a second.

    Parameters
    ----------
    seed
        Seed of all random draws, at least 0.

    Examples
    --------
    >>> data = example()
    >>> len(data.videos), data.videos["r00"].shape[1], list(data.labels["r00"]["label"])
    (12, 8, ['fill', 'boil', 'pour', 'stir', 'taste', 'clean'])
    >>> print(data.deviations.to_string(index=False))
    video     kind      label
      r02    again       pour
      r04  swapped stir+taste
      r06 left out       pour
      r09  swapped  fill+boil
      r11 left out      taste
    """
    rng = np.random.default_rng(seed)
    looks = {step: _Look(rng) for step in ("", *STEPS)}
    videos, labels = {}, {}
    for name in (f"r{number:02}" for number in range(RECORDINGS)):
        segments, end_s = _segments(name, rng)
        steps = _steps_of(segments, round(end_s * FPS))
        videos[name] = pd.DataFrame(_signals(steps, looks, rng).astype(np.float32), columns=list(CHANNELS))
        labels[name] = pd.DataFrame(segments, columns=["start_s", "end_s", "label"])
    rows = [
        *((video, "again", step) for video, step in AGAIN.items()),
        *((video, "swapped", "+".join(steps)) for video, steps in SWAPPED.items()),
        *((video, "left out", step) for video, step in LEFT_OUT.items()),
    ]
    return Example(videos, FPS, labels, pd.DataFrame(sorted(rows), columns=["video", "kind", "label"]))


class _Look:
    """The mean of the channels during a key step, and its oscillation: amplitudes and a frequency in Hz."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.mean = rng.normal(size=len(CHANNELS))
        self.amplitude = rng.exponential(0.5, len(CHANNELS))
        self.frequency = rng.uniform(0.5, 3)


def _segments(name: str, rng: np.random.Generator) -> tuple[list[tuple[float, float, str]], float]:
    """Draw the segments of a recording, in seconds, and its length."""
    order = [step for step in STEPS if step != LEFT_OUT.get(name)]
    if name in SWAPPED:
        first, second = (order.index(step) for step in SWAPPED[name])
        order[first], order[second] = order[second], order[first]
    if name in AGAIN:
        order.append(AGAIN[name])
    segments, now_s = [], 0.0
    for step in order:
        start_s = now_s + rng.uniform(*IDLE_S)
        now_s = start_s + STEPS[step] * rng.lognormal(0, DURATION_SIGMA)
        segments.append((round(start_s, 1), round(now_s, 1), step))
        now_s = segments[-1][1]
    return segments, now_s + rng.uniform(*IDLE_S)


def _steps_of(segments: list[tuple[float, float, str]], T: int) -> list[str]:
    """Return the key step of each of T samples, empty between segments."""
    steps = [""] * T
    for start_s, end_s, step in segments:
        start, end = round(start_s * FPS), round(end_s * FPS)
        steps[start:end] = [step] * (end - start)
    return steps


def _signals(steps: list[str], looks: dict[str, _Look], rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw the channels (T, 8) of a person who does these steps."""
    habit = {step: rng.normal(0, PERSON_SIGMA, (2, len(CHANNELS))) for step in looks}
    time_s = np.arange(len(steps)) / FPS
    clean = np.stack(
        [
            looks[step].mean + habit[step][0]
            + looks[step].amplitude * np.exp(habit[step][1]) * np.sin(2 * np.pi * looks[step].frequency * t)
            for step, t in zip(steps, time_s, strict=True)
        ]
    )  # fmt: skip
    noise = rng.normal(0, NOISE_SIGMA * np.sqrt(1 - NOISE_MEMORY**2), clean.shape)
    return np.asarray(clean + lfilter([1], [1, -NOISE_MEMORY], noise, axis=0))
