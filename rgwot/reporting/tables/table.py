"""Tables as data: rows, the datasets of the columns, metrics, reported numbers, and the leading blocks.

The functions in ``workflow/tables`` make tables; `rgwot.reporting.targets` reads these functions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rgwot import paths
from rgwot.datasets.registry import tasks_of
from rgwot.evaluation.protocols import BACKGROUNDS, DESCRIPTIONS
from rgwot.features.settings import FeatureSettings
from rgwot.reporting.tables.reported import METRICS, Reported, metrics_of, reported_rows
from rgwot.runtime.errors import RgwotError, errors_of, nearest
from rgwot.study.datasets import tasks
from rgwot.study.refusals import check_task
from rgwot.study.study import Study, Task

#: Possible sources of an implementation.
SOURCES = ("released code", "paper's equations", "our reading", "ours", "trivial")
#: The leading blocks of printed forms: protocol, and treatment of background.
LEADING = (("macro_task", "with"), ("micro_video", "with"))
_ROW_ID = re.compile(r"[A-Za-z][A-Za-z0-9_.=+-]*")


def check_known(what: str, names: Iterable[str], words: Collection[str]) -> None:
    """Raise RgwotError for the first name that is not among the known words."""
    for name in names:
        if name not in words:
            raise RgwotError(f"unknown {what} {name!r}; {nearest(name, words)}")


def once(what: str, names: Sequence[str]) -> None:
    """Raise RgwotError unless there is at least one name, and no name twice."""
    if not names:
        raise RgwotError(f"{what}: found none, expected at least one")
    for name in names:
        if names.count(name) > 1:
            raise RgwotError(f"{what}: found {name!r} twice, expected it once")


@dataclass(frozen=True)
class Place:
    """The place of a group of columns: a dataset of the configuration, or one of its tasks.

    Attributes
    ----------
    dataset, label
        The id and the printed name of the dataset.
    reported, reported_tasks
        The names of dataset and task in reported numbers.
    n_tasks
        Number of tasks of the whole dataset, so that a note can say how many are missing.
    task
        The task, or None for the whole dataset.
    mean
        Whether this is the mean over the other places of a table.
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
        """The beginning of its columns' names."""
        return self.task or self.dataset

    def by(self, features: str) -> Place:
        """Return another form of the dataset, such as ``meccano_fact`` for ``meccano``, with the same printed name."""
        return replace(self, dataset=f"{self.dataset}_{features}")

    def tasks(self, *chosen: str) -> list[Place]:
        """Return some tasks as places; by default all registered ones."""
        registered = {facts.task: facts for facts in tasks_of(self.dataset)}
        if registered:
            check_known("task", chosen, registered)
        places = []
        for task in chosen or registered:
            facts = registered.get(task)
            # CrossTask's tasks are numbers in its files and in print; their names are more helpful.
            label = task if facts is None else facts.name if facts.paper_label.isdecimal() else facts.paper_label
            spellings = {task} if facts is None else {task, facts.paper_label}
            place = replace(self, label=label, n_tasks=None, task=task, reported_tasks=tuple(sorted(spellings)))
            places.append(place)
        return places


@dataclass(frozen=True)
class Row:
    """A measured row: its id (the name of its file), its printed label, and its experiment.

    ``source`` says what the implementation follows and begins the row's note; ``trivial`` marks a baseline that does
    not look at the videos.
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
        check_known(f"source of row {self.id!r}:", filter(None, [self.source]), SOURCES)


def canonical(study: Study, row: Row) -> Row:
    """Return a row with the canonical ids of its experiment; raise RgwotError for an unknown id."""
    with errors_of(f"row {row.id!r}"):
        method = study.experiments.method(row.method)
        return replace(row, method=method, decoder=study.experiments.decoder(row.decoder, row.method))


def score_files(study: Study, row: Row, behind: Iterable[tuple[str, str]]) -> list[Path]:
    """Return the files of scores of a row on some tasks (dataset, task); raise RgwotError for an unknown task."""
    files = []
    for dataset, task in behind:
        check_task(Task(study, dataset, task), row.method)
        run = {"method": row.method, "decoder": row.decoder, "dataset": dataset, "task": task}
        files += [paths.at(paths.SCORES, **run, seed=seed) for seed in study.config.seeds]
    return files


@dataclass(frozen=True, kw_only=True)
class AnyTable:
    """Base of all tables: an id, a title, remarks, and reported numbers.

    Attributes
    ----------
    id, title
        The name and docstring of the function that makes the table.
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

    def check(self) -> None:
        """Raise RgwotError if the file of reported numbers lacks a number that the table shows."""

    def spelt(self, study: Study) -> AnyTable:
        """Return the table with canonical ids and other facts of a study; raise RgwotError for an unknown id."""
        return self

    def content(self, row: str | None = None) -> str:
        """Return the definition of the table, or of a row, as text; if it changes, the file is outdated."""
        return repr(self.alone(row))

    def alone(self, row: str | None) -> AnyTable:
        """Return the table with one of its rows, or all if ``row`` is None."""
        if row is not None:
            raise RgwotError(
                f"table {self.id!r}: has no files for single rows; request {paths.TABLE.format(table=self.id)}"
            )
        return self

    def files(self, study: Study, row: str | None = None) -> list[str]:
        """Return the files from which the table, or a row, is made.

        Raises RgwotError if it cannot be made in this configuration.
        """
        raise NotImplementedError

    def caption(self, study: Study) -> list[str]:
        """Return the caption of the table in a report."""
        seeds = ", ".join(map(str, study.config.seeds))
        lines = [f"{self.title}.", f"Seeds {seeds}; mean and sample standard deviation over them.", *self.about(study)]
        if self.reported is not None:
            lines.append("Rows of the kind `reported` are numbers from papers, with their protocol.")
        return [*lines, *self.notes]

    def about(self, study: Study) -> list[str]:
        """Return the sentences of the caption on data, protocols and methods."""
        return []


