"""The base of the blocks of settings, and the types of their values.

A block is defined beside the functions that take it; `rgwot.config.settings.Settings` collects them. What several
functions share of a block, such as the temperature in ``loss``, is a class that their own classes extend: the class in
the signature of a function says which keys it reads.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Fraction01 = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]


class Block(BaseModel):
    """Base of every block and of parts of one: immutable, and an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, allow_inf_nan=False)

    #: Name of the block in ``config.yaml``.
    BLOCK: ClassVar[str] = ""

    @classmethod
    @cache
    def dotted(cls) -> tuple[str, ...]:
        """Return its keys as they stand in ids, such as ``ot.alpha``."""
        return tuple(f"{cls.BLOCK}.{field.alias or name}" for name, field in cls.model_fields.items())
