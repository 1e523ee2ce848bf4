"""Tables and figures as targets of the workflow, made by the functions in ``workflow/tables``.

Every function without parameters in a file of that folder makes one table or figure. The name of the function is the
id, the first line of its docstring the title. The folder ``tables`` of a study can have more files; a file in
it replaces the file of the package with the same name.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from functools import cache
from importlib import import_module, invalidate_caches
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any, NamedTuple

from rgwot import paths
from rgwot.reporting.figures.figure import Figure, Plan
from rgwot.reporting.figures.style import Drawn, styled
from rgwot.reporting.tables.hyperparameters import Hyperparameters
from rgwot.reporting.tables.runtime import Runtime
from rgwot.reporting.tables.table import AnyTable, Row, Table
from rgwot.runtime.errors import RgwotError, first_line, nearest
from rgwot.study.shipped import TABLES
from rgwot.study.study import Study

#: Files with the tables of a study, beside its ``config.yaml``.
OWN_TABLES = Path("tables")
_PACKAGE = "rgwot_tables"
_ID = re.compile(r"[a-z][a-z0-9_]*")


class Targets(NamedTuple):
    """Tables and figures by id."""

    tables: Mapping[str, AnyTable]
    figures: Mapping[str, Figure]


def load_targets(folders: Sequence[Path] = (OWN_TABLES, TABLES)) -> Targets:
    """Return the tables and figures that the functions in some folders make, with ids spelt as in the files.

    Raises
    ------
    RgwotError
        One line with the file and function, and what is wrong.
    """
    tables: dict[str, AnyTable] = {}
    figures: dict[str, Figure] = {}
    with _importable(folders):
        for where, name, function in _functions(folders):
            target = _made(where, name, function, folders)
            if name in (tables if isinstance(target, AnyTable) else figures):
                raise RgwotError(f"{where}: another file makes {name!r}, too; rename one")
            if isinstance(target, AnyTable):
                tables[name] = target
            else:
                figures[name] = target
    return Targets(tables, figures)


def _made(where: str, name: str, function: Callable[[], Any], folders: Sequence[Path]) -> AnyTable | Figure:
    """Return the table or figure that a function makes, with its id and title."""
    try:
        target = function()
    except Exception as error:
        reason = str(error) if isinstance(error, RgwotError) else f"{type(error).__name__}: {first_line(error)}"
        # The innermost function in these folders is named, because the mistake may be in one that the called function
        # uses.
        for code in (frame.f_code for frame, _ in walk_tb(error.__traceback__)):
            path = Path(code.co_filename)
            if path.parent in [folder.absolute() for folder in folders] and code.co_name.isidentifier():
                where = f"{path}: {code.co_name}"
        raise RgwotError(f"{where}: {reason}") from error
    if not isinstance(target, (AnyTable, Figure)):
        raise RgwotError(
            f"{where}: found {type(target).__name__}, expected a table or a figure; "
            "begin the names of other functions with _"
        )
    if not _ID.fullmatch(name):
        raise RgwotError(f"{where}: found the name {name!r}, expected only a-z, 0-9 and _")
    title = (inspect.getdoc(function) or name).splitlines()[0].removesuffix(".")
    return replace(target, id=name, title=title)


def _functions(folders: Sequence[Path]) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Yield for each function that makes a table or figure: its file and name for messages, its name, and itself."""
    for stem in sorted({path.stem for folder in folders for path in folder.glob("*.py")}):
        path = next(path for folder in folders if (path := folder / f"{stem}.py").exists())
        try:
            module = import_module(f"{_PACKAGE}.{stem}")
        except Exception as error:
            raise RgwotError(f"{path}: {type(error).__name__}: {first_line(error)}") from error
        for name, value in vars(module).items():
            defined_here = (
                inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
            )
            if defined_here and not inspect.signature(value).parameters:
                yield f"{path}: {name}", name, value


@contextmanager
def _importable(folders: Sequence[Path]) -> Iterator[None]:
    """Make one package of all folders in this context, so that files can import from each other.

    Such an import is ``from .rows import ...``.
    """
    package, before = ModuleType(_PACKAGE), sys.dont_write_bytecode
    package.__path__ = [str(folder.absolute()) for folder in folders]
    sys.modules[_PACKAGE] = package
    # Compiled files would end up in other people's folders, and be stale if a file changes within a second.
    sys.dont_write_bytecode = True
    invalidate_caches()
    try:
        yield
    finally:
        sys.dont_write_bytecode = before
        for name in [name for name in sys.modules if name.split(".")[0] == _PACKAGE]:
            del sys.modules[name]


