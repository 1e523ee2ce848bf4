"""Settings of frames and the frozen backbone."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from rgwot.blocks import Block, Count, Positive
from rgwot.config.extractors import extractor
from rgwot.runtime.errors import RgwotError


class FeatureSettings(Block):
    """Frames and the frozen backbone (methods 2, 3.1)."""

    BLOCK: ClassVar[str] = "features"

    fps: Positive = Field(2.0, description="samples per second, by time stamp")
    size: Annotated[int, Field(ge=32)] = Field(168, description="side of the squashed frame, pixels; paper's code")
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
        False, description="batch norm folded into the convolutions: a tenth faster, values differ by 1e-6, relative"
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
