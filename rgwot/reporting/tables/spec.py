"""Reading ``workflow/tables.yaml``: the tables as data, checked before anything runs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from rgwot.config.settings import defaults
from rgwot.datasets.registry import tasks_of
from rgwot.reporting.tables import models
from rgwot.reporting.tables.models import (
    LEADING,
    AnyTable,
    Background,
    Block,
    DatasetName,
    Metric,
    Place,
    ProtocolName,
    Row,
    RuntimeTable,
    SettingsTable,
    Table,
)
from rgwot.reporting.tables.sweeps import expand
from rgwot.runtime import yaml_text
from rgwot.runtime.errors import RgwotError, nearest

__all__ = [
    "LEADING",
    "Background",
    "Block",
    "DatasetName",
    "Metric",
    "Place",
    "ProtocolName",
    "Row",
    "Table",
    "AnyTable",
    "find_table",
    "load_tables",
    "read_yaml",
]

KINDS: Mapping[str, type[AnyTable]] = {table.KIND: table for table in (Table, SettingsTable, RuntimeTable)}
Canonical = Callable[[str, str | None], tuple[str, str | None]]
"""From method and decoder of a row (None: it has none) to their one spelling."""

# Figures are data of the same file; `rgwot.reporting` reads them elsewhere.
KEYS, OTHER_KEYS = ("datasets", "tables"), ("figures", "shared")
#: Lists of entries by their place in a table, with what each entry is.
ENTRIES: Mapping[str, type[BaseModel]] = {
    "blocks": Block,
    "reported": models.Reported,
    "methods": models.ReportedMethod,
    "datasets": DatasetName,
    "gains": models.Gain,
}


def read_yaml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the file of tables and figures as it is written.

    Raises
    ------
    RgwotError
        When it is no YAML, or lacks the keys ``datasets`` and ``tables``.
    """
    source = Path(path)
    content = yaml_text.read_yaml(source)
    if not isinstance(content, dict) or not set(KEYS) <= set(content) <= {*KEYS, *OTHER_KEYS}:
        found = sorted(map(str, content)) if isinstance(content, dict) else type(content).__name__
        raise RgwotError(f"{source}: found {found}, expected the two keys datasets and tables, and perhaps figures")
    for key in KEYS:
        if not isinstance(content[key], dict):
            raise RgwotError(f"{source}: {key}: found {type(content[key]).__name__}, expected names with their entries")
    return content


def load_tables(path: str | os.PathLike[str], canonical: Canonical | None = None) -> dict[str, AnyTable]:
    """Read and check the tables.

    Parameters
    ----------
    path
        A YAML file with ``datasets`` (names in print) and ``tables``. Files of reported numbers are looked up
        beside it.
    canonical
        Turns the method and decoder of a row, in any spelling, into the one spelling that paths and scores
        use.

    Raises
    ------
    RgwotError
        One line: the table and key, what was found, what was expected.
    """
    source = Path(path)
    content = read_yaml(source)
    names = {
        str(name): _valid(DatasetName, entry, f"{source}: dataset {str(name)!r}")
        for name, entry in content["datasets"].items()
    }
    tables = {}
    for table_id, entry in content["tables"].items():
        where = f"{source}: table {str(table_id)!r}"
        if not re.fullmatch(r"[a-z][a-z0-9_]*", str(table_id)):
            raise RgwotError(f"{where}: expected a lower-case word like egoprocel, it names a file")
        tables[str(table_id)] = _table(str(table_id), entry, names, where, source.parent, canonical)
    return tables


def find_table(tables: Mapping[str, AnyTable], table_id: str) -> AnyTable:
    """Return one table by its id, or say which are known."""
    if table_id not in tables:
        raise RgwotError(f"table {table_id!r}: not among the tables; {nearest(table_id, tables)}")
    return tables[table_id]


