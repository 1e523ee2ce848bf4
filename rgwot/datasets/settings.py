"""Settings of datasets: the layouts of their files, and features made elsewhere, about which nothing is guessed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from rgwot.blocks import Block, Rate

LAYOUTS: Mapping[str, str] = {
    "folder": "one folder per task",
    "egoprocel": "the whole EgoProceL tree, 16 tasks",
    "features": "features without videos, one folder per task",
    "packed": "features of all videos in one archive, with its table of segments",
    "frame_labels": "features with a line of annotation per frame, as FACT, MS-TCN and ASOT have them",
    "procel": "ProceL as released, 12 tasks",
    "procel_csv": "ProceL converted to EgoProceL's columns",
    "procel_stepfirst": "ProceL converted to CrossTask's columns",
    "crosstask": "the CrossTask release, 18 tasks",
}

FEATURES_ALONE = ("features", "packed", "frame_labels")
"""Layouts of features without videos."""

EITHER = ("egoprocel", "crosstask")
"""Layouts in which features may take the place of the videos."""

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
        "the body, whose points get mean 0 and mean squared distance 1 in every frame; axes are TC",
    )
    key: str | None = Field(None, description="array inside the file, where it holds several")
    channels: Annotated[int, Field(ge=1)] | None = Field(
        None, description="channels that every file must have; null: any number, the same in a whole task"
    )
    every: int = Field(1, ge=1, description="use only every n-th feature, of `fps` per second in the file")
    window: Annotated[int, Field(ge=1)] | None = Field(
        None,
        description="instead of fps or times: native frames that one feature stands for, at the time of the middle "
        "one; their rate is native_fps, or in `rates`",
    )
    rates: str | None = Field(
        None,
        min_length=1,
        description="CSV with the columns video and fps, such as a manifest, if files have rates of their own: every "
        "n-th feature is taken, so that `fps` are left; beside window the frame rates of the videos, with frames (or "
        "duration_s)",
    )
    start_s: float = Field(0.0, ge=0, description="time of the first feature, seconds; `times` say it themselves")
    native_fps: Rate | None = Field(
        None,
        description="frame rate of the videos, whose frames are scored, for features without videos, and for `window` "
        "without `rates`; null: same as fps",
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
                raise ValueError("window: found beside fps, times or start_s; remove these, or window")
            if self.native_fps is None and self.rates is None:
                raise ValueError(
                    "native_fps: Field required with window, the frame rate of the videos; or set rates, a CSV"
                )
            return self
        if self.rates is not None and self.fps is None:
            raise ValueError(
                "rates: found without window or fps; set fps, the features per second to take from every file"
            )
        if self.fps is None and self.times is None:
            raise ValueError(
                "fps: Field required, features per second; or set times, the array with the time of every feature"
            )
        if self.keypoints is not None and (self.axes != "TC" or self.key is not None or self.times is not None):
            raise ValueError(
                "keypoints: found other axes than TC, a key or times; expected axes: TC and fps, without key and times"
            )
        if self.times is not None and self.start_s:
            raise ValueError(
                "start_s and times are both set; remove start_s, because times already say when the features begin"
            )
        return self


class ImportedFeatures(ImportSettings):
    """Features of a dataset made elsewhere, one file per video."""

    folder: str | None = Field(
        None,
        description="a key of `roots`, or a path; holds <task>/<video>.npy or <video>.npy, or .npz, .h5, .hdf5, .pt, "
        ".csv, .mat; in the layout `features` it is the root",
    )
