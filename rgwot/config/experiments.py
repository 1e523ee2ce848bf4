"""Experiment ids: ``base[@key=value[,key=value...]]`` for methods and for decoders, and the models they stand for.

An experiment has one canonical id, so it has one path and is computed once. In this id, a key of the model itself has
no block, symbols replace dotted keys, keys are in alphabetical order, numbers are printed as Python prints them, and
keys that change nothing on any dataset are left out. Settings that equal those of a named method are written as its
name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from numbers import Integral
from typing import Any, TypeVar

from rgwot.blocks import Block, Blocks, Model, flatten, join_id, nested, value_text
from rgwot.config.configuration import Config
from rgwot.config.methods import DECODERS, FAMILIES, NAME_PATTERN, Family
from rgwot.config.settings import EXECUTION, checked, defaults, merged
from rgwot.embedding.settings import Embedding, SplitSettings, moved
from rgwot.evaluation import EvaluationSettings
from rgwot.features.settings import FeatureSettings
from rgwot.keysteps.settings import LABELLED, Decoder, Labelled, Numbered, resolved_K
from rgwot.losses.settings import LOSSES
from rgwot.paths import Run
from rgwot.runtime.errors import RgwotError, errors_of, nearest

Settings = TypeVar("Settings", bound=Block)

SPLIT = "data.split"
ID = re.compile(rf"(?P<base>{NAME_PATTERN.pattern})(@(?P<keys>[^/]+))?")
VALUE = re.compile(r"[A-Za-z0-9_.+-]+")


def family_of(method: str) -> Family:
    """Return the method that an experiment's id names; raise RgwotError if there is no such method."""
    base = split_id(method)[0]
    if base not in FAMILIES:
        of_loss = f"a loss is a setting of a method: rgwot@loss.alignment={base}" if base in LOSSES else ""
        hint = moved(base) or of_loss or nearest(base, FAMILIES)
        raise RgwotError(f"method {method!r}: unknown base {base!r}; {hint}")
    return FAMILIES[base]


def split_id(text: str) -> tuple[str, dict[str, str]]:
    """Split an id into its base and its keys, as written.

    >>> split_id("rgwot@alpha=0.5,beta=0")
    ('rgwot', {'alpha': '0.5', 'beta': '0'})
    """
    match = ID.fullmatch(text)
    if match is None:
        raise RgwotError(f"experiment {text!r}: expected base[@key=value[,key=value]] with a base like rgwot")
    keys: dict[str, str] = {}
    for part in match["keys"].split(",") if match["keys"] else ():
        key, equals, value = part.partition("=")
        if not equals or not VALUE.fullmatch(value):
            raise RgwotError(f"experiment {text!r}: found {part!r}, expected key=value such as alpha=0.5")
        if key in keys:
            raise RgwotError(f"experiment {text!r}: key {key!r} is repeated")
        keys[key] = value
    return match["base"], keys


def decoder_of(decoder: str) -> type[Decoder]:
    """Return the class of the decoder that an id names; raise RgwotError if there is no such decoder."""
    base = split_id(decoder)[0]
    if base not in DECODERS:
        raise RgwotError(f"decoder {decoder!r}: unknown base {base!r}; {nearest(base, DECODERS)}")
    return DECODERS[base]


def parsed(text: str) -> Model:
    """Return the model of a text, with defaults for keys that it does not name.

    >>> from rgwot.keysteps.settings import Graphcut
    >>> parsed("graphcut@K=5,pairwise=4") == Graphcut(K=5, pairwise=4), str(Graphcut(K=5, pairwise=4))
    (True, 'graphcut@K=5,pairwise=4')
    """
    family = FAMILIES.get(split_id(text)[0])
    kind: type[Model] = family.embedding if family else decoder_of(text)
    sets, keys = family.sets if family else kind.SETS, _keys(text, kind)
    model = kind.of(merged(nested(sets), nested(keys)), f"experiment {text!r}")
    _refuse_unknown(text, model, keys)
    return model


