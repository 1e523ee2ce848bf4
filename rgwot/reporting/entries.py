"""Entries of ``workflow/tables.yaml``, tables and figures alike: their base, and how errors in them are reported."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, model_validator

from rgwot.config.settings import keys_at
from rgwot.runtime.errors import RgwotError, nearest

Model = TypeVar("Model", bound=BaseModel)
Canonical = Callable[[str, str | None], tuple[str, str | None]]
"""From method and decoder of an entry (None: it has none) to their one spelling."""


class Part(BaseModel):
    """Base of every entry: immutable, and an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class DatasetName(Part):
    """A dataset in print: its label, its name in the reported numbers, and how many tasks it has."""

    label: str
    reported: str | None = None
    n_tasks: Annotated[int, Field(ge=1)] | None = None


def _beside(file: Path, info: ValidationInfo) -> Path:
    return info.context["folder"] / file if info.context else file


#: A file that lies beside the one with the entries.
Beside = Annotated[Path, AfterValidator(_beside)]


class Spelled(Part):
    """An entry whose method, and decoder where it has one, become what paths and scores call them."""

    @model_validator(mode="after")
    def _in_one_spelling(self, info: ValidationInfo) -> Self:
        if not info.context or info.context["canonical"] is None:
            return self
        told = {key: value for key, value in self if key in ("method", "decoder")}
        try:
            spelling = info.context["canonical"](told["method"], told.get("decoder"))
        except RgwotError as error:
            names = dict(self)
            what = (f"{kind} {names[key]!r}" for key, kind in (("id", "row"), ("label", "run")) if key in names)
            raise RgwotError(f"{next(what, 'experiment')}: {error}") from None
        return self.model_copy(update=dict(zip(told, spelling, strict=False)))


def section(content: Mapping[str, Any], key: str, source: Path) -> dict[str, Any]:
    """Return the entries below a key of the file by name; none where it has no such key."""
    entries = content.get(key, {})
    if not isinstance(entries, dict):
        raise RgwotError(f"{source}: {key}: found {type(entries).__name__}, expected names with their entries")
    return {str(name): entry for name, entry in entries.items()}


def datasets_in_print(content: Mapping[str, Any], source: Path) -> dict[str, DatasetName]:
    """Return what the file calls datasets in print."""
    entries = section(content, "datasets", source)
    return {name: checked(DatasetName, entry, f"{source}: dataset {name!r}") for name, entry in entries.items()}


def check_id(name: str, where: str, example: str) -> None:
    """Refuse the id of a table or figure that cannot name a file."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise RgwotError(f"{where}: expected a lower-case word like {example}, it names a file")


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
        first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        *parents, name = first["loc"]
        raise RgwotError(f"{where}: unknown key {place!r}; {nearest(str(name), keys_at(parents, model))}")
    message = first["msg"].removeprefix("Value error, ")
    told = [where, *([place] if place else []), message[0].lower() + message[1:]]
    found = f", found {first['input']!r}" if place and first["type"] != "missing" else ""
    raise RgwotError(": ".join(told) + found)
