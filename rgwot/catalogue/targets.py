"""Tables, and the target paths that may be asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from rgwot.catalogue.jobs import JobCatalogue
from rgwot.errors import RgwotError
from rgwot.experiments import split_id
from rgwot.methods import FAMILIES
from rgwot.reporting.spec import Table, find_table, load_tables

_TARGET = re.compile(
    r"results/(?:"
    r"(?:manifest|annotations|yardsticks)/(?P<d1>[^/]+)/(?P<t1>[^/]+)\.(?:csv|json)"
    r"|features/(?P<d2>[^/]+)/(?P<t2>[^/]+)/.+"
    r"|(?:models|embeddings)/(?P<m3>[^/]+)/(?P<d3>[^/]+)/(?P<t3>[^/]+)/.+"
    r"|(?:keysteps|scores)/(?P<m4>[^/]+)/(?P<e4>[^/]+)/(?P<d4>[^/]+)/(?P<t4>[^/]+)/.+"
    r"|tables/(?P<table>[^/]+?)(?:/(?P<row>[^/]+))?\.(?:csv|md|tex)"
    r")"
)


class Catalogue(JobCatalogue):
    """The configuration, the datasets and the experiments behind one run of the workflow, and its targets.

    Parameters
    ----------
    content
        The content of ``config.yaml``, with what the command line changed.
    tables
        Path of ``workflow/tables.yaml``.

    Raises
    ------
    RgwotError
        When the configuration or the tables are not valid.
    """

    def __init__(self, content: Mapping[str, Any], tables: Path) -> None:
        super().__init__(content)
        self._tables_path = tables

    @cached_property
    def tables(self) -> dict[str, Table]:
        """The tables by id, every experiment in its one spelling."""

        def canonical(method: str, decoder: str) -> tuple[str, str]:
            return self.experiments.method(method), self.experiments.decoder(decoder, method)

        return load_tables(self._tables_path, canonical)

    def table(self, table: str) -> Table:
        """Return a table by its id, or say which are known."""
        return find_table(self.tables, table)

    def table_content(self, table: str, row: str | None = None) -> str:
        """Return what a table or one of its rows is made from, as JSON: a change of it makes the file outdated."""
        spec = self.table(table)
        if row is None:
            return spec.model_dump_json(exclude={"reported": {"file"}})
        one = spec.row(row)
        return json.dumps({"datasets": list(spec.datasets), "metrics": spec.metrics, "row": [one.method, one.decoder]})

    def reported_files(self, table: str) -> list[str]:
        """Return the file with the reported numbers of a table, where it has one."""
        reported = self.table(table).reported
        return [str(reported.file)] if reported else []

    def score_files(self, table: str, row: str | None = None) -> list[str]:
        """Return the score files behind a table, or behind one of its rows."""
        spec = self.table(table)
        rows = spec.rows if row is None else [spec.row(row)]
        files: dict[str, None] = {}
        for one in rows:
            for dataset in spec.datasets:
                for task in self.tasks(dataset):
                    if FAMILIES[split_id(one.method)[0]].trained:
                        self.enough_videos(dataset, task)
                    self.held_out(dataset, task, one.method)
                    for seed in self.config.seeds:
                        files[f"results/scores/{one.method}/{one.decoder}/{dataset}/{task}/seed{seed}.csv"] = None
        return list(files)

    def check_targets(self, arguments: Iterable[str]) -> None:
        """Check the target paths among command line arguments before anything is planned.

        Raises
        ------
        RgwotError
            When a path names a dataset, task, method, decoder or table that does not exist, or spells an experiment
            in another way than its canonical one.
        """
        for argument in arguments:
            match = _TARGET.fullmatch(argument)
            if match is None:
                continue
            group = {name: value for name, value in match.groupdict().items() if value is not None}
            if "table" in group:
                self.score_files(group["table"], group.get("row"))
                continue
            part = {name[0]: value for name, value in group.items()}
            method = part.get("m")
            if method is not None:
                self._check_spelling(argument, method, self.experiments.method(method))
                if "e" in part:
                    self._check_spelling(argument, part["e"], self.experiments.decoder(part["e"], method))
            self.videos(part["d"], part["t"])
            if method is not None and FAMILIES[split_id(method)[0]].trained:
                self.enough_videos(part["d"], part["t"])
            if method is not None:
                self.held_out(part["d"], part["t"], method)

    @staticmethod
    def _check_spelling(target: str, written: str, canonical: str) -> None:
        if written != canonical:
            raise RgwotError(
                f"{target}: {written!r} is the experiment {canonical!r}; ask for {target.replace(written, canonical)}"
            )
