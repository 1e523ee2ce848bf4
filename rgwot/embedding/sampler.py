"""The sampling for an iteration: a pair of videos, sorted random frames of each, and the context of every frame.

Every draw depends on the seed and the iteration, but not on earlier draws: a resumed run needs no saved random state,
and another ``train.accumulation`` does not change the pairs. A bank has the features of the videos: on the GPU if they
fit there, otherwise in memory or, if they are too large, in their stores.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from enum import IntEnum
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rgwot.embedding.arrays import TYPE_ROUNDING
from rgwot.embedding.interface import VideoFeatures

ContextSide = Literal["after", "before", "both"]


class Stream(IntEnum):
    """Independent random streams of one seed."""

    WEIGHTS = 0
    VIDEOS = 1
    PAIRS = 2
    DROPOUT = 3
    ALIGNMENT = 4
    LOSS = 5


def generator(seed: int, stream: Stream, iteration: int = 0) -> np.random.Generator:
    """Return the generator of one iteration of one stream."""
    return np.random.default_rng([seed, int(stream), iteration])


def draw_frames(length: int, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw ``n`` distinct frames of a video, uniformly from [0, length), sorted (methods 3.2).

    If the video has fewer than ``n`` frames (at least one), all are taken, and the rest is sampled with repetition.
    """
    if length >= n:
        return np.sort(rng.choice(length, size=n, replace=False)).astype(np.int64)
    repeated = rng.integers(0, length, size=n - length)
    return np.sort(np.concatenate([np.arange(length), repeated])).astype(np.int64)


def draw_pair(lengths: NDArray[np.int64], n: int, rng: np.random.Generator) -> list[tuple[int, NDArray[np.int64]]]:
    """Draw an ordered pair of different videos uniformly, and the sorted indices of ``n`` frames of each (methods 3.2).

    ``lengths`` holds the number of frames of each of at least two videos.
    """
    videos = rng.choice(len(lengths), size=2, replace=False)
    return [(int(video), draw_frames(int(lengths[video]), n, rng)) for video in videos]


def draw_videos(available: int, n_train: int, seed: int) -> NDArray[np.int64]:
    """Choose ``n_train`` of the ``available`` videos for training; return them sorted.

    With the same seed, the choice of n videos is contained in the choice of n + 1.
    """
    return np.sort(generator(seed, Stream.VIDEOS).permutation(available)[:n_train])


