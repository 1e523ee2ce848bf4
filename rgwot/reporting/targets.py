"""Tables and figures as targets of the workflow, made by the functions in ``workflow/tables``.

A file of that folder names its functions in ``TABLES`` and ``FIGURES``: the name of a function is the id, the first
line of its docstring the title. A function of a table has no arguments, and a function of a figure takes the study. The
folder ``tables`` of a study can have more files; a file in it replaces the file of the package with the same name. Only
what a run asks for is made and checked.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module, invalidate_caches
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from rgwot import paths
from rgwot.reporting import table_files
from rgwot.reporting.table_files import OWN_TABLES
from rgwot.reporting.tables.table import AnyTable
from rgwot.runtime.errors import RgwotError, first_line, nearest
from rgwot.study.shipped import TABLES_FOLDER
from rgwot.study.study import Study

if TYPE_CHECKING:
    from rgwot.reporting.figures.drawing import Drawing

_ID = re.compile(r"[a-z][a-z0-9_]*")
_Definition = TypeVar("_Definition")


class _Targets(NamedTuple):
    """Functions of tables and figures by id; ``own`` says whether a study has files of its own."""

    tables: Mapping[str, Callable[[], AnyTable]]
    figures: Mapping[str, Callable[[Study], Drawing]]
    own: bool

    def table(self, name: str) -> AnyTable:
        """Return the table ``name``, with ids as written; raise RgwotError if it is unknown or cannot be made."""
        function = self._find("table", name, self.tables)
        table_made = _made("table", name, AnyTable, function)
        table_made = replace(table_made, id=name, title=_title(function, name))
        if self.own:
            # A test does this for the package's own files.
            _made("table", name, type(None), table_made.check)
        return table_made

    def figure(self, name: str, study: Study) -> Drawing:
        """Return the figure ``name`` of a study; raise RgwotError if it is unknown or cannot be drawn."""
        from rgwot.reporting.figures.drawing import Drawing

        function = self._find("figure", name, self.figures)
        drawing = _made("figure", name, Drawing, function, study)
        if "<" in getattr(drawing.draw, "__qualname__", ""):
            raise RgwotError(
                f"figure {name!r}: draw: found {drawing.draw.__qualname__}, expected a function at the top of a file, "
                "which a job can import; move it there"
            )
        return replace(drawing, title=_title(function, name))

    def _find(
        self, kind: str, name: str, functions: Mapping[str, Callable[..., _Definition]]
    ) -> Callable[..., _Definition]:
        if name not in functions:
            own = f"; a file in {OWN_TABLES} names its own in {kind.upper()}S" if self.own else ""
            raise RgwotError(f"{kind} {name!r}: unknown; {nearest(name, functions)}{own}")
        return functions[name]


def load_targets(own: Path = OWN_TABLES) -> _Targets:
    """Read the files of the package and those of a study in a folder ``own``; nothing is made.

    Raises
    ------
    RgwotError
        One line with the file, and what is wrong.
    """
    folders = [own.absolute(), TABLES_FOLDER]
    for name in [name for name in sys.modules if name.startswith(f"{table_files.__name__}.")]:
        del sys.modules[name]
        vars(table_files).pop(name.rpartition(".")[2], None)
    invalidate_caches()
    table_files.__path__ = list(map(str, folders))
    found: dict[str, dict[str, Any]] = {"TABLES": {}, "FIGURES": {}}
    for stem in sorted({path.stem for folder in folders for path in folder.glob("*.py")} - {"__init__"}):
        path = next(path for folder in folders if (path := folder / f"{stem}.py").exists())
        try:
            module = import_module(f"{table_files.__name__}.{stem}")
        except Exception as error:
            raise RgwotError(f"{path}: {type(error).__name__}: {first_line(error)}") from error
        for kind, functions in found.items():
            listed = getattr(module, kind, {})
            if not isinstance(listed, Mapping):
                raise RgwotError(f"{path}: {kind}: found {type(listed).__name__}, expected functions by name")
            for name, function in listed.items():
                if not _ID.fullmatch(name):
                    raise RgwotError(f"{path}: {kind}: found the name {name!r}, expected only a-z, 0-9 and _")
                if name in functions:
                    raise RgwotError(f"{path}: {kind}: another file makes {name!r}, too; rename one")
                functions[name] = function
    return _Targets(found["TABLES"], found["FIGURES"], any(own.glob("*.py")))


def _made(kind: str, name: str, expected: type[_Definition], function: Callable[..., Any], *given: Any) -> _Definition:
    """Return the table or figure ``name`` that a function makes; errors begin with ``kind`` and ``name``."""
    try:
        made = function(*given)
    except RgwotError as error:
        raise RgwotError(f"{kind} {name!r}: {error}") from None
    except Exception as error:
        # The innermost line in a file of tables is named, because the function may call others.
        lines = [
            frame
            for frame in extract_tb(error.__traceback__)
            if str(Path(frame.filename).parent) in table_files.__path__
        ]
        where = f"{lines[-1].filename}:{lines[-1].lineno}" if lines else f"{kind} {name!r}"
        raise RgwotError(f"{where}: {type(error).__name__}: {first_line(error)}") from error
    if not isinstance(made, expected):
        raise RgwotError(f"{kind} {name!r}: found {type(made).__name__}, expected a {kind} ({expected.__name__})")
    return made


def _title(function: Callable[..., Any], name: str) -> str:
    """Return the title of a table or figure, from the docstring of its function."""
    return (inspect.getdoc(function) or name).splitlines()[0].removesuffix(".")


@cache
def targets(study: Study) -> _Targets:
    """Return the functions of all tables and figures; raise RgwotError if a file cannot be read."""
    return load_targets()


@cache
def table(study: Study, name: str) -> AnyTable:
    """Return the table ``name``, with canonical ids; raise RgwotError if there is no such table or it is not valid."""
    table_made = targets(study).table(name)
    return _made("table", name, AnyTable, table_made.spelt, study)


@cache
def figure(study: Study, name: str) -> Drawing:
    """Return a figure before it is drawn.

    Raises RgwotError if the figure is unknown, or needs something that the configuration lacks.
    """
    return targets(study).figure(name, study)


def write_table_files(table_: AnyTable, files: Iterable[str], output: Path, row: str | None = None) -> None:
    """Write a table, or one of its rows, as CSV, Markdown and LaTeX, from its ``files``."""
    from rgwot.reporting.tables.hyperparameters import Hyperparameters
    from rgwot.reporting.tables.runtime import Runtime
    from rgwot.reporting.tables.table import Table

    if isinstance(table_, (Hyperparameters, Runtime)):
        table_.write(output)
    elif isinstance(table_, Table):
        from rgwot.reporting.tables import printed, scores

        reported = table_.reported and str(table_.reported.file)
        scores.write_table(table_, [file for file in files if file != reported], output, row)
        printed.render_table(table_, output)


def in_terminal(table_: AnyTable, csv: Path) -> str:
    """Return a table, or a row of it, as text for a terminal; tables without scores are shown as Markdown."""
    from rgwot.reporting.tables.table import Table

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


def figure_files(study: Study, name: str) -> list[str]:
    """Return every file that a figure is drawn from."""
    return list(map(str, figure(study, name).files))


def figure_caption(study: Study, name: str) -> list[str]:
    """Return the paragraphs of a figure's caption in a report."""
    shown = figure(study, name)
    return [f"{shown.title}. {shown.caption}", shown.about]


def figure_labels(study: Study, name: str, form: str) -> dict[str, str]:
    """Return the labels by which a report filters figures; ``vector`` and ``picture`` differ in ``form``."""
    shown = figure(study, name)
    seeds = ", ".join(map(str, shown.seeds))
    return {"figure": name, "data": ", ".join(shown.data), "protocol": shown.protocols, "seeds": seeds, "form": form}


def paper_files(study: Study) -> list[str]:
    """Return every table and every figure of the paper; all tables are checked, figures when Snakemake plans them."""
    tables, figures, _ = targets(study)
    made = [table(study, name) for name in tables]
    files = [paths.at(paths.TABLE, table=one.id) for one in made if one.paper]
    return [str(path) for path in (*files, *(paths.at(paths.FIGURE, figure=name) for name in figures))]
