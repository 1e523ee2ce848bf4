"""The features of a task's videos: on the GPU when they fit there, else in memory, else read from their stores."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

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


class Tier(StrEnum):
    """Where features are held."""

    GPU = "gpu"
    MEMORY = "memory"
    DISK = "disk"


def choose_tier(size: int, memory_gb: float, gpu_gb: float) -> Tier:
    """Return the fastest place that a set of ``size`` bytes fits into; ``gpu_gb`` is 0 without a GPU."""
    if size <= gpu_gb * GIGABYTE:
        return Tier.GPU
    return Tier.MEMORY if size <= memory_gb * GIGABYTE else Tier.DISK


@dataclass(frozen=True)
class Fetched:
    """Clips on their way to the device.

    Attributes
    ----------
    clips
        As from `FeatureBank.clips`.
    arrived
        CUDA event after which they are there; None: they are there.
    """

    clips: Tensor
    arrived: Any = None

    def wait(self) -> Tensor:
        """Return the clips, for use by what the calling thread puts on the device from now on."""
        if self.arrived is not None:
            stream = torch.cuda.current_stream(self.clips.device)
            stream.wait_event(self.arrived)
            # They were allocated on the stream of the copies; their memory is not to be given away before their use.
            self.clips.record_stream(stream)
        return self.clips


class FeatureBank:
    """Random access to the feature maps of several videos.

    Parameters
    ----------
    stores
        Open stores, all with frames and with maps of one shape.
    memory_gb
        Up to how many gigabytes (1e9 bytes) are held in memory; a larger set is read from the stores at every
        step. With a GPU this memory is pinned, so that it is copied while the GPU works.
    device
        Where the maps are wanted.
    gpu_memory_gb
        Up to how many gigabytes are held on the GPU; None: half of what is free.

    Attributes
    ----------
    tier
        Where the features are.
    """

    def __init__(
        self,
        stores: Sequence[FeatureStore],
        memory_gb: float,
        device: torch.device = torch.device("cpu"),  # noqa: B008
        gpu_memory_gb: float | None = None,
    ) -> None:
        self.stores = list(stores)
        self.device = device
        self.lengths = np.array([len(store) for store in stores], dtype=np.int64)
        self._starts = np.concatenate([[0], np.cumsum(self.lengths)[:-1]]).astype(np.int64)
        self._maps: Tensor | None = None
        cuda = device.type == "cuda"
        self._copies = torch.cuda.Stream(device) if cuda else None  # type: ignore[no-untyped-call]
        size = int(self.lengths.sum()) * int(np.prod(stores[0].shape[1:])) * 2
        gpu_gb = 0.0
        if cuda:
            free = torch.cuda.mem_get_info(device)[0] / GIGABYTE
            gpu_gb = free / 2 if gpu_memory_gb is None else gpu_memory_gb
        self.tier = choose_tier(size, memory_gb, gpu_gb)
        if self.tier is not Tier.DISK:
            self._maps = self._loaded()
        else:
            logger.info(
                "features take %.1f GB, above train.memory_gb = %g: read ahead at every step",
                size / GIGABYTE,
                memory_gb,
            )

    @property
    def in_memory(self) -> bool:
        """Whether all maps are held in memory, or on the GPU."""
        return self._maps is not None

    @property
    def reads_ahead(self) -> bool:
        """Whether fetching takes so long, or so much of another part of the machine, that a thread should do it."""
        return self.tier is Tier.DISK or (self.tier is Tier.MEMORY and self._copies is not None)

    def transform(self, function: Callable[[Tensor], Tensor]) -> None:
        """Apply a function to all maps held in memory, block by block and in place.

        Parameters
        ----------
        function
            Maps (n, h, w, 1024) float16, on the device, to the same shape in bfloat16, which takes the same memory.

        Raises
        ------
        ValueError
            When the maps are not in memory, or the function changes their shape or size.
        """
        if self._maps is None:
            raise ValueError("the maps are read from disk; expected them in memory")
        target = self._maps.view(torch.bfloat16)
        for start in range(0, len(target), BLOCK):
            block = function(self._maps[start : start + BLOCK].to(self.device)).to(target.device)
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
        return self.fetch(videos, stacks).wait()

    def fetch(self, videos: Sequence[int], stacks: Sequence[NDArray[np.int64]]) -> Fetched:
        """Begin to gather stacks of maps, as `clips` does; may be called by another thread than waits for them."""
        clips = np.concatenate(stacks).shape
        if self._maps is None:
            maps = self._read(videos, [stack.reshape(-1) for stack in stacks])
        else:
            rows = np.concatenate([stack + self._starts[video] for video, stack in zip(videos, stacks, strict=True)])
            if self._copies is None or self.tier is Tier.GPU:
                index = torch.from_numpy(rows.reshape(-1)).to(self._maps.device)
                maps = Fetched(self._maps.index_select(0, index))
            else:
                maps = self._sent(self._maps, rows.reshape(-1), self._copies)
        return Fetched(maps.clips.view(*clips, *maps.clips.shape[1:]).movedim(-1, 2), maps.arrived)

    def _loaded(self) -> Tensor:
        """Return all maps, (T, h, w, 1024), in their place."""
        _, channels, height, width = self.stores[0].shape
        maps = torch.empty(
            (int(self.lengths.sum()), height, width, channels),
            dtype=torch.float16,
            device=self.device if self.tier is Tier.GPU else "cpu",
            pin_memory=self.tier is Tier.MEMORY and self._copies is not None,
        )
        for store, start in zip(self.stores, self._starts, strict=True):
            for block in range(0, len(store), BLOCK):
                frames = torch.from_numpy(store.frames(np.arange(block, min(block + BLOCK, len(store)))))
                place = int(start) + block
                maps[place : place + len(frames)] = frames.to(maps.device).movedim(1, -1)
        return maps

    def _read(self, videos: Sequence[int], frames: Sequence[NDArray[np.int64]]) -> Fetched:
        """Read frames of several videos from their stores: (number of frames, h, w, 1024) on the device."""
        count, shape = sum(map(len, frames)), self.stores[0].shape[1:]
        found = torch.empty((count, *shape), dtype=torch.float16, pin_memory=self._copies is not None)
        numbers = found.numpy()
        start = 0
        for video, wanted in zip(videos, frames, strict=True):
            self.stores[video].frames(wanted, numbers[start : start + len(wanted)])
            start += len(wanted)
        if self._copies is not None:
            with torch.cuda.stream(self._copies):
                maps = found.to(self.device, non_blocking=True).movedim(1, -1).contiguous()
                return Fetched(maps, self._copies.record_event())
        # By NumPy, which here is as fast as torch and takes none of the threads that a training step computes with.
        ordered = np.empty((count, *shape[1:], shape[0]), dtype=np.float16)
        np.copyto(ordered, np.moveaxis(numbers, 1, -1))
        return Fetched(torch.from_numpy(ordered))

    def _sent(self, maps: Tensor, rows: NDArray[np.int64], copies: torch.cuda.Stream) -> Fetched:
        """Copy rows of pinned maps to the GPU, (number of rows, h, w, 1024), without gathering them here first."""
        with torch.cuda.stream(copies):
            there = torch.empty((len(rows), *maps.shape[1:]), dtype=maps.dtype, device=self.device)
            for frame, row in zip(there, rows.tolist(), strict=True):
                frame.copy_(maps[row], non_blocking=True)
            return Fetched(there, copies.record_event())

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
