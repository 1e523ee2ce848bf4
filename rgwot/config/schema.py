"""Files written from the typed settings: the JSON Schema, the comments of ``config.yaml``, the page of options.

``python -m rgwot.config.schema`` (`make schema`) renews all three; a test fails if one of them is out of date.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rgwot.config.configuration import Config
from rgwot.config.experiments import SHORT
from rgwot.config.settings import BLOCKS, Block, Settings
from rgwot.runtime.files import write_json, write_text

#: Greek letters of the paper for keys of ids.
GREEK = {
    "alpha": "α", "epsilon": "ε", "rho": "ρ", "zeta": "ζ", "tau": "τ", "beta": "β", "lambda": "λ", "sigma": "σ",
}  # fmt: skip
#: Column of the comments of ``config.yaml``, and the width of its lines.
COLUMN, WIDTH = 38, 132

_KEY = re.compile(r"  (?P<key>\w+): (?P<value>[^#]*?)\s*(?:#.*)?")
_MORE = re.compile(r"\s{10,}#.*")


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of ``config.yaml``."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | Config.model_json_schema(by_alias=True)


def symbol(dotted: str) -> str:
    """Return the paper's symbol of a setting, empty if it has none.

    >>> symbol("ot.alpha"), symbol("decode.K"), symbol("train.lr")
    ('α', 'K', '')
    """
    short = SHORT.get(dotted, "")
    return GREEK.get(short, short)


def commented(text: str) -> str:
    """Return the text of ``config.yaml`` with the comments of all settings renewed and everything else unchanged."""
    lines: list[str] = []
    block = ""
    for line in text.splitlines():
        if line and not line.startswith((" ", "#")):
            block = line.partition(":")[0]
        found = _KEY.fullmatch(line)
        if block in BLOCKS and found:
            lines += _described(f"  {found['key']}: {found['value']}", _description(block, found["key"]))
        elif not (block in BLOCKS and _MORE.fullmatch(line)):
            lines.append(line)
    return "\n".join(lines) + "\n"


def options_page() -> str:
    """Return docs/options.md: every setting with its default, permitted values and description."""
    lines = [
        "# Options",
        "",
        "Every key of `config.yaml` on which results depend, block by block, and what each may be. Written from",
        "`rgwot/config/settings.py` by `make schema`. A value that a table or an id changes is spelt",
        "`block.key`, or by its symbol where it has one: `rgwot@alpha=0.5`, `graphcut@K=gt`.",
    ]
    schema = Settings.model_json_schema(by_alias=True)
    for block in BLOCKS:
        model = _model(block)
        lines += ["", f"## `{block}`", "", f"{(model.__doc__ or '').strip().splitlines()[0]}", ""]
        lines += ["| key | symbol | default | may be | what it is |", "| --- | --- | --- | --- | --- |"]
        keys = schema["$defs"][model.__name__]["properties"]
        for name, field in model.model_fields.items():
            key = field.alias or name
            cells = [f"`{key}`", symbol(f"{block}.{key}"), f"`{_plain(field.default)}`", _allowed(keys[key])]
            lines.append("| " + " | ".join([*cells, str(field.description).replace("|", "\\|")]) + " |")
    return "\n".join(lines) + "\n"


def _model(block: str) -> type[Block]:
    model = Settings.model_fields[block].annotation
    assert isinstance(model, type)
    return model


def _description(block: str, key: str) -> str:
    fields = _model(block).model_fields.items()
    described = next(str(field.description) for name, field in fields if key in (name, field.alias))
    short = symbol(f"{block}.{key}")
    return f"{short}: {described}" if short else described


def _described(line: str, comment: str) -> Iterator[str]:
    start = max(COLUMN - 1, len(line) + 1)
    for number, part in enumerate(textwrap.wrap(comment, WIDTH - start - 2, break_long_words=False)):
        yield (line if number == 0 else "").ljust(start) + f"# {part}"


def _plain(value: Any) -> str:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _allowed(schema: dict[str, Any]) -> str:
    """Return the permitted values of a setting in words, from its JSON Schema.

    >>> _allowed({"type": "number", "minimum": 0, "exclusiveMaximum": 1})
    'number, ≥ 0, < 1'
    """
    if "anyOf" in schema:
        return " or ".join(_allowed(one) for one in schema["anyOf"])
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    kinds = {
        "integer": "whole number",
        "number": "number",
        "boolean": "`true`, `false`",
        "string": "text",
        "null": "`null`",
    }
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    return ", ".join([kinds[schema["type"]], *(f"{signs[key]} {schema[key]:g}" for key in signs if key in schema)])


def main() -> None:
    """Renew the files of the current checkout that are written from the settings."""
    write_json(json_schema(), Path("workflow/schemas/config.schema.json"))
    write_text(commented(Path("config.yaml").read_text(encoding="utf-8")), Path("config.yaml"))
    write_text(options_page(), Path("docs/options.md"))


if __name__ == "__main__":
    main()
