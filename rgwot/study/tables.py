"""Tables and their rows: which files each is made from."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from rgwot import paths
from rgwot.config.experiments import split_id
from rgwot.config.methods import EMBEDDINGS, FAMILIES
from rgwot.config.settings import flatten
from rgwot.reporting.tables.models import AnyTable, Place, RuntimeTable, SettingsTable, Table
from rgwot.reporting.tables.spec import find_table, load_tables
from rgwot.runtime.errors import RgwotError
from rgwot.study.jobs import JobCatalogue


class TableCatalogue(JobCatalogue):
    """The tables of ``workflow/tables.yaml`` in one configuration.

    Parameters
    ----------
    content
        The content of ``config.yaml``, with what the command line changed.
    tables
        Path of ``workflow/tables.yaml``.
    layers
        The files behind the configuration, as of `DatasetCatalogue`.

    Raises
    ------
    RgwotError
        When the configuration is not valid.
    """

    def __init__(
        self, content: Mapping[str, Any], tables: Path, layers: Sequence[tuple[str, Mapping[str, Any]]] = ()
    ) -> None:
        super().__init__(content, layers)
        self._tables_path = tables
        self.row_inputs = lru_cache(maxsize=None)(self._row_inputs)

    @cached_property
    def tables(self) -> dict[str, AnyTable]:
        """The tables by id, every experiment in its one spelling.

        Raises
        ------
        RgwotError
            When a table is not valid.
        """

        def canonical(method: str, decoder: str | None) -> tuple[str, str | None]:
            return self.experiments.method(method), decoder and self.experiments.decoder(decoder, method)

        return load_tables(self._tables_path, canonical)

    def paper_tables(self) -> list[str]:
        """Return the tables that the target ``paper`` makes."""
        return [str(paths.at(paths.TABLE, table=table.id)) for table in self.tables.values() if table.paper]

    def any_table(self, table: str) -> AnyTable:
        """Return a table of any kind by its id, or say which are known."""
        return find_table(self.tables, table)

    def table(self, table: str) -> Table:
        """Return a table of scores by its id, or say which are known."""
        found = self.any_table(table)
        if not isinstance(found, Table):
            raise RgwotError(f"table {table!r}: is a table of {found.kind}, expected one of scores")
        return found

    def table_content(self, table: str, row: str | None = None) -> str:
        """Return what a table or one of its rows is made from, as JSON: a change of it makes the file outdated."""
        spec = self.any_table(table)
        if row is None:
            return spec.model_dump_json(exclude={"reported": {"file"}})
        content = spec.model_dump(mode="json", exclude={"rows": True, "reported": {"file", "methods"}, "gains": True})
        content["row"] = spec.row(row).model_dump(mode="json")
        entries = spec.reported.methods if spec.reported else ()
        content["entries"] = [entry.model_dump(mode="json") for entry in entries if entry.row == row]
        return json.dumps(content, sort_keys=True)

    def table_caption(self, table: str) -> list[str]:
        """Return what a report says of a table: of which data and seeds, by which protocols and methods."""
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
        """Return what a report can filter tables by."""
        spec = self.any_table(table)
        places = spec.datasets.values() if isinstance(spec, Table) else ()
        datasets = ", ".join(dict.fromkeys(place.dataset for place in places)) or getattr(spec, "dataset", "none")
        return {"table": spec.id, "kind": spec.kind, "datasets": datasets}

    def reported_files(self, table: str, row: str | None = None) -> list[str]:
        """Return the file with the reported numbers of a table, or of a row, where there are any."""
        spec = self.any_table(table)
        if spec.reported is None:
            return []
        entries = [entry for entry in spec.reported.methods if row in (None, entry.row)]
        return [str(spec.reported.file)] if entries or isinstance(spec, SettingsTable) else []

    def table_rows(self, table: str) -> list[str]:
        """Return the files of the rows of a table."""
        return [str(paths.at(paths.ROW, table=table, row=row.id)) for row in self.any_table(table).rows]

    def row_options(self, table: str, row: str) -> str:
        """Return what ``rgwot table --row`` is told besides its files, quoted for a shell."""
        spec = self.any_table(table)
        one = spec.row(row)
        if isinstance(spec, SettingsTable):
            return shlex.join(["--facts", self._facts(spec, one.key)])
        return shlex.join(["--method", one.method, "--decoder", one.decoder]) if isinstance(spec, Table) else ""

    def score_files(self, table: str, row: str | None = None) -> list[str]:
        """Return the score files behind a table of scores, or behind one of its rows."""
        spec = self.table(table)
        rows = spec.rows if row is None else [spec.row(row)]
        return list(dict.fromkeys(path for one in rows for path in self.row_inputs(table, one.id)))

    def check_table(self, table: str, row: str | None = None) -> None:
        """Raise when a table, or one row of it, cannot be made in this configuration."""
        spec = self.any_table(table)
        for one in spec.rows if row is None else [spec.row(row)]:
            self.row_inputs(table, one.id)

    def _row_inputs(self, table: str, row: str) -> tuple[str, ...]:
        """Return the files that one row of a table is made from."""
        spec = self.any_table(table)
        one = spec.row(row)
        if isinstance(spec, Table):
            return tuple(
                str(
                    paths.at(
                        paths.SCORES, method=one.method, decoder=one.decoder, dataset=dataset, task=task, seed=seed
                    )
                )
                for dataset, task in self._tasks_of(spec, one.method)
                for seed in self.config.seeds
            )
        return tuple(self._benchmarks(spec, one.method)) if isinstance(spec, RuntimeTable) else ()

    def _tasks_of(self, table: Table, method: str) -> list[tuple[str, str]]:
        """Return the tasks behind the columns of a table, those that the configuration has."""
        found = dict.fromkeys((place.dataset, task) for place in table.datasets.values() for task in self._at(place))
        if not found:
            names = ", ".join(f"{place.dataset}/{place.task}" for place in table.datasets.values())
            raise RgwotError(
                f"table {table.id!r}: none of {names} is configured; name one in datasets.<name>.tasks of config.yaml"
            )
        for dataset, task in found:
            self.check_task(dataset, task, method)
        return list(found)

    def _at(self, place: Place) -> Iterable[str]:
        tasks = self.tasks(place.dataset)
        return tasks if place.task is None else [task for task in tasks if task == place.task]

    def check_task(self, dataset: str, task: str, method: str) -> None:
        """Raise when a task has too few videos for a method, to compare them or to hold some out."""
        if EMBEDDINGS[FAMILIES[split_id(method)[0]].embedding].several:
            self.enough_videos(dataset, task)
        self.held_out(dataset, task, method)

    def _benchmarks(self, table: RuntimeTable, method: str) -> Iterable[str]:
        self.check_task(table.dataset, table.task, method)
        for seed in self.config.seeds:
            for place in (paths.TRAINING_TIME, paths.HISTORY, paths.MACHINE):
                yield str(paths.at(place, method=method, dataset=table.dataset, task=table.task, seed=seed))

    def _facts(self, table: SettingsTable, key: str | None) -> str:
        """Return the seeds, or the resolved value of a setting for every method of a table, as JSON."""
        settings = {
            method: flatten(self.experiments.settings(method, None, "").model_dump(by_alias=True, mode="json"))
            for method in table.methods
        }
        shown = {method: {key: values[key]} if key in values else {} for method, values in settings.items()}
        return json.dumps({"seeds": list(self.config.seeds), "settings": shown}, sort_keys=True)
