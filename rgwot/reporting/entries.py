"""Entries of ``workflow/tables.yaml``, tables and figures alike: their base, and how errors in them are reported."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, model_validator

from rgwot.config.settings import describe
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.yaml_text import read_yaml

Model = TypeVar("Model", bound=BaseModel)
Canonical = Callable[[str, str | None], tuple[str, str | None]]
"""From method and decoder of an entry (None: it has none) to their one spelling."""
KEYS = ("datasets", "tables", "figures", "shared", "made")


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


def read_entries(path: Path) -> dict[str, Any]:
    """Read the file of tables and figures; every key that it lacks is an empty mapping."""
    content = read_yaml(path)
    if not isinstance(content, dict) or not set(content) <= set(KEYS):
        found = sorted(map(str, content)) if isinstance(content, dict) else type(content).__name__
        raise RgwotError(f"{path}: found {found}, expected the keys {', '.join(KEYS)}")
    for key in ("datasets", "tables", "figures", "made"):
        if not isinstance(content.setdefault(key, {}), dict):
            raise RgwotError(f"{path}: {key}: found {type(content[key]).__name__}, expected names with their entries")
    return content


def named(content: Mapping[str, Any], key: str, path: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the name of every table or figure, where it is in the file, and its entry with this name as ``id``."""
    for name, entry in content[key].items():
        where = f"{path}: {key.removesuffix('s')} {str(name)!r}"
        if not re.fullmatch(r"[a-z][a-z0-9_]*", str(name)):
            raise RgwotError(f"{where}: expected a lower-case word like teaser, it names a file")
        if not isinstance(entry, dict):
            raise RgwotError(f"{where}: found {type(entry).__name__}, expected keys such as title and kind")
        yield str(name), where, {**entry, "id": str(name)}


def datasets_in_print(content: Mapping[str, Any], path: Path) -> dict[str, DatasetName]:
    """Return what the file calls datasets in print."""
    return {name: checked(DatasetName, one, f"{path}: dataset {name!r}") for name, one in content["datasets"].items()}


def checked(model: type[Model], content: Any, where: str, context: Mapping[str, Any] | None = None) -> Model:
    """Return an entry as its model.

    Raises
    ------
    RgwotError
        One line: ``where``, the key, what was found, what was expected.
    """
    try:
        return model.model_validate(content, context=context)
    except RgwotError as error:
        raise RgwotError(f"{where}: {error}") from None
    except ValidationError as error:
        raise RgwotError(f"{where}: {describe(error, model)}") from None
