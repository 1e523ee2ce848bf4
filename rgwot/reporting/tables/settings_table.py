"""Tables of hyper-parameters: what the configuration resolves to, beside what the paper prints."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from rgwot.config.experiments import value_text
from rgwot.reporting.tables import flat
from rgwot.reporting.tables.models import Setting, SettingsTable
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import text_of, write_csv, write_text

SEEDS = "seeds"
REPORTED_COLUMNS = ("name", "value", "source", "note")


def columns(table: SettingsTable) -> list[str]:
    """Return the columns: the parameter, its resolved value for every method, the reported one and its source."""
    return ["parameter", "label", "symbol", "key", *table.methods, "reported", "source", "note"]


def make_row(
    table: SettingsTable,
    row_id: str,
    inputs: Sequence[str | os.PathLike[str]],
    told: Mapping[str, Any],
    output: str | os.PathLike[str],
) -> None:
    """Write one hyper-parameter.

    Parameters
    ----------
    table, row_id
        The table and its row.
    inputs
        Not read: what the row holds comes with ``told`` and from the reported file.
    told
        ``seeds``, and ``settings``: for every method its resolved settings by dotted key.

    Raises
    ------
    RgwotError
        When the reported file has no such name, or the source no such number.
    """
    row: Setting = table.row(row_id)
    line: dict[str, str] = {"parameter": row.id, "label": row.label, "symbol": row.symbol, "key": row.key or ""}
    for method in table.methods:
        line[method] = _ours(row, method, told)
    notes = [row.note] if row.note else []
    if row.reported is not None:
        found = _reported(table, row.reported)
        line |= {"reported": found["value"], "source": found["source"]}
        notes += [f"reported: {found['note']}"] if found["note"] else []
    line["note"] = "; ".join(notes)
    write_csv(pd.DataFrame([{column: line.get(column, "") for column in columns(table)}]), output)


def join_rows(table: SettingsTable, rows: Iterable[str | os.PathLike[str]], output: str | os.PathLike[str]) -> None:
    """Write the table from its rows."""
    write_csv(flat.joined(table, rows, columns(table), "parameter"), output)


def render_table(table: SettingsTable, csv: str | os.PathLike[str]) -> None:
    """Write the Markdown and the LaTeX form beside the CSV; notes become footnotes below the table."""
    frame = flat.read_flat(csv, columns(table))
    heads = ["", "symbol", *table.methods, "reported"]
    lines = [
        [row["label"], row["symbol"], *(row[method] or "–" for method in table.methods), row["reported"] or "–"]
        for row in frame.to_dict("records")
    ]
    notes = [
        "Resolved from the configuration of this run; the key of every value is in the CSV.",
        *_sources(frame),
        *(f"{row['label']}: {row['note']}." for row in frame.to_dict("records") if row["note"]),
        *table.notes,
    ]
    write_text(flat.markdown(table.title, heads, lines, notes), Path(csv).with_suffix(".md"))
    write_text(flat.latex(table.id, table.title, heads, lines, notes), Path(csv).with_suffix(".tex"))


def _ours(row: Setting, method: str, told: Mapping[str, Any]) -> str:
    if method in row.constants:
        return value_text(constant(row.constants[method]))
    if row.key is None:
        return ""
    value = told["seeds"] if row.key == SEEDS else told["settings"][method][row.key]
    return ", ".join(map(value_text, value)) if isinstance(value, list) else value_text(value)


def _sources(frame: pd.DataFrame) -> list[str]:
    """Say which reported values do not stand in the paper's table."""
    by_source = frame[frame["source"] != ""].groupby("source", sort=False)["label"].agg(list)
    return [f"Reported in {source}: {', '.join(labels)}." for source, labels in list(by_source.items())[1:]]


def _reported(table: SettingsTable, name: str) -> Mapping[Any, str]:
    assert table.reported is not None
    path = table.reported.file
    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False).map(text_of)
    except (OSError, ValueError) as error:
        raise RgwotError(f"{path}: cannot be read as reported numbers: {' '.join(str(error).split())}") from None
    missing = [column for column in REPORTED_COLUMNS if column not in frame.columns]
    if missing:
        raise RgwotError(f"{path}: found columns {','.join(frame.columns)}, expected also {','.join(missing)}")
    rows = frame[frame["name"] == name].to_dict("records")
    if len(rows) != 1:
        raise RgwotError(f"{path}: found {len(rows)} rows {name!r}, expected one for table {table.id!r}")
    return rows[0]


@cache
def constant(place: str) -> Any:
    """Return a number that is fixed in the source, without importing the module.

    Parameters
    ----------
    place
        ``file:NAME`` below the package: the value given to NAME there, or the default of a parameter of this name.

    Raises
    ------
    RgwotError
        When the file or the name is not there, or its value is no literal.

    Examples
    --------
    >>> constant("reporting/settings_table.py:SEEDS")
    'seeds'
    """
    path, _, name = place.partition(":")
    source = files("rgwot").joinpath(path)
    if not source.is_file():
        raise RgwotError(f"constant {place!r}: no file {path} in the package; correct it in tables.yaml")
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        for found, value in _named(node):
            if found == name and isinstance(value, ast.expr):
                try:
                    return ast.literal_eval(value)
                except ValueError:
                    continue
    raise RgwotError(f"constant {place!r}: no number of this name in {path}; correct it in tables.yaml")


def _named(node: ast.AST) -> Iterable[tuple[str, ast.expr | None]]:
    if isinstance(node, ast.Assign):
        return [(target.id, node.value) for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [(node.target.id, node.value)]
    if isinstance(node, ast.FunctionDef):
        positional = [*node.args.posonlyargs, *node.args.args]
        given = positional[len(positional) - len(node.args.defaults) :]
        pairs = [*zip(given, node.args.defaults, strict=True)]
        keyword = [*zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)]
        return [(argument.arg, value) for argument, value in [*pairs, *keyword]]
    return []


def content(told: Mapping[str, Any], row: Setting) -> str:
    """Return what a row is made from, as JSON: only what it shows, so that no other setting makes it outdated."""
    seeds = told["seeds"] if row.key == SEEDS else None
    own = {method: values.get(row.key) for method, values in told["settings"].items()} if row.key else {}
    return json.dumps({"row": row.model_dump(mode="json"), "seeds": seeds, "settings": own}, sort_keys=True)
