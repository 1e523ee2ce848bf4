"""Base classes of settings and of models: methods, losses, embeddings and decoders with settings of their own.

A model gives its function as a text, ``module:name``, so planning imports neither PyTorch nor scikit-learn. As a text,
a model is its name and the keys that were set; this text is the id in paths::

    str(Graphcut(K=5, pairwise=4)) == "graphcut@K=5,pairwise=4"

In ``config.yaml`` and in records, keys are grouped in blocks, as in ``decode.K`` and ``graphcut.pairwise``. ``BLOCK``
of a class names the block of the keys that it adds to those of its bases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import Annotated, Any, ClassVar, Self, TypeVar, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from rgwot.runtime.errors import RgwotError, extras, first_line, nearest
from rgwot.timing import rate_text

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Fraction01 = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]
# A rate, given as a number or a text, and kept as a text in exact form.
Rate = Annotated[float | str, AfterValidator(rate_text)]

Blocks = Mapping[str, Mapping[str, Any]]
"""Settings by block and key, as in ``config.yaml``."""

FunctionOrPath = str | Callable[..., Any]
"""A function, or ``module:name``, which is imported when it is needed."""

Content = TypeVar("Content", bound=BaseModel)


class Block(BaseModel):
    """Base of all settings: immutable, with an error for unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, allow_inf_nan=False)

    #: Name of the block in ``config.yaml`` that has the keys that this class adds.
    BLOCK: ClassVar[str] = ""

    @classmethod
    @cache
    def part_kinds(cls) -> dict[str, type[Block]]:
        """Return the classes of the fields that are settings themselves, by the name of the field."""
        annotated = {name: field.annotation for name, field in cls.model_fields.items()}
        return {name: kind for name, kind in annotated.items() if isinstance(kind, type) and issubclass(kind, Block)}

    @classmethod
    @cache
    def places(cls) -> dict[str, str]:
        """Return the block of each key; fields that are settings themselves are left out."""
        inherited: dict[str, str] = {}
        for base in cls.__bases__:
            inherited |= base.places() if issubclass(base, Block) else {}
        keys = [field.alias or name for name, field in cls.model_fields.items() if name not in cls.part_kinds()]
        return {key: inherited.get(key, cls.BLOCK) for key in keys}

    @classmethod
    def about(cls) -> str:
        """Return the first line of the docstring of the class."""
        return (cls.__doc__ or "").strip().partition("\n")[0].rstrip(".")

    @classmethod
    def of(cls, blocks: Blocks, where: str = "settings") -> Self:
        """Return the settings of this class from ``blocks``; keys that the class does not have are left out.

        Raises RgwotError, a line with ``where``, for a wrong value.
        """
        try:
            values = cls.chosen(blocks)
        except RgwotError as error:
            raise RgwotError(": ".join(filter(None, [where, str(error)]))) from None
        return validated(cls, values, where)

    @classmethod
    def chosen(cls, blocks: Blocks) -> dict[str, object]:
        """Return the keys of ``blocks`` that this class or one of its parts has."""
        places = cls.places()
        values: dict[str, object] = {name: part.chosen(blocks) for name, part in cls.part_kinds().items()}
        for block in dict.fromkeys(places.values()):
            values |= {key: value for key, value in blocks.get(block, {}).items() if key in places}
        return values

    def by_block(self) -> dict[str, dict[str, object]]:
        """Return the values of all keys by block."""
        values = self.model_dump(by_alias=True, include=_fields_of(type(self)))
        found: dict[str, dict[str, object]] = {}
        for key, block in self.places().items():
            found.setdefault(block, {})[key] = values[key]
        for name in self.part_kinds():
            for block, keys in getattr(self, name).by_block().items():
                found.setdefault(block, {}).update(keys)
        return found


@cache
def _fields_of(kind: type[Block]) -> set[str]:
    return set(kind.model_fields) - set(kind.part_kinds())


