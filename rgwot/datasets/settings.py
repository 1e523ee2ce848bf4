"""Settings of datasets: layouts and their options, and features made elsewhere, about which nothing is guessed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from rgwot.blocks import Block, Rate

LAYOUTS: Mapping[str, str] = {
    "folder": "one folder per task",
    "egoprocel": "the whole EgoProceL tree, 16 tasks",
    "features": "features without videos, one folder per task",
    "packed": "features of all videos in one archive, with its table of segments",
    "frame_labels": "features with a line of annotation per frame, as in FACT, MS-TCN and ASOT",
    "procel": "ProceL as released, 12 tasks",
    "crosstask": "the CrossTask release, 18 tasks",
}

FEATURES_ALONE = ("features", "packed", "frame_labels")
"""Layouts of features without videos."""

EITHER = ("egoprocel", "crosstask")
"""Layouts in which features may take the place of the videos."""

REMOVED = ("procel_csv", "procel_stepfirst")
"""Layouts of earlier versions."""


class LayoutOptions(Block):
    """Options of a dataset in the configuration; each layout uses some of them."""

    view: str | None = Field(
        None,
        description="camera, where a take was filmed by several: number, or ego, back, top",
    )
    subset: str | None = Field(
        None, description="registered dataset to which the files belong, if this one has another id"
    )
    strict: bool = Field(False, description="a video or annotation without its partner is an error, not a warning")
    unannotated: Literal["leave_out", "keep"] | None = Field(
        None, description="published datasets: videos without annotation are left out, or kept for training"
    )
    drop_rows: tuple[str, ...] = Field((), description="ProceL: names whose rows of readme.txt are deleted first")
    frames_fps: Rate | Literal["file"] | None = Field(
        None,
        description="for videos that are frames stored in .h5 files (dataset images, uint8, blue first): their rate, "
        "like 30000/1001, or file if each file has the rate as attribute fps",
    )
    pattern: str | None = Field(
        None,
        description="layouts of published features: regular expression of a whole name, whose group `task` is the "
        "task; default: of the registered dataset, or a single task",
    )
    background: tuple[str, ...] = Field((), description="frame_labels: names that are not key steps, such as SIL")
    mapping: str = Field("mapping.txt", description="layout frame_labels: file with number and name of every step")
    split: str | None = Field(
        None,
        description="only these videos; layout packed: those of the official_split train or test; layout "
        "frame_labels: those in a list, such as splits/test.split1.bundle",
    )
    tier: str | None = Field(None, description="ELAN: the tier with the steps, if there are several")
    silence: Literal["throughout", "until", "only"] | None = Field(
        None,
        description="how time without a segment is read where annotated videos teach others: as background "
        "(throughout); as background until the last segment, then unknown (until); as anything but the annotated "
        "steps (only); without it, background between the first and the last segment, otherwise unknown",
    )
    labels_fps: Rate | None = Field(
        None,
        description="frames per second of annotations that count frames (MS-TCN); without it, .txt files are not "
        "annotations",
    )

    @field_validator("view", mode="before")
    @classmethod
    def _numbered(cls, view: object) -> object:
        return str(view) if type(view) is int else view

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str | None) -> str | None:
        try:
            re.compile(pattern or "")
        except re.error:
            raise ValueError("expected a regular expression") from None
        return pattern


class Options(LayoutOptions):
    """Options as a layout reads them."""

    features_alone: bool = Field(False, description="features take the place of the videos")

    @property
    def told_fps(self) -> Fraction | None:
        """Frames per second of stored frames, if their file does not contain the rate."""
        return None if self.frames_fps in (None, "file") else Fraction(self.frames_fps)


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
        description="array inside the file with the time of every feature in seconds; for a .csv, a column; for an "
        ".npy, the file NAME.times.npy next to it",
    )
    keypoints: Literal["image", "body"] | None = Field(
        None,
        description="the files hold tracked points (DeepLabCut, SLEAP, tables): positions in the image, or relative to "
        "the body, whose points get mean 0 and mean squared distance 1 in every frame; axes are TC",
    )
    key: str | None = Field(None, description="name of the array in a file that has several")
    channels: Annotated[int, Field(ge=1)] | None = Field(
        None, description="channels that every file must have; null: any number, the same in a whole task"
    )
    every: int = Field(1, ge=1, description="use only every n-th feature, of `fps` per second in the file")
    window: Annotated[int, Field(ge=1)] | None = Field(
        None,
        description="instead of fps or times: number of native frames per feature, whose time is that of the middle "
        "frame; the frame rate is native_fps, or in `rates`",
    )
    rates: str | None = Field(
        None,
        min_length=1,
        description="CSV with the columns video and fps, such as a manifest, if files have rates of their own: every "
        "n-th feature is used, so that `fps` per second are left; with window, fps is the frame rate of a video, and "
        "there is a column frames (or duration_s)",
    )
    start_s: float = Field(0.0, ge=0, description="time of the first feature, seconds; not together with `times`")
    native_fps: Rate | None = Field(
        None,
        description="frame rate of the videos, whose frames are scored: for features without videos, and for `window` "
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
