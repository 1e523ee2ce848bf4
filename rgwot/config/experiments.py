"""Experiment ids: ``base[@key=value[,key=value...]]`` for methods and for decoders, and the settings they stand for.

An experiment has one canonical id, so it has one path and is computed once: symbols replace dotted keys, keys are in
alphabetical order, numbers are printed as Python prints them, and a key that changes nothing on any dataset is dropped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from numbers import Integral
from typing import Any

from rgwot.config.configuration import Config, load_config
from rgwot.config.methods import DECODERS, FAMILIES, LOSSES, NAME_PATTERN, Family, moved, without_effect
from rgwot.config.settings import EXECUTION, Settings, build, defaults, flatten, known_blocks
from rgwot.keysteps.settings import LABELLED, resolved_K
from rgwot.paths import Run
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
    "n": "labelled.n",
    "draw": "labelled.draw",
    "extra": "labelled.extra",
}
SHORT: Mapping[str, str] = {dotted: symbol for symbol, dotted in SYMBOLS.items()}
# Keys of every method, even without training: which videos are scored, and which a clustering may see.
SPLIT = "data.split"
SPLIT_KEYS = (SPLIT, "data.holdout", "data.split_by", "data.split_seed")
ID = re.compile(rf"(?P<base>{NAME_PATTERN.pattern})(@(?P<keys>[^/]+))?")
VALUE = re.compile(r"[A-Za-z0-9_.+-]+")


def family_of(method: str) -> Family:
    """Return the named method behind an experiment's id; RgwotError if there is none of this name."""
    base = split_id(method)[0]
    if base not in FAMILIES:
        raise RgwotError(f"method {method!r}: unknown base {base!r}; {moved(base) or nearest(base, FAMILIES)}")
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


def join_id(base: str, keys: Mapping[str, str]) -> str:
    """Return an id, with keys sorted by code point (upper case first)."""
    return base + ("@" + ",".join(f"{key}={keys[key]}" for key in sorted(keys)) if keys else "")


def with_labelled(decoder: str) -> str:
    """Return the id by `labelled` if ``decoder`` is an earlier id with labels; other ids do not change.

    >>> with_labelled("consensus@decode.time=0,labelled.extra=1,labelled.n=3"), with_labelled("kmeans@K=5")
    ('labelled@extra=1,n=3', 'kmeans@K=5')
    """
    if decoder.startswith(f"{LABELLED}@") or not re.search(rf"[@,]{LABELLED}\.", decoder):
        return decoder
    _, written = split_id(decoder)
    dotted = {key: value for key, value in written.items() if DECODERS[LABELLED].takes(key)}
    return join_id(LABELLED, {SHORT.get(key, key): value for key, value in dotted.items() if value != "all"})


def replaced_settings(method: str, decoder: str, written: Mapping[str, Any]) -> list[str]:
    """Return a line for each written setting (by dotted key) that the method or decoder replaces, with the id to use.

    >>> replaced_settings("rgwot-plus", "consensus", {"decode.time": 0.0, "decode.K": 5})
    ['decode.time: found 0, but rgwot-plus sets it to auto; expected it in the id, as in consensus@decode.time=0']
    """
    (base, by_method), (rule, by_decoder) = split_id(method), split_id(decoder)
    family = FAMILIES[base]
    sets = [(base, *item) for item in family.overrides.items()]
    sets += [(rule, *item) for item in DECODERS[rule].overrides.items()]
    named = {SYMBOLS.get(key, key) for key in (*by_method, *by_decoder)}
    lines = []
    for who, key, value_set in sets:
        of_method, of_decoder = family.takes(key), DECODERS[rule].takes(key)
        if key in written and written[key] != value_set and key not in named and (of_method or of_decoder):
            value, default = value_text(written[key]), value_text(value_set)
            keys = {**(by_decoder if of_decoder else by_method), SHORT.get(key, key): value}
            lines.append(
                f"{key}: found {value}, but {who} sets it to {default}; expected it in the id, as in "
                f"{join_id(rule if of_decoder else base, keys)}"
            )
    return lines


