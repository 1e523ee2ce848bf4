"""Embedder of feature maps: two 3-D convolutions, global max pooling, two hidden layers, a unit vector.

This is RGWOT's encoder (methods 3.1). Features that are vectors have no space to convolve over; two fully connected
layers over the whole stack take the place of the convolutions. Its parameters have the names and shapes of textbook
layers; only the order of the arithmetic differs. Inside, stacks of maps are ordered (c, n, h, w, C): time first,
channels last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from rgwot.embedding.interface import Embedded, EmbedVideo, VideoFeatures
from rgwot.embedding.sampler import context_offsets, with_context
from rgwot.embedding.settings import MOST_CONTEXT

KERNEL = 3


def convolve(x: Tensor, weight: Tensor, bias: Tensor, dtype: torch.dtype) -> Tensor:
    r"""Return the 3-D convolution with kernel 3 and padding 1, without the products that only meet padding in time.

    With :math:`W_0, W_1, W_2` for the 3x3 kernels that meet the previous, the same and the next frame,

    .. math:: y_t = W_0 x_{t-1} + W_1 x_t + W_2 x_{t+1}

    takes 3c - 2 convolutions of single maps. Two frames take three instead of four (Winograd 1980):

    .. math:: y_0 = W_1 (x_0 + x_1) + (W_2 - W_1) x_1, \quad y_1 = W_1 (x_0 + x_1) + (W_0 - W_1) x_0.

    Parameters
    ----------
    x
        (c, n, h, w, I).
    weight, bias
        (O, I, 3, 3, 3) and (O,), as in ``nn.Conv3d``.
    dtype
        Type of the products; they are added in the type of ``bias``.

    Returns
    -------
    Tensor
        (c, n, h, w, O).

    Notes
    -----
    ``F.conv3d`` is not used: on the CPU it takes up to twice as long, and in bfloat16 PyTorch 2.15 returns garbage for
    the gradient of the weight at c = 2.
    """
    previous, current, following = weight.unbind(2)
    if len(x) == 2:
        first, second = x
        both = _convolve_maps(first + second, current, dtype) + bias
        to_first = _convolve_maps(second, following - current, dtype)
        to_second = _convolve_maps(first, previous - current, dtype)
        return torch.stack([both + to_first, both + to_second])
    y = _convolve_maps(x, current, dtype) + bias
    if len(x) > 1:
        y[1:] += _convolve_maps(x[:-1], previous, dtype)
        y[:-1] += _convolve_maps(x[1:], following, dtype)
    return y


def _convolve_maps(x: Tensor, kernel: Tensor, dtype: torch.dtype) -> Tensor:
    """Convolve (..., h, w, I) with a 3x3 kernel (O, I, 3, 3) and padding 1; return (..., h, w, O)."""
    kernel = kernel.to(dtype, memory_format=torch.channels_last)
    y = F.conv2d(x.to(dtype).flatten(0, -4).movedim(-1, 1), kernel, padding=1)
    return y.movedim(1, -1).reshape(*x.shape[:-1], -1)


def batch_norm(x: Tensor, norm: nn.BatchNorm2d, groups: int, tracked: Sequence[int]) -> Tensor:
    """Normalise each of several groups of clips by its own statistics, as separate forward passes would.

    Parameters
    ----------
    x
        (c, n, h, w, C); in training mode n is divisible by ``groups``.
    norm
        Scale, shift, running averages, momentum and eps; the running averages are updated in training mode.
    groups
        Equal consecutive parts of the clips with statistics of their own (training mode).
    tracked
        Indices of the groups that update the running averages.

    Returns
    -------
    Tensor
        (c, n, h, w, C).
    """
    parts = []
    groups = groups if norm.training else 1
    for index, part in enumerate(x.reshape(len(x), groups, -1, *x.shape[2:]).unbind(1)):
        maps = part.flatten(0, 1).movedim(-1, 1)
        if index in tracked or not norm.training:
            y = norm(maps)
        else:
            y = F.batch_norm(maps, None, None, norm.weight, norm.bias, training=True, eps=norm.eps)
        parts.append(y.movedim(1, -1).reshape(part.shape))
    return torch.cat(parts, dim=1)


def dropout_masks(rng: np.random.Generator, clips: int, widths: Sequence[int], rate: float) -> list[Tensor]:
    """Draw a mask (clips, width) for each hidden layer's input: 0 with probability ``rate``, else 1 / (1 - rate)."""
    return [
        torch.from_numpy((rng.random((clips, width), dtype=np.float32) >= rate) / np.float32(1 - rate))
        for width in widths
    ]


