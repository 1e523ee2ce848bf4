"""What a table shows: its rows, the datasets of its columns, metrics, what papers report, and what is printed first.

Tables are made by the functions of ``workflow/tables``; `rgwot.reporting.targets` reads those.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from rgwot import paths
from rgwot.datasets.registry import tasks_of
from rgwot.evaluation.protocols import BACKGROUNDS, DESCRIPTIONS
from rgwot.reporting.tables.reported import METRICS, Reported, metrics_of, reported_rows
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.study.datasets import tasks
from rgwot.study.jobs import check_task
from rgwot.study.study import Study

#: What an implementation may follow.
SOURCES = ("released code", "paper's equations", "our reading", "ours", "trivial")
#: With what the printed forms begin: protocol, and what happens to background.
LEADING = (("macro_task", "with"), ("micro_video", "with"))
_ROW_ID = re.compile(r"[A-Za-z][A-Za-z0-9_.=+-]*")


def known(what: str, names: Iterable[str], words: Collection[str]) -> None:
    """Raise for the first of some names that is not among the known words."""
    for name in names:
        if name not in words:
            raise RgwotError(f"unknown {what} {name!r}; {nearest(name, words)}")


def once(what: str, names: Sequence[str]) -> None:
    """Raise unless there is at least one name, and each once."""
    if not names:
        raise RgwotError(f"{what}: found none, expected at least one")
    for name in names:
        if names.count(name) > 1:
            raise RgwotError(f"{what}: {name!r} is there twice; expected each once")


@dataclass(frozen=True)
class Place:
    """What a group of columns is about: a dataset of the configuration, or one task of it.

    Attributes
    ----------
    dataset, label
        Its id, and what it is called in print.
    reported, reported_tasks
        Its names in reported numbers: of the dataset, and of the task.
    n_tasks
        How many tasks the whole dataset has, so that a note can say what is missing.
    task
        The task, or None for the whole dataset.
    mean
        Whether it stands for the mean over the other places of a table.
    """

    dataset: str
    label: str
    reported: str | None = None
    n_tasks: int | None = None
    task: str | None = None
    reported_tasks: tuple[str, ...] = ("all",)
    mean: bool = False

    @property
    def name(self) -> str:
        """What its columns begin with."""
        return self.task or self.dataset

    def by(self, features: str) -> Place:
        """Return another form of the dataset, such as ``meccano_fact`` of ``meccano``, by the same name in print."""
        return replace(self, dataset=f"{self.dataset}_{features}")

    def tasks(self, *chosen: str) -> list[Place]:
        """Return some tasks side by side, each a place; by default all that are registered."""
        registered = {facts.task: facts for facts in tasks_of(self.dataset)}
        if registered:
            known("task", chosen, registered)
        places = []
        for task in chosen or registered:
            facts = registered.get(task)
            # CrossTask's tasks are numbers, in its files and in print; their names say more.
            label = task if facts is None else facts.name if facts.paper_label.isdecimal() else facts.paper_label
            spellings = {task} if facts is None else {task, facts.paper_label}
            place = replace(self, label=label, n_tasks=None, task=task, reported_tasks=tuple(sorted(spellings)))
            places.append(place)
        return places


@dataclass(frozen=True)
class Row:
    """A measured row: its id, which names its file, its label in print, and the experiment that it shows.

    ``source`` says what the implementation follows and begins the row's note; ``trivial`` marks an answer that looks at
    no picture.
    """

    id: str
    label: str
    method: str
    decoder: str = "graphcut"
    source: str = ""
    trivial: bool = False

    def __post_init__(self) -> None:
        if not _ROW_ID.fullmatch(self.id):
            raise RgwotError(f"row {self.id!r}: expected a name of A-Z a-z 0-9 _ . = + - that begins with a letter")
        known(f"source of row {self.id!r}:", filter(None, [self.source]), SOURCES)


@dataclass(frozen=True, kw_only=True)
class AnyTable:
    """What every table has: an id, a title, remarks, and reported numbers.

    Attributes
    ----------
    id, title
        From name and docstring of the function that makes the table.
    paper
        Whether the target ``paper`` makes it.
    """

    id: str = ""
    title: str = ""
    reported: Reported | None = None
    notes: Sequence[str] = ()
    paper: bool = True

    @property
    def places(self) -> dict[str, Place]:
        """The datasets and tasks that are shown, by the names that their columns begin with."""
        return {}

    def content(self, study: Study, row: str | None = None) -> str:
        """Return as text what the table, or a row, is made by; a change of it makes the file outdated."""
        return repr(self.alone(row))

    def alone(self, row: str | None) -> AnyTable:
        """Return the table with one of its rows; ``row``: None for all of them."""
        if row is not None:
            raise RgwotError(f"table {self.id!r}: has no files for single rows; ask for {paths.TABLE}")
        return self

    def files(self, study: Study, row: str | None = None) -> list[str]:
        """Return the files that the table, or a row, is made from.

        Raises RgwotError if it cannot be made in this configuration.
        """
        raise NotImplementedError

    def caption(self, study: Study) -> list[str]:
        """Return the caption of the table in a report."""
        seeds = ", ".join(map(str, study.config.seeds))
        lines = [f"{self.title}.", f"Seeds {seeds}; mean and sample standard deviation over them.", *self.about(study)]
        if self.reported is not None:
            lines.append("Rows of kind `reported` are as papers print them, with the protocol they were made with.")
        return [*lines, *self.notes]

    def about(self, study: Study) -> list[str]:
        """Return what the caption says of data, protocols and methods."""
        return []


@dataclass(frozen=True, kw_only=True)
class Table(AnyTable):
    """A table of scores.

    Attributes
    ----------
    rows, datasets, metrics
        What is shown; metrics by the names of `rgwot.reporting.tables.reported`.
    blocks
        Protocol and background with which the printed forms begin; every protocol is in the CSV.
    lines
        What is printed one below the other: ``rows``, or ``datasets`` where there are many tasks and few rows.
    """

    rows: Sequence[Row]
    datasets: Sequence[Place]
    metrics: Sequence[str] = ("f1", "iou")
    blocks: Sequence[tuple[str, str]] = LEADING
    lines: str = "rows"

    def __post_init__(self) -> None:
        once("rows", [row.id for row in self.rows])
        once("datasets", [place.name for place in self.datasets])
        once("metrics", list(self.metrics))
        once("blocks", [" ".join(block) for block in self.blocks])
        known("metric", self.metrics, METRICS)
        known("lines", [self.lines], ("rows", "datasets"))
        for protocol, background in self.blocks:
            known("protocol", [protocol], DESCRIPTIONS)
            known("background", [background], BACKGROUNDS)
            possible = metrics_of(protocol)
            if not set(self.metrics) <= set(possible):
                raise RgwotError(f"protocol {protocol} has the metrics {', '.join(possible)} alone; correct metrics")
        if self.reported is not None:
            once("reported rows", [entry.id for entry in self.reported.rows])
            measured = [row.id for row in self.rows]
            known(
                "measured row of a reported one:",
                (reported_row.row for reported_row in self.reported.rows if reported_row.row),
                measured,
            )
            for place in self.datasets:
                if place.reported is None:
                    raise RgwotError(f"dataset {place.dataset!r} has no name in the reported numbers; set `reported`")
            # What is wrong with the file is told when tables are read, not when all is made that stands beside it.
            reported_rows(self.reported, self.places, self.metrics)

    @property
    def places(self) -> dict[str, Place]:
        """The datasets and tasks that are shown, by the names that their columns begin with."""
        return {place.name: place for place in self.datasets}

    @property
    def own(self) -> str | None:
        """The protocol whose own metrics it shows, or None."""
        return next((of_protocol for name in self.metrics if (of_protocol := METRICS[name].protocol)), None)

    def row(self, row_id: str) -> Row:
        """Return one row by its id, or say which are known."""
        ids = [row.id for row in self.rows]
        if row_id not in ids:
            raise RgwotError(f"table {self.id!r}: no row {row_id!r}; {nearest(row_id, ids)}")
        return self.rows[ids.index(row_id)]

    def alone(self, row: str | None) -> Table:
        """Return the table with one of its rows and what is reported beside it; ``row``: None for all of them."""
        if row is None:
            return self
        reported = self.reported
        if reported is not None:
            entries = [entry for entry in reported.rows if entry.row == row]
            reported = replace(reported, rows=entries) if entries else None
        return replace(self, rows=[self.row(row)], reported=reported)

    def files(self, study: Study, row: str | None = None) -> list[str]:
        """Return the scores, and the file of reported numbers, that the table or a row is made from."""
        reported = self.alone(row).reported
        return [*self.scores(study, row), *([str(reported.file)] if reported else [])]

    def scores(self, study: Study, row: str | None = None) -> list[str]:
        """Return the files of scores behind the table or a row."""
        try:
            behind = tasks_behind(study, self.datasets)
        except RgwotError as error:
            raise RgwotError(f"table {self.id!r}: {error}") from None
        files: dict[str, None] = {}
        for row_alone in self.alone(row).rows:
            for dataset, task in behind:
                check_task(study, dataset, task, row_alone.method)
                run = {"method": row_alone.method, "decoder": row_alone.decoder, "dataset": dataset, "task": task}
                files |= dict.fromkeys(str(paths.at(paths.SCORES, **run, seed=seed)) for seed in study.config.seeds)
        return list(files)

    def about(self, study: Study) -> list[str]:
        """Return what the caption says of data, protocols and methods."""
        shown = "; ".join(f"{protocol} {background} background" for protocol, background in self.blocks)
        lines = [
            f"Data: {', '.join(place.label for place in self.datasets)}.",
            f"Protocols: the printed forms lead with {shown}; the table has every protocol, by both label rules.",
            f"Rows: {'; '.join(f'{row.label} = {row.method}, {row.decoder}' for row in self.rows)}.",
        ]
        names = [place.dataset for place in self.datasets if not place.mean]
        used = [study.experiments.settings("none", None, dataset) for dataset in names]
        if any(settings.features.weights == "random" for settings in used):
            lines.append("Backbone with random weights: these are not the paper's numbers.")
        return lines


def tasks_behind(study: Study, places: Iterable[Place]) -> list[tuple[str, str]]:
    """Return dataset and task of everything in some places that the configuration has, at least one."""
    single = [place for place in places if not place.mean]
    pairs = [
        (place.dataset, task) for place in single for task in tasks(study, place.dataset) if place.task in (None, task)
    ]
    if not pairs:
        names = ", ".join(f"{place.dataset}/{place.task}" for place in single)
        raise RgwotError(f"none of {names} is configured; name one in datasets.<name>.tasks of config.yaml")
    return list(dict.fromkeys(pairs))
