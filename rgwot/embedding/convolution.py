"""The 3-D convolution of a short stack of feature maps, with no product that only meets zero padding.

A context of c frames makes the three temporal taps of a padded kernel a banded c x c map between frames: output frame t
is the sum of W[s - t + 1] x[s] over the input frames s next to it, where W[k] x is a 3x3 convolution of one map. Of the
3c products of a padded convolution, 2 meet padding: a third of the work at c = 2.
"""

from __future__ import annotations

import math
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn import functional as F

KERNEL = 3
# Above this width oneDNN's bfloat16 convolution in space and time is faster, though it multiplies padding.
NARROW = 128
# Taps of a block of clips: measured, from 8 MB on the time is the same, and all clips at once would take 300 MB.
WORKSPACE_BYTES = 16_000_000


def _overlap(tap: int, size: int) -> tuple[slice, slice]:
    """Return which positions of an output, and which of the input, a spatial tap of 0 to 2 connects."""
    return slice(max(0, 1 - tap), min(size, size + 1 - tap)), slice(max(0, tap - 1), min(size, size - 1 + tap))


def add_shifted(taps: Tensor, total: Tensor) -> None:
    """Add the products of the nine spatial taps, (n, h, w, 3, 3, O), to ``total`` (n, h, w, O), shifted."""
    _, h, w, _ = total.shape
    for row in range(KERNEL):
        for column in range(KERNEL):
            (to_rows, of_rows), (to_columns, of_columns) = _overlap(row, h), _overlap(column, w)
            total[:, to_rows, to_columns] += taps[:, of_rows, of_columns, row, column]


def spread(gradient: Tensor, out: Tensor | None = None) -> Tensor:
    """Return what the adjoint of `add_shifted` makes of (n, h, w, O): (n h w, 9 O), in the first rows of ``out``."""
    n, h, w, outputs = gradient.shape
    taps = gradient.new_empty(n, h, w, KERNEL, KERNEL, outputs) if out is None else out[:n]
    for row in range(KERNEL):
        for column in range(KERNEL):
            (of_rows, to_rows), (of_columns, to_columns) = _overlap(row, h), _overlap(column, w)
            taps[:, to_rows, to_columns, row, column] = gradient[:, of_rows, of_columns]
    # Where a tap reaches beyond the map.
    taps[:, h - 1, :, 0] = 0
    taps[:, 0, :, 2] = 0
    taps[:, :, w - 1, :, 0] = 0
    taps[:, :, 0, :, 2] = 0
    return taps.view(n * h * w, -1)


def _by_tap(weight: Tensor) -> Tensor:
    """Order (outputs, inputs, 3, 3) as (9 outputs, inputs), rows (row, column, output)."""
    return weight.permute(2, 3, 0, 1).reshape(-1, weight.shape[1])


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
        total = x.new_zeros(n, h, w, taps.shape[-1], dtype=torch.promote_types(x.dtype, torch.float32))
        add_shifted(taps, total)
        ctx.save_for_backward(x, weight)
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor]:
        """Return the gradients of the input (only when asked for) and of the weight."""
        x, weight = ctx.saved_tensors
        taps = spread(gradients[0].to(x.dtype))
        input_gradient = (taps @ weight).view(x.shape) if ctx.needs_input_grad[0] else None
        return input_gradient, taps.t() @ x.reshape(-1, x.shape[-1])


class _PairTaps(torch.autograd.Function):
    r"""The convolution of stacks of two frames by three products instead of four.

    With the temporal taps :math:`W_0, W_1, W_2` (past, same, next frame)

    .. math:: y_0 = W_1 x_0 + W_2 x_1 = W_1 (x_0 + x_1) + (W_2 - W_1) x_1, \quad
       y_1 = W_0 x_0 + W_1 x_1 = W_1 (x_0 + x_1) + (W_0 - W_1) x_0,

    the fast product of a 2 x 2 Toeplitz matrix and a vector (Winograd 1980); its transpose gives the gradient of the
    input, and the same trick, :math:`(g_0 + g_1)(x_0 + x_1)^T` less the two mixed products, that of :math:`W_1`.
    The clips go through in blocks whose taps stay in the processor's cache.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        """Convolve ``x`` (n, h, w, 2, I) with ``weight`` (O, I, 3, 3, 3); (n, h, w, 2, O)."""
        ctx.save_for_backward(x, weight)
        n, h, w, _, channels = x.shape
        past, same, following = _differences(weight)
        total = x.new_zeros(n, h, w, 2, weight.shape[0])
        workspace = _workspace(x, weight)
        for clips, sums in zip(torch.split(x, len(workspace)), torch.split(total, len(workspace)), strict=True):
            taps = workspace[: len(clips)]
            products = taps.view(-1, len(same))
            first, second = clips.reshape(-1, 2, channels).unbind(1)
            torch.mm(first + second, same.t(), out=products)
            add_shifted(taps, sums[..., 0, :])
            sums[..., 1, :] = sums[..., 0, :]
            torch.mm(second, following.t(), out=products)
            add_shifted(taps, sums[..., 0, :])
            torch.mm(first, past.t(), out=products)
            add_shifted(taps, sums[..., 1, :])
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor]:
        """Return the gradients of the input (only when asked for) and of the weight."""
        x, weight = ctx.saved_tensors
        channels = x.shape[-1]
        past, same, following = _differences(weight)
        # Of W_0, of W_1 and of W_2; the second as the sum of all three until the end.
        kernels = weight.new_zeros(3, len(same), channels)
        input_gradient = x.new_empty(x.shape) if ctx.needs_input_grad[0] else None
        workspaces = _workspace(x, weight), _workspace(x, weight)
        for start in range(0, len(x), len(workspaces[0])):
            block = slice(start, start + len(workspaces[0]))
            first, second = x[block].reshape(-1, 2, channels).unbind(1)
            to_first, to_second = (
                spread(gradient, workspace)
                for gradient, workspace in zip(gradients[0][block].unbind(3), workspaces, strict=True)
            )
            torch.addmm(kernels[0], to_second.t(), first, out=kernels[0])
            torch.addmm(kernels[2], to_first.t(), second, out=kernels[2])
            if input_gradient is not None:
                of_first, of_second = input_gradient[block].view(-1, 2, channels).unbind(1)
                torch.mm(to_second, past, out=of_first)
                torch.mm(to_first, following, out=of_second)
            to_first += to_second
            torch.addmm(kernels[1], to_first.t(), first + second, out=kernels[1])
            if input_gradient is not None:
                input_gradient[block].view(-1, 2, channels).add_((to_first @ same)[:, None])
        kernels[1] -= kernels[0] + kernels[2]
        # (time, row, column, O, I) -> (O, I, time, row, column)
        return input_gradient, kernels.view(3, KERNEL, KERNEL, -1, channels).permute(3, 4, 0, 1, 2)


def _differences(weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return W_0 - W_1, W_1 and W_2 - W_1, each (9 O, I)."""
    past, same, following = (_by_tap(tap) for tap in weight.unbind(2))
    return past.sub_(same), same, following.sub_(same)


