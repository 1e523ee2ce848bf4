"""Settings of features made elsewhere; nothing is guessed."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator

from rgwot.config.settings import Block
from rgwot.timing import rate_text

IMPORTED = "imported"


class ImportSettings(Block):
    """Form, rate and origin of features made elsewhere."""

    axes: Literal["TCHW", "THWC", "TC", "CT"] = Field(
        description="order of the axes: T time, C the 1024 channels, H and W space; without space, h = w = 1"
    )
    fps: float | str = Field(description="features per second, may be an exact fraction like 30000/1001")
    key: str | None = Field(None, description="array inside the file, where it holds several")
    start_s: float = Field(0.0, ge=0, description="time of the first feature, seconds")
    on_mismatch: Literal["error", "trim"] = Field(
        "error",
        description="when rate, number of features and duration disagree by a sample or more: stop, or drop surplus "
        "features and mark a video with too few as partial",
    )
    backbone: str = Field(IMPORTED, min_length=1, description="name of the network, to record")
    weights: str = Field(IMPORTED, min_length=1, description="name of its weights, to record")

    @field_validator("fps")
    @classmethod
    def _exact(cls, fps: Any) -> str:
        return rate_text(fps)


class ImportedFeatures(ImportSettings):
    """Features of a dataset made elsewhere, one file per video."""

    folder: str = Field(
        description="a key of `roots`, or a path; holds <task>/<video>.npy or <video>.npy, or .npz, .h5, .hdf5, .pt"
    )
