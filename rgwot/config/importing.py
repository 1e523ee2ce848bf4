"""Settings of features made elsewhere; nothing is guessed."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from rgwot.blocks import Block
from rgwot.config.settings import Rate

IMPORTED = "imported"


class ImportSettings(Block):
    """Form, rate and origin of features made elsewhere."""

    axes: Literal["TCHW", "THWC", "TC", "CT"] = Field(
        description="order of the axes: T time, C channels, H and W space; without space they are vectors"
    )
    fps: Rate | None = Field(
        None, description="features per second, may be an exact fraction like 30000/1001; needed unless there are times"
    )
    times: str | None = Field(
        None,
        min_length=1,
        description="array inside the file with the time of every feature in seconds; of a .csv a column; of an .npy "
        "the file NAME.times.npy next to it",
    )
    keypoints: Literal["image", "body"] | None = Field(
        None,
        description="the files hold tracked points (DeepLabCut, SLEAP, tables): positions in the image, or relative to "
        "the body, whose points get mean 0 and mean square 1 in every frame; axes are TC",
    )
    key: str | None = Field(None, description="array inside the file, where it holds several")
    channels: Annotated[int, Field(ge=1)] | None = Field(
        None, description="channels that every file must have; null: any number, the same in a whole task"
    )
    every: int = Field(1, ge=1, description="only every n-th feature is taken, of `fps` per second in the file")
    window: Annotated[int, Field(ge=1)] | None = Field(
        None,
        description="instead of fps or times: native frames that one feature stands for, at the time of the middle "
        "one; their rate is native_fps, or in `rates`",
    )
    rates: str | None = Field(
        None,
        min_length=1,
        description="CSV with the columns video, fps and frames (or duration_s), such as a manifest: of every video",
    )
    start_s: float = Field(0.0, ge=0, description="time of the first feature, seconds; `times` say it themselves")
    native_fps: Rate | None = Field(
        None,
        description="frame rate of the videos, whose frames are scored, where there are only features; null: as fps",
    )
    on_mismatch: Literal["error", "trim"] = Field(
        "error",
        description="when rate, number of features and duration disagree by a sample or more: stop, or drop surplus "
        "features and mark a video with too few as partial",
    )
    backbone: str = Field(IMPORTED, min_length=1, description="name of the network, to record")
    layer: str = Field(IMPORTED, min_length=1, description="name of its layer, to record")
    weights: str = Field(IMPORTED, min_length=1, description="name of its weights, to record")

    @model_validator(mode="after")
    def _when(self) -> Self:
        if self.window is not None:
            if self.fps is not None or self.times is not None or self.start_s:
                raise ValueError("window: found beside fps, times or start_s; expected one of them")
            if self.native_fps is None and self.rates is None:
                raise ValueError("native_fps: Field required beside window, the rate of the videos; or rates, a CSV")
            return self
        if self.rates is not None:
            raise ValueError("rates: found without window; expected both, the frames of a feature and their rate")
        if self.fps is None and self.times is None:
            raise ValueError("fps: Field required, features per second; or times, the array that holds them")
        if self.keypoints is not None and (self.axes != "TC" or self.key is not None or self.times is not None):
            raise ValueError("keypoints: expected axes TC and fps beside it, and neither key nor times")
        if self.times is not None and self.start_s:
            raise ValueError("start_s and times are both set; expected one of them, since times begin where they say")
        return self


class ImportedFeatures(ImportSettings):
    """Features of a dataset made elsewhere, one file per video."""

    folder: str | None = Field(
        None,
        description="a key of `roots`, or a path; holds <task>/<video>.npy or <video>.npy, or .npz, .h5, .hdf5, .pt, "
        ".csv, .mat; in the layout `features` it is the root",
    )
