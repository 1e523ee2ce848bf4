"""Entries of ``workflow/tables.yaml``, tables and figures alike: their base."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
    model_validator,
)

from rgwot.config.settings import validated
from rgwot.runtime.files import read_yaml

Canonical = Callable[[str, str | None], tuple[str, str | None]]
"""From method and decoder of an entry (None: it has none) to their one spelling."""
#: A lower-case word like teaser, it names a file.
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]


class Part(BaseModel):
    """Base of every entry: immutable, and an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)


class DatasetName(Part):
    """A dataset in print: its label, its name in the reported numbers, and how many tasks it has.

    With ``mean`` it stands for the mean over the other datasets of a table.
    """

    label: str
    reported: str | None = None
    n_tasks: Annotated[int, Field(ge=1)] | None = None
    mean: bool = False


def name_of(dataset: str, names: Mapping[str, DatasetName]) -> DatasetName | None:
    """Return what a dataset is called in print; one like ``meccano_fact`` is another form of ``meccano``."""
    return names.get(dataset) or names.get(dataset.rpartition("_")[0])


#: A file in the folder of the one with the entries.
Beside = Annotated[Path, AfterValidator(lambda file, info: info.context["folder"] / file if info.context else file)]


class Spelled(Part):
    """An entry whose method, and decoder if it has one, become what paths and scores call them."""

    @model_validator(mode="after")
    def _in_one_spelling(self, info: ValidationInfo) -> Self:
        if not info.context or info.context["canonical"] is None:
            return self
        given = {key: value for key, value in self if key in ("method", "decoder")}
        spelling = info.context["canonical"](given["method"], given.get("decoder"))
        return self.model_copy(update=dict(zip(given, spelling, strict=False)))


class Entries(Part):
    """The file of tables and figures, which are yet to be checked by their kinds."""

    datasets: dict[str, DatasetName] = {}
    tables: dict[Name, dict[str, Any]] = {}
    figures: dict[Name, dict[str, Any]] = {}
    shared: Any = None
    made: dict[str, dict[str, Any]] = {}


def read_entries(path: Path) -> Entries:
    """Read the file of tables and figures; every key may be lacking."""
    return validated(Entries, read_yaml(path), str(path))
