"""All settings of an experiment: the blocks, collected from the packages of their functions, and their validation.

The blocks of ``config.yaml``, the keys of experiment ids and the option tables of the documentation all follow from
these classes; a test fails when they drift apart. The default of every key is the family ``rgwot``: the paper, and our
reading where the paper is silent or cannot be meant (methods 7).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from rgwot.baselines.settings import GraphSettings, RegressionSettings
from rgwot.blocks import Block
from rgwot.config.methods import DecodeSettings, LossSettings, TransportSettings
from rgwot.embedding.settings import DataSettings, EncoderSettings, TrainSettings, WhitenSettings
from rgwot.evaluation import EvaluationSettings
from rgwot.features.settings import EXECUTION as FEATURES_EXECUTION
from rgwot.features.settings import FeatureSettings
from rgwot.keysteps.settings import (
    ConsensusSettings,
    GraphcutSettings,
    LabelledSettings,
    MeanfieldSettings,
    ProcedureSettings,
)
from rgwot.losses.settings import CidmSettings
from rgwot.runtime.errors import RgwotError, nearest

Model = TypeVar("Model", bound=BaseModel)

#: Blocks that extensions bring (`rgwot.config.extensions`), by name.
ADDED_BLOCKS: dict[str, type[Block]] = {}


class Settings(Block):
    """All settings of one experiment on one dataset: the blocks below, and `ADDED_BLOCKS`."""

    # Blocks of extensions are extra keys; `_added` refuses any other.
    model_config = ConfigDict(extra="allow")

    features: FeatureSettings = FeatureSettings()
    ot: TransportSettings = TransportSettings()
    loss: LossSettings = LossSettings()
    cidm: CidmSettings = CidmSettings()
    encoder: EncoderSettings = EncoderSettings()
    train: TrainSettings = TrainSettings()
    data: DataSettings = DataSettings()
    regression: RegressionSettings = RegressionSettings()
    graph: GraphSettings = GraphSettings()
    whiten: WhitenSettings = WhitenSettings()
    decode: DecodeSettings = DecodeSettings()
    labelled: LabelledSettings = LabelledSettings()
    procedure: ProcedureSettings = ProcedureSettings()
    graphcut: GraphcutSettings = GraphcutSettings()
    meanfield: MeanfieldSettings = MeanfieldSettings()
    consensus: ConsensusSettings = ConsensusSettings()
    evaluation: EvaluationSettings = EvaluationSettings()

    @model_validator(mode="before")
    @classmethod
    def _added(cls, content: Any) -> Any:
        """Make the blocks of extensions, with their defaults if they are left out."""
        if not isinstance(content, Mapping):
            return content
        fields = keys_at([], cls)
        for name in content:
            if name not in fields and name not in ADDED_BLOCKS:
                unknown = f"unknown key {name!r}; {nearest(str(name), [*fields, *ADDED_BLOCKS])}"
                raise PydanticCustomError("unknown", "{found}", {"found": unknown})
        try:
            added = {name: validated(block, content.get(name, {}), name) for name, block in ADDED_BLOCKS.items()}
        except RgwotError as error:
            raise PydanticCustomError("unknown", "{found}", {"found": str(error)}) from None
        return {**content, **added}

    @model_validator(mode="after")
    def _something_trains(self) -> Self:
        if self.loss.alignment == "none" and not self.cidm.gradient:
            raise ValueError(
                "loss.alignment none and cidm.gradient false leave nothing to train; change one of the two"
            )
        return self


BLOCKS: tuple[str, ...] = tuple(Settings.model_fields)
"""Blocks of the library."""


def known_blocks() -> tuple[str, ...]:
    """Return the names of all blocks; blocks of extensions come last."""
    return (*BLOCKS, *ADDED_BLOCKS)


#: Keys that affect how a job runs, but no result.
EXECUTION: tuple[str, ...] = (
    *(f"features.{key}" for key in FEATURES_EXECUTION),
    "train.memory_gb",
    "train.save_every_s",
)


def flatten(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Turn nested blocks into dotted keys: ``{"ot": {"alpha": 0.5}}`` becomes ``{"ot.alpha": 0.5}``."""
    return {f"{block}.{key}": value for block, keys in settings.items() for key, value in keys.items()}


def defaults() -> dict[str, Any]:
    """Return the default of every dotted key (the family ``rgwot``)."""
    return flatten(Settings().model_dump(by_alias=True))


def build(values: Mapping[str, Any], where: str) -> Settings:
    """Make settings from dotted keys on top of the defaults.

    Parameters
    ----------
    values
        Dotted keys and their values.
    where
        The source of the values in errors, such as ``config.yaml`` or an experiment id.
    """
    nested: dict[str, dict[str, Any]] = {}
    for dotted, value in values.items():
        block, key = dotted.split(".", 1)
        nested.setdefault(block, {})[key] = value
    return validated(Settings, nested, where)


def validated(model: type[Model], content: Any, where: str) -> Model:
    """Return a model with this content; raise RgwotError, a line with ``where`` and the first wrong key, if invalid."""
    try:
        return model.model_validate(content)
    except RgwotError as error:
        raise RgwotError(f"{where}: {error}") from None
    except ValidationError as error:
        raise RgwotError(f"{where}: {describe(error, model)}") from None


def describe(error: ValidationError, model: type[BaseModel]) -> str:
    """Return a validation error of a model in one line: key, found value, expected value."""
    first = error.errors()[0]
    # Pydantic adds the names of a union's members to the location; they are left out, because only keys help the
    # reader.
    parts = [str(part) for part in first["loc"]]
    key = ".".join(part for part in parts if not part.startswith(("constrained", "literal[", "function-")))
    if first["type"] == "extra_forbidden":
        *parents, name = first["loc"]
        return f"unknown key {key!r}; {nearest(str(name), keys_at(parents, model))}"
    message = first["msg"].removeprefix("Value error, ")
    if not key:
        return message
    if first["input"] is None and first["type"] in ("model_type", "dict_type", "tuple_type"):
        return f"{key}: empty; give it keys or values, or leave it out"
    if first["type"] == "tuple_type":
        return f"{key}: found {first['input']!r}, expected a list, such as [{first['input']}]"
    # The message about a whole block names the faulty key itself, so the content of the block is not quoted.
    whole = first["type"] == "value_error" and isinstance(first["input"], Mapping)
    ending = "" if whole or first["type"] in ("missing", "unknown") else f", found {first['input']!r}"
    # Without quotes, YAML reads some names as numbers, booleans or null.
    quotes = (
        "; put it in quotes" if first["type"] == "string_type" and not isinstance(first["input"], list | dict) else ""
    )
    return f"{key}: {message}{ending}{quotes}"


def keys_at(parents: list[Any], model: type[BaseModel]) -> list[str]:
    """Return the keys allowed at a location: of blocks, optional blocks, and tuples or dictionaries of blocks."""
    for part in parents:
        named = {field.alias or name: field.annotation for name, field in model.model_fields.items()}
        # A part that is not a field, such as the id of a dataset, is a name that the user gave; the model stays.
        model = next(iter(_models_in(named.get(part))), model)
    return [field.alias or name for name, field in model.model_fields.items()]


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return [annotation] if issubclass(annotation, BaseModel) else []
    return [model for argument in get_args(annotation) for model in _models_in(argument)]
