"""The tables as data: rows, datasets, metrics, and the reported numbers that stand beside them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from rgwot.errors import RgwotError, nearest

Metric = Literal["f1", "iou", "precision", "recall", "order_tau"]
Background = Literal["with", "without"]
ProtocolName = Literal["micro_video", "macro_video", "macro_task", "strict_task"]
Canonical = Callable[[str, str], tuple[str, str]]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DatasetName(_Part):
    """A dataset in print: its label, its name in the reported numbers, and how many tasks it has."""

    label: str
    reported: str | None = None
    n_tasks: Annotated[int, Field(ge=1)] | None = None


class Row(_Part):
    """A measured row: the experiment it shows, and whether it is an answer that needs no features."""

    id: str
    label: str
    method: str
    decoder: str
    trivial: bool = False

    @field_validator("id")
    @classmethod
    def _file_name(cls, text: str) -> str:
        if not re.fullmatch(r"[a-z][a-z0-9_-]*", text):
            raise ValueError("expected a lower-case word like raw_kmeans, it names a file")
        return text


class Block(_Part):
    """One protocol, with or without background: a group of columns of the printed forms."""

    protocol: ProtocolName
    background: Background


LEADING = (Block(protocol="macro_task", background="with"), Block(protocol="micro_video", background="with"))


class ReportedMethod(_Part):
    """A reported row and how its numbers were made; ``unknown`` where no code shows it."""

    method: str
    protocol: ProtocolName | Literal["unknown"] = "unknown"
    background: Background | Literal["unknown"] = "unknown"
    label_rule: Literal["exact", "cnc", "unknown"] = "unknown"


class Reported(_Part):
    """Reported numbers of a table: their file, their rows in order, and what is said about all of them."""

    file: Path
    methods: tuple[ReportedMethod, ...]
    note: str = ""


class Table(_Part):
    """A table: id, what it shows, and the ``blocks`` with which the printed forms begin."""

    id: str
    title: str
    datasets: Mapping[str, DatasetName]
    metrics: tuple[Metric, ...] = ("f1", "iou")
    rows: tuple[Row, ...]
    reported: Reported | None = None
    blocks: tuple[Block, ...] = LEADING
    notes: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        unique: dict[str, list[str]] = {
            "row": [row.id for row in self.rows],
            "metric": [str(metric) for metric in self.metrics],
            "block": [f"{block.protocol} {block.background} background" for block in self.blocks],
            "reported method": [method.method for method in self.reported.methods] if self.reported else [],
        }
        for what, names in unique.items():
            twice = [name for name in names if names.count(name) > 1]
            if twice:
                raise ValueError(f"{what} {twice[0]!r} stands twice; expected every one once")
        for what, number in (
            ("rows", len(self.rows)),
            ("datasets", len(self.datasets)),
            ("metrics", len(self.metrics)),
        ):
            if number == 0:
                raise ValueError(f"no {what}; expected at least one")
        if "reported" in (row.id for row in self.rows):
            raise ValueError("row 'reported': this id is taken by the reported numbers; choose another")
        return self

    def row(self, row_id: str) -> Row:
        """Return one row by its id, or say which are known."""
        for row in self.rows:
            if row.id == row_id:
                return row
        raise RgwotError(f"table {self.id!r}: no row {row_id!r}; {nearest(row_id, [row.id for row in self.rows])}")


def load_tables(path: str | os.PathLike[str], canonical: Canonical | None = None) -> dict[str, Table]:
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
    try:
        content = yaml.safe_load(source.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise RgwotError(f"{source}: cannot be read as YAML: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict) or set(content) != {"datasets", "tables"}:
        found = sorted(map(str, content)) if isinstance(content, dict) else type(content).__name__
        raise RgwotError(f"{source}: found {found}, expected the two keys datasets and tables")
    for key in ("datasets", "tables"):
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
        tables[str(table_id)] = _table(str(table_id), entry, names, where, source.parent, canonical)
    return tables


def find_table(tables: Mapping[str, Table], table_id: str) -> Table:
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
) -> Table:
    if not isinstance(entry, dict):
        raise RgwotError(f"{where}: found {type(entry).__name__}, expected title, datasets, metrics, rows")
    wanted = entry.get("datasets")
    if not isinstance(wanted, list) or len(set(map(str, wanted))) != len(wanted):
        raise RgwotError(f"{where}: datasets: found {wanted!r}, expected a list of different names")
    for name in wanted:
        if name not in names:
            raise RgwotError(f"{where}: unknown dataset {name!r}; {nearest(str(name), names)}")
    content = {**entry, "id": table_id, "datasets": {name: names[name] for name in wanted}}
    table: Table = _valid(Table, content, where)
    changes: dict[str, Any] = {}
    if canonical is not None:
        rows = []
        for row in table.rows:
            try:
                method, decoder = canonical(row.method, row.decoder)
            except RgwotError as error:
                raise RgwotError(f"{where}: row {row.id!r}: {error}") from None
            rows.append(row.model_copy(update={"method": method, "decoder": decoder}))
        changes["rows"] = tuple(rows)
    if table.reported is not None:
        changes["reported"] = table.reported.model_copy(update={"file": folder / table.reported.file})
        unnamed = [name for name, dataset in table.datasets.items() if dataset.reported is None]
        if unnamed:
            raise RgwotError(
                f"{where}: dataset {unnamed[0]!r} has no name in the reported numbers; expected a key `reported`"
            )
    return table.model_copy(update=changes)


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
    inner: Mapping[str, type[BaseModel]] = {
        "rows": Row,
        "blocks": Block,
        "reported": Reported,
        "methods": ReportedMethod,
        "datasets": DatasetName,
    }
    named = [inner[part] for part in parents if isinstance(part, str) and part in inner]
    return list((named[-1] if named else model).model_fields)