def embedding_of(method: str) -> Embedding:
    """Return the embedding of a method id, with defaults for keys that it does not name."""
    family_of(method)
    embedding = parsed(method)
    assert isinstance(embedding, Embedding)
    return embedding


def with_labelled(decoder: str) -> str:
    """Return the id by `labelled` if ``decoder`` is an earlier id with labels; other ids do not change.

    >>> with_labelled("consensus@decode.time=0,labelled.extra=1,labelled.n=3"), with_labelled("kmeans@K=5")
    ('labelled@extra=1,n=3', 'kmeans@K=5')
    """
    if decoder.startswith(f"{LABELLED}@") or not re.search(rf"[@,]{LABELLED}\.", decoder):
        return decoder
    known, (_, written) = flatten(Labelled().by_block()), split_id(decoder)
    keys = {Labelled.short_key(key): value for key, value in written.items() if key in known and value != "all"}
    return join_id(LABELLED, keys)


def present(text: str) -> str:
    """Return how an id of an earlier version is spelt now; other ids do not change.

    >>> present("consensus@decode.time=0,decode.surplus=2"), present("whitened@whiten.D=4"), present("rgwot@alpha=0.5")
    ('consensus@surplus=2,time=0', 'whitened@D=4', 'rgwot@alpha=0.5')
    """
    base, keys = split_id(with_labelled(text))
    kind = FAMILIES[base].embedding if base in FAMILIES else DECODERS.get(base)
    return text if kind is None else join_id(base, {kind.short_key(kind.full_key(key)): keys[key] for key in keys})


def replaced_settings(method: str, decoder: str, written: Mapping[str, object]) -> list[str]:
    """Return a line for each written setting (by dotted key) that the method or decoder replaces, with the id to use.

    >>> replaced_settings("rgwot-plus", "consensus", {"decode.time": 0.0, "decode.K": 5})
    ['decode.time: found 0, but rgwot-plus sets it to auto; expected it in the id, as in consensus@time=0']
    """
    family, rule, lines = family_of(method), decoder_of(decoder), []
    models = {text: parsed(text) for text in (decoder, method)}
    for who, key, value_set in (
        *((family.name, *item) for item in family.sets.items()), *((rule.NAME, *item) for item in rule.SETS.items())
    ):  # fmt: skip
        text = next((text for text, model in models.items() if key in flatten(model.by_block())), None)
        if text is None or key not in written or written[key] == value_set:
            continue
        (base, keys), short = split_id(text), models[text].short_key(key)
        if models[text].full_key(short) not in {models[text].full_key(name) for name in keys}:
            value, default = value_text(written[key]), value_text(value_set)
            lines.append(
                f"{key}: found {value}, but {who} sets it to {default}; expected it in the id, as in "
                f"{join_id(base, {**keys, short: value})}"
            )
    return lines


