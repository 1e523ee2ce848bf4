"""Embedder of conv4c features: two 3-D convolutions, global max pooling, two hidden layers, a unit vector.

This is RGWOT's encoder (methods 3.1). The parameters are those of textbook layers (``nn.Conv3d``,
``nn.BatchNorm3d``, ``nn.Linear``), so a state dict means what its names say; only the order of the arithmetic
differs (`rgwot.embedding.convolution`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from rgwot.embedding.convolution import KERNEL, convolve, convolve_once


def batch_norm(x: Tensor, norm: nn.BatchNorm3d, groups: int, tracked: Sequence[int]) -> Tensor:
    """Normalise each of several groups of clips by its own statistics, as separate forward passes would.

    Parameters
    ----------
    x
        (n, c, h, w, C), float32; n divisible by ``groups``.
    norm
        Scale, shift, running averages, momentum and eps. In training mode its running averages are updated in
        place.
    groups
        Equal consecutive parts of the first axis with statistics of their own (training mode).
    tracked
        Indices of the groups that update the running averages, in this order.

    Returns
    -------
    Tensor
        (n, c, h, w, C).
    """
    running_mean, running_var = cast(Tensor, norm.running_mean), cast(Tensor, norm.running_var)
    if not norm.training:
        scale = norm.weight * torch.rsqrt(running_var + norm.eps)
        return x * scale + (norm.bias - running_mean * scale)
    if x.shape[0] % groups:
        raise ValueError(f"{x.shape[0]} clips in {groups} groups; expected a multiple")
    parts = x.view(groups, -1, *x.shape[1:])
    var, mean = torch.var_mean(parts, dim=(1, 2, 3, 4), correction=0)
    with torch.no_grad():
        count = parts[0, ..., 0].numel()
        momentum = cast(float, norm.momentum)
        for group in tracked:
            running_mean.lerp_(mean[group], momentum)
            running_var.lerp_(var[group] * (count / max(count - 1, 1)), momentum)
            cast(Tensor, norm.num_batches_tracked).add_(1)
    scale = norm.weight * torch.rsqrt(var + norm.eps)
    shift = norm.bias - mean * scale
    y: Tensor = parts * scale[:, None, None, None, None] + shift[:, None, None, None, None]
    return y.flatten(0, 1)


def dropout_masks(rng: np.random.Generator, clips: int, widths: Sequence[int], rate: float) -> list[Tensor]:
    """Draw a dropout mask (clips, width) per width: 0 with probability ``rate``, else 1 / (1 - rate)."""
    return [
        torch.from_numpy((rng.random((clips, width), dtype=np.float32) >= rate) / np.float32(1 - rate))
        for width in widths
    ]


class Encoder(nn.Module):
    """Map stacks of conv4c maps to unit vectors (methods 3.1).

    Conv3d(1024, channels, 3, padding 1), batch norm, ReLU; Conv3d(channels, channels, 3, padding 1), batch
    norm, ReLU; maximum over time, rows and columns; twice dropout, Linear, ReLU; Linear to D; and, under
    ``unit_norm``, division by the Euclidean norm.

    Parameters
    ----------
    c
        Frames per stack, including the sampled frame.
    D
        Dimensions of the embedding.
    channels, hidden
        Width of the convolutions and of the two fully connected layers.
    dropout
        Share of units dropped before each hidden layer in training, in [0, 1).
    batch_norm
        ``joint``: statistics over the two videos of a pair. ``per_video``: one group per video, of which only
        the first updates the running averages, which is what data parallelism over two devices computes
        (methods 3.7).
    input_norm
        Whether features are standardised per channel with the buffers ``input_mean`` and ``input_std`` first.
    unit_norm
        Whether embeddings are scaled to Euclidean norm 1.
    features
        Channels of the input.
    precision
        Arithmetic of the two convolutions; everything after them is float32.
    """

    input_mean: Tensor
    input_std: Tensor

    def __init__(
        self,
        *,
        c: int = 2,
        D: int = 128,  # noqa: N803 - the paper's symbol
        channels: int = 512,
        hidden: int = 512,
        dropout: float = 0.1,
        batch_norm: Literal["joint", "per_video"] = "joint",
        input_norm: bool = False,
        unit_norm: bool = True,
        features: int = 1024,
        precision: Literal["float32", "bfloat16"] = "float32",
    ) -> None:
        super().__init__()
        self.c = c
        self.dropout = dropout
        self.batch_norm = batch_norm
        self.input_norm = input_norm
        self.unit_norm = unit_norm
        self.precision = precision
        self.conv1 = nn.Conv3d(features, channels, KERNEL, padding=1)
        self.bn1 = nn.BatchNorm3d(channels)
        self.conv2 = nn.Conv3d(channels, channels, KERNEL, padding=1)
        self.bn2 = nn.BatchNorm3d(channels)
        self.fc1 = nn.Linear(channels, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.projection = nn.Linear(hidden, D)
        self.register_buffer("input_mean", torch.zeros(features))
        self.register_buffer("input_std", torch.ones(features))

    @property
    def dropout_widths(self) -> tuple[int, int]:
        """Units in front of the two hidden layers, the widths that ``dropout_masks`` needs."""
        return self.fc1.in_features, self.fc2.in_features

    def forward(
        self, x: Tensor, pairs: int = 1, masks: Sequence[Tensor] | None = None, *, prepared: bool = False
    ) -> Tensor:
        """Embed clips.

        Parameters
        ----------
        x
            (n, c, 1024, h, w), float16 or float32. No gradient is computed for it. In training the clips of a
            pair are consecutive, first video first, both videos with the same number of clips.
        pairs
            Pairs of videos in the batch; batch-norm statistics never cross pairs. Without effect in eval
            mode.
        masks
            Two dropout masks, (n, channels) and (n, hidden); None drops nothing. Eval mode takes no masks.
        prepared
            Whether ``x`` went through `prepare` already.

        Returns
        -------
        Tensor
            (n, D) float32, rows of Euclidean norm 1 under ``unit_norm``.
        """
        if x.ndim != 5 or x.shape[1:3] != (self.c, self.input_mean.numel()):
            raise ValueError(f"x has shape {tuple(x.shape)}; expected (n, {self.c}, {self.input_mean.numel()}, h, w)")
        if masks is not None and not self.training:
            raise ValueError("masks given in eval mode; expected None")
        dtype = self._dtype
        per_video = self.batch_norm == "per_video"
        groups = 2 * pairs if per_video else pairs
        tracked = range(0, groups, 2) if per_video else range(groups)
        y = x.movedim(2, -1) if prepared else self._standardised(x)
        y = convolve(y, self.conv1.weight, cast(Tensor, self.conv1.bias), dtype)
        return self._after_first(y, groups, tracked, masks)

    def embed(self, maps: Tensor, rows: Tensor) -> Tensor:
        """Embed clips that share frames, in eval mode: as `forward` of ``maps[rows]``, but no frame is computed twice.

        In bfloat16 they are computed apart, because the sum of the products of two frames is rounded once there.

        Parameters
        ----------
        maps
            (F, h, w, 1024) float16.
        rows
            (n, c) frames of every clip.

        Returns
        -------
        Tensor
            (n, D), equal to that of `forward` up to rounding in float32.
        """
        if self.training:
            raise ValueError("embedding in training mode; expected eval mode")
        if self.c == 1 or self.precision == "bfloat16":
            return cast(Tensor, self(maps[rows].movedim(-1, 2)))
        bias = cast(Tensor, self.conv1.bias)
        return self._after_first(convolve_once(self.prepare(maps), rows, self.conv1.weight, bias, self._dtype), 1, ())

    def _after_first(
        self, y: Tensor, groups: int, tracked: Sequence[int], masks: Sequence[Tensor] | None = None
    ) -> Tensor:
        """Return the embeddings of what the first convolution gave, (n, c, h, w, channels)."""
        y = F.relu(batch_norm(y, self.bn1, groups, tracked))
        y = convolve(y, self.conv2.weight, cast(Tensor, self.conv2.bias), self._dtype)
        y = F.relu(batch_norm(y, self.bn2, groups, tracked))
        y = y.permute(0, 2, 3, 1, 4).flatten(1, 3).max(dim=1).values
        for index, layer in enumerate((self.fc1, self.fc2)):
            if masks is not None:
                y = y * masks[index]
            y = F.relu(layer(y))
        y = self.projection(y)
        return F.normalize(y, dim=1) if self.unit_norm else y

    def prepare(self, maps: Tensor) -> Tensor:
        """Do once what `forward` would do to its input at every step: standardise, and round to the precision.

        Parameters
        ----------
        maps
            (T, h, w, 1024) float16.

        Returns
        -------
        Tensor
            (T, h, w, 1024) in the arithmetic of the convolutions; the values `forward` would have computed.
        """
        with torch.no_grad():
            return self._standardised(maps.movedim(-1, 1).unsqueeze(1)).squeeze(1).to(self._dtype)

    @property
    def _dtype(self) -> torch.dtype:
        return torch.bfloat16 if self.precision == "bfloat16" else self.conv1.weight.dtype

    def _standardised(self, x: Tensor) -> Tensor:
        """Return (n, c, h, w, C) in the weights' precision, its memory ordered (n, h, w, c, C)."""
        with torch.no_grad():
            # A copy always: it is changed in place, which saves a large allocation at every step.
            y = x.permute(0, 3, 4, 1, 2).to(self.conv1.weight.dtype, copy=True, memory_format=torch.contiguous_format)
            if self.input_norm:
                y.sub_(self.input_mean).div_(self.input_std)
            return y.permute(0, 3, 1, 2, 4)


def initialised(seed: int, **settings: Any) -> Encoder:
    """Make an encoder whose initial weights depend on ``seed`` alone (torch's default initialisation).

    Leaves the global random state untouched.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Encoder(**settings)