class Encoder(nn.Module):
    """Map stacks of feature maps to unit vectors (methods 3.1).

    The layers are Conv3d(features, channels, 3, padding 1), batch norm, ReLU; Conv3d(channels, channels, 3, padding 1),
    batch norm, ReLU; maximum over time, rows and columns; twice dropout, Linear, ReLU; Linear to D; and, with
    ``unit_norm``, division by the Euclidean norm. For vectors, Linear(c features, channels) and Linear(channels,
    channels) replace the convolutions and the maximum.

    Parameters
    ----------
    c
        Frames per stack, including the sampled frame.
    channels, hidden
        Width of the convolutions and of the two fully connected layers.
    dropout
        Share of units dropped before each hidden layer in training, in [0, 1); the masks are given to `forward`.
    batch_norm
        ``joint``: statistics over the two videos of a pair. ``per_video``: every video has its own statistics, and only
        those of the first video of a pair update the running averages, as with data parallelism over two devices
        (methods 3.1).
    input_norm
        Whether features are first standardised per channel, with the buffers ``input_mean`` and ``input_std``.
    features
        Channels of the input.
    precision
        Arithmetic of the two convolutions, or of the layers in their place; everything after them is float32.
    vectors
        Whether a frame is a vector (h = w = 1), so that stacks go through fully connected layers.
    """

    input_mean: Tensor
    input_std: Tensor

    def __init__(
        self,
        *,
        c: int,
        D: int,  # noqa: N803 - the paper's symbol
        channels: int,
        hidden: int,
        dropout: float,
        batch_norm: Literal["joint", "per_video"],
        input_norm: bool,
        unit_norm: bool,
        features: int,
        precision: Literal["float32", "bfloat16"],
        vectors: bool = False,  # models saved for feature maps do not store this field, hence the default
    ) -> None:
        super().__init__()
        self.c = c
        self.dropout = dropout
        self.batch_norm = batch_norm
        self.input_norm = input_norm
        self.unit_norm = unit_norm
        self.precision = precision
        self.vectors = vectors
        # The initial weights depend on the order in which these layers are made.
        if vectors:
            self.stack1 = nn.Linear(c * features, channels)
        else:
            self.conv1 = nn.Conv3d(features, channels, KERNEL, padding=1)
        self.bn1 = nn.BatchNorm2d(channels)
        if vectors:
            self.stack2 = nn.Linear(channels, channels)
        else:
            self.conv2 = nn.Conv3d(channels, channels, KERNEL, padding=1)
        self.bn2 = nn.BatchNorm2d(channels)
        self.fc1 = nn.Linear(channels, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.projection = nn.Linear(hidden, D)
        self.register_buffer("input_mean", torch.zeros(features))
        self.register_buffer("input_std", torch.ones(features))

    def forward(self, x: Tensor, pairs: int = 1, masks: Sequence[Tensor] | None = None) -> Tensor:
        """Embed clips.

        Parameters
        ----------
        x
            (n, c, features, h, w), float16 or float32, without gradient; h = w = 1 for vectors. In training the clips
            of a pair are consecutive, first video first, both videos with the same number of clips.
        pairs
            Pairs of videos in the batch; batch-norm statistics never cross pairs. Without effect in eval mode.
        masks
            Two dropout masks, (n, channels) and (n, hidden); None drops nothing. Eval mode takes no masks.

        Returns
        -------
        Tensor
            (n, D) float32, rows of Euclidean norm 1 under ``unit_norm``.
        """
        per_video = self.batch_norm == "per_video"
        groups = 2 * pairs if per_video else pairs
        tracked = range(0, groups, 2) if per_video else range(groups)
        # Always a copy, because y is changed in place below, which saves a large allocation at every step.
        order = torch.contiguous_format
        y = x.permute(1, 0, 3, 4, 2).to(self.fc1.weight.dtype, copy=True, memory_format=order)
        if self.input_norm:
            y.sub_(self.input_mean).div_(self.input_std)
        y = self._joined(y, groups, tracked) if self.vectors else self._convolved(y, groups, tracked)
        for index, layer in enumerate((self.fc1, self.fc2)):
            if masks is not None:
                y = y * masks[index]
            y = F.relu(layer(y))
        y = self.projection(y)
        return F.normalize(y, dim=1) if self.unit_norm else y

    def _convolved(self, y: Tensor, groups: int, tracked: Sequence[int]) -> Tensor:
        """Turn stacks of maps (c, n, h, w, features) into (n, channels)."""
        for convolution, norm in ((self.conv1, self.bn1), (self.conv2, self.bn2)):
            dtype = torch.bfloat16 if self.precision == "bfloat16" else convolution.weight.dtype
            y = convolve(y, convolution.weight, cast(Tensor, convolution.bias), dtype)
            y = F.relu(batch_norm(y, norm, groups, tracked))
        return y.flatten(2, 3).max(dim=2).values.max(dim=0).values

    def _joined(self, y: Tensor, groups: int, tracked: Sequence[int]) -> Tensor:
        """Turn stacks of vectors (c, n, 1, 1, features) into (n, channels)."""
        # The layers see a stack as one vector, the concatenation of its frames.
        y = y.movedim(0, -2).flatten(-2)[None]
        for layer, norm in ((self.stack1, self.bn1), (self.stack2, self.bn2)):
            dtype = torch.bfloat16 if self.precision == "bfloat16" else layer.weight.dtype
            # Products have the type ``dtype``, their sum with the bias the type of the bias.
            y = F.linear(y.to(dtype), layer.weight.to(dtype)).to(layer.bias.dtype) + layer.bias
            y = F.relu(batch_norm(y, norm, groups, tracked))
        return y[0, :, 0, 0]


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed PyTorch in this context, so that the initial weights of networks made there depend only on ``seed``.

    The global random state does not change.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


FRAMES_PER_BATCH = 64


def encoder_of(model: Mapping[str, Any]) -> Encoder:
    """Return the encoder of a loaded model, in eval mode.

    Raises ValueError, before any memory is allocated, if its architecture does not fit its weights.
    """
    if not model["architecture"]["c"] <= MOST_CONTEXT:
        raise ValueError(f"a context of {model['architecture']['c']} frames; expected at most {MOST_CONTEXT}")
    with torch.device("meta"):
        shapes = {name: tensor.shape for name, tensor in Encoder(**model["architecture"]).state_dict().items()}
    if shapes != (found := {name: tensor.shape for name, tensor in model["encoder"].items()}):
        name = next(name for name in {**shapes, **found} if shapes.get(name) != found.get(name))
        sizes = (tuple(sides[name]) if name in sides else None for sides in (shapes, found))
        raise ValueError("weights of {!r}: the architecture has the shape {}, the weights {}".format(name, *sizes))
    with seeded(0):
        encoder = Encoder(**model["architecture"])
    encoder.load_state_dict(model["encoder"])
    return encoder.eval()


def embed_by_model(model: Mapping[str, Any], fps: float, device: torch.device, threads: int | None) -> EmbedVideo:
    """Return the function by which a loaded model embeds videos with ``fps`` features per second."""
    if threads is not None:
        torch.set_num_threads(threads)
    data = model["settings"]["data"]
    encoder = encoder_of(model).to(device)
    offsets = context_offsets(encoder.c, data["context_s"], fps, data["context_side"])
    arrays = {
        part: {name: tensor.numpy() for name, tensor in model[part].items()}
        for part in ("projection", "beside")
        if part in model
    }
    if arrays:
        # Imported here, because most models need neither whitening nor SciPy.
        from rgwot.embedding.combined import with_beside
        from rgwot.embedding.projection import Projection
    project = Projection(**arrays["projection"]) if "projection" in arrays else None

    def embed(store: VideoFeatures) -> Embedded:
        return Embedded(embed_video(project(store) if project else store, offsets, encoder, device))

    if "beside" not in arrays:
        return embed
    return with_beside(embed, arrays["beside"], float(model["settings"]["encoder"]["beside"]))


def embed_video(
    store: VideoFeatures, offsets: NDArray[np.int64], encoder: Encoder, device: torch.device
) -> NDArray[np.float32]:
    """Embed all T frames of a video, (T, D), in blocks; memory does not grow with its length.

    ``offsets`` (c,) of the context stack are in frames; the encoder is in eval mode, on ``device``.
    """
    parts = []
    with torch.inference_mode():
        for start in range(0, len(store), FRAMES_PER_BATCH):
            stacks = with_context(np.arange(start, min(start + FRAMES_PER_BATCH, len(store))), offsets, len(store))
            # Context frames are mostly sampled frames of the same block, so every frame is read only once.
            needed, rows = np.unique(stacks, return_inverse=True)
            maps = torch.from_numpy(store.frames(needed)).to(device)
            parts.append(encoder(maps[torch.from_numpy(rows.reshape(stacks.shape)).to(device)]).cpu().numpy())
    return np.concatenate(parts)
