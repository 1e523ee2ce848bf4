"""The frozen image network: an extractor and its weights, which turn frames into maps (methods 3.1).

The input is RGB, standardised per colour, and the whole frame is resized to a square. `Backbone.fused` is a faster
variant (``features.fused``).
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import cast

import torch
from torch import Tensor, nn

from rgwot.features.settings import Extractor, extractor
from rgwot.runtime.errors import RgwotError, first_line
from rgwot.runtime.tensors import UnreadableTensors, load_tensors

_COUNTER = "num_batches_tracked"


class Backbone(nn.Module):
    """An extractor's network, frozen and in inference mode.

    Its precision is ``float32``, or ``bfloat16`` (autocast): relative error about 1e-2, twice as fast where supported.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, entry: Extractor, precision: str) -> None:
        super().__init__()
        self.entry = entry
        self.precision = precision
        # Layers draw their initialisation from the global generator, which belongs to the caller.
        with torch.random.fork_rng(devices=[]):
            make = import_module(entry.module).network
            self.network: nn.Module = make(entry.member) if entry.member else make()
        self.register_buffer("mean", torch.tensor(entry.mean).view(1, 3, 1, 1))
        self.register_buffer("std", torch.tensor(entry.std).view(1, 3, 1, 1))
        self.requires_grad_(False)
        self.to(memory_format=torch.channels_last)
        self.eval()

    def train(self, mode: bool = True) -> Backbone:
        """Stay in inference mode: the batch-norm statistics are part of the frozen weights."""
        return super().train(False)

    def fused(self) -> Backbone:
        """Return a copy with every batch norm folded into its convolution: the same maps to 1e-6, but faster.

        A separate batch norm reads and writes all values once more. The copy no longer has the parameters and the
        digest of the weights.
        """
        from torch.fx.experimental.optimization import fuse

        copied = copy.deepcopy(self)
        # A traced model that was copied is in training mode, so it is set to evaluation again.
        try:
            copied.network = fuse(copied.network.eval(), inplace=True)
        except Exception as error:  # noqa: BLE001 - tracing runs the model's own code, which may raise anything
            raise RgwotError(
                f"features.fused: network {self.entry.name} cannot be traced ({first_line(error)[:120]}); "
                "set features.fused to false"
            ) from None
        return copied.requires_grad_(False).to(memory_format=torch.channels_last)

    @torch.inference_mode()
    def forward(self, frames: Tensor) -> Tensor:
        """Return the maps of a batch of RGB frames, ``(B, H, W, 3)`` uint8, as float32.

        They are ``(B, channels, ceil(H / stride), ceil(W / stride))``; members of a family may give vectors,
        ``(B, D)``, and maps of any size. The maps of ResNet-50 have 1024 channels, stride 16 and no negative value.
        """
        device_type = self.mean.device.type
        with torch.autocast(device_type, torch.bfloat16, enabled=self.precision == "bfloat16"):
            maps_out = self.network(self.normalise(frames))
            if maps := getattr(import_module(self.entry.module), "maps", None):
                maps_out = maps(self.entry.member, maps_out)
        return cast(Tensor, maps_out.float())

    def frame_shape(self, size: int) -> tuple[int, ...]:
        """Return the shape of the features of a square frame: (C, h, w) of maps, (D,) of vectors.

        Raises RgwotError if the network does not accept frames of that size, or its layer gives neither maps nor
        vectors.
        """
        if not self.entry.member:
            return (self.entry.channels, self.entry.side(size), self.entry.side(size))
        try:
            maps_out = self(torch.zeros(1, size, size, 3, dtype=torch.uint8, device=self.mean.device))
        except Exception as error:  # noqa: BLE001 - the code of any model, which may raise anything
            raise RgwotError(
                f"network {self.entry.name}: does not accept frames of {size} x {size} pixels "
                f"({first_line(error)[:120]}); set features.size to a size that it accepts, such as 224"
            ) from None
        if maps_out.ndim not in (2, 4):
            raise RgwotError(
                f"network {self.entry.name}: its layer gives {tuple(maps_out.shape)} for a frame; expected a map or a "
                "vector; name another layer"
            )
        return tuple(maps_out.shape[1:])

    def normalise(self, frames: Tensor) -> Tensor:
        """Scale frames ``(B, H, W, 3)`` uint8 to ``(B, 3, H, W)`` with the extractor's mean and standard deviation."""
        scaled = (frames.permute(0, 3, 1, 2).float() / 255 - self.mean) / self.std
        return scaled.contiguous(memory_format=torch.channels_last)


