"""Embedder of conv4c features: two 3-D convolutions, global max pooling, two hidden layers, a unit vector.

RGWOT section 3 (encoder) and methods 3.1. The parameters are those of textbook layers (``nn.Conv3d``,
``nn.BatchNorm3d``, ``nn.Linear``), so a state dict means what its names say; only the order of the arithmetic
differs, because a context of two frames makes the temporal taps of a padded 3-D convolution a small dense
map.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

KERNEL = 3
# Above this width the shifted sum over the spatial taps costs more than oneDNN's bfloat16 convolution saves.
NARROW = 128


class _SpatialTaps(torch.autograd.Function):
    """3x3 convolution, padding 1, as one matrix product and a shifted sum of its nine column blocks.

    The sum runs over the (few) output channels, so the (many) input channels are never copied nine times, and
    the gradient of the weight is a single product too.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        """Convolve ``x`` (n, h, w, I) with ``weight`` (9 O, I), rows ordered (row, column, output)."""
        n, h, w, channels = x.shape
        taps = (x.reshape(-1, channels) @ weight.t()).view(n, h, w, KERNEL, KERNEL, -1)
        padded = torch.zeros(
            n,
            h + 2,
            w + 2,
            taps.shape[-1],
            dtype=torch.promote_types(x.dtype, torch.float32),
            device=x.device,
        )
        for row in range(KERNEL):
            for column in range(KERNEL):
                padded[:, 2 - row : 2 - row + h, 2 - column : 2 - column + w] += taps[:, :, :, row, column]
        ctx.save_for_backward(x, weight)
        return padded[:, 1:-1, 1:-1].contiguous()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor]:
        """Return the gradients of the input (only when asked for) and of the weight."""
        x, weight = ctx.saved_tensors
        n, h, w, channels = x.shape
        padded = F.pad(gradients[0].to(x.dtype), (0, 0, 1, 1, 1, 1))
        taps = torch.stack(
            [
                padded[:, 2 - row : 2 - row + h, 2 - column : 2 - column + w]
                for row in range(KERNEL)
                for column in range(KERNEL)
            ],
            dim=3,
        ).view(n * h * w, -1)
        input_gradient = (taps @ weight).view(x.shape) if ctx.needs_input_grad[0] else None
        return input_gradient, taps.t() @ x.reshape(-1, channels)


def stack_taps(weight: Tensor, c: int) -> Tensor:
    """Unroll the time axis of a 3-D kernel over ``c`` frames with zero padding.

    Parameters
    ----------
    weight
        (O, I, 3, 3, 3), axes output, input, time, row, column.
    c
        Frames of the context stack, at least 1.

    Returns
    -------
    Tensor
        (9 c O, c I): the block that takes input frame s to output frame t holds the temporal tap s - t + 1,
        and zeros where that tap does not exist. Taps that would only meet padding do not appear.
    """
    if weight.ndim != 5 or tuple(weight.shape[2:]) != (KERNEL,) * 3:
        raise ValueError(f"weight has shape {tuple(weight.shape)}; expected (O, I, 3, 3, 3)")
    taps = weight.unbind(2)
    nothing = torch.zeros_like(taps[0])
    blocks = [torch.stack([taps[s - t + 1] if abs(s - t) <= 1 else nothing for s in range(c)]) for t in range(c)]
    # (t, s, O, I, row, column) -> (row, column, t, O, s, I)
    return torch.stack(blocks).permute(4, 5, 0, 2, 1, 3).reshape(-1, c * weight.shape[1])


def convolve(x: Tensor, weight: Tensor, bias: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """3-D convolution with kernel 3 and padding 1 of a short stack of feature maps.

    Parameters
    ----------
    x
        (n, c, h, w, I); fastest on the CPU when its memory is ordered (n, h, w, c, I).
    weight, bias
        (O, I, 3, 3, 3) and (O,), as in ``nn.Conv3d``.
    dtype
        Arithmetic of the products; sums over taps and the result are float32 (float64 when ``dtype`` is).

    Returns
    -------
    Tensor
        (n, c, h, w, O).
    """
    n, c, h, w, channels = x.shape
    if channels != weight.shape[1]:
        raise ValueError(f"x has {channels} channels; expected {weight.shape[1]} as in weight")
    outputs = weight.shape[0]
    accurate = dtype in (torch.float32, torch.float64)
    if x.device.type == "cpu" and c <= KERNEL and (accurate or outputs <= NARROW):
        stacked = x.permute(0, 2, 3, 1, 4).reshape(n, h, w, c * channels).to(dtype)
        y = cast(Tensor, _SpatialTaps.apply(stacked, stack_taps(weight, c).to(dtype)))
        return y.view(n, h, w, c, outputs).permute(0, 3, 1, 2, 4) + bias
    volume = x.movedim(-1, 1).to(dtype, memory_format=torch.channels_last_3d)
    kernel = weight.to(dtype, memory_format=torch.channels_last_3d)
    y = F.conv3d(volume, kernel, padding=1).movedim(1, -1)
    return y.to(bias.dtype) + bias


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
        for conv, norm in ((self.conv1, self.bn1), (self.conv2, self.bn2)):
            bias = cast(Tensor, conv.bias)
            y = F.relu(batch_norm(convolve(y, conv.weight, bias, dtype), norm, groups, tracked))
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
