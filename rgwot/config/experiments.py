"""Experiment ids: ``base[@key=value[,key=value...]]`` for methods and for decoders, and the settings they stand for.

One experiment has one spelling, so it has one path and is computed once: symbols replace dotted keys, keys stand in
alphabetical order, numbers are printed as Python prints them, and a key that says what the id stands for anyway, on
every dataset, is dropped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from rgwot.config.configuration import Config
from rgwot.config.methods import ALIGNMENTS, DECODERS, EMBEDDINGS, FAMILIES, Family, without_effect
from rgwot.config.settings import EXECUTION, Settings, build, defaults, flatten
from rgwot.runtime.errors import RgwotError, nearest

SYMBOLS: Mapping[str, str] = {
    "alpha": "ot.alpha",
    "epsilon": "ot.epsilon",
    "rho": "ot.rho",
    "r": "ot.r",
    "zeta": "ot.zeta",
    "tau": "loss.tau",
    "beta": "cidm.beta",
    "lambda": "cidm.lambda",
    "sigma": "cidm.sigma",
    "N": "train.N",
    "c": "encoder.c",
    "D": "encoder.D",
    "K": "decode.K",
    "m": "decode.m",
}
# Keys of every method, also of one that trains nothing: what is scored, and what a clustering may see.
SPLIT = "data.split"
SPLIT_KEYS = (SPLIT, "data.holdout", "data.split_by", "data.split_seed")
ID = re.compile(r"(?P<base>[a-z][a-z0-9_-]*)(@(?P<keys>[^/]+))?")
VALUE = re.compile(r"[A-Za-z0-9_.+-]+")


def split_id(text: str) -> tuple[str, dict[str, str]]:
    """Split an id into its base and its keys, as written.

    >>> split_id("rgwot@alpha=0.5,beta=0")
    ('rgwot', {'alpha': '0.5', 'beta': '0'})
    """
    match = ID.fullmatch(text)
    if match is None:
        raise RgwotError(f"experiment {text!r}: expected base[@key=value[,key=value]], base like rgwot or graphcut")
    keys: dict[str, str] = {}
    for part in match["keys"].split(",") if match["keys"] else ():
        key, equals, value = part.partition("=")
        if not equals or not VALUE.fullmatch(value):
            raise RgwotError(f"experiment {text!r}: found {part!r}, expected key=value such as alpha=0.5")
        if key in keys:
            raise RgwotError(f"experiment {text!r}: key {key!r} stands twice")
        keys[key] = value
    return match["base"], keys


def join_id(base: str, keys: Mapping[str, str]) -> str:
    """Put an id together, keys in alphabetical order (upper case first, as sorted by code point)."""
    return base + ("@" + ",".join(f"{key}={keys[key]}" for key in sorted(keys)) if keys else "")


class Experiments:
    """The experiments of one configuration: canonical ids and resolved settings.

    Precedence: defaults < ``config.yaml`` < ``datasets.<name>.settings`` < family < keys of the id. What makes a family
    a family stands above the configuration: with another beta in ``config.yaml``, ``vaot`` still has none, and a window
    given in seconds for some dataset does not become the 300 frames of ``rgwot-parity``. Only an id can undo it.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        shipped = defaults()
        mine = flatten(config.model_dump(by_alias=True, include=set(Settings.model_fields)))
        self._changed = {key: value for key, value in mine.items() if value != shipped[key]}
        self._per_dataset = {name: _checked(flatten(entry.settings), name) for name, entry in config.datasets.items()}
        # What datasets change, each combination once: two ids are one experiment when they mean the same above all.
        different = {json.dumps(values, sort_keys=True): values for values in self._per_dataset.values()}
        self._changes = tuple(different.values()) or ({},)
        self._base_values = lru_cache(maxsize=None)(self._base_values_of)
        self.method = lru_cache(maxsize=None)(self._method)
        self.decoder = lru_cache(maxsize=None)(self._decoder)
        self.settings = lru_cache(maxsize=None)(self._settings)

    def _method(self, text: str) -> str:
        """Return the canonical spelling of a method id.

        Raises
        ------
        RgwotError
            For a malformed id, an unknown base, key or value; names the nearest known one.
        """
        base, written = split_id(text)
        if base not in FAMILIES:
            raise RgwotError(f"method {text!r}: unknown base {base!r}; {nearest(base, FAMILIES)}")
        family = FAMILIES[base]
        allowed = [key for key in defaults() if _takes(family, key)]
        if not family.trained and set(written) - set(allowed):
            raise RgwotError(f"method {text!r}: {base} trains no encoder; it takes no keys but {', '.join(allowed)}")
        values = self._values(text, written, allowed, family)
        own = self._base_values(family.name)
        meant = [{**base, **values} for base in own]
        _refuse_unused_split(text, values, own)
        _refuse_unread(text, values, meant)
        # Equalities between families follow from their data: of all spellings of the same settings the one with the
        # fewest keys is used (rgwot@beta=0 is vaot, vaot@beta=1 is rgwot), and on a tie the family listed first.
        spellings = [
            (candidate.name, keys)
            for candidate in FAMILIES.values()
            if candidate.embedding == family.embedding
            and (keys := _keys_between(self._base_values(candidate.name), meant, allowed)) is not None
        ]
        name, keys = min(spellings, key=lambda spelling: len(spelling[1]))
        return join_id(name, _spelt(keys))

    def _decoder(self, text: str, method: str) -> str:
        """Return the canonical spelling of a decoder id under a method."""
        base, written = split_id(text)
        if base not in DECODERS:
            raise RgwotError(f"decoder {text!r}: unknown base {base!r}; {nearest(base, DECODERS)}")
        family = FAMILIES[split_id(self.method(method))[0]]
        if DECODERS[base].trivial != (family.name == "none"):
            fitting = [name for name, decoder in DECODERS.items() if decoder.trivial == (family.name == "none")]
            raise RgwotError(
                f"decoder {text!r}: does not go with method {family.name!r}; expected one of {', '.join(fitting)}"
            )
        allowed = [key for key in defaults() if DECODERS[base].takes(key)]
        values = self._values(text, written, allowed, family)
        own = self._base_values(family.name)
        told = {key: value for key, value in values.items() if any(base[key] != value for base in own)}
        return join_id(base, _spelt(told))

    def _settings(self, method: str, decoder: str | None, dataset: str) -> Settings:
        """Return everything the experiment is made with on a dataset."""
        base, written = split_id(self.method(method))
        values = {**defaults(), **self._changed, **self._per_dataset.get(dataset, {}), **FAMILIES[base].overrides}
        where = method
        for part in (written, split_id(decoder)[1] if decoder else {}):
            values |= {SYMBOLS.get(key, key): _parse(value) for key, value in part.items()}
        if decoder:
            where = f"{method}/{decoder}"
        return build(values, where)

    def _base_values_of(self, family: str) -> list[dict[str, Any]]:
        """Return what a family alone stands for, above each of the combinations of changes that datasets make."""
        common, overrides = {**defaults(), **self._changed}, FAMILIES[family].overrides
        return [{**common, **changes, **overrides} for changes in self._changes]

    def _values(self, text: str, written: Mapping[str, str], allowed: list[str], family: Family) -> dict[str, Any]:
        short = {dotted: symbol for symbol, dotted in SYMBOLS.items()}
        known = {short.get(key, key) for key in allowed} | set(allowed)
        values: dict[str, Any] = {}
        for key, value in written.items():
            dotted = SYMBOLS.get(key, key)
            if dotted not in allowed:
                raise RgwotError(f"experiment {text!r}: unknown key {key!r}; {nearest(key, known)}")
            if dotted in values:
                raise RgwotError(f"experiment {text!r}: {key!r} and {short[dotted]!r} are the same key")
            values[dotted] = _parse(value)
        whole = {**defaults(), **self._changed, **family.overrides, **values}
        checked = _checked(whole, f"experiment {text!r}")
        return {key: checked[key] for key in values}


