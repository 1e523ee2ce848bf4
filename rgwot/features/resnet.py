"""ResNet-50 as far as layer3 (He et al. 2016, table 1), under torchvision's names so that its checkpoints fit.

As in torchvision the 3x3 convolution of a block carries its stride. The network is written out here because importing
torchvision imports PyTorch's compiler as well: over a second in every job that extracts one video.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

EXPANSION = 4


class Bottleneck(nn.Module):
    """A residual block: 1x1, 3x3 and 1x1 convolutions, each with batch norm, beside a shortcut.

    Parameters
    ----------
    channels
        Channels of the input.
    width
        Channels inside; the output has four times as many.
    stride
        Of the 3x3 convolution, and of the shortcut.
    """

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        out = EXPANSION * width
        self.conv1 = nn.Conv2d(channels, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, out, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(out)
        self.relu = nn.ReLU(inplace=True)
        self.downsample: nn.Module | None = None
        if stride != 1 or channels != out:
            # A change of shape needs a projection.
            self.downsample = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, channels, h, w) to (B, 4 width, ceil(h / stride), ceil(w / stride))."""
        shortcut = x if self.downsample is None else self.downsample(x)
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        y += shortcut
        result: Tensor = self.relu(y)
        return result


def stem() -> tuple[nn.Conv2d, nn.BatchNorm2d]:
    """Return the first convolution, 7x7 with stride 2, and its batch norm."""
    return nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False), nn.BatchNorm2d(64)


def group(channels: int, width: int, blocks: int, stride: int) -> nn.Sequential:
    """Return a group of blocks (torchvision: a layer); the first of them has the stride and changes the width."""
    following = [Bottleneck(EXPANSION * width, width, 1) for _ in range(blocks - 1)]
    return nn.Sequential(Bottleneck(channels, width, stride), *following)


def fuse(network: nn.Module) -> None:
    """Take every batch norm of an evaluated network into the convolution before it, in place.

    With w' = w g / sqrt(v + eps) and b' = b - mean g / sqrt(v + eps) of batch norm's weight g, bias b, mean and
    variance v, the convolution gives what both gave, but for rounding. Pairs are told by their names: ``conv1`` and
    ``bn1``, or the two members of a projection.
    """
    for name, child in dict(network.named_children()).items():
        if isinstance(child, nn.Sequential) and len(child) == 2 and isinstance(child[1], nn.BatchNorm2d):
            _fuse_pair(child, "0", "1")
        elif isinstance(child, nn.Conv2d):
            _fuse_pair(network, name, name.replace("conv", "bn"))
        else:
            fuse(child)


def _fuse_pair(owner: nn.Module, convolution: str, norm: str) -> None:
    first, second = owner.get_submodule(convolution), owner.get_submodule(norm)
    if not isinstance(first, nn.Conv2d) or not isinstance(second, nn.BatchNorm2d):
        raise ValueError(f"{convolution}, {norm}: found {first}, {second}, expected a convolution and its batch norm")
    setattr(owner, convolution, fuse_conv_bn_eval(first, second))
    setattr(owner, norm, nn.Identity())
