"""The base of the blocks of settings, and the types of their values.

A block is defined beside the functions that take it; `rgwot.config.settings.Settings` collects all blocks. If several
functions share keys of a block, such as the temperature in ``loss``, a base class has these keys, and the class of each
function extends it. The class in the signature of a function therefore tells which keys the function reads.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from rgwot.timing import rate_text

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Fraction01 = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]
# A rate, given as a number or a text, and kept as a text in exact form.
Rate = Annotated[float | str, AfterValidator(rate_text)]


class Block(BaseModel):
    """Base of all blocks and their parts: immutable, with an error for unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, allow_inf_nan=False)

    #: Name of the block in ``config.yaml``.
    BLOCK: ClassVar[str] = ""

    @classmethod
    @cache
    def dotted(cls) -> tuple[str, ...]:
        """Return the dotted keys of the block, such as ``ot.alpha``."""
        return tuple(f"{cls.BLOCK}.{field.alias or name}" for name, field in cls.model_fields.items())