def _checked(values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return values of dotted keys as the settings have them: 1e-3 is a string in YAML, and a number here."""
    known = flatten(build(values, where).model_dump(by_alias=True))
    return {key: known[key] for key in values}


def _keys_between(
    own: Sequence[Mapping[str, Any]], meant: Sequence[Mapping[str, Any]], allowed: Sequence[str]
) -> dict[str, Any] | None:
    """Return the keys that make settings of others, in every combination of changes; None where no keys do.

    What the alignment loss does not read may differ.
    """
    keys: dict[str, Any] = {}
    for key in own[0]:
        if any(
            base[key] != settings[key] and not without_effect(key, settings["loss.alignment"])
            for base, settings in zip(own, meant, strict=True)
        ):
            value = meant[0][key]
            # An id says one value for all datasets, and cannot say what only some of them change.
            if key not in allowed or any(settings[key] != value for settings in meant):
                return None
            keys[key] = value
    return keys


def _refuse_unused_split(text: str, written: Mapping[str, Any], own: Sequence[Mapping[str, Any]]) -> None:
    """Raise when an id says how to split and nothing is split: one experiment would have two paths."""
    if any(written.get(SPLIT, base[SPLIT]) != "all" for base in own):
        return
    for key in SPLIT_KEYS[1:]:
        if key in written and any(written[key] != base[key] for base in own):
            raise RgwotError(f"experiment {text!r}: {key} has no effect where all videos train; add {SPLIT}=holdout")


def _refuse_unread(text: str, written: Mapping[str, Any], meant: Sequence[Mapping[str, Any]]) -> None:
    """Raise when an id names a key that its alignment loss does not read: the same training would run twice."""
    alignments = list(dict.fromkeys(settings["loss.alignment"] for settings in meant))
    for key in written:
        if all(without_effect(key, alignment) for alignment in alignments):
            read = dict.fromkeys(key for alignment in alignments for key in ALIGNMENTS[alignment].reads)
            raise RgwotError(
                f"experiment {text!r}: {key} has no effect with loss.alignment {' or '.join(alignments)}; expected "
                f"keys it reads ({', '.join(read) or 'none of ot and loss'}); leave it out"
            )


def _takes(family: Family, key: str) -> bool:
    """Whether a key may stand in ids of a method."""
    return key in SPLIT_KEYS or (EMBEDDINGS[family.embedding].takes(key) and key not in EXECUTION)


def _spelt(values: Mapping[str, Any]) -> dict[str, str]:
    short = {dotted: symbol for symbol, dotted in SYMBOLS.items()}
    return {short.get(key, key): value_text(value) for key, value in values.items()}


def _parse(value: str) -> Any:
    if value in ("true", "false"):
        return value == "true"
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value


def value_text(value: Any) -> str:
    """Return a value as ids spell it: true and false, and whole numbers without ``.0``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e16:
        return str(int(value))
    return str(value)