@cache
def targets(study: Study) -> Targets:
    """Return the tables and figures of a study, with canonical ids; raise RgwotError if one is not valid."""

    def spelt(part: Any) -> Any:
        if isinstance(part, Row):
            try:
                method = study.experiments.method(part.method)
                return replace(part, method=method, decoder=study.experiments.decoder(part.decoder, part.method))
            except RgwotError as error:
                raise RgwotError(f"row {part.id!r}: {error}") from None
        if is_dataclass(part) and not isinstance(part, type):
            return replace(part, **{field.name: spelt(getattr(part, field.name)) for field in fields(part)})
        if isinstance(part, Mapping):
            return {key: spelt(value) for key, value in part.items()}
        return type(part)(map(spelt, part)) if isinstance(part, (list, tuple)) else part

    def named(kind: str, targets_: Mapping[str, Any]) -> dict[str, Any]:
        by_name = {}
        for name, target in targets_.items():
            try:
                by_name[name] = spelt(target)
            except RgwotError as error:
                raise RgwotError(f"{kind} {name!r}: {error}") from None
        return by_name

    loaded = load_targets()
    return Targets(named("table", loaded.tables), named("figure", loaded.figures))


def table(study: Study, name: str) -> AnyTable:
    """Return a table by its id; raise RgwotError for an unknown one."""
    table_asked: AnyTable = find("table", name, targets(study).tables)
    return table_asked


def figure(study: Study, name: str) -> Figure:
    """Return a figure by its id; raise RgwotError for an unknown one."""
    figure_asked: Figure = find("figure", name, targets(study).figures)
    return figure_asked


def find(kind: str, name: str, targets_: Mapping[str, Any]) -> Any:
    """Return a table or figure by its id; raise RgwotError for an unknown one."""
    if name not in targets_:
        raise RgwotError(f"{kind} {name!r}: unknown; {nearest(name, targets_)}")
    return targets_[name]


def write_table_files(study: Study, name: str, output: Path, row: str | None = None) -> None:
    """Write a table, or one of its rows, as CSV, Markdown and LaTeX."""
    table_ = table(study, name)
    if isinstance(table_, (Hyperparameters, Runtime)):
        table_.write(study, output)
    elif isinstance(table_, Table):
        from rgwot.reporting.tables import printed, scores

        scores.write_table(table_, table_.scores(study, row), output, row)
        printed.render_table(table_, output)


def in_terminal(table_: AnyTable, csv: Path) -> str:
    """Return a table, or a row of it, as text for a terminal; tables without scores are shown as Markdown."""
    if isinstance(table_, Table):
        from rgwot.reporting.tables.printed import terminal_table

        return terminal_table(table_, csv)
    path = csv.with_suffix(".md")
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise RgwotError(f"{path}: cannot be read ({error.strerror}); make table {table_.id!r} again") from None


def table_labels(study: Study, name: str) -> dict[str, str]:
    """Return the labels by which a report filters tables."""
    datasets = dict.fromkeys(place.dataset for place in table(study, name).places.values())
    return {"table": name, "datasets": ", ".join(datasets) or "none"}


@cache
def figure_plan(study: Study, name: str) -> Plan[Any]:
    """Return the plan of a figure: its content and the files that it needs.

    Raises RgwotError for an unknown figure, or if the configuration lacks something that it needs.
    """
    return figure(study, name).plan(study)


def figure_files(study: Study, name: str) -> list[str]:
    """Return every file that a figure is drawn from."""
    return list(map(str, figure_plan(study, name).files))


def figure_content(study: Study, name: str) -> str:
    """Return a figure and its plan as text; if the text changes, the figure is outdated."""
    return f"{figure(study, name)!r} {figure_plan(study, name)!r}"


def figure_caption(study: Study, name: str) -> list[str]:
    """Return the paragraphs of a figure's caption in a report."""
    figure_ = figure(study, name)
    return [f"{figure_.title}. {figure_.CAPTION}", figure_plan(study, name).about]


def figure_labels(study: Study, name: str) -> dict[str, str]:
    """Return the labels by which a report filters figures."""
    plan = figure_plan(study, name)
    seeds = ", ".join(map(str, plan.seeds))
    return {"figure": name, "data": ", ".join(plan.data), "protocol": plan.protocols, "seeds": seeds}


def draw_figure(study: Study, name: str) -> Drawn:
    """Draw a figure from its files."""
    with styled():
        return figure(study, name).draw(figure_plan(study, name))


def paper_files(study: Study) -> list[str]:
    """Return every table and every figure of the paper."""
    tables, figures = targets(study)
    files = [paths.at(paths.TABLE, table=name) for name, table_here in tables.items() if table_here.paper]
    return [str(path) for path in (*files, *(paths.at(paths.FIGURE, figure=name) for name in figures))]
