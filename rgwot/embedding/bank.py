"""The features of a task's videos: on the GPU when they fit there, else in memory, else read from their stores."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rgwot.embedding.arrays import TYPE_ROUNDING
from rgwot.embedding.interface import VideoFeatures

log = logging.getLogger(__name__)

# Frames per video that the input statistics are estimated from, evenly spaced.
STATISTICS_FRAMES = 512
BANK_BLOCK = 256
GIGABYTE = 1e9


Tier = Literal["gpu", "memory", "disk"]
"""Where features are held."""


def choose_tier(size: int, memory_gb: float, gpu_gb: float) -> Tier:
    """Return the fastest place that a set of ``size`` bytes fits into; ``gpu_gb`` is 0 without a GPU."""
    if size <= gpu_gb * GIGABYTE:
        return "gpu"
    return "memory" if size <= memory_gb * GIGABYTE else "disk"


class FeatureBank:
    """Random access to the feature maps of several videos, from open stores with frames and with maps of one shape.

    Maps are wanted on ``device``. Up to ``memory_gb`` gigabytes (1e9 bytes) are held in memory, or ``gpu_memory_gb`` on
    the GPU (None: half of what is free); a larger set is read from the stores at every step.
    """

    def __init__(
        self,
        stores: Sequence[VideoFeatures],
        memory_gb: float,
        device: torch.device = torch.device("cpu"),  # noqa: B008
        gpu_memory_gb: float | None = None,
    ) -> None:
        self.stores = list(stores)
        self.device = device
        self.lengths = np.array([len(store) for store in stores], dtype=np.int64)
        self._starts = np.concatenate([[0], np.cumsum(self.lengths)[:-1]]).astype(np.int64)
        self._maps: Tensor | None = None
        self._wide = any(store.dtype == "float32" for store in stores)
        size = int(self.lengths.sum()) * int(np.prod(stores[0].shape[1:])) * (4 if self._wide else 2)
        gpu_gb = 0.0
        if device.type == "cuda":
            free = torch.cuda.mem_get_info(device)[0] / GIGABYTE
            gpu_gb = free / 2 if gpu_memory_gb is None else gpu_memory_gb
        self.tier = choose_tier(size, memory_gb, gpu_gb)
        if self.tier != "disk":
            self._maps = self._loaded()
        else:
            log.info(
                "features take %.1f GB, above train.memory_gb = %g: read at every step", size / GIGABYTE, memory_gb
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
        """Return all maps, (T, h, w, C), in their place."""
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
