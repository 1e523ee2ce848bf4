"""Settings of a synthetic dataset."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from rgwot.blocks import Block


class SynthSettings(Block):
    """The content of a synthetic dataset; by default, shares and distances are the means of EgoProceL's 16 tasks."""

    layout: Literal["folder"] = Field("folder", description="folder: one folder per task")
    tasks: tuple[str, ...] = Field(("assembly",), min_length=1, description="tasks to write")
    K: int = Field(7, ge=2, le=40, description="key steps of a task")
    n_videos: int = Field(10, ge=1, description="videos per task")
    min_s: float = Field(40.0, gt=1.0, description="shortest clip, seconds")
    max_s: float = Field(90.0, gt=1.0, description="longest clip, seconds")
    foreground: float = Field(0.38, gt=0.02, le=1.0, description="mean share of a clip that is a key step")
    missing: float = Field(0.12, ge=0.0, le=0.6, description="share of the key steps absent from a video")
    repeated: float = Field(0.49, ge=0.0, le=0.8, description="1 - distinct steps / step segments, pooled over videos")
    order_distance: float = Field(
        0.13,
        ge=0.0,
        le=0.5,
        description="mean normalised Kendall distance between the step orders of two videos",
    )
    width: int = Field(320, ge=64, multiple_of=2, description="frame width, pixels")
    height: int = Field(240, ge=64, multiple_of=2, description="frame height, pixels")
    seed: int = Field(0, ge=0, description="one seed for the ground truth and the pictures")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.max_s < self.min_s:
            raise ValueError(f"max_s: found {self.max_s:g}, expected at least min_s = {self.min_s:g}")
        if len(set(self.tasks)) != len(self.tasks):
            raise ValueError(f"tasks: found {', '.join(self.tasks)}; expected every task once")
        return self
