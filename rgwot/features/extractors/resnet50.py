"""ResNet-50 up to conv4c (He et al. 2016, table 1), from torchvision (methods 3.1).

conv4c is the output of the stem, ``layer1``, ``layer2`` and the first three of the six bottlenecks of ``layer3``. As in
torchvision the 3x3 convolution of a block carries its stride.
"""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import nn

from rgwot.features.extractors import randomise as draw

LAYER3_BLOCKS = 3
"""Number of bottlenecks of ``layer3`` that belong to conv4c."""

#: Weight of the last batch norm of every block when the weights are random. A small residual branch lets more
#: of the picture through an untrained network: a linear probe rises from 0.88 to 0.96 (7 objects, 112 px).
RANDOM_BRANCH_WEIGHT = 0.2


def network() -> nn.Sequential:
    """Return the network, from standardised frames (B, 3, H, W) to (B, 1024, ceil(H / 16), ceil(W / 16))."""
    # torchvision imports PyTorch's compiler, which takes two seconds: only a job that extracts should wait for it.
    from torchvision.models import resnet50

    whole = resnet50(weights=None)
    parts = {name: getattr(whole, name) for name in ("conv1", "bn1", "relu", "maxpool", "layer1", "layer2")}
    return nn.Sequential(OrderedDict(**parts, layer3=whole.layer3[:LAYER3_BLOCKS]))


def randomise(network: nn.Module, generator: torch.Generator) -> None:
    """Draw He's initialisation, in the order of the convolutions."""
    draw(network, generator)
    for name, module in network.named_modules():
        if name.endswith("bn3"):
            nn.init.constant_(module.weight, RANDOM_BRANCH_WEIGHT)
