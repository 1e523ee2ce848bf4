"""The features of a task's videos, in memory when they fit, else read from their stores step by step."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rgwot.features.store import FeatureStore

logger = logging.getLogger(__name__)

# Frames per video that the input statistics are estimated from, evenly spaced.
STATISTICS_FRAMES = 512
BLOCK = 256
GIGABYTE = 1e9


class FeatureBank:
    """Random access to the feature maps of several videos.

    Parameters
    ----------
    stores
        Open stores, all with frames and with maps of one shape.
    memory_gb
        Up to how many gigabytes (1e9 bytes) are held in memory; a larger set is read from the stores at every
        step.
    device
        Where the maps are wanted. A set in memory moves there when it takes at most half of what is free.
    """

    def __init__(
        self,
        stores: Sequence[FeatureStore],
        memory_gb: float,
        device: torch.device = torch.device("cpu"),  # noqa: B008
    ) -> None:
        self.stores = list(stores)
        self.device = device
        self.lengths = np.array([len(store) for store in stores], dtype=np.int64)
        self._starts = np.concatenate([[0], np.cumsum(self.lengths)[:-1]]).astype(np.int64)
        self._maps: Tensor | None = None
        _, channels, height, width = stores[0].shape
        size = int(self.lengths.sum()) * channels * height * width * 2
        if size <= memory_gb * GIGABYTE:
            self._maps = torch.empty((int(self.lengths.sum()), height, width, channels), dtype=torch.float16)
            for store, start in zip(self.stores, self._starts, strict=True):
                for block in range(0, len(store), BLOCK):
                    maps = store.frames(np.arange(block, min(block + BLOCK, len(store))))
                    place = int(start) + block
                    self._maps[place : place + len(maps)] = torch.from_numpy(maps).movedim(1, -1)
            if device.type == "cuda" and size <= torch.cuda.mem_get_info(device)[0] / 2:
                self._maps = self._maps.to(device)
        else:
            logger.info(
                "features take %.1f GB, above train.memory_gb = %g: read at every step",
                size / GIGABYTE,
                memory_gb,
            )

    @property
    def in_memory(self) -> bool:
        """Whether all maps are held in memory."""
        return self._maps is not None

    def transform(self, function: Callable[[Tensor], Tensor]) -> None:
        """Apply a function to all maps held in memory, block by block and in place.

        Parameters
        ----------
        function
            Maps (T, h, w, 1024) float16 to the same shape in bfloat16, which takes the same memory.

        Raises
        ------
        ValueError
            When the maps are not in memory, or the function changes their shape or size.
        """
        if self._maps is None:
            raise ValueError("the maps are read from disk; expected them in memory")
        target = self._maps.view(torch.bfloat16)
        for start in range(0, len(target), BLOCK):
            block = function(self._maps[start : start + BLOCK])
            if block.dtype != torch.bfloat16 or block.shape != target[start : start + BLOCK].shape:
                raise ValueError(
                    f"found {tuple(block.shape)} {block.dtype}; expected the shape of the maps in bfloat16"
                )
            target[start : start + BLOCK] = block
        self._maps = target

    def clips(self, videos: Sequence[int], stacks: Sequence[NDArray[np.int64]]) -> Tensor:
        """Gather stacks of maps.

        Parameters
        ----------
        videos
            Which videos.
        stacks
            One (n, c) array of frame indices per video.

        Returns
        -------
        Tensor
            (sum of n, c, 1024, h, w) float16 on ``device``; its memory is ordered (n, c, h, w, 1024).
        """
        if self._maps is not None:
            rows = np.concatenate([stack + self._starts[video] for video, stack in zip(videos, stacks, strict=True)])
            index = torch.from_numpy(rows.reshape(-1)).to(self._maps.device)
            maps = self._maps.index_select(0, index)
        else:
            rows = np.concatenate(stacks)
            read = [self.stores[video].frames(stack.reshape(-1)) for video, stack in zip(videos, stacks, strict=True)]
            maps = torch.from_numpy(np.concatenate(read)).movedim(1, -1).contiguous()
        return maps.to(self.device).view(*rows.shape, *maps.shape[1:]).movedim(-1, 2)

    def statistics(self) -> tuple[Tensor, Tensor]:
        """Estimate mean and standard deviation of every channel, (1024,) float32 each.

        Taken over positions and frames, at most 512 evenly spaced frames per video, every video with equal
        weight. A channel that never varies gets the deviation 1.
        """
        means, squares = [], []
        for video, store in enumerate(self.stores):
            frames = np.unique(np.linspace(0, len(store) - 1, min(len(store), STATISTICS_FRAMES)).astype(np.int64))
            total = torch.zeros(2, store.shape[1], dtype=torch.float64)
            for block in np.array_split(frames, -(-len(frames) // BLOCK)):
                maps = self.clips([video], [block[:, None]]).movedim(2, -1).reshape(-1, store.shape[1])
                exact = maps.to("cpu", torch.float64)
                total += torch.stack([exact.sum(0), exact.square().sum(0)])
            count = len(frames) * store.shape[2] * store.shape[3]
            means.append(total[0] / count)
            squares.append(total[1] / count)
        mean = torch.stack(means).mean(0)
        std = (torch.stack(squares).mean(0) - mean.square()).clamp_min(0).sqrt()
        std = torch.where(std > 1e-4 * mean.abs() + 1e-12, std, torch.ones_like(std))
        return mean.float(), std.float()