@dataclass(frozen=True, kw_only=True)
class Table(AnyTable):
    """A table of scores.

    Attributes
    ----------
    rows, datasets, metrics
        The content; metrics have the names of `rgwot.reporting.tables.reported`.
    blocks
        Protocols and backgrounds of the leading blocks in printed forms; the CSV has every protocol.
    lines
        The printed lines: ``rows``, or ``datasets`` if there are many tasks and few rows.
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
        check_known("metric", self.metrics, METRICS)
        check_known("lines", [self.lines], ("rows", "datasets"))
        for protocol, background in self.blocks:
            check_known("protocol", [protocol], DESCRIPTIONS)
            check_known("background", [background], BACKGROUNDS)
            possible = metrics_of(protocol)
            if not set(self.metrics) <= set(possible):
                raise RgwotError(f"protocol {protocol} has only the metrics {', '.join(possible)}; leave out others")
        if self.reported is not None:
            once("reported rows", [entry.id for entry in self.reported.rows])
            measured = [row.id for row in self.rows]
            check_known(
                "measured row of a reported one:",
                (reported_row.row for reported_row in self.reported.rows if reported_row.row),
                measured,
            )
            for place in self.datasets:
                if place.reported is None:
                    raise RgwotError(
                        f"dataset {place.dataset!r}: its Place has no `reported`, the name in reported numbers; add it"
                    )

    def check(self) -> None:
        """Raise RgwotError if the file of reported numbers lacks a number that the table shows."""
        if self.reported is not None:
            reported_rows(self.reported, self.places, self.metrics)

    def spelt(self, study: Study) -> Table:
        """Return the table with canonical ids of experiments; raise RgwotError for an unknown id."""
        return replace(self, rows=[canonical(study, row) for row in self.rows])

    @property
    def places(self) -> dict[str, Place]:
        """The datasets and tasks that are shown, by the names that their columns begin with."""
        return {place.name: place for place in self.datasets}

    @property
    def own(self) -> str | None:
        """The protocol with special metrics that the table shows, or None."""
        return next((of_protocol for name in self.metrics if (of_protocol := METRICS[name].protocol)), None)

    def row(self, row_id: str) -> Row:
        """Return a row by its id; raise RgwotError for an unknown id."""
        ids = [row.id for row in self.rows]
        if row_id not in ids:
            raise RgwotError(f"table {self.id!r}: no row {row_id!r}; {nearest(row_id, ids)}")
        return self.rows[ids.index(row_id)]

    def alone(self, row: str | None) -> Table:
        """Return the table with one of its rows and the reported rows for it, or all if ``row`` is None."""
        if row is None:
            return self
        reported = self.reported
        if reported is not None:
            entries = [entry for entry in reported.rows if entry.row == row]
            reported = replace(reported, rows=entries) if entries else None
        return replace(self, rows=[self.row(row)], reported=reported)

    def files(self, study: Study, row: str | None = None) -> list[str]:
        """Return the files of scores and of reported numbers for the table or a row."""
        reported = self.alone(row).reported
        return [*self.scores(study, row), *([str(reported.file)] if reported else [])]

    def scores(self, study: Study, row: str | None = None) -> list[str]:
        """Return the files of scores behind the table or a row."""
        with errors_of(f"table {self.id!r}"):
            behind = tasks_behind(study, self.datasets)
        rows = self.alone(row).rows
        return list(dict.fromkeys(str(file) for row_ in rows for file in score_files(study, row_, behind)))

    def about(self, study: Study) -> list[str]:
        """Return the sentences of the caption on data, protocols and methods."""
        blocks = "; ".join(f"{protocol} {background} background" for protocol, background in self.blocks)
        lines = [
            f"Data: {', '.join(place.label for place in self.datasets)}.",
            f"Protocols: the printed forms lead with {blocks}; the table has every protocol, by both label rules.",
            f"Rows: {'; '.join(f'{row.label} = {row.method}, {row.decoder}' for row in self.rows)}.",
        ]
        names = [place.dataset for place in self.datasets if not place.mean]
        used = [study.experiments.common(FeatureSettings, dataset) for dataset in names]
        if any(settings.weights == "random" for settings in used):
            lines.append("Backbone with random weights: these are not the paper's numbers.")
        return lines


def tasks_behind(study: Study, places: Iterable[Place]) -> list[tuple[str, str]]:
    """Return the (dataset, task) pairs of some places that are configured; raise RgwotError if there are none."""
    single = [place for place in places if not place.mean]
    pairs = [
        (place.dataset, task) for place in single for task in tasks(study, place.dataset) if place.task in (None, task)
    ]
    if not pairs:
        names = ", ".join(f"{place.dataset}/{place.task}" for place in single)
        raise RgwotError(f"none of {names} is configured; name one in datasets.<name>.tasks of config.yaml")
    return list(dict.fromkeys(pairs))
