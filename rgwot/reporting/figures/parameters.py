"""Figures of scores over a parameter: which rows of which swept tables they show, and what runs stand behind them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from rgwot import paths
from rgwot.config.experiments import SYMBOLS, family_of, split_id
from rgwot.evaluation.protocols import PROTOCOLS
from rgwot.reporting.entries import Beside, Part
from rgwot.reporting.figures.interface import Figure, Plan, PlannedRun, Run, Study, seeding, settings_of
from rgwot.reporting.tables.spec import Background, Place, ProtocolName, Row, Table
from rgwot.runtime.errors import RgwotError, nearest


class ReportedCurve(Part):
    """Reported numbers beside a curve.

    ``file`` lies beside the tables; of its rows those that match ``where`` (column to value) are taken. ``x`` is the
    column that holds the parameter, or the value that all of them were made with. ``mark`` is written beside it.
    """

    file: Beside
    where: Mapping[str, str] = {}
    x: str | float
    mark: str = "reported"


class SweepPanel(Part):
    """One panel of curves: a table whose rows differ in one key, drawn over that key.

    ``above`` annotates the axis with what the key comes to: ``radius`` the active radius a = floor(n r) in frames,
    ``temperature`` epsilon / (1 - alpha). ``classes`` marks K_gt + 1, the number of classes with background.
    """

    table: str
    key: str
    label: str
    dataset: str
    scale: Literal["linear", "log"] = "linear"
    above: Literal["radius", "temperature"] | None = None
    classes: bool = False
    reported: ReportedCurve | None = None


class PlannedRow(Part):
    """A row of a swept table: the value of the swept key, its line, whether it is trained, and the runs behind it."""

    id: str
    line: str
    trained: bool
    value: float
    runs: tuple[PlannedRun, ...]


class PlannedSweep(Part):
    """A swept table: its rows, the columns that are drawn, and the facts the axis is annotated with.

    ``place`` is what the names of the columns begin with: a dataset, or one of its tasks.
    """

    table: str
    place: str
    dataset: str
    label: str
    reported: str | None
    reported_tasks: tuple[str, ...]
    rows: tuple[PlannedRow, ...]
    left_out: tuple[str, ...]
    frames: int
    epsilon: float
    classes: int | None

    @property
    def row_files(self) -> list[Path]:
        """Where its rows lie; the table itself would wait for all of them."""
        return [paths.at(paths.ROW, table=self.table, row=row.id) for row in self.rows]

    @property
    def runs(self) -> list[PlannedRun]:
        """The runs behind all rows."""
        return [run for row in self.rows for run in row.runs]


class SweepsPlan(Plan):
    """The plan of a figure of swept tables."""

    sweeps: tuple[PlannedSweep, ...]


class Scored(Figure):
    """A figure of scores over a parameter, and the protocol they are of."""

    PLAN: ClassVar[type[Plan]] = SweepsPlan
    #: Whether all trained methods are drawn, or the one with the most rows.
    SEVERAL: ClassVar[bool] = False

    protocol: ProtocolName = "micro_video"
    background: Background = "with"
    label_rule: Literal["exact", "cnc"] = "exact"
    kind: str

    @property
    def swept(self) -> tuple[SweepPanel, ...]:
        """The swept tables."""
        raise NotImplementedError

    @property
    def how(self) -> dict[str, str]:
        """How the scores are made."""
        return {"protocol": self.protocol, "background": self.background, "label_rule": self.label_rule}

    def plan(self, study: Study) -> Plan:
        """Return the rows of the swept tables and the runs behind them."""
        sweeps = tuple(_sweep(panel, study, several=self.SEVERAL) for panel in self.swept)
        datasets = {sweep.dataset: sweep.label for sweep in sweeps}
        kept = "background a class" if self.background == "with" else "without background"
        said = [
            ", ".join(dict.fromkeys(datasets.values())),
            f"protocol {PROTOCOLS[self.protocol].letter} ({self.protocol}), {kept}, {self.label_rule} labels",
            seeding(study.config.seeds),
        ]
        varied = {SYMBOLS.get(panel.key, panel.key) for panel in self.swept}
        runs = [run for sweep in sweeps for run in sweep.runs]
        return self.planned(study, datasets, said, study.config.seeds, runs, varied, sweeps=sweeps)

    def files(self, plan: Any) -> Iterable[Path]:
        """Return rows, scores of single seeds, and reported numbers."""
        for sweep in plan.sweeps:
            yield from sweep.row_files
            yield from (run.at(paths.SCORES) for run in sweep.runs)
        yield from (panel.reported.file for panel in self.swept if panel.reported)

    @property
    def protocols(self) -> str:
        """The one protocol."""
        return self.protocol


def table_with(table_id: str, places: Iterable[str], study: Study) -> Table:
    """Return a table of scores, which has to have columns for the places."""
    table = study.table(table_id)
    for place in places:
        if place not in table.datasets:
            raise RgwotError(f"table {table_id!r}: no dataset {place!r} for a figure; {nearest(place, table.datasets)}")
    return table


def tasks_of(place: Place, study: Study) -> tuple[str, ...]:
    """Return the tasks behind the columns of a table."""
    return study.tasks(place.dataset) if place.task is None else (place.task,)


class _Shared(NamedTuple):
    """What the rows of one line of a sweep share: whether they are trained, their decoder, all other settings."""

    trained: bool
    decoder: str
    settings: str


def _sweep(panel: SweepPanel, study: Study, several: bool) -> PlannedSweep:
    """Find the rows of a swept table and the value of each; rows that differ in other keys are lines of their own."""
    table = table_with(panel.table, [panel.dataset], study)
    place = table.datasets[panel.dataset]
    tasks = tasks_of(place, study)
    # K_gt + 1 where it is known and the same for all tasks.
    numbers = {study.key_steps(place.dataset, task) for task in tasks}
    known = numbers.pop() if len(numbers) == 1 else None
    classes = None if known is None else known + 1
    key = SYMBOLS.get(panel.key, panel.key)
    found: list[tuple[Row, _Shared, float]] = []
    for row in table.rows:
        settings = settings_of(study, row.method, row.decoder, place.dataset)
        value = settings.pop(key)
        # What stands for all videos or for the annotated steps is looked up.
        if key == "data.n_train" and value is None:
            value = max(len(study.videos(place.dataset, task)) for task in tasks)
        elif key == "decode.K" and isinstance(value, str) and classes is not None:
            value = classes - (value == "gt")
        if isinstance(value, (int, float)):
            trained = family_of(row.method).trained
            rest = json.dumps(settings, sort_keys=True)
            found.append((row, _Shared(trained, split_id(row.decoder)[0], rest), float(value)))
    configured = [task for task in study.tasks(place.dataset) if task in tasks]
    lines = _lines(found, several)
    rows = []
    for row, shared, value in found:
        if shared in lines:
            study.check_table(panel.table, row.id)
            run = Run(label=row.label, method=row.method, decoder=row.decoder)
            runs = tuple(run.planned(place.dataset, *one) for one in product(configured, study.config.seeds))
            rows.append(PlannedRow(id=row.id, line=lines[shared], trained=shared.trained, value=value, runs=runs))
    if not rows:
        raise RgwotError(f"table {table.id!r}: no row is trained with a {panel.key}; a figure expects at least one")
    first = study.experiments.settings(table.row(rows[0].id).method, None, place.dataset)
    return PlannedSweep(
        table=table.id,
        place=panel.dataset,
        **place.model_dump(include={"dataset", "reported", "reported_tasks"}),
        label=place.label if place.task is None else f"{study.in_print(place.dataset)}: {place.label}",
        rows=tuple(sorted(rows, key=lambda row: row.value)),
        left_out=tuple(row.id for row, shared, _ in found if shared.trained and shared not in lines),
        frames=first.train.N + (first.ot.virtual == "cost"),
        epsilon=first.ot.epsilon,
        classes=classes,
    )


def _lines(found: Sequence[tuple[Row, _Shared, float]], several: bool) -> dict[_Shared, str]:
    """Name the lines of a sweep: of trained methods the longest one, or all where several are wanted.

    Answers that need no training are lines, too, where the parameter means something to them.
    """
    sizes = Counter(shared for _, shared, _ in found)
    longest = next((shared for shared, _ in sizes.most_common() if shared.trained), None)
    names: dict[_Shared, str] = {}
    for row, shared, _ in found:
        values = {value for _, other, value in found if other == shared}
        wanted = shared == longest or (shared.trained if several else not shared.trained and len(values) > 1)
        if wanted and shared not in names:
            base = split_id(row.method if shared.trained else row.decoder)[0]
            names[shared] = base if base not in names.values() else f"{base}: {row.label}"
    return names
