"""The frozen image network: ResNet-50, as torchvision has it, up to conv4c.

conv4c is the output of the stem, ``layer1``, ``layer2`` and the first three of the six bottlenecks of
``layer3``: 1024 channels at a sixteenth of the input size, 168 px to 11 x 11 (methods 3.1). Input is RGB with
ImageNet's mean and standard deviation, the whole frame squashed to a square. `Backbone.fused` is a
faster form (``features.fused``).
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from rgwot.features.resnet import fuse, group, stem
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.tensors import UnreadableTensors, load_tensors

NAME = "resnet50"
LAYER = "conv4c"
CHANNELS = 1024
STRIDE = 16
#: torchvision's IMAGENET1K_V1; the name ends in the first digits of its SHA-256, which is checked.
IMAGENET_URL = "https://download.pytorch.org/models/resnet50-0676ba61.pth"
MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)
TRANSFORM = f"RGB, whole frame squashed to a square, divided by 255, mean {MEAN}, std {STD}"
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}

#: Weight of the last batch norm of every block when the weights are random. A small residual branch lets more
#: of the picture through an untrained network: a linear probe rises from 0.88 to 0.96 (7 objects, 112 px).
RANDOM_BRANCH_WEIGHT = 0.2

_BLOCKS_OF_LAYER3 = 3
_COUNTER = "num_batches_tracked"


class Backbone(nn.Module):
    """ResNet-50 up to conv4c, frozen and in inference mode.

    The parameters keep torchvision's names (``conv1``, ``bn1``, ``layer1`` to ``layer3``).

    Parameters
    ----------
    precision
        ``float32``, or ``bfloat16`` (autocast): relative error about 1e-2, twice as fast where supported.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, precision: str = "float32") -> None:
        super().__init__()
        if precision not in PRECISIONS:
            raise ValueError(f"precision {precision!r}, expected one of {', '.join(PRECISIONS)}")
        self.precision = precision
        # Layers draw an initialisation from the global generator, which belongs to the caller.
        with torch.random.fork_rng(devices=[]):
            self.conv1, self.bn1 = stem()
            self.relu = nn.ReLU(inplace=True)
            self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
            self.layer1 = group(64, 64, 3, stride=1)
            self.layer2 = group(256, 128, 4, stride=2)
            self.layer3 = group(512, 256, _BLOCKS_OF_LAYER3, stride=2)
        self.register_buffer("mean", torch.tensor(MEAN).view(1, 3, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(STD).view(1, 3, 1, 1), persistent=False)
        self.requires_grad_(False)
        self.to(memory_format=torch.channels_last)
        self.eval()

    def train(self, mode: bool = True) -> Backbone:
        """Stay in inference mode: the batch-norm statistics are part of the frozen weights."""
        return super().train(False)

    def fused(self) -> Backbone:
        """Return a copy with every batch norm taken into its convolution: the same maps to 1e-5, in less time.

        Batch norm by itself is one more way through memory. Parameters and digest of the copy are no longer
        torchvision's.
        """
        copied = copy.deepcopy(self)
        fuse(copied)
        return copied.requires_grad_(False).to(memory_format=torch.channels_last)

    @torch.inference_mode()
    def forward(self, frames: Tensor) -> Tensor:
        """Return the conv4c maps of a batch of frames.

        Parameters
        ----------
        frames
            RGB, ``(B, H, W, 3)`` or ``(B, 3, H, W)``: uint8, or floating point in [0, 1].

        Returns
        -------
        Tensor
            ``(B, 1024, ceil(H / 16), ceil(W / 16))`` float32, non-negative.
        """
        device_type = self.mean.device.type
        with torch.autocast(device_type, torch.bfloat16, enabled=self.precision == "bfloat16"):
            maps = self.maxpool(self.relu(self.bn1(self.conv1(self.normalise(frames)))))
            maps = self.layer3(self.layer2(self.layer1(maps)))
        features: Tensor = maps.float()
        return features

    def normalise(self, frames: Tensor) -> Tensor:
        """Scale frames to ``(B, 3, H, W)`` float32 with ImageNet's mean and standard deviation."""
        if frames.ndim != 4 or 3 not in (frames.shape[1], frames.shape[-1]):
            raise ValueError(f"frames {tuple(frames.shape)}, expected (B, H, W, 3) or (B, 3, H, W)")
        if frames.shape[-1] == 3:
            frames = frames.permute(0, 3, 1, 2)
        if frames.dtype == torch.uint8:
            frames = frames.float() / 255
        elif not frames.is_floating_point():
            raise ValueError(f"frames {frames.dtype}, expected uint8 or floating point in [0, 1]")
        frames = (frames.float() - self.mean) / self.std
        return frames.contiguous(memory_format=torch.channels_last)

    def extra_repr(self) -> str:
        """Name the precision in the printed form."""
        return f"precision={self.precision}"


def map_size(size: int) -> int:
    """Return the side of the conv4c map of a square frame of ``size`` pixels (168 to 11, 112 to 7)."""
    return -(-size // STRIDE)


def load_backbone(weights: str, seed: int = 0, precision: str = "float32") -> Backbone:
    """Build the frozen network with the weights asked for, on the CPU.

    Parameters
    ----------
    weights
        ``imagenet1k_v1`` (torchvision's, downloaded once into torch's cache), ``random`` (He initialisation
        from ``seed``, for runs without a network connection), or the path of a checkpoint of torchvision's
        ``resnet50``: a state dict, plain or under the key ``state_dict``; a prefix ``module.`` is dropped.
    seed
        Seeds the random weights. The global generator of torch is left alone.
    precision
        See `Backbone`.

    Raises
    ------
    RgwotError
        When the download fails, or the checkpoint is missing, unreadable or lacks part of conv4c.
    """
    backbone = Backbone(precision)
    if weights == "random":
        _initialise(backbone, seed)
    elif weights == "imagenet1k_v1":
        _load(backbone, _download(), weights)
    else:
        _load(backbone, _read_checkpoint(Path(weights)), weights)
    return backbone


def weights_digest(backbone: Backbone) -> str:
    """Return the SHA-256 of the conv4c weights: names, shapes and float32 values in the order of the names.

    Neither the layers above conv4c nor batch norm's step counter change it, so a whole checkpoint and a
    truncated one with the same values agree.
    """
    digest = hashlib.sha256()
    for name, tensor in sorted(backbone.state_dict().items()):
        if name.endswith(_COUNTER):
            continue
        digest.update(f"{name}{tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().to(torch.float32).contiguous().numpy().astype("<f4").tobytes())
    return digest.hexdigest()


def _initialise(backbone: Backbone, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    for name, module in backbone.named_modules():
        if isinstance(module, nn.Conv2d):
            values = torch.empty(module.weight.shape)
            nn.init.kaiming_normal_(values, mode="fan_out", nonlinearity="relu", generator=generator)
            module.weight.copy_(values)
        elif name.endswith("bn3"):
            nn.init.constant_(module.weight, RANDOM_BRANCH_WEIGHT)


def _download() -> Mapping[str, Tensor]:
    try:
        state: Mapping[str, Tensor] = torch.hub.load_state_dict_from_url(
            IMAGENET_URL, progress=False, check_hash=True, weights_only=True
        )
    except (OSError, RuntimeError) as error:
        raise RgwotError(
            f"weights imagenet1k_v1: could not be downloaded ({_first_line(error)}); set features.weights "
            "to the path of a torchvision resnet50 checkpoint (like /path/to/checkpoint.pth), or to random"
        ) from error
    return state


def _read_checkpoint(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        raise RgwotError(
            f"weights {path}: no such file; expected imagenet1k_v1, random or a path of a resnet50 checkpoint"
        )
    try:
        content = load_tensors(path)
    except UnreadableTensors as error:
        raise RgwotError(
            f"weights {path}: not a checkpoint of plain tensors ({error.why}); expected a state dict saved by "
            "torch.save; copy it again"
        ) from None
    if isinstance(content, Mapping) and isinstance(content.get("state_dict"), Mapping):
        content = content["state_dict"]
    if not isinstance(content, Mapping):
        raise RgwotError(f"weights {path}: holds a {type(content).__name__}, expected a state dict")
    return {str(name).removeprefix("module."): value for name, value in content.items()}


def _load(backbone: Backbone, state: Mapping[str, Any], source: str) -> None:
    needed = {name: value for name, value in backbone.state_dict().items() if not name.endswith(_COUNTER)}
    missing = [name for name in needed if name not in state]
    if missing:
        raise RgwotError(
            f"weights {source}: {len(missing)} of {len(needed)} tensors of {LAYER} are missing, first "
            f"{missing[0]!r}; expected torchvision's names for resnet50"
        )
    for name, value in needed.items():
        found = state[name]
        shape = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
        if shape != tuple(value.shape):
            raise RgwotError(f"weights {source}: {name} is {shape}, expected {tuple(value.shape)}")
    backbone.load_state_dict({name: state[name] for name in needed}, strict=False)


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