class Experiments:
    """The experiments of one configuration: canonical ids and resolved models.

    Precedence: defaults < ``config.yaml`` < ``datasets.<name>.settings`` < family < decoder < keys of the id. The
    settings that define a family take precedence over the configuration: with another beta in ``config.yaml``, ``vaot``
    still has beta 0, and a window in seconds for some dataset does not replace the 300 frames of ``rgwot-parity``. Only
    an id can override such settings.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        # The distinct changes that datasets make to settings: two ids are one experiment if their settings agree after
        # each of these changes.
        different = {json.dumps(entry.settings, sort_keys=True): entry.settings for entry in config.datasets.values()}
        self._changes: tuple[Blocks, ...] = tuple(different.values()) or ({},)
        self.method = cache(self._method)
        self.decoder = cache(self._decoder)
        self.embedding = cache(self._embedding)
        self.decoding = cache(self._decoding)
        self.common = cache(self._common)

    def _method(self, text: str) -> str:
        """Return the canonical spelling of a method id."""
        family = family_of(text)
        kind, keys = family.embedding, _keys(text, family.embedding)
        meant = self._models(kind, f"experiment {text!r}", family.sets, keys)
        plain = self._models(kind, family.name, family.sets)
        _refuse_unknown(text, meant[0], keys)
        _refuse_unused_split(text, keys, plain)
        # If another family has these settings, the id gets that family's name: rgwot@beta=0 is vaot.
        spellings = [(family.name, _needed(keys, meant, plain))]
        for other in FAMILIES.values():
            if other.embedding is kind and _of_decoders(other) == _of_decoders(family):
                fewer = _needed(keys, meant, self._models(kind, other.name, other.sets))
                if self._models(kind, other.name, other.sets, fewer) == meant:
                    spellings.append((other.name, fewer))
        name, needed = min(spellings, key=lambda spelling: len(spelling[1]))
        return _spelt(name, meant[0], needed)

    def _decoder(self, text: str, method: str) -> str:
        """Return the canonical spelling of a decoder id under a method."""
        kind, family = decoder_of(text), family_of(self.method(method))
        if (family.name == "none") != kind.TRIVIAL:
            fitting = [name for name, decoder in DECODERS.items() if (family.name == "none") == decoder.TRIVIAL]
            raise RgwotError(
                f"decoder {text!r}: does not fit method {family.name!r}; expected one of {', '.join(fitting)}"
            )
        if not kind.TRIVIAL and (meant_text := with_labelled(text)) != text:
            raise RgwotError(
                f"decoder {text!r}: {kind.NAME} does not learn from annotated videos; expected {meant_text!r}"
            )
        if not (kind.TRIVIAL or kind.RESTORE) and any(part.data.split != "all" for part in self._embeddings(method)):
            raise RgwotError(f"decoder {text!r}: cannot label held-out videos; expected data.split=all, or a RESTORE")
        keys = _keys(text, kind)
        plain = self._models(kind, text, family.sets, kind.SETS)
        meant = self._models(kind, f"experiment {text!r}", family.sets, kind.SETS, keys)
        _refuse_unknown(text, meant[0], keys)
        return _spelt(kind.NAME, meant[0], _needed(keys, meant, plain))

    def _models(self, kind: type[Settings], where: str, *dotted: Mapping[str, object]) -> list[Settings]:
        """Return the model with further keys, once for each distinct change of settings by a dataset."""
        return [self._model(kind, where, change, *dotted) for change in self._changes]

    def _model(self, kind: type[Settings], where: str, change: Blocks, *dotted: Mapping[str, object]) -> Settings:
        return kind.of(merged(self.config.blocks, change, *map(nested, dotted)), where)

    def _embeddings(self, method: str) -> list[Embedding]:
        family = family_of(method)
        return self._models(family.embedding, method, family.sets, _keys(method, family.embedding))

    def _embedding(self, method: str, dataset: str) -> Embedding:
        """Return the embedding of a method on a dataset."""
        text, change = self.method(method), self._change(dataset)
        family = family_of(text)
        return self._model(family.embedding, text, change, family.sets, _keys(text, family.embedding))

    def _decoding(self, method: str, decoder: str, dataset: str) -> Decoder:
        """Return the decoder of an experiment on a dataset."""
        family, text = family_of(self.method(method)), self.decoder(decoder, method)
        kind, change = decoder_of(text), self._change(dataset)
        return self._model(kind, f"{method}/{text}", change, family.sets, kind.SETS, _keys(text, kind))

    def _common(self, kind: type[Settings], dataset: str) -> Settings:
        """Return settings of a dataset that apply to all methods and decoders."""
        return self._model(kind, "settings", self._change(dataset))

    def values(self, method: str, dataset: str) -> dict[str, Any]:
        """Return the value of every dotted key for a method, including keys of other methods and of decoders."""
        text = self.method(method)
        family = family_of(text)
        return {**defaults(), **self.written(dataset), **family.sets, **_keys(text, family.embedding)}

    def written(self, dataset: str) -> dict[str, object]:
        """Return the settings that the configuration has for a dataset, by dotted key."""
        return flatten(merged(self.config.blocks, self._change(dataset)))

    def _change(self, dataset: str) -> Blocks:
        entry = self.config.datasets.get(dataset)
        return entry.settings if entry else {}


def _of_decoders(family: Family) -> dict[str, object]:
    """Return the settings of decoders that a family sets."""
    own = flatten(family.embedding.of(nested(family.sets)).by_block())
    return {key: value for key, value in family.sets.items() if key not in own}


def _keys(text: str, kind: type[Model]) -> dict[str, object]:
    """Return the values of an id by dotted key."""
    values: dict[str, object] = {}
    for spelling, value in split_id(text)[1].items():
        key = kind.full_key(spelling)
        if key in values:
            raise RgwotError(f"experiment {text!r}: {spelling!r} and {kind.short_key(key)!r} are one key; give it once")
        values[key if "." in key else f".{key}"] = _parse(value)
    return values


def _refuse_unknown(text: str, model: Model, keys: Mapping[str, object]) -> None:
    """Raise RgwotError if an id has a key that the model does not have; the same training would otherwise run twice."""
    known = [key for key in flatten(model.by_block()) if key not in EXECUTION]
    for key in keys:
        if key not in known:
            spelling = key.removeprefix(".")
            choices = sorted({model.short_key(name) for name in known})
            raise RgwotError(f"experiment {text!r}: unknown key {spelling!r}; {nearest(spelling, choices)}")


def _needed(keys: Mapping[str, object], meant: Sequence[Model], plain: Sequence[Model]) -> dict[str, object]:
    """Return the keys that change a value on some dataset."""
    values, before = ([flatten(model.by_block()) for model in models] for models in (meant, plain))
    return {
        key: values[0][key]
        for key in keys
        if any(old.get(key) != new[key] for old, new in zip(before, values, strict=True))
    }


def _spelt(name: str, model: Model, keys: Mapping[str, object]) -> str:
    return join_id(name, {model.short_key(key): value_text(value) for key, value in keys.items()})


def _refuse_unused_split(text: str, keys: Mapping[str, object], plain: Sequence[Embedding]) -> None:
    """Raise RgwotError if an id has keys of the split, but no split; the same experiment would have two paths."""
    if any(keys.get(SPLIT, embedding.data.split) != "all" for embedding in plain):
        return
    for name in SplitSettings.model_fields:
        key = f"data.{name}"
        if key != SPLIT and key in keys and any(keys[key] != getattr(embedding.data, name) for embedding in plain):
            raise RgwotError(f"experiment {text!r}: {key} has no effect without held-out videos; add {SPLIT}=holdout")


def _parse(value: str) -> object:
    if value in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[value]
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value


@dataclass(frozen=True)
class Experiment:
    """Canonical ids with the seed, and the models and settings behind them."""

    run: Run
    embedding: Embedding
    decoder: Decoder
    features: FeatureSettings
    evaluation: EvaluationSettings


def resolved(
    method: str | Embedding,
    decoder: str | Decoder,
    K: int | str | None,
    settings: Mapping[str, Mapping[str, object]] | None,
    seed: int,
) -> Experiment:
    """Return an experiment on arrays, resolved as in the workflow; a method or decoder is an id or a model."""
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise RgwotError(f"seed: found {seed!r}, expected a whole number, 0 or more")
    if settings is not None and not isinstance(settings, Mapping):
        raise RgwotError(f"settings: found {settings!r}, expected blocks such as {{'train': {{'iterations': 800}}}}")
    blocks = {block: dict(keys) if isinstance(keys, Mapping) else keys for block, keys in (settings or {}).items()}
    if K is not None:
        blocks["decode"] = {**blocks.get("decode", {}), "K": K}
    with errors_of("settings"):
        experiments = Experiments(Config(blocks=checked(blocks)))
    written, method = str(method), experiments.method(str(method))
    decoder = experiments.decoder(str(decoder), method)
    for line in replaced_settings(written, decoder, flatten(blocks)):
        raise RgwotError(f"settings: {line}")
    rule = experiments.decoding(method, decoder, "")
    if isinstance(rule, Numbered) and not rule.LABELS:
        resolved_K(rule.K)
    return Experiment(
        Run(method, decoder, int(seed)),
        experiments.embedding(method, ""),
        rule,
        experiments.common(FeatureSettings, ""),
        experiments.common(EvaluationSettings, ""),
    )
