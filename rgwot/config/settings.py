"""The blocks of ``config.yaml``: the keys of all settings and models, how they are checked, and how they are merged.

The default of every key is its value in the family ``rgwot``: the value of the paper or, if the paper gives none or one
that cannot be intended, our choice (methods 7). The keys of experiment ids and the option tables of the documentation
follow from the same classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rgwot.blocks import Block, Blocks, flatten
from rgwot.config.methods import DECODERS, FAMILIES
from rgwot.embedding.settings import TrainedEncoder
from rgwot.evaluation import EvaluationSettings
from rgwot.features.settings import EXECUTION as FEATURES_EXECUTION
from rgwot.features.settings import FeatureSettings
from rgwot.losses.settings import LOSSES
from rgwot.runtime.errors import RgwotError, nearest

#: Keys that affect how a job runs, but no result.
EXECUTION: tuple[str, ...] = (
    *(f"features.{key}" for key in FEATURES_EXECUTION),
    "train.memory_gb",
    "train.save_every_s",
)


def owners() -> dict[str, dict[str, type[Block]]]:
    """Return, for every block and key, the class that has it; classes of extensions come last."""
    embeddings = [family.embedding for family in FAMILIES.values()]
    kinds: list[type[Block]] = [FeatureSettings, EvaluationSettings, *embeddings, *LOSSES.values(), *DECODERS.values()]
    found: dict[str, dict[str, type[Block]]] = {"loss": {"alignment": TrainedEncoder}}
    for kind in (part for whole in kinds for part in _with_parts(whole)):
        for key, block in kind.places().items():
            found.setdefault(block, {}).setdefault(key, kind)
    return found


def _with_parts(kind: type[Block]) -> Iterator[type[Block]]:
    yield kind
    for part in kind.part_kinds().values():
        yield from _with_parts(part)


def checked(content: Mapping[Any, Any]) -> dict[str, dict[str, object]]:
    """Return blocks with their values as numbers and texts of the right types, without defaults.

    Raises RgwotError, in one line that names the key, if a key is unknown or has a wrong value.
    """
    known = owners()
    for block, keys in content.items():
        if block not in known:
            raise RgwotError(f"unknown key {block!r}; {nearest(str(block), known)}")
        if keys is None:
            raise RgwotError(f"{block}: empty; give it keys or values, or leave it out")
        if not isinstance(keys, Mapping):
            raise RgwotError(f"{block}: found {keys!r}, expected keys and values")
        for key in keys:
            if key not in known[block]:
                elsewhere = [f"{name}.{key}" for name, others in known.items() if key in others]
                hint = nearest(str(key), known[block])
                if elsewhere and not hint.startswith("did you mean"):
                    hint = f"known: {', '.join(elsewhere)}"
                raise RgwotError(f"unknown key '{block}.{key}'; {hint}")
    values: dict[str, object] = {}
    for kind in dict.fromkeys(known[block][key] for block, keys in content.items() for key in keys):
        values |= flatten(kind.of(content, "").by_block())
    return {block: {key: values[f"{block}.{key}"] for key in keys} for block, keys in content.items()}


def merged(*layers: Blocks) -> dict[str, dict[str, object]]:
    """Merge the keys of all layers; later layers win."""
    blocks: dict[str, dict[str, object]] = {}
    for layer in layers:
        for block, keys in layer.items():
            blocks.setdefault(block, {}).update(keys)
    return blocks


def defaults() -> dict[str, object]:
    """Return the default of every dotted key, for the family ``rgwot``."""
    values: dict[str, object] = {"loss.alignment": TrainedEncoder().loss.NAME}
    for block, keys in owners().items():
        for key, kind in keys.items():
            values.setdefault(f"{block}.{key}", flatten(kind().by_block()).get(f"{block}.{key}"))
    return values


def without_execution(blocks: Blocks) -> dict[str, dict[str, object]]:
    """Return blocks without the keys of `EXECUTION`."""
    return {
        block: {key: value for key, value in keys.items() if f"{block}.{key}" not in EXECUTION}
        for block, keys in blocks.items()
    }
