"""The tables of ``workflow/tables.yaml``: which rows, datasets and metrics each shows, checked before anything runs."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, StringConstraints, model_validator

from rgwot.config.experiments import value_text
from rgwot.config.settings import defaults, validated
from rgwot.datasets.registry import tasks_of
from rgwot.reporting.entries import (
    Beside,
    Canonical,
    DatasetName,
    Part,
    Spelled,
    name_of,
    read_entries,
)
from rgwot.reporting.tables.metrics import METRICS, Metric, metrics_of
from rgwot.runtime.errors import RgwotError, nearest

ProtocolName = Literal["micro_video", "macro_video", "macro_task", "strict_task", "hiero", "segmentation", "graph"]
Background = Literal["with", "without"]
UNKNOWN = "unknown"
Source = Literal["", "released code", "paper's equations", "our reading", "ours", "trivial"]


def _once(names: Any) -> Any:
    """Refuse a list that is empty, or has an entry twice; rows count by id."""
    ids = [getattr(name, "id", name) for name in names]
    if not ids:
        raise ValueError("expected at least one")
    for one in ids:
        if ids.count(one) > 1:
            raise ValueError(f"{one!r} is there twice; expected each once")
    return names


def _known(what: str, names: Collection[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise ValueError(f"{what} {name!r} is not there; {nearest(name, known)}")


class Place(DatasetName):
    """What a group of columns is about: a whole dataset, or one task of it.

    ``task`` is None for a whole dataset; ``reported_tasks`` are the names under which reported numbers know it.
    """

    dataset: str
    task: str | None = None
    reported_tasks: tuple[str, ...] = ("all",)


class AnyRow(Part):
    """A row of any table: the id that names its file, and its label in print."""

    id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_.=+-]*$")]
    label: str


class Row(AnyRow, Spelled):
    """A measured row of scores: the experiment it shows, and whether it is an answer that needs no features.

    ``source`` says what the implementation follows; it begins the row's note.
    """

    method: str
    decoder: str
    trivial: bool = False
    source: Source = ""


class Setting(AnyRow):
    """A row of a table of settings: where our values are, and the name of the reported one.

    ``key`` is a dotted key of the settings, or ``seeds``. ``fixed`` are values, by method, that cannot be set.
    """

    symbol: str = ""
    key: str | None = None
    fixed: Mapping[str, str] = {}
    reported: str | None = None
    note: str = ""

    @model_validator(mode="after")
    def _is_a_setting(self) -> Self:
        if self.key not in (None, "seeds", *defaults()):
            raise ValueError(f"unknown setting {self.key!r}; {nearest(str(self.key), defaults())}")
        return self


class TimedRow(AnyRow, Spelled):
    """A row of a table of run times: the method whose training is timed."""

    method: str


class Block(Part):
    """One protocol, with or without background: a group of columns of the printed forms."""

    protocol: ProtocolName
    background: Background


LEADING = (Block(protocol="macro_task", background="with"), Block(protocol="micro_video", background="with"))


class ReportedMethod(Part):
    """A reported row and how its numbers were made; ``unknown`` where no code shows it.

    ``where`` chooses among several rows of one method by the columns of a condition, such as ``K: 7``. ``row`` is the
    measured row it belongs to; with a condition it also gives the reported row its id.
    """

    method: str
    where: Mapping[str, str] = {}
    row: str | None = None
    protocol: ProtocolName | Literal["unknown"] = "unknown"
    background: Background | Literal["unknown"] = "unknown"
    label_rule: Literal["exact", "cnc", "unknown"] = "unknown"

    @property
    def id(self) -> str:
        """What the column ``method`` of the table says."""
        return self.row if self.where and self.row else self.method


class Reported(Part):
    """Reported numbers of a table: their file, their rows in order, and what is said about all of them.

    ``source`` keeps only the lines of the file that name this source.
    """

    file: Beside
    methods: Annotated[tuple[ReportedMethod, ...], AfterValidator(_once)] = ()
    note: str = ""
    source: str | None = None


class AnyTable(Part):
    """What every table has: its kind, its id, what it shows, its rows, reported numbers and remarks.

    ``paper`` says whether the named target ``paper`` makes it.
    """

    KIND: ClassVar[str]

    kind: str
    id: str
    title: str
    paper: bool = True
    rows: Annotated[tuple[AnyRow, ...], AfterValidator(_once)]
    reported: Reported | None = None
    notes: tuple[str, ...] = ()

    def row(self, row_id: str) -> Any:
        """Return one row by its id, or say which are known."""
        for row in self.rows:
            if row.id == row_id:
                return row
        raise RgwotError(f"table {self.id!r}: no row {row_id!r}; {nearest(row_id, [row.id for row in self.rows])}")

    @model_validator(mode="after")
    def _reported_rows_are_there(self) -> Self:
        entries = self.reported.methods if self.reported else ()
        _known("reported row", [one.row for one in entries if one.row is not None], [row.id for row in self.rows])
        return self


class Table(AnyTable):
    """A table of scores; the printed forms begin with its ``blocks``.

    ``lines`` says what is printed one below the other: the rows, or (many tasks, few rows) the datasets.
    """

    KIND = "scores"

    datasets: Annotated[dict[str, Place], AfterValidator(_once)]
    lines: Literal["rows", "datasets"] = "rows"
    metrics: Annotated[tuple[Metric, ...], AfterValidator(_once)] = ("f1", "iou")
    rows: Annotated[tuple[Row, ...], AfterValidator(_once)]
    blocks: Annotated[tuple[Block, ...], AfterValidator(_once)] = LEADING

    @property
    def own(self) -> str | None:
        """The protocol whose own metrics it shows, or None."""
        return next((own for name in self.metrics if (own := METRICS[name].protocol)), None)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for block in self.blocks:
            known = metrics_of(block.protocol)
            if not set(self.metrics) <= set(known):
                raise ValueError(f"protocol {block.protocol} has the metrics {', '.join(known)} alone; correct metrics")
        for name, place in self.datasets.items():
            if self.reported and place.reported is None:
                raise ValueError(f"dataset {name!r} has no name in the reported numbers; expected a key `reported`")
        return self


class SettingsTable(AnyTable):
    """A table of hyper-parameters: the resolved values of some methods next to the reported ones."""

    KIND = "settings"

    methods: tuple[str, ...]
    rows: Annotated[tuple[Setting, ...], AfterValidator(_once)]


class RuntimeTable(AnyTable):
    """A table of training times on one task, ``dataset`` and ``task``."""

    KIND = "runtime"

    dataset: str
    task: str
    rows: Annotated[tuple[TimedRow, ...], AfterValidator(_once)]


KINDS: Mapping[str, type[AnyTable]] = {table.KIND: table for table in (Table, SettingsTable, RuntimeTable)}


def load_tables(path: str | os.PathLike[str], canonical: Canonical | None = None) -> dict[str, AnyTable]:
    """Read and check the tables of a YAML file; files of reported numbers are looked up next to it.

    ``canonical`` turns method and decoder of a row, in any spelling, into the one that paths and scores use.

    Raises
    ------
    RgwotError
        One line: the table and key, what was found, what was expected.
    """
    source = Path(path)
    content, tables = read_entries(source), {}
    context = {"canonical": canonical, "folder": source.parent}
    for table_id, given in content.tables.items():
        where, entry = f"{source}: table {table_id!r}", {"kind": Table.KIND, **given, "id": table_id}
        kind = entry["kind"]
        if kind not in KINDS:
            raise RgwotError(f"{where}: unknown kind {kind!r}; {nearest(str(kind), KINDS)}")
        entry["rows"] = expand(entry.get("rows"), f"{where}: rows")
        if "blocks" in entry:
            entry["blocks"] = expand(entry["blocks"], f"{where}: blocks")
        reported = entry.get("reported")
        if isinstance(reported, dict) and "methods" in reported:
            methods = expand(reported["methods"], f"{where}: reported.methods")
            methods = [one if isinstance(one, dict) else {"method": one} for one in methods]
            made = content.made if kind == Table.KIND else {}
            entry["reported"] = {**reported, "methods": [{**made.get(one.get("method"), {}), **one} for one in methods]}
        if kind == Table.KIND:
            entry["datasets"] = dict(_places(entry.get("datasets"), content.datasets, where))
        tables[table_id] = validated(KINDS[kind], entry, where, context)
    return tables


def find_table(tables: Mapping[str, AnyTable], table_id: str) -> AnyTable:
    """Return one table by its id, or say which are known."""
    if table_id not in tables:
        raise RgwotError(f"table {table_id!r}: not among the tables; {nearest(table_id, tables)}")
    return tables[table_id]


def _places(wanted: Any, names: Mapping[str, DatasetName], where: str) -> Iterator[tuple[str, Place]]:
    """Turn ``meccano``, ``procel/make_coffee`` and ``procel/*`` into places, by the id their columns begin with."""
    wanted = [str(one.get("name") if isinstance(one, dict) else one) for one in expand(wanted, f"{where}: datasets")]
    if not wanted or len(set(wanted)) != len(wanted):
        raise RgwotError(f"{where}: datasets: found {wanted!r}, expected a list of different names")
    for name in wanted:
        dataset, _, task = name.partition("/")
        named = name_of(dataset, names)
        if named is None:
            raise RgwotError(
                f"{where}: unknown dataset {dataset!r}; {nearest(dataset, names)}; one of your own "
                "needs a line in `datasets` of this file"
            )
        in_print = named.model_dump() | {"dataset": dataset}
        if not task:
            yield dataset, Place(**in_print)
            continue
        facts = {row.task: row for row in tasks_of(dataset)}
        if not (facts if task == "*" else not facts or task in facts):
            raise RgwotError(f"{where}: unknown task {name!r}; {nearest(task, facts) if facts else 'name each task'}")
        for one in facts if task == "*" else [task]:
            known = facts.get(one)
            # CrossTask's tasks are numbers, in its files and in print; their names say more.
            label = one if known is None else known.name if known.paper_label.isdecimal() else known.paper_label
            spellings = {one} if known is None else {one, known.paper_label}
            in_print |= {"label": label, "n_tasks": None, "reported_tasks": tuple(sorted(spellings))}
            yield one, Place(**in_print, task=one)


def expand(entries: Any, where: str) -> list[Any]:
    """Write every entry of a list with a key ``sweep`` out, once for every combination of its values.

    ``{alpha}`` in the texts of an entry becomes the value as experiment ids spell it. A list inside the list is taken
    as its entries, so that tables can share rows (YAML's ``*name``).

    >>> expand([{"id": "a={alpha}", "sweep": {"alpha": [0, 0.3]}}], "table 'x'")
    [{'id': 'a=0'}, {'id': 'a=0.3'}]
    """
    if not isinstance(entries, list):
        raise RgwotError(f"{where}: found {type(entries).__name__}, expected a list of entries")
    found: list[Any] = []
    for entry in entries:
        if isinstance(entry, list):
            found += expand(entry, where)
        elif isinstance(entry, dict) and "sweep" in entry:
            rest, swept = {key: value for key, value in entry.items() if key != "sweep"}, entry["sweep"]
            if not isinstance(swept, dict) or not all(isinstance(values, list) for values in swept.values()):
                raise RgwotError(f"{where}: sweep: found {swept!r}, expected a list of values for every name")
            for chosen in itertools.product(*swept.values()):
                values = {name: value_text(value) for name, value in zip(swept, chosen, strict=True)}
                found.append(_filled(rest, values, where))
        else:
            found.append(entry)
    return found


def _filled(part: Any, values: Mapping[str, str], where: str) -> Any:
    """Put values in place of their names in braces, in every text below ``part``."""
    if isinstance(part, dict):
        return {key: _filled(value, values, where) for key, value in part.items()}
    if not isinstance(part, str):
        return part
    missing = [name for name in re.findall(r"\{(\w+)\}", part) if name not in values]
    if missing:
        raise RgwotError(f"{where}: found {{{missing[0]}}}, which is not swept; {nearest(missing[0], list(values))}")
    # No str.format: other braces in a text are its own.
    return re.sub(r"\{(\w+)\}", lambda match: values[match[1]], part)
