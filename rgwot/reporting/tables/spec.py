"""Reading ``workflow/tables.yaml``: the tables as data, checked before anything runs."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from rgwot.config.experiments import value_text
from rgwot.config.settings import defaults
from rgwot.datasets.registry import tasks_of
from rgwot.reporting.tables.models import AnyTable, ClaimsTable, DatasetName, Place, RuntimeTable, SettingsTable, Table
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.runtime.yaml_text import read_yaml

KINDS: Mapping[str, type[AnyTable]] = {table.KIND: table for table in (Table, ClaimsTable, SettingsTable, RuntimeTable)}
Canonical = Callable[[str, str | None], tuple[str, str | None]]
"""From method and decoder of a row (None: it has none) to their one spelling."""

# Figures are data of the same file; `rgwot.reporting.figures` reads them.
KEYS, OTHER_KEYS = ("datasets", "tables"), ("figures", "shared")
SWEEP = "sweep"
_NAME = re.compile(r"\{([A-Za-z_]\w*)\}")


def load_tables(path: str | os.PathLike[str], canonical: Canonical | None = None) -> dict[str, AnyTable]:
    """Read and check the tables.

    Parameters
    ----------
    path
        A YAML file with ``datasets`` (names in print) and ``tables``. Files of reported numbers are looked up
        beside it.
    canonical
        Turns method and decoder of a row, in any spelling, into the one that paths and scores use.

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
    for key in KEYS:
        if not isinstance(content[key], dict):
            raise RgwotError(f"{source}: {key}: found {type(content[key]).__name__}, expected names with their entries")
    names = {
        str(name): _valid(DatasetName, entry, f"{source}: dataset {str(name)!r}")
        for name, entry in content["datasets"].items()
    }
    tables = {}
    for table_id, entry in content["tables"].items():
        where = f"{source}: table {str(table_id)!r}"
        if not re.fullmatch(r"[a-z][a-z0-9_]*", str(table_id)):
            raise RgwotError(f"{where}: expected a lower-case word like egoprocel, it names a file")
        table = _table(str(table_id), entry, names, where)
        tables[table.id] = _resolved(table, where, source.parent, canonical)
    return tables


def find_table(tables: Mapping[str, AnyTable], table_id: str) -> AnyTable:
    """Return one table by its id, or say which are known."""
    if table_id not in tables:
        raise RgwotError(f"table {table_id!r}: not among the tables; {nearest(table_id, tables)}")
    return tables[table_id]


def _table(table_id: str, entry: Any, names: Mapping[str, DatasetName], where: str) -> AnyTable:
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
    table: AnyTable = _valid(KINDS[kind], content, where)
    return table


def _resolved(table: AnyTable, where: str, folder: Path, canonical: Canonical | None) -> AnyTable:
    """Return a table with every experiment in its one spelling and its reported numbers where they lie."""
    changes: dict[str, Any] = {}
    if canonical is not None:
        changes["rows"] = tuple(_canonical(row, canonical, f"{where}: row {row.id!r}") for row in table.rows)
        if isinstance(table, ClaimsTable):
            changes["experiments"] = {
                name: _canonical(experiment, canonical, f"{where}: experiment {name!r}")
                for name, experiment in table.experiments.items()
            }
    if table.reported is not None:
        changes["reported"] = table.reported.model_copy(update={"file": folder / table.reported.file})
        for name, place in getattr(table, "datasets", {}).items():
            if place.reported is None:
                raise RgwotError(
                    f"{where}: dataset {name!r} has no name in the reported numbers; expected a key `reported`"
                )
    for row in table.rows:
        key = getattr(row, "key", None)
        if key is not None and key != "seeds" and key not in defaults():
            raise RgwotError(f"{where}: row {row.id!r}: unknown setting {key!r}; {nearest(key, defaults())}")
    return table.model_copy(update=changes)


def _canonical(row: Any, canonical: Canonical, where: str) -> Any:
    if not hasattr(row, "method"):
        return row
    try:
        spelling = zip(("method", "decoder"), canonical(row.method, getattr(row, "decoder", None)), strict=True)
    except RgwotError as error:
        raise RgwotError(f"{where}: {error}") from None
    return row.model_copy(update={key: value for key, value in spelling if hasattr(row, key)})


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


def _valid(model: type[BaseModel], content: Any, where: str) -> Any:
    try:
        return model.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            for part in first["loc"][:-1]:
                model = model if isinstance(part, int) else _entry(model.model_fields[part].annotation)[0]
            raise RgwotError(
                f"{where}: unknown key {place!r}; {nearest(str(first['loc'][-1]), model.model_fields)}"
            ) from None
        message = first["msg"].removeprefix("Value error, ")
        message = message[0].lower() + message[1:]
        found = "" if first["type"] == "missing" or not place else f", found {first['input']!r}"
        raise RgwotError(": ".join(part for part in (where, place, message) if part) + found) from None


def _entry(annotation: Any) -> list[type[BaseModel]]:
    """Return the models inside a type, such as the ``Row`` of ``tuple[Row, ...]``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _entry(part)]


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