class Model(Block):
    """A method, loss, embedding or decoder.

    Attributes
    ----------
    NAME, SOURCE
        The name in ids, which is also the name of the block unless ``BLOCK`` is set; and the source of the model.
    FUNCTION, RESTORE
        The function of the model, and the function that labels or embeds other videos by what was learned (empty if
        there is none). Both take the model as last argument.
    SYMBOLS
        Short names of dotted keys in ids.
    SETS
        Dotted keys and the values that the model gives them, whatever ``config.yaml`` says.
    """

    NAME: ClassVar[str] = ""
    SOURCE: ClassVar[str] = ""
    FUNCTION: ClassVar[FunctionOrPath] = ""
    RESTORE: ClassVar[FunctionOrPath] = ""
    SYMBOLS: ClassVar[Mapping[str, str]] = {}
    SETS: ClassVar[Mapping[str, object]] = {}

    @classmethod
    def __pydantic_init_subclass__(cls, **more: object) -> None:
        """Give a model without a BLOCK the block of its own name."""
        super().__pydantic_init_subclass__(**more)
        if "NAME" in vars(cls) and "BLOCK" not in vars(cls):
            cls.BLOCK = cls.NAME

    def __str__(self) -> str:
        return join_id(self.NAME, {key: value_text(value) for key, value in self.written().items()})

    def __call__(self, *given: Any, **more: Any) -> Any:
        """Call the function with this model as last argument."""
        return load(type(self).FUNCTION)(*given, self, **more)

    def restored(self, *given: Any, **more: Any) -> Any:
        """Call the function for other videos with this model as last argument."""
        return load(type(self).RESTORE)(*given, self, **more)

    def written(self) -> dict[str, object]:
        """Return the values that were set, by their keys in ids."""
        return {self.short_key(dotted): value for dotted, value in flatten(_set_in(self)).items()}

    @classmethod
    def short_key(cls, dotted: str) -> str:
        """Return how ids spell a dotted key: by a symbol, or without the block if the key is the model's own.

        >>> from rgwot.keysteps.settings import Consensus
        >>> [Consensus.short_key(key) for key in ("decode.K", "consensus.order", "meanfield.alpha")]
        ['K', 'order', 'meanfield.alpha']
        """
        block, key = dotted.split(".", 1)
        symbols = {long: short for short, long in cls.SYMBOLS.items()}
        return symbols.get(dotted, key if cls.places().get(key) == block else dotted)

    @classmethod
    def full_key(cls, spelling: str) -> str:
        """Return the dotted key for any spelling of it; an unknown spelling is returned unchanged."""
        block, _, key = spelling.rpartition(".")
        own = cls.places()
        # The block may also be that of a base of the model: `decode.m` is another spelling of `m`.
        if key in own and (not block or block in own.values()):
            return f"{own[key]}.{key}"
        return cls.SYMBOLS.get(spelling, spelling)


def _set_in(settings: Block) -> dict[str, dict[str, object]]:
    """Return the values that were set, by block and key."""
    found: dict[str, dict[str, object]] = {}
    names = {field.alias or name: name for name, field in type(settings).model_fields.items()}
    whole = settings.by_block()
    for key, block in settings.places().items():
        if names[key] in settings.model_fields_set:
            found.setdefault(block, {})[key] = whole[block][key]
    for name in settings.part_kinds():
        if name in settings.model_fields_set:
            for block, keys in _set_in(getattr(settings, name)).items():
                found.setdefault(block, {}).update(keys)
    return found


def load(place: FunctionOrPath) -> Any:
    """Return the object that ``module:name`` names; anything but a text is returned unchanged.

    >>> load("math:gcd")(12, 18)
    6

    Raises
    ------
    RgwotError
        If there is no such module, or if it lacks the name.
    """
    if not isinstance(place, str):
        return place
    module, _, name = place.partition(":")
    try:
        with extras(name):
            return getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        if isinstance(error, ImportError) and error.name != module:
            raise
        raise RgwotError(f"{place!r}: {first_line(error)}; expected MODULE:FUNCTION of an importable module") from error


def flatten(blocks: Blocks) -> dict[str, object]:
    """Turn blocks into dotted keys: ``{"ot": {"alpha": 0.5}}`` becomes ``{"ot.alpha": 0.5}``."""
    return {f"{block}.{key}": value for block, keys in blocks.items() for key, value in keys.items()}


def nested(dotted: Mapping[str, object]) -> dict[str, dict[str, object]]:
    """Nest dotted keys by block; the inverse of `flatten`."""
    blocks: dict[str, dict[str, object]] = {}
    for name, value in dotted.items():
        block, key = name.split(".", 1)
        blocks.setdefault(block, {})[key] = value
    return blocks


def join_id(base: str, keys: Mapping[str, str]) -> str:
    """Return an id, with keys sorted by code point (upper case first)."""
    return base + ("@" + ",".join(f"{key}={keys[key]}" for key in sorted(keys)) if keys else "")


def value_text(value: object) -> str:
    """Return a value as ids spell it: true, false and null, and whole numbers without ``.0``."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e16:
        return str(int(value))
    return str(value)


def validated(model: type[Content], content: object, where: str) -> Content:
    """Return a model with this content; raise RgwotError, a line with ``where`` and the first wrong key, if invalid."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise RgwotError(": ".join(filter(None, [where, describe(error, model)]))) from None


def describe(error: ValidationError, model: type[BaseModel]) -> str:
    """Return a validation error of a model in one line: key, found value, expected value."""
    first = error.errors()[0]
    # Pydantic adds the names of a union's members to the location; they are left out, because only keys help the
    # reader.
    parts = [str(part) for part in first["loc"]]
    key = ".".join(part for part in parts if not part.startswith(("constrained", "literal[", "function-")))
    if issubclass(model, Block) and parts:
        block = model.places().get(parts[0])
        key = f"{block}.{key}" if block else key
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


def keys_at(parents: Iterable[object], model: type[BaseModel]) -> list[str]:
    """Return the keys allowed at a location: of blocks that are fields, optional fields, or items of fields."""
    for part in parents:
        named: dict[object, object] = {
            field.alias or name: field.annotation for name, field in model.model_fields.items()
        }
        # A part that is not a field, such as the id of a dataset, is a name that the user gave, so the model does not
        # change.
        model = next(iter(_models_in(named.get(part))), model)
    return [field.alias or name for name, field in model.model_fields.items()]


def _models_in(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return [annotation] if issubclass(annotation, BaseModel) else []
    return [model for argument in get_args(annotation) for model in _models_in(argument)]
