"""Scores of key steps against annotations: labels at native times, matching, protocols, the order of key steps."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from rgwot.blocks import Block, Count


class EvaluationSettings(Block):
    """Scoring (methods 2, 6)."""

    BLOCK: ClassVar[str] = "evaluation"

    stride: Count = Field(2, description="every stride-th native frame is scored; public code")
    also: Literal["none", "hiero"] = Field(
        "none", description="additional protocol in score files: HiERO's (methods 6.1)"
    )