def load_backbone(weights: str, seed: int, precision: str, name: str) -> Backbone:
    """Build the frozen network with the requested weights, on the CPU.

    ``weights`` is a name of the extractor's weights, such as ``imagenet1k_v1`` (downloaded once into PyTorch's cache,
    or installed with a Python package); ``random`` (drawn from ``seed``, for runs without a network connection, without
    changing PyTorch's global generator); or the path of a checkpoint: a state dict, plain or under the key
    ``state_dict``, where a prefix ``module.`` is dropped.

    Raises RgwotError if the download fails, or the checkpoint is missing, unreadable or incomplete.
    """
    entry = extractor(name)
    backbone = Backbone(entry, precision)
    if weights == "random":
        import_module(entry.module).randomise(backbone.network, torch.Generator().manual_seed(seed))
    else:
        place = Path(weights) if entry.is_file(weights) else entry.packaged(weights)
        state = _download(weights, entry) if place is None else _checkpoint(place, entry)
        _fill(backbone, state, weights)
    return backbone


def weights_digest(backbone: Backbone) -> str:
    """Return the SHA-256 of the weights in use: names, shapes and float32 values, sorted by name.

    Batch norm's step counter and the layers above the extractor's are left out, so a truncated checkpoint has the same
    digest.
    """
    digest = hashlib.sha256()
    for name, tensor in sorted(_weights(backbone).items()):
        digest.update(f"{name}{tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().to(torch.float32).contiguous().numpy().astype("<f4").tobytes())
    return digest.hexdigest()


def _weights(backbone: Backbone) -> dict[str, Tensor]:
    return {name: value for name, value in backbone.network.state_dict().items() if not name.endswith(_COUNTER)}


def _download(weights: str, entry: Extractor) -> Mapping[str, object]:
    try:
        if entry.member:
            return cast(Mapping[str, object], import_module(entry.module).weights(entry.member, weights))
        return torch.hub.load_state_dict_from_url(
            entry.weights[weights], progress=False, check_hash=True, weights_only=True
        )
    except (OSError, RuntimeError) as error:
        raise RgwotError(
            f"weights {weights}: could not be downloaded ({first_line(error)}); set features.weights to the path of a "
            f"{entry.source} {entry.name} checkpoint (like /path/to/checkpoint.pth), or to random"
        ) from error


def _checkpoint(path: Path, entry: Extractor) -> Mapping[str, object]:
    if not path.is_file():
        expected = ", ".join([*entry.weights, "random"])
        raise RgwotError(f"weights {path}: no such file; expected {expected} or the path of a {entry.name} checkpoint")
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


def _fill(backbone: Backbone, state: Mapping[str, object], source: str) -> None:
    entry, needed = backbone.entry, _weights(backbone)
    missing = [name for name in needed if name not in state]
    if missing:
        raise RgwotError(
            f"weights {source}: {len(missing)} of {len(needed)} tensors of {entry.layer} are missing, first "
            f"{missing[0]!r}; expected {entry.source}'s names for {entry.name}"
        )
    for name, value in needed.items():
        weights = state[name]
        shape = tuple(weights.shape) if isinstance(weights, Tensor) else type(weights).__name__
        if shape != tuple(value.shape):
            raise RgwotError(f"weights {source}: {name} is {shape}, expected {tuple(value.shape)}")
    backbone.network.load_state_dict({name: state[name] for name in needed}, strict=False)
