"""Write docs/options.md, the tables of methods, decoders and settings, from the code: ``python docs/options.py``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rgwot.blocks import Block
from rgwot.config.configuration import Config, DatasetSettings, PageSettings
from rgwot.config.methods import DECODERS, FAMILIES
from rgwot.config.settings import owners
from rgwot.datasets.settings import ImportedFeatures
from rgwot.embedding.settings import TrainedEncoder
from rgwot.losses.settings import LOSSES
from rgwot.synthetic.settings import SynthSettings

INTRODUCTION = """# Options

This page lists all methods, decoders and keys of `config.yaml`; `make docs` writes it from the code.
An experiment id changes the settings of a method or decoder by its own keys: `rgwot@alpha=0.5`, `graphcut@K=gt`.
Methods that train an encoder have theirs in blocks: a symbol, or `block.key`, as in `rgwot@train.lr=0.001`.
[Methods](methods.md) has the equations.
"""
#: Tables of names that an id may have.
NAMED: dict[str, Mapping[str, str]] = {
    "Methods": {name: family.description for name, family in FAMILIES.items()},
    "Decoders": {name: kind.about() for name, kind in DECODERS.items()},
    "Alignment losses": {name: kind.about() for name, kind in LOSSES.items()},
}
#: Tables of keys that are not settings of a method.
KEYS: dict[str, Any] = {
    "Keys of the whole run": Config,
    "`page`": PageSettings,
    "An entry of `datasets`": DatasetSettings,
    "`imported` of an entry": ImportedFeatures,
    "`synth` of an entry": SynthSettings,
}
LIMITS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}


def page() -> Iterator[str]:
    """Yield the lines of the page."""
    yield INTRODUCTION
    for title, entries in NAMED.items():
        yield f"## {title}\n\n| name | description |\n| --- | --- |"
        yield from (f"| `{name}` | {plain(about)} |" for name, about in entries.items())
        yield ""
    symbols = {dotted: symbol for symbol, dotted in TrainedEncoder.SYMBOLS.items()}
    for block, keys in owners().items():
        # The key `alignment` names the loss, and is not one of its keys.
        kinds = [kind for key, kind in keys.items() if key != "alignment"]
        yield f"## `{block}`\n\n{'; '.join(dict.fromkeys(kind.about() for kind in kinds))}.\n"
        yield "| key | symbol | default | values | description |\n| --- | --- | --- | --- | --- |"
        for key, kind in keys.items():
            if key == "alignment":
                about = "alignment loss; none trains with C-IDM alone"
                cells = ("`alignment`", "", "`gromov_wasserstein`", ", ".join(f"`{name}`" for name in LOSSES), about)
            else:
                field = next(field for name, field in kind.model_fields.items() if key in (name, field.alias))
                values = allowed(kind.model_json_schema(by_alias=True)["properties"][key])
                symbol = symbols.get(f"{block}.{key}", "")
                cells = (f"`{key}`", symbol, default(field), values, plain(str(field.description)))
            yield "| " + " | ".join(cells) + " |"
        yield ""
    for title, model in KEYS.items():
        yield f"## {title}\n\n| key | default | description |\n| --- | --- | --- |"
        # Keys without a default come first.
        for name, field in sorted(model.model_fields.items(), key=lambda item: not item[1].is_required()):
            if name != "blocks":
                yield f"| `{field.alias or name}` | {default(field)} | {plain(field.description)} |"
        yield ""


def default(field: Any) -> str:
    """Return the default of a setting as in YAML; empty if it has none, or is a block."""
    value = field.default
    if field.is_required() or isinstance(value, Block):
        return ""
    if isinstance(value, tuple | list):
        return f"`[{', '.join(map(str, value))}]`"
    return f"`{'null' if value is None else '{}' if field.default_factory else value}`"


def plain(text: str) -> str:
    """Return a description with the characters escaped that mean something in a table of Markdown."""
    return text.replace("|", "\\|").replace("<", "\\<")


def allowed(schema: dict[str, Any]) -> str:
    """Return the permitted values of a setting, from its JSON Schema."""
    if "anyOf" in schema:
        return " or ".join(map(allowed, schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    return ", ".join([schema["type"], *(f"{sign} {schema[key]:g}" for key, sign in LIMITS.items() if key in schema)])


if __name__ == "__main__":
    Path(__file__).with_suffix(".md").write_text("\n".join(page()), encoding="utf-8")