def _workspace(x: Tensor, weight: Tensor) -> Tensor:
    """Return room for the taps of a block of clips, (clips, h, w, 3, 3, O)."""
    shape = (*x.shape[1:3], KERNEL, KERNEL, weight.shape[0])
    clips = max(1, WORKSPACE_BYTES // (math.prod(shape) * x.element_size()))
    return x.new_empty(min(clips, len(x)), *shape)


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
        (c O, c I, 3, 3): the block that takes input frame s to output frame t holds the temporal tap s - t + 1,
        and zeros where that tap does not exist. Taps that would only meet padding do not appear.
    """
    if weight.ndim != 5 or tuple(weight.shape[2:]) != (KERNEL,) * 3:
        raise ValueError(f"weight has shape {tuple(weight.shape)}; expected (O, I, 3, 3, 3)")
    taps = weight.unbind(2)
    nothing = torch.zeros_like(taps[0])
    blocks = [torch.stack([taps[s - t + 1] if abs(s - t) <= 1 else nothing for s in range(c)]) for t in range(c)]
    # (t, s, O, I, row, column) -> (t, O, s, I, row, column)
    return torch.stack(blocks).permute(0, 2, 1, 3, 4, 5).reshape(-1, c * weight.shape[1], KERNEL, KERNEL)


def _convolve_maps(x: Tensor, weight: Tensor, dtype: torch.dtype) -> Tensor:
    """3x3 convolution, padding 1, of (n, h, w, I) with (O, I, 3, 3) in some arithmetic: (n, h, w, O)."""
    if x.device.type == "cpu":
        return cast(Tensor, _SpatialTaps.apply(x.to(dtype), _by_tap(weight).to(dtype)))
    kernel = weight.to(dtype, memory_format=torch.channels_last)
    return F.conv2d(x.movedim(-1, 1).to(dtype), kernel, padding=1).movedim(1, -1)


def convolve(x: Tensor, weight: Tensor, bias: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """3-D convolution with kernel 3 and padding 1 of a short stack of feature maps.

    Parameters
    ----------
    x
        (n, c, h, w, I); fastest when its memory is ordered (n, h, w, c, I).
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
    narrow, cpu, accurate = weight.shape[0] <= NARROW, x.device.type == "cpu", dtype in (torch.float32, torch.float64)
    if c > KERNEL or (cpu and not accurate and not narrow):
        volume = x.movedim(-1, 1).to(dtype, memory_format=torch.channels_last_3d)
        kernel = weight.to(dtype, memory_format=torch.channels_last_3d)
        y = F.conv3d(volume, kernel, padding=1).movedim(1, -1)
        return y.to(bias.dtype) + bias
    stacked = x.permute(0, 2, 3, 1, 4)
    if c == 2 and cpu and accurate:
        y = cast(Tensor, _PairTaps.apply(stacked.to(dtype), weight.to(dtype)))
    else:
        y = _convolve_maps(stacked.reshape(n, h, w, c * channels), stack_taps(weight, c), dtype)
    return y.view(n, h, w, c, -1).permute(0, 3, 1, 2, 4).to(bias.dtype) + bias


def convolve_once(
    maps: Tensor, rows: Tensor, weight: Tensor, bias: Tensor, dtype: torch.dtype = torch.float32
) -> Tensor:
    """Convolve stacks that share frames: `convolve` of ``maps[rows]``, with every frame multiplied once.

    Parameters
    ----------
    maps
        (F, h, w, I).
    rows
        (n, c) frames of every stack.
    weight, bias, dtype
        As for `convolve`.

    Returns
    -------
    Tensor
        (n, c, h, w, O).
    """
    c = rows.shape[1]
    products = [_convolve_maps(maps, tap, dtype).to(bias.dtype) for tap in weight.unbind(2)]
    frames = []
    for t in range(c):
        first, *others = (products[s - t + 1][rows[:, s]] for s in range(max(0, t - 1), min(c, t + 2)))
        frames.append(sum(others, first) + bias)
    return torch.stack(frames, dim=1)
