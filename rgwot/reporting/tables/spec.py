"""Reading ``workflow/tables.yaml``: the tables as data, checked before anything runs."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rgwot.config.experiments import value_text
from rgwot.datasets.registry import tasks_of
from rgwot.reporting.entries import Canonical, DatasetName, check_id, checked, datasets_in_print, section
from rgwot.reporting.tables.models import AnyTable, ClaimsTable, Place, RuntimeTable, SettingsTable, Table
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.runtime.yaml_text import read_yaml

KINDS: Mapping[str, type[AnyTable]] = {table.KIND: table for table in (Table, ClaimsTable, SettingsTable, RuntimeTable)}

# Figures are data of the same file; `rgwot.reporting.figures` reads them.
KEYS, OTHER_KEYS = ("datasets", "tables"), ("figures", "shared")
SWEEP = "sweep"
_NAME = re.compile(r"\{([A-Za-z_]\w*)\}")


def load_tables(path: str | os.PathLike[str], canonical: Canonical | None = None) -> dict[str, AnyTable]:
    """Read and check the tables of a YAML file; files of reported numbers are looked up beside it.

    ``canonical`` turns method and decoder of a row, in any spelling, into the one that paths and scores use.

    Raises
    ------
    RgwotError
        One line: the table and key, what was found, what was expected.
    """
    source = Path(path)
    content = read_yaml(source)
    if not isinstance(content, dict) or not set(KEYS) <= set(content) <= {*KEYS, *OTHER_KEYS}:
        found = sorted(map(str, content)) if isinstance(content, dict) else type(content).__name__
        raise RgwotError(f"{source}: found {found}, expected the two keys datasets and tables, and perhaps figures")
    names, tables = datasets_in_print(content, source), {}
    context = {"canonical": canonical, "folder": source.parent}
    for table_id, entry in section(content, "tables", source).items():
        where = f"{source}: table {table_id!r}"
        check_id(table_id, where, "egoprocel")
        tables[table_id] = checked(*_table(table_id, entry, names, where), where, context)
    return tables


def find_table(tables: Mapping[str, AnyTable], table_id: str) -> AnyTable:
    """Return one table by its id, or say which are known."""
    if table_id not in tables:
        raise RgwotError(f"table {table_id!r}: not among the tables; {nearest(table_id, tables)}")
    return tables[table_id]


def _table(
    table_id: str, entry: Any, names: Mapping[str, DatasetName], where: str
) -> tuple[type[AnyTable], dict[str, Any]]:
    """Return the kind of a table, and its entry with everything written out that stands for something else."""
    if not isinstance(entry, dict):
        raise RgwotError(f"{where}: found {type(entry).__name__}, expected title, datasets, metrics, rows")
    kind = entry.get("kind", Table.KIND)
    if kind not in KINDS:
        raise RgwotError(f"{where}: unknown kind {kind!r}; {nearest(str(kind), KINDS)}")
    content = {**entry, "id": table_id, "kind": kind, "rows": expand(entry.get("rows"), f"{where}: rows")}
    reported = entry.get("reported")
    if isinstance(reported, dict) and "methods" in reported:
        methods = expand(reported["methods"], f"{where}: reported.methods")
        content["reported"] = {**reported, "methods": methods}
    if KINDS[kind] in (Table, ClaimsTable):
        content["datasets"] = dict(_places(entry.get("datasets"), names, where))
    return KINDS[kind], content


def _places(wanted: Any, names: Mapping[str, DatasetName], where: str) -> Iterator[tuple[str, Place]]:
    """Turn ``meccano``, ``procel/make_coffee`` and ``procel/*`` into places, by the id their columns begin with."""
    if not isinstance(wanted, list) or len(set(map(str, wanted))) != len(wanted):
        raise RgwotError(f"{where}: datasets: found {wanted!r}, expected a list of different names")
    for name in map(str, wanted):
        dataset, _, task = name.partition("/")
        if dataset not in names:
            raise RgwotError(f"{where}: unknown dataset {dataset!r}; {nearest(dataset, names)}")
        in_print = names[dataset].model_dump() | {"dataset": dataset}
        if not task:
            yield dataset, Place(**in_print)
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
            in_print |= {"label": label, "n_tasks": None, "reported_tasks": tuple(sorted(spellings))}
            yield one, Place(**in_print, task=one)


def expand(entries: Any, where: str) -> Any:
    """Write every entry of a list with a key ``sweep`` out, once for every combination of its values.

    ``{alpha}`` in the texts of an entry becomes the value as experiment ids spell it, and ``at`` says which value the
    entry stands for. A list inside the list is taken as its entries, so that tables can share rows (YAML's ``*name``).
    Anything that is no list of mappings is returned as it is, for the check of types to refuse.

    >>> expand([{"id": "a={alpha}", "sweep": {"alpha": [0, 0.3]}}], "table 'x'")
    [{'id': 'a=0', 'at': {'alpha': 0}}, {'id': 'a=0.3', 'at': {'alpha': 0.3}}]
    """
    if not isinstance(entries, list):
        return entries
    return [one for number, entry in enumerate(_flat(entries)) for one in _written_out(entry, f"{where}.{number}")]


def _flat(entries: list[Any]) -> list[Any]:
    return [one for entry in entries for one in (_flat(entry) if isinstance(entry, list) else [entry])]


def _written_out(entry: Any, where: str) -> list[Any]:
    if not isinstance(entry, Mapping) or SWEEP not in entry:
        return [entry]
    sweep = entry[SWEEP]
    if not isinstance(sweep, Mapping) or not sweep:
        raise RgwotError(f"{where}.{SWEEP}: found {sweep!r}, expected names with their values, like alpha: [0, 0.3]")
    for name, values in sweep.items():
        good = isinstance(values, list) and values
        if not good or any(not isinstance(value, (str, int, float)) for value in values):
            raise RgwotError(f"{where}.{SWEEP}.{name}: found {values!r}, expected a list of numbers or words")
    rest = {key: value for key, value in entry.items() if key != SWEEP}
    combinations = (dict(zip(sweep, chosen, strict=True)) for chosen in itertools.product(*sweep.values()))
    return [{**_filled(rest, at, where), "at": at} for at in combinations]


def _filled(part: Any, at: Mapping[str, Any], where: str) -> Any:
    """Put values in place of their names, in every text below ``part``."""
    if isinstance(part, Mapping):
        return {key: _filled(value, at, f"{where}.{key}") for key, value in part.items()}
    if isinstance(part, list):
        return [_filled(value, at, where) for value in part]
    if not isinstance(part, str):
        return part

    def value(match: re.Match[str]) -> str:
        if match[1] not in at:
            raise RgwotError(f"{where}: found {match[0]}, which is not swept; {nearest(match[1], list(map(str, at)))}")
        return value_text(at[match[1]])

    return _NAME.sub(value, part)
