"""Tables, their rows, and figures: which files each is made from."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from rgwot import paths
from rgwot.config.experiments import family_of, value_text
from rgwot.config.methods import EMBEDDINGS
from rgwot.config.settings import flatten
from rgwot.datasets.base import too_few_videos
from rgwot.reporting.figures.interface import Figures, load_figures
from rgwot.reporting.figures.style import save
from rgwot.reporting.tables.spec import (
    AnyTable,
    ClaimsTable,
    RuntimeTable,
    SettingsTable,
    Table,
    find_table,
    load_tables,
)
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.study.datasets import MIN_VIDEOS
from rgwot.study.jobs import JobCatalogue


class TableCatalogue(JobCatalogue):
    """The tables and figures of the file ``tables`` (``workflow/tables.yaml``) in one configuration."""

    def __init__(
        self, content: Mapping[str, Any], tables: Path, layers: Sequence[tuple[str, Mapping[str, Any]]] = ()
    ) -> None:
        super().__init__(content, layers)
        self._tables_path = tables
        self.row_inputs = cache(self._row_inputs)
        # Raises RgwotError when there is no such figure, or the configuration lacks what it needs.
        self.figure_plan = cache(lambda figure: self.figures.figure(figure).plan(self))

    @cached_property
    def tables(self) -> dict[str, AnyTable]:
        """The tables by id, with canonical experiment ids."""
        return load_tables(self._tables_path, self._canonical)

    @cached_property
    def figures(self) -> Figures:
        """The figures by id, with canonical experiment ids; raises RgwotError when one is not valid."""
        return load_figures(self._tables_path, self._canonical)

    def _canonical(self, method: str, decoder: str | None) -> tuple[str, Any]:
        return self.experiments.method(method), decoder and self.experiments.decoder(decoder, method)

    def any_table(self, table: str) -> AnyTable:
        """Return a table of any kind by its id."""
        return find_table(self.tables, table)

    def table_with(self, table: str, places: Iterable[str]) -> Table:
        """Return a table of scores that has columns for the places."""
        found = self.any_table(table)
        if not isinstance(found, Table):
            raise RgwotError(f"table {table!r}: is a table of {found.kind}, expected one of scores")
        for place in places:
            if place not in found.datasets:
                raise RgwotError(
                    f"table {table!r}: no dataset {place!r} for a figure; {nearest(place, found.datasets)}"
                )
        return found

    def figure_files(self, figure: str) -> list[str]:
        """Return every file that the drawing of a figure reads."""
        return list(dict.fromkeys(map(str, self.figures.figure(figure).files(self.figure_plan(figure)))))

    def figure_content(self, figure: str) -> str:
        """Return a figure and what it is drawn from, as text; a change of it makes the file outdated."""
        return f"{self.figures.figure(figure)!r} {self.figure_plan(figure)!r}"

    def figure_caption(self, figure: str) -> list[str]:
        """Return the caption of a figure in a report."""
        return self.figures.figure(figure).caption(self.figure_plan(figure))

    def figure_labels(self, figure: str) -> dict[str, str]:
        """Return the labels by which a report filters figures."""
        return self.figures.figure(figure).labels(self.figure_plan(figure))

    def draw_figure(self, figure: str, output: str, log: str) -> None:
        """Draw a figure as PDF, and as PNG beside it; the log tells what was wrong, in one line."""
        Path(log).write_text("", encoding="utf-8")
        try:
            save(self.figures.figure(figure).styled(self.figure_plan(figure)), output)
        except RgwotError as error:
            Path(log).write_text(f"rgwot: {error}\n", encoding="utf-8")
            raise

    def table_content(self, table: str, row: str | None = None) -> str:
        """Return the definition of a table or of one of its rows, as JSON; a change of it makes the file outdated."""
        spec = self.any_table(table)
        if row is None:
            return spec.model_dump_json(exclude={"reported": {"file"}})
        content = spec.model_dump(mode="json", exclude={"rows": True, "reported": {"file", "methods"}})
        content["row"] = spec.row(row).model_dump(mode="json")
        entries = spec.reported.methods if spec.reported else ()
        content["entries"] = [entry.model_dump(mode="json") for entry in entries if entry.row == row]
        return json.dumps(content, sort_keys=True)

    def table_caption(self, table: str) -> list[str]:
        """Return the caption of a table in a report: data, seeds, protocols and methods."""
        spec = self.any_table(table)
        seeds = ", ".join(map(str, self.config.seeds))
        lines = [f"{spec.title}.", f"Seeds {seeds}; mean and sample standard deviation over them."]
        if isinstance(spec, Table):
            shown = "; ".join(f"{block.protocol} {block.background} background" for block in spec.blocks)
            lines += [
                f"Data: {', '.join(place.label for place in spec.datasets.values())}.",
                f"Protocols: the printed forms lead with {shown}; the table has every protocol, by both label rules.",
                f"Rows: {'; '.join(f'{row.label} = {row.method}, {row.decoder}' for row in spec.rows)}.",
            ]
            used = [self.experiments.settings("none", None, place.dataset) for place in spec.datasets.values()]
            if any(settings.features.weights == "random" for settings in used):
                lines.append("Backbone with random weights: these are not the paper's numbers.")
        if spec.reported is not None:
            lines.append("Rows of kind `reported` are as papers print them, with the protocol they were made with.")
        return [*lines, *spec.notes]

    def table_labels(self, table: str) -> dict[str, str]:
        """Return the labels by which a report filters tables."""
        spec = self.any_table(table)
        places = spec.datasets.values() if isinstance(spec, (Table, ClaimsTable)) else ()
        datasets = ", ".join(dict.fromkeys(place.dataset for place in places)) or getattr(spec, "dataset", "none")
        return {"table": spec.id, "kind": spec.kind, "datasets": datasets}

    def reported_files(self, table: str, row: str | None = None) -> list[str]:
        """Return the file with the reported numbers of a table or row, if there are any."""
        spec = self.any_table(table)
        if spec.reported is None:
            return []
        entries = [entry for entry in spec.reported.methods if row in (None, entry.row)]
        return [str(spec.reported.file)] if entries or isinstance(spec, SettingsTable) else []

    def table_rows(self, table: str) -> list[str]:
        """Return the files of the rows of a table."""
        return [str(paths.at(paths.ROW, table=table, row=row.id)) for row in self.any_table(table).rows]

    def row_options(self, table: str, row: str) -> str:
        """Return the options of ``rgwot table --row``, quoted for a shell."""
        spec = self.any_table(table)
        one, facts = spec.row(row), {}
        if isinstance(spec, SettingsTable):
            for method in spec.methods:
                settings = self.experiments.settings(method, None, "").model_dump(by_alias=True, mode="json")
                values = {"seeds": list(self.config.seeds), **flatten(settings)}
                if one.key in values:
                    value = values[one.key]
                    facts[method] = ", ".join(map(value_text, value if isinstance(value, list) else [value]))
        elif isinstance(spec, ClaimsTable):
            named = {name: spec.experiments[name] for name in one.experiments}
            facts = {name: f"{found.method}/{found.decoder}" for name, found in named.items()}
        elif isinstance(spec, Table):
            facts = {"method": one.method, "decoder": one.decoder}
        return shlex.join([part for name, text in facts.items() for part in ("--fact", f"{name}={text}")])

    def check_table(self, table: str, row: str | None = None) -> None:
        """Raise if a table, or one row of it, cannot be made in this configuration."""
        spec = self.any_table(table)
        for one in spec.rows if row is None else [spec.row(row)]:
            self.row_inputs(table, one.id)

    def _row_inputs(self, table: str, row: str) -> tuple[str, ...]:
        """Return the files that one row of a table is made from."""
        spec = self.any_table(table)
        one = spec.row(row)
        if isinstance(spec, Table):
            templates, tasks = [paths.SCORES], self._tasks_of(spec)
        elif isinstance(spec, ClaimsTable):
            templates, tasks = [paths.HISTORY if one.metric == "seconds" else paths.SCORES], self._tasks_of(spec)
        elif isinstance(spec, RuntimeTable):
            templates = [paths.TRAINING_TIME, paths.HISTORY, paths.MACHINE]
            tasks = [(spec.dataset, spec.task)]
        else:
            return ()
        shown = [spec.experiments[name] for name in one.experiments] if isinstance(spec, ClaimsTable) else [one]
        for dataset, task in tasks:
            for experiment in shown:
                self.check_task(dataset, task, experiment.method)
        files = (
            paths.at(template, **experiment.model_dump(include={"method", "decoder"}), **run)
            for experiment in shown
            for run in self._runs(tasks)
            for template in templates
        )
        return tuple(dict.fromkeys(map(str, files)))

    def _runs(self, tasks: Sequence[tuple[str, str]]) -> Iterator[dict[str, Any]]:
        """Yield the wildcards of every seed of every task."""
        for dataset, task in tasks:
            for seed in self.config.seeds:
                yield {"dataset": dataset, "task": task, "seed": seed}

    def _tasks_of(self, table: Table | ClaimsTable) -> list[tuple[str, str]]:
        """Return the tasks behind the columns of a table that the configuration has."""
        places = table.datasets.values()
        found = [
            (place.dataset, task)
            for place in places
            for task in self.tasks(place.dataset)
            if place.task in (None, task)
        ]
        if not found:
            names = ", ".join(f"{place.dataset}/{place.task}" for place in places)
            raise RgwotError(
                f"table {table.id!r}: none of {names} is configured; name one in datasets.<name>.tasks of config.yaml"
            )
        return list(dict.fromkeys(found))

    def check_task(self, dataset: str, task: str, method: str) -> None:
        """Raise if a task has too few videos for a method, to compare them or to hold some out."""
        if EMBEDDINGS[family_of(method).embedding].several:
            n_videos, root = len(self.videos(dataset, task)), self.config.root_of(dataset)
            if n_videos < MIN_VIDEOS:
                raise RgwotError(too_few_videos(dataset, task, n_videos, MIN_VIDEOS, str(root)))
        self.held_out(dataset, task, method)

    def in_print(self, dataset: str) -> str:
        """Return what a dataset is called in print."""
        names = self.figures.names
        return names[dataset].label if dataset in names else dataset

    def paper_files(self) -> list[str]:
        """Return every table and every figure of the paper."""
        tables = [paths.at(paths.TABLE, table=table.id) for table in self.tables.values() if table.paper]
        return [*map(str, tables), *(str(paths.at(paths.FIGURE, figure=figure)) for figure in self.figures.figures)]