def context_offsets(c: int, context_s: float, fps: float, side: ContextSide) -> NDArray[np.int64]:
    """Return the offsets, in frames and in order of time, of a stack of ``c`` frames, including the sampled frame.

    Neighbours are ``context_s`` seconds apart: the k-th context frame is round(k context_s fps) frames of the features
    away, and at least k, so that context frames differ. ``after``: the sampled frame is the first; ``before``: the
    last; ``both``: in the middle, with one more frame after than before when ``c`` is even.
    """
    steps = [max(k, math.floor(k * context_s * fps + 0.5)) for k in range(c)]
    before = {"after": 0, "before": c - 1, "both": (c - 1) // 2}[side]
    after = c - 1 - before
    return np.array([-step for step in steps[before:0:-1]] + steps[: after + 1], dtype=np.int64)


def with_context(frames: NDArray[np.int64], offsets: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """Return the (n, c) stacks of sampled frames, clamped to the ends of the video (methods 3.2)."""
    stacks: NDArray[np.int64] = np.clip(frames[:, None] + offsets[None, :], 0, length - 1)
    return stacks


log = logging.getLogger(__name__)

# Number of evenly spaced frames per video from which the input statistics are estimated.
STATISTICS_FRAMES = 512
BANK_BLOCK = 256
GIGABYTE = 1e9


Tier = Literal["gpu", "memory", "disk"]
"""The place of the features."""


def choose_tier(size: int, memory_gb: float, gpu_gb: float) -> Tier:
    """Return the fastest storage with room for ``size`` bytes; ``gpu_gb`` is 0 without a GPU."""
    if size <= gpu_gb * GIGABYTE:
        return "gpu"
    return "memory" if size <= memory_gb * GIGABYTE else "disk"


class FeatureBank:
    """Random access to the feature maps of several videos, from open stores with frames and with maps of one shape.

    Maps are returned on ``device``. They are held on a GPU if they fit into half of its free memory, else in up to
    ``memory_gb`` gigabytes (1e9 bytes) of memory; a larger set is read from the stores at every step.
    """

    def __init__(
        self,
        stores: Sequence[VideoFeatures],
        memory_gb: float,
        device: torch.device = torch.device("cpu"),  # noqa: B008
    ) -> None:
        self.stores = list(stores)
        self.device = device
        self.lengths = np.array([len(store) for store in stores], dtype=np.int64)
        self._starts = np.concatenate([[0], np.cumsum(self.lengths)[:-1]]).astype(np.int64)
        self._maps: Tensor | None = None
        self._wide = any(store.dtype == "float32" for store in stores)
        size = int(self.lengths.sum()) * int(np.prod(stores[0].shape[1:])) * (4 if self._wide else 2)
        gpu_gb = torch.cuda.mem_get_info(device)[0] / GIGABYTE / 2 if device.type == "cuda" else 0.0
        self.tier = choose_tier(size, memory_gb, gpu_gb)
        if self.tier != "disk":
            self._maps = self._loaded()
        else:
            log.info(
                "features take %.1f GB, more than train.memory_gb = %g, so they are read from disk at every iteration",
                size / GIGABYTE,
                memory_gb,
            )

    def clips(self, videos: Sequence[int], stacks: Sequence[NDArray[np.int64]]) -> Tensor:
        """Gather stacks of maps, given by an (n, c) array of frame indices for each of some videos.

        Returns
        -------
        Tensor
            (sum of n, c, C, h, w) float16, or float32 if a store has it, on ``device``; its memory is ordered
            (n, c, h, w, C).
        """
        if self._maps is None:
            read = [self.stores[video].frames(stack.ravel()) for video, stack in zip(videos, stacks, strict=True)]
            maps = torch.from_numpy(np.concatenate(read)).to(self.device).movedim(1, -1).contiguous()
        else:
            rows = np.concatenate([
                stack.ravel() + self._starts[video] for video, stack in zip(videos, stacks, strict=True)
            ])  # fmt: skip
            maps = self._maps.index_select(0, torch.from_numpy(rows).to(self._maps.device)).to(self.device)
        return maps.view(-1, stacks[0].shape[1], *maps.shape[1:]).movedim(-1, 2)

    def _loaded(self) -> Tensor:
        """Return all maps, (T, h, w, C), on their device."""
        _, channels, height, width = self.stores[0].shape
        maps = torch.empty(
            (int(self.lengths.sum()), height, width, channels),
            dtype=torch.float32 if self._wide else torch.float16,
            device=self.device if self.tier == "gpu" else "cpu",
        )
        for store, start in zip(self.stores, self._starts, strict=True):
            for block in range(0, len(store), BANK_BLOCK):
                frames = torch.from_numpy(store.frames(np.arange(block, min(block + BANK_BLOCK, len(store)))))
                place = int(start) + block
                maps[place : place + len(frames)] = frames.to(maps.device).movedim(1, -1)
        return maps

    def statistics(self) -> tuple[Tensor, Tensor]:
        """Estimate mean and standard deviation of every channel, (C,) float32 each.

        Taken over positions and frames, at most 512 evenly spaced frames per video, every video with equal
        weight. A channel that never varies gets the deviation 1.
        """
        means, squares = [], []
        for video, store in enumerate(self.stores):
            frames = np.unique(np.linspace(0, len(store) - 1, min(len(store), STATISTICS_FRAMES)).astype(np.int64))
            total = torch.zeros(2, store.shape[1], dtype=torch.float64)
            for block in np.array_split(frames, -(-len(frames) // BANK_BLOCK)):
                maps = self.clips([video], [block[:, None]]).movedim(2, -1).reshape(-1, store.shape[1])
                exact = maps.to("cpu", torch.float64)
                total += torch.stack([exact.sum(0), exact.square().sum(0)])
            count = len(frames) * store.shape[2] * store.shape[3]
            means.append(total[0] / count)
            squares.append(total[1] / count)
        mean = torch.stack(means).mean(0)
        std = (torch.stack(squares).mean(0) - mean.square()).clamp_min(0).sqrt()
        still = TYPE_ROUNDING["float32"] * mean.abs() if self._wide else 1e-4 * mean.abs() + 1e-12
        std = torch.where(std > still, std, torch.ones_like(std))
        return mean.float(), std.float()
