"""The figures as data, read from the key ``figures`` of the file that also defines the tables."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from rgwot.reporting.figures.interface import KINDS, Figure, kind_of
from rgwot.reporting.tables.models import DatasetName
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.runtime.yaml_text import read_yaml

Canonical = Callable[[str, str], tuple[str, str]]
Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class Figures:
    """All figures by id, and what the datasets are called in print."""

    figures: Mapping[str, Figure]
    names: Mapping[str, DatasetName]

    def figure(self, figure_id: str) -> Figure:
        """Return one figure by its id, or say which are known."""
        if figure_id not in self.figures:
            raise RgwotError(f"figure {figure_id!r}: not among the figures; {nearest(figure_id, self.figures)}")
        return self.figures[figure_id]


def load_figures(path: str | os.PathLike[str], canonical: Canonical = lambda *run: run) -> Figures:
    """Read and check the figures.

    Parameters
    ----------
    path
        The YAML file that defines tables and figures; without a key ``figures`` there are none. Files of reported
        numbers are looked up beside it.
    canonical
        Turns the method and decoder of a run, in any spelling, into the one spelling that paths use.

    Raises
    ------
    RgwotError
        One line: the figure and key, what was found, what was expected.
    """
    source = Path(path)
    content = read_yaml(source)
    parts = content if isinstance(content, dict) else {"figures": content}
    for key in ("figures", "datasets"):
        if not isinstance(parts.get(key, {}), dict):
            raise RgwotError(f"{source}: {key}: found {type(parts[key]).__name__}, expected names with their entries")
    names = {
        str(name): _valid(DatasetName, entry, f"{source}: dataset {str(name)!r}")
        for name, entry in parts.get("datasets", {}).items()
    }
    context = {"canonical": canonical, "folder": source.parent}
    figures = {
        str(name): _figure(str(name), entry, f"{source}: figure {str(name)!r}", context)
        for name, entry in parts.get("figures", {}).items()
    }
    return Figures(figures, names)


def _figure(figure_id: str, entry: Any, where: str, context: Mapping[str, Any]) -> Figure:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", figure_id):
        raise RgwotError(f"{where}: expected a lower-case word like teaser, it names a file")
    if not isinstance(entry, dict) or "kind" not in entry:
        raise RgwotError(f"{where}: found no kind, expected kind: one of {', '.join(KINDS)}")
    kind = str(entry["kind"])
    if kind not in KINDS:
        raise RgwotError(f"{where}: unknown kind {kind!r}; {nearest(kind, KINDS)}")
    return _valid(kind_of(kind), {**entry, "id": figure_id}, where, context)


def _valid(model: type[Model], content: Any, where: str, context: Mapping[str, Any] | None = None) -> Model:
    try:
        return model.model_validate(content, context=context)
    except RgwotError as error:
        raise RgwotError(f"{where}: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        known = _part_at(model, first["loc"][:-1]).model_fields
        raise RgwotError(f"{where}: unknown key {place!r}; {nearest(str(first['loc'][-1]), known)}")
    message = first["msg"].removeprefix("Value error, ")
    found = "" if first["type"] == "missing" else f", found {first['input']!r}"
    raise RgwotError(f"{where}: {place}: {message[0].lower()}{message[1:]}{found}")


def _part_at(model: type[BaseModel], place: tuple[int | str, ...]) -> type[BaseModel]:
    """Return the model that stands at a place of another."""
    for key in place:
        if key in model.model_fields:
            model = _model_in(model.model_fields[str(key)].annotation) or model
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)