def _table(
    table_id: str,
    entry: Any,
    names: Mapping[str, DatasetName],
    where: str,
    folder: Path,
    canonical: Canonical | None,
) -> AnyTable:
    if not isinstance(entry, dict):
        raise RgwotError(f"{where}: found {type(entry).__name__}, expected title, datasets, metrics, rows")
    kind = entry.get("kind", Table.KIND)
    if kind not in KINDS:
        raise RgwotError(f"{where}: unknown kind {kind!r}; {nearest(str(kind), KINDS)}")
    content = {**entry, "id": table_id, "kind": kind, "rows": expand(_flat(entry.get("rows")), f"{where}: rows")}
    reported = entry.get("reported")
    if isinstance(reported, dict) and "methods" in reported:
        methods = expand(_flat(reported["methods"]), f"{where}: reported.methods")
        content["reported"] = {**reported, "methods": methods}
    if "datasets" in KINDS[kind].model_fields:
        content["datasets"] = dict(_places(entry.get("datasets"), names, where))
    table: AnyTable = _valid(KINDS[kind], content, where)
    changes: dict[str, Any] = {}
    if canonical is not None:
        changes["rows"] = tuple(_canonical(row, canonical, f"{where}: row {row.id!r}") for row in table.rows)
    if table.reported is not None:
        changes["reported"] = table.reported.model_copy(update={"file": folder / table.reported.file})
        unnamed = [name for name, place in getattr(table, "datasets", {}).items() if place.reported is None]
        if unnamed:
            raise RgwotError(
                f"{where}: dataset {unnamed[0]!r} has no name in the reported numbers; expected a key `reported`"
            )
    for row in table.rows:
        key = getattr(row, "key", None)
        if key is not None and key != "seeds" and key not in defaults():
            raise RgwotError(f"{where}: row {row.id!r}: unknown setting {key!r}; {nearest(key, defaults())}")
    return table.model_copy(update=changes)


def _flat(entries: Any) -> Any:
    """Take a list inside a list as its entries, so that tables can share rows (YAML's ``*name``)."""
    if not isinstance(entries, list):
        return entries
    return [one for entry in entries for one in (_flat(entry) if isinstance(entry, list) else [entry])]


def _canonical(row: Any, canonical: Canonical, where: str) -> Any:
    if not hasattr(row, "method"):
        return row
    try:
        method, decoder = canonical(row.method, getattr(row, "decoder", None))
    except RgwotError as error:
        raise RgwotError(f"{where}: {error}") from None
    return row.model_copy(update={"method": method} | ({"decoder": decoder} if hasattr(row, "decoder") else {}))


def _places(wanted: Any, names: Mapping[str, DatasetName], where: str) -> Iterator[tuple[str, Place]]:
    """Turn ``meccano``, ``procel/make_coffee`` and ``procel/*`` into places, by the id their columns begin with."""
    if not isinstance(wanted, list) or len(set(map(str, wanted))) != len(wanted):
        raise RgwotError(f"{where}: datasets: found {wanted!r}, expected a list of different names")
    for name in map(str, wanted):
        dataset, _, task = name.partition("/")
        if dataset not in names:
            raise RgwotError(f"{where}: unknown dataset {dataset!r}; {nearest(dataset, names)}")
        told = names[dataset].model_dump()
        if not task:
            yield dataset, Place(**told, dataset=dataset)
            continue
        facts = {row.task: row for row in tasks_of(dataset)}
        if task == "*" and not facts:
            raise RgwotError(f"{where}: {name}: the tasks of {dataset} are not registered; name each of them")
        if task != "*" and facts and task not in facts:
            raise RgwotError(f"{where}: unknown task {name!r}; {nearest(task, facts)}")
        for one in facts if task == "*" else [task]:
            known = facts.get(one)
            # CrossTask's tasks are numbers, in its files and in print; their names say more.
            label = one if known is None else known.name if known.paper_label.isdecimal() else known.paper_label
            spellings = {one} if known is None else {one, known.paper_label}
            told |= {"label": label, "n_tasks": None, "reported_tasks": tuple(sorted(spellings))}
            yield one, Place(**told, dataset=dataset, task=one)


def _valid(model: type[BaseModel], content: Any, where: str) -> Any:
    try:
        return model.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            known = _keys(model, first["loc"][:-1])
            raise RgwotError(f"{where}: unknown key {place!r}; {nearest(str(first['loc'][-1]), known)}") from None
        message = first["msg"].removeprefix("Value error, ")
        message = message[0].lower() + message[1:]
        found = "" if first["type"] == "missing" or not place else f", found {first['input']!r}"
        raise RgwotError(": ".join(part for part in (where, place, message) if part) + found) from None


def _keys(model: type[BaseModel], parents: tuple[int | str, ...]) -> list[str]:
    """Return the keys that may stand at a place of a table."""
    rows = {"rows": _entry(model)} if "rows" in model.model_fields else {}
    named = [entry for part in parents if (entry := {**ENTRIES, **rows}.get(str(part))) is not None]
    return list((named[-1] if named else model).model_fields)


def _entry(table: type[BaseModel]) -> type[BaseModel]:
    """Return what the rows of a kind of table are."""
    entry: type[BaseModel] = table.model_fields["rows"].annotation.__args__[0]  # type: ignore[union-attr]
    return entry