class Experiments:
    """The experiments of one configuration: canonical ids and resolved settings.

    Precedence: defaults < ``config.yaml`` < ``datasets.<name>.settings`` < family < keys of the id. The
    settings that define a family take precedence over the configuration: with another beta in ``config.yaml``, ``vaot``
    still has none, and a window in seconds for some dataset does not replace the 300 frames of ``rgwot-parity``. Only
    an id can override them.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        shipped = defaults()
        mine = flatten(config.model_dump(by_alias=True, include=set(known_blocks())))
        #: Settings of the configuration that differ from the defaults, by dotted key.
        self.changed = {key: value for key, value in mine.items() if value != shipped[key]}
        self._per_dataset = {name: entry.changed for name, entry in config.datasets.items()}
        # The distinct changes that datasets make: two ids are one experiment if their settings agree after each of
        # these changes.
        different = {json.dumps(values, sort_keys=True): values for values in self._per_dataset.values()}
        self._changes = tuple(different.values()) or ({},)
        self._base_values = cache(self._base_values_of)
        self.method = cache(self._method)
        self.decoder = cache(self._decoder)
        self.settings = cache(self._settings)
        #: The same by dotted key.
        self.values = cache(lambda *experiment: flatten(self.settings(*experiment).model_dump(by_alias=True)))

    def _method(self, text: str) -> str:
        """Return the canonical spelling of a method id."""
        base, written = split_id(text)
        family = family_of(text)
        allowed = [key for key in defaults() if key in SPLIT_KEYS or (family.takes(key) and key not in EXECUTION)]
        if not family.trained and set(written) - set(allowed):
            raise RgwotError(f"method {text!r}: {base} trains no encoder; it takes only the keys {', '.join(allowed)}")
        values = self._values(text, written, allowed, family)
        base_values = self._base_values(family.name)
        meant = [{**base, **values} for base in base_values]
        _refuse_unused_split(text, values, base_values)
        if family.trained:
            _refuse_unread(text, values, meant)
        # Of all spellings of the same settings, the canonical one has the fewest keys and, on a tie, the family listed
        # first: rgwot@beta=0 is vaot, vaot@beta=0.03125 is rgwot.
        spellings = []
        for candidate in FAMILIES.values():
            if candidate.embedding == family.embedding:
                differing = {*candidate.overrides, *family.overrides, *values}
                keys = _keys_between(self._base_values(candidate.name), meant, allowed, differing, family.trained)
                spellings += [(candidate.name, keys)] if keys is not None else []
        name, keys = min(spellings, key=lambda spelling: len(spelling[1]))
        return join_id(name, _spelt(keys))

    def _decoder(self, text: str, method: str) -> str:
        """Return the canonical spelling of a decoder id under a method."""
        base, written = split_id(text)
        if base not in DECODERS:
            raise RgwotError(f"decoder {text!r}: unknown base {base!r}; {nearest(base, DECODERS)}")
        family = family_of(self.method(method))
        if DECODERS[base].trivial != (family.name == "none"):
            fitting = [name for name, decoder in DECODERS.items() if decoder.trivial == (family.name == "none")]
            raise RgwotError(
                f"decoder {text!r}: does not fit method {family.name!r}; expected one of {', '.join(fitting)}"
            )
        if not DECODERS[base].trivial and (meant := with_labelled(text)) != text:
            raise RgwotError(f"decoder {text!r}: {base} does not learn from annotated videos; expected {meant!r}")
        allowed = [key for key in defaults() if DECODERS[base].takes(key)]
        values = self._values(text, written, allowed, family)
        candidates = [{**values, **DECODERS[base].overrides} for values in self._base_values(family.name)]
        return join_id(
            base,
            _spelt({k: value for k, value in values.items() if any(candidate[k] != value for candidate in candidates)}),
        )

    def _settings(self, method: str, decoder: str | None, dataset: str) -> Settings:
        """Return the settings of an experiment on a dataset."""
        base, written = split_id(self.method(method))
        values = {**defaults(), **self.changed, **self._per_dataset.get(dataset, {}), **FAMILIES[base].overrides}
        named, changed = split_id(decoder) if decoder else ("", {})
        values |= DECODERS[named].overrides if named else {}
        for part in (written, changed):
            values |= {SYMBOLS.get(key, key): _parse(value) for key, value in part.items()}
        return build(values, f"{method}/{decoder}" if decoder else method)

    def _base_values_of(self, family: str) -> list[dict[str, Any]]:
        """Return the settings of a family, once for each of the different changes that datasets make."""
        common, overrides = {**defaults(), **self.changed}, FAMILIES[family].overrides
        return [{**common, **changes, **overrides} for changes in self._changes]

    def _values(self, text: str, written: Mapping[str, str], allowed: list[str], family: Family) -> dict[str, Any]:
        valid_keys = {SHORT.get(key, key) for key in allowed} | set(allowed)
        values: dict[str, Any] = {}
        for key, value in written.items():
            dotted = SYMBOLS.get(key, key)
            if dotted not in allowed:
                raise RgwotError(f"experiment {text!r}: unknown key {key!r}; {nearest(key, valid_keys)}")
            if dotted in values:
                raise RgwotError(f"experiment {text!r}: {key!r} and {SHORT[dotted]!r} are the same key")
            values[dotted] = _parse(value)
        whole = {**defaults(), **self.changed, **family.overrides, **values}
        # YAML reads 1e-3 as a text; the validated settings have the number.
        checked = flatten(build(whole, f"experiment {text!r}").model_dump(by_alias=True))
        return {key: checked[key] for key in values}


def _keys_between(
    base_settings: Sequence[Mapping[str, Any]],
    meant: Sequence[Mapping[str, Any]],
    allowed: Sequence[str],
    differing: Collection[str],
    trained: bool,
) -> dict[str, Any] | None:
    """Return the keys that turn ``base_settings`` into the settings ``meant`` on every dataset, or None if none do.

    Settings that the alignment loss of a ``trained`` method does not read may differ. Only the keys ``differing`` are
    compared; the settings agree in all others.
    """
    keys: dict[str, Any] = {}
    for key in (key for key in base_settings[0] if key in differing):
        if any(
            base[key] != settings[key] and not (trained and without_effect(key, settings["loss.alignment"]))
            for base, settings in zip(base_settings, meant, strict=True)
        ):
            value = meant[0][key]
            # An id has one value for all datasets, so it cannot express what only some datasets change.
            if key not in allowed or any(settings[key] != value for settings in meant):
                return None
            keys[key] = value
    return keys


def _refuse_unused_split(text: str, written: Mapping[str, Any], keys: Sequence[Mapping[str, Any]]) -> None:
    """Raise RgwotError if an id has keys of the split, but nothing is split: an experiment would have two paths."""
    if any(written.get(SPLIT, base[SPLIT]) != "all" for base in keys):
        return
    for key in SPLIT_KEYS[1:]:
        if key in written and any(written[key] != base[key] for base in keys):
            raise RgwotError(f"experiment {text!r}: {key} has no effect without held-out videos; add {SPLIT}=holdout")


def _refuse_unread(text: str, written: Mapping[str, Any], meant: Sequence[Mapping[str, Any]]) -> None:
    """Raise RgwotError if an id has a key that its alignment loss does not read: a training would run twice."""
    alignments = list(dict.fromkeys(settings["loss.alignment"] for settings in meant))
    for key in written:
        if all(without_effect(key, alignment) for alignment in alignments):
            read = dict.fromkeys(key for alignment in alignments for key in LOSSES[alignment].dotted())
            raise RgwotError(
                f"experiment {text!r}: {key} has no effect with loss.alignment {' or '.join(alignments)}; expected "
                f"keys that this loss reads ({', '.join(read) or 'none of ot and loss'}); leave this key out"
            )


def _spelt(values: Mapping[str, Any]) -> dict[str, str]:
    return {SHORT.get(key, key): value_text(value) for key, value in values.items()}


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


def resolved(
    method: str, decoder: str, K: int | str | None, settings: Mapping[str, Mapping[str, Any]] | None, seed: int
) -> tuple[Run, Settings, Settings]:
    """Return the canonical ids with the seed, and the settings of method and decoder, like the workflow."""
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise RgwotError(f"seed: found {seed!r}, expected a whole number, 0 or more")
    if settings is not None and not isinstance(settings, Mapping):
        raise RgwotError(f"settings: found {settings!r}, expected blocks such as {{'train': {{'iterations': 800}}}}")
    blocks = {block: dict(keys) if isinstance(keys, Mapping) else keys for block, keys in (settings or {}).items()}
    for block, keys in blocks.items():
        if block not in known_blocks():
            raise RgwotError(f"settings: unknown block {block!r}; {nearest(block, known_blocks())}")
        if not isinstance(keys, Mapping):
            raise RgwotError(f"settings: {block}: found {keys!r}, expected keys and values")
    if K is not None:
        blocks["decode"] = {**blocks.get("decode", {}), "K": K}
    experiments = Experiments(load_config(blocks, "settings"))
    written, method = method, experiments.method(method)
    decoder = experiments.decoder(decoder, method)
    for line in replaced_settings(written, decoder, flatten(blocks)):
        raise RgwotError(f"settings: {line}")
    of_decoder = experiments.settings(method, decoder, "")
    if not DECODERS[split_id(decoder)[0]].labels:
        resolved_K(of_decoder.decode.K)
    return Run(method, decoder, int(seed)), experiments.settings(method, None, ""), of_decoder
